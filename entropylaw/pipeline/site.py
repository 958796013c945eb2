"""A report of many runs: they are gathered, fitted in parallel where that is not done yet, and indexed.

Every file is written whole, and the cache holds what was made of each run: an interrupted report is usable,
and the same command completes it.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

from entropylaw.documents.codec import as_stored, dumps
from entropylaw.documents.document import RunReport
from entropylaw.documents.loading import load
from entropylaw.documents.summary import IndexDocument
from entropylaw.errors import OutputError, UsageError
from entropylaw.escaping import counted, safe_name
from entropylaw.files import TEMPORARY, write_atomically
from entropylaw.options import PICTURES, FitOptions
from entropylaw.paths import LARGEST, check_targets, is_own, read_regular
from entropylaw.pipeline.inputs import RUNS, distinct_files, gather
from entropylaw.pipeline.pages import Done, Files, Making, Task, died, stems, work
from entropylaw.pipeline.pool import Progress, results
from entropylaw.report import pages
from entropylaw.report.describe.runs import data_table, natural
from entropylaw.report.figures import NAMED
from entropylaw.report.pages import Neighbour, section_of
from entropylaw.report.render import csv_text
from entropylaw.results.phases import PhasesAcross
from entropylaw.results.result import replace

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None  # type: ignore[assignment]

FEW = 50
"""Runs up to which every figure is written in every format, by default."""

INNER = ("runs", "figures")
"""The folders in a report's folder."""

PAGE = "index.html"
FILES = {"Markdown": "report.md", "CSV": "report.csv", "JSON": "report.json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The runs of a report and what was made of them.

    ``tasks`` are its runs in their order, all fitted as ``settings`` say; ``warnings`` are about files.
    ``done`` lacks the runs that an interrupt left. ``written`` are the files over all runs.
    """

    tasks: tuple[Task, ...]
    settings: FitOptions
    warnings: tuple[str, ...]
    done: tuple[Done, ...] = ()
    written: tuple[Path, ...] = ()

    @property
    def unchanged(self) -> int:
        """Runs whose files were there already."""
        return sum(run.unchanged for run in self.done)

    @property
    def unfinished(self) -> int:
        """Runs that an interrupt left."""
        return len(self.tasks) - len(self.done)

    @property
    def interrupted(self) -> tuple[str, ...]:
        """What is said of runs that an interrupt left."""
        if not self.unfinished:
            return ()
        return (
            f"interrupted before {counted(self.unfinished, 'run')}; the same command finishes the report",
        )

    @property
    def failures(self) -> tuple[Done, ...]:
        """The runs without a fit, be it of one reward."""
        return tuple(run for run in self.done if run.refused)

    @property
    def answered(self) -> bool:
        """Whether any run has a fit, or phases: what `entropylaw tokens` wrote has no reward."""
        return any(run.fitted or run.rows[0].phases is not None for run in self.done)


def report_logs(
    sources: Sequence[str],
    making: Making,
    *,
    jobs: int,
    fixed: Sequence[str] = (),
    progress: Progress = lambda *_: None,
    target: Path | None = None,
) -> Outcome:
    """Write the report of everything in some sources, into the folder of ``making`` or one HTML file.

    ``sources`` are logs, folders of logs, documents that ``entropylaw fit`` or ``entropylaw report`` wrote.
    The files do not depend on the number of processes, ``jobs``. ``fixed`` are flags of the user that are
    options of the fit, which a stored fit cannot follow. ``progress`` is called after each run. ``target``
    is the file of a report without a folder: the page of its only run, or the index and all pages.

    Raises OutputError (``cannot-write``, ``folder-busy``), UsageError (``not-a-report``,
    ``output-is-input``), and the errors of sources and options. An unreadable log is a run of the report.
    """
    outcome = tasks_of(sources, making, fixed)
    folder = making.folder
    if folder is None:
        assert target is not None
        check_targets([target])
        outcome = _worked(outcome, jobs, progress)
        if not outcome.answered:
            return outcome
        sections = [zlib.decompress(run.page).decode() for run in outcome.done]
        page = sections[0]
        if len(outcome.tasks) > 1:
            page = _index_html(_index_of(outcome), outcome, one_file=True, sections=sections)
        write_atomically(target, page)
        return replace(outcome, written=(target,))
    targets = _targets_of(outcome.tasks, folder)
    check_targets(targets)
    existing = next((path for path in targets if os.path.lexists(path)), None)
    if existing is not None and not is_own(_earlier_index(folder)):
        raise UsageError(
            "not-a-report",
            f"{existing} would be overwritten, and {folder} is not a report that entropylaw wrote",
            "choose another folder with -o, or move that file away",
        )
    with only_writer(folder):
        is_new = not _earlier_index(folder)
        if is_new:
            # It says whose folder this is from the first file on, and that nothing in it is finished.
            write_atomically(folder / FILES["JSON"], dumps(_index_of(outcome).to_json()))
        outcome = _worked(outcome, jobs, progress)
        if outcome.answered:
            if not outcome.unfinished:
                _remove_figures(outcome, folder)
            return replace(outcome, written=_write_index(outcome, folder))
        # Where no run succeeded (a typo in an option, say), an existing index is not overwritten.
        if is_new:
            (folder / FILES["JSON"]).unlink()
        return outcome


def _remove_figures(outcome: Outcome, folder: Path) -> None:
    """Remove the figures of these runs that an earlier call wrote, and that this report does not have."""
    current = set(chain.from_iterable(run.figures for run in outcome.done))
    slugs = tuple(f"{run.rows[0].slug}-" for run in outcome.done)
    ends = tuple(f"-{name}.{kind}" for name, kind in product(NAMED, PICTURES))
    for path in (folder / "figures").glob("*"):
        if path.name.startswith(slugs) and path.name.endswith(ends) and f"figures/{path.name}" not in current:
            path.unlink()


def _targets_of(tasks: Sequence[Task], folder: Path) -> list[Path]:
    """All files that a report may write."""
    targets = [folder / name for name in (*FILES.values(), PAGE)]
    for task in tasks:
        targets += [folder / f"runs/{task.slug}.{suffix}" for suffix in ("json", "html")]
        figures = product(NAMED, task.making.kinds or ())
        targets += [folder / "figures" / f"{task.slug}-{name}.{kind}" for name, kind in figures]
    return targets


def tasks_of(sources: Sequence[str], making: Making, fixed: Sequence[str] = ()) -> Outcome:
    """Gather every source; a file that cannot be read is a task too, and its page has the reason.

    Parameters as :func:`report_logs`. Raises as :func:`entropylaw.pipeline.inputs.gather`.
    """
    folder = making.folder
    # A report into the folder of its logs is made of them, and not of the report that is there.
    is_into_logs = folder is not None and any(Path(name).resolve() == folder.resolve() for name in sources)
    inputs = gather(sources, making.settings, kinds=RUNS[:2] if is_into_logs else RUNS, fixed=fixed)
    if is_into_logs and not inputs.runs:
        inputs = gather(sources, making.settings, kinds=RUNS, fixed=fixed)
    tasks = [Task(input=entry, making=making) for entry in inputs.entries]
    tasks.sort(key=lambda task: (natural(task.name), task.name))
    kinds = making.kinds
    if kinds is None:
        kinds = PICTURES if len(tasks) <= FEW else PICTURES[:1]
    final = replace(making, settings=inputs.settings, kinds=kinds)
    return Outcome(tasks=tuple(_in_order(tasks, final)), settings=inputs.settings, warnings=inputs.warnings)


def _in_order(tasks: Sequence[Task], making: Making) -> Iterator[Task]:
    """The tasks in the order of the index, each with its neighbours there, or its section of one file."""
    taken: set[str] = set()
    slugs = [safe_name(task.name, taken) for task in tasks]
    linked = [Neighbour(task.name, f"{slug}.html") for task, slug in zip(tasks, slugs, strict=True)]
    around = (None, *linked, None)
    for i, (task, slug) in enumerate(zip(tasks, slugs, strict=True)):
        task = replace(task, slug=slug, making=making)
        if making.folder is not None:
            yield replace(task, neighbours=(around[i], around[i + 2]))
        else:
            yield replace(task, section=section_of(slug) if len(tasks) > 1 else "")


def _worked(outcome: Outcome, jobs: int, progress: Progress) -> Outcome:
    """The outcome with the result of every task, without those that an interrupt left."""
    done: dict[str, Done] = {}
    with contextlib.suppress(KeyboardInterrupt):
        for task, result in results(work, outcome.tasks, jobs=jobs, died=died):
            done[task.slug] = result
            progress(len(done), len(outcome.tasks))
    return replace(outcome, done=tuple(done[task.slug] for task in outcome.tasks if task.slug in done))


def _index_of(outcome: Outcome) -> IndexDocument:
    """The index of the runs that are done."""
    done = {run.rows[0].slug for run in outcome.done}
    files = chain.from_iterable(task.input.files for task in outcome.tasks if task.slug in done)
    return IndexDocument(
        inputs=distinct_files(files),
        settings=outcome.settings,
        rows=tuple(chain.from_iterable(run.rows for run in outcome.done)),
        unfinished=outcome.unfinished,
        warnings=(*outcome.interrupted, *outcome.warnings),
        across=_across(outcome),
        config=outcome.tasks[0].making.config if outcome.tasks else None,
    )


def _across(outcome: Outcome) -> PhasesAcross | None:
    """The phases over all runs that have some, where there are two or more."""
    summaries = [run.phases for run in outcome.done if run.phases is not None]
    if len(summaries) < 2:
        return None
    # What is kept needs no scipy.
    cache = outcome.tasks[0].making.cache
    key = cache.key("phases of several runs", {"level": outcome.settings.level}, summaries)
    across = cache.get(key, PhasesAcross)
    if across is None:
        from entropylaw.analysis.phases import combine_summaries

        across = as_stored(combine_summaries(summaries, level=outcome.settings.level))
        cache.put(key, across)
    return across


def _write_index(outcome: Outcome, folder: Path) -> tuple[Path, ...]:
    """Write the page and the tables over all runs; returns the paths, the page last."""
    index = _index_of(outcome)
    data = dumps(index.to_json())
    # To draw and to write it takes longest, and needs matplotlib.
    cache = outcome.tasks[0].making.cache
    key = cache.key("index page", {}, data)
    page = cache.get(key, Files)
    if page is None:
        page = {PAGE: zlib.compress(_index_html(index, outcome, files=FILES).encode())}
        cache.put(key, page)
    contents = {
        "report.md": _markdown_of(index, outcome, folder).encode(),
        "report.csv": csv_text(data_table(index.rows, with_phases=True)).encode(),
        "report.json": data.encode(),
        PAGE: zlib.decompress(page[PAGE]),
    }
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return tuple(folder / name for name in contents)


def _index_html(index: IndexDocument, outcome: Outcome, **addresses: Any) -> str:
    """The page of the index; ``addresses`` are those of other pages and files."""
    return pages.index_page(
        index.rows,
        across=index.across,
        warnings=outcome.interrupted,
        skipped=outcome.warnings,
        **addresses,
    )


def _markdown_of(index: IndexDocument, outcome: Outcome, folder: Path) -> str:
    """All runs in Markdown, with their figures, from the documents that were written."""
    figures: dict[str, dict[str, str]] = {}

    def sections() -> Iterator[tuple[RunReport, str]]:
        for run in outcome.done:
            slug = run.rows[0].slug
            for stem, report in stems(slug, load(folder / f"runs/{slug}.json", "report").reports):
                paths = {name: f"figures/{stem}-{name}.svg" for name in NAMED}
                figures[stem] = {name: path for name, path in paths.items() if path in run.figures}
                yield report, stem

    return pages.markdown(
        index.rows, sections(), warnings=index.warnings, figures=figures, across=index.across
    )


def _earlier_index(folder: Path) -> bytes:
    """The content of the index that is in a folder; empty where there is none, or an unreadable one."""
    try:
        return read_regular(folder / FILES["JSON"], LARGEST)
    except OSError:
        return b""


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Keep other calls out of a folder, and remove what a killed one left half-written.

    Raises OutputError ``folder-busy``: another call writes into it. ``cannot-write``.
    """
    for link in filter(Path.is_symlink, (folder / inner for inner in INNER)):
        message = f"{link} is a link, and a report writes into its own folder only"
        raise OutputError("cannot-write", message, "remove the link, or choose another folder with -o")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{folder} could not be made or written ({error.strerror or error})"
        hint = "check permissions and space, or choose another place with -o"
        raise OutputError("cannot-write", message, hint) from error
    with contextlib.ExitStack() as stack:
        # Some systems, and some file systems, have no locks.
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            try:
                if fcntl is not None:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                message = f"another entropylaw is writing into {folder}"
                hint = "wait for it, or choose another folder with -o"
                raise OutputError("folder-busy", message, hint) from None
        for part_of_report in (folder, *(folder / inner for inner in INNER)):
            for unfinished in part_of_report.glob(f"{TEMPORARY}*.part"):
                unfinished.unlink(missing_ok=True)
        yield
