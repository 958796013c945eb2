"""From what a user points at to tasks: logs, folders of logs, stored fits and stored reports."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from entropylaw.analysis.shared import SharedFit
from entropylaw.batch.tasks import Beside, Making, Task, light, with_keys
from entropylaw.documents.finding import Stored, damaged, documents_in, find_document
from entropylaw.documents.fit import (
    InputFile,
    RunFit,
    input_files,
    load_fit,
    refused_file,
    skipped_files,
)
from entropylaw.documents.report import RunReport, load_report
from entropylaw.errors import InputError, UsageError, known_form
from entropylaw.ingest.naming import told_apart
from entropylaw.ingest.run import Run
from entropylaw.inputs import note_input
from entropylaw.options import FitOptions
from entropylaw.paths import is_file, is_folder, shown_path
from entropylaw.report.index_rows import natural
from entropylaw.report.slugs import safe_name
from entropylaw.tokens.output import histogram_of
from entropylaw.workflow import named_columns, read_logs, settings_differ


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The tasks of a batch, in the order of the report, and warnings about files."""

    tasks: tuple[Task, ...]
    settings: FitOptions
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A run, however far it has come."""

    name: str
    path: str
    run: Run | None = None
    known: RunFit | RunReport | None = None
    inputs: tuple[InputFile, ...] = ()
    histogram: Beside | None = None
    shared: SharedFit | None = None


def gather(sources: Sequence[str], making: Making, *, told: bool) -> Gathered:
    """Read every source; a file that cannot be read is a task too, and its page says why.

    Parameters
    ----------
    sources
        Logs, folders of logs, stored fits and reports, folders that hold nothing but these.
    making
        What is made of each.
    told
        Whether the user said how to fit, which no stored fit can follow.

    Raises
    ------
    UsageError
        ``fit-is-fixed``, ``settings-differ``, and whatever is wrong with an option.
    InputError
        A stored document is damaged or of another version.
    """
    stored: list[tuple[str, str]] = []
    logs: list[str] = []
    for source in dict.fromkeys(sources):
        document = find_document(source)
        inside: list[Stored] = []
        if document is not None:
            stored.append((source, _reportable(document)))
        elif source != "-" and is_folder(source):
            inside, others = documents_in(source)
            inside = [] if others else inside
            stored += [(one.path, _reportable(one)) for one in inside]
        if document is None and not inside:
            logs.append(source)
    if stored and told:
        raise UsageError(
            "fit-is-fixed",
            f"{stored[0][0]} is a stored fit, and options that say how to fit were given",
            "give the log itself to fit it anew",
        )
    settings, found = _stored(stored) if stored else (making.settings, [])
    warnings: tuple[str, ...] = ()
    if logs:
        if settings != making.settings:
            raise settings_differ(settings, making.settings)
        read, warnings = _logs(logs, settings)
        found += read
    made = replace(making, settings=settings).formats(len(found))
    beside = [_histogram(one.run) for one in found]
    warnings += tuple(warning for _, warning in beside if warning)
    known = [replace(one, histogram=file) for one, (file, _) in zip(found, beside, strict=True)]
    return Gathered(tasks=tuple(_tasks(known, made)), settings=settings, warnings=warnings)


def _logs(logs: Sequence[str], settings: FitOptions) -> tuple[list[_Found], tuple[str, ...]]:
    columns = named_columns(settings)
    reading = read_logs(logs, step=settings.step, run=settings.run, columns=columns)
    keep = frozenset(columns)
    found = [
        _Found(name=run.name, path=run.source.path, run=light(run, keep), inputs=input_files([run]))
        for run in reading.runs
    ]
    for failure in reading.failures:
        entry = refused_file(*failure)
        found.append(_Found(name=entry.run, path=entry.path, known=entry))
    return found, skipped_files(reading.ignored)


def _stored(sources: Sequence[tuple[str, str]]) -> tuple[FitOptions, list[_Found]]:
    """Runs of stored fits and reports, all with the same settings."""
    settings: FitOptions | None = None
    found: list[_Found] = []
    for source, kind in sources:
        note_input(source)
        document = load_fit(source) if kind == "fit" else load_report(source)
        if settings is not None and document.settings != settings:
            raise settings_differ(settings, document.settings)
        settings = document.settings
        for entry in document.runs:
            fit = entry.fit if isinstance(entry, RunReport) else entry
            files = (
                document.inputs
                if len(document.runs) == 1
                else tuple(file for file in document.inputs if file.path == fit.path)
            )
            found.append(
                _Found(name=fit.run, path=fit.path, known=entry, inputs=files, shared=document.shared)
            )
    assert settings is not None
    return settings, found


def _tasks(found: Sequence[_Found], making: Making) -> Iterator[Task]:
    """The runs in the order of the index, each with its neighbours there."""
    names = told_apart([one.name for one in found], [one.path for one in found])
    ordered = sorted(zip(names, found, strict=True), key=lambda pair: (natural(pair[0]), pair[0]))
    taken: set[str] = set()
    places = [(name, safe_name(name, taken)) for name, _ in ordered]
    for i, ((name, one), (_, slug)) in enumerate(zip(ordered, places, strict=True)):
        run = None if one.run is None else replace(one.run, name=name)
        task = Task(
            name=name,
            slug=slug,
            making=making,
            run=run,
            known=_called(one.known, name),
            inputs=one.inputs,
            histogram=one.histogram,
            shared=one.shared,
            before=places[i - 1] if i else None,
            after=places[i + 1] if i + 1 < len(places) else None,
        )
        yield with_keys(task)


def _histogram(run: Run | None) -> tuple[Beside | None, str]:
    """The tokens' sums beside a summary that ``entropylaw tokens`` wrote, or why they are not drawn."""
    if run is None or not is_file(run.source.path):
        return None, ""
    beside, warning = histogram_of(Path(run.source.path))
    if beside is None:
        return None, warning
    note_input(beside)
    return Beside(path=str(beside), sha256=hashlib.sha256(beside.read_bytes()).hexdigest()), ""


def _called(known: RunFit | RunReport | None, name: str) -> RunFit | RunReport | None:
    if isinstance(known, RunReport):
        return replace(known, fit=_fit_called(known.fit, name))
    return None if known is None else _fit_called(known, name)


def _fit_called(entry: RunFit, name: str) -> RunFit:
    if entry.run == name:
        return entry
    return replace(entry, run=name, law=entry.law and replace(entry.law, run=name))


def _reportable(document: Stored) -> str:
    """``fit`` or ``report``.

    Raises
    ------
    InputError
        ``not-a-document``: a document of ours of which no report can be made. ``damaged-document``.
    """
    shown = shown_path(document.path)
    if document.data is None:
        raise damaged(document, shown)
    if document.kind not in ("fit", "report"):
        raise InputError(
            "not-a-document",
            f"{shown} has schema {known_form(document.data['schema'])}, expected a fit or a report",
            "give the log itself, or a file that `entropylaw fit` wrote",
        )
    return document.kind
