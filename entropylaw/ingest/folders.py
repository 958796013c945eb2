"""Finding logs below a folder: which files may be some, which belong together, which may be copies."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from entropylaw.errors import InputError
from entropylaw.ingest import packed
from entropylaw.ingest.bundles import bundle_readers
from entropylaw.ingest.content import missing_file, unreadable_file
from entropylaw.ingest.plugins import plugin_readers
from entropylaw.ingest.registry import BundleReader
from entropylaw.ingest.wording import shown_path
from entropylaw.walk import walk

# Only these are looked at: logs stand beside checkpoints of gigabytes.
_LOG_SUFFIXES = frozenset(
    (
        *("", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".log", ".out", ".txt"),
        *(".wandb", ".swanlab", ".db", ".sqlite", ".ipynb", ".zip", ".tar", ".tgz"),
        *(".err", ".stdout", ".stderr"),
    )
)
# train.log.1 of a rotated log, job.o123 and job.e123 of a queue.
_NUMBERED = re.compile(r".*\.(?:log\.\d+|[oe]\d+)", re.IGNORECASE)
_EVENT_FILE = re.compile(r".*\.tfevents\..*")
_STATE = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
# tinker-cookbook prints to the one what it writes to the other; prime-rl has a folder of copies per process.
_REPEATS = {"logs.log": "metrics.jsonl", "trainer": "trainer.log"}
_GLOBAL_STEP = re.compile(rb'"global_step"\s*:\s*(\d{1,15})')
# In a trainer's state, the step stands behind the list of log entries: at the end of the file.
_TAIL = 1 << 16


class Log(NamedTuple):
    """A file or folder that may be a log.

    ``reader`` reads ``files`` together; where it is None, the path is one file. ``copy_of`` names a log of
    which this is a copy by its place and name, if its values say so too. ``named`` is False where the name is
    none of a log's, so that only the content can make it one. ``problem`` says why it cannot be read.
    """

    path: str
    files: tuple[str, ...] = ()
    reader: BundleReader | None = None
    copy_of: str = ""
    named: bool = True
    problem: InputError | None = None


def logs_in(folder: str) -> Iterator[Log]:
    """Walk a folder and those in it, in sorted order; hidden files and folders are left out.

    Folders behind links are walked last, and each folder once. What cannot be entered or opened, and a link
    that leads nowhere, is a log with a problem.
    """
    claimed: set[str] = set()
    copies: dict[str, str] = {}
    for visit in walk(folder):
        if isinstance(visit, OSError):
            yield Log(path=str(visit.filename), problem=unreadable_file(str(visit.filename), visit))
            continue
        where, inner, names = visit
        for reader in bundle_readers():
            for files in reader.groups(where):
                if claimed.intersection(files):
                    continue
                claimed.update(files)
                inner[:] = [name for name in inner if name not in reader.skips]
                yield Log(path=where, files=files, reader=reader)
        copies |= _earlier_checkpoints(where, inner, names)
        place = Path(where)
        copies |= {
            str(place / name): str(place / whole) for name, whole in _REPEATS.items() if whole in names
        }
        for name in names:
            path = str(place / name)
            problem = None if path in claimed else _problem(path)
            if path not in claimed and (may_be_log(name) or not problem):
                copy_of = copies.get(path) or copies.get(where, "")
                yield Log(path=path, copy_of=copy_of, named=may_be_log(name), problem=problem)


def _problem(path: str) -> InputError | None:
    """Say why a file of a folder cannot be opened: a pipe would be waited for without end."""
    try:
        kind = Path(path).stat().st_mode
    except FileNotFoundError:
        return missing_file(path)
    except OSError as error:
        return unreadable_file(path, error)
    if stat.S_ISREG(kind):
        return None
    return InputError(
        "file-unreadable",
        f"{shown_path(path)} is a pipe, a socket or a device, a file was expected in a folder",
        "name it on the command line to read from it, or take it out of the folder",
    )


def may_be_log(name: str) -> bool:
    """Whether a file's name lets it be a log."""
    if name.startswith("."):
        return False
    plain = packed.plain_name(name)
    plugged = {suffix for reader in plugin_readers() for suffix in reader.suffixes}
    if plain.suffix.lower() in _LOG_SUFFIXES | plugged:
        return True
    return any(pattern.fullmatch(plain.name) for pattern in (_NUMBERED, _EVENT_FILE))


def _earlier_checkpoints(where: str, folders: list[str], names: list[str]) -> dict[str, str]:
    """Map the states of a run to the latest one, which should have all of their entries."""
    states = [Path(where) / _STATE] if _STATE in names else []
    numbered = sorted((int(found[1]), name) for name in folders if (found := _CHECKPOINT.fullmatch(name)))
    states += [path for _, name in reversed(numbered) if (path := Path(where) / name / _STATE).is_file()]
    if len(states) < 2:
        return {}
    # The first of equals: the one beside the checkpoints is written last.
    last = max(states, key=_global_step)
    return {str(path): str(last) for path in states if path != last}


def _global_step(path: Path) -> int:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL))
            found = _GLOBAL_STEP.findall(stream.read())
        return int(found[-1]) if found else -1
    except OSError:
        return -1
