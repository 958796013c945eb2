"""``entropylaw phases``: whether entropies rise, and whether execution settles before planning does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw.cli import output
from entropylaw.cli.commands import PhasesCommand
from entropylaw.cli.running import result_of
from entropylaw.cli.streams import say
from entropylaw.errors import UsageError
from entropylaw.escaping import one_line, safe_name
from entropylaw.option import part
from entropylaw.options import PICTURES, PhaseOptions
from entropylaw.paths import check_targets
from entropylaw.pipeline.inputs import histogram_beside
from entropylaw.pipeline.steps import Phases
from entropylaw.report.figures import Need
from entropylaw.results.tokens import TokenHistogram

if TYPE_CHECKING:
    from entropylaw.documents.document import PhasesDocument


def phases(options: PhasesCommand) -> None:
    """Run ``entropylaw phases``."""
    figure, quiet = options.figure, options.quiet
    targets = output.destinations(options.output or ["-"], options.format)
    picture = picture_of(figure)
    inputs = output.gather(options.logs, options, part(options, PhaseOptions), options.jobs, kinds=())
    step = Phases(inputs.settings)
    if picture and len(inputs.runs) > 1:
        message = f"--figure {figure} is one picture, and there are {len(inputs.runs)} runs"
        raise UsageError("one-figure-one-run", message, "name a folder, which gets one picture per run")
    document = step.document(inputs, result_of(step, inputs.entries, options.jobs, quiet=quiet))
    output.say_skipped(document.warnings, quiet=quiet)
    if figure is not None:
        check_targets([figure, *targets])
        histograms: dict[str, str] = {}
        for run in inputs.runs:
            histograms[run.name], warning = histogram_beside(run)
            say(one_line(warning), quiet=not warning)
        for written in draw(document, figure, picture, histograms):
            say(f"wrote {written}", quiet=quiet)
    output.finish_runs(document, targets, quiet=quiet)


def picture_of(figure: str | None) -> str:
    """The format of a single picture; empty for a folder, or for no figure."""
    if figure is None or Path(figure).is_dir() or figure.endswith("/") or not Path(figure).suffix:
        return ""
    return output.format_of(figure, PICTURES, flag="--figure")


def draw(document: PhasesDocument, figure: str, picture: str, histograms: dict[str, str]) -> Iterable[str]:
    """Write the ``picture`` of one run, or all of every run's into a folder; yields the paths.

    ``histograms`` are paths by the names of runs, empty where there is none.
    """
    # Not at the top: most tests are text, without matplotlib.
    from entropylaw.report.figures.drawings import write
    from entropylaw.tokens.summary import bands

    taken: set[str] = set()
    for run in document.runs:
        slug = safe_name(run.run, taken)
        drawable: dict[Need, Any] = {"phases": run} if run.result is not None else {}
        # Too few steps for a curve are still a picture of the tokens.
        if not picture and histograms.get(run.run):
            drawable["tokens"] = TokenHistogram(**bands(Path(histograms[run.run])))
        yield from write(drawable, figure, picture, slug)
