"""From a path to its content: a file, standard input, or a remote file through fsspec."""

from __future__ import annotations

import re
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, TypeVar

from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.escaping import quoted_path, shown
from entropylaw.logs.sources.content import Content, is_blank, missing_file, unreadable_file
from entropylaw.paths import note_input

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_IN_MEMORY = 1 << 26
# Beyond this, standard input is taken as endless.
_MOST_SPOOLED = 1 << 32
# Kind of URL → the packages that fsspec reads it with.
_PACKAGES = {
    **dict.fromkeys(("http", "https"), "aiohttp requests"),
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss", "adl"), "adlfs"),
    **dict.fromkeys(("ssh", "sftp"), "paramiko"),
    "hf": "huggingface_hub",
}
# Seconds that a remote file system has for each answer.
_PATIENCE = 60.0

T = TypeVar("T")


def is_remote(path: str) -> bool:
    """Whether a path is a URL: ``s3://…``, ``gs://…``, ``hf://…``, ``https://…``."""
    return _REMOTE.match(path) is not None


def load(path: str) -> Content:
    """Open a file, or standard input for ``-``; only its head is read.

    Raises ``file-not-found``, ``file-unreadable``, ``file-corrupt``, ``file-empty``; as :func:`remote_files`.
    """
    if is_remote(path):
        files, inside = remote_files(path)
        info = _answered(path, lambda: files.info(inside))
        if info.get("type", "file") != "file":
            raise Content(path).error("file-unreadable", "cannot be read: it is not a file", "name a file")

        def opened() -> Any:  # every piece has its own time limit
            file = _answered(path, lambda: files.open(inside, "rb"))
            return SimpleNamespace(read=lambda n: _answered(path, lambda: file.read(n)), close=file.close)

        content = Content(path, opened=opened, size=int(info.get("size") or 0))
    else:
        content = _local_file(path)
    if content.packed and not content.head:
        message = f"opens like {content.packed} and cannot be unpacked"
        raise content.error("file-corrupt", message, "copy the file again")
    if content.head.startswith(b"version https://git-lfs.github.com/spec/"):
        message = "is a pointer of Git LFS, and its content was not fetched"
        raise content.error("file-corrupt", message, "fetch it with `git lfs pull`")
    if content.is_blank:
        size = f"{content.size} bytes" + (", white space or NUL as far as was read" if content.size else "")
        hint = "check that the run has logged something and that the path is the right one"
        raise content.error("file-empty", f"holds nothing ({size}), a training log was expected", hint)
    if content.is_lost:
        message = f"holds NUL bytes in its middle and at its end ({content.size} bytes)"
        hint = "copy the file again; `tr -d '\\0'` leaves out what a crashed file system put there"
        raise content.error("file-corrupt", message, hint)
    return content


def is_empty(path: str) -> bool:
    """Whether a file has no byte; for one that was removed, opening it gives the error."""
    try:
        return not Path(path).stat().st_size
    except OSError:
        return False


def _local_file(path: str) -> Content:
    """Open with the system's own calls: fsspec would wait for a pipe, and reads no standard input."""
    if not path:
        raise missing_file(path)
    try:
        if path == "-":
            if sys.stdin is None:
                reason = "standard input is closed, a log was expected from it"
                raise InputError("file-unreadable", reason, "name a file, or use a pipe")
            note_input(0)
            return _spooled(path, sys.stdin.buffer)
        file = Path(path)
        kind = stat.S_IFMT(file.stat().st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFIFO):
            message = f"{quoted_path(path)} cannot be read: it is a device or a socket, not a file"
            hint = "name a file, a folder, a pipe, or - for standard input"
            raise InputError("file-unreadable", message, hint)
        with file.open("rb") as stream:
            if kind == stat.S_IFIFO:
                return _spooled(path, stream)
            stream.read(1)
        return Content(path, opened=lambda: file.open("rb"), size=file.stat().st_size)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise missing_file(path) from None
    except OSError as problem:
        raise unreadable_file(path, problem) from None


def _spooled(path: str, stream: IO[bytes]) -> Content:
    """Keep a short input in memory, a long one in a temporary file, for it is read more than once."""
    head = stream.read(_IN_MEMORY)
    if len(head) < _IN_MEMORY or is_blank(head):
        return Content(path, head)
    spool = tempfile.TemporaryFile()  # noqa: SIM115  it is closed with the content
    spool.write(head)
    while piece := stream.read(1 << 20):
        spool.write(piece)
        if spool.tell() > _MOST_SPOOLED:
            spool.close()
            message = f"more than {_MOST_SPOOLED >> 30} GiB came through {quoted_path(path)}"
            raise InputError("file-too-large", message, "write it to a file, and name the file")

    def again() -> Any:  # what Content needs of an open file: from its start, and left open
        spool.seek(0)
        return SimpleNamespace(read=spool.read, close=lambda: None)

    return Content(path, opened=again, size=spool.tell())


def remote_files(path: str) -> Any:
    """Return the file system behind a URL, and the path within it.

    Raises ``remote-not-installed`` where the package that fsspec needs for this kind of URL is missing,
    ``remote-unknown`` where fsspec does not know the kind, ``file-unreadable`` where there is no answer.
    """
    import fsspec

    def file_system() -> Any:
        try:
            return fsspec.core.url_to_fs(path)
        except ImportError as problem:
            kind = path.split("://", 1)[0].lower()
            message = f"{quoted_path(path)} is remote, and what reads {kind}:// is not installed ({problem})"
            install = f"pip install {_PACKAGES[kind]}, or " if kind in _PACKAGES else ""
            raise UsageError("remote-not-installed", message, f"{install}copy the file here first") from None
        except (ValueError, TypeError, AttributeError, LookupError, NotImplementedError):
            message = f"{quoted_path(path)} cannot be opened: fsspec has no such kind of URL, or needs more "
            hint = "use s3://, gs:// or hf://, or copy the file here first"
            raise UsageError("remote-unknown", f"{message}than a path for it", hint) from None

    return _answered(path, file_system)


def is_remote_folder(path: str) -> bool:
    """Whether a URL is a folder; raises ``file-unreadable`` where there is no answer."""
    files, inside = remote_files(path)
    return bool(_answered(path, lambda: files.isdir(inside)))


def remote_listing(path: str) -> list[str]:
    """List all files below a remote folder, sorted; raises as :func:`is_remote_folder`."""
    files, inside = remote_files(path)
    return _answered(path, lambda: sorted(files.unstrip_protocol(name) for name in files.find(inside)))


def _answered(path: str, call: Callable[[], T]) -> T:
    """Call a remote file system in a thread, which is abandoned where no answer comes in time."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as problem:
            answer.set_exception(problem)

    threading.Thread(target=run, daemon=True).start()
    try:
        return answer.result(_PATIENCE)
    except (EntropyLawError, MemoryError):
        raise
    except FileNotFoundError:
        message = f"there is no file {quoted_path(path)}"
        raise InputError("file-not-found", message, "check the path and the credentials") from None
    except Exception as problem:  # each file system has errors of its own
        # No message of a file system is quoted: it holds the URL, and with it keys.
        status = getattr(problem, "status", None) or getattr(problem, "strerror", None)
        reason = type(problem).__name__ + (f", {shown(status)}" if status else "")
        reason = "no answer in time" if isinstance(problem, TimeoutError) else reason
        hint = "check the path, the network and the credentials"
        raise InputError("file-unreadable", f"{quoted_path(path)} cannot be read: {reason}", hint) from None
