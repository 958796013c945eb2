"""``entropylaw check``: gates on stored fits or logs, for a pipeline. Stored fits need no numpy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from entropylaw.cli.command import takes
from entropylaw.errors import OutputError, UsageError
from entropylaw.inputs import check_targets
from entropylaw.options import (
    GATE,
    PATH,
    Coverage,
    FitOptions,
    LawOptions,
    Parallel,
    PhaseOptions,
    Quiet,
    formats,
    option,
    outputs,
    part,
    switch,
)

if TYPE_CHECKING:
    from entropylaw.documents.check import CheckDocument, CheckedFile
    from entropylaw.documents.document import Document
    from entropylaw.documents.finding import Stored
    from entropylaw.gates.decide import Baselines, Rules
    from entropylaw.gates.expression import Gate
    from entropylaw.gates.quantities import Part
    from entropylaw.gates.subjects import Subject

TRIPPED = 5
"""Exit code where a gate tripped, or could not be told."""

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file of a step's summary."""

FORMATS = ("text", "json", "markdown", "junit")

GATES = "Gates"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckCommand(Parallel, LawOptions, Coverage, Quiet):
    """``entropylaw check``."""

    sources: tuple[str, ...] = option(
        "FITS|LOGS",
        "Documents that `fit`, `report`, `phases` or `predict` wrote, a folder of fits, or logs, which are "
        "fitted.",
        PATH,
        key="inputs",
        many=True,
        required=True,
    )
    fail_if: tuple[str, ...] = option(
        "--fail-if",
        "What must not be: QUANTITY OP NUMBER, as ceiling<0.62 or used>90%; phases=='overlapping'; "
        "verdict=='law fails'; regression(BASELINE.fit.json)>1%; invalid; refused. Repeatable.",
        GATE,
        GATES,
        key="gates",
        many=True,
    )
    strict: bool = switch("--strict", "Fail also where the interval does not exclude the expression.", GATES)
    point: bool = switch("--point", "Compare the estimate, not its interval.", GATES)
    even_if_invalid: bool = switch(
        "--even-if-invalid", "Compare the numbers of a law that does not hold, too.", GATES
    )
    format: str = formats(*FORMATS)
    output: tuple[str, ...] = outputs(
        "Write here, too; the suffix (.json .md .xml .txt) decides the format; .xml is JUnit's. Repeatable."
    )
    github_summary: bool = switch("--github-summary", f"Append Markdown to the file that {SUMMARY} names.")


@takes(
    CheckCommand, example="entropylaw check data/lab/clean_start_s0/metrics.parquet --fail-if 'ceiling<0.4'"
)
def check(options: CheckCommand) -> None:
    """Fail a pipeline where a run is what it must not be: exit code 5.

    The interval decides, not the point. A gate trips where the whole interval satisfies EXPR, so that the
    data establish it; where a part of it does, "not excluded" is printed, and only --strict fails. What
    is not known fails, with the reason: a run that was refused, an interval that is missing, and every
    number of a law that does not hold for its run. Exit code 4 or 3 means that no run at all was fitted.
    """
    from entropylaw.cli.output import format_of, say_skipped
    from entropylaw.gates.decide import Rules
    from entropylaw.gates.documents import baselines
    from entropylaw.gates.expression import parse
    from entropylaw.pipeline.sources import refuse_flags

    gates = [parse(text) for text in dict.fromkeys(options.fail_if)]
    if not gates:
        raise UsageError("no-gate", "no gate was given", "add --fail-if EXPR, or gates in entropylaw.toml")
    format = options.format
    wanted = {path: format if path == "-" else format_of(path, FORMATS) for path in options.output}
    summary = summary_file() if options.github_summary else None
    baselines_read = baselines(gates)
    found = _Found(parts=frozenset(gate.quantity.part for gate in gates))
    logs = found.read_documents(options.sources)
    if found.inputs:
        refuse_flags("a stored document", options, FitOptions)
    if logs:
        found.read_logs(logs, part(options, FitOptions), options.jobs)
    rules = Rules(strict=options.strict, point=options.point, any_law=options.even_if_invalid)
    document = _decided(found, gates, baselines_read, rules)
    # A gate never skips a file in silence, not even with --quiet.
    say_skipped(document.warnings, quiet=False)
    unwritten = _write(document, {"-": format} | wanted, summary, quiet=options.quiet)
    found.finish()
    if document.failed:
        raise typer.Exit(TRIPPED)
    if unwritten:
        raise typer.Exit(OutputError.exit_code)


def _decided(found: _Found, gates: Sequence[Gate], known: Baselines, rules: Rules) -> CheckDocument:
    """Every gate on every run, as a document."""
    from entropylaw.documents.check import CheckDocument
    from entropylaw.gates.decide import decide
    from entropylaw.gates.subjects import joined

    found.subjects = joined(found.subjects)
    cases = decide(gates, found.subjects, known, rules)
    return CheckDocument(
        inputs=tuple(dict.fromkeys(found.inputs)),
        gates=tuple(gate.shown for gate in gates),
        strict=rules.strict,
        point=rules.point,
        even_if_invalid=rules.any_law,
        runs=len(found.subjects),
        failed=any(case.failed for case in cases),
        cases=cases,
        warnings=tuple(found.warnings),
    )


@dataclass(slots=True, kw_only=True)
class _Found:
    """The runs of all sources, with the files behind them."""

    parts: frozenset[Part]
    subjects: list[Subject] = field(default_factory=list)
    inputs: list[CheckedFile] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def read_documents(self, sources: Sequence[str]) -> list[str]:
        """Read the stored documents, those in folders too; returns what else there is, which are logs."""
        from entropylaw.documents.finding import FITS
        from entropylaw.gates.documents import missing_pages
        from entropylaw.gates.subjects import READ
        from entropylaw.paths import shown_path
        from entropylaw.pipeline.sources import places

        logs = []
        for place in places(sources):
            taken = not place.folder
            for one in place.documents:
                if place.folder:
                    self.documents.add(shown_path(one.path))
                if one.kind == "index" and place.folder:
                    self.subjects += missing_pages(one)
                # What is no answer about a run, such as the index of a report, may lie in a folder.
                if not place.folder or one.kind in ("", *READ) or FITS in one.path.casefold():
                    taken = True
                    self._take(one)
                else:
                    shown = shown_path(one.path)
                    self.warnings.append(f"{shown} was not read: no gate asks for such a document")
            if taken and place.folder:
                self.documents.add(place.path)
            if place.others or not taken:
                logs.append(place.path)
        return logs

    def read_logs(self, logs: Sequence[str], settings: FitOptions, jobs: int | None) -> None:
        """Fit the runs of logs, with the parts that gates ask about.

        Documents in their folders were read already and are no skipped files, and a folder of documents with
        runs in them needs no log.
        """
        from entropylaw.cli.reading import answered, begin, read_shown

        begin(logs, jobs)
        from entropylaw.documents.check import CheckedFile
        from entropylaw.documents.report import from_fits
        from entropylaw.gates.quantities import Part
        from entropylaw.gates.subjects import joined, subjects_of
        from entropylaw.paths import shown_path
        from entropylaw.pipeline import documents, steps
        from entropylaw.results.fields import replace

        law, phases = steps.fit(settings), steps.phases(part(settings, PhaseOptions))
        columns = (*law.columns, *(phases.columns if Part.phases in self.parts else ()))
        reading = read_shown(logs, settings, columns)
        needed = [
            f for f in reading.failures if f.path not in self.documents or f.error.slug != "no-logs-in-folder"
        ]
        others = [file for file in reading.ignored if shown_path(file.path) not in self.documents]
        reading = replace(reading, failures=tuple(needed), ignored=tuple(others))
        fits = documents.fits(reading, [entry for entry, _ in answered(law, reading.runs, jobs)], settings)
        whole: Document[Any] = fits
        if Part.ahead in self.parts:
            whole = from_fits(fits, [entry for entry, _ in answered(steps.ahead(), fits.runs, jobs)])
        subjects = subjects_of(whole, "the fit")
        if Part.phases in self.parts and whole.runs:
            entries = [entry for entry, _ in answered(phases, reading.runs, jobs)]
            subjects += subjects_of(documents.phases(reading, entries, phases.options), "the fit")
        self.subjects += [replace(each, sources=(each.path,)) for each in joined(subjects)]
        self.inputs += [CheckedFile(path=f.path, sha256=f.sha256, format=f.format) for f in fits.inputs]
        self.warnings += fits.warnings

    def _take(self, document: Stored) -> None:
        from entropylaw.gates.documents import checked_file, subjects_in

        file = checked_file(document)
        if file not in self.inputs:
            self.inputs.append(file)
            self.subjects += subjects_in(document)

    def finish(self) -> None:
        """Say what was refused; exit 4 or 3 where everything was."""
        from entropylaw.cli.output import finish, refused

        without = [subject for subject in self.subjects if subject.refusal is not None]
        errors = [refused(each.run, each.refusal) for each in without]
        read = any(each.read for each in without)
        finish(errors, answered=len(without) < len(self.subjects), read=read)


def summary_file() -> str:
    """The file of the step's summary.

    Raises
    ------
    UsageError
        ``no-step-summary``: not on GitHub.
    """
    path = os.environ.get(SUMMARY)
    if not path:
        raise UsageError(
            "no-step-summary",
            f"--github-summary was given, and {SUMMARY} is not set",
            "leave it out outside GitHub Actions, or write -o summary.md",
        )
    return path


def _write(document: CheckDocument, wanted: Mapping[str, str], summary: str | None, *, quiet: bool) -> bool:
    """Write a check wherever it is wanted, to standard output last; returns whether a file is missing.

    The exit code is the gate's, whatever happens to standard output.

    Raises
    ------
    UsageError
        ``output-is-input``.
    """
    from entropylaw.cli.output import rendered, say, show_error, write_out

    files = {path: rendered(document, kind) for path, kind in wanted.items() if path != "-"}
    check_targets([*files, *([summary] if summary is not None else [])])
    unwritten = False
    try:
        write_out(files, None, quiet=quiet)
    except OutputError as error:
        unwritten = True
        show_error(error)
    if summary is not None:
        try:
            # Other steps write to it, too.
            with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(rendered(document, "markdown"))
            say(f"appended to {SUMMARY}", quiet=quiet)
        except OSError as error:
            unwritten = True
            why = f"{summary}, which {SUMMARY} names, could not be written ({error.strerror or error})"
            hint = "leave out --github-summary, or write -o summary.md"
            show_error(OutputError("cannot-write", why, hint))
    try:
        write_out({}, rendered(document, wanted["-"]), quiet=quiet)
    except OutputError as error:
        show_error(error)
    return unwritten
