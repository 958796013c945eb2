"""ClearML's scalars: written by hand in the form of ``Task.get_reported_scalars`` and of its page."""

import csv
import json

import numpy as np
import pytest

from entropylaw import InputError, read_runs

STEPS = list(range(1, 31))
ENTROPY = [1 / step for step in STEPS]
SCORE = [step / 50 for step in STEPS]
SCALARS = {
    "train": {"entropy": {"name": "entropy", "x": STEPS, "y": ENTROPY}},
    "critic": {"score/mean": {"name": "score/mean", "x": STEPS, "y": SCORE}},
    "reward": {"reward": {"name": "reward", "x": STEPS[::2], "y": SCORE[::2]}},
    ":monitor:gpu": {"gpu_0_utilization": {"x": [0, 900], "y": [50.0, 60.0]}, "idle": {"x": [], "y": []}},
}


def table(first, second, step):
    """A row per point, as people write the scalars into a CSV."""

    def write(path):
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow((first, second, step, "value"))
            for title, curves in SCALARS.items():
                for series, curve in curves.items():
                    points = zip(curve["x"], curve["y"], strict=True)
                    writer.writerows((title, series, x, y) for x, y in points)

    return write


FILES = {
    "task.json": lambda path: path.write_text(json.dumps(SCALARS)),
    "events.csv": table("metric", "variant", "iter"),
    "scalars.csv": table("title", "series", "iteration"),
}


@pytest.mark.parametrize("name", FILES)
def test_scalars_have_the_title_and_the_series_in_their_names(tmp_path, name):
    FILES[name](tmp_path / name)
    (run,) = read_runs(tmp_path / name)
    assert run.step.tolist() == [0.0, *STEPS, 900.0]
    inside = slice(1, -1)
    np.testing.assert_array_equal(run.columns["train/entropy"][inside], ENTROPY)
    np.testing.assert_array_equal(run.columns["critic/score/mean"][inside], SCORE)
    np.testing.assert_array_equal(run.columns["reward"][inside][::2], SCORE[::2])
    assert np.isnan(run.columns["reward"][inside][1::2]).all()
    assert not run.dropped


def test_a_plot_from_its_page_has_the_curves_by_name(tmp_path):
    traces = [{"name": "entropy", "x": STEPS, "y": ENTROPY}, {"name": "reward", "x": STEPS, "y": SCORE}]
    plot = {"data": traces, "layout": {"title": "train"}}
    (tmp_path / "plot.json").write_text(json.dumps(plot))
    (run,) = read_runs(tmp_path / "plot.json")
    np.testing.assert_array_equal(run.columns["train/entropy"], ENTROPY)
    np.testing.assert_array_equal(run.columns["train/reward"], SCORE)


def test_curves_of_unequal_lists_are_not_cut(tmp_path):
    broken = {"train": {"entropy": {"x": STEPS, "y": ENTROPY[:-1]}}}
    (tmp_path / "task.json").write_text(json.dumps(broken))
    with pytest.raises(InputError, match="no step column"):
        read_runs(tmp_path / "task.json")
