"""``entropylaw phases``: whether entropies rise, and whether execution settles before planning does."""

from __future__ import annotations

from entropylaw.cli import output
from entropylaw.cli.commands import PhasesCommand
from entropylaw.cli.running import result_of
from entropylaw.option import part
from entropylaw.options import PhaseOptions
from entropylaw.pipeline.steps import Phases


def phases(options: PhasesCommand) -> None:
    """Run ``entropylaw phases``."""
    targets = output.destinations(options.output or ["-"], options.format)
    inputs = output.gather(options.logs, options, part(options, PhaseOptions), kinds=())
    step = Phases(inputs.settings)
    document = step.document(inputs, result_of(step, inputs.entries, options.jobs, quiet=options.quiet))
    output.say_skipped(document.warnings, quiet=options.quiet)
    output.finish_runs(document, targets, quiet=options.quiet)
