"""Progress bars on a terminal; elsewhere nothing is drawn."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_LARGE = 1 << 26
"""Bytes from which the reading of a file is shown."""


@contextmanager
def reading_shown() -> Iterator[None]:
    """Show how much is read, on a terminal and for files beyond 64 MiB; otherwise do nothing."""
    if not bar_can_move():
        yield
        return
    from entropylaw.logs.sources.content import PROGRESS

    with progress_bar("{task.description}", "DownloadColumn") as bar:
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
    """Show the share that is done, on a terminal, by the function that is yielded."""
    if not bar_can_move():
        yield None
        return
    with progress_bar(what, "TaskProgressColumn") as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share, refresh=True)


def bar_can_move() -> bool:
    """Whether standard error is a terminal on which a bar can move."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def progress_bar(text: str, done: str) -> Bar:
    """A bar after a text, before a column of rich that shows what is done, and the time left."""
    from rich import console, progress

    columns = (progress.BarColumn(), getattr(progress, done)(), progress.TimeRemainingColumn())
    shown = console.Console(stderr=True)
    return progress.Progress(
        progress.TextColumn(text), *columns, console=shown, transient=True, auto_refresh=False
    )
