"""A folder of experiments as people have them: copies, resumed runs, other people's files, pipes."""

import json
import os
import tarfile
import threading

import pytest

from entropylaw import UsageError, read_runs
from entropylaw.logs.load import read_all
from tests.fuzz.binary import wandb_frames
from tests.hostile import refused, write
from tests.unit.test_ingest_tensorboard import start
from tests.unit.test_ingest_wandb import row

STEPS = range(1, 41)
CSV = "step,entropy,reward\n" + "".join(f"{s},{1 / s},{s / 50}\n" for s in STEPS)


def test_the_same_run_in_two_files_is_read_once(tmp_path):
    entries = [{"step": s, "epoch": s, "train/entropy": 1 / s, "train/reward": s / 64} for s in STEPS]
    entries += [{"step": 40, "epoch": 40, "eval_reward": 0.5}]
    write(tmp_path, "out/trainer_state.json", json.dumps({"log_history": entries, "global_step": 40}))
    write(tmp_path, "out/runs/today/events.out.tfevents.1.host", start(STEPS))
    reading = read_all([tmp_path])
    (run,) = reading.runs
    assert run.source.path.endswith("trainer_state.json")
    assert any("the same run is in" in note and "tfevents" in note for note in run.notes)
    assert any("holds the same run" in item.why for item in reading.ignored)
    write(tmp_path, "other.csv", CSV.replace("1,1.0,", "1,1.5,"))
    assert len(read_runs(tmp_path)) == 2


def test_runs_with_a_constant_entropy_are_not_the_same(tmp_path):
    for name in "ab":
        write(tmp_path, f"{name}.csv", "step,entropy,reward\n" + "".join(f"{s},0.0,{s}\n" for s in STEPS))
    assert len(read_runs(tmp_path)) == 2


def wandb_start(folder, name, steps, shift=0.0):
    records = [row(s, **{"train/global_step": s, "entropy": 1 / s + shift, "reward": s / 50}) for s in steps]
    write(folder, f"{name}/run-abc.wandb", wandb_frames(records)[0])
    write(folder, f"{name}/files/requirements.txt", "secret==1\n")
    write(folder, f"{name}/files/wandb-metadata.json", '{"step": "SECRET", "host": "SECRET"}')
    write(folder, f"{name}/logs/debug.log", "SECRET\n")


def test_the_folders_of_a_resumed_wandb_run_are_one_run(tmp_path):
    wandb_start(tmp_path, "wandb/offline-run-20260101_100000-abc", range(1, 31))
    wandb_start(tmp_path, "wandb/offline-run-20260102_100000-abc", range(26, 41), shift=1)
    wandb_start(tmp_path, "wandb/run-20260101_110000-xyz", range(1, 11))
    reading = read_all([tmp_path])
    assert reading.ignored == ()
    assert [len(run.step) for run in reading.runs] == [40, 10]
    run = reading.runs[0]
    assert run.columns["entropy"][[24, 25]].tolist() == [1 / 25, 1 / 26 + 1]
    assert any("2 folders of one run" in note for note in run.notes)
    assert "SECRET" not in repr(reading)


@pytest.mark.parametrize("name", ["slurm-1.err", "job.o123", "job.e123", "train.log.1", "x.stdout"])
def test_logs_of_queues_and_rotated_ones_are_found(tmp_path, name):
    lines = (f"step:{s} - actor/entropy:{1 / s} - critic/score/mean:{s / 50}\n" for s in STEPS)
    write(tmp_path, name, "".join(lines))
    assert len(read_runs(tmp_path)[0].step) == 40


def test_a_log_without_steps_is_no_stranger(tmp_path):
    write(tmp_path, "good.csv", CSV)
    write(tmp_path, "bad.csv", CSV.replace("step", "when"))
    write(tmp_path, "none.csv", "a,b\n1,2\n2,3\n")
    reading = read_all([tmp_path])
    assert [failure.error.slug for failure in reading.failures] == ["no-step-column"]
    assert [item.why for item in reading.ignored] == ["neither an entropy nor a reward among its columns"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_where_it_is_named_and_refused_in_a_folder(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    write(tmp_path, "x.csv", CSV)
    reading = read_all([tmp_path])
    assert [run.name for run in reading.runs] == ["x"]
    assert [failure.error.slug for failure in reading.failures] == ["file-unreadable"]
    writer = threading.Thread(target=lambda: (tmp_path / "pipe.csv").write_text(CSV))
    writer.start()
    (run,) = read_runs(tmp_path / "pipe.csv")
    writer.join()
    assert len(run.step) == 40


def test_archives_are_refused_with_what_to_do(tmp_path):
    write(tmp_path, "x.csv", CSV)
    for name, mode in (("x.tar", "w"), ("x.tar.gz", "w:gz")):
        with tarfile.open(tmp_path / name, mode) as archive:
            archive.add(tmp_path / "x.csv", "x.csv")
        assert "unpack" in refused("format-not-read", read_runs, tmp_path / name).hint


def test_what_is_neither_path_nor_table_is_said_so():
    for wrong in (5, ["a.csv", "b.csv"]):
        with pytest.raises(UsageError, match="a path or a table was expected"):
            read_runs(wrong)
