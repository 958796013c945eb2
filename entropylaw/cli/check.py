"""``entropylaw check``: gates on stored fits or logs, for a pipeline. Stored fits need no numpy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from entropylaw import options as opt
from entropylaw.cli import output
from entropylaw.cli.command import takes
from entropylaw.errors import InputError, OutputError, UsageError
from entropylaw.kinds import GATE, PATH
from entropylaw.paths import check_targets, is_file, is_own, shown_path

if TYPE_CHECKING:
    from entropylaw.documents.document import CheckDocument, CheckedFile
    from entropylaw.documents.loading import Stored
    from entropylaw.gates.quantities import Part
    from entropylaw.gates.subjects import Subject
    from entropylaw.pipeline.sources import Place

TRIPPED = 5
"""Exit code where a gate tripped, or its quantity is unknown, for whatever reason."""

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file of a step's summary."""

GATES = "Gates"
FORMATS = (*opt.SUFFIXES, *opt.JUNIT)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckCommand(opt.Parallel, opt.LawOptions, opt.Gained, opt.Coverage, opt.Quiet):
    """``entropylaw check``."""

    sources: tuple[str, ...] = opt.option(
        "FITS|LOGS",
        "Documents that `fit`, `report`, `phases`, `predict` or `compare` wrote; a report, by its folder or "
        "its report.json; or logs, which are fitted.",
        PATH,
        many=True,
        required=True,
    )
    fail_if: tuple[str, ...] = opt.option(
        "--fail-if",
        "The condition: QUANTITY OP NUMBER, as ceiling<0.62 or p_headroom<0.5; \"verdict!='holds'\"; "
        "regression(BASELINE.fit.json)>1% (fall of the ceiling); fails (the law fails); undecided; lost "
        "(the reward); refused (not fitted). Repeatable.",
        GATE,
        GATES,
        key="gates",
        many=True,
    )
    strict: bool = opt.switch(
        "--strict",
        "Fail also where the interval, or an undecided verdict, does not exclude the expression.",
        GATES,
    )
    point: bool = opt.switch("--point", "Compare the estimate, not its interval.", GATES)
    even_if_fails: bool = opt.switch(
        "--even-if-fails", "Compare the numbers that are unknown because the law fails, too.", GATES
    )
    format: str = opt.formats(*FORMATS)
    output: tuple[str, ...] = opt.outputs(opt.WRITE.replace(".tex", ".tex .xml"))
    github_summary: bool = opt.switch(
        "--github-summary", f"Append Markdown to the file that {SUMMARY} names."
    )


@takes(
    CheckCommand, example="entropylaw check data/lab/clean_start_s0/metrics.parquet --fail-if 'ceiling<0.4'"
)
def check(options: CheckCommand) -> None:
    """Exit with code 5 if a gate trips or is unknown.

    Every run is compared with every condition. The interval decides, not the point: a condition holds
    where the whole interval satisfies EXPR; where a part of it does, "not excluded" is printed, and only
    --strict fails. An unknown value fails, and the reason is printed: a run that was refused, an interval
    that is missing, the law's own numbers where the law fails, and the averaged ones where reward does not
    follow entropy or was lost. Whatever the reason, an unknown value exits with code 5, for one file as for
    several.
    """
    from entropylaw.documents.document import CheckDocument
    from entropylaw.gates.decide import Rules, decide, load_baselines
    from entropylaw.gates.expression import parse
    from entropylaw.gates.subjects import joined
    from entropylaw.pipeline.sources import refuse_flags

    gates = list(map(parse, dict.fromkeys(options.fail_if)))
    if not gates:
        raise UsageError("no-gate", "no gate was given", "add --fail-if EXPR, or gates in entropylaw.toml")
    formats = output.destinations(options.output or ["-"], options.format, FORMATS)
    summary = summary_file() if options.github_summary else None
    baselines = load_baselines(gates)
    sources = _Sources()
    logs = sources.read_documents(options.sources)
    if sources.inputs:
        refuse_flags("a stored document", options, opt.FitOptions)
        refuse_settings(options, sources.settings)
    if logs:
        parts = {gate.quantity.part for gate in gates}
        sources.read_logs(logs, opt.part(options, opt.FitOptions), parts, options.jobs, quiet=options.quiet)
    rules = {name: getattr(options, name) for name in ("strict", "point", "even_if_fails")}
    subjects = joined(sources.subjects)
    cases = decide(gates, subjects, baselines, Rules(**rules))
    document = CheckDocument(
        inputs=tuple(dict.fromkeys(sources.inputs)),
        config=options.config,
        gates=tuple(gate.shown for gate in gates),
        **rules,
        runs=len(subjects),
        failed=any(case.failed for case in cases),
        cases=cases,
        warnings=tuple(sources.warnings),
    )
    # A gate never skips a file in silence, not even with --quiet.
    output.say_skipped(document.warnings, quiet=False)
    unwritten = write_check(document, formats, summary, quiet=options.quiet)
    for one in (*subjects, *chain.from_iterable(baselines.values())):
        if one.refusal is not None:
            output.show_error(output.refused(one.run, one.refusal))
    if document.failed or unwritten:
        raise typer.Exit(TRIPPED if document.failed else OutputError.exit_code)


def summary_file() -> str:
    """The file of a step's summary; raises UsageError (``no-step-summary``)."""
    if file := os.environ.get(SUMMARY):
        return file
    hint = "leave it out outside GitHub Actions, or write -o summary.md"
    raise UsageError("no-step-summary", f"--github-summary was given, and {SUMMARY} is not set", hint)


@dataclass(slots=True, kw_only=True)
class _Sources:
    """The runs of all sources, the files behind them, the documents in folders, and warnings about files.

    ``settings`` are those of the stored documents: (path, name → value).
    """

    subjects: list[Subject] = field(default_factory=list)
    settings: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    inputs: list[CheckedFile] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def read_documents(self, sources: Sequence[str]) -> list[str]:
        """Read the stored documents, those in folders too; returns the other sources, which are logs."""
        from entropylaw.gates.subjects import unread
        from entropylaw.pipeline.sources import places

        logs = []
        for place in places(sources):
            if place.others and is_own_table(place.path):
                what = f"{shown_path(place.path)} is a table that entropylaw wrote, and gates read documents"
                hint = "give the JSON of the same call, or the folder of the report"
                self.subjects.append(unread(shown_path(place.path), InputError("not-a-document", what, hint)))
                continue
            for document in place.documents:
                self.read_document(document, place)
            if place.others or place.path not in self.documents:
                logs.append(place.path)
        return logs

    def read_document(self, document: Stored, place: Place) -> None:
        """Read a document of an argument, or warn that no gate uses it."""
        from entropylaw.documents.loading import FITS
        from entropylaw.gates.subjects import READ, documents_of, flaws_of, unread

        shown = shown_path(document.path)
        self.documents.add(shown)
        if document.kind == "index":
            # The runs of a report; those in a folder are found there.
            self.documents.add(place.path)
            self.subjects += [unread(path, error) for path, error in flaws_of(document)]
            self.read([] if place.folder else documents_of(document))
        elif not place.folder or document.kind in ("", *READ) or FITS in document.path.casefold():
            self.documents.add(place.path)
            self.read([document])
        else:
            self.warnings.append(f"{shown} was not read: no gate uses such a document")

    def read(self, documents: Iterable[Stored]) -> None:
        """Read documents, each once."""
        from entropylaw.gates.subjects import checked_file, stored_subjects

        for one in documents:
            if (file := checked_file(one)) not in self.inputs:
                self.inputs.append(file)
                self.subjects += stored_subjects(one)
                settings = (one.data or {}).get("settings")
                if isinstance(settings, dict):
                    self.settings.append((file.path, settings))

    def read_logs(
        self,
        logs: Sequence[str],
        settings: opt.FitOptions,
        parts: Set[Part],
        jobs: int | None,
        *,
        quiet: bool,
    ) -> None:
        """Fit the runs of logs, with the ``parts`` that gates compare; no result of an earlier call is used.

        Documents in their folders were read already and are not skipped files, and a folder of documents with
        runs in them needs no log.
        """
        output.begin(logs, jobs)
        from entropylaw.documents.document import CheckedFile, from_fits
        from entropylaw.gates.quantities import Part
        from entropylaw.gates.subjects import joined, subjects_of
        from entropylaw.pipeline import steps
        from entropylaw.results.result import replace

        law, phases = steps.Fit(settings), steps.Phases(opt.part(settings, opt.PhaseOptions))
        columns = (*law.columns, *(phases.columns if Part.phases in parts else ()))
        reading, known = output.read_shown(logs, settings, columns, any_table=True), self.documents
        failures = (f for f in reading.failures if f.path not in known or f.error.slug != "no-logs-in-folder")
        ignored = (file for file in reading.ignored if shown_path(file.path) not in known)
        reading = replace(reading, failures=tuple(failures), ignored=tuple(ignored))
        fits = law.document(reading, output.result_of(law, reading.runs, jobs, quiet=quiet, anew=True))
        subjects = subjects_of(fits, "the fit")
        if Part.ahead in parts:
            ahead = output.result_of(steps.Ahead(), fits.runs, jobs, anew=True)
            subjects = subjects_of(from_fits(fits, ahead), "the fit")
        if Part.phases in parts and fits.runs:
            phased = phases.document(reading, output.result_of(phases, reading.runs, jobs, anew=True))
            subjects += subjects_of(phased, "the fit")
        self.subjects += [replace(each, sources=(each.path,)) for each in joined(subjects)]
        self.inputs += [CheckedFile(path=f.path, sha256=f.sha256, format=f.format) for f in fits.inputs]
        self.warnings += fits.warnings


def refuse_settings(options: CheckCommand, stored: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Refuse settings of a file that cannot apply to a stored document, as it was made with others.

    Raises UsageError (``fit-is-fixed``).
    """
    from entropylaw.documents.codec import encode

    own = opt.options_of(type(options))
    theirs = opt.options_of(opt.FitOptions)
    named = {name: encode(getattr(options, name)) for name in options.from_file if name in theirs}
    for path, settings in stored:
        for name, value in named.items():
            if name in settings and settings[name] != value:
                what = f"a settings file sets {own[name].key} = {value}, and {path} was made with "
                what += "its default" if settings[name] is None else f"{settings[name]}"
                hint = "give the log itself to fit it anew, or leave the setting out with --no-config"
                raise UsageError("fit-is-fixed", what, hint)


def is_own_table(path: str) -> bool:
    """Whether a file is a table that entropylaw wrote."""
    if Path(path).suffix.lower() != ".csv" or not is_file(path):
        return False
    with suppress(OSError), Path(path).open("rb") as file:
        return is_own(file.read(100))
    return False


def write_check(
    document: CheckDocument, formats: Mapping[str, str], summary: str | None, *, quiet: bool
) -> bool:
    """Write a check to all its outputs, to standard output last; returns whether a file could not be written.

    The exit code is the gate's, even where standard output fails. Raises UsageError (``output-is-input``).
    """
    files = {path: output.rendered(document, kind) for path, kind in formats.items() if path != "-"}
    check_targets([*files, *([summary] if summary is not None else [])])
    problems: list[OutputError] = []
    try:
        output.write_out(files, None, quiet=quiet)
    except OutputError as error:
        problems.append(error)
    try:
        if summary is not None:
            # Other steps write to it, too.
            with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(output.rendered(document, "markdown"))
            output.say(f"appended to {SUMMARY}", quiet=quiet)
    except OSError as error:
        why = f"{summary}, which {SUMMARY} names, could not be written ({error.strerror or error})"
        hint = "leave out --github-summary, or write -o summary.md"
        problems.append(OutputError("cannot-write", why, hint))
    for problem in problems:
        output.show_error(problem)
    try:
        if "-" in formats:
            output.write_out({}, output.shown(document, formats["-"]), quiet=quiet)
    except OutputError as error:
        output.show_error(error)
    return bool(problems)
