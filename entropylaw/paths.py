"""Paths as they may be shown, and what lies behind them. Without numpy, for gates on stored documents."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path


def hostless(path: str) -> str:
    """Return a path without the host that TensorBoard writes into its files' names.

    Of addresses, also chained by ``::``, the user, the password and the query, which may be secret, go, too.
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
