"""A progress bar on a terminal; elsewhere nothing is drawn."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def share_shown(text: str) -> Iterator[Callable[[float], None] | None]:
    """Show the share that is done after a text, on a terminal, by the function that is yielded."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    from rich import console, progress

    columns = (progress.BarColumn(), progress.TaskProgressColumn(), progress.TimeRemainingColumn())
    terminal = console.Console(stderr=True)
    with progress.Progress(
        progress.TextColumn(text), *columns, console=terminal, transient=True, auto_refresh=False
    ) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share, refresh=True)
