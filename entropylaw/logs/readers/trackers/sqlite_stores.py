"""Trackers' SQLite databases: Trackio's, one per project, and MLflow's ``mlflow.db``."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import sys
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import repeat
from pathlib import Path

from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, shown, sqlite_cause
from entropylaw.logs.readers.jsonl import leaves
from entropylaw.logs.readers.trackers import LONGEST_NAME, UNREADABLE, StepRows, run_label
from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import Column
from entropylaw.logs.runs.step_column import STEP_NAMES, folded
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.gather import Records
from entropylaw.logs.sources.registry import FormatFunctions


@contextmanager
def _opened(content: Content, *, rolls_back: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a database, and leave no trace, neither in the file nor next to it.

    SQLite itself would take locks. Where the last rows still are in a write-ahead log, they are read: by
    SQLite's rules while a run writes, and otherwise from copies, for SQLite has to write to play them back.
    ``rolls_back`` says whether a journal is played back as well.

    Raises ``file-corrupt``, or ``file-unreadable`` where it is locked.
    """
    path = content.local_file()
    try:
        with ExitStack() as stack:
            address = ":memory:"
            if path:
                log = _has_companion(path, "-wal")
                journal = rolls_back and _has_companion(path, "-journal")
                address = Path(path).absolute().as_uri() + ("?mode=ro" if log else "?mode=ro&immutable=1")
                if journal or (log and not _has_companion(path, "-shm")):
                    copy = Path(stack.enter_context(tempfile.TemporaryDirectory()), "copy.db")
                    for end, exists in (("", True), ("-wal", log), ("-journal", journal)):
                        if exists:
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
            calls = repeat(0, 64 + (content.size if path else len(content.data)) * 4 // (1 << 16))
            connection.set_progress_handler(lambda: next(calls, 1), 1 << 16)
            yield connection
    except OSError as problem:
        raise content.error(
            "file-unreadable",
            f"cannot be read with its write-ahead log: {problem.strerror}",
            "check the permissions of the files next to it",
        ) from None
    # SQLite's own errors, and what Python's module makes of sizes, names and texts that make no sense
    except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, ValueError) as problem:
        if "locked" in str(problem):
            raise content.error(
                "file-unreadable",
                "is locked by another program",
                "try again when it has finished, or copy the file together with its -wal file",
            ) from None
        raise content.error(
            "file-corrupt",
            f"is an SQLite file that cannot be read to the end: {sqlite_cause(problem)}",
            "copy the file again together with the -wal file next to it",
        ) from None


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


# --- Trackio ----------------------------------------------------------------------------------------------

_TRACKIO_COLUMNS = {"run_name", "step", "metrics"}
# Where the file is damaged, its schema may be unreadable and still show which tracker wrote it.
_TRACKIO_MARKS = (b"CREATE TABLE metrics", b"run_name TEXT NOT NULL", b"metrics TEXT NOT NULL")
# The count of log calls is the last resort among steps under this name.
_OWN_STEP = "_step"


def _is_trackio(content: Content) -> bool:
    """Whether it is an SQLite file with Trackio's table of metrics."""
    if all(mark in content.head for mark in _TRACKIO_MARKS):
        return True
    with suppress(InputError), _opened(content, rolls_back=True) as database:
        return _plain_columns(database, "metrics") >= _TRACKIO_COLUMNS
    return False


def _read_trackio(content: Content) -> Table:
    """Read a project's database: a row per log call, whose metrics are one JSON object, with the run's name.

    Layout from gradio-app/trackio, trackio/sqlite_storage.py in 0.14.0 and 0.43.0, and from files that 0.43.0
    wrote at ``~/.cache/huggingface/trackio/<project>.db``: table ``metrics`` with ``run_name``, ``step`` and
    ``metrics`` (JSON in bytes), and ``run_id`` from 0.24 on; table ``configs``: a JSON ``config`` per run.

    Where the caller names no step, Trackio counts log calls. ``transformers`` names none and logs
    ``train/global_step`` (``TrackioCallback`` in transformers/integrations/integration_utils.py, 5.23).

    Raises ``file-corrupt``, ``no-records``, and ``file-unreadable`` where it is locked.
    """
    with _opened(content, rolls_back=True) as database:
        has = _plain_columns(database, "metrics")
        if not has >= _TRACKIO_COLUMNS:
            raise content.error(
                "file-corrupt",
                "has no table of metrics as Trackio writes it",
                "name the project's own file, ~/.cache/huggingface/trackio/PROJECT.db",
            )
        records = Records()
        bad = Counter[tuple[str, str]]()
        runs: dict[tuple[str, str], int] = {}
        run_of = array("i")
        for key, step, value in _trackio_calls(database, "run_id" if "run_id" in has else "run_name"):
            if value is None:
                bad[key] += 1
                continue
            metrics = dict(leaves(value, LONGEST_NAME))
            for name in (_OWN_STEP, "step", "run_name"):
                metrics.pop(name, None)
            records.add({_OWN_STEP: step} | metrics)
            run_of.append(runs.setdefault(key, len(runs)))
        if not records.rows:
            raise content.error(
                "no-records",
                "is a Trackio project in which no run has logged a metric",
                "check that the run has logged something; what was sent to a Space is there, not here",
            )
        metric_columns, notes = records.columns(content.size)
        if content.local_file() is None and content.head[18:19] == b"\2":
            notes = (
                "what may still have been in the write-ahead log (.db-wal) next to the file was not read",
                *notes,
            )
        taken = Counter(run for run, _ in runs)
        names = [run if taken[run] == 1 else f"{run} ({run_id[:8]})" for run, run_id in runs]
        columns: dict[str, Column] = {"run_name": list(map(names.__getitem__, run_of)), **metric_columns}
        if {*map(folded, STEP_NAMES)}.isdisjoint(map(folded, metric_columns)):
            columns["step"] = columns.pop(_OWN_STEP)
        return Table(
            labelled=True,
            columns=columns,
            rows=records.rows + bad.total(),
            dropped={UNREADABLE: bad.total()} if bad else {},
            broken=bad.total(),
            notes=notes,
            settings=_trackio_settings(database) if len(runs) == 1 else {},
        )


def _trackio_calls(
    database: sqlite3.Connection, identity: str
) -> Iterator[tuple[tuple[str, str], object, dict[str, object] | None]]:
    """Yield the run's name and id, the step and the metrics of each log call, None where they are damaged."""
    # Rows and bytes of a damaged file may be reached again and again.
    sizes = database.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    (room,) = sizes.fetchone()
    # No other order: the order of the table is that of its log calls.
    for run, run_id, step, metrics in database.execute(
        f"SELECT run_name, {identity}, step, metrics FROM metrics NOT INDEXED"
    ):
        room -= len(metrics) + 1 if isinstance(metrics, (bytes, str)) else 1
        if room < 0:
            problem = sqlite3.DatabaseError()
            problem.sqlite_errorname = "the same pages appear again and again"
            raise problem
        yield (str(run)[:LONGEST_NAME], str(run_id)[:LONGEST_NAME]), step, _json_object(metrics, float)


def _trackio_settings(database: sqlite3.Connection) -> dict[str, object]:
    """The configuration of the only run; empty where there is none, or one more."""
    if "config" not in _plain_columns(database, "configs"):
        return {}
    configs = database.execute("SELECT config FROM configs NOT INDEXED LIMIT 2").fetchall()
    config = _json_object(configs[0][0]) if len(configs) == 1 else None
    # Trackio itself adds the user's name and the time.
    return {name: leaf for name, leaf in leaves(config or {}, LONGEST_NAME) if not name.startswith("_")}


def _json_object(cell: object, parse_int: type | None = None) -> dict[str, object] | None:
    """Return the JSON object in a cell; None where there is none, or one that is too long."""
    with suppress(ValueError, RecursionError):
        if isinstance(cell, (bytes, str)) and len(cell) <= 1 << 22:
            value = json.loads(cell, parse_int=parse_int)
            return value if isinstance(value, dict) else None
    return None


# --- MLflow -----------------------------------------------------------------------------------------------

_MLFLOW_METRICS = {"run_uuid", "key", "value", "timestamp", "step"}
_MLFLOW_RUNS = {"run_uuid", "name", "start_time", "lifecycle_stage"}
_MLFLOW_TYPES = ((str, int, str, float), (str, int, str, int))


def read_mlflow(content: Content) -> Table:
    """Read MLflow's database, run after run, each in the order in which its values were logged.

    Neither the database nor its folder is changed.

    Layout from mlflow 3.17's store/tracking/sqlalchemy_store.py and store/tracking/dbmodels/models.py. Tags
    are never read, for they hold the user, the git remote and notes.

    Raises ``not-a-log`` without MLflow's tables, ``no-records`` where they are empty, or ``file-corrupt``.
    """
    with _opened(content) as connection:
        has = _plain_columns(connection, "metrics")
        if not (has >= _MLFLOW_METRICS and _plain_columns(connection, "runs") >= _MLFLOW_RUNS):
            named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 200")
            tables = listing([str(name) for (name,) in named])
            raise content.error(
                "not-a-log",
                f"is an SQLite database without MLflow's tables 'metrics' and 'runs'; its tables: {tables}",
                "export the metrics to one CSV with a step column and a column per metric",
            )
        listed = connection.execute("SELECT run_uuid, name, lifecycle_stage FROM runs").fetchall()
        labels = _mlflow_labels({str(uuid): name for uuid, name, _ in listed})
        rows = StepRows("")
        uuids: list[str] = []
        bad = Counter[str]()
        unread: dict[str, None] = {}
        for uuid, step, key, value in _mlflow_values(connection, "m.is_nan" if "is_nan" in has else "0", bad):
            if not content.keeps(key):
                unread[key] = None
                continue
            if uuids[-1:] != [uuid]:
                uuids.append(uuid)
                rows.begin(labels.get(uuid, uuid))
            rows.take(step, key, value)
        if not rows.steps:
            raise content.error(
                "no-records",
                f"holds no metric of its {counted(len(labels), 'MLflow run')}",
                "check that the run has logged something, and to this database",
            )
        deleted = {str(uuid) for uuid, _, stage in listed if stage == "deleted"}
        of_deleted = [labels[uuid] for uuid in uuids if uuid in deleted]
        return rows.table(
            content.extent,
            Counter({UNREADABLE: bad.total()}),
            tuple(_mlflow_notes(content.local_file(), of_deleted, len(uuids))),
            broken=bad.total(),
            settings=_mlflow_settings(connection, uuids[0]) if len(uuids) == 1 else {},
            unread=tuple(unread),
            labelled=True,
        )


def _mlflow_values(
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


def _mlflow_settings(connection: sqlite3.Connection, run: str) -> dict[str, object]:
    """The parameters of a run."""
    if not _plain_columns(connection, "params") >= {"run_uuid", "key", "value"}:
        return {}
    cells = connection.execute("SELECT key, value FROM params WHERE run_uuid = ? LIMIT 10000", (run,))
    return {str(key): text for key, text in cells if isinstance(text, str) and text.strip()}


def _mlflow_notes(path: str | None, deleted: Sequence[str], runs: int) -> Iterator[str]:
    """Note a write-ahead log or a journal next to a database, runs that are deleted, and what is not read."""
    if path and _has_companion(path, "-wal"):
        yield f"read with {shown(Path(path + '-wal').name)}, where its last rows are"
    elif path and _has_companion(path, "-journal"):
        yield f"{shown(Path(path + '-journal').name)} is next to it: its last rows may be half written"
    if deleted:
        yield f"marked as deleted in MLflow: {listing(deleted, 5)}"
    if runs > 1:
        yield f"the parameters of {counted(runs, 'run')} in one database are not read"


def _mlflow_labels(written: Mapping[str, object]) -> dict[str, str]:
    """Name the runs: with a part of the id where several have one name, by the id where one has none."""
    names = {uuid: str(name or "")[:LONGEST_NAME].strip() for uuid, name in written.items()}
    times = Counter(names.values())
    several = ((uuid, name, name and times[name] > 1) for uuid, name in names.items())
    labels = {uuid: f"{name} ({uuid[:8]})" if same else name or uuid for uuid, name, same in several}
    taken = Counter(labels.values())
    for uuid, label in labels.items():
        labels[uuid] = run_label(label if taken[label] == 1 else f"{names[uuid]} ({uuid})")
    return labels


trackio = FormatFunctions(_is_trackio, _read_trackio)
# Any SQLite file that is not Trackio's: the error names the tables that are missing.
mlflow = FormatFunctions(lambda _: True, read_mlflow)
