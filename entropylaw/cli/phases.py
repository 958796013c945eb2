"""``entropylaw phases``: change points in the entropies of planning and execution tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw.cli.command import takes
from entropylaw.cli.output import answered, destinations, finish_runs, format_of, read_for, say, say_skipped
from entropylaw.errors import UsageError
from entropylaw.options import PATH, PICTURES, Logs, Parallel, PhaseOptions, Written, option, part
from entropylaw.paths import check_targets

if TYPE_CHECKING:
    from entropylaw.documents.document import PhasesDocument


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PhasesCommand(Parallel, PhaseOptions, Logs, Written):
    """``entropylaw phases``."""

    figure: str | None = option(
        "--figure",
        "Draw one run into FILE (.svg .png .pdf), or every run into a folder, as SVG and PNG; the "
        "folder also receives the histograms that `entropylaw tokens` wrote with a summary.",
        PATH,
    )


@takes(PhasesCommand, example="entropylaw phases data/lab/grpo_s0/metrics.parquet --figure phases.svg")
def phases(options: PhasesCommand) -> None:
    """Test planning and execution entropy for a change point, estimate its step, and which comes first.

    The null hypothesis is one smooth decay; drift and noise are integrated out. A run without a change point
    is a result, and the smallest rise that could have been detected is reported with it. LOGS are step-level
    logs or what `entropylaw tokens` wrote. With the entropy of all tokens only, that curve is fitted alone.
    Exit code 4 means that no run at all could be fitted.
    """
    from entropylaw.escaping import one_line
    from entropylaw.pipeline.sources import histogram_beside, refuse_documents

    figure, quiet = options.figure, options.quiet
    formats = destinations(options.output or ["-"], options.format)
    picture = picture_of(figure)
    refuse_documents(options.logs)
    step, reading = read_for("Phases", options.logs, part(options, PhaseOptions), options.jobs)
    if picture and len(reading.runs) > 1:
        message = f"--figure {figure} is one picture, and there are {len(reading.runs)} runs"
        raise UsageError("one-figure-one-run", message, "name a folder, which gets one picture per run")
    answers = answered(step, reading.runs, options.jobs)
    document = step.document(reading, [entry for entry, _ in answers])
    say_skipped(document.warnings, quiet=quiet)
    if figure is not None:
        check_targets([figure, *formats])
        histograms: dict[str, str] = {}
        for run in reading.runs:
            histograms[run.name], warning = histogram_beside(run)
            say(one_line(warning), quiet=not warning)
        for written in draw(document, figure, picture, histograms):
            say(f"wrote {written}", quiet=quiet)
    finish_runs(document, formats, reading, answers, answered=bool(document.fitted), quiet=quiet)


def picture_of(figure: str | None) -> str:
    """The format of a single picture; empty for a folder, or for no figure."""
    if figure is None or Path(figure).is_dir() or figure.endswith("/") or not Path(figure).suffix:
        return ""
    return format_of(figure, PICTURES, flag="--figure")


def draw(document: PhasesDocument, figure: str, picture: str, histograms: dict[str, str]) -> Iterable[str]:
    """Write the ``picture`` of one run, or all of every run's into a folder; yields the paths.

    ``histograms`` are paths by the names of runs, empty where there is none.
    """
    from entropylaw.documents.store import write_atomically
    from entropylaw.escaping import safe_name
    from entropylaw.report.figures import FIGURES, Need
    from entropylaw.report.figures.plotting import Kind, figure_bytes
    from entropylaw.tokens.summary import read_histogram

    kinds: tuple[Kind, ...] = (picture,) if picture else ("svg", "png")  # type: ignore[assignment]
    taken: set[str] = set()
    for run in document.runs:
        slug = safe_name(run.run, taken)
        known: dict[Need, Any] = {"phases": run} if run.phases is not None else {}
        # Too few steps for a change point are still a picture of the tokens.
        if not picture and histograms.get(run.run):
            known["tokens"] = read_histogram(histograms[run.run])
        for entry in (entry for entry in FIGURES if entry.needs in known):
            drawing, name = entry.draw(known[entry.needs]), f"{slug}-{entry.name}"
            for kind in kinds:
                path = figure if picture else str(Path(figure) / f"{name}.{kind}")
                write_atomically(path, figure_bytes(drawing, kind, name))
                yield path
