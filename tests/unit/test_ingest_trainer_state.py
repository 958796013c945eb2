"""``trainer_state.json``: written by hand, damaged, and real ones where they are at hand."""

import json
import math

import numpy as np
import pytest

from entropylaw.ingest import read_runs, select
from entropylaw.ingest.readers.trainer_state import BAD_ENTRY
from entropylaw.ingest.runs.number_parsing import parse_column
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.registry import reader_of
from tests.conftest import PUBLIC_LOGS
from tests.hostile import refused

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


def values(table, name):
    return parse_column(table.columns[name]).values.tolist()


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


def test_global_and_most_steps_are_no_columns():
    assert set(read(text([training(1), training(2)])).columns) == {
        "entropy",
        "epoch",
        "loss",
        "reward",
        "step",
    }


def test_an_evaluation_joins_the_training_entry_of_its_step():
    entries = [evaluation(0), training(1), training(2), evaluation(2), {**evaluation(2), "eval_reward": 0.9}]
    table = read(text([*entries, training(3)]))
    assert table.rows == 6
    # The second evaluation of step 2 contradicts the first: it is for the assembly of runs to decide.
    assert list(table.columns["step"]) == [0, 1, 2, 2, 3]
    np.testing.assert_equal(table.columns["eval_reward"], [0.0, math.nan, 0.4, 0.9, math.nan])
    assert table.columns["reward"][2] == 0.2
    assert table.dropped == {}


@pytest.mark.parametrize(
    ("entries", "steps"),
    [
        ([training(1), training(2), training(2, reward=0.9), training(3)], [1, 2, 2, 3]),
        ([training(1), training(2), evaluation(1)], [1, 2, 1]),
        # ``include_num_input_tokens_seen`` adds the run time to every training entry.
        ([training(1, train_runtime=3.5), training(2, train_runtime=4.5)], [1, 2]),
    ],
    ids=["a step that is logged again", "entries that are no neighbours", "a run time next to a loss"],
)
def test_entries_that_stay_rows_of_their_own(entries, steps):
    assert list(read(text(entries)).columns["step"]) == steps


def test_evaluations_on_several_data_sets_join_too():
    other = {"step": 1, "epoch": 1 / 3, "eval_math_reward": 0.7}
    table = read(text([training(1), evaluation(1), other, training(2)]))
    assert list(table.columns["step"]) == [1, 2]
    np.testing.assert_equal(table.columns["eval_math_reward"], [0.7, math.nan])


def test_the_summary_is_left_out_and_counted():
    table = read(text([training(1), training(2), training(3), SUMMARY]))
    assert list(table.columns["step"]) == [1, 2, 3]
    assert "train_loss" not in table.columns
    assert table.rows == 4
    assert table.dropped == {}
    assert any(note.startswith("1 closing summary ") for note in table.notes)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (text([training(1, entropy="0.0012"), training(2, entropy="nan")]), [0.0012, math.nan]),
        (
            text([training(1, entropy=math.nan), training(2, entropy=math.inf), training(3, entropy=None)]),
            [math.nan, math.inf, math.nan],
        ),
        (
            text([training(1), training(2, entropy=7)]).replace(": 7,", ": " + "7" * 100_000 + ","),
            [0.5, math.inf],
        ),
    ],
    ids=["in quotes", "not finite", "a giant integer"],
)
def test_numbers(written, expected):
    np.testing.assert_equal(values(read(written), "entropy"), expected)


def test_steps_in_quotes_are_numbers():
    assert values(read(text([training(1) | {"step": "1"}, training(2) | {"step": "2"}])), "step") == [1, 2]


def test_lists_and_objects_in_an_entry_are_no_metrics():
    table = read(text([training(1, samples=[1, 2], args={"a": 1}), training(2)]))
    assert "samples" not in table.columns
    assert "args" not in table.columns


@pytest.mark.parametrize("indent", [2, None], ids=["pretty", "one-line"])
def test_a_cut_off_file_gives_its_whole_entries(indent):
    whole = text([training(step) for step in range(1, 9)], indent)
    cut = whole[: whole.index('"step": 6') - 5]
    table = read(cut)
    assert list(table.columns["step"]) == [1, 2, 3, 4, 5]
    assert table.rows == 6
    assert table.dropped == {BAD_ENTRY: 1}
    (note,) = table.notes
    byte = int(note.split("near character ")[1].split()[0])
    assert len(cut) - 20 <= byte <= len(cut)
    assert f"of {len(cut)}; its 5 complete entries were read" in note


def test_cut_off_behind_the_entries():
    whole = text([training(1), training(2)])
    table = read(whole[: whole.index('"max_steps"')])
    assert list(table.columns["step"]) == [1, 2]
    assert table.dropped == {}
    assert "cut off" in table.notes[0]


def test_a_broken_entry_costs_itself_only():
    whole = text([training(step) for step in range(1, 9)])
    broken = whole.replace('"step": 4', '"step": #', 1)
    table = read(broken)
    assert list(table.columns["step"]) == [1, 2, 3, 5, 6, 7, 8]
    assert table.dropped == {BAD_ENTRY: 1}
    near = int(table.notes[0].split("near character ")[1].split()[0])
    assert abs(near - broken.index("#")) < 5


def test_entries_that_are_no_objects_are_counted():
    table = read(text([training(1), 7, "x", None, [1], training(2)]))
    assert list(table.columns["step"]) == [1, 2]
    assert table.dropped == {BAD_ENTRY: 4}
    assert table.rows == 6


def test_a_list_that_is_not_at_the_top_is_found():
    table = read(json.dumps({"state": state([training(1), training(2)])}))
    assert list(table.columns["step"]) == [1, 2]
    assert table.notes == ()


@pytest.mark.parametrize(
    "data",
    [
        text([]),
        text([SUMMARY]),
        text([1, 2]),
        text([training(1)])[:200],
        '{"log_history": null}',
        '{"log_history": [' + '{"a": ' * 5000,
        '{"log_history": [' + "[" * 5000,
        '{"log_history": [}{}}{,,]',
        '{"x": "\\ud800"}',
        "",
        b"\x00\xff\xfe{",
        "nothing of the kind",
    ],
)
def test_no_entries(data):
    error = refused("no-records", read, data)
    assert error.hint


def test_so_many_keys_that_they_would_fill_the_memory():
    refused("file-corrupt", read, text([{"step": step, f"k{step}": 1} for step in range(8000)], None))


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
