"""``entropylaw backtest``: how good forecasts would have been."""

from __future__ import annotations

from entropylaw.cli import output
from entropylaw.cli.commands.backtest import BacktestCommand
from entropylaw.cli.running import answered
from entropylaw.option import part
from entropylaw.options import FitOptions
from entropylaw.pipeline.steps import Backtest


def backtest(options: BacktestCommand) -> None:
    """Run ``entropylaw backtest``."""
    formats = output.destinations(options.output or ["-"], options.format)
    inputs = output.gather(options.logs, options, part(options, FitOptions), options.jobs, kinds=())
    step = Backtest(inputs.settings)
    answers = answered(step, inputs.entries, options.jobs, quiet=options.quiet)
    document = step.document(inputs, [answer.result for answer in answers])
    output.say_skipped(document.warnings, quiet=options.quiet)
    tested = bool(document.overall)
    output.finish_runs(document, formats, inputs, answers, answered=tested, quiet=options.quiet)
