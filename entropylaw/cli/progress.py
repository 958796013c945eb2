"""Progress bars on standard error: while a large file is read, and while many runs are fitted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath

_WORTH_SHOWING = 1 << 26


@contextmanager
def reading_shown() -> Iterator[None]:
    """Show how far reading is, on a terminal and for files beyond 64 MiB; otherwise do nothing."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from entropylaw.ingest.content import PROGRESS

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", visible=False, total=None)
        shown_at = 0

        def told(path: str, done: int, size: int) -> None:
            nonlocal shown_at
            if size < _WORTH_SHOWING:
                return
            if done < shown_at or done - shown_at > size // 200:
                shown_at = done
                name = "".join(c for c in PurePath(path).name if c.isprintable())[:60]
                bar.update(task, description=f"reading {name}".replace("[", r"\["), total=size, visible=True)
                bar.update(task, completed=done)
                bar.refresh()

        before = PROGRESS.set(told)
        try:
            yield
        finally:
            PROGRESS.reset(before)


@contextmanager
def runs_shown() -> Iterator[Callable[[int, int], None] | None]:
    """Show how many runs are done, on a terminal; what is yielded is told (done, of how many)."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", visible=False, total=None)

        def told(done: int, whole: int) -> None:
            bar.update(task, completed=done, total=whole, visible=True)
            bar.refresh()

        yield told
