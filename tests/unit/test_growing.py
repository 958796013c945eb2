"""Logs that are being written: no record lost or doubled, whatever becomes of the file."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from entropylaw import EntropyLawError, read_runs
from entropylaw.logs.growing import GrowingLog

FORMATS = Path(__file__).parents[2] / "data" / "formats" / "grpo_s0"
ENTROPY, REWARD = "actor/entropy", "critic/score/mean"
HEADS = {"jsonl": "", "csv": f"step,{ENTROPY},{REWARD}\n", "console": ""}
NAMES = {"jsonl": "log.jsonl", "csv": "log.csv", "console": "verl.log"}


def values(step, attempt=0):
    return round(0.5 - 0.003 * step, 6), round(0.2 + 0.005 * step + 0.0001 * attempt, 6)


def record(kind, step, attempt=0):
    """A record as its bytes."""
    entropy, reward = values(step, attempt)
    if kind == "jsonl":
        text = json.dumps({"step": step, "data": {ENTROPY: entropy, REWARD: reward}})
    elif kind == "csv":
        text = f"{step},{entropy},{reward}"
    else:
        text = f"step:{step} - {ENTROPY}:{entropy} - {REWARD}:{reward}"
    return text.encode() + b"\n"


class Writer:
    """Writes records, and holds what a reader has to have."""

    def __init__(self, folder, kind):
        self.kind, self.path, self.attempts = kind, folder / NAMES[kind], {}
        self.path.write_text(HEADS[kind])

    def write(self, steps, attempt=0):
        with self.path.open("ab") as file:
            for step in steps:
                file.write(record(self.kind, step, attempt))
                self.attempts = {known: tried for known, tried in self.attempts.items() if known < step}
                self.attempts[step] = attempt

    def check(self, log):
        run = log.read()
        assert run.step.tolist() == sorted(map(float, self.attempts))
        expected = [values(step, attempt) for step, attempt in sorted(self.attempts.items())]
        np.testing.assert_allclose(np.array([run.columns[ENTROPY], run.columns[REWARD]]).T, expected)


@pytest.fixture(params=list(NAMES))
def writer(request, tmp_path):
    made = Writer(tmp_path, request.param)
    made.write(range(1, 31))
    return made


@pytest.fixture
def said():
    """What a log says of its file."""
    return []


def test_a_record_is_there_with_its_last_byte(writer, said):
    log = GrowingLog(writer.path, said.append)
    writer.check(log)
    for step in (31, 32):
        content = record(writer.kind, step)
        for position in range(len(content)):
            with writer.path.open("ab") as file:
                file.write(content[position : position + 1])
            if position + 1 < len(content):
                writer.check(log)
        writer.attempts[step] = 0
        writer.check(log)
    assert said == []


def test_a_job_that_was_killed_within_a_record_and_goes_on_from_an_earlier_step(writer, said):
    log = GrowingLog(writer.path, said.append)
    size = writer.path.stat().st_size
    with writer.path.open("ab") as file:
        file.write(record(writer.kind, 31)[:9])
    writer.check(log)
    with writer.path.open("r+b") as file:
        file.truncate(size)
    writer.write(range(25, 41), attempt=1)
    writer.check(log)
    assert said == []


def test_a_file_that_shrank_to_a_checkpoint_and_grew_again(writer, said):
    log = GrowingLog(writer.path, said.append)
    writer.check(log)
    lines = writer.path.read_bytes().splitlines(keepends=True)
    writer.path.write_bytes(b"".join(lines[: 20 + (writer.kind == "csv")]))
    writer.attempts = dict.fromkeys(range(1, 21), 0)
    writer.check(log)
    writer.write(range(21, 61), attempt=1)
    writer.check(log)
    assert len(said) == 1


@pytest.mark.parametrize("way", ["moved", "copied and emptied", "written anew"])
def test_a_file_that_was_rotated_loses_no_record(writer, way, said):
    log = GrowingLog(writer.path, said.append)
    writer.write(range(31, 36))
    if way != "moved":
        writer.check(log)
    else:
        log.read()
        writer.write(range(36, 41))  # not read before the file is moved away
        writer.path.rename(writer.path.with_suffix(".1"))
    if way == "written anew":
        before = writer.path.read_bytes()
        writer.path.unlink()
        writer.path.write_bytes(before)
    else:
        writer.path.write_text("")
        log.read()
        writer.path.write_text(HEADS[writer.kind])
    writer.write(range(41, 51))
    writer.check(log)
    writer.write(range(51, 53))
    writer.check(log)
    assert "are kept" in said[-1] or "from its start" in said[-1]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_wider_text_is_read_to_its_last_whole_line(writer, encoding, tmp_path):
    text = writer.path.read_text()
    path = tmp_path / "wide" / writer.path.name
    path.parent.mkdir()
    log = GrowingLog(path, print)
    for lines in (10, 11, 31):
        whole = "".join(text.splitlines(keepends=True)[:lines])
        begun = text.splitlines()[lines][:9] if lines < 30 else ""
        path.write_bytes((whole + begun).encode(encoding))
        steps = log.read().step.tolist()
        assert steps == [float(step) for step in range(1, len(steps) + 1)]
        assert len(steps) == len(whole.splitlines()) - (writer.kind == "csv")


def test_nothing_yet_is_an_error_and_a_file_that_is_gone_keeps_its_records(writer, said):
    log = GrowingLog(writer.path.with_name("later.jsonl"), said.append)
    with pytest.raises(EntropyLawError):
        log.read()
    log = GrowingLog(writer.path, said.append)
    writer.check(log)
    writer.path.unlink()
    writer.check(log)
    assert "cannot be read" in said[0]


TRACKERS = sorted([*FORMATS.glob("events*"), *FORMATS.glob("wandb/*/*.wandb"), FORMATS / "verl_console.log"])


@pytest.mark.parametrize("source", TRACKERS, ids=lambda path: path.name[:12])
def test_a_trackers_file_is_the_same_read_in_parts_and_as_a_whole(source, tmp_path):
    data, rng = source.read_bytes(), np.random.default_rng(0)
    path, done = tmp_path / source.name, 0
    log, steps = GrowingLog(path, print), [0]
    while done < len(data):
        done += int(rng.integers(1, len(data) // 20))
        path.write_bytes(data[:done]) if done % 2 else append(path, data, done)
        try:
            steps.append(log.read().step.size)
        except EntropyLawError:
            assert len(steps) < 4  # there is no record yet
    assert steps == sorted(steps)
    (whole,), run = read_runs(path), log.read()
    assert run.step.tolist() == whole.step.tolist()
    for name, column in run.columns.items():
        np.testing.assert_array_equal(column, whole.columns[name])
    assert len(run.columns) > 3


def append(path, data, until):
    """The file, longer."""
    with path.open("ab") as file:
        file.write(data[path.stat().st_size : until])


def test_wandb_goes_on_behind_a_torn_record(tmp_path):
    (source,) = FORMATS.glob("wandb/*/*.wandb")
    data = source.read_bytes()
    torn = bytearray(data)
    torn[100_000:100_100] = bytes(100)
    path = tmp_path / source.name
    path.write_bytes(torn[:150_000])
    log = GrowingLog(path, print)
    log.read()
    path.write_bytes(torn)
    (whole,) = read_runs(path)
    assert log.read().step.tolist() == whole.step.tolist()


def test_a_log_of_two_thousand_records_is_read_again_within_a_twentieth_of_a_second(tmp_path):
    path = tmp_path / "log.jsonl"
    row = {f"timing/m{number}": 1.5 for number in range(30)}

    def line(step):
        return json.dumps({"step": step, ENTROPY: 1.0 / step, REWARD: 0.01 * step} | row) + "\n"

    path.write_text("".join(map(line, range(1, 2001))))
    log = GrowingLog(path, print)
    log.read()
    costs = []
    for step in range(2001, 2006):
        with path.open("a") as file:
            file.write(line(step))
        start = time.process_time()
        assert log.read().step[-1] == step
        costs.append(time.process_time() - start)
    assert min(costs) < 0.05


def test_what_is_printed_before_the_first_record_decides_nothing(tmp_path):
    path = tmp_path / "job.log"
    path.write_text("lr = 1e-6\nloading the model\n")
    log = GrowingLog(path, print)
    with pytest.raises(EntropyLawError):
        log.read()
    with path.open("ab") as file:
        for step in range(1, 9):
            file.write(record("console", step))
    assert log.read().step.tolist() == list(range(1, 9))
