"""Walking a folder: every folder once, in sorted order, what is behind links last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

Visit = tuple[str, list[str], list[str]]
"""A folder, the names of the folders in it, and those of its files; the caller may take folders away."""


def walk(folder: str) -> Iterator[Visit | OSError]:
    """Yield every folder below ``folder`` and itself, and the error of each that cannot be entered.

    Hidden files and folders are left out. A folder that was visited under another name, or that holds
    ``folder`` itself, is not entered by a link.
    """
    seen = {_place(path) for path in Path(folder).resolve().parents}
    waiting = [folder]
    while waiting:
        closed: list[OSError] = []
        for where, inner, names in os.walk(waiting.pop(0), onerror=closed.append):
            place = _place(Path(where))
            if place in seen:
                inner.clear()
                continue
            seen.add(place)
            shown = sorted(name for name in inner if not name.startswith("."))
            links = [name for name in shown if (Path(where) / name).is_symlink()]
            waiting += [str(Path(where) / name) for name in links]
            inner[:] = [name for name in shown if name not in links]
            yield where, inner, sorted(name for name in names if not name.startswith("."))
        yield from closed


def _place(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
