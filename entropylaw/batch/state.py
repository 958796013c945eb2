"""What a report folder knows of itself: what was done under which key, and who is writing into it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from entropylaw.batch.tasks import Done, Task
from entropylaw.documents.codec import DocumentMismatchError, decode, encode
from entropylaw.documents.store import TEMPORARY, write_atomically
from entropylaw.errors import OutputError

FOLDER = ".entropylaw"
"""Beside the pages; it may be deleted at any time, and everything is then done anew."""

INNER = (FOLDER, "runs", "figures")
"""The folders in a report's folder."""


def remembered(task: Task) -> Done | None:
    """What was done earlier under this task's name, if all its files are still there."""
    folder = task.making.folder
    try:
        done = decode(Done, json.loads(state_of(task).read_bytes()))
    except (OSError, ValueError, DocumentMismatchError):
        # Nothing there, or not ours, or cut off by an older version's crash: then it is simply done anew.
        return None
    return done if all(_size(folder / name) == size for name, size in done.files.items()) else None


def state_of(task: Task) -> Path:
    """Where it stands what was done under a task's name."""
    return task.making.folder / FOLDER / f"{task.slug}.json"


def document_of(task: Task) -> Path:
    """Where the document of a task's run stands."""
    return task.making.folder / "runs" / f"{task.slug}.json"


def remember(task: Task, done: Done) -> None:
    """Note what was done; the last thing that is written for a run."""
    text = json.dumps(encode(done), sort_keys=True)
    write_atomically(state_of(task), text)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Keep other batches out of a folder, and sweep up what a killed one left half-written.

    Raises
    ------
    OutputError
        ``folder-busy``: another batch writes into it. ``cannot-write``.
    """
    for inner in INNER:
        if (folder / inner).is_symlink():
            raise OutputError(
                "cannot-write",
                f"{folder / inner} is a link, and a report writes into its own folder only",
                "remove the link, or choose another folder with -o",
            )
    try:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        # Neither truncated nor followed: a link or a hard link of this name may stand for any file.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        lock = os.fdopen(os.open(folder / FOLDER / "lock", flags, 0o666), "r+b")
    except OSError as error:
        raise OutputError(
            "cannot-write",
            f"{folder} could not be made or written ({error.strerror or error})",
            "check the folder's permissions and the space left, or choose another place with -o",
        ) from error
    with lock:
        if not _locked(lock.fileno()):
            raise OutputError(
                "folder-busy",
                f"another entropylaw is writing into {folder}",
                "wait for it, or choose another folder with -o",
            )
        for place in (folder, *(folder / inner for inner in INNER)):
            for left in place.glob(f"{TEMPORARY}*.part"):
                left.unlink(missing_ok=True)
        yield


def _locked(handle: int) -> bool:
    """Whether the lock is ours; where a system has none, it always is."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
