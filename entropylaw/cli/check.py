"""``entropylaw check``: gates on stored fits or logs, for a pipeline. Stored fits need no numpy."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from entropylaw.cli import output
from entropylaw.cli.commands import SUMMARY, CheckCommand
from entropylaw.cli.streams import say, show_error
from entropylaw.documents.codec import encode
from entropylaw.documents.document import CheckDocument, CheckedFile, SettingsUsed
from entropylaw.errors import InputError, OutputError, UsageError
from entropylaw.escaping import counted
from entropylaw.gates.decide import Rules, decide, load_baselines
from entropylaw.gates.expression import parse, worse_than
from entropylaw.gates.runs import READ, by_run, checked_file, entries_in, entries_of, unread
from entropylaw.option import options_of, part
from entropylaw.options import CompareOptions, FitOptions, PhaseOptions
from entropylaw.paths import NOT_READ, check_targets, shown_path
from entropylaw.results.result import replace

if TYPE_CHECKING:
    from entropylaw.documents.loading import Stored
    from entropylaw.gates.expression import Gate
    from entropylaw.gates.quantity import ResultKind
    from entropylaw.gates.runs import RunEntries
    from entropylaw.pipeline.inputs import Inputs

SETTINGS_OF: Mapping[str, type] = {"phases": PhaseOptions, "comparison": CompareOptions}
"""Kind of a document → the options of its settings; of the others they are those of a fit."""

TRIPPED = 5
"""Exit code where a gate tripped, or its quantity is unknown, for whatever reason."""


def check(options: CheckCommand) -> None:
    """Run ``entropylaw check``."""
    gates = list(map(parse, dict.fromkeys(options.fail_if)))
    if options.baseline is not None:
        gates.append(worse_than(options.baseline))
    formats = output.destinations(options.output, options.format)
    if options.junit is not None:
        formats[options.junit] = "junit"
    summary = os.environ.get(SUMMARY) if options.github_summary else None
    if options.github_summary and not summary:
        raise UsageError(
            "no-step-summary",
            f"--github-summary was given, and {SUMMARY} is not set",
            "leave it out outside GitHub Actions, or write -o summary.md",
        )
    baselines = load_baselines(gates)
    settings = part(options, FitOptions)
    fixed = options.flags_given(FitOptions)
    more: dict[str, Any] = {"kinds": READ, "fixed": fixed, "strict": True}
    inputs = output.gather(options.sources, options, settings, **more)
    refuse_settings(options, inputs.documents)
    runs = by_run(runs_in(inputs, gates, options))
    rules = {name: getattr(options, name) for name in ("strict", "point", "even_if_fails")}
    cases = decide(gates, runs, baselines, Rules(**rules))
    files = list(map(checked_file, inputs.documents))
    files += [CheckedFile(path=file.path, sha256=file.sha256, format=file.format) for file in inputs.files]
    document = CheckDocument(
        inputs=tuple(dict.fromkeys(files)),
        config=options.config,
        settings=tuple(settings_used(inputs)),
        gates=tuple(gate.shown for gate in gates),
        **rules,
        runs=len({(run.first.run, run.first.path, run.sources) for run in runs}),
        failed=any(case.failed for case in cases),
        cases=cases,
        warnings=inputs.warnings,
    )
    # A gate never skips a file in silence, not even with --quiet, but the configuration beside a log.
    beside = f"config.json{NOT_READ}"
    skipped = [text for text in document.warnings if not (options.quiet and beside in text)]
    output.say_skipped(skipped, quiet=False)
    unwritten = write_check(document, formats, summary, quiet=options.quiet)
    show_refusals(runs, printed=formats.get("-") == "text")
    show_refusals(chain.from_iterable(baselines.values()))
    if document.failed:
        raise typer.Exit(TRIPPED)
    if unwritten:
        raise typer.Exit(OutputError.exit_code)


def show_refusals(runs: Iterable[RunEntries], *, printed: bool = False) -> None:
    """Show the errors of the runs without a fit; where the text that was ``printed`` has them, what to do."""
    hints = Counter[tuple[str, str]]()
    for run in runs:
        refusal = run.refusal
        if refusal is not None and printed:
            hints[refusal.slug, refusal.hint] += 1
        elif refusal is not None:
            show_error(output.error_of_refusal(run.first.name, refusal))
    for (slug, hint), number in hints.items():
        show_error(InputError(slug, f"{counted(number, 'run')} could not be used", hint))


def settings_used(inputs: Inputs) -> list[SettingsUsed]:
    """The settings of logs and documents that differ from the defaults: a gate's outcome depends on them."""
    used: list[SettingsUsed] = []
    if inputs.entries:
        used.append(SettingsUsed(of="logs", values=changed_settings(encode(inputs.settings), FitOptions)))
    for document in inputs.documents:
        stored = (document.data or {}).get("settings")
        if isinstance(stored, dict):
            values = changed_settings(stored, SETTINGS_OF.get(document.kind, FitOptions))
            used.append(SettingsUsed(of=shown_path(document.path), values=values))
    return [settings for settings in used if settings.values]


def changed_settings(settings: Mapping[str, object], family: type) -> dict[str, object]:
    """The settings that differ from the defaults of a family of options, by their keys."""
    return {
        option.key: settings[name]
        for name, option in options_of(family).items()
        if name in settings and settings[name] != encode(option.default)
    }


def runs_in(inputs: Inputs, gates: Sequence[Gate], options: CheckCommand) -> list[RunEntries]:
    """The runs of the documents and of the logs, and what could not be read."""
    flaws = dict(inputs.flaws)
    runs = [unread(path, error) for path, error in flaws.items()]
    for document in inputs.documents:
        # A document that is not the one of its report is not a run beside its error.
        if shown_path(document.path) not in flaws:
            runs += entries_in(document)
    if inputs.entries:
        kinds = {kind for gate in gates for kind in gate.quantity.reads}
        runs += fitted_runs(inputs, kinds, options.jobs)
    return runs


def fitted_runs(inputs: Inputs, kinds: Set[ResultKind], jobs: int | None) -> list[RunEntries]:
    """The runs of logs with the results that gates read; no result of an earlier call is used."""
    # Not at the top: gates on stored documents need no numpy.
    from entropylaw.cli.running import document_of
    from entropylaw.pipeline import steps

    runs = entries_of(document_of(steps.Fit, inputs, jobs, anew=True))
    if "phases" in kinds:
        classes = replace(inputs, settings=part(inputs.settings, PhaseOptions))
        runs += entries_of(document_of(steps.Phases, classes, jobs, anew=True))
    return [replace(run, sources=run.sources[:1]) for run in by_run(runs)]


def refuse_settings(options: CheckCommand, documents: Iterable[Stored]) -> None:
    """Refuse settings of a file that cannot apply to a stored document, as it was made with others.

    Raises UsageError (``fit-is-fixed``).
    """
    flags = options_of(type(options))
    theirs = options_of(FitOptions)
    named = {name: encode(getattr(options, name)) for name in options.from_file if name in theirs}
    for document in documents:
        settings = (document.data or {}).get("settings")
        if not isinstance(settings, dict):
            continue
        for name, value in named.items():
            if name in settings and settings[name] != value:
                made = "its default" if settings[name] is None else f"{settings[name]}"
                path = shown_path(document.path)
                raise UsageError(
                    "fit-is-fixed",
                    f"a settings file sets {flags[name].key} = {value}, and {path} was made with {made}",
                    "give the log itself to fit it anew, or leave the setting out with --no-config",
                )


def write_check(
    document: CheckDocument, formats: Mapping[str, str], summary: str | None, *, quiet: bool
) -> bool:
    """Write a check to all its outputs; returns whether a file could not be written.

    The exit code is the gate's, even where standard output fails. Raises UsageError (``output-is-input``).
    """
    files = {path: output.rendered(document, kind) for path, kind in formats.items() if path != "-"}
    printed = output.shown(document, formats["-"]) if "-" in formats else None
    if summary is not None:
        check_targets([*files, summary])
    written, problems = output.write_all(files, printed)
    unwritten = len(written) < len(files)
    for path in written:
        say(f"wrote {path}", quiet=quiet)
    if summary is not None:
        # Appended, as other steps do.
        try:
            with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(output.rendered(document, "markdown"))
            say(f"appended to {SUMMARY}", quiet=quiet)
        except OSError as error:
            message = f"{summary}, which {SUMMARY} names, could not be written ({error.strerror or error})"
            hint = "leave out --github-summary, or write -o summary.md"
            problems = [*problems, OutputError("cannot-write", message, hint)]
            unwritten = True
    for problem in problems:
        show_error(problem)
    return unwritten
