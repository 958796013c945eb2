"""``entropylaw phases``: is there a boundary in the entropies of planning and execution, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropylaw.cli import options
from entropylaw.cli.options import Format
from entropylaw.cli.progress import reading_shown
from entropylaw.errors import UsageError

if TYPE_CHECKING:
    from entropylaw.documents.fit import InputFile
    from entropylaw.documents.phases import PhasesDocument, PhaseSettings, RunPhases
    from entropylaw.errors import EntropyLawError
    from entropylaw.ingest.load import Failure, Reading
    from entropylaw.ingest.run import Run

EXAMPLE = "Example:  entropylaw phases data/lab/grpo_s0/metrics.parquet --figure phases.svg"

PICTURES = (".svg", ".png", ".pdf")
HISTOGRAM = ".hist.parquet"
"""What `entropylaw tokens` calls the histograms beside its summary."""

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
Output = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write here; the suffix (.json .csv .md .txt) decides the format. Repeatable.",
    ),
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
    output: Output = None,
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
    from entropylaw.cli.fit import grouped
    from entropylaw.cli.output import format_of, print_result, say, write_file
    from entropylaw.documents.phases import PhaseSettings

    asked = PhaseSettings(
        level=checked_level(level),
        planning=planning,
        execution=execution,
        entropy=entropy,
        step=step,
        run=run,
    )
    # Every suffix is looked at before minutes of work end in one that is unknown.
    asked_for = [(path, format if path == "-" else format_of(path)) for path in output or ["-"]]
    one_picture = picture_of(figure)
    work = _Work(asked)
    with reading_shown():
        for group in grouped(logs):
            work.read(group)
    if one_picture:
        work.require_one_run(str(figure))
    told = work.document()
    if told.warnings:
        passed = f"{len(told.warnings)} file{'s' if len(told.warnings) > 1 else ''}"
        say(f"passed over {passed}: no log, or one that another file holds; the JSON says why", quiet=quiet)
    for path, kind in asked_for:
        if not told.fitted and kind is Format.text:
            continue
        content = rendered(told, kind)
        if path == "-":
            print_result(content)
        else:
            write_file(path, content)
            say(f"wrote {path}", quiet=quiet)
    if figure is not None:
        for written in draw(told, figure, work.histograms()):
            say(f"wrote {written}", quiet=quiet)
    _finish(told, work.failures)


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


@dataclass(slots=True)
class _Work:
    """What is gathered log by log: runs, files, and errors."""

    asked: PhaseSettings
    runs: list[Run] = field(default_factory=list)
    unread: list[Failure] = field(default_factory=list)
    inputs: dict[str, InputFile] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    failures: list[EntropyLawError] = field(default_factory=list)

    def read(self, group: Sequence[str]) -> None:
        """Read every run of a log; what cannot be read stands beside the others."""
        from entropylaw.documents.fit import shown_path
        from entropylaw.ingest import read_all
        from entropylaw.ingest.phasecolumns import CANDIDATES

        asked = self.asked
        named = [name for name in (asked.planning, asked.execution, asked.entropy) if name]
        reading = read_all(group, step=asked.step, run=asked.run, columns=[*CANDIDATES, *named])
        for _, error in reading.failures:
            if isinstance(error, UsageError):
                raise error
        self.runs += reading.runs
        self.unread += reading.failures
        self.warnings += [f"{shown_path(path)} was not read: {why}" for path, why in reading.ignored]
        self._note_inputs(reading)

    def require_one_run(self, figure: str) -> None:
        """One file holds the picture of one run."""
        if len(self.runs) > 1:
            raise UsageError(
                "one-figure-one-run",
                f"--figure {figure} is one picture, and there are {len(self.runs)} runs",
                "name a folder, which gets one picture a run",
            )

    def document(self) -> PhasesDocument:
        """Fit every run, with runs of one name in different logs told apart."""
        from entropylaw.analysis.phasesacross import combine_phases
        from entropylaw.cli.fit import watched
        from entropylaw.documents.phases import PhasesDocument, unphased_file
        from entropylaw.ingest.naming import told_apart

        names = told_apart([run.name for run in self.runs], [run.source.path for run in self.runs])
        self.runs = [replace(run, name=name) for run, name in zip(self.runs, names, strict=True)]
        runs = [self._fitted(run) for run in watched(self.runs)]
        for path, error in self.unread:
            self.failures.append(error)
            runs.append(unphased_file(path, error))
        told = PhasesDocument(
            inputs=tuple(self.inputs.values()),
            settings=self.asked,
            runs=tuple(runs),
            warnings=tuple(self.warnings),
        )
        both = [found for found in told.fitted if found.planning and found.execution]
        return replace(told, across=combine_phases(told.fitted)) if len(both) > 1 else told

    def histograms(self) -> dict[str, str]:
        """Run → the file with the histograms beside its summary, where there is one."""
        found = {}
        for run in self.runs:
            beside = Path(run.source.path).with_suffix(HISTOGRAM)
            if beside.is_file():
                found[run.name] = str(beside)
        return found

    def _fitted(self, run: Run) -> RunPhases:
        """One run of the document, whatever happens; only a wrong setting, wrong for all runs, is raised."""
        from entropylaw.analysis.phases import fit_phases
        from entropylaw.documents.phases import phased_run, unphased_run
        from entropylaw.errors import EntropyLawError, FitError
        from entropylaw.ingest.phasecolumns import PhaseSeries, phase_series

        asked = self.asked
        series: PhaseSeries | None = None
        try:
            series = phase_series(
                run, planning=asked.planning, execution=asked.execution, entropy=asked.entropy
            )
            found = fit_phases(
                series.step,
                series.planning,
                series.execution,
                aggregate=series.aggregate,
                planning_share=series.planning_share,
                length=series.length,
                level=asked.level,
                run=run.name,
            )
        except UsageError:
            raise
        except EntropyLawError as error:
            fits = isinstance(error, FitError)
            self.failures.append(
                FitError(error.slug, f"{run.name}: {error.message}", error.hint) if fits else error
            )
            return unphased_run(run, series, error)
        return phased_run(run, series, found)

    def _note_inputs(self, reading: Reading) -> None:
        from entropylaw.documents.fit import InputFile, shown_path

        for run in reading.runs:
            for file in run.source.parts or (run.source,):
                self.inputs[file.path] = InputFile(
                    path=shown_path(file.path), sha256=file.sha256, format=file.format, rows=file.rows
                )


def rendered(told: PhasesDocument, kind: Format) -> str:
    """A document of phases in a format."""
    if kind is Format.json:
        from entropylaw.documents.store import dumps

        return dumps(told.to_json())
    if kind is Format.markdown:
        from entropylaw.report import phasemarkdown

        return phasemarkdown.render(told)
    from entropylaw.report import phasecsv, phasetext

    return phasecsv.render(told) if kind is Format.csv else phasetext.render(told)


def draw(told: PhasesDocument, figure: str, histograms: dict[str, str]) -> Iterable[str]:
    """Write the figure of one run, or all of every run's into a folder; yields the paths."""
    from entropylaw.documents.store import write_atomically
    from entropylaw.report import phase_figure, token_figure
    from entropylaw.report.figures import Kind, figure_bytes
    from entropylaw.report.slugs import safe_name
    from entropylaw.tokens.heat import read_histogram

    suffix = picture_of(figure)
    kinds: tuple[Kind, ...] = (suffix.removeprefix("."),) if suffix else ("svg", "png")  # type: ignore[assignment]
    taken: set[str] = set()
    for run in told.runs:
        slug = safe_name(run.run, taken)
        drawings = {}
        if run.phases is not None:
            drawings["phases"] = phase_figure.phase_figure(run)
        # Too few steps for a boundary are still a picture of the tokens.
        if not suffix and run.run in histograms:
            drawings["tokens"] = token_figure.token_figure(read_histogram(histograms[run.run]))
        for name, drawing in drawings.items():
            for kind in kinds:
                path = figure if suffix else str(Path(figure) / f"{slug}-{name}.{kind}")
                write_atomically(path, figure_bytes(drawing, kind, f"{slug}-{name}"))
                yield path


def _finish(told: PhasesDocument, failures: Sequence[EntropyLawError]) -> None:
    """Exit 4 (or 3, where nothing could even be read) if no run was fitted; errors go to stderr."""
    from entropylaw.cli import show_error
    from entropylaw.errors import FitError, InputError

    for error in failures:
        show_error(error)
    if not told.fitted:
        read = any(isinstance(error, FitError) for error in failures)
        raise typer.Exit(FitError.exit_code if read else InputError.exit_code)
