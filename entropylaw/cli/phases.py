"""``entropylaw phases``: whether entropies rise, and in which order, for every run."""

from __future__ import annotations

from entropylaw.cli import output
from entropylaw.cli.commands import PhasesCommand
from entropylaw.cli.running import document_of
from entropylaw.option import part
from entropylaw.options import PhaseOptions
from entropylaw.pipeline.steps import Phases


def phases(options: PhasesCommand) -> None:
    """Run ``entropylaw phases``."""
    targets = output.destinations(options.output, options.format)
    inputs = output.gather(options.logs, options, part(options, PhaseOptions), kinds=())
    document = document_of(Phases, inputs, options.jobs)
    output.say_skipped(document.warnings, quiet=options.quiet)
    # There is no text of runs without a result, whose errors are shown.
    written = {path: format for path, format in targets.items() if document.answered or format != "text"}
    output.deliver(document, written, quiet=options.quiet)
    output.finish_fits(document.runs)
