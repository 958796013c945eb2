"""Paths: how they are shown, what is behind them, the folders below one, and the files that a call reads.

No output replaces an input. A file is identified by device and inode: links, hard links and names that differ
only in case are one file. Without numpy, for gates on stored documents.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from entropylaw.errors import UsageError

NOT_READ = " was not read: "
"""Between the path of a file and why it is not a log, in a warning."""

LARGEST = 1 << 30
"""Bytes of the largest document of ours: more than any number of runs makes."""


def hostless(path: str) -> str:
    """Return a path without the host that TensorBoard writes into its files' names.

    Of URLs, also chained by ``::``, the user, the password and the query are removed: they may be secret.
    """
    path = re.sub(r"(tfevents\.\d+)\.[^/\\]*", r"\1", path)
    # pathlib makes one slash of two, and a password may hold slashes.
    if not re.match(r"(?i)(?:[a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]+:/", path):
        return path
    parts = (re.sub(r"(:/+)[^\s@]*@", r"\1", url) for url in path.split("::"))
    return "::".join(re.sub(r"(?s)[?#;].*", "", url) for url in parts)


def shown_path(path: str) -> str:
    """``path`` without anything of a machine: relative where it was, or the last two parts; no host."""
    path = hostless(path)
    absolute = Path(path)
    if not absolute.is_absolute():
        return path.replace(os.sep, "/")
    with suppress(OSError, ValueError):  # the working folder was deleted, or is another
        return absolute.relative_to(Path.cwd()).as_posix()
    return Path(*absolute.parts[-2:]).as_posix()


def is_utf8(path: str) -> bool:
    """Whether a file's name is UTF-8, without lone surrogates: libraries in C++ open no other."""
    return not any("\ud800" <= letter <= "\udfff" for letter in path)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether there is a regular file; a name or a folder that the system refuses has none."""
    return os.path.isfile(path)  # noqa: PTH113  pathlib raises where a folder may not be entered


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether there is a folder, as :func:`is_file`."""
    return os.path.isdir(path)  # noqa: PTH112


def read_regular(path: str | os.PathLike[str], most: int, *, follow: bool = True) -> bytes:
    """The content of a regular file of at most ``most`` bytes; not of a link unless it may ``follow`` one.

    A pipe, a device or a longer file is an OSError at once: nothing is waited for.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0))), "rb") as file:  # noqa: PTH123
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        content = file.read(most + 1)
        if len(content) > most:
            raise OSError(errno.EFBIG, f"it is longer than {most} bytes")
        return content


def expanded(pattern: str) -> list[str]:
    """The paths that a pattern matches, in order; a name, or a pattern that matches nothing, unchanged."""
    # pathlib raises for a name that is too long.
    magic = glob.has_magic(pattern) and not os.path.exists(pattern)  # noqa: PTH110
    # pathlib would take a "./" off the names, and has no patterns from the root.
    return (sorted(glob.glob(pattern, recursive=True)) if magic else []) or [pattern]  # noqa: PTH207


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
            current = Path(where)
            if identity(current) in seen:
                inner.clear()
                continue
            seen.add(identity(current))
            visible = sorted(name for name in inner if not name.startswith("."))
            links = [name for name in visible if (current / name).is_symlink()]
            waiting += [str(current / name) for name in links]
            inner[:] = [name for name in visible if name not in links]
            yield where, inner, sorted(name for name in names if not name.startswith("."))
        yield from closed


Inputs = Mapping[tuple[int, int], tuple[str, bool]]
"""Device and inode of each file → its path, and whether it was found in a folder, not named."""

INPUTS: dict[tuple[int, int], tuple[str, bool]] = {}
"""Those of this call so far, which another process that writes gets, too."""

# How our own CSV files begin.
_OWN_TABLES = (
    b"run,path,state,since,",
    b"run,path,verdict,curve,",
    b"run,path,question,target,",
    b"run,path,role,column,",
    b"run,gate,outcome,failed,",
    b"reward,arm,baseline,seeds,",
)

OWN_TEXT = re.compile(
    r"# (?:Entropy law report|Predictions|Phases of entropy)\n|## .{1,400} against "
    r"|\S.{0,400} · (?:.{1,400}, )?\d+ (?:evaluation|block average|run)s?\b"
    r"|\S.{0,400} · .{1,400}\n  (?:state|caution|refused|usable|NOT USABLE) "
    r"|  run +(?:(?:state|reward) +)*now\b"
)
"""How the text and the Markdown begin that are written of runs and of arms."""

_LONGEST_OPENING = 2_000
"""Bytes of a text in which that is looked for."""

SCHEMA = re.compile(rb'"schema"\s*:\s*"entropylaw/')
"""A document of our own names its schema so."""


def forget_inputs() -> None:
    """Start a call: outputs of an earlier one may be replaced."""
    INPUTS.clear()


def note_input(path: str | os.PathLike[str] | int, *, found: bool = False) -> None:
    """Note a file, or an open descriptor, as an input; ``found`` where only its folder was named."""
    with suppress(OSError, ValueError):
        status = os.stat(path)  # noqa: PTH116  a descriptor has no Path
        if stat.S_ISREG(status.st_mode):
            key = (status.st_dev, status.st_ino)
            name = "standard input" if isinstance(path, int) else os.fspath(path)
            INPUTS[key] = (name, found and INPUTS.get(key, ("", True))[1])


def release_input(path: str) -> None:
    """Forget a file of a folder that is no log, such as a text that entropylaw wrote."""
    with suppress(OSError, ValueError):
        status = Path(path).stat()
        key = (status.st_dev, status.st_ino)
        if INPUTS.get(key, ("", False))[1]:
            del INPUTS[key]


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
        source, in_folder = INPUTS.get((status.st_dev, status.st_ino), ("", False))
        with suppress(OSError):
            if in_folder and is_own(read_regular(source, LARGEST)):
                continue
        if source:
            name = "standard output" if isinstance(target, int) else os.fspath(target)
            raise UsageError(
                "output-is-input",
                f"{name} would be overwritten, and it is an input of this call"
                f"{'' if source == name else f' ({source})'}",
                "give the output another name, or another folder",
            )


def is_own(data: bytes) -> bool:
    """Whether bytes are a document, a table or a text that entropylaw wrote."""
    import json

    if data.startswith(_OWN_TABLES) or OWN_TEXT.match(data[:_LONGEST_OPENING].decode("utf-8", "replace")):
        return True
    with suppress(ValueError, RecursionError):
        document = json.loads(data) if SCHEMA.search(data) else None
        return isinstance(document, dict) and str(document.get("schema", "")).startswith("entropylaw/")
    return False
