"""A whole report: gather, do what is not done yet, write the index; interrupted, what is there is usable."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from entropylaw.analysis.shared import share
from entropylaw.batch.index import FILES, PAGE, IndexDocument, write_index
from entropylaw.batch.pool import results
from entropylaw.batch.tasks import Done, Failure, Gathered, Making, Task, gather, with_keys
from entropylaw.batch.worker import FOLDER, died, document_of, remembered, state_of, work
from entropylaw.documents.codec import as_stored
from entropylaw.documents.report import load_report
from entropylaw.documents.store import TEMPORARY
from entropylaw.errors import OutputError
from entropylaw.inputs import check_targets
from entropylaw.report.figures import FIGURES
from entropylaw.results.groups import SharedFit

Progress = Callable[[int, int], None]

INNER = (FOLDER, "runs", "figures")
"""The folders in a report's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a batch did.

    ``done`` has the runs in the report's order, without those that an interrupt left; ``unchanged`` of them
    were as they had been. ``written`` are the files over all runs.
    """

    done: tuple[Done, ...]
    unchanged: int
    unfinished: int
    warnings: tuple[str, ...]
    written: tuple[Path, ...]

    @property
    def failures(self) -> tuple[tuple[str, Failure], ...]:
        """The runs without a law, and why."""
        return tuple((one.row.run, one.failure) for one in self.done if one.failure is not None)

    @property
    def fitted(self) -> int:
        """Runs with a law."""
        return len(self.done) - len(self.failures)

    @property
    def answered(self) -> int:
        """Runs with a law, or with phases: what `entropylaw tokens` wrote has no reward."""
        return sum(one.answered for one in self.done)


def report_logs(
    sources: Sequence[str], making: Making, *, jobs: int, told: bool = False, progress: Progress | None = None
) -> Outcome:
    """Write the report of everything that some sources hold.

    Parameters
    ----------
    sources
        Logs, folders of logs, documents that ``entropylaw fit`` or ``entropylaw report`` wrote.
    making
        What is made, and where.
    jobs
        Processes; the files do not depend on how many.
    told
        Whether the user said how to fit, which no stored fit can follow.
    progress
        Told after each run: how many are done, of how many.

    Raises
    ------
    OutputError
        ``cannot-write``, ``folder-busy``.
    UsageError, InputError
        ``output-is-input``; of the sources and options. An unreadable log is no error but a run of the
        report.
    """
    gathered = gather(sources, making, told=told)
    check_targets(_targets(gathered.tasks, making.folder))
    progress = progress or (lambda done, whole: None)
    with only_writer(making.folder):
        gathered = replace(gathered, tasks=_with_shared(gathered.tasks, jobs, progress))
        done, unchanged = _all_done(gathered.tasks, jobs, progress)
        in_order = tuple(done[task.slug] for task in gathered.tasks if task.slug in done)
        unfinished = len(gathered.tasks) - len(in_order)
        # Where no run succeeded (a typo in an option, say), an index that is there is not overwritten.
        index, files = _index(gathered, in_order, unfinished), {one.row.slug: one.files for one in in_order}
        answered = any(one.answered for one in in_order)
        written = write_index(making.folder, index, files) if answered else ()
    counts = {"unchanged": unchanged, "unfinished": unfinished}
    return Outcome(done=in_order, **counts, warnings=gathered.warnings, written=written)


def _targets(tasks: Sequence[Task], folder: Path) -> Iterator[Path]:
    """Every file that the report may write."""
    for name in (*FILES.values(), PAGE):
        yield folder / name
    for task in tasks:
        document = document_of(task)
        yield from (document, document.with_suffix(".html"), state_of(task))
        for kind in task.making.kinds or ():
            yield from (folder / "figures" / f"{task.slug}-{entry.name}.{kind}" for entry in FIGURES)


def _index(gathered: Gathered, done: Sequence[Done], unfinished: int) -> IndexDocument:
    """One row per run, and each file once."""
    there = {one.row.slug for one in done}
    files = {(f.path, f.sha256): f for task in gathered.tasks if task.slug in there for f in task.inputs}
    warnings = gathered.warnings
    if unfinished:
        runs = "1 run is" if unfinished == 1 else f"{unfinished} runs are"
        warnings = (f"interrupted: {runs} missing; the same command finishes the report", *warnings)
    shared: list[SharedFit] = []
    for task in gathered.tasks:
        if task.shared is not None and task.shared not in shared:
            shared.append(task.shared)
    return IndexDocument(
        inputs=tuple(files.values()),
        settings=gathered.settings,
        rows=tuple(one.row for one in done),
        unfinished=unfinished,
        warnings=warnings,
        shared=tuple(shared),
    )


def _with_shared(tasks: tuple[Task, ...], jobs: int, progress: Progress) -> tuple[Task, ...]:
    """The tasks with what the runs of logs share, where an option says so; all are fitted for it first.

    Raises
    ------
    FitError, UsageError
        As :func:`entropylaw.analysis.shared.share`.
    """
    logs = [task for task in tasks if task.run is not None]
    if not logs or not logs[0].making.settings.shared:
        return tasks
    known = [getattr(remembered(task), "fit_key", "") for task in logs]
    new = [task for task, key in zip(logs, known, strict=True) if key != task.fit_key]
    first = [replace(task, page=False) for task in new]
    for count, _ in enumerate(results(work, first, jobs=jobs, died=died), 1):
        progress(count, len(first))
    laws = [law for task in logs if (law := load_report(document_of(task)).runs[0].fit.law) is not None]
    stored = as_stored(share(laws, shared=logs[0].making.settings.shared))
    return tuple(task if task.run is None else with_keys(replace(task, shared=stored)) for task in tasks)


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


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Keep other batches out of a folder, and sweep up what a killed one left half-written.

    Raises
    ------
    OutputError
        ``folder-busy``: another batch writes into it. ``cannot-write``.
    """
    for inner in INNER:
        if (folder / inner).is_symlink():
            raise OutputError(
                "cannot-write",
                f"{folder / inner} is a link, and a report writes into its own folder only",
                "remove the link, or choose another folder with -o",
            )
    try:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        # Neither truncated nor followed: a link or a hard link of this name may stand for any file.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        lock = os.fdopen(os.open(folder / FOLDER / "lock", flags, 0o666), "r+b")
    except OSError as error:
        raise OutputError(
            "cannot-write",
            f"{folder} could not be made or written ({error.strerror or error})",
            "check the folder's permissions and the space left, or choose another place with -o",
        ) from error
    with lock:
        # Where a system has no locks, the folder is always ours.
        with contextlib.suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OutputError(
                    "folder-busy",
                    f"another entropylaw is writing into {folder}",
                    "wait for it, or choose another folder with -o",
                ) from None
        for place in (folder, *(folder / inner for inner in INNER)):
            for left in place.glob(f"{TEMPORARY}*.part"):
                left.unlink(missing_ok=True)
        yield
