"""The tasks of a report: what a user points at, as one task per run with the keys of what it depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropylaw._version import __version__
from entropylaw.documents.codec import encode
from entropylaw.documents.document import InputFile, input_files, skipped_files
from entropylaw.documents.finding import Stored, documents_in, find_document
from entropylaw.documents.fit import RunFit, load_fit, refused_file
from entropylaw.documents.report import RunReport, load_report
from entropylaw.errors import InputError, UsageError, known_form
from entropylaw.ingest import catalog
from entropylaw.ingest.labels import told_apart
from entropylaw.ingest.phasecolumns import candidates
from entropylaw.ingest.run import Run
from entropylaw.inputs import note_input
from entropylaw.options import FitOptions
from entropylaw.paths import is_file, is_folder, shown_path
from entropylaw.report.index_rows import IndexRow, natural
from entropylaw.report.printable import safe_name
from entropylaw.results.fields import replace
from entropylaw.results.groups import SharedFit
from entropylaw.tokens.files import histogram_of
from entropylaw.workflow import named_columns, read_logs, settings_differ

ALL = ("svg", "png", "pdf")

FEW = 50
"""Runs up to which every figure is written in every format, where nobody says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What is made of every run.

    ``folder`` is the report's; ``kinds`` the formats of the figures' files, ``style`` a matplotlib style
    file; ``phases`` says whether curves of planning and execution are looked at. With ``kinds`` None, few
    runs get all formats, and many SVG alone.
    """

    folder: Path
    settings: FitOptions
    kinds: tuple[str, ...] | None
    phases: bool
    style: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """One run: as read (``run``), or what is ``known`` of it from a stored document or a failure to read it.

    ``before`` and ``after`` are name and slug of its neighbours in the report; ``histogram`` path and
    sha256 of the tokens' sums beside a log that ``entropylaw tokens`` wrote; ``shared`` what the run has in
    common with others of its report or stored document. ``fit_key`` stands for all that the numbers depend
    on, ``key`` for all that the files do. ``again`` says that the numbers are known, and the files are to be
    made of them; without a ``page`` only the document is written, because the page needs all runs.
    """

    name: str
    making: Making
    slug: str = ""
    run: Run | None = None
    known: RunFit | RunReport | None = None
    inputs: tuple[InputFile, ...] = ()
    histogram: tuple[str, str] | None = None
    shared: SharedFit | None = None
    before: tuple[str, str] | None = None
    after: tuple[str, str] | None = None
    fit_key: str = ""
    key: str = ""
    again: bool = False
    page: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The error in place of a law; ``exit_code`` tells an unreadable file from data that give no fit."""

    slug: str
    message: str
    hint: str
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of a task: its row in the index, and its files with their sizes."""

    fit_key: str
    key: str
    row: IndexRow
    files: Mapping[str, int]
    failure: Failure | None = None

    @property
    def answered(self) -> bool:
        """Whether the run has a law, or phases."""
        return self.failure is None or "phases" in self.row.cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The tasks of a batch, in the order of the report, and warnings about files."""

    tasks: tuple[Task, ...]
    settings: FitOptions
    warnings: tuple[str, ...]


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
        ``not-a-document``: a document of ours of which no report can be made. ``damaged-document``, or one
        of another version.
    """
    stored, logs = _documents_and_logs(sources)
    if stored and told:
        raise UsageError(
            "fit-is-fixed",
            f"{stored[0].path} is a stored fit, and options that say how to fit were given",
            "give the log itself to fit it anew",
        )
    settings, found = _stored_runs(stored, making)
    warnings: tuple[str, ...] = ()
    if logs:
        if settings != making.settings:
            raise settings_differ(settings, making.settings)
        read, warnings = _logged_runs(logs, making)
        found += read
    kinds = ALL if len(found) <= FEW else ALL[:1]
    made = replace(making, settings=settings, kinds=kinds if making.kinds is None else making.kinds)
    return Gathered(tasks=tuple(_in_order(found, made)), settings=settings, warnings=warnings)


def _documents_and_logs(sources: Sequence[str]) -> tuple[list[Stored], list[str]]:
    """The stored fits and reports among some sources, and the logs."""
    stored: list[Stored] = []
    logs: list[str] = []
    for source in dict.fromkeys(sources):
        document = find_document(source)
        if document is not None:
            stored.append(document)
            continue
        inside, others = documents_in(source) if source != "-" and is_folder(source) else ([], True)
        if others or not inside:
            logs.append(source)
        else:
            stored += inside
    for document in stored:
        shown = shown_path(document.path)
        if document.data is None:
            raise document.damaged(shown)
        if document.kind not in ("fit", "report"):
            raise InputError(
                "not-a-document",
                f"{shown} has schema {known_form(document.data['schema'])}, expected a fit or a report",
                "give the log itself, or a file that `entropylaw fit` wrote",
            )
    return stored, logs


def _stored_runs(stored: Sequence[Stored], making: Making) -> tuple[FitOptions, list[tuple[str, Task]]]:
    """The settings of stored fits and reports, which all have the same, and path and task of every run."""
    settings: FitOptions | None = None
    found: list[tuple[str, Task]] = []
    for source in stored:
        note_input(source.path)
        document = load_fit(source.path) if source.kind == "fit" else load_report(source.path)
        if settings is not None and document.settings != settings:
            raise settings_differ(settings, document.settings)
        settings, shared = document.settings, document.shared
        for entry in document.runs:
            fit = entry.fit if isinstance(entry, RunReport) else entry
            alone = len(document.runs) == 1
            files = tuple(file for file in document.inputs if alone or file.path == fit.path)
            task = Task(name=fit.run, making=making, known=entry, inputs=files, shared=shared)
            found.append((fit.path, task))
    return settings or making.settings, found


def _logged_runs(logs: Sequence[str], making: Making) -> tuple[list[tuple[str, Task]], tuple[str, ...]]:
    """Path and task of every run of some logs, and warnings about files."""
    settings, columns = making.settings, named_columns(making.settings)
    reading = read_logs(logs, step=settings.step, run=settings.run, columns=columns)
    found, warnings = [], [*skipped_files(reading.ignored)]
    for run in reading.runs:
        # A thousand runs are in memory at once: only the columns that something is made of are kept.
        kept = {*columns, *candidates(), *filter(catalog.is_useful, run.columns)}
        used = {name: values for name, values in run.columns.items() if name in kept}
        left = tuple(name for name in run.columns if name not in kept)
        light = replace(run, columns=used, unread=(*run.unread, *left))
        beside, warning = histogram_of(Path(run.source.path)) if is_file(run.source.path) else (None, "")
        histogram = None
        if beside is not None:
            note_input(beside)
            histogram = str(beside), hashlib.sha256(beside.read_bytes()).hexdigest()
        warnings += [warning] if warning else []
        task = Task(name=run.name, making=making, run=light, inputs=input_files([run]), histogram=histogram)
        found.append((run.source.path, task))
    for failure in reading.failures:
        entry = refused_file(*failure)
        found.append((entry.path, Task(name=entry.run, making=making, known=entry)))
    return found, tuple(warnings)


def _in_order(found: Sequence[tuple[str, Task]], making: Making) -> Iterator[Task]:
    """The tasks in the order of the index, each with a name of its own and its neighbours there."""
    names = told_apart([task.name for _, task in found], [path for path, _ in found])
    order = sorted(range(len(found)), key=lambda i: (natural(names[i]), names[i]))
    taken: set[str] = set()
    places = [None, *((names[i], safe_name(names[i], taken)) for i in order), None]
    for i, before, place, after in zip(order, places, places[1:], places[2:], strict=False):
        assert place is not None
        task, name = found[i][1], place[0]
        run, known = task.run, task.known
        if run is not None:
            run = replace(run, name=name)
        elif isinstance(known, RunReport):
            known = replace(known, fit=_named(known.fit, name))
        elif known is not None:
            known = _named(known, name)
        task = replace(task, name=name, slug=place[1], making=making, before=before, after=after)
        yield with_keys(replace(task, run=run, known=known))


def _named(entry: RunFit, name: str) -> RunFit:
    return replace(entry, run=name, law=entry.law and replace(entry.law, run=name))


def with_keys(task: Task) -> Task:
    """The task with the keys under which its numbers and its files are known."""
    making, run = task.making, task.run
    numbers = {
        "version": __version__,
        "name": task.name,
        "settings": encode(making.settings),
        "phases": making.phases,
        "inputs": encode(task.inputs),
        "known": encode(task.known),
    }
    digest = hashlib.sha256(_canonical(numbers))
    if run is not None:
        series = {
            "path": run.source.path,
            "step": [run.step_column, run.step_why],
            "columns": list(run.columns),
            "dropped": dict(run.dropped),
            "notes": run.notes,
            "texts": dict(run.texts),
            "unread": run.unread,
            "settings": {str(name): repr(value) for name, value in run.settings.items()},
        }
        digest.update(_canonical(series))
        for values in (run.step, *run.columns.values()):
            digest.update(values.tobytes())
    files = {
        "numbers": digest.hexdigest(),
        "slug": task.slug,
        "kinds": making.kinds,
        "style": hashlib.sha256(Path(making.style).read_bytes() if making.style else b"").hexdigest(),
        "neighbours": [task.before, task.after],
        "histogram": task.histogram[1] if task.histogram else None,
        "shared": encode(task.shared),
    }
    key = hashlib.sha256(_canonical(files)).hexdigest()
    return replace(task, fit_key=digest.hexdigest(), key=key)


def _canonical(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True).encode("utf-8", "surrogatepass")
