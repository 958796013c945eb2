"""``entropylaw phases``: is there a boundary in the entropies of planning and execution, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw.cli.command import takes
from entropylaw.errors import UsageError
from entropylaw.inputs import check_targets
from entropylaw.options import PATH, Logs, Parallel, PhaseOptions, Written, option, part

if TYPE_CHECKING:
    from entropylaw.documents.phases import PhasesDocument

PICTURES = ("svg", "png", "pdf")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PhasesCommand(Parallel, PhaseOptions, Logs, Written):
    """``entropylaw phases``."""

    figure: str | None = option(
        "--figure",
        "Draw one run into FILE (.svg .png .pdf), or every run into a folder, as SVG and PNG; there also the "
        "histograms that `entropylaw tokens` wrote beside a summary.",
        PATH,
    )


@takes(PhasesCommand, example="entropylaw phases data/lab/grpo_s0/metrics.parquet --figure phases.svg")
def phases(options: PhasesCommand) -> None:
    """Test planning and execution entropy for a phase boundary, say where it is, and which comes first.

    Against one smooth decay, with drift and noise integrated out. A run without a boundary is an answer, and
    the smallest rise that would have been seen stands beside it. LOGS are step-level logs or what `entropylaw
    tokens` wrote. With the entropy of all tokens only, that curve is fitted and not taken apart. Exit code 4
    means that no run at all could be fitted.
    """
    from entropylaw.cli.output import destinations, finish_runs, say, say_skipped
    from entropylaw.cli.reading import answered, begin, read_shown
    from entropylaw.pipeline.sources import histogram_beside, refuse_documents
    from entropylaw.report.printable import one_line

    figure, quiet = options.figure, options.quiet
    wanted = destinations(options.output or ["-"], options.format)
    one_picture = picture_of(figure)
    refuse_documents(options.logs)
    begin(options.logs, options.jobs)
    from entropylaw.pipeline import documents, steps

    settings = part(options, PhaseOptions)
    step = steps.phases(settings)
    reading = read_shown(options.logs, options, step.columns)
    if one_picture and len(reading.runs) > 1:
        message = f"--figure {figure} is one picture, and there are {len(reading.runs)} runs"
        raise UsageError("one-figure-one-run", message, "name a folder, which gets one picture a run")
    found = answered(step, reading.runs, options.jobs)
    document = documents.phases(reading, [entry for entry, _ in found], settings)
    say_skipped(document.warnings, quiet=quiet)
    if figure is not None:
        check_targets([figure, *wanted])
        beside = {run.name: histogram_beside(run) for run in reading.runs}
        for warning in filter(None, (warning for _, warning in beside.values())):
            say(one_line(warning), quiet=False)
        for written in draw(document, figure, {name: path for name, (path, _) in beside.items() if path}):
            say(f"wrote {written}", quiet=quiet)
    finish_runs(document, wanted, reading, found, answered=bool(document.fitted), quiet=quiet)


def picture_of(figure: str | None) -> str:
    """The format of a single picture; empty for a folder, or for no figure."""
    from entropylaw.cli.output import format_of

    if figure is None or Path(figure).is_dir() or figure.endswith("/") or not Path(figure).suffix:
        return ""
    return format_of(figure, PICTURES, flag="--figure")


def draw(told: PhasesDocument, figure: str, histograms: dict[str, str]) -> Iterable[str]:
    """Write the figure of one run, or all of every run's into a folder; yields the paths."""
    from entropylaw.documents.store import write_atomically
    from entropylaw.report.figures import FIGURES, Need
    from entropylaw.report.plotting import Kind, figure_bytes
    from entropylaw.report.printable import safe_name
    from entropylaw.tokens.summary import read_histogram

    suffix = picture_of(figure)
    kinds: tuple[Kind, ...] = (suffix,) if suffix else ("svg", "png")  # type: ignore[assignment]
    taken: set[str] = set()
    for run in told.runs:
        slug = safe_name(run.run, taken)
        found: dict[Need, Any] = {"phases": run} if run.phases is not None else {}
        # Too few steps for a boundary are still a picture of the tokens.
        if not suffix and run.run in histograms:
            found["tokens"] = read_histogram(histograms[run.run])
        for entry in [entry for entry in FIGURES if entry.needs in found][: 1 if suffix else None]:
            drawing, name = entry.draw(found[entry.needs]), f"{slug}-{entry.name}"
            for kind in kinds:
                path = figure if suffix else str(Path(figure) / f"{name}.{kind}")
                write_atomically(path, figure_bytes(drawing, kind, name))
                yield path
