"""A whole report: gather, do what is not done yet, write the index; interrupted, what is there is usable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from entropylaw.analysis.shared import SharedFit, share
from entropylaw.batch.gathering import Gathered, gather
from entropylaw.batch.index import CAPTIONS, FILES, PAGE, IndexDocument, write_index
from entropylaw.batch.pool import results
from entropylaw.batch.state import document_of, only_writer, remembered, state_of
from entropylaw.batch.tasks import Done, Failure, Making, Task, with_keys
from entropylaw.batch.work import died, work
from entropylaw.documents.codec import as_stored
from entropylaw.documents.report import load_report
from entropylaw.inputs import check_targets

Progress = Callable[[int, int], None]


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
        return sum(map(_answered, self.done))


def _answered(done: Done) -> bool:
    return done.failure is None or done.row.phases is not None


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
        # An index of failures alone would take the place of one that somebody had, for a slip of the pen.
        answered = any(map(_answered, in_order))
        index = _index(gathered, in_order, unfinished)
        files = {one.row.slug: one.files for one in in_order}
        written = write_index(making.folder, index, files) if answered else ()
    return Outcome(
        done=in_order,
        unchanged=unchanged,
        unfinished=unfinished,
        warnings=gathered.warnings,
        written=written,
    )


def _targets(tasks: Sequence[Task], folder: Path) -> Iterator[Path]:
    """Every file that the report may write."""
    for name in (*FILES.values(), PAGE):
        yield folder / name
    for task in tasks:
        document = document_of(task)
        yield from (document, document.with_suffix(".html"), state_of(task))
        for kind in task.making.kinds or ():
            yield from (folder / "figures" / f"{task.slug}-{name}.{kind}" for name in CAPTIONS)


def _index(gathered: Gathered, done: Sequence[Done], unfinished: int) -> IndexDocument:
    """One row a run, and each file once."""
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
    fits = [load_report(document_of(task)).runs[0].fit.law for task in logs]
    laws = [law for law in fits if law is not None]
    stored = as_stored(share(laws, shared=logs[0].making.settings.shared))
    return tuple(task if task.run is None else with_keys(replace(task, shared=stored)) for task in tasks)


def _all_done(tasks: Sequence[Task], jobs: int, progress: Progress) -> tuple[dict[str, Done], int]:
    """Every task's result by its slug, and how many were known before; what an interrupt leaves lacks."""
    done: dict[str, Done] = {}
    waiting: list[Task] = []
    for task in tasks:
        known = remembered(task)
        if known is not None and known.key == task.key:
            done[task.slug] = known
        else:
            # A new neighbour or style changes a page, and no number.
            again = known is not None and known.fit_key == task.fit_key
            waiting.append(replace(task, again=True, run=None) if again else task)
    unchanged = len(done)
    progress(len(done), len(tasks))
    try:
        for task, result in results(work, waiting, jobs=jobs, died=died):
            done[task.slug] = result
            progress(len(done), len(tasks))
    except KeyboardInterrupt:
        # What was being done when the interrupt came is whole, and noted.
        for task in waiting:
            known = None if task.slug in done else remembered(task)
            if known is not None and known.key == task.key:
                done[task.slug] = known
    return done, unchanged
