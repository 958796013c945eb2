"""Records of other trainings beside those of RL: supervised training, a row per run, counts of an update."""

import json
import math

import pytest

from entropylaw import read_runs
from entropylaw.roles.select import select
from tests.hostile import refused
from tests.typed import typed

SFT = {
    "loss": 1.5,
    "entropy": 1.2,
    "num_tokens": 4e4,
    "mean_token_accuracy": 0.66,
    "learning_rate": 1e-5,
}


def rl(step):
    return {"loss": 0.01, "entropy": 0.1 + math.exp(-step / 9), "reward": 0.5 + step / 100}


def written(rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def console(rows):
    return "".join(f"{row!r}\n" for row in rows)


@pytest.fixture
def path(tmp_path):
    def with_text(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return with_text


STEPS = range(1, 31)
RL = [rl(step) for step in STEPS]
STAGED = [{"stage": "SFT warm-up", "step": s, "loss": 1.0, "entropy": 1.0} for s in range(1, 10)]
STAGED += [{"stage": "grpo", "step": s, **rl(s)} for s in STEPS]
#: Name of the file, text, how many records are set aside, and by what.
BESIDE = {
    "before, on TRL's console": (
        "a.log",
        console(
            [{**SFT, "epoch": s / 23} for s in range(1, 24)] + [{**rl(s), "epoch": s / 99} for s in STEPS]
        ),
        *(23, "'mean_token_accuracy'"),
    ),
    "behind, on TRL's console": (
        "a.log",
        console(
            [{**rl(s), "epoch": s / 99} for s in STEPS] + [{**SFT, "epoch": s / 23} for s in range(1, 24)]
        ),
        *(23, "'mean_token_accuracy'"),
    ),
    "before, with steps that go on": (
        "a.jsonl",
        written([{"step": s, **SFT} for s in range(-9, 1)] + [{"step": s, **rl(s)} for s in STEPS]),
        *(10, "'mean_token_accuracy'"),
    ),
    "as a column says": ("a.jsonl", written(STAGED), 9, "'stage'"),
}


@pytest.mark.parametrize(("name", "text", "number", "sign"), BESIDE.values(), ids=BESIDE)
def test_supervised_records_are_named_and_set_aside(path, name, text, number, sign):
    (run,) = read_runs(path(name, text))
    assert select(run).entropy.tolist() == [row["entropy"] for row in RL]
    assert f"{number} records of supervised training ({sign}, no reward) set aside" in run.notes
    assert "mean_token_accuracy" not in run.columns


def test_a_training_with_steps_of_its_own_before_the_rewards_is_set_aside(path):
    before = "".join(f"step:{s} - train/loss:1.5 - train/lr(1e-3):0.01\n" for s in range(1, 9))
    after = "".join(f"step:{s} - actor/entropy:{1 / s} - critic/score/mean:0.{s}\n" for s in range(1, 9))
    (run,) = read_runs(path("verl.log", before + after))
    assert select(run).entropy.tolist() == [1 / s for s in range(1, 9)]
    assert any("8 records before it" in note and "set aside" in note for note in run.notes)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.log", console([{**SFT, "epoch": s / 23} for s in STEPS])),
        ("a.jsonl", written([{"step": s, **SFT, "eval_mean_token_accuracy": 0.6} for s in STEPS])),
        ("a.json", json.dumps({"log_history": [{"step": s, **SFT} for s in STEPS]})),
    ],
)
def test_a_log_of_supervised_training_is_called_so(path, name, text):
    error = refused("supervised-training", read_runs, path(name, text))
    assert "30 records with 'mean_token_accuracy', none with a reward" in str(error)


def test_an_accuracy_of_tokens_is_a_reward_where_the_user_says_so(path):
    (run,) = read_runs(path("a.jsonl", written([{"step": s, **SFT, **rl(s)} for s in STEPS])))
    assert select(run).reward_choice.column == "reward"
    assert select(run, reward="mean_token_accuracy").reward.tolist() == [0.66] * len(STEPS)


def test_counts_of_an_update_make_no_evaluation(path):
    rows = [{"step": s, "actor/valid_samples": 512.0, "critic/score/mean": s / 100} for s in STEPS]
    for row in rows[10:]:
        row["actor/entropy"] = 1 / row["step"]
    (run,) = read_runs(path("a.jsonl", written(rows)))
    assert select(run).count == 20
    assert run.columns.keys() == {"actor/valid_samples", "critic/score/mean", "actor/entropy"}


@pytest.mark.parametrize("step", [{}, {"step": 200}])
def test_a_row_per_run_is_no_log(path, step):
    rows = [{"run_name": f"r{s}", **step, "entropy": 1 / s, "reward": s / 100} for s in STEPS]
    error = refused("row-per-run", read_runs, path("a.jsonl", written(rows)))
    assert "30 rows, each with its own 'run_name'" in str(error)
    refused("row-per-run", read_runs, path("a.jsonl", written(rows)), step="row")


SHOWN = [*range(1, 11), *range(121, 151)]


def buffered(every, **more):
    """Entries of a console that was buffered: most between the first ten and the last are missing."""
    for number in SHOWN:
        step = number * every
        values = {name: value(step) for name, value in more.items()}
        yield {**rl(number), **values, "epoch": round(step / 1500, 2)}


SUMMARY = {"train_runtime": 7500.0, "train_steps_per_second": 0.1, "train_loss": 0.01, "epoch": 0.5}
#: Rows, the name of the axis, and the number of steps between two entries.
GAPS = {
    "tokens": ([*buffered(5, num_tokens=lambda step: 2.9e3 * step)], "entry", 1),
    "a learning rate": ([*buffered(5, learning_rate=lambda step: 1e-6 * (1 - step / 2000))], "entry", 1),
    "tokens and a summary": ([*buffered(5, num_tokens=lambda step: 2.9e3 * step), SUMMARY], "step", 5),
}


@pytest.mark.parametrize(("rows", "axis", "every"), GAPS.values(), ids=GAPS)
def test_gaps_of_a_buffered_console_show_as_gaps(path, rows, axis, every):
    (run,) = read_runs(path("a.log", console(rows)))
    assert run.step_column == axis
    assert run.step.tolist() == [number * every for number in SHOWN]
    assert any("110 entries are missing" in note for note in run.notes)


def test_a_gap_that_nothing_measures_is_said(path):
    (run,) = read_runs(path("a.log", console(buffered(5))))
    assert (run.step_column, run.step.tolist()) == ("entry", [*range(1, 41)])
    assert "the log does not number its entries: they are counted; some may be missing" in run.notes


def test_responses_that_get_longer_are_no_gaps(path):
    rows = [{**rl(s), "num_tokens": 1000.0 * s * s, "epoch": round(s / 300, 2)} for s in STEPS]
    (run,) = read_runs(path("a.log", console(rows)))
    assert (run.step_column, run.step.tolist()) == ("entry", [*STEPS])
    assert "the log does not number its entries: they are counted" in run.notes


def test_columns_of_a_supervised_log_are_an_account_with_the_reason(path):
    log = path("a.jsonl", written([{"step": step, **SFT} for step in STEPS]))
    done = typed("columns", log.name, "--format", "json", cwd=log.parent, code=0)
    (run,) = json.loads(done.stdout)["runs"]
    assert run["problem"]["slug"] == "supervised-training"
    assert run["steps"] == len(STEPS)
    assert "mean_token_accuracy" in run["others"]
    assert not any(candidate["used"] for candidate in run["reward"])
