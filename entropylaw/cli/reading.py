"""Reading what a command is given: logs behind progress bars, stored documents, the newest fit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from entropylaw.errors import UsageError
from entropylaw.inputs import note_input
from entropylaw.options import Command

if TYPE_CHECKING:
    from rich.progress import Progress

    from entropylaw.ingest.load import Reading

T = TypeVar("T")

_LARGE = 1 << 26


@contextmanager
def reading_shown() -> Iterator[None]:
    """Show how far reading is, on a terminal and for files beyond 64 MiB; otherwise do nothing."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    from entropylaw.ingest.content import PROGRESS

    with _bar(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("", visible=False, total=None)
        shown_at = 0

        def report(path: str, done: int, size: int) -> None:
            nonlocal shown_at
            if size < _LARGE:
                return
            if done < shown_at or done - shown_at > size // 200:
                shown_at = done
                name = "".join(c for c in PurePath(path).name if c.isprintable())[:60]
                bar.update(task, description=f"reading {name}".replace("[", r"\["), total=size, visible=True)
                bar.update(task, completed=done)
                bar.refresh()

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
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    with _bar(TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("", total=1.0)

        def report(share: float) -> None:
            bar.update(task, completed=share)
            bar.refresh()

        yield report


def counted(what: str, items: Sequence[T]) -> Iterator[T]:
    """The items, with the share that is done on a terminal where there are several."""
    with share_shown(what) if len(items) > 1 else nullcontext() as progress:
        for done, item in enumerate(items):
            yield item
            if progress is not None:
                progress((done + 1) / len(items))


def _bar(*columns: Any) -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)


def read_shown(logs: Sequence[str], options: Any, columns: Sequence[str | None]) -> Reading:
    """Read logs behind a progress bar, with the ``columns`` that have a name; some may not be readable."""
    from entropylaw.workflow import read_logs

    with reading_shown():
        named = [name for name in columns if name]
        return read_logs(logs, step=options.step, run=options.run, columns=named)


def refuse_documents(logs: Sequence[str]) -> None:
    """Refuse stored documents where logs are needed.

    Raises
    ------
    UsageError
        ``already-a-fit``.
    """
    for log in logs:
        if is_document(log):
            raise UsageError(
                "already-a-fit",
                f"{log} is a document of entropylaw, a log was expected",
                "`entropylaw predict` and `entropylaw report` read fit documents",
            )


def refuse_flags(source: str, options: Command, *families: type) -> None:
    """Refuse flags that say how to fit beside a stored document; what a settings file says is left alone.

    Raises
    ------
    UsageError
        ``fit-is-fixed``.
    """
    given = options.flags_given(*families)
    if given:
        raise UsageError(
            "fit-is-fixed",
            f"{source} was given together with {', '.join(given)}, which says how to fit",
            "give the log itself to fit it anew",
        )


def newest_fit(folder: str) -> str:
    """The fit document in ``folder`` that was written last."""
    found = (path for path in Path(folder).glob("*.fit.json") if path.is_file())
    fits = sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))
    if not fits:
        raise UsageError(
            "no-fit-yet",
            f"no FIT was given and {folder}/ holds no *.fit.json",
            "run `entropylaw fit LOG` first, or name a log or a fit document",
        )
    return str(fits[-1])


def is_document(source: str) -> bool:
    """Whether a file is one of our documents, of whatever kind or version."""
    from entropylaw.documents.finding import find_document

    note_input(source)
    return find_document(source) is not None
