"""From a path to its content: a file, standard input, or a file elsewhere through fsspec."""

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
from entropylaw.ingest.content import Content, is_blank, missing_file, unreadable_file
from entropylaw.ingest.wording import shown, shown_path
from entropylaw.inputs import note_input

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_IN_MEMORY = 1 << 26
# Beyond this, standard input has no end.
_MOST_SPOOLED = 1 << 32
# Seconds that another place has for each answer.
_PATIENCE = 60.0

T = TypeVar("T")


def is_remote(path: str) -> bool:
    """Whether a path names a file elsewhere: ``s3://…``, ``gs://…``, ``hf://…``, ``https://…``."""
    return _REMOTE.match(path) is not None


def load(path: str) -> Content:
    """Open a file, or standard input for ``-``; nothing but its head is read.

    Raises ``file-not-found``, ``file-unreadable``, ``file-corrupt``, ``file-empty``; as :func:`remote_files`.
    """
    content = _remote_file(path) if is_remote(path) else _local_file(path)
    if content.packed and not content.head:
        what = f"{shown_path(path)} opens like {content.packed} and cannot be unpacked"
        raise InputError("file-corrupt", what, "copy the file again")
    if content.head.startswith(b"version https://git-lfs.github.com/spec/"):
        what = f"{shown_path(path)} is a pointer of Git LFS, and its content was not fetched"
        raise InputError("file-corrupt", what, "fetch it with `git lfs pull`")
    if content.is_blank:
        what = "standard input" if path == "-" else shown_path(path)
        size = f"{content.size} bytes" + (", white space or NUL as far as was read" if content.size else "")
        what = f"{what} holds nothing ({size}), a training log was expected"
        hint = "check that the run has logged something and that the path is the right one"
        raise InputError("file-empty", what, hint)
    if content.is_lost:
        what = f"{shown_path(path)} holds NUL bytes in its middle and at its end ({content.size} bytes)"
        hint = "copy the file again; `tr -d '\\0'` leaves out what a crashed file system put there"
        raise InputError("file-corrupt", what, hint)
    return content


def is_empty(path: str) -> bool:
    """Whether a file has no byte; of one that is gone, opening it says why."""
    try:
        return not Path(path).stat().st_size
    except OSError:
        return False


def _local_file(path: str) -> Content:
    if not path:
        raise missing_file(path)
    try:
        if path == "-":
            if sys.stdin is None:
                why = "standard input is closed, a log was expected from it"
                raise InputError("file-unreadable", why, "name a file, or use a pipe")
            note_input(0)
            return _spooled(path, sys.stdin.buffer)
        file = Path(path)
        kind = stat.S_IFMT(file.stat().st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFIFO):
            what = f"{shown_path(path)} cannot be read: it is a device or a socket, no file"
            hint = "name a file, a folder, a pipe, or - for standard input"
            raise InputError("file-unreadable", what, hint)
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
    spool = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the content
    spool.write(head)
    while piece := stream.read(1 << 20):
        spool.write(piece)
        if spool.tell() > _MOST_SPOOLED:
            spool.close()
            what = f"more than {_MOST_SPOOLED >> 30} GiB came through {shown_path(path)}"
            raise InputError("file-too-large", what, "write it to a file, and name the file")

    def again() -> Any:  # what Content needs of an open file: from its start, and left open
        spool.seek(0)
        return SimpleNamespace(read=spool.read, close=lambda: None)

    return Content(path, opened=again, size=spool.tell())


def remote_files(path: str) -> Any:
    """Return the file system behind a remote path, and the path within it.

    Raises ``remote-not-installed`` where fsspec, or its part for this kind of place, is missing,
    ``remote-unknown`` where the path alone names no place, ``file-unreadable`` where it does not answer.
    """
    try:
        import fsspec
    except ImportError:
        raise _not_installed(path, "fsspec") from None

    def found() -> Any:
        try:
            return fsspec.core.url_to_fs(path)
        except ImportError as problem:
            raise _not_installed(path, str(problem)) from None
        except (ValueError, TypeError, AttributeError, LookupError, NotImplementedError):
            what = f"{shown_path(path)} cannot be opened: fsspec knows no such kind of place, or needs more "
            hint = "use s3://, gs:// or hf://, or copy the file here first"
            raise UsageError("remote-unknown", f"{what}than a path for it", hint) from None

    return _answered(path, found)


def _remote_file(path: str) -> Content:
    files, inside = remote_files(path)
    info = _answered(path, lambda: files.info(inside))
    if info.get("type", "file") != "file":
        what = f"{shown_path(path)} cannot be read: it is no file"
        raise InputError("file-unreadable", what, "name a file")

    def elsewhere() -> Any:  # every piece is waited for no longer than an answer
        file = _answered(path, lambda: files.open(inside, "rb"))
        return SimpleNamespace(read=lambda size: _answered(path, lambda: file.read(size)), close=file.close)

    return Content(path, opened=elsewhere, size=int(info.get("size") or 0))


def is_remote_folder(path: str) -> bool:
    """Whether a remote path is a folder there; raises ``file-unreadable`` where the place does not answer."""
    files, inside = remote_files(path)
    return bool(_answered(path, lambda: files.isdir(inside)))


def remote_listing(path: str) -> list[str]:
    """List all files below a remote folder, sorted; raises as :func:`is_remote_folder`."""
    files, inside = remote_files(path)
    return _answered(path, lambda: sorted(files.unstrip_protocol(found) for found in files.find(inside)))


def _answered(path: str, call: Callable[[], T]) -> T:
    """Call what asks another place, in a thread that is left behind where no answer comes."""
    answer: Future[T] = Future()

    def ask() -> None:
        try:
            answer.set_result(call())
        except BaseException as problem:
            answer.set_exception(problem)

    threading.Thread(target=ask, daemon=True).start()
    try:
        return answer.result(_PATIENCE)
    except (EntropyLawError, MemoryError):
        raise
    except FileNotFoundError:
        what = f"there is no file {shown_path(path)}"
        raise InputError("file-not-found", what, "check the path and the credentials") from None
    except Exception as problem:  # each kind of place has errors of its own
        # No message of a file system is quoted: it holds the address, and with it keys.
        status = getattr(problem, "status", None) or getattr(problem, "strerror", None)
        why = type(problem).__name__ + (f", {shown(status)}" if status else "")
        why = "no answer in time" if isinstance(problem, TimeoutError) else why
        hint = "check the path, the network and the credentials"
        raise InputError("file-unreadable", f"{shown_path(path)} cannot be read: {why}", hint) from None


def _not_installed(path: str, what: str) -> UsageError:
    kind = path.split("://", 1)[0]
    what = f"{shown_path(path)} lies elsewhere, and what reads {kind}:// is not installed ({what})"
    hint = "pip install 'entropylaw[remote]', or copy the file here first"
    return UsageError("remote-not-installed", what, hint)
