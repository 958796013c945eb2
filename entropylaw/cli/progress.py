"""A progress bar on standard error while a large file is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
