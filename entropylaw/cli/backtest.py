"""``entropylaw backtest``: how good forecasts would have been."""

from __future__ import annotations

from entropylaw.cli import output
from entropylaw.cli.commands import BacktestCommand
from entropylaw.cli.running import result_of
from entropylaw.option import part
from entropylaw.options import BacktestOptions
from entropylaw.pipeline.steps import Backtest


def backtest(options: BacktestCommand) -> None:
    """Run ``entropylaw backtest``."""
    formats = output.destinations(options.output or ["-"], options.format)
    inputs = output.gather(options.logs, options, part(options, BacktestOptions), kinds=())
    step = Backtest(inputs.settings)
    entries = result_of(step, inputs.entries, options.jobs, quiet=options.quiet)
    document = step.document(inputs, entries)
    output.say_skipped(document.warnings, quiet=options.quiet)
    output.finish_runs(document, formats, quiet=options.quiet)
