"""Paths: how they are shown, what is behind them, and the folders below one.

Without numpy, for gates on stored documents.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def hostless(path: str) -> str:
    """Return a path without the host that TensorBoard writes into its files' names.

    Of URLs, also chained by ``::``, the user, the password and the query are removed: they may be secret.
    """
    path = re.sub(r"(tfevents\.\d+)\.[^/\\]*", r"\1", path)
    # pathlib makes one slash of two, and a password may hold slashes.
    if not re.match(r"(?i)(?:[a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]+:/", path):
        return path
    parts = (re.sub(r"(:/+)[^\s@]*@", r"\1", part) for part in path.split("::"))
    return "::".join(re.sub(r"(?s)[?#;].*", "", part) for part in parts)


def shown_path(path: str) -> str:
    """``path`` without anything of a machine: relative where it was, or the last two parts; no host."""
    path = hostless(path)
    absolute = Path(path)
    if not absolute.is_absolute():
        return path.replace(os.sep, "/")
    with suppress(OSError, ValueError):  # the working folder was deleted, or is another
        return absolute.relative_to(Path.cwd()).as_posix()
    return "/".join(absolute.parts[-2:])


def is_utf8(path: str) -> bool:
    """Whether a file's name is UTF-8, without lone surrogates: libraries in C++ open no other."""
    return not any("\ud800" <= letter <= "\udfff" for letter in path)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether there is a regular file; a name or a folder that the system refuses has none."""
    return os.path.isfile(path)  # noqa: PTH113  pathlib raises where a folder may not be entered


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether there is a folder, as :func:`is_file`."""
    return os.path.isdir(path)  # noqa: PTH112


Visit = tuple[str, list[str], list[str]]
"""A folder, the names of the folders in it, and those of its files; the caller may remove folders."""


def walk(folder: str) -> Iterator[Visit | OSError]:
    """Yield ``folder`` and every folder below it, and the error of each that cannot be entered.

    The order is sorted, folders behind links last. Hidden files and folders are left out. A link to a folder
    that was visited under another name, or that holds ``folder`` itself, is not followed.
    """

    def identity(path: Path) -> tuple[int, int]:
        status = path.stat()
        return status.st_dev, status.st_ino

    seen = set(map(identity, Path(folder).resolve().parents))
    waiting = [folder]
    while waiting:
        closed: list[OSError] = []
        for where, inner, names in os.walk(waiting.pop(0), onerror=closed.append):
            place = Path(where)
            if identity(place) in seen:
                inner.clear()
                continue
            seen.add(identity(place))
            visible = sorted(name for name in inner if not name.startswith("."))
            links = [name for name in visible if (place / name).is_symlink()]
            waiting += [str(place / name) for name in links]
            inner[:] = [name for name in visible if name not in links]
            yield where, inner, sorted(name for name in names if not name.startswith("."))
        yield from closed
