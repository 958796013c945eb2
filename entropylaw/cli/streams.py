"""Standard output and standard error: results, messages, errors, progress. Nothing heavy is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import typer

from entropylaw.errors import EntropyLawError, OutputError
from entropylaw.escaping import one_line
from entropylaw.paths import check_targets


def print_result(content: str) -> None:
    """Print a result on standard output, in UTF-8 for any locale.

    A reader that stops early (``head``, ``true``) is not an error, and changes no exit code.

    Raises OutputError (``cannot-write``); UsageError ``output-is-input``: standard output goes to a file
    that is read.
    """
    if sys.stdout is None:
        message = "standard output is closed, a result was to be written to it"
        raise OutputError("cannot-write", message, "use -o FILE")
    check_targets([1])
    with suppress(AttributeError):  # of what a program put in its place
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up(sys.stdout)
    except OSError as error:
        _give_up(sys.stdout)
        message = f"standard output cannot be written ({error.strerror})"
        raise OutputError("cannot-write", message, "use -o FILE") from error


def say(message: str, *, quiet: bool) -> None:
    """Print a message on standard error; where it cannot be written, no exit code changes."""
    if quiet:
        return
    try:
        typer.echo(message, err=True)
    except OSError:
        _give_up(sys.stderr)


def show_error(error: EntropyLawError) -> None:
    """``error[slug]: message`` and what to do, on stderr."""
    say(f"{one_line(str(error))}\n  {one_line(error.hint)}", quiet=False)


def _give_up(stream: TextIO) -> None:
    """Discard the rest of a stream: what is left in its buffer would fail again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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
