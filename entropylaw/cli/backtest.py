"""``entropylaw backtest``: fit the first part of finished runs, forecast the rest, and count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from entropylaw.cli.command import takes
from entropylaw.errors import EntropyLawError, UsageError
from entropylaw.options import ColumnOptions, Coverage, Logs, Written

if TYPE_CHECKING:
    from entropylaw.ingest.run import Run
    from entropylaw.results.backtest import RunBacktest


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BacktestCommand(ColumnOptions, Coverage, Logs, Written):
    """``entropylaw backtest``."""


@takes(BacktestCommand, example="entropylaw backtest data/lab/grpo_s0/metrics.parquet")
def backtest(options: BacktestCommand) -> None:
    """Would a forecast have been right? Fit the first 15 % and the first third, predict the rest.

    At the observed entropies and blind, and in reverse; errors beside those of the last value, the law and
    a line by least squares, and the ScaleRL sigmoid; how much of the rest the bands covered. Exit code 4
    means that no run at all could be tested.
    """
    from entropylaw.analysis.backtest import skills
    from entropylaw.cli.output import deliver, destinations, finish, say_skipped
    from entropylaw.cli.reading import read_shown, refuse_documents
    from entropylaw.documents.backtest import BacktestDocument, refused_backtest
    from entropylaw.documents.codec import as_stored
    from entropylaw.documents.document import input_files, skipped_files
    from entropylaw.paths import shown_path

    wanted = destinations(options.output, options.format)
    refuse_documents(options.logs)
    reading = read_shown(options.logs, options, (options.entropy, options.reward))
    errors = [failure.error for failure in reading.failures]
    runs = [_tested(run, options, errors) for run in reading.runs]
    runs += [
        refused_backtest(failure.run or shown_path(failure.path), failure.path, failure.error)
        for failure in reading.failures
    ]
    found = as_stored(
        BacktestDocument(
            level=options.level,
            runs=tuple(runs),
            overall=skills(runs),
            inputs=input_files(reading.runs),
            warnings=skipped_files(reading.ignored),
        )
    )
    say_skipped(found.warnings, quiet=options.quiet)
    deliver(found, wanted, answered=bool(found.overall), quiet=options.quiet)
    finish(errors, answered=bool(found.overall))


def _tested(run: Run, options: BacktestCommand, errors: list[EntropyLawError]) -> RunBacktest:
    """One run, whatever happens, its error beside the others; a wrong option, wrong for all, is raised."""
    from entropylaw.analysis.backtest import backtest_run
    from entropylaw.cli.output import named
    from entropylaw.documents.backtest import refused_backtest
    from entropylaw.ingest import select

    try:
        series = select(run, entropy=options.entropy, reward=options.reward, pair=options.pair)
        return backtest_run(series.step, series.entropy, series.reward, level=options.level, run=series.run)
    except UsageError:
        raise
    except EntropyLawError as error:
        errors.append(named(run.name, error))
        return refused_backtest(run.name, run.source.path, error)
