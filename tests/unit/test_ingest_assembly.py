"""From tables to runs: steps that repeat and fall, runs separated, every loss counted."""

import numpy as np
import pytest

from entropylaw.ingest import UnreadFileWarning, read_runs
from entropylaw.ingest.sources.assemble import display_name
from tests.hostile import refused

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


@pytest.mark.parametrize(
    ("resumes", "entropy", "superseded"),
    [
        # less was logged after the resume than before it
        ([curve([5, 6], shift=0.5)], [1, 2, 3, 4, 5.5, 6.5], 6),
        # 7..10 of the first start, then 5, 6 of it and 7..12 of the second
        ([curve(range(7, 13), 0.25), curve(range(5, 9), 0.5)], [1, 2, 3, 4, 5.5, 6.5, 7.5, 8.5], 4 + 2 + 6),
    ],
)
def test_resumes(resumes, entropy, superseded):
    (run,) = read_runs(after(curve(range(1, 11)), *resumes))
    assert run.columns["entropy"].tolist() == entropy
    assert run.dropped == {SUPERSEDED: superseded}


def test_a_restart_in_the_same_file_is_a_second_run():
    first, second = read_runs(after(curve(range(24)), curve(range(29), shift=0.5)))
    assert (first.name, second.name) == ("frame", "frame#2")
    assert (len(first.step), len(second.step)) == (24, 29)
    assert second.columns["entropy"][0] == 0.5
    assert first.dropped == second.dropped == {}
    assert all(any("started again" in note for note in run.notes) for run in (first, second))


@pytest.mark.parametrize(
    "records",  # step, entropy, val_acc, epoch
    [
        [
            (1, 1, NAN, 0.1),
            (2, 2, NAN, 0.2),
            (2, NAN, 0.2, 0.21),
            (3, 3, NAN, 0.3),
            (4, 4, NAN, 0.4),
            (4, NAN, 0.4, 0.41),
        ],
        [(1, 1, NAN, 0.1), (2, 2, NAN, 0.2), (3, 3, NAN, 0.3), (2, NAN, 0.2, 0.31), (4, 4, 0.4, 0.4)],
        [*((s, s, NAN, s) for s in (1, 2, 3, 4)), *((s, NAN, s / 10, s) for s in (0, 2, 4))],
    ],
    ids=["on rows of their own", "late", "after the training"],
)
def test_evaluations_merge_and_are_no_loss(records):
    names = ("step", "entropy", "val_acc", "epoch")
    (run,) = read_runs({name: [record[i] for record in records] for i, name in enumerate(names)})
    first = records[4][0] == 0
    assert run.step.tolist() == [0] * first + [1, 2, 3, 4]
    np.testing.assert_array_equal(run.columns["entropy"], [NAN] * first + [1, 2, 3, 4])
    np.testing.assert_array_equal(run.columns["val_acc"], [0.0] * first + [NAN, 0.2, NAN, 0.4])
    assert run.dropped == {}


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
def test_a_run_column_separates_runs(name):
    hostile = 'a, b/../"<script>\n\x1b[31m'
    table = {name: [hostile] * 3 + ["c"] * 3, **after(curve([1, 2, 3]), curve([1, 2, 3], 0.5))}
    first, second = read_runs(table)
    assert (first.name, second.name) == (hostile, "c")
    assert second.columns["entropy"].tolist() == [1.5, 2.5, 3.5]
    assert first.dropped == second.dropped == {}
    assert name not in first.columns


def test_seeds_that_alternate_are_separated_and_a_constant_seed_is_a_column():
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
    error = refused("several-rows-a-step", read_runs, table)
    assert "27 rows for 9 steps" in error.message
    assert "--run" in error.hint


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


@pytest.mark.parametrize(
    ("columns", "chosen", "steps"),
    [
        ({"training/global_step": [NAN, 1, 2], "step": [0, 1, 2]}, "step", [0, 1, 2]),
        ({"global_step/max_steps": ["10/438", "20/438"]}, "global_step/max_steps", [10, 20]),
    ],
    ids=["on more rows", "as text"],
)
def test_the_steps(columns, chosen, steps):
    (run,) = read_runs({**columns, "entropy": ["'0.5'", "np.float64(0.4)", None][: len(steps)]})
    assert (run.step_column, run.step.tolist()) == (chosen, steps)
    assert run.columns["entropy"].tolist()[:2] == [0.5, 0.4]


@pytest.mark.parametrize(
    ("table", "options", "slug", "found"),
    [
        ({"when": [1, 2], "entropy": [1, 2]}, {}, "no-step-column", "'when' may be one"),
        ({"step": ["one", "two"], "entropy": [1, 2]}, {}, "step-not-numeric", "text of 3 characters"),
        ({"step": [NAN, NAN], "entropy": [1, 2]}, {}, "step-not-numeric", "every value is missing"),
        ({"step": [1, 2], "entropy": [1, 2]}, {"step": "stp"}, "column-not-found", "'stp'"),
        ({"step": [1, 2], "entropy": [1, 2]}, {"run": "arm"}, "column-not-found", "'arm'"),
    ],
)
def test_errors(table, options, slug, found):
    error = refused(slug, read_runs, table, **options)
    assert found in error.message


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
def test_runs_are_named_after_what_identifies_them(path, name):
    assert display_name(path) == name
