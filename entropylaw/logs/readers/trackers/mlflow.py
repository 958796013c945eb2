"""MLflow's SQLite database, ``mlflow.db``."""

from __future__ import annotations

import math
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import repeat
from pathlib import Path

from entropylaw.escaping import counted, listing, shown, sqlite_cause
from entropylaw.logs.readers.trackers import LONGEST_NAME, UNREADABLE, StepRows, run_label
from entropylaw.logs.runs import Table
from entropylaw.logs.sources.content import Content

_MLFLOW_METRICS = {"run_uuid", "key", "value", "timestamp", "step"}
_MLFLOW_RUNS = {"run_uuid", "name", "start_time", "lifecycle_stage"}
_MLFLOW_TYPES = ((str, int, str, float), (str, int, str, int))


@contextmanager
def _opened(content: Content) -> Iterator[sqlite3.Connection]:
    """Open a database, and leave no trace, neither in the file nor next to it.

    SQLite itself would take locks. Where the last rows still are in a write-ahead log, they are read: by
    SQLite's rules while a run writes, and otherwise from copies, for SQLite has to write to play them back.

    Raises ``file-corrupt``.
    """
    path = content.local_file()
    try:
        with ExitStack() as stack:
            address = ":memory:"
            if path:
                log = _has_companion(path, "-wal")
                address = Path(path).absolute().as_uri() + ("?mode=ro" if log else "?mode=ro&immutable=1")
                if log and not _has_companion(path, "-shm"):
                    copy = Path(stack.enter_context(tempfile.TemporaryDirectory()), "copy.db")
                    for end in ("", "-wal"):
                        shutil.copyfile(path + end, f"{copy}{end}")
                    address = copy.as_uri()
            connection = stack.enter_context(closing(sqlite3.connect(address, uri=True)))
            if path is None:
                data = bytearray(content.data)
                # The format's versions: 2 for a database with a write-ahead log, which memory has not.
                data[18:20] = b"\1\1"
                connection.deserialize(bytes(data))
            # A file from an unknown source may hold triggers and views: only its data are read.
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            # Bounds on what a hostile or damaged database can make SQLite do. A row of metrics takes it some
            # 40 steps and 80 bytes, here it has 4 a byte; in a damaged tree of pages it may go on for ever.
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 24)
            left = repeat(0, 64 + (content.size if path else len(content.data)) * 4 // (1 << 16))
            connection.set_progress_handler(lambda: next(left, 1), 1 << 16)
            yield connection
    # SQLite's own errors, and what Python's module makes of sizes, names and texts that make no sense
    except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, ValueError, OSError) as problem:
        message = f"is an SQLite database that cannot be read: {sqlite_cause(problem)}"
        hint = "copy it again while no run writes to it; `sqlite3 FILE .recover` saves what can be saved"
        raise content.error("file-corrupt", message, hint) from None


def _has_companion(path: str, end: str) -> bool:
    """Whether the file with that ending is there and not empty."""
    with suppress(OSError):
        return Path(path + end).stat().st_size > 0
    return False


def _plain_columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Name the columns of an ordinary table, which hold data and compute nothing; none of a view."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND sql LIKE 'CREATE TABLE%'"
    if connection.execute(query, (table,)).fetchone() is None:
        return frozenset()
    described = connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,))
    return frozenset(str(name) for name, hidden in described if not hidden)


def read(content: Content) -> Table:
    """Read MLflow's database, all runs in it, without changing it or its folder.

    Layout from mlflow 3.17's store/tracking/sqlalchemy_store.py and store/tracking/dbmodels/models.py. Tags
    are never read, for they hold the user, the git remote and notes.

    Raises ``not-a-log`` without MLflow's tables, ``no-records`` where they are empty, or ``file-corrupt``.
    """
    with _opened(content) as connection:
        return mlflow_table(connection, content)


def mlflow_table(connection: sqlite3.Connection, content: Content) -> Table:
    """Read all runs of MLflow's tables, run after run, in the order in which the values were logged."""
    has, run_columns = _plain_columns(connection, "metrics"), _plain_columns(connection, "runs")
    if not (has >= _MLFLOW_METRICS and run_columns >= _MLFLOW_RUNS):
        query = "SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 200"
        tables = listing([str(name) for (name,) in connection.execute(query)])
        message = f"is an SQLite database without MLflow's tables 'metrics' and 'runs'; its tables: {tables}"
        hint = "export the metrics to one CSV with a step column and a column per metric"
        raise content.error("not-a-log", message, hint)
    listed = connection.execute("SELECT run_uuid, name, lifecycle_stage FROM runs").fetchall()
    labels = mlflow_labels({str(uuid): name for uuid, name, _ in listed})
    rows, uuids = StepRows(""), list[str]()
    bad, unread = Counter[str](), dict[str, None]()
    for uuid, step, key, value in mlflow_values(connection, "m.is_nan" if "is_nan" in has else "0", bad):
        if not content.keeps(key):
            unread[key] = None
            continue
        if uuids[-1:] != [uuid]:
            uuids.append(uuid)
            rows.begin(labels.get(uuid, uuid))
        rows.take(step, key, value)
    if not rows.steps:
        message = f"holds no metric of its {counted(len(labels), 'MLflow run')}"
        hint = "check that the run has logged something, and to this database"
        raise content.error("no-records", message, hint)
    deleted = {str(uuid) for uuid, _, stage in listed if stage == "deleted"}
    of_deleted = [labels[uuid] for uuid in uuids if uuid in deleted]
    return rows.table(
        content.extent,
        Counter({UNREADABLE: bad.total()}),
        tuple(mlflow_notes(content.local_file(), of_deleted, len(uuids))),
        lost=tuple(labels.get(uuid, uuid) for uuid in bad if uuid not in uuids),
        settings=mlflow_settings(connection, uuids[0]) if len(uuids) == 1 else {},
        unread=tuple(unread),
        labelled=True,
    )


def mlflow_values(
    connection: sqlite3.Connection, is_nan: str, bad: Counter[str]
) -> Iterator[tuple[str, int, str, float]]:
    """Yield run, step, metric and value in the order in which they were logged, run after run.

    ``is_nan`` is the column that marks nan. Rows of other types are counted in ``bad``, by run.
    """
    values = connection.execute(
        f"SELECT m.run_uuid, m.step, m.key, m.value, {is_nan} "
        "FROM metrics AS m LEFT JOIN runs AS r ON r.run_uuid = m.run_uuid "
        "ORDER BY r.start_time, m.run_uuid, m.timestamp, m.rowid"
    )
    for uuid, step, key, value, missing in values:
        if tuple(map(type, (uuid, step, key, value))) not in _MLFLOW_TYPES or len(key) > LONGEST_NAME:
            bad[str(uuid)] += 1
        elif missing:
            yield uuid, step, key, math.nan
        else:
            # The database has the largest number in the place of infinity.
            infinite = abs(value) == sys.float_info.max
            yield uuid, step, key, math.copysign(math.inf, value) if infinite else float(value)


def mlflow_settings(connection: sqlite3.Connection, run: str) -> dict[str, object]:
    """The parameters of a run."""
    if not _plain_columns(connection, "params") >= {"run_uuid", "key", "value"}:
        return {}
    query = "SELECT key, value FROM params WHERE run_uuid = ? LIMIT 10000"
    cells = connection.execute(query, (run,))
    return {str(key): text for key, text in cells if isinstance(text, str) and text.strip()}


def mlflow_notes(path: str | None, deleted: Sequence[str], runs: int) -> Iterator[str]:
    """Note a write-ahead log or a journal next to a database, runs that are deleted, and what is not read."""
    if path and _has_companion(path, "-wal"):
        yield f"read with {shown(Path(path + '-wal').name)}, where its last rows are"
    elif path and _has_companion(path, "-journal"):
        yield f"{shown(Path(path + '-journal').name)} is next to it: its last rows may be half written"
    if deleted:
        yield f"marked as deleted in MLflow: {listing(deleted, 5)}"
    if runs > 1:
        yield f"the parameters of {counted(runs, 'run')} in one database are not read"


def mlflow_labels(written: Mapping[str, object]) -> dict[str, str]:
    """Name the runs: with a part of the id where several have one name, by the id where one has none."""
    names = {uuid: str(name or "")[:LONGEST_NAME].strip() for uuid, name in written.items()}
    times = Counter(names.values())
    several = ((uuid, name, name and times[name] > 1) for uuid, name in names.items())
    labels = {uuid: f"{name} ({uuid[:8]})" if same else name or uuid for uuid, name, same in several}
    taken = Counter(labels.values())
    for uuid, label in labels.items():
        unique = label if taken[label] == 1 else f"{names[uuid]} ({uuid})"
        labels[uuid] = run_label(unique)
    return labels
