"""``entropylaw backtest``: fit the first part of finished runs, forecast the rest, and count."""

from __future__ import annotations

from dataclasses import dataclass

from entropylaw.cli.command import takes
from entropylaw.errors import EntropyLawError, UsageError
from entropylaw.options import ColumnOptions, Coverage, Logs, Written


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
    from entropylaw.analysis.backtest import backtest_run, skills
    from entropylaw.cli.output import deliver, destinations, finish, named, say_skipped
    from entropylaw.cli.reading import read_shown, refuse_documents
    from entropylaw.documents.backtest import BacktestDocument, refused_backtest
    from entropylaw.documents.codec import as_stored
    from entropylaw.documents.document import input_files, skipped_files
    from entropylaw.ingest import select
    from entropylaw.paths import shown_path

    wanted = destinations(options.output, options.format)
    refuse_documents(options.logs)
    reading = read_shown(options.logs, options, (options.entropy, options.reward))
    errors = [failure.error for failure in reading.failures]
    runs = []
    for run in reading.runs:
        try:
            series = select(run, entropy=options.entropy, reward=options.reward, pair=options.pair)
            values = (series.step, series.entropy, series.reward)
            runs.append(backtest_run(*values, level=options.level, run=series.run))
        except UsageError:
            # A wrong option is wrong for all runs.
            raise
        except EntropyLawError as error:
            errors.append(named(run.name, error))
            runs.append(refused_backtest(run.name, run.source.path, error))
    failed = ((each.run or shown_path(each.path), each.path, each.error) for each in reading.failures)
    runs += [refused_backtest(*failure) for failure in failed]
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
