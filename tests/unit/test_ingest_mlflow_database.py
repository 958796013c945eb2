"""MLflow's databases: by hand, while a run writes to them, damaged, and hostile."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from entropylaw.logs.sources.bundles import mlflow_files, read_mlflow
from entropylaw.logs.sources.content import load
from entropylaw.logs.sources.registry import reader_of
from tests.hostile import flipped, refused, rows_or_refusal
from tests.unit.test_ingest_mlflow import (
    ENTROPY,
    ID,
    ONE,
    SCHEMA,
    SCORE,
    VALIDATION,
    database,
    logged_in,
    read_bytes,
    read_database,
    read_folder,
    runs_of,
    values,
    write_database,
    write_folder,
)

# Databases


def test_several_runs_in_one_database(tmp_path):
    runs = {
        ("b" * 32, "late", "active"): values(range(1, 6)),
        ("a" * 32, "twice", "active"): values(range(1, 6)),
        ("c" * 32, "twice", "deleted"): values(range(3, 9)),
        ("d" * 32, None, "active"): values(range(1, 3)),
        ("e" * 32, "7", "active"): values(range(1, 3)),
        ("f" * 32, "empty", "active"): (),
    }
    params = [("lr", f"{place}", letter * 32) for place, letter in enumerate("abcdef")]
    table = read_database(write_database(tmp_path / "mlflow.db", runs, params))
    assert table.notes == (
        "marked as deleted in MLflow: 'twice (cccccccc)'",
        "the parameters of 5 runs in one database are not read",
    )
    assert table.settings == {}
    found = {run.name: run for run in runs_of(table)}
    assert list(found) == ["run 7", "d" * 32, "twice (cccccccc)", "twice (aaaaaaaa)", "late"]
    assert logged_in(found["twice (cccccccc)"], SCORE) == {step: 0.1 * step for step in range(3, 9)}


def test_a_database_of_one_run_from_a_file_and_in_memory(tmp_path):
    params = [("lr", "1e-6", ID), ("none", "", ID), ("lr", "2", "other")]
    path = write_database(tmp_path / "a.db", ONE, params)
    from_file, from_bytes = read_database(path), read_bytes(Path(path).read_bytes())
    assert from_file.settings == {"lr": "1e-6"}
    assert "secret" not in repr(from_file)
    assert list(from_file.columns) == list(from_bytes.columns)
    np.testing.assert_equal(from_file.columns[ENTROPY], from_bytes.columns[ENTROPY])
    assert reader_of("mlflow-db").recognises(load(path))


@pytest.mark.parametrize("name", ["a b.db", "a?mode=rwc.db", "a#b%41.db", "é.sqlite"])
def test_names_of_files(tmp_path, name):
    path = write_database(tmp_path / "a.db", ONE)
    shutil.move(path, tmp_path / name)
    assert read_database(tmp_path / name).rows == 8
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def in_wal_mode(path):
    """A database of a run that goes on: its rows from step 5 on are in the write-ahead log alone."""
    connection = database(path, {(ID, "grpo", "active"): values(range(1, 5))})
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    rows = [(key, value, time, ID, step, False) for time, key, value, step in values(range(5, 9))]
    connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    return connection


def test_a_database_whose_last_rows_are_in_its_log(tmp_path, monkeypatch):
    connection = in_wal_mode(tmp_path / "a.db")
    before = sorted(entry.name for entry in tmp_path.iterdir())
    with monkeypatch.context() as patch:
        patch.delattr(shutil, "copyfile")
        while_open = read_database(tmp_path / "a.db")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == before
    (tmp_path / "copy").mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(tmp_path / f"a.db{suffix}", tmp_path / "copy" / f"a.db{suffix}")
    connection.close()
    copied = read_database(tmp_path / "copy" / "a.db")
    assert sorted(entry.name for entry in (tmp_path / "copy").iterdir()) == ["a.db", "a.db-wal"]
    for table in (while_open, copied):
        assert list(table.columns["step"]) == [*range(1, 9)]
        assert table.notes == ("read with 'a.db-wal', where its last rows are",)
    (tmp_path / "copy" / "a.db-wal").unlink()
    assert list(read_database(tmp_path / "copy" / "a.db").columns["step"]) == [1, 2, 3, 4]
    without = (tmp_path / "copy" / "a.db").read_bytes()
    assert without[18:20] == b"\2\2"
    assert list(read_bytes(without).columns["step"]) == [1, 2, 3, 4]
    assert list(read_database(tmp_path / "a.db").columns["step"]) == [*range(1, 9)]


def test_a_database_while_a_run_writes_to_it(tmp_path):
    connection = database(tmp_path / "a.db", ONE)
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("DELETE FROM metrics")
    (tmp_path / "a.db-journal").write_bytes(b"x")
    table = read_database(tmp_path / "a.db")
    connection.close()
    assert table.rows == 8
    assert table.notes == ("'a.db-journal' is next to it: its last rows may be half written",)


RUNS = SCHEMA.strip().split(";")[0]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            'CREATE TABLE metrics (id, run_name, step, metrics); CREATE TABLE "a\'\nb" (x)',
            "'metrics', 'a'\\nb'",
        ),
        (
            f"{RUNS}; CREATE VIEW metrics AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            "SELECT x AS step, 'k' AS key, 1.0 AS value, 'r' AS run_uuid, x AS timestamp FROM c",
            "'runs'",
        ),
        (
            f"{RUNS}; CREATE TABLE metrics "
            "(run_uuid, key, step, timestamp, value AS (hex(zeroblob(900000000))))",
            "'runs'",
        ),
    ],
    ids=["something else", "a view", "a column that computes"],
)
def test_databases_of_something_else_or_that_compute(tmp_path, schema, said):
    sqlite3.connect(tmp_path / "a.db").executescript(schema).connection.close()
    assert said in refused("not-a-log", read_database, tmp_path / "a.db").message


def test_a_database_without_a_metric(tmp_path):
    path = write_database(tmp_path / "a.db", {(ID, "grpo", "active"): ()})
    assert "1 MLflow run" in refused("no-records", read_database, path).message


def test_cells_of_other_types_are_counted(tmp_path):
    connection = database(tmp_path / "a.db", ONE)
    odd = [
        *(("k", b"x", 1, ID, 1, 0), ("k", "text", 1, ID, 2, 0), (b"k", 1.0, 1, ID, 3, 0)),
        *(("k", 1.0, 1, b"r", 4, 0), ("k", 1.0, 1, ID, "five", 0), ("k" * 501, 1.0, 1, ID, 6, 0)),
        ("k", 1.0, 1, ID, 7.5, 0),
    ]
    connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", odd)
    connection.execute("INSERT INTO metrics VALUES (CAST(x'ff' AS TEXT), 2.5, 9, ?, 8, 0)", (ID,))
    connection.commit()
    connection.close()
    table = read_database(tmp_path / "a.db")
    assert table.dropped == {"unreadable record": len(odd)}
    assert table.columns["\ufffd"][table.columns["step"].tolist().index(8)] == 2.5


def test_a_tree_that_never_ends(tmp_path):
    """Runs of one id that nothing forbids: joined, they are more rows than the file has bytes."""
    schema = SCHEMA.replace(", CONSTRAINT run_pk PRIMARY KEY (run_uuid)", "")
    connection = database(tmp_path / "a.db", {}, schema=schema)
    connection.executemany("INSERT INTO runs VALUES ('r', '', '', ?, '')", [(n,) for n in range(20_000)])
    connection.executemany("INSERT INTO metrics VALUES ('k', 1, ?, 'r', 1, 0)", [(n,) for n in range(20_000)])
    connection.commit()
    connection.close()
    assert "SQLITE_INTERRUPT" in refused("file-corrupt", read_database, tmp_path / "a.db").message


def test_of_large_stores_only_what_something_is_made_of_is_read(tmp_path):
    content = load(write_database(tmp_path / "a.db", ONE))
    folder = write_folder(tmp_path, values())
    contents = [load(path) for path in mlflow_files(folder)]
    for each in (content, *contents):
        each.size, each.useful = 1 << 30, lambda name: name != SCORE
    for table in (reader_of("mlflow-db").read(content), read_mlflow(folder, contents)):
        assert table.unread == (SCORE,)
        assert list(table.columns) == ["step", "run", ENTROPY, VALIDATION]


@pytest.mark.parametrize(
    "unit", ["run_name: ", "run_name: '", 'run_name: "\\', "\n  x", "'", "\\U", " ", "1 1 1\n"]
)
def test_hostile_text_takes_time_in_proportion(tmp_path, unit):
    """Quadratic, the least of these would take minutes."""
    folder = Path(write_folder(tmp_path, values(range(1, 30))))
    for path in (folder / "meta.yaml", folder / "metrics" / ENTROPY):
        path.write_text(path.read_text() + unit * 100_000)
    assert rows_or_refusal(read_folder, str(folder)) >= 29


def test_folders_with_flipped_bits(tmp_path):
    folder = Path(write_folder(tmp_path, values(range(1, 30)), {"lr": "1"}))
    for path in (folder / "meta.yaml", folder / "metrics" / ENTROPY):
        whole = path.read_bytes()
        rows = []
        for data in flipped(whole, 100):
            path.write_bytes(data)
            if mlflow_files(str(folder)):
                rows.append(rows_or_refusal(read_folder, str(folder)))
        path.write_bytes(whole)
        assert 29 in rows
