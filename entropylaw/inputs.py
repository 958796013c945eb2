"""The files that a call reads, so that none of its outputs replaces one of them.

A file is identified by device and inode: links, hard links and names that differ only in case are one file.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from entropylaw.errors import UsageError

Inputs = Mapping[tuple[int, int], tuple[str, bool]]
"""Device and inode of each file → its path, and whether it was found in a folder, not named."""

_READ: dict[tuple[int, int], tuple[str, bool]] = {}

_OWN_TABLES = (
    b"run,path,n,valid,",
    b"run,path,part,n,valid,",
    b"run,path,verdict,curve,",
    b"run,path,question,target,",
    b"run,path,role,column,",
    b"run,protocol,entropy,fitted,",
)
"""How our own CSV files begin."""

SCHEMA = re.compile(rb'"schema"\s*:\s*"entropylaw/')
"""A document of our own names its schema so."""


def forget_inputs() -> None:
    """Start a call: outputs of an earlier one may be replaced."""
    _READ.clear()


def noted_inputs() -> Inputs:
    """All inputs so far, for another process that writes."""
    return dict(_READ)


def adopt_inputs(inputs: Inputs) -> None:
    """Adopt the inputs that another process noted."""
    _READ.update(inputs)


def note_input(path: str | os.PathLike[str] | int, *, found: bool = False) -> None:
    """Note a file, or an open descriptor, as an input; ``found`` where only its folder was named."""
    try:
        status = os.stat(path)  # noqa: PTH116  a descriptor has no Path
    except (OSError, ValueError):
        return
    if stat.S_ISREG(status.st_mode):
        key = (status.st_dev, status.st_ino)
        shown = "standard input" if isinstance(path, int) else os.fspath(path)
        _READ[key] = (shown, found and _READ.get(key, ("", True))[1])


def release_input(path: str) -> None:
    """Forget a file of a folder that is no log, such as a text that entropylaw wrote."""
    with suppress(OSError, ValueError):
        status = Path(path).stat()
        key = (status.st_dev, status.st_ino)
        if _READ.get(key, ("", False))[1]:
            del _READ[key]


def check_targets(targets: Iterable[str | os.PathLike[str] | int]) -> None:
    """Refuse outputs, of which one is an input (``output-is-input``); an ``int`` is an open descriptor.

    A file that was found in a folder and that an earlier call wrote may be replaced: it is no log.
    """
    for target in targets:
        try:
            # A folder that is still to be made may be followed by "..".
            status = os.stat(target if isinstance(target, int) else os.path.realpath(target))  # noqa: PTH116
        except (OSError, ValueError):
            continue
        source, found = _READ.get((status.st_dev, status.st_ino), ("", False))
        own = False
        with suppress(OSError):
            own = found and is_own(Path(source).read_bytes())
        if source and not own:
            name = "standard output" if isinstance(target, int) else os.fspath(target)
            message = f"{name} would be overwritten, and it is an input of this call"
            message += "" if source == name else f" ({source})"
            raise UsageError("output-is-input", message, "give the output another name, or another folder")


def is_own(data: bytes) -> bool:
    """Whether bytes are a document or a table that entropylaw wrote."""
    document = None
    with suppress(ValueError, RecursionError):
        document = json.loads(data) if SCHEMA.search(data) else None
    schema = document.get("schema", "") if isinstance(document, dict) else ""
    return data.startswith(_OWN_TABLES) or str(schema).startswith("entropylaw/")
