"""Trackio's local store: an SQLite file a project, a row a log call, whose metrics are one JSON object.

Layout from gradio-app/trackio, trackio/sqlite_storage.py in 0.14.0 and 0.43.0, and from files that 0.43.0
wrote at ``~/.cache/huggingface/trackio/<project>.db``: table ``metrics`` with ``run_name``, ``step`` and
``metrics`` (JSON in bytes), and ``run_id`` from 0.24 on; table ``configs`` with a JSON ``config`` per run.

Where the caller names no step, Trackio counts log calls. ``transformers`` names none and logs
``train/global_step`` (``TrackioCallback`` in transformers/integrations/integration_utils.py, 5.23).
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections import Counter
from contextlib import suppress

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.records import UNREADABLE, leaves
from entropylaw.ingest.formats.sqlite import opened, plain_columns
from entropylaw.ingest.gather import Records
from entropylaw.ingest.steps import STEP_NAMES, folded
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import Column
from entropylaw.ingest.wording import shown_path, sqlite_cause

_COLUMNS = {"run_name", "step", "metrics"}
# Where the file is damaged, its schema may be unreadable and still tell whose it is.
_MARKS = (b"CREATE TABLE metrics", b"run_name TEXT NOT NULL", b"metrics TEXT NOT NULL")
_LONGEST_NAME = 500

# The count of log calls is the last resort among steps under this name.
_OWN_STEP = "_step"

# Where damage makes SQLite complain with bytes that are no text, its complaint cannot be decoded.
_DAMAGE = (sqlite3.Error, UnicodeError)


def recognises(content: Content) -> bool:
    """Whether it is an SQLite file with Trackio's table of metrics."""
    if all(mark in content.head for mark in _MARKS):
        return True
    try:
        with opened(content, rolls_back=True) as database:
            return plain_columns(database, "metrics") >= _COLUMNS
    except (*_DAMAGE, OSError, InputError):
        return False


def read(content: Content) -> Table:
    """Read it; raises ``file-corrupt``, ``no-records``, and ``file-unreadable`` where it is locked."""
    try:
        with opened(content, rolls_back=True) as database:
            return _table(database, content)
    except _DAMAGE as problem:
        if "locked" in str(problem):
            what = f"{shown_path(content.path)} is locked by another program"
            hint = "try again when it has finished, or copy the file together with its -wal file"
            raise InputError("file-unreadable", what, hint) from None
        what = f"is an SQLite file that cannot be read to the end: {sqlite_cause(problem)}"
        hint = "copy the file again together with the -wal file beside it"
        raise InputError("file-corrupt", f"{shown_path(content.path)} {what}", hint) from None
    except OSError as problem:
        what = f"{shown_path(content.path)} cannot be read with its write-ahead log: {problem.strerror}"
        raise InputError("file-unreadable", what, "check the permissions of the files beside it") from None


def _table(database: sqlite3.Connection, content: Content) -> Table:
    """Read the tables of a project: its columns, and the run's name in each row."""
    has = plain_columns(database, "metrics")
    if not has >= _COLUMNS:
        what = f"{shown_path(content.path)} has no table of metrics as Trackio writes it"
        hint = "name the project's own file, ~/.cache/huggingface/trackio/PROJECT.db"
        raise InputError("file-corrupt", what, hint)
    records, bad = Records(), Counter[tuple[str, str]]()
    runs, run_of = dict[tuple[str, str], int](), array("i")
    # Rows and bytes of a damaged file may be reached again and again.
    query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    (room,) = database.execute(query).fetchone()
    # No other order: the order of the table is that of its log calls.
    identity = "run_id" if "run_id" in has else "run_name"
    query = f"SELECT run_name, {identity}, step, metrics FROM metrics NOT INDEXED"
    for run, run_id, step, metrics in database.execute(query):
        room -= len(metrics) + 1 if isinstance(metrics, (bytes, str)) else 1
        if room < 0:
            problem = sqlite3.DatabaseError()
            problem.sqlite_errorname = "the same pages appear again and again"
            raise problem
        key = str(run)[:_LONGEST_NAME], str(run_id)[:_LONGEST_NAME]
        value = _decoded(metrics, float)
        if value is None:
            bad[key] += 1
            continue
        records.put(_OWN_STEP, step)
        for name, cell in leaves(value, _LONGEST_NAME):
            if name not in (_OWN_STEP, "step", "run_name"):
                records.put(name, cell)
        records.close()
        run_of.append(runs.setdefault(key, len(runs)))
    if not records.rows:
        what = f"{shown_path(content.path)} is a Trackio project in which no run has logged a metric"
        hint = "check that the run has logged something; what was sent to a Space lies there, not here"
        raise InputError("no-records", what, hint)
    found, notes = records.columns(content.size)
    if content.local_file() is None and content.head[18:19] == b"\2":
        left = "what may still have lain in the write-ahead log (.db-wal) beside the file was not read"
        notes = (left, *notes)
    taken = Counter(run for run, _ in runs)
    names = [run if taken[run] == 1 else f"{run} ({run_id[:8]})" for run, run_id in runs]
    columns: dict[str, Column] = {"run_name": [names[number] for number in run_of], **found}
    if {*map(folded, STEP_NAMES)}.isdisjoint(map(folded, found)):
        columns["step"] = columns.pop(_OWN_STEP)
    settings: dict[str, object] = {}
    if len(runs) == 1 and "config" in plain_columns(database, "configs"):
        configs = database.execute("SELECT config FROM configs NOT INDEXED LIMIT 2").fetchall()
        items = leaves(_decoded(configs[0][0]) or {} if len(configs) == 1 else {}, _LONGEST_NAME)
        # Trackio itself adds the user's name and the time.
        settings = {name: leaf for name, leaf in items if not name.startswith("_")}
    return Table(
        labelled=True,
        columns=columns,
        rows=records.rows + bad.total(),
        dropped={UNREADABLE: bad.total()} if bad else {},
        lost=tuple(run for run, run_id in bad if (run, run_id) not in runs),
        notes=notes,
        settings=settings,
    )


def _decoded(cell: object, parse_int: type | None = None) -> dict[str, object] | None:
    """Return the JSON object in a cell; None where there is none, or one that is too long."""
    with suppress(ValueError, RecursionError):
        if isinstance(cell, (bytes, str)) and len(cell) <= 1 << 22:
            value = json.loads(cell, parse_int=parse_int)
            return value if isinstance(value, dict) else None
    return None
