"""``entropylaw backtest``: fit the first part of finished runs, forecast the rest, and count."""

from __future__ import annotations

from dataclasses import dataclass

from entropylaw.cli.command import takes
from entropylaw.options import ColumnOptions, Coverage, FitOptions, Logs, Parallel, Written, part


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BacktestCommand(Parallel, ColumnOptions, Coverage, Logs, Written):
    """``entropylaw backtest``."""


@takes(BacktestCommand, example="entropylaw backtest data/lab/grpo_s0/metrics.parquet")
def backtest(options: BacktestCommand) -> None:
    """Would a forecast have been right? Fit the first 15 % and the first third, predict the rest.

    At the observed entropies and blind, and in reverse; errors beside those of the last value, the law and
    a line by least squares, and the ScaleRL sigmoid; how much of the rest the bands covered. Exit code 4
    means that no run at all could be tested.
    """
    from entropylaw.cli.output import destinations, finish_runs, say_skipped
    from entropylaw.cli.reading import answered, begin, read_shown
    from entropylaw.pipeline.sources import refuse_documents

    wanted = destinations(options.output or ["-"], options.format)
    refuse_documents(options.logs)
    begin(options.logs, options.jobs)
    from entropylaw.pipeline import documents, steps

    step = steps.backtest(part(options, FitOptions))
    reading = read_shown(options.logs, options, step.columns)
    found = answered(step, reading.runs, options.jobs)
    document = documents.backtest(reading, [entry for entry, _ in found], options.level)
    say_skipped(document.warnings, quiet=options.quiet)
    finish_runs(document, wanted, reading, found, answered=bool(document.overall), quiet=options.quiet)
