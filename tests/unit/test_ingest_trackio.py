"""Trackio's databases: made by hand in the layouts of several versions, by Trackio itself, and damaged."""

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from entropylaw.logs.sources.content import Content, load
from entropylaw.logs.sources.registry import reader_of
from tests.hostile import refused

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


def read(data):
    return reader_of("trackio").read(Content("p.db", data))


def test_the_settings_of_a_single_run_without_its_users_name(tmp_path):
    config = json.dumps({"beta": 0.1, "model": {"name": "m"}, "_Username": "somebody", "_Created": "now"})

    def fill(database):
        some_steps(database)
        database.execute("INSERT INTO configs VALUES (1, '1', 'a', ?, 'now')", (config.encode(),))

    table = reader_of("trackio").read(made(tmp_path / "p.db", METRICS, CONFIGS, fill=fill))
    assert table.settings == {"beta": 0.1, "model/name": "m"}


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
    assert "again and again" in refused("file-corrupt", read, bytes(data)).message


def filled(*rows, schema=METRICS, **more):
    """The bytes of a database with some rows, of (step, metrics)."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "p.db"

        def fill(database):
            for step, metrics in rows:
                log(database, step, **(more | metrics))

        return made(path, schema, CONFIGS, fill=fill).data


IDS = {"a" * 12: ("a", 0.1), "b" * 12: ("a", 0.2), "c" * 12: ("c", 0.3)}
LOGGED = [(step, {"reward": 0.1 * step, "entropy": 0.5, "inner": {"x": step}}) for step in (0, 10, 20)]
SEVERAL = [(step, {"run": n, "run_id": i, "reward": r}) for step in (1, 2, 3) for i, (n, r) in IDS.items()]
CALLS = [
    (n, {"train/reward": 0.1 * n, "train/global_step": 100 * n} if n % 2 else {"seconds": 3.0})
    for n in range(6)
]
MEDIA = {"picture": {"_type": "trackio.image"}, "answers": [1, 2]}
RAW = ("{", "[1]", b"\xff\xfe{", "[" * 99_999, 7, '{"a": ' + "9" * 9999 + "}")
VIEW = (
    "CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i AS id, 'a' AS run_name, i AS step, '{}' AS metrics FROM n"
)
OTHERS = {
    "MLflow's table": OF_MLFLOW,
    "another table": "CREATE TABLE other (step, metrics, run_name)",
    "a view": VIEW,
    "a column that computes": "CREATE TABLE metrics (run_name, step, metrics AS (zeroblob(step)))",
}
DATABASES = {
    "a run": filled(*LOGGED),
    "a run of an old version": filled(*LOGGED, schema=OLD_METRICS, old=True),
    "runs of one name": filled(*SEVERAL),
    "the trainer's own step": filled(*CALLS),
    "values that JSON lacks, media and lists": filled(
        (1, {"kl": "NaN", "ratio": "Infinity", "reward": 1, **MEDIA})
    ),
    "records that cannot be read": filled(*LOGGED, *((99, {"raw": raw}) for raw in RAW)),
    "no metric": filled(),
    **{title: filled(schema=statement) for title, statement in OTHERS.items()},
    **{
        f"other bytes {data!r}": data
        for data in (b"", b"SQLite", b"SQLite format 3\0", b"step,reward\n1,2\n")
    },
}
SAMPLES = {title: ("trackio", "p.db", data) for title, data in DATABASES.items()}
