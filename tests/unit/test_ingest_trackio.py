"""Trackio's databases: made by hand in the layouts of several versions, by Trackio itself, and damaged."""

import json
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from entropylaw.errors import InputError
from entropylaw.ingest.readers.trackers import UNREADABLE
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.opening import load
from entropylaw.ingest.sources.registry import reader_of
from tests.hostile import assembled, flipped, refused, rows_or_refusal

METRICS = """CREATE TABLE metrics (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT)"""
OLD_METRICS = METRICS.replace(" run_id TEXT NOT NULL,", "").replace(", log_id TEXT, space_id TEXT", "")
CONFIGS = """CREATE TABLE configs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
    config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id))"""
OF_MLFLOW = """CREATE TABLE metrics (
    key VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL, run_uuid VARCHAR(32) NOT NULL,
    step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL)"""


def log(database, step, run="a", run_id="1", old=False, **metrics):
    row = {"timestamp": "2026-01-01T00:00:00", "run_name": run, "step": step}
    row["metrics"] = metrics.pop("raw", None) or json.dumps(metrics).encode()
    if not old:
        row["run_id"] = run_id
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO metrics ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def made(path, *statements, fill=None):
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        if fill is not None:
            fill(database)
        database.commit()
    return load(str(path))


def some_steps(database):
    for step in range(5):
        log(database, step, **{"train/reward": 0.1 * step, "train/entropy": 1 / (1 + step)})


def small(tmp_path):
    return made(tmp_path / "small.db", METRICS, CONFIGS, fill=some_steps)


def runs(content):
    return assembled("trackio", content, "p")


def read(data):
    return reader_of("trackio").read(Content("p.db", data))


@pytest.mark.parametrize("old", [False, True])
def test_the_steps_of_a_run(tmp_path, old):
    def fill(database):
        for step in (0, 10, 20):
            log(database, step, old=old, reward=0.1 * step, entropy=0.5, inner={"x": step})

    content = made(tmp_path / "p.db", OLD_METRICS if old else METRICS, fill=fill)
    assert reader_of("trackio").recognises(content)
    (run,) = runs(content)
    assert run.name == "a"
    assert list(run.step) == [0, 10, 20]
    assert list(run.columns["reward"]) == [0, 1, 2]
    assert list(run.columns["inner/x"]) == [0, 10, 20]


def test_runs_are_told_apart_by_name_and_where_that_is_the_same_by_their_identity(tmp_path):
    def fill(database):
        for step in (1, 2, 3):
            log(database, step, run="a", run_id="aaaaaaaaaaaa", reward=0.1)
            log(database, step, run="a", run_id="bbbbbbbbbbbb", reward=0.2)
            log(database, step, run="c", run_id="cccccccccccc", reward=0.3)

    found = runs(made(tmp_path / "p.db", METRICS, fill=fill))
    assert [(run.name, run.columns["reward"][0]) for run in found] == [
        ("a (aaaaaaaa)", 0.1),
        ("a (bbbbbbbb)", 0.2),
        ("c", 0.3),
    ]


def test_a_count_of_log_calls_gives_way_to_the_trainers_own_step(tmp_path):
    def fill(database):
        for call in range(6):
            if call % 2:
                log(database, call, **{"train/reward": 0.1 * call, "train/global_step": 100 * call})
            else:
                log(database, call, **{"profiling/seconds": 3.0})

    (run,) = runs(made(tmp_path / "p.db", METRICS, fill=fill))
    assert run.step_column == "train/global_step"
    assert list(run.step) == [100, 300, 500]


def test_values_that_json_lacks_media_and_lists(tmp_path):
    def fill(database):
        log(
            database,
            1,
            kl="NaN",
            ratio="Infinity",
            picture={"_type": "trackio.image"},
            answers=[1, 2],
            reward=1,
        )

    table = reader_of("trackio").read(made(tmp_path / "p.db", METRICS, fill=fill))
    assert [*table.columns] == ["run_name", "kl", "ratio", "reward", "step"]
    assert table.columns["ratio"][0] == float("inf")


def test_records_that_cannot_be_read_are_counted(tmp_path):
    def fill(database):
        some_steps(database)
        for raw in ("{", "[1]", b"\xff\xfe{", "[" * 99_999, 7, '{"a": ' + "9" * 9999 + "}"):
            log(database, 9, raw=raw)

    table = reader_of("trackio").read(made(tmp_path / "p.db", METRICS, fill=fill))
    assert table.dropped == {UNREADABLE: 5}
    assert table.rows == 11
    assert len(table.columns["step"]) == 6


def test_the_settings_of_a_single_run_without_its_users_name(tmp_path):
    config = json.dumps({"beta": 0.1, "model": {"name": "m"}, "_Username": "somebody", "_Created": "now"})

    def fill(database):
        some_steps(database)
        database.execute("INSERT INTO configs VALUES (1, '1', 'a', ?, 'now')", (config.encode(),))

    table = reader_of("trackio").read(made(tmp_path / "p.db", METRICS, CONFIGS, fill=fill))
    assert table.settings == {"beta": 0.1, "model/name": "m"}


def test_a_project_without_a_metric(tmp_path):
    content = made(tmp_path / "p.db", METRICS, CONFIGS)
    assert reader_of("trackio").recognises(content)
    refused("no-records", reader_of("trackio").read, content)


@pytest.mark.parametrize(
    "statement",
    [
        OF_MLFLOW,
        "CREATE TABLE other (step, metrics, run_name)",
        "CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS id, 'a' AS run_name, i AS step, '{}' AS metrics FROM n",
        "CREATE TABLE metrics (run_name, step, metrics AS (zeroblob(step)))",
    ],
    ids=["mlflow", "another table", "a view", "a column that computes"],
)
def test_other_databases_are_not_taken_for_it(tmp_path, statement):
    content = made(tmp_path / "p.db", statement)
    assert not reader_of("trackio").recognises(content)
    refused("file-corrupt", reader_of("trackio").read, content)


@pytest.mark.parametrize("data", [b"", b"SQLite", b"SQLite format 3\0", b"step,reward\n1,2\n"])
def test_other_files_are_not_taken_for_it(data):
    assert not reader_of("trackio").recognises(Content("p.db", data))


def test_its_table_is_found_behind_much_else(tmp_path):
    def fill(database):
        database.execute("CREATE TABLE traces (messages TEXT)")
        database.executemany("INSERT INTO traces VALUES (?)", [("x" * 999,)] * 200)
        for number in range(60):
            database.execute(f"CREATE TABLE another_table_{number} (some_column_with_a_long_name TEXT)")
        database.execute(METRICS)
        some_steps(database)

    content = made(tmp_path / "p.db", fill=fill)
    assert b"CREATE TABLE metrics" not in content.head
    assert reader_of("trackio").recognises(content)
    assert reader_of("trackio").recognises(Content("p.db", content.data))


@pytest.mark.parametrize("beside", ["both", "log only", "none"])
def test_a_log_that_is_still_written(tmp_path, beside):
    folder = tmp_path / "it's #1?"
    folder.mkdir()
    path = folder / "p.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute(METRICS)
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        some_steps(database)
        database.commit()
        if beside == "both":
            assert len(reader_of("trackio").read(load(str(path))).columns["step"]) == 5
            return
        copy = folder / "copy.db"
        copy.write_bytes(path.read_bytes())
        if beside == "log only":
            (folder / "copy.db-wal").write_bytes((folder / "p.db-wal").read_bytes())
    before = sorted(folder.iterdir())
    content = load(str(copy))
    assert reader_of("trackio").recognises(content)
    if beside == "none":
        with pytest.raises(InputError, match="no-records"):
            reader_of("trackio").read(content)
    else:
        assert len(reader_of("trackio").read(content).columns["step"]) == 5
    assert sorted(folder.iterdir()) == before


def test_what_comes_from_elsewhere_lacks_its_write_ahead_log_and_says_so(tmp_path):
    content = small(tmp_path)
    assert not reader_of("trackio").read(content).notes
    data = bytearray(content.data)
    data[18:20] = b"\2\2"
    (note,) = read(bytes(data)).notes
    assert "write-ahead log" in note


def test_a_database_that_is_locked(tmp_path, monkeypatch):
    content = small(tmp_path)

    def locked(*_args, **_more):
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(sqlite3, "connect", locked)
    refused("file-unreadable", reader_of("trackio").read, content)


def test_pages_that_lead_to_themselves_end(tmp_path):
    with closing(sqlite3.connect(tmp_path / "p.db", isolation_level=None)) as database:
        database.execute("PRAGMA page_size=512")
        database.execute(METRICS)
        database.execute("BEGIN")
        for step in range(2000):
            log(database, step, raw='{"reward": 0.5}')
        database.execute("COMMIT")
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'metrics'").fetchone()
    data = bytearray((tmp_path / "p.db").read_bytes())
    inner = [page for page in range(1, len(data) // 512) if page != root - 1 and data[page * 512] == 5]

    def lead(page, child):
        """Have all cells of an inner page lead to the same page."""
        start = page * 512
        for number in range(int.from_bytes(data[start + 3 : start + 5])):
            place = start + int.from_bytes(data[start + 12 + 2 * number : start + 14 + 2 * number])
            data[place : place + 4] = (child + 1).to_bytes(4)

    lead(root - 1, inner[0])
    lead(inner[0], inner[1])
    error = refused("file-corrupt", read, bytes(data))
    assert "again and again" in error.message


def test_what_trackio_itself_writes(tmp_path):
    pytest.importorskip("trackio")
    script = (
        "from trackio.sqlite_storage import SQLiteStorage\n"
        "for run in ('first', 'second'):\n"
        "    records = [{'train/reward': 0.1 * n, 'train/entropy': 1 / (1 + n)} for n in range(4)]\n"
        "    SQLiteStorage.bulk_log(project='p', run=run, metrics_list=records, steps=[0, 5, 10, 15])\n"
    )
    subprocess.run(
        [sys.executable, "-c", script], check=True, env=os.environ | {"TRACKIO_DIR": str(tmp_path)}
    )
    before = sorted(tmp_path.iterdir())
    content = load(str(tmp_path / "p.db"))
    assert reader_of("trackio").recognises(content)
    first, second = runs(content)
    assert (first.name, second.name) == ("first", "second")
    assert list(first.step) == [0, 5, 10, 15]
    assert list(second.columns["train/entropy"]) == [1, 1 / 2, 1 / 3, 1 / 4]
    assert sorted(tmp_path.iterdir()) == before


def test_damaged_databases_give_rows_or_a_refusal(tmp_path):
    data = small(tmp_path).data
    assert rows_or_refusal(read, data) == 5
    reader = reader_of("trackio")
    path = tmp_path / "damaged.db"
    for copy in flipped(data):
        reader.recognises(Content("p.db", copy))
        rows = rows_or_refusal(read, copy)
        path.write_bytes(copy)
        assert rows_or_refusal(lambda _: reader.read(load(str(path))), b"") == rows
    chance = random.Random(4)
    for end in chance.sample(range(1, len(data)), 60):
        reader.recognises(Content("p.db", data[:end]))
        rows_or_refusal(read, data[:end])
