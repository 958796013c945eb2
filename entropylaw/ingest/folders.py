"""Finding logs below a folder: which files may be some, which belong together, which another one contains."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from entropylaw.ingest import packed
from entropylaw.ingest.bundles import BundleReader, bundle_readers
from entropylaw.ingest.plugins import plugin_readers
from entropylaw.ingest.wording import shown_path

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
# tinker-cookbook prints to the one what it writes to the other.
_REPEATS = {"logs.log": "metrics.jsonl"}
_GLOBAL_STEP = re.compile(rb'"global_step"\s*:\s*(\d{1,15})')
# In a trainer's state, the step stands behind the list of log entries: at the end of the file.
_TAIL = 1 << 16


class Log(NamedTuple):
    """A file or folder that may be a log.

    ``reader`` reads ``files`` together; where it is None, the path is one file. ``passed_over`` says why
    nobody needs to read it.
    """

    path: str
    files: tuple[str, ...] = ()
    reader: BundleReader | None = None
    passed_over: str = ""


def logs_in(folder: str) -> Iterator[Log]:
    """Walk a folder and those in it, in sorted order; hidden ones are left out, links to folders too."""
    claimed: set[str] = set()
    for where, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for reader in bundle_readers():
            for files in reader.groups(where):
                if claimed.intersection(files):
                    continue
                claimed.update(files)
                inner[:] = [name for name in inner if name not in reader.skips]
                yield Log(path=where, files=files, reader=reader)
        for log in (*_earlier_checkpoints(where, inner, names), *_repeated(where, inner, names)):
            claimed.add(log.path)
            yield log
        for name in sorted(names):
            path = str(Path(where) / name)
            # A pipe would be waited for without end.
            if path not in claimed and may_be_log(name) and Path(path).is_file():
                yield Log(path=path)


def may_be_log(name: str) -> bool:
    """Whether a file's name lets it be a log."""
    if name.startswith("."):
        return False
    plain = packed.plain_name(name)
    if plain.suffix.lower() in _LOG_SUFFIXES | _plugin_suffixes():
        return True
    return any(pattern.fullmatch(plain.name) for pattern in (_NUMBERED, _EVENT_FILE))


def _plugin_suffixes() -> frozenset[str]:
    return frozenset(suffix for reader in plugin_readers() for suffix in reader.suffixes)


def _earlier_checkpoints(where: str, folders: list[str], names: list[str]) -> Iterator[Log]:
    """Yield the states of a run that another state of it contains: each has all entries before it."""
    states = [Path(where) / _STATE] if _STATE in names else []
    numbered = sorted((int(found[1]), name) for name in folders if (found := _CHECKPOINT.fullmatch(name)))
    states += [path for _, name in reversed(numbered) if (path := Path(where) / name / _STATE).is_file()]
    if len(states) < 2:
        return
    # The first of equals: the one beside the checkpoints is written last.
    last = max(states, key=_global_step)
    for path in states:
        if path != last:
            yield Log(path=str(path), passed_over=f"{shown_path(str(last))} of the same run contains it")


def _repeated(where: str, folders: list[str], names: list[str]) -> Iterator[Log]:
    """Yield what repeats another file; a folder that does is not visited."""
    for name, whole in _REPEATS.items():
        if name in names and whole in names:
            yield Log(
                path=str(Path(where) / name), passed_over=f"{shown_path(whole)} beside it says the same"
            )
    if "trainer.log" in names and "trainer" in folders:
        folders.remove("trainer")
        yield Log(
            path=str(Path(where) / "trainer"), passed_over="each process's copy of 'trainer.log' beside it"
        )


def _global_step(path: Path) -> int:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL))
            found = _GLOBAL_STEP.findall(stream.read())
        return int(found[-1]) if found else -1
    except OSError:
        return -1
