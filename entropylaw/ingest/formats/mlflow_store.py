"""MLflow's two local stores: a run's folder under ``mlruns``, and the SQLite database ``mlflow.db``.

Read from mlflow 3.17's store/tracking/file_store.py, store/tracking/sqlalchemy_store.py and
store/tracking/dbmodels/models.py. Tags are never read, for they hold the user, the git remote and notes; of
``meta.yaml`` only the run's name and whether it was deleted.
"""

from __future__ import annotations

import heapq
import math
import os
import re
import sqlite3
import sys
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from pathlib import Path

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content, is_blank
from entropylaw.ingest.formats.delimited import CUT_OFF
from entropylaw.ingest.formats.jsonl import UNPARSEABLE
from entropylaw.ingest.formats.records import UNREADABLE, StepRows
from entropylaw.ingest.formats.sqlite import beside, opened, plain_columns
from entropylaw.ingest.registry import BundleReader
from entropylaw.ingest.settings import read_yaml
from entropylaw.ingest.steps import NO_STEP
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import classify
from entropylaw.ingest.wording import counted, listing, shown, shown_path, sqlite_cause
from entropylaw.paths import is_file

# Keys and names are shorter in MLflow; a longer one is none.
_LONGEST_NAME = 500
_LONGEST_LINE = 2000

# Time in milliseconds, value, step (none before MLflow 1.0), then perhaps a data set's name and digest.
_LINE = re.compile(r"(-?[0-9]{1,18}) (\S{1,400})(?: (-?[0-9]{1,18})(?: .*)?)?", re.DOTALL)


class MlflowFolder(BundleReader):
    """Reads the folder of one run: a file a metric, a line a value, and a file a parameter."""

    name = "mlflow"
    skips = ("tags",)  # they hold user and repository
    about = "a run's folder below `mlruns`: its metrics, and its parameters as settings"

    def files(self, folder: str) -> tuple[str, ...]:
        """List ``meta.yaml``, the metrics and the parameters of a run's folder; none of any other folder."""
        meta, metrics = Path(folder, "meta.yaml"), Path(folder, "metrics")
        try:
            if not (metrics.is_dir() and meta.is_file()):
                return ()
            with meta.open("rb") as stream:
                head = stream.read(1 << 16).decode("utf-8", "replace")
        except (OSError, ValueError):
            return ()
        if "experiment_id:" not in head or not re.search(r"^run_(?:uu)?id:", head, re.MULTILINE):
            return ()
        return (str(meta), *_regular_files(metrics), *_regular_files(Path(folder, "params")))

    def read(self, folder: str, contents: Sequence[Content]) -> Table:
        """Read metrics and parameters; raises ``no-records`` where no metric has a whole line."""
        metrics, settings, unread, meta = list[_Metric](), dict[str, object](), list[str](), ""
        for content in contents:
            part, *rest = Path(content.path).relative_to(folder).parts
            key = "/".join(rest)
            if part == "meta.yaml":
                meta = content.head.decode("utf-8", "replace")
            elif part == "params":
                settings[key] = content.head.decode("utf-8", "replace")
            elif content.wanted is not None and not content.wanted(key):
                unread.append(key)
            else:
                metrics.append(_Metric(key, content))
        rows = StepRows(_label(run_name(meta) or Path(folder).absolute().name))
        # Merged by time, the values come in the order in which all were logged.
        logged = (zip(one.times, one.steps, repeat(at), one.values) for at, one in enumerate(metrics))
        for _, step, at, value in heapq.merge(*logged):
            rows.take(step, metrics[at].key, value)
        dropped = sum((one.dropped for one in metrics), Counter[str]())
        if not rows.steps:
            lost = "".join(f"; {number} × {reason}" for reason, number in dropped.items())
            what = f"{shown_path(folder)} is an MLflow run without a whole line of a metric{lost}"
            raise InputError("no-records", what, "check that the run has logged something")
        size = sum(content.extent for content in contents)
        deleted = re.search(r"^lifecycle_stage:[ \t]*['\"]?deleted\b", meta, re.MULTILINE)
        notes = ("the run is marked as deleted in MLflow",) if deleted else ()
        return rows.table(size, dropped, notes, labelled=True, settings=settings, unread=tuple(unread))


def read(content: Content) -> Table:
    """Read a database, without changing it or its folder.

    Raises ``not-a-log`` without MLflow's tables, ``no-records`` where they are empty, or ``file-corrupt``.
    """
    try:
        with opened(content) as connection:
            # What a hostile or damaged database can make SQLite do has bounds.
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 24)
            size = content.size if content.local_file() else len(content.data)
            # A row of metrics takes SQLite some 40 steps and 80 bytes, here it has 4 a byte; in a damaged
            # tree of pages it may go on for ever.
            left = repeat(0, 64 + size * 4 // (1 << 16))
            connection.set_progress_handler(lambda: next(left, 1), 1 << 16)
            return _table(connection, content)
    # SQLite's own errors, and what Python's module makes of sizes and names that make no sense
    except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, ValueError, OSError) as problem:
        what = f"is an SQLite database that cannot be read: {sqlite_cause(problem)}"
        hint = "copy it again while no run writes to it; `sqlite3 FILE .recover` saves what can be saved"
        raise InputError("file-corrupt", f"{shown_path(content.path)} {what}", hint) from None


class _Metric:
    """One metric's values in the order of its file: milliseconds, steps and values."""

    def __init__(self, key: str, content: Content) -> None:
        self.key, self.dropped = key, Counter[str]()
        self.times, self.steps, self.values = array("q"), array("q"), array("d")
        rest = ""
        for block in content.blocks():
            *lines, rest = (rest[:_LONGEST_LINE] + block).split("\n")
            for line in lines:
                line = line.removesuffix("\r")
                found = _LINE.fullmatch(line)
                value, is_text = classify(found[2] if found else None)
                if not found or is_text:
                    self.dropped[UNPARSEABLE] += bool(line)
                elif not found[3]:
                    self.dropped[NO_STEP] += 1
                else:
                    self.times.append(int(found[1]))
                    self.steps.append(int(found[3]))
                    self.values.append(value)
        # MLflow ends each line as it writes it: a last one without an end was cut off.
        self.dropped += Counter({CUT_OFF: int(bool(rest))})


def _regular_files(folder: Path) -> list[str]:
    """List the files below a folder that hold more than white space, sorted; no pipes, no linked folders."""
    found, waiting = list[str](), [str(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if len(entry.path) - len(str(folder)) > _LONGEST_NAME:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif is_file(entry.path):
                    with suppress(OSError), Path(entry.path).open("rb") as stream:
                        found += [] if is_blank(stream.read(1 << 12)) else [entry.path]
    return sorted(found)


def _label(name: str) -> str:
    """Make a name that cannot pass for a metric's value, or for a missing one."""
    return name if classify(name)[1] else f"run {name}"


def run_name(meta: str) -> str:
    """Return the run's name in a ``meta.yaml``; empty where there is none."""
    found = re.search(r"^run_name:[ \t]*(.*(?:\n[ \t]+.*)*)", meta, re.MULTILINE)
    if found is None:
        return ""
    value: object = ...
    with suppress(ValueError):
        whole = read_yaml(found[0][:_LONGEST_LINE].encode("utf-8", "replace"))
        value = whole.get("run_name", ...) if isinstance(whole, dict) else ...
    # What is no text stays as it is written: YAML's references could make a short list endless.
    name = "" if value is None else value if isinstance(value, str) else found[1].strip()
    return name.encode("utf-8", "replace").decode()[:_LONGEST_NAME].strip()


def _table(connection: sqlite3.Connection, content: Content) -> Table:
    """Read all runs of MLflow's tables."""
    has, run_columns = plain_columns(connection, "metrics"), plain_columns(connection, "runs")
    if not (
        has >= {"run_uuid", "key", "value", "timestamp", "step"}
        and run_columns >= {"run_uuid", "name", "start_time", "lifecycle_stage"}
    ):
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 200")
        tables = f"'metrics' and 'runs'; its tables: {listing([str(name) for (name,) in found])}"
        what = f"{shown_path(content.path)} is an SQLite database without MLflow's tables {tables}"
        hint = "export the metrics to one CSV with a step column and a column a metric"
        raise InputError("not-a-log", what, hint)
    listed = connection.execute("SELECT run_uuid, name, lifecycle_stage FROM runs").fetchall()
    labels = _run_labels({str(uuid): str(name or "")[:_LONGEST_NAME].strip() for uuid, name, _ in listed})
    rows, uuids = StepRows(""), list[str]()
    bad, unread = Counter[str](), dict[str, None]()
    # Run after run, in the order in which the values were logged.
    found = connection.execute(
        f"SELECT m.run_uuid, m.step, m.key, m.value, {'m.is_nan' if 'is_nan' in has else '0'} "
        "FROM metrics AS m LEFT JOIN runs AS r ON r.run_uuid = m.run_uuid "
        "ORDER BY r.start_time, m.run_uuid, m.timestamp, m.rowid"
    )
    types = ((str, int, str, float), (str, int, str, int))
    for uuid, step, key, value, is_nan in found:
        if (type(uuid), type(step), type(key), type(value)) not in types or len(key) > _LONGEST_NAME:
            bad[str(uuid)] += 1
        elif content.wanted is not None and not content.wanted(key):
            unread[key] = None
        else:
            if uuids[-1:] != [uuid]:
                uuids.append(uuid)
                rows.begin(labels.get(uuid, uuid))
            # The largest number stands for infinity in the database.
            number = math.copysign(math.inf, value) if abs(value) == sys.float_info.max else float(value)
            rows.take(step, key, math.nan if is_nan else number)
    if not rows.steps:
        what = f"{shown_path(content.path)} holds no metric of its {counted(len(labels), 'MLflow run')}"
        raise InputError("no-records", what, "check that the run has logged something, and to this database")
    settings: dict[str, object] = {}
    if len(uuids) == 1 and plain_columns(connection, "params") >= {"run_uuid", "key", "value"}:
        query = "SELECT key, value FROM params WHERE run_uuid = ? LIMIT 10000"
        cells = connection.execute(query, (uuids[0],))
        settings = {str(key): text for key, text in cells if isinstance(text, str) and text.strip()}
    notes, path = list[str](), content.local_file()
    if path and beside(path, "-wal"):
        notes.append(f"read with {shown(Path(path + '-wal').name)}, where its last rows are")
    elif path and beside(path, "-journal"):
        journal = shown(Path(path + "-journal").name)
        notes.append(f"{journal} lies beside it: its last rows may be half written")
    gone = {str(uuid) for uuid, _, stage in listed if stage == "deleted"}
    if deleted := [labels[uuid] for uuid in uuids if uuid in gone]:
        notes.append(f"marked as deleted in MLflow: {listing(deleted, 5)}")
    if len(uuids) > 1:
        notes.append(f"the parameters of {counted(len(uuids), 'run')} in one database are not read")
    return rows.table(
        content.extent,
        Counter({UNREADABLE: bad.total()}),
        tuple(notes),
        lost=tuple(labels.get(uuid, uuid) for uuid in bad if uuid not in uuids),
        settings=settings,
        unread=tuple(unread),
        labelled=True,
    )


def _run_labels(names: Mapping[str, str]) -> dict[str, str]:
    """The runs' names; with a piece of its id where several have one name, the id where one has none."""
    times = Counter(names.values())
    several = ((uuid, name, name and times[name] > 1) for uuid, name in names.items())
    labels = {uuid: f"{name} ({uuid[:8]})" if same else name or uuid for uuid, name, same in several}
    taken = Counter(labels.values())
    unique = {uuid: one if taken[one] == 1 else f"{names[uuid]} ({uuid})" for uuid, one in labels.items()}
    return {uuid: _label(label) for uuid, label in unique.items()}
