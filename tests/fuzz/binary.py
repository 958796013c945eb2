"""Logs in binary formats, byte by byte."""

from __future__ import annotations

import json
import sqlite3
import struct
import tempfile
import zlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from tests.fuzz.law import STEPS, entropy, reward
from tests.hostile import field

WANDB_BLOCK = 32768
WANDB_HEADER = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)


def wandb() -> bytes:
    """W&B's transaction log: LevelDB's frames around protocol buffers."""

    def item(name: str, value: object) -> bytes:
        return field(1, field(2, name) + field(16, json.dumps(value)))

    records = [field(17, field(1, "ab12") + field(8, "a run") + field(11, "x"))]
    for step in STEPS:
        values = {"actor/entropy": entropy(step), "critic/score/mean": reward(step), "_step": step}
        items = [item(name, value) for name, value in (values | {"deep": {"a": {"b": 2}}, "n": None}).items()]
        records.append(field(1, step) + field(2, b"".join(items) + field(2, field(1, step))))
    return wandb_frames(records)[0]


def wandb_frames(records: Iterable[bytes]) -> tuple[bytes, list[int]]:
    """LevelDB's frames around records, and where each record ends in the file."""
    data, ends = WANDB_HEADER, []
    for record in records:
        rest, first = record, True
        while first or rest:
            room = WANDB_BLOCK - len(data) % WANDB_BLOCK
            if room < 7:
                data += bytes(room)
                continue
            part, rest = rest[: room - 7], rest[room - 7 :]
            kind = (2 if rest else 1) if first else (3 if rest else 4)
            data += wandb_frame(kind, part)
            first = False
        ends.append(len(data))
    return data, ends


def wandb_frame(kind: int, data: bytes) -> bytes:
    """A frame with a record, or with a part of one."""
    return struct.pack("<IHB", zlib.crc32(bytes([kind]) + data), len(data), kind) + data


def masked_crc32c(data: bytes) -> bytes:
    """The checksum of TensorBoard's records."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """CRC-32C bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


def event_frame(data: bytes) -> bytes:
    """A record of TensorBoard's files."""
    size = struct.pack("<Q", len(data))
    return size + masked_crc32c(size) + data + masked_crc32c(data)


def tfevents(first: int = 1) -> bytes:
    """TensorBoard's records, from a step on."""
    data = event_frame(b"\x09" + bytes(8) + field(3, "brain.Event:2"))
    for step in range(first, first + 12):
        tags = {"train/entropy": entropy(step), "train/reward": reward(step)}
        values = [field(1, name) + field(2, value, double=False) for name, value in tags.items()]
        tensor = field(1, 2) + field(2, b"") + field(6, 0.25)
        values.append(field(1, "kl") + field(8, tensor) + field(9, field(1, field(1, "scalars"))))
        summary = field(5, b"".join(field(1, value) for value in values))
        data += event_frame(b"\x09" + struct.pack("<d", 1.7e9) + field(2, step) + summary)
    return data


def _database(script: str, table: str, rows: list[tuple[object, ...]]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA page_size = 1024")
            connection.executescript(script)
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            connection.commit()
        return path.read_bytes()


def trackio() -> bytes:
    """Trackio's SQLite database."""
    script = """
    CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
        run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
    CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
        config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
    INSERT INTO configs VALUES (1, 'r1', 'grpo', '{"temperature": 0.7}', '2026-01-01');
    """
    rows: list[tuple[object, ...]] = []
    for step in STEPS:
        values = json.dumps({"train/entropy": entropy(step), "train/reward": reward(step), "kl": "NaN"})
        rows.append((step, "r1", "2026-01-01T00:00:00", "grpo", step, values, None, None))
    return _database(script, "metrics", rows)


def mlflow_database() -> bytes:
    """MLflow's SQLite database."""
    script = """
    CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL PRIMARY KEY, name VARCHAR(250), user_id VARCHAR(256),
        start_time BIGINT, lifecycle_stage VARCHAR(20));
    CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL,
        run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL);
    CREATE TABLE params (key VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32));
    INSERT INTO runs VALUES ('r1', 'grpo', 'someone', 1, 'active');
    INSERT INTO params VALUES ('temperature', '0.7', 'r1');
    """
    rows: list[tuple[object, ...]] = []
    for step in STEPS:
        rows.append(("actor/entropy", entropy(step), 1000 * step, "r1", step, 0))
        rows.append(("critic/score/mean", reward(step), 1000 * step, "r1", step, 0))
    return _database(script, "metrics", rows)
