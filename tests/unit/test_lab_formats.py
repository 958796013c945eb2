"""One lab run in the formats of other tools: each is read back and compared with the run's own table."""

import getpass
import json
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

from entropylaw.logs.load import read_runs
from entropylaw.roles.select import select
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


def series_of(path, **options):
    (run,) = read_runs(path)
    return select(run, **options)


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def without_nulls(row):
    return {name: value for name, value in row.items() if value is not None}


def test_every_format_is_written_beside_the_table_and_returned(folder):
    assert formats.write_formats(folder, []) == []
    written = formats.write_formats(folder, ["ui", "verl", "trl", "console", "verl"])
    names = ["wandb_ui_entropy.csv", "wandb_ui_val_acc.csv", "verl.jsonl", "trainer_state.json"]
    assert written == [folder / name for name in (*names, "verl_console.log")]
    assert files_in(folder) == {"metrics.parquet", *names, "verl_console.log"}


def test_all_but_wandb_are_the_same_bytes_when_made_again(folder):
    names = ["verl", "console", "trl", "ui"]
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


@pytest.mark.parametrize(("name", "file"), [("verl", "verl.jsonl"), ("console", "verl_console.log")])
def test_verl_gives_the_pairs_of_the_table(folder, name, file):
    formats.write_formats(folder, [name])
    table, verl = series_of(folder / "metrics.parquet"), series_of(folder / file)
    assert (table.pair, verl.pair) == ("same", "next")
    assert table.step.tolist() == EVALUATED
    # The entropy after the last update is never logged by verl.
    assert verl.step.tolist() == EVALUATED[:-1]
    assert verl.dropped == {"no entropy at the step after": 1}
    evaluated = [ROWS[step] for step in EVALUATED[:-1]]
    assert verl.entropy.tolist() == table.entropy[:-1].tolist() == [row["entropy"] for row in evaluated]
    assert verl.reward.tolist() == table.reward[:-1].tolist() == [row["val_acc"] for row in evaluated]
    # Its training rewards belong with the entropy of their step.
    training = series_of(folder / file, reward="critic/score/mean")
    assert training.pair == "same"
    assert training.step.tolist() == list(range(1, LAST + 1))
    assert training.entropy.tolist() == [row["entropy"] for row in ROWS[:-1]]
    assert training.reward.tolist() == [row["reward_mean"] for row in ROWS[:-1]]


def test_verl_is_fitted_as_the_table_without_its_last_evaluation(folder, run):
    logs = formats.write_formats(folder, ["verl", "console"])
    pq.write_table(table_of([*ROWS[:-1], ROWS[-1] | {"val_acc": None}]), folder / "cut.parquet")
    # One by one: named together the two of verl are one run, which is read once.
    fits = [run("fit", log, "--format", "json") for log in (*logs, folder / "cut.parquet")]
    runs = [json.loads(fit.stdout)["runs"][0] for fit in fits]
    answers = [run["answer"] | {"run": "", "law": run["answer"]["law"] | {"run": ""}} for run in runs]
    assert answers[0] == answers[1] == answers[2]
    # Verl's logs have the training reward, too, which is fitted beside it.
    assert [run["training"] is not None for run in runs] == [True, True, True]
    together = json.loads(run("fit", *logs, folder / "cut.parquet", "--format", "json").stdout)
    assert (len(together["runs"]), len(together["warnings"])) == (2, 1)


def test_tensorboard_holds_every_number_in_float32(folder):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    (path,) = formats.write_formats(folder, ["tensorboard"])
    first = path.read_bytes()
    formats.write_formats(folder, ["tensorboard"])
    assert path.read_bytes() == first  # nothing depends on the clock
    assert next(iter(EventFileLoader(str(path)).Load())).file_version == "brain.Event:2"
    log = EventAccumulator(str(path), size_guidance={"scalars": 0}).Reload()
    numeric = {name for row in ROWS for name, value in row.items() if isinstance(value, (int, float))}
    assert set(log.Tags()["scalars"]) == numeric - {"step"}
    for tag in numeric - {"step"}:
        found = [(event.step, event.wall_time, event.value) for event in log.Scalars(tag)]
        assert found == [
            (row["step"], float(row["step"]), float(np.float32(row[tag])))
            for row in ROWS
            if row.get(tag) is not None
        ]


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


@pytest.fixture
def wandb_file(folder, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_ENTITY", "private-entity")
    monkeypatch.setenv("WANDB_NOTES", "private-notes")
    monkeypatch.setenv("WANDB_SWEEP_ID", "private-sweep")
    (path,) = formats.write_formats(folder, ["wandb"])
    assert os.environ["WANDB_ENTITY"] == "private-entity"
    assert "WANDB_CACHE_DIR" not in os.environ
    return path


def test_wandb_history_is_the_table(wandb_file):
    history = [record.history for record in wandb_records(wandb_file) if record.HasField("history")]
    assert [record.step.num for record in history] == [row["step"] for row in ROWS]
    for record, row in zip(history, ROWS, strict=True):
        logged = {"/".join(item.nested_key): json.loads(item.value_json) for item in record.item}
        added = {"_step", "_runtime", "_timestamp"}
        assert {name: logged[name] for name in logged.keys() - added} == {
            name: value for name, value in without_nulls(row).items() if name != "step"
        }
        assert logged["_step"] == row["step"]


def test_wandb_leaves_one_file_called_after_the_run(wandb_file, folder):
    file = "wandb/offline-run-grpo_s0/run-grpo_s0.wandb"
    assert wandb_file == folder / file
    assert files_in(folder) == {"metrics.parquet", file}
    (run,) = (record.run for record in wandb_records(wandb_file) if record.HasField("run"))
    assert (run.run_id, run.display_name, run.project) == ("grpo_s0", "grpo_s0", "lab")


def test_wandb_says_nothing_about_the_machine(wandb_file, tmp_path):
    records = wandb_records(wandb_file)
    text = "".join(map(str, records))
    kinds = {record.WhichOneof("record_type") for record in records}
    assert kinds == {"header", "run", "telemetry", "summary", "history", "exit"}
    (run,) = (record.run for record in records if record.HasField("run"))
    assert (run.host, run.entity, run.notes, run.sweep_id) == ("", "", "", "")
    assert not run.HasField("git")
    paths = [str(Path.home()), str(tmp_path), str(Path.cwd()), sys.executable, sys.prefix]
    # A name of four letters or fewer may stand in the random ids of the records by chance.
    names = [name for name in (socket.gethostname(), getpass.getuser()) if len(name) >= 5]
    for private in (*paths, *names, "private-", "/tmp", "@"):
        assert private not in text


def test_a_folder_with_an_odd_name_gives_a_safe_run_id(folder):
    assert formats.safe_id("entropy_bonus_0.02_s0") == "entropy_bonus_0.02_s0"
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
