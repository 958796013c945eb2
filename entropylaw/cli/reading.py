"""What the commands share: logs read and steps run behind progress bars, the newest fit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from entropylaw.errors import UsageError
from entropylaw.paths import is_folder
from entropylaw.pipeline.pool import cores, start
from entropylaw.pipeline.sources import read

if TYPE_CHECKING:
    from rich.progress import Progress

    from entropylaw.ingest.load import Reading
    from entropylaw.pipeline.steps import Answer, Step

R = TypeVar("R")

FEW = 3
"""Logs up to which one process is expected to be faster than several."""

_LARGE = 1 << 26


@contextmanager
def reading_shown() -> Iterator[None]:
    """Show how far reading is, on a terminal and for files beyond 64 MiB; otherwise do nothing."""
    if not sys.stderr.isatty():
        yield
        return
    from entropylaw.ingest.content import PROGRESS

    with _bar("{task.description}", "DownloadColumn") as bar:
        task = bar.add_task("", visible=False, total=None)
        shown_at = 0

        def report(path: str, done: int, size: int) -> None:
            nonlocal shown_at
            if size < _LARGE:
                return
            if done < shown_at or done - shown_at > size // 200:
                shown_at = done
                name = "".join(c for c in PurePath(path).name if c.isprintable())[:60]
                text = f"reading {name}".replace("[", r"\[")
                bar.update(task, description=text, total=size, completed=done, visible=True, refresh=True)

        before = PROGRESS.set(report)
        try:
            yield
        finally:
            PROGRESS.reset(before)


@contextmanager
def share_shown(what: str) -> Iterator[Callable[[float], None] | None]:
    """Show the share that is done, on a terminal; what is yielded takes it."""
    if not sys.stderr.isatty():
        yield None
        return
    with _bar(what, "TaskProgressColumn") as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share, refresh=True)


def _bar(text: str, done: str) -> Progress:
    """A bar behind a text, before a column of rich that shows what is done, and the time that is left."""
    from rich import console, progress

    columns = (progress.BarColumn(), getattr(progress, done)(), progress.TimeRemainingColumn())
    shown = console.Console(stderr=True)
    return progress.Progress(
        progress.TextColumn(text), *columns, console=shown, transient=True, auto_refresh=False
    )


def begin(logs: Sequence[str], jobs: int | None, module: str = "entropylaw.pipeline.steps") -> None:
    """Start the process that workers come from, where there may be many runs: it has a core to import with.

    That is for commands that have not imported numpy yet.
    """
    if (jobs or cores()) > 1 and (len(logs) > FEW or any(map(is_folder, logs))):
        start(module)


def read_shown(logs: Sequence[str], options: Any, columns: Sequence[str] = ()) -> Reading:
    """Read logs behind a progress bar; see :func:`entropylaw.pipeline.sources.read`."""
    with reading_shown():
        return read(logs, options, columns)


def answered(step: Step[R], subjects: Sequence[Any], jobs: int | None = None) -> list[Answer[R]]:
    """Run a step on every run behind a progress bar, with the user's cache."""
    from entropylaw.pipeline.cache import user_cache
    from entropylaw.pipeline.steps import answers

    with share_shown("fitting") if len(subjects) > 1 else nullcontext() as shown:
        progress = None if shown is None else lambda done, whole: shown(done / whole)
        return answers(step, subjects, jobs=jobs or cores(), cache=user_cache(), progress=progress)


def result_of(step: Step[R], subjects: Sequence[Any], jobs: int | None = None) -> list[R]:
    """The results alone, of which some are refusals."""
    return [result for result, _ in answered(step, subjects, jobs)]


def newest_fit(folder: str) -> str:
    """The fit document in ``folder`` that was written last."""
    found = (path for path in Path(folder).glob("*.fit.json") if path.is_file())
    fits = sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))
    if not fits:
        hint = "run `entropylaw fit LOG` first, or name a log or a fit document"
        raise UsageError("no-fit-yet", f"no FIT was given and {folder}/ holds no *.fit.json", hint)
    return str(fits[-1])
