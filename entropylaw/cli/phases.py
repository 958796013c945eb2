"""``entropylaw phases``: is there a boundary in the entropies of planning and execution, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropylaw.cli import options
from entropylaw.cli.gather import Gathered
from entropylaw.cli.options import Format
from entropylaw.cli.progress import reading_shown
from entropylaw.errors import UsageError
from entropylaw.inputs import check_targets, note_input

if TYPE_CHECKING:
    from entropylaw.documents.phases import PhasesDocument, PhaseSettings, RunPhases
    from entropylaw.ingest.load import Failure
    from entropylaw.ingest.run import Run

EXAMPLE = "Example:  entropylaw phases data/lab/grpo_s0/metrics.parquet --figure phases.svg"

PICTURES = (".svg", ".png", ".pdf")

Planning = Annotated[
    str | None,
    typer.Option(
        "--planning",
        metavar="COLUMN",
        help="Entropy of planning tokens; or of plans, as entropy_semantic, which is then named so. "
        "[default: by name]",
    ),
]
Execution = Annotated[
    str | None,
    typer.Option("--execution", metavar="COLUMN", help="Entropy of execution tokens. [default: by name]"),
]
Whole = Annotated[
    str | None,
    typer.Option("--entropy", metavar="COLUMN", help="Entropy of all tokens. [default: by catalog]"),
]
Figure = Annotated[
    str | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        help="Draw one run into FILE (.svg .png .pdf), or every run into a folder, as SVG and PNG; there "
        "also the histograms that `entropylaw tokens` wrote beside a summary.",
    ),
]


def phases(
    logs: options.Logs,
    planning: Planning = None,
    execution: Execution = None,
    entropy: Whole = None,
    step: options.Step = None,
    run: options.RunColumn = None,
    level: options.Level = 0.95,
    format: options.FormatOption = Format.text,
    output: options.Outputs = None,
    figure: Figure = None,
    quiet: options.Quiet = False,
) -> None:
    """Test planning and execution entropy for a phase boundary, say where it is, and which comes first.

    Against one smooth decay, with drift and noise integrated out. A run without a boundary is an answer, and
    the smallest rise that would have been seen stands beside it. LOGS are step-level logs or what `entropylaw
    tokens` wrote. With the entropy of all tokens only, that curve is fitted and not taken apart. Exit code 4
    means that no run at all could be fitted.
    """
    from entropylaw.analysis.law import checked_level
    from entropylaw.cli.fit import refuse_documents
    from entropylaw.cli.output import deliver, destinations, rendered, say, say_skipped
    from entropylaw.documents.phases import PhaseSettings

    asked = PhaseSettings(
        level=checked_level(level),
        planning=planning,
        execution=execution,
        entropy=entropy,
        step=step,
        run=run,
    )
    wanted = destinations(output, format)
    one_picture = picture_of(figure)
    refuse_documents(logs)
    work = _Work(asked=asked)
    with reading_shown():
        work.gather(logs)
    if one_picture:
        work.require_one_run(str(figure))
    told = work.document()
    say_skipped(told.warnings, quiet=quiet)
    if figure is not None:
        check_targets([figure, *wanted])
        for written in draw(told, figure, work.histograms()):
            say(f"wrote {written}", quiet=quiet)
    deliver(wanted, partial(rendered, told), answered=bool(told.fitted), quiet=quiet)
    work.finish(answered=bool(told.fitted))


def picture_of(figure: str | None) -> str:
    """The suffix of a single picture; empty for a folder, or for no figure.

    Raises
    ------
    UsageError
        ``unknown-suffix``.
    """
    if figure is None or Path(figure).is_dir() or figure.endswith("/"):
        return ""
    suffix = Path(figure).suffix.lower()
    if suffix and suffix not in PICTURES:
        raise UsageError(
            "unknown-suffix",
            f"--figure {figure} has suffix {suffix!r}, expected one of {', '.join(PICTURES)}, or a folder",
            "the suffix decides the format; a name without one is a folder",
        )
    return suffix


@dataclass(slots=True, kw_only=True)
class _Work(Gathered):
    """Runs and files without any, beside what any command gathers."""

    asked: PhaseSettings
    runs: list[Run] = field(default_factory=list)
    unread: list[Failure] = field(default_factory=list)

    def gather(self, logs: Sequence[str]) -> None:
        """Read every run; what cannot be read stands beside the others."""
        from entropylaw.ingest.phasecolumns import candidates

        asked = self.asked
        named = [name for name in (asked.planning, asked.execution, asked.entropy) if name]
        reading = self.read(logs, step=asked.step, run=asked.run, columns=[*candidates(), *named])
        self.runs += reading.runs
        self.unread += reading.failures

    def require_one_run(self, figure: str) -> None:
        """One file holds the picture of one run."""
        if len(self.runs) > 1:
            raise UsageError(
                "one-figure-one-run",
                f"--figure {figure} is one picture, and there are {len(self.runs)} runs",
                "name a folder, which gets one picture a run",
            )

    def document(self) -> PhasesDocument:
        """Fit every run."""
        from entropylaw.analysis.phases import combine_phases
        from entropylaw.cli.fit import watched
        from entropylaw.documents.codec import as_stored
        from entropylaw.documents.phases import PhasesDocument, unphased_file

        runs = [self._fitted(run) for run in watched(self.runs)]
        runs += [unphased_file(*failure) for failure in self.unread]
        told = PhasesDocument(
            inputs=tuple(self.inputs.values()),
            settings=self.asked,
            runs=tuple(runs),
            warnings=tuple(self.warnings),
        )
        both = [found for found in told.fitted if found.planning and found.execution]
        return replace(told, across=as_stored(combine_phases(told.fitted))) if len(both) > 1 else told

    def histograms(self) -> dict[str, str]:
        """Run → the file with the histograms beside its summary, where there is one."""
        from entropylaw.cli.output import say
        from entropylaw.report.printable import one_line
        from entropylaw.tokens.files import histogram_of

        found = {}
        for run in self.runs:
            beside, warning = histogram_of(Path(run.source.path))
            if beside is not None:
                note_input(beside)
                found[run.name] = str(beside)
            if warning:
                say(one_line(warning), quiet=False)
        return found

    def _fitted(self, run: Run) -> RunPhases:
        """One run of the document, whatever happens; only a wrong setting, wrong for all runs, is raised."""
        from entropylaw.reporting import phases_of

        found, error = phases_of(run, self.asked)
        if error is not None:
            self.refuse(run.name, error)
        return found


def draw(told: PhasesDocument, figure: str, histograms: dict[str, str]) -> Iterable[str]:
    """Write the figure of one run, or all of every run's into a folder; yields the paths."""
    from entropylaw.documents.store import write_atomically
    from entropylaw.report.figures import FIGURES, Need
    from entropylaw.report.plotting import Kind, figure_bytes
    from entropylaw.report.printable import safe_name
    from entropylaw.tokens.summary import read_histogram

    suffix = picture_of(figure)
    kinds: tuple[Kind, ...] = (suffix.removeprefix("."),) if suffix else ("svg", "png")  # type: ignore[assignment]
    taken: set[str] = set()
    for run in told.runs:
        slug = safe_name(run.run, taken)
        found: dict[Need, Any] = {"phases": run} if run.phases is not None else {}
        # Too few steps for a boundary are still a picture of the tokens.
        if not suffix and run.run in histograms:
            found["tokens"] = read_histogram(histograms[run.run])
        entries = [entry for entry in FIGURES if entry.needs in found]
        for entry in entries[:1] if suffix else entries:
            drawing = entry.draw(found[entry.needs])
            for kind in kinds:
                path = figure if suffix else str(Path(figure) / f"{slug}-{entry.name}.{kind}")
                write_atomically(path, figure_bytes(drawing, kind, f"{slug}-{entry.name}"))
                yield path
