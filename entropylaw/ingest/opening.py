"""From a path to its content: a file, standard input, or a file elsewhere through fsspec."""

from __future__ import annotations

import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.ingest.content import Content, missing_file, unreadable_file
from entropylaw.ingest.wording import shown, shown_path

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_IN_MEMORY = 1 << 26
_PIECE = 1 << 20


def is_remote(path: str) -> bool:
    """Whether a path names a file elsewhere: ``s3://…``, ``gs://…``, ``hf://…``, ``https://…``."""
    return _REMOTE.match(path) is not None


def load(path: str) -> Content:
    """Open a file, or standard input for ``-``; nothing but its head is read.

    Raises
    ------
    InputError
        ``file-not-found``, ``file-unreadable`` or ``file-empty``.
    UsageError
        ``remote-not-installed``.

    """
    if path == "-":
        content = _standard_input()
    elif is_remote(path):
        content = _remote_file(path)
    else:
        content = _local_file(path)
    if content.packed and not content.head:
        raise InputError(
            "file-corrupt",
            f"{shown_path(path)} opens like {content.packed} and cannot be unpacked",
            "copy the file again",
        )
    if not content.head.strip(b" \t\r\n\0") and not _more(content):
        what = "standard input" if path == "-" else shown_path(path)
        size = "0 bytes" if not content.size else f"{content.size} bytes, all of them white space or NUL"
        raise InputError(
            "file-empty",
            f"{what} holds nothing ({size}), a training log was expected",
            "check that the run has logged something and that the path is the right one",
        )
    return content


def _more(content: Content) -> bool:
    return any(block.strip(" \t\r\n\0") for block in content.blocks())


def _local_file(path: str) -> Content:
    if not path:
        raise missing_file(path)
    try:
        file = Path(path)
        kind = file.stat().st_mode
        if stat.S_ISFIFO(kind):
            with file.open("rb") as stream:
                return _spooled(path, stream)
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise InputError(
                "file-unreadable",
                f"{shown_path(path)} cannot be read: it is a device or a socket, no file",
                "name a file, a folder, a pipe, or - for standard input",
            )
        with file.open("rb") as stream:
            stream.read(1)
        return Content(path, opened=lambda: file.open("rb"), size=file.stat().st_size)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise missing_file(path) from None
    except OSError as problem:
        raise unreadable_file(path, problem) from None


def _standard_input() -> Content:
    return _spooled("-", sys.stdin.buffer)


def _spooled(path: str, stream: IO[bytes]) -> Content:
    """Keep a short input in memory, a long one in a temporary file, for it is read more than once."""
    head = stream.read(_IN_MEMORY)
    if len(head) < _IN_MEMORY:
        return Content(path, head)
    spool = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the content
    spool.write(head)
    while piece := stream.read(_PIECE):
        spool.write(piece)
    return Content(path, opened=lambda: _View(spool), size=spool.tell())  # type: ignore[arg-type,return-value]


class _View:
    """A file that is read from its start, and stays open when this is closed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        file.seek(0)

    def read(self, size: int = -1) -> bytes:
        """Read as a file does."""
        return self._file.read(size)

    def close(self) -> None:
        """Leave it open."""


def remote_files(path: str) -> Any:
    """Return the file system behind a remote path, and the path within it.

    Raises
    ------
    UsageError
        ``remote-not-installed`` where fsspec, or its part for this kind of place, is missing.
    InputError
        ``file-unreadable`` where the place does not answer.

    """
    try:
        import fsspec
    except ImportError:
        raise _not_installed(path, "fsspec") from None
    try:
        return fsspec.core.url_to_fs(path)
    except ImportError as problem:
        raise _not_installed(path, str(problem)) from None
    except ValueError as problem:
        raise UsageError(
            "remote-unknown", f"{shown_path(path)} cannot be opened: {problem}", "use s3://, gs:// or hf://"
        ) from None


def _remote_file(path: str) -> Content:
    files, inside = remote_files(path)
    with _remote_errors(path):
        size = files.info(inside)["size"]
    return Content(path, opened=lambda: files.open(inside, "rb"), size=int(size or 0))


def is_remote_folder(path: str) -> bool:
    """Whether a remote path is a folder there.

    Raises
    ------
    InputError
        ``file-unreadable`` where the place does not answer.

    """
    files, inside = remote_files(path)
    with _remote_errors(path):
        return bool(files.isdir(inside))


def remote_listing(path: str) -> list[str]:
    """List all files below a remote folder, sorted.

    Raises
    ------
    InputError
        ``file-unreadable`` where the place does not answer.

    """
    files, inside = remote_files(path)
    with _remote_errors(path):
        return sorted(files.unstrip_protocol(found) for found in files.find(inside))


@contextmanager
def _remote_errors(path: str) -> Iterator[None]:
    try:
        yield
    except EntropyLawError:
        raise
    except FileNotFoundError:
        raise InputError(
            "file-not-found", f"there is no file {shown_path(path)}", "check the path and the credentials"
        ) from None
    except Exception as problem:  # each kind of place has errors of its own
        raise InputError(
            "file-unreadable",
            f"{shown_path(path)} cannot be read: {type(problem).__name__}: {shown(problem, 200)}",
            "check the path, the network and the credentials",
        ) from None


def _not_installed(path: str, what: str) -> UsageError:
    kind = path.split("://", 1)[0]
    return UsageError(
        "remote-not-installed",
        f"{shown_path(path)} lies elsewhere, and what reads {kind}:// is not installed ({what})",
        "pip install 'entropylaw[remote]', or copy the file here first",
    )
