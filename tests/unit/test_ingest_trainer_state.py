"""``trainer_state.json``: written by hand, damaged, and real ones where they are at hand."""

import json
import math

import numpy as np
import pytest

from entropylaw.logs.load import read_runs
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from entropylaw.roles.select import select
from tests.conftest import PUBLIC_LOGS

REAL = PUBLIC_LOGS / "trl-trainer-state"
real = pytest.mark.skipif(not REAL.is_dir(), reason="the public logs are not here")

SUMMARY = {
    "epoch": 1.0,
    "step": 3,
    "total_flos": 0.0,
    "train_loss": 0.01,
    "train_runtime": 9.5,
    "train_samples_per_second": 1.7,
}


def training(step, **more):
    values = {"entropy": 0.5 / step, "epoch": step / 3, "loss": 0.01, "reward": 0.1 * step, "step": step}
    return {**values, **more}


def evaluation(step, **more):
    return {"epoch": step / 3, "eval_reward": 0.2 * step, "eval_runtime": 3.5, "step": step, **more}


def state(entries):
    return {
        "best_metric": None,
        "epoch": 1.0,
        "global_step": 3,
        "is_world_process_zero": True,
        "log_history": entries,
        "logging_steps": 1,
        "max_steps": 300,
        "stateful_callbacks": {"TrainerControl": {"args": {"should_save": True}, "attributes": {}}},
    }


def text(entries, indent=2):
    return json.dumps(state(entries), indent=indent, sort_keys=True) + "\n"


def read(data):
    content = Content("trainer_state.json", data if isinstance(data, bytes) else data.encode())
    return reader_of("trainer-state").read(content)


@pytest.mark.parametrize("indent", [2, None], ids=["pretty", "one-line"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_entries_become_rows(tmp_path, indent, encoding):
    folder = tmp_path / "grpo_s1"
    folder.mkdir()
    path = folder / "trainer_state.json"
    path.write_text(text([training(1), training(2), training(3)], indent), encoding=encoding)
    (run,) = read_runs(path)
    assert run.name == "grpo_s1"
    assert run.source.format == "trainer-state"
    assert run.source.rows == 3
    assert run.step_column == "step"
    assert run.step.tolist() == [1, 2, 3]
    assert run.columns["reward"].tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert run.columns["epoch"].tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    assert run.dropped == {}
    assert not any("cut off" in note for note in run.notes)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (text([training(1)]), True),
        (text([training(1)], None), True),
        ("\n  " + text([]), True),
        ("\ufeff" + text([training(1)]), True),
        (text([training(1)])[:400], True),
        ('{"step": 1, "log_history": "x"}\n', False),
        ('{"step": 1, "reward": 0.5}\n', False),
        ('["log_history", [1]]', False),
        ("step,log_history\n1,[\n", False),
        (b"\x80\x04\x95" + bytes(range(256)), False),
    ],
)
def test_recognises(data, expected):
    content = Content("x", data if isinstance(data, bytes) else data.encode())
    assert reader_of("trainer-state").recognises(content) is expected


SMALL = text([training(1), evaluation(1), training(2, entropy=math.nan), training(3), SUMMARY])


@real
def test_a_real_run():
    (run,) = read_runs(REAL / "sparse_reward_trainer_state.json")
    assert run.source.format == "trainer-state"
    assert run.source.rows == 100
    assert run.step.tolist() == list(range(1, 101))
    assert run.dropped == {}
    series = select(run)
    assert len(series.step) == 100
    assert series.entropy_choice.column == "entropy"
    assert series.reward_choice.column == "reward"
    assert (series.entropy.min(), series.entropy.max()) == pytest.approx((0.0699, 0.0943), abs=5e-5)
    assert (series.reward.min(), series.reward.max()) == (0, 0.125)


@real
def test_a_real_run_with_evaluations():
    (run,) = read_runs(REAL / "wordle_stage2_eval_rows_trainer_state.json")
    assert run.source.rows == 168
    assert run.step.tolist() == list(range(1, 161))
    assert run.step[~np.isnan(run.columns["eval_reward"])].tolist() == list(range(20, 161, 20))
    series = select(run, reward="reward")
    assert len(series.step) == 160
    assert (series.entropy.min(), series.entropy.max()) == pytest.approx((0.378, 0.884), abs=5e-4)
    series = select(run, pair="same")
    assert series.reward_choice.column == "eval_reward"
    assert len(series.step) == 8


@real
def test_a_real_run_that_is_cut_off():
    data = (REAL / "wordle_stage2_eval_rows_trainer_state.json").read_bytes()
    table = read(data[: len(data) // 2])
    steps = list(table.columns["step"])
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) > 70
    assert "cut off" in table.notes[0]


def cut_off(indent):
    whole = text([training(step) for step in range(1, 9)], indent)
    return whole[: whole.index('"step": 6') - 5]


WHOLE, FEW = text([training(step) for step in range(1, 9)]), [training(1), training(2)]
MATHS = {"step": 1, "epoch": 1 / 3, "eval_math_reward": 0.7}
LATE = [evaluation(0), training(1), training(2), evaluation(2), {**evaluation(2), "eval_reward": 0.9}]
ODD = [training(1, entropy=math.nan), training(2, entropy=math.inf), training(3, entropy=None)]
NOTHING = (
    *(text([]), text([SUMMARY]), text([1, 2]), text([training(1)])[:200], '{"log_history": null}'),
    *('{"log_history": [' + '{"a": ' * 5000, '{"log_history": [' + "[" * 5000),
    *('{"log_history": [}{}}{,,]', '{"x": "\\ud800"}', "", b"\x00\xff\xfe{", "nothing of the kind"),
)
STATES = {
    "entries": text(FEW),
    "an evaluation joins the entry of its step, a second one does not": text([*LATE, training(3)]),
    "a step that is logged again": text([*FEW, training(2, reward=0.9), training(3)]),
    "entries that are not neighbours": text([*FEW, evaluation(1)]),
    # ``include_num_input_tokens_seen`` adds the run time to every training entry.
    "a run time beside a loss": text([training(1, train_runtime=3.5), training(2, train_runtime=4.5)]),
    "evaluations on several data sets": text([training(1), evaluation(1), MATHS, training(2)]),
    "a summary": text([*FEW, training(3), SUMMARY]),
    "numbers in quotes": text([training(1, entropy="0.0012"), training(2, entropy="nan")]),
    "numbers that are not finite": text(ODD),
    "a giant integer": text([training(1), training(2, entropy=7)]).replace(
        ": 7,", ": " + "7" * 100_000 + ","
    ),
    "steps in quotes": text([training(1) | {"step": "1"}, training(2) | {"step": "2"}]),
    "lists and objects in an entry": text([training(1, samples=[1, 2], args={"a": 1}), training(2)]),
    "cut off": cut_off(2),
    "cut off in one line": cut_off(None),
    "cut off behind the entries": text(FEW)[: text(FEW).index('"max_steps"')],
    "a broken entry": WHOLE.replace('"step": 4', '"step": #', 1),
    "entries that are no objects": text([training(1), 7, "x", None, [1], training(2)]),
    "a list that is not at the top": json.dumps({"state": state(FEW)}),
    "so many keys that they would fill the memory": text(
        [{"step": n, f"k{n}": 1} for n in range(8000)], None
    ),
    **{f"no entries {n}": data for n, data in enumerate(NOTHING)},
}
SAMPLES = {title: ("trainer-state", "trainer_state.json", data) for title, data in STATES.items()}
