"""Where results go: standard output, or files whose suffix says the format."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from entropylaw.cli.options import Format
from entropylaw.errors import OutputError, UsageError

if TYPE_CHECKING:
    from entropylaw.documents.fit import FitDocument

_SUFFIXES = {
    ".json": Format.json,
    ".csv": Format.csv,
    ".md": Format.markdown,
    ".markdown": Format.markdown,
    ".txt": Format.text,
}


def format_of(path: str) -> Format:
    """The format that a file's suffix stands for."""
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(
            "unknown-suffix",
            f"-o {path} has suffix {suffix or '(none)'!r}, expected one of {', '.join(_SUFFIXES)}",
            "the suffix decides the format; rename the file, or use --format with -o -",
        )
    return _SUFFIXES[suffix]


def rendered(document: FitDocument, kind: Format) -> str:
    """A fit document in a format."""
    if kind is Format.json:
        from entropylaw.documents.store import dumps

        return dumps(document.to_json())
    if kind is Format.csv:
        from entropylaw.report import csvtable

        return csvtable.render(document)
    if kind is Format.markdown:
        from entropylaw.report import markdown

        return markdown.render(document)
    from entropylaw.report import text

    return text.render(document)


def write_file(path: str, content: str) -> None:
    """Write ``content`` to a file (atomically), or to standard output for ``-``."""
    if path == "-":
        print_result(content)
        return
    from entropylaw.documents.store import write_atomically

    write_atomically(path, content)


def print_result(content: str) -> None:
    """A result, on standard output, in UTF-8 whatever the locale says."""
    if sys.stdout is None:
        raise OutputError(
            "cannot-write", "standard output is closed, a result was to be written to it", "use -o FILE"
        )
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="replace")
    try:
        sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # Whatever is left in the buffer would fail again at exit, behind our back.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(
            "cannot-write", f"standard output cannot be written ({error.strerror})", "use -o FILE"
        ) from error


def destinations(output: Sequence[str] | None, format: Format) -> dict[str, Format]:
    """Where a result goes and in which format; every suffix is looked at before any work is done."""
    return {path: format if path == "-" else format_of(path) for path in output or ["-"]}


def deliver(
    wanted: Mapping[str, Format], render: Callable[[Format], str], *, answered: bool, quiet: bool
) -> None:
    """Write a result wherever it is wanted. Where nothing was ``answered`` the errors say it all, in text."""
    for path, kind in wanted.items():
        if not answered and kind is Format.text:
            continue
        write_file(path, render(kind))
        say(f"wrote {path}", quiet=quiet or path == "-")


def say_passed_over(warnings: Sequence[str], *, quiet: bool) -> None:
    """How many files of a folder were no logs."""
    if warnings:
        passed = f"{len(warnings)} file{'s' if len(warnings) > 1 else ''}"
        say(f"passed over {passed}: no log, or one that another file holds; the JSON says why", quiet=quiet)


def say(message: str, *, quiet: bool) -> None:
    """A message to the person, on standard error."""
    if not quiet:
        typer.echo(message, err=True)
