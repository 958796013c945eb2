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
import shutil
import sqlite3
import stat
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.delimited import CUT_OFF
from entropylaw.ingest.formats.jsonl import UNPARSEABLE
from entropylaw.ingest.formats.records import UNREADABLE
from entropylaw.ingest.formats.step_rows import StepRows
from entropylaw.ingest.registry import BundleReader
from entropylaw.ingest.segments import OVERWRITTEN
from entropylaw.ingest.steps import NO_STEP
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import is_missing, parse_number
from entropylaw.ingest.wording import counted, listing, shown, shown_path, sqlite_cause
from entropylaw.ingest.yamltext import read_yaml

_META, _METRICS, _PARAMS = "meta.yaml", "metrics", "params"
# Keys and names are shorter in MLflow; a longer one is none.
_LONGEST_NAME = 500
_LONGEST_LINE = 2000
_IS_RUN = re.compile(r"^run_(?:uu)?id:", re.MULTILINE)
_RUN_NAME = re.compile(r"^run_name:[ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_DELETED = re.compile(r"^lifecycle_stage:[ \t]*['\"]?deleted\b", re.MULTILINE)
# Time in milliseconds, value, step (none before MLflow 1.0), then perhaps a data set's name and digest.
_LINE = re.compile(r"(-?[0-9]{1,18}) (\S{1,400})(?: (-?[0-9]{1,18})(?: .*)?)?", re.DOTALL)

_WAL_VERSIONS = slice(18, 20)  # of the file format: 2 where a write-ahead log stands beside it, else 1
_COLUMNS = frozenset(("run_uuid", "key", "value", "timestamp", "step"))
_RUN_COLUMNS = frozenset(("run_uuid", "name", "start_time", "lifecycle_stage"))
_PARAM_COLUMNS = frozenset(("run_uuid", "key", "value"))
_LONGEST_CELL = 1 << 24
# A row of metrics takes SQLite some 40 steps and 80 bytes; in a damaged tree of pages it may go on for ever.
_STEPS_A_BYTE, _STEPS_AT_ONCE, _FEWEST = 4, 1 << 16, 64
_MOST_PARAMS = 10_000
_LARGEST = 1.7976931348623157e308  # stands for infinity in the database


class MlflowFolder(BundleReader):
    """Reads the folder of one run: a file a metric, a line a value, and a file a parameter."""

    name = "mlflow"
    skips = ("tags",)  # they hold user and repository
    about = "a run's folder below `mlruns`: its metrics, and its parameters as settings"

    def files(self, folder: str) -> tuple[str, ...]:
        """List ``meta.yaml``, the metrics and the parameters of a run's folder; none of any other folder."""
        meta, metrics = Path(folder, _META), Path(folder, _METRICS)
        try:
            if not (metrics.is_dir() and meta.is_file()):
                return ()
            with meta.open("rb") as stream:
                head = stream.read(1 << 16).decode("utf-8", "replace")
        except (OSError, ValueError):
            return ()
        if "experiment_id:" not in head or not _IS_RUN.search(head):
            return ()
        return (str(meta), *_regular_files(metrics), *_regular_files(Path(folder, _PARAMS)))

    def read(self, folder: str, contents: Sequence[Content]) -> Table:
        """Read metrics and parameters.

        Raises
        ------
        InputError
            ``no-records`` where no metric has a whole line.

        """
        metrics: list[_Metric] = []
        settings: dict[str, object] = {}
        unread: list[str] = []
        meta = ""
        for content in contents:
            part, key = _place(folder, content.path)
            if part == _META:
                meta = content.head.decode("utf-8", "replace")
            elif part == _PARAMS:
                settings[key] = content.head.decode("utf-8", "replace")
            elif content.wanted is not None and not content.wanted(key):
                unread.append(key)
            else:
                metrics.append(_metric(key, content))
        rows = StepRows(_label(_run_name(meta) or Path(folder).absolute().name))
        for _, step, index, value in heapq.merge(*(one.logged(i) for i, one in enumerate(metrics))):
            rows.take(step, metrics[index].key, value)
        dropped = sum((one.dropped for one in metrics), Counter[str]())
        if not rows.steps:
            lost = "".join(f"; {number} × {reason}" for reason, number in dropped.items())
            raise InputError(
                "no-records",
                f"{shown_path(folder)} is an MLflow run without a whole line of a metric{lost}",
                "check that the run has logged something",
            )
        return _table(
            rows,
            size=sum(content.extent for content in contents),
            dropped=dropped,
            notes=("the run is marked as deleted in MLflow",) if _DELETED.search(meta) else (),
            settings=settings,
            unread=tuple(unread),
        )


def read(content: Content) -> Table:
    """Read it, without changing it or its folder.

    Raises
    ------
    InputError
        ``not-a-log`` where MLflow's tables are not there, ``no-records`` where they are empty, and
        ``file-corrupt`` where SQLite cannot read them.

    """
    try:
        with _opened(content) as (connection, notes):
            return _Database(connection, content).table(notes)
    # SQLite's own errors, and what Python's module makes of sizes and names that make no sense
    except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, ValueError, OSError) as problem:
        raise InputError(
            "file-corrupt",
            f"{shown_path(content.path)} is an SQLite database that cannot be read: {sqlite_cause(problem)}",
            "copy it again while no run writes to it; `sqlite3 FILE .recover` saves what can be saved",
        ) from None


def _table(
    rows: StepRows,
    *,
    size: int,
    dropped: Counter[str],
    notes: tuple[str, ...],
    settings: dict[str, object],
    unread: tuple[str, ...],
    lost: tuple[str, ...] = (),
) -> Table:
    columns, more = rows.columns(size)
    counts = Counter(dropped)
    read = len(rows.steps) + counts.total()
    counts[OVERWRITTEN] = rows.overwritten
    return Table(
        labelled=True,
        columns=columns,
        rows=read,
        dropped=dict(+counts),
        notes=(*notes, *more),
        settings=settings,
        unread=unread,
        lost=lost,
    )


class _Metric:
    """One metric's values in the order of its file."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.dropped: Counter[str] = Counter()
        self._times, self._steps, self._values = array("q"), array("q"), array("d")

    def take(self, line: str) -> None:
        """Take one line."""
        found = _LINE.fullmatch(line)
        value = parse_number(found[2]) if found else math.nan
        if not found or (math.isnan(value) and not is_missing(found[2])):
            self.dropped[UNPARSEABLE] += 1
        elif not found[3]:
            self.dropped[NO_STEP] += 1
        else:
            self._times.append(int(found[1]))
            self._steps.append(int(found[3]))
            self._values.append(value)

    def logged(self, index: int) -> Iterator[tuple[int, int, int, float]]:
        """Yield time, step, ``index`` and value: merged with others, the order in which all were logged."""
        return zip(self._times, self._steps, repeat(index), self._values, strict=False)


def _metric(key: str, content: Content) -> _Metric:
    """Read a metric's file. MLflow ends each line as it writes it: a last one without an end was cut off."""
    metric = _Metric(key)
    rest = ""
    for block in content.blocks():
        *lines, rest = (rest[:_LONGEST_LINE] + block).split("\n")
        for line in lines:
            if line := line.removesuffix("\r"):
                metric.take(line)
    if rest:
        metric.dropped[CUT_OFF] += 1
    return metric


def _regular_files(folder: Path) -> list[str]:
    """List the files below a folder that hold something, sorted; links to folders are not followed."""
    found: list[str] = []
    waiting = [str(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if len(entry.path) - len(str(folder)) > _LONGEST_NAME:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif _holds_text(entry):
                    found.append(entry.path)
    return sorted(found)


def _holds_text(entry: os.DirEntry[str]) -> bool:
    """Whether it is a regular file (a pipe would never end) with more than white space."""
    try:
        if not stat.S_ISREG(entry.stat().st_mode):
            return False
        with Path(entry.path).open("rb") as stream:
            return bool(stream.read(1 << 12).strip(b" \t\r\n\0"))
    except OSError:
        return False


def _label(name: str) -> str:
    """Make a name that cannot pass for a metric's value, or for a missing one."""
    return name if math.isnan(parse_number(name)) and not is_missing(name) else f"run {name}"


def _place(folder: str, path: str) -> tuple[str, str]:
    """Return which part of a run's folder a file belongs to, and its key."""
    part, *rest = Path(path).relative_to(folder).parts
    return part, "/".join(rest)


def _run_name(meta: str) -> str:
    """Return the run's name in a ``meta.yaml``; empty where there is none."""
    found = _RUN_NAME.search(meta)
    if found is None:
        return ""
    value: object = ...
    with suppress(ValueError):
        whole = read_yaml(found[0][:_LONGEST_LINE].encode("utf-8", "replace"))
        value = whole.get("run_name", ...) if isinstance(whole, dict) else ...
    # What is no text stays as it is written: YAML's references could make a short list endless.
    name = "" if value is None else value if isinstance(value, str) else found[1].strip()
    return name.encode("utf-8", "replace").decode()[:_LONGEST_NAME].strip()


class _Run(NamedTuple):
    """A row of the table of runs."""

    name: str
    deleted: bool


class _Database:
    """MLflow's tables behind a connection."""

    def __init__(self, connection: sqlite3.Connection, content: Content) -> None:
        self._connection, self._content = connection, content
        self._bad = Counter[str]()
        self._unread: dict[str, None] = {}

    def table(self, notes: tuple[str, ...]) -> Table:
        """Read all runs."""
        if not (self._columns("metrics") >= _COLUMNS and self._columns("runs") >= _RUN_COLUMNS):
            raise self._no_mlflow()
        rows, uuids = StepRows(""), list[str]()
        for uuid, step, key, value in self._logged():
            if not uuids or uuid != uuids[-1]:
                uuids.append(uuid)
                rows.begin(self._labels.get(uuid, uuid))
            rows.take(step, key, value)
        if not rows.steps:
            raise InputError(
                "no-records",
                f"{shown_path(self._content.path)} holds no metric of its "
                f"{counted(len(self._runs), 'MLflow run')}",
                "check that the run has logged something, and to this database",
            )
        deleted = [self._labels[uuid] for uuid in uuids if uuid in self._runs and self._runs[uuid].deleted]
        several = (f"the parameters of {counted(len(uuids), 'run')} in one database are not read",)
        return _table(
            rows,
            size=self._content.extent,
            dropped=Counter({UNREADABLE: self._bad.total()}),
            lost=tuple(self._labels.get(uuid, uuid) for uuid in self._bad if uuid not in uuids),
            notes=(
                *notes,
                *((f"marked as deleted in MLflow: {listing(deleted, 5)}",) if deleted else ()),
                *(several if len(uuids) > 1 else ()),
            ),
            settings=self._settings(uuids[0]) if len(uuids) == 1 else {},
            unread=tuple(self._unread),
        )

    def _logged(self) -> Iterator[tuple[str, int, str, float]]:
        """Yield run, step, key and value, run after run, in the order in which they were logged."""
        nan = "m.is_nan" if "is_nan" in self._columns("metrics") else "0"
        found = self._connection.execute(
            f"SELECT m.run_uuid, m.step, m.key, m.value, {nan} FROM metrics AS m "
            "LEFT JOIN runs AS r ON r.run_uuid = m.run_uuid "
            "ORDER BY r.start_time, m.run_uuid, m.timestamp, m.rowid"
        )
        types = ((str, int, str, float), (str, int, str, int))
        wanted = self._content.wanted or (lambda _: True)
        for uuid, step, key, value, is_nan in found:
            if (type(uuid), type(step), type(key), type(value)) not in types or len(key) > _LONGEST_NAME:
                self._bad[str(uuid)] += 1
            elif not wanted(key):
                self._unread[key] = None
            else:
                yield uuid, step, key, math.nan if is_nan else _number(value)

    @cached_property
    def _runs(self) -> dict[str, _Run]:
        found = self._connection.execute("SELECT run_uuid, name, lifecycle_stage FROM runs")
        return {
            str(uuid): _Run(name=str(name or "")[:_LONGEST_NAME].strip(), deleted=stage == "deleted")
            for uuid, name, stage in found
        }

    @cached_property
    def _labels(self) -> dict[str, str]:
        """The runs' names; with a piece of its id where several have one name, the id where one has none."""
        times = Counter(run.name for run in self._runs.values())
        labels = {
            uuid: f"{run.name} ({uuid[:8]})" if run.name and times[run.name] > 1 else run.name or uuid
            for uuid, run in self._runs.items()
        }
        taken = Counter(labels.values())
        return {
            uuid: _label(label if taken[label] == 1 else f"{self._runs[uuid].name} ({uuid})")
            for uuid, label in labels.items()
        }

    def _settings(self, uuid: str) -> dict[str, object]:
        if not self._columns("params") >= _PARAM_COLUMNS:
            return {}
        found = self._connection.execute(
            f"SELECT key, value FROM params WHERE run_uuid = ? LIMIT {_MOST_PARAMS}", (uuid,)
        )
        return {str(key): value for key, value in found if isinstance(value, str) and value.strip()}

    def _columns(self, table: str) -> frozenset[str]:
        """Return a real table's columns; none for a view or a virtual table, which may hold anything."""
        kind = "SELECT 1 FROM sqlite_master WHERE name = ? AND sql LIKE 'CREATE TABLE%'"
        if self._connection.execute(kind, (table,)).fetchone() is None:
            return frozenset()
        described = self._connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,))
        return frozenset(name for name, hidden in described if not hidden)  # a hidden one is computed

    def _no_mlflow(self) -> InputError:
        found = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 200")
        names = [str(name) for (name,) in found]
        return InputError(
            "not-a-log",
            f"{shown_path(self._content.path)} is an SQLite database without MLflow's tables 'metrics' and "
            f"'runs'; its tables: {listing(names)}",
            "export the metrics to one CSV with a step column and a column a metric",
        )


def _number(value: float) -> float:
    """Return a value as it was logged, for the database cannot hold an infinite one."""
    return math.copysign(math.inf, value) if abs(value) == _LARGEST else float(value)


@contextmanager
def _opened(content: Content) -> Iterator[tuple[sqlite3.Connection, tuple[str, ...]]]:
    """Open a database so that nothing is written beside it, and say what may be missing."""
    path = content.local_file()
    if path is None:
        data = content.data
        if data[_WAL_VERSIONS] == b"\2\2":  # a database in memory has no such log
            data = data[: _WAL_VERSIONS.start] + b"\1\1" + data[_WAL_VERSIONS.stop :]
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(data)
            yield _guarded(connection, len(data)), ()
        return
    with _with_its_log(path) as (uri, notes), closing(sqlite3.connect(uri, uri=True)) as connection:
        yield _guarded(connection, content.size), notes


@contextmanager
def _with_its_log(path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Make an address for SQLite, which itself would take locks and leave files beside the database.

    Where the last rows still are in a write-ahead log, they are read: by SQLite's rules while a run writes,
    and otherwise from copies.
    """
    address = Path(path).absolute().as_uri() + "?mode=ro"
    log, journal = Path(f"{path}-wal"), Path(f"{path}-journal")
    read = (f"read with {shown(log.name)}, where its last rows are",)
    if not _size(log):
        half = f"{shown(journal.name)} lies beside it: its last rows may be half written"
        yield f"{address}&immutable=1", (half,) if _size(journal) else ()
    elif _size(Path(f"{path}-shm")):
        yield address, read
    else:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(path, copy := Path(folder, "copy.db"))
            shutil.copyfile(log, f"{copy}-wal")
            yield copy.as_uri(), read


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _guarded(connection: sqlite3.Connection, size: int) -> sqlite3.Connection:
    """Bound what a hostile or damaged database can make SQLite do."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_CELL)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    left = repeat(0, _FEWEST + size * _STEPS_A_BYTE // _STEPS_AT_ONCE)
    connection.set_progress_handler(lambda: next(left, 1), _STEPS_AT_ONCE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection
