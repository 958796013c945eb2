"""From tables to runs: steps that repeat and fall, runs told apart, nothing lost in silence."""

import numpy as np
import pytest

from entropylaw.errors import InputError
from entropylaw.ingest import UnreadFileWarning, read_runs
from entropylaw.ingest.assemble import display_name

OVERWRITTEN = "earlier value of a step that was logged again"
SUPERSEDED = "superseded after a resume"
NAN = float("nan")


def curve(steps, shift=0.0):
    """Columns of a run whose entropy says at which step and in which life it was logged."""
    return {
        "step": list(steps),
        "entropy": [step + shift for step in steps],
        "reward": [step / 100 + shift for step in steps],
    }


def after(*parts):
    return {name: [cell for part in parts for cell in part[name]] for name in parts[0]}


def test_a_resume_keeps_the_later_values_and_counts_the_earlier_ones():
    (run,) = read_runs(after(curve(range(1, 11)), curve(range(7, 13), shift=0.5)))
    assert run.step.tolist() == list(range(1, 13))
    assert run.columns["entropy"].tolist() == [1, 2, 3, 4, 5, 6, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5]
    assert run.dropped == {SUPERSEDED: 4}
    assert any("from 10 to 7 at record 11" in note for note in run.notes)


def test_a_resume_beyond_which_less_was_logged_than_before():
    (run,) = read_runs(after(curve(range(1, 11)), curve([5, 6], shift=0.5)))
    assert run.columns["entropy"].tolist() == [1, 2, 3, 4, 5.5, 6.5]
    assert run.dropped == {SUPERSEDED: 6}


def test_two_resumes():
    (run,) = read_runs(after(curve(range(1, 11)), curve(range(7, 13), 0.25), curve(range(5, 9), 0.5)))
    assert run.columns["entropy"].tolist() == [1, 2, 3, 4, 5.5, 6.5, 7.5, 8.5]
    # 7..10 of the first start, then 5, 6 of it and 7..12 of the second
    assert run.dropped == {SUPERSEDED: 4 + 2 + 6}


def test_a_restart_in_the_same_file_is_a_second_run():
    first, second = read_runs(after(curve(range(24)), curve(range(29), shift=0.5)))
    assert (first.name, second.name) == ("frame", "frame#2")
    assert (len(first.step), len(second.step)) == (24, 29)
    assert second.columns["entropy"][0] == 0.5
    assert first.dropped == second.dropped == {}
    assert all(any("started again" in note for note in run.notes) for run in (first, second))


def test_evaluations_on_rows_of_their_own_merge_and_are_no_loss():
    table = {
        "step": [1, 2, 2, 3, 4, 4],
        "entropy": [1, 2, NAN, 3, 4, NAN],
        "val_acc": [NAN, NAN, 0.2, NAN, NAN, 0.4],
        "epoch": [0.1, 0.2, 0.21, 0.3, 0.4, 0.41],
    }
    (run,) = read_runs(table)
    assert run.step.tolist() == [1, 2, 3, 4]
    assert run.columns["entropy"].tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(run.columns["val_acc"], [NAN, 0.2, NAN, 0.4])
    assert run.dropped == {}


def test_evaluations_written_after_the_training_belong_to_the_same_run():
    table = {
        "step": [1, 2, 3, 4, 0, 2, 4],
        "entropy": [1, 2, 3, 4, NAN, NAN, NAN],
        "val_acc": [NAN] * 4 + [0.0, 0.2, 0.4],
    }
    (run,) = read_runs(table)
    assert run.step.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(run.columns["entropy"], [NAN, 1, 2, 3, 4])
    np.testing.assert_array_equal(run.columns["val_acc"], [0, NAN, 0.2, NAN, 0.4])
    assert run.dropped == {}


def test_a_late_evaluation_is_no_resume():
    table = {"step": [1, 2, 3, 2, 4], "entropy": [1, 2, 3, NAN, 4], "val_acc": [NAN, NAN, NAN, 0.2, NAN]}
    (run,) = read_runs(table)
    assert run.columns["entropy"].tolist() == [1, 2, 3, 4]
    assert run.columns["val_acc"][1] == 0.2


def test_a_value_logged_again_is_counted_only_where_it_differs():
    steps = [*range(1, 9), 8, 9, 9]
    entropy = [*range(1, 9), 8, 9, 9.5]
    (run,) = read_runs({"step": steps, "entropy": entropy})
    assert run.columns["entropy"][-1] == 9.5
    assert run.dropped == {OVERWRITTEN: 1}


def test_a_table_in_reverse_is_sorted():
    (run,) = read_runs(curve(range(20, 0, -1)))
    assert run.step.tolist() == list(range(1, 21))
    assert run.columns["entropy"].tolist() == list(range(1, 21))
    assert run.dropped == {}


def test_records_without_a_step_are_counted():
    with pytest.warns(UnreadFileWarning, match="2 of 4 records"):
        (run,) = read_runs({"step": ["1", "", "3", "x"], "entropy": [1, 2, 3, 4]})
    assert run.step.tolist() == [1, 3]
    assert run.dropped == {"no step in the record": 2}


@pytest.mark.parametrize("name", ["run", "arm", "run_name", "experiment"])
def test_a_run_column_tells_runs_apart(name):
    hostile = 'a, b/../"<script>\n\x1b[31m'
    table = {name: [hostile] * 3 + ["c"] * 3, **after(curve([1, 2, 3]), curve([1, 2, 3], 0.5))}
    first, second = read_runs(table)
    assert (first.name, second.name) == (hostile, "c")
    assert second.columns["entropy"].tolist() == [1.5, 2.5, 3.5]
    assert first.dropped == second.dropped == {}
    assert name not in first.columns


def test_seeds_that_alternate_are_told_apart_and_a_constant_seed_is_a_column():
    table = {
        "seed": [0, 1] * 4,
        "step": [1, 1, 2, 2, 3, 3, 4, 4],
        "entropy": [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5],
    }
    runs = read_runs(table)
    assert [run.name for run in runs] == ["seed=0", "seed=1"]
    assert runs[1].columns["entropy"].tolist() == [1.5, 2.5, 3.5, 4.5]
    (run,) = read_runs({"seed": [0, 0], "step": [1, 2], "entropy": [1, 2]})
    assert run.name == "frame"


def test_arm_and_seed_together():
    table = {
        "arm": ["a"] * 4 + ["b"] * 4,
        "seed": [0, 0, 1, 1] * 2,
        "step": [1, 2] * 4,
        "entropy": list(range(8)),
    }
    assert [run.name for run in read_runs(table)] == ["a, seed=0", "a, seed=1", "b, seed=0", "b, seed=1"]


def test_the_users_run_column():
    table = {"variant": ["x", "y"] * 3, "step": [1, 1, 2, 2, 3, 3], "entropy": [1, 10, 2, 20, 3, 30]}
    runs = read_runs(table, run="variant")
    assert {run.name: run.columns["entropy"].tolist() for run in runs} == {"x": [1, 2, 3], "y": [10, 20, 30]}


def test_a_column_that_changes_on_every_row_is_no_label():
    (run,) = read_runs({"run_id": [f"id{i}" for i in range(6)], **curve(range(6))})
    assert len(run.step) == 6
    assert any("'run_id'" in note for note in run.notes)


def test_runs_without_a_label_that_alternate_are_refused():
    table = after(*(curve([step], shift) for step in range(1, 10) for shift in (0, 0.1, 0.2)))
    with pytest.raises(InputError) as caught:
        read_runs(table)
    assert caught.value.slug == "several-rows-a-step"
    assert "27 rows for 9 steps" in caught.value.message
    assert "--run" in caught.value.hint


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        (["step"], "step"),
        (["step", "training/global_step"], "training/global_step"),
        (["_step", "train.global_step"], "train.global_step"),
        (["_step", "training_global_step"], "training_global_step"),
        (["_step"], "_step"),
        (["Step"], "Step"),
    ],
)
def test_the_step_column(columns, chosen):
    (run,) = read_runs({**{name: [1, 2] for name in columns}, "entropy": [1, 2]})
    assert run.step_column == chosen
    assert any("count of log calls" in note for note in run.notes) == (chosen == "_step")


def test_the_step_column_that_is_there_on_more_rows_wins():
    table = {"training/global_step": [NAN, 1, 2], "step": [0, 1, 2], "val_acc": [0.1, NAN, NAN]}
    (run,) = read_runs(table)
    assert run.step_column == "step"
    assert run.step.tolist() == [0, 1, 2]


def test_steps_as_text():
    (run,) = read_runs(
        {"global_step/max_steps": ["10/438", "20/438"], "entropy": ["'0.5'", "np.float64(0.4)"]}
    )
    assert run.step.tolist() == [10, 20]
    assert run.columns["entropy"].tolist() == [0.5, 0.4]


@pytest.mark.parametrize(
    ("table", "options", "slug", "found"),
    [
        ({"when": [1, 2], "entropy": [1, 2]}, {}, "no-step-column", "'entropy', 'when'"),
        ({"step": ["one", "two"], "entropy": [1, 2]}, {}, "step-not-numeric", "text of 3 characters"),
        ({"step": [NAN, NAN], "entropy": [1, 2]}, {}, "step-not-numeric", "every value is missing"),
        ({"step": [1, 2], "entropy": [1, 2]}, {"step": "stp"}, "column-not-found", "'stp'"),
        ({"step": [1, 2], "entropy": [1, 2]}, {"run": "arm"}, "column-not-found", "'arm'"),
    ],
)
def test_errors(table, options, slug, found):
    with pytest.raises(InputError) as caught:
        read_runs(table, **options)
    assert caught.value.slug == slug
    assert found in caught.value.message


def test_text_cells_in_a_metric_are_noted():
    (run,) = read_runs({"step": [1, 2, 3], "entropy": ["0.5", "2.28%", "0.4"]})
    np.testing.assert_array_equal(run.columns["entropy"], [0.5, NAN, 0.4])
    assert any("'2.28%'" in note for note in run.notes)


def test_two_hundred_columns():
    table = {"step": list(range(5)), **{f"col/{i}": [float(i)] * 5 for i in range(220)}}
    (run,) = read_runs(table)
    assert len(run.columns) == 220
    assert run.columns["col/219"].tolist() == [219.0] * 5


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/a/checkpoint-200/trainer_state.json", "a"),
        ("runs/b/events.out.tfevents.1.host.2", "b"),
        ("trainer_state.json", "trainer_state"),
        ("../verl.jsonl", "verl"),
        ("/metrics.csv", "metrics"),
    ],
)
def test_runs_are_called_after_what_tells_them_apart(path, name):
    assert display_name(path) == name
