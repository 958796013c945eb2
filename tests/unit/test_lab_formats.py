"""One lab run in the formats of other tools: each is read back and compared with the run's own table."""

import getpass
import math
import os
import socket
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw import read_runs
from lab import formats

LAST = 20
EVALUATED = list(range(0, LAST + 1, 4))


def row_of(step):
    entropy = 0.7 * math.exp(-step / 9) + 0.003 * math.sin(7 * step)
    row = {
        "step": step,
        "stage": "rl+free",
        "entropy": entropy,
        "entropy_semantic": None if step == 3 else entropy / 3,
        "response_length": 18 + step / 7,
        "tokens": 9000 + step,
        "reward_mean": 0.9 - 0.3 * math.exp(entropy) + 0.01 * math.sin(3 * step),
        "kl_to_start": step / 3e5,
    }
    if step in EVALUATED:
        accuracy = 0.88 - 0.3 * math.exp(entropy) + 0.02 * math.cos(5 * step)
        row |= {"val_acc": accuracy, "val_entropy": 1.02 * entropy, "val_pass1": accuracy, "val_pass16": 0.9}
    if step < LAST:
        row |= {"grad_norm": 0.3 + step / 90, "clip_fraction": None if step == 7 else step / 1100}
    return row


def table_of(rows):
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


ROWS = [row_of(step) for step in range(LAST + 1)]


@pytest.fixture
def folder(tmp_path):
    """A finished run called grpo_s0."""
    run = tmp_path / "grpo_s0"
    run.mkdir()
    pq.write_table(table_of(ROWS), run / "metrics.parquet")
    return run


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_every_format_is_written_beside_the_table_and_returned(folder):
    assert formats.write_formats(folder, []) == []
    written = formats.write_formats(folder, ["ui", "verl", "trl", "console", "verl"])
    names = ["wandb_ui_entropy.csv", "wandb_ui_val_acc.csv", "verl.jsonl", "trainer_state.json"]
    assert written == [folder / name for name in (*names, "verl_console.log")]
    assert files_in(folder) == {"metrics.parquet", *names, "verl_console.log"}


def test_all_but_wandb_are_the_same_bytes_when_made_again(folder):
    pytest.importorskip("tensorboard")
    names = ["verl", "console", "trl", "ui", "tensorboard"]
    first = [path.read_bytes() for path in formats.write_formats(folder, names)]
    assert [path.read_bytes() for path in formats.write_formats(folder, names)] == first


def test_an_unknown_format_is_named_before_anything_is_written(folder):
    with pytest.raises(ValueError, match="'csv' is not a format; there are verl, console, trl, wandb"):
        formats.write_formats(folder, ["verl", "csv"])
    assert files_in(folder) == {"metrics.parquet"}


@pytest.mark.parametrize("package", ["wandb", "tensorboard"])
def test_a_missing_package_is_named_with_what_to_install(folder, monkeypatch, package):
    for module in ("wandb", "tensorboard", "tensorboard.compat.proto.event_pb2"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=rf'needs {package} .*pip install "\.\[lab\]"'):
        formats.write_formats(folder, [package])


def wandb_records(path):
    """The records of a .wandb file: W&B's LevelDB log, whose checksum is its own, of protocol buffers."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, whole = path.read_bytes(), 7, b""
    assert data[:7] == struct.pack("<4sHB", b":W&B", 0xBEE1, 0)
    records = []
    while at < len(data):
        room = 32768 - at % 32768
        if room < 7:
            at += room
            continue
        crc, length, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + 7 : at + 7 + length]
        assert zlib.crc32(bytes([kind]) + part) == crc
        at, whole = at + 7 + length, whole + part
        if kind in (1, 4):
            records.append(Record.FromString(whole))
            whole = b""
    return records


def test_wandb_writes_one_file_of_the_table_and_nothing_about_the_machine(folder, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    for name in ("ENTITY", "NOTES", "SWEEP_ID"):
        monkeypatch.setenv(f"WANDB_{name}", "private-text")
    (path,) = formats.write_formats(folder, ["wandb"])
    assert os.environ["WANDB_ENTITY"] == "private-text"
    assert "WANDB_CACHE_DIR" not in os.environ
    assert files_in(folder) == {"metrics.parquet", str(path.relative_to(folder))}
    assert path == folder / "wandb/offline-run-grpo_s0/run-grpo_s0.wandb"

    (run,), (table,) = read_runs(path), read_runs(folder / "metrics.parquet")
    assert (run.name, run.step.tolist()) == ("grpo_s0", table.step.tolist())
    for name, values in table.columns.items():
        np.testing.assert_array_equal(run.columns[name], values)

    records = wandb_records(path)
    kinds = {record.WhichOneof("record_type") for record in records}
    assert kinds == {"header", "run", "telemetry", "summary", "history", "exit"}
    (head,) = (record.run for record in records if record.HasField("run"))
    assert (head.host, head.entity, head.notes, head.sweep_id, head.project) == ("", "", "", "", "lab")
    assert not head.HasField("git")
    text = "".join(map(str, records))
    paths = [str(Path.home()), str(tmp_path), str(Path.cwd()), sys.executable, sys.prefix]
    # A name of four letters or fewer may stand in the random ids of the records by chance.
    names = [name for name in (socket.gethostname(), getpass.getuser()) if len(name) >= 5]
    assert [private for private in (*paths, *names, "private-", "/tmp", "@") if private in text] == []
    assert formats.safe_id("a b/ü:1") == "a-b---1"


NUMBERS = (0.0, 1.0, 0.1 + 0.2, 1e-5, 1e-7, math.nan)


def written():
    """What is written of a few rows, for the transcript: nulls, a nan, two domains, all sizes of numbers."""
    rows = [dict(row) for row in ROWS[:5]]
    for row in rows[::4]:
        row |= {"val_acc_free": 0.25, "val_acc_school": row["step"] / 40, "val_pass16_free": 0.5}
    rows[2]["entropy"], rows[3]["clip_fraction"] = math.nan, None
    ui = [{"step": step, "entropy": value, "val_acc": value} for step, value in enumerate(NUMBERS)]
    for names, table in ((("verl", "console", "trl"), rows), (("ui",), ui)):
        with tempfile.TemporaryDirectory() as scratch:
            run = Path(scratch) / "grpo_s0"
            run.mkdir()
            pq.write_table(table_of(table), run / "metrics.parquet")
            for path in formats.write_formats(run, names):
                yield f"# {path.name}\n{path.read_text(encoding='utf-8').rstrip()}"
