"""``entropylaw check``: gates on stored fits or logs, for a pipeline. Stored fits need no numpy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from entropylaw import options as opt
from entropylaw.cli import output
from entropylaw.cli.command import takes
from entropylaw.errors import OutputError, UsageError
from entropylaw.kinds import GATE, PATH
from entropylaw.paths import check_targets, shown_path

if TYPE_CHECKING:
    from entropylaw.documents.document import CheckDocument, CheckedFile
    from entropylaw.documents.loading import Stored
    from entropylaw.gates.expression import Gate
    from entropylaw.gates.quantities import Part
    from entropylaw.gates.subjects import Subject
    from entropylaw.pipeline.inputs import Inputs

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
    from entropylaw.gates.subjects import READ, joined

    gates = list(map(parse, dict.fromkeys(options.fail_if)))
    if not gates:
        raise UsageError("no-gate", "no gate was given", "add --fail-if EXPR, or gates in entropylaw.toml")
    formats = output.destinations(options.output or ["-"], options.format, FORMATS)
    summary = summary_file() if options.github_summary else None
    baselines = load_baselines(gates)
    settings, fixed = opt.part(options, opt.FitOptions), options.flags_given(opt.FitOptions)
    more: dict[str, Any] = {"kinds": READ, "fixed": fixed, "strict": True}
    inputs = output.gather(options.sources, options, settings, options.jobs, **more)
    refuse_settings(options, inputs.documents)
    subjects = joined(subjects_in(inputs, gates, options))
    rules = {name: getattr(options, name) for name in ("strict", "point", "even_if_fails")}
    cases = decide(gates, subjects, baselines, Rules(**rules))
    document = CheckDocument(
        inputs=checked_files(inputs),
        config=options.config,
        gates=tuple(gate.shown for gate in gates),
        **rules,
        runs=len(subjects),
        failed=any(case.failed for case in cases),
        cases=cases,
        warnings=inputs.warnings,
    )
    # A gate never skips a file in silence, not even with --quiet.
    output.say_skipped(document.warnings, quiet=False)
    unwritten = write_check(document, formats, summary, quiet=options.quiet)
    for subject in (*subjects, *chain.from_iterable(baselines.values())):
        if subject.refusal is not None:
            output.show_error(output.refused(subject.run, subject.refusal))
    if document.failed:
        raise typer.Exit(TRIPPED)
    if unwritten:
        raise typer.Exit(OutputError.exit_code)


def checked_files(inputs: Inputs) -> tuple[CheckedFile, ...]:
    """The documents and the logs that were read, each once."""
    from entropylaw.documents.document import CheckedFile
    from entropylaw.gates.subjects import checked_file

    files = list(map(checked_file, inputs.documents))
    files += [CheckedFile(path=file.path, sha256=file.sha256, format=file.format) for file in inputs.files]
    return tuple(dict.fromkeys(files))


def subjects_in(inputs: Inputs, gates: Sequence[Gate], options: CheckCommand) -> list[Subject]:
    """The runs of the documents and of the logs, and what could not be read."""
    from entropylaw.gates.subjects import stored_subjects, unread

    subjects = [unread(path, error) for path, error in inputs.flaws]
    subjects += chain.from_iterable(map(stored_subjects, inputs.documents))
    if inputs.entries:
        parts = {gate.quantity.part for gate in gates}
        subjects += fitted_subjects(inputs, parts, options.jobs, quiet=options.quiet)
    return subjects


def summary_file() -> str:
    """The file of a step's summary; raises UsageError (``no-step-summary``)."""
    if file := os.environ.get(SUMMARY):
        return file
    hint = "leave it out outside GitHub Actions, or write -o summary.md"
    raise UsageError("no-step-summary", f"--github-summary was given, and {SUMMARY} is not set", hint)


def fitted_subjects(inputs: Inputs, parts: Set[Part], jobs: int | None, *, quiet: bool) -> list[Subject]:
    """The runs of logs with the ``parts`` that gates compare; no result of an earlier call is used."""
    from entropylaw.documents.document import from_fits
    from entropylaw.gates.quantities import Part
    from entropylaw.gates.subjects import joined, subjects_of
    from entropylaw.pipeline import steps
    from entropylaw.results.result import replace

    law = steps.Fit(inputs.settings)
    phases = steps.Phases(opt.part(inputs.settings, opt.PhaseOptions))
    fits = law.document(inputs, output.result_of(law, inputs.entries, jobs, quiet=quiet, anew=True))
    subjects = subjects_of(fits, "the fit")
    if Part.ahead in parts:
        ahead = output.result_of(steps.Ahead(), fits.runs, jobs, anew=True)
        subjects = subjects_of(from_fits(fits, ahead), "the fit")
    if Part.phases in parts:
        phased = phases.document(inputs, output.result_of(phases, inputs.entries, jobs, anew=True))
        subjects += subjects_of(phased, "the fit")
    return [replace(subject, sources=(subject.path,)) for subject in joined(subjects)]


def refuse_settings(options: CheckCommand, documents: Iterable[Stored]) -> None:
    """Refuse settings of a file that cannot apply to a stored document, as it was made with others.

    Raises UsageError (``fit-is-fixed``).
    """
    from entropylaw.documents.codec import encode

    flags = opt.options_of(type(options))
    theirs = opt.options_of(opt.FitOptions)
    named = {name: encode(getattr(options, name)) for name in options.from_file if name in theirs}
    for document in documents:
        settings = (document.data or {}).get("settings")
        if not isinstance(settings, dict):
            continue
        for name, value in named.items():
            if name in settings and settings[name] != value:
                made = "its default" if settings[name] is None else f"{settings[name]}"
                path = shown_path(document.path)
                message = f"a settings file sets {flags[name].key} = {value}, and {path} was made with {made}"
                hint = "give the log itself to fit it anew, or leave the setting out with --no-config"
                raise UsageError("fit-is-fixed", message, hint)


def write_check(
    document: CheckDocument, formats: Mapping[str, str], summary: str | None, *, quiet: bool
) -> bool:
    """Write a check to all its outputs, to standard output last; returns whether a file could not be written.

    The exit code is the gate's, even where standard output fails. Raises UsageError (``output-is-input``).
    """
    files = {path: output.rendered(document, kind) for path, kind in formats.items() if path != "-"}
    check_targets([*files, *([summary] if summary is not None else [])])
    problems: list[OutputError] = []
    with output.noted(problems):
        output.write_out(files, None, quiet=quiet)
    if summary is not None:
        with output.noted(problems):
            append_summary(document, summary)
            output.say(f"appended to {SUMMARY}", quiet=quiet)
    for problem in problems:
        output.show_error(problem)
    unprinted: list[OutputError] = []
    if "-" in formats:
        with output.noted(unprinted):
            output.write_out({}, output.shown(document, formats["-"]), quiet=quiet)
    for problem in unprinted:
        output.show_error(problem)
    return bool(problems)


def append_summary(document: CheckDocument, summary: str) -> None:
    """Append a check to the file of a step's summary, as other steps do.

    Raises OutputError (``cannot-write``).
    """
    try:
        with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(output.rendered(document, "markdown"))
    except OSError as error:
        message = f"{summary}, which {SUMMARY} names, could not be written ({error.strerror or error})"
        hint = "leave out --github-summary, or write -o summary.md"
        raise OutputError("cannot-write", message, hint) from error
