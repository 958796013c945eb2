"""A whole report: gather, do what is not done yet, write the index; interrupted, what is there is usable."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from entropylaw.analysis.shared import share
from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import AnyDocument, InputFile, input_files, skipped_files
from entropylaw.documents.fit import load_fit, refused_run
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.report import RunReport, load_report
from entropylaw.documents.store import TEMPORARY, dumps, write_atomically
from entropylaw.errors import InputError, OutputError, UsageError, known_form
from entropylaw.ingest import catalog
from entropylaw.ingest.labels import told_apart
from entropylaw.ingest.phasecolumns import candidates
from entropylaw.ingest.run import Run
from entropylaw.inputs import check_targets, note_input
from entropylaw.options import FitOptions
from entropylaw.paths import shown_path
from entropylaw.pipeline.documents import renamed
from entropylaw.pipeline.pages import FOLDER, Done, Making, Task, died, remembered, work
from entropylaw.pipeline.pool import Progress, results
from entropylaw.pipeline.sources import histogram_beside, places, read, same_settings
from entropylaw.pipeline.steps import named_columns
from entropylaw.report import index_page
from entropylaw.report.describe.report import index_table
from entropylaw.report.figures import FIGURES
from entropylaw.report.index_rows import IndexRow, natural
from entropylaw.report.printable import safe_name
from entropylaw.report.render import csv
from entropylaw.results.fields import replace
from entropylaw.results.groups import SharedFit

ALL = ("svg", "png", "pdf")

FEW = 50
"""Runs up to which every figure is written in every format, where nobody says which."""

INNER = (FOLDER, "runs", "figures")
"""The folders in a report's folder."""

PAGE = "index.html"
FILES = {"Markdown": "report.md", "CSV": "report.csv", "JSON": "report.json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is to come of a report, and what came of it.

    ``tasks`` are its runs in their order, all fitted as ``settings`` say; ``warnings`` are about files.
    ``done`` lacks the runs that an interrupt left; ``unchanged`` of them were as they had been. ``written``
    are the files over all runs.
    """

    tasks: tuple[Task, ...]
    settings: FitOptions
    warnings: tuple[str, ...]
    done: tuple[Done, ...] = ()
    unchanged: int = 0
    written: tuple[Path, ...] = ()

    @property
    def unfinished(self) -> int:
        """Runs that an interrupt left."""
        return len(self.tasks) - len(self.done)

    @property
    def failures(self) -> tuple[Done, ...]:
        """The runs without a law."""
        return tuple(one for one in self.done if one.refusal is not None)

    @property
    def answered(self) -> bool:
        """Whether any run has a law, or phases: what `entropylaw tokens` wrote has no reward."""
        return any(one.answered for one in self.done)


class IndexDocument(AnyDocument, frozen=True, kw_only=True):
    """One row a run; ``runs/SLUG.json`` has the whole document of each.

    ``shared`` has what the runs of each stored document have in common. ``unfinished`` runs were left by an
    interrupt: writing the report again makes them, and only them.
    """

    inputs: tuple[InputFile, ...]
    settings: FitOptions
    rows: tuple[IndexRow, ...]
    unfinished: int
    warnings: tuple[str, ...]
    shared: tuple[SharedFit, ...] = ()
    schema: str = KINDS["index"].schema
    seed: int | None = None


def report_logs(
    sources: Sequence[str], making: Making, *, jobs: int, told: bool = False, progress: Progress | None = None
) -> Outcome:
    """Write the report of everything that some sources hold.

    ``sources`` are logs, folders of logs, documents that ``entropylaw fit`` or ``entropylaw report`` wrote.
    The files do not depend on the number of processes, ``jobs``. ``told`` says whether the user gave options
    of how to fit, which no stored fit can follow. ``progress`` is called after each run.

    Raises OutputError (``cannot-write``, ``folder-busy``); UsageError and InputError ``output-is-input``; of
    the sources and options. An unreadable log is no error but a run of the report.
    """
    whole = gather(sources, making, told=told)
    check_targets(_targets(whole.tasks, making.folder))
    progress = progress or (lambda done, whole: None)
    with only_writer(making.folder):
        tasks = _with_shared(whole.tasks, jobs, progress)
        done, unchanged = _all_done(tasks, jobs, progress)
        in_order = tuple(done[task.slug] for task in tasks if task.slug in done)
        whole = replace(whole, tasks=tasks, done=in_order, unchanged=unchanged)
        # Where no run succeeded (a typo in an option, say), an index that is there is not overwritten.
        return replace(whole, written=_indexed(whole, making.folder) if whole.answered else ())


def gather(sources: Sequence[str], making: Making, *, told: bool) -> Outcome:
    """Read every source; a file that cannot be read is a task too, and its page says why.

    Parameters as :func:`report_logs`.

    Raises UsageError (``fit-is-fixed``, ``settings-differ``, and whatever is wrong with an option);
    InputError ``not-a-document``: a document of ours of which no report can be made. ``damaged-document``,
    or one of another version.
    """
    pointed = list(places(sources))
    stored = [document for place in pointed if place.stored for document in place.documents]
    logs = [place.path for place in pointed if not place.stored]
    for source in stored:
        shown = shown_path(source.path)
        if source.data is None:
            raise source.damaged(shown)
        if source.kind not in ("fit", "report"):
            message = f"{shown} has schema {known_form(source.data['schema'])}, expected a fit or a report"
            hint = "give the log itself, or a file that `entropylaw fit` wrote"
            raise InputError("not-a-document", message, hint)
    if stored and told:
        message = f"{stored[0].path} is a stored fit, and options that say how to fit were given"
        raise UsageError("fit-is-fixed", message, "give the log itself to fit it anew")
    documents = [load_fit(each.path) if each.kind == "fit" else load_report(each.path) for each in stored]
    fresh = [making.settings] if logs or not stored else []
    settings = same_settings([*(document.settings for document in documents), *fresh])
    found, warnings = [], list[str]()
    for source, document in zip(stored, documents, strict=True):
        note_input(source.path)
        for entry in document.runs:
            fit = entry.fit if isinstance(entry, RunReport) else entry
            alone = len(document.runs) == 1
            files = tuple(file for file in document.inputs if alone or file.path == fit.path)
            task = Task(name=fit.run, making=making, known=entry, inputs=files, shared=document.shared)
            found.append((fit.path, task))
    if logs:
        columns = named_columns(settings)
        reading = read(logs, settings, columns)
        warnings += skipped_files(reading.ignored)
        for run in reading.runs:
            beside, warning = histogram_beside(run)
            warnings += [warning] if warning else []
            histogram = (beside, hashlib.sha256(Path(beside).read_bytes()).hexdigest()) if beside else None
            light, files = _light(run, columns), input_files([run])
            task = Task(name=run.name, making=making, run=light, inputs=files, histogram=histogram)
            found.append((run.source.path, task))
        refused = (refused_run(path, None, error, name) for path, error, name in reading.failures)
        found += [(entry.path, Task(name=entry.run, making=making, known=entry)) for entry in refused]
    kinds = ALL if len(found) <= FEW else ALL[:1]
    made = replace(making, settings=settings, kinds=kinds if making.kinds is None else making.kinds)
    return Outcome(tasks=tuple(_in_order(found, made)), settings=settings, warnings=tuple(warnings))


def _light(run: Run, columns: Sequence[str]) -> Run:
    """A run with the columns that something is made of: a thousand runs are in memory at once."""
    kept = {*columns, *candidates(), *filter(catalog.is_useful, run.columns)}
    used = {name: values for name, values in run.columns.items() if name in kept}
    return replace(
        run, columns=used, unread=(*run.unread, *(name for name in run.columns if name not in kept))
    )


def _in_order(found: Sequence[tuple[str, Task]], making: Making) -> Iterator[Task]:
    """The tasks in the order of the index, each with a name of its own and its neighbours there."""
    names = told_apart([task.name for _, task in found], [path for path, _ in found])
    order = sorted(range(len(found)), key=lambda i: (natural(names[i]), names[i]))
    taken: set[str] = set()
    slugs = [(names[i], safe_name(names[i], taken)) for i in order]
    for i, (name, slug), before, after in zip(order, slugs, [None, *slugs], [*slugs[1:], None], strict=False):
        task = replace(found[i][1], name=name, slug=slug, making=making, before=before, after=after)
        if task.run is not None:
            task = replace(task, run=replace(task.run, name=name))
        elif isinstance(task.known, RunReport):
            task = replace(task, known=replace(task.known, fit=renamed(task.known.fit, name)))
        elif task.known is not None:
            task = replace(task, known=renamed(task.known, name))
        yield task.with_keys()


def _targets(tasks: Sequence[Task], folder: Path) -> Iterator[Path]:
    """Every file that the report may write."""
    yield from (folder / name for name in (*FILES.values(), PAGE))
    for task in tasks:
        yield from (task.document, task.document.with_suffix(".html"), task.state)
        names = product(FIGURES, task.making.kinds or ())
        yield from (folder / "figures" / f"{task.slug}-{entry.name}.{kind}" for entry, kind in names)


def _with_shared(tasks: tuple[Task, ...], jobs: int, progress: Progress) -> tuple[Task, ...]:
    """The tasks with what the runs of logs share, where an option says so; all are fitted for it first.

    Raises FitError and UsageError: as :func:`entropylaw.analysis.shared.share`.
    """
    logs = [task for task in tasks if task.run is not None]
    if not logs or not logs[0].making.settings.shared:
        return tasks
    known = [getattr(remembered(task), "fit_key", "") for task in logs]
    first = [replace(task, page=False) for task, key in zip(logs, known, strict=True) if key != task.fit_key]
    for count, _ in enumerate(results(work, first, jobs=jobs, died=died), 1):
        progress(count, len(first))
    laws = [law for task in logs if (law := load_report(task.document).runs[0].fit.law) is not None]
    stored = as_stored(share(laws, shared=logs[0].making.settings.shared))
    return tuple(task if task.run is None else replace(task, shared=stored).with_keys() for task in tasks)


def _all_done(tasks: Sequence[Task], jobs: int, progress: Progress) -> tuple[dict[str, Done], int]:
    """Every task's result by its slug, and how many were known before; what an interrupt leaves lacks."""
    done: dict[str, Done] = {}
    waiting: list[Task] = []
    for task in tasks:
        known = remembered(task)
        if known is None or known.fit_key != task.fit_key:
            waiting.append(task)
        elif known.key != task.key:
            # A new neighbour or style changes a page, and no number.
            waiting.append(replace(task, again=True, run=None))
        else:
            done[task.slug] = known
    unchanged = len(done)
    progress(len(done), len(tasks))
    try:
        for task, result in results(work, waiting, jobs=jobs, died=died):
            done[task.slug] = result
            progress(len(done), len(tasks))
    except KeyboardInterrupt:
        # What was being done when the interrupt came is whole, and noted.
        for task in waiting:
            known = remembered(task)
            if known is not None and known.key == task.key:
                done[task.slug] = known
    return done, unchanged


def _indexed(outcome: Outcome, folder: Path) -> tuple[Path, ...]:
    """Write the page and the tables over all runs; returns the paths, the page last."""
    there = {one.row.slug: one for one in outcome.done}
    tasks = [task for task in outcome.tasks if task.slug in there]
    inputs = {(file.path, file.sha256): file for task in tasks for file in task.inputs}
    warnings, shared = outcome.warnings, list[SharedFit]()
    if outcome.unfinished:
        runs = "1 run is" if outcome.unfinished == 1 else f"{outcome.unfinished} runs are"
        warnings = (f"interrupted: {runs} missing; the same command finishes the report", *warnings)
    for task in outcome.tasks:
        if task.shared is not None and task.shared not in shared:
            shared.append(task.shared)
    rows, common = tuple(one.row for one in outcome.done), tuple(shared)
    index = IndexDocument(
        inputs=tuple(inputs.values()),
        settings=outcome.settings,
        rows=rows,
        unfinished=outcome.unfinished,
        warnings=warnings,
        shared=common,
    )
    paths = {slug: {each.name: f"figures/{slug}-{each.name}.svg" for each in FIGURES} for slug in there}
    figures = {
        slug: {name: path for name, path in paths[slug].items() if path in one.files}
        for slug, one in there.items()
    }
    sections = ((load_report(task.document).runs[0], task.slug) for task in tasks)
    contents = {
        "report.md": index_page.markdown(rows, sections, warnings=warnings, figures=figures, shared=common),
        "report.csv": csv.render(index_table(rows, common)),
        "report.json": dumps(index.to_json()),
        PAGE: index_page.render(rows, warnings=warnings, files=FILES, shared=common),
    }
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return tuple(folder / name for name in contents)


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Keep other batches out of a folder, and sweep up what a killed one left half-written.

    Raises OutputError ``folder-busy``: another batch writes into it. ``cannot-write``.
    """
    for link in filter(Path.is_symlink, (folder / inner for inner in INNER)):
        message = f"{link} is a link, and a report writes into its own folder only"
        raise OutputError("cannot-write", message, "remove the link, or choose another folder with -o")
    try:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        # Neither truncated nor followed: a link or a hard link of this name may stand for any file.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        lock = os.fdopen(os.open(folder / FOLDER / "lock", flags, 0o666), "r+b")
    except OSError as error:
        message = f"{folder} could not be made or written ({error.strerror or error})"
        hint = "check the folder's permissions and the space left, or choose another place with -o"
        raise OutputError("cannot-write", message, hint) from error
    with lock:
        # Where a system has no locks, the folder is always ours.
        with contextlib.suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                message = f"another entropylaw is writing into {folder}"
                hint = "wait for it, or choose another folder with -o"
                raise OutputError("folder-busy", message, hint) from None
        for place in (folder, *(folder / inner for inner in INNER)):
            for left in place.glob(f"{TEMPORARY}*.part"):
                left.unlink(missing_ok=True)
        yield
