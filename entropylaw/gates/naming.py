"""How documents that a check reads are called."""

from __future__ import annotations

from pathlib import Path


def shown_path(path: str) -> str:
    """``path`` without anything of a machine: relative where it was, or the last two parts.

    As :func:`entropylaw.documents.fit.shown_path`, which is of no use here: its module needs numpy.
    """
    given = Path(path)
    if not given.is_absolute():
        return given.as_posix()
    if given.is_relative_to(Path.cwd()):
        return given.relative_to(Path.cwd()).as_posix()
    return "/".join(given.parts[-2:])
