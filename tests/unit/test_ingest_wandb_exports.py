"""What is exported from W&B by hand: charts, histories, and tables that have last values only."""

import csv
import io

import numpy as np
import pytest

from entropylaw.ingest.readers.delimited import CUT_OFF
from entropylaw.ingest.readers.trackers.charts import OTHER_LENGTH
from entropylaw.ingest.readers.trackers.wandb import (
    COMPLETE_HISTORY,
)
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.registry import reader_of
from tests import hostile
from tests.conftest import PUBLIC_LOGS

CHART, RUN_TABLE, SUMMARY = reader_of("wandb-chart"), reader_of("wandb-run-table"), reader_of("wandb-summary")
REAL_CHART = PUBLIC_LOGS / "neg-wandb-ui-csv" / "wandb_TrainReward.csv"
REAL_HISTORY = PUBLIC_LOGS / "neg-wandb-history-csv" / "wandb_history.csv"
HISTORY = ("_step", "_runtime", "_timestamp", "reward")


def content(data, name="x.csv"):
    return Content(name, data if isinstance(data, bytes) else data.encode())


def quoted(rows):
    """Rows as the page writes them: every cell in quotes, no line end behind the last."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue().removesuffix("\n")


def chart(runs, metric="train/reward", axis="Step", *, counter=None, bounds=True):
    """Write a chart. ``runs`` has, by name, x → value or (value, least, greatest)."""
    header, rows = [axis], []
    names = ["", "__MIN", "__MAX"] if bounds else [""]
    kinds = ["_step", metric] if counter else [metric]
    header += [f"{run} - {kind}{name}" for run in runs for kind in kinds for name in names]
    for x in sorted({x for points in runs.values() for x in points}):
        row = [x]
        for points in runs.values():
            value = points.get(x)
            if counter:
                row += [""] * len(names) if value is None else [counter(x)] * len(names)
            point = value if isinstance(value, tuple) else (value, value, value)
            row += ["" if number is None else number for number in point[: len(names)]]
        rows.append(row)
    return quoted([header, *rows])


def read(data):
    return CHART.read(content(data))


def assembled(data):
    return {run.name: run for run in hostile.assembled(CHART.name, read(data), "x")}


def curve(length, start=0.0):
    return {step: start + step / 100 for step in range(length)}


def refused(slug, reader, data, name="x.csv"):
    return hostile.refused(slug, reader.read, content(data, name))


# Charts


def test_a_chart_over_wandbs_step_becomes_a_long_table():
    data = chart({"one": curve(5), "two": curve(3, 1.0)}, "actor/entropy")
    assert CHART.recognises(content(data))
    table = read(data)
    assert list(table.columns) == [
        *("_step", "run", "actor/entropy", "actor/entropy__MIN", "actor/entropy__MAX")
    ]
    assert table.partial
    assert (table.rows, table.dropped) == (8, {})
    assert list(table.columns["run"]) == ["one", "two"] * 3 + ["one"] * 2
    assert list(table.columns["_step"]) == [0, 0, 1, 1, 2, 2, 3, 4]
    assert any("'Step' is W&B's '_step'" in note for note in table.notes)


def test_runs_of_different_length_keep_their_own_points_and_lose_none():
    runs = assembled(chart({"long": curve(40), "short": curve(25, 2.0)}))
    assert {name: len(run.step) for name, run in runs.items()} == {"long": 40, "short": 25}
    assert runs["short"].columns["train/reward"][-1] == pytest.approx(2.24)
    assert not any(run.dropped for run in runs.values())


def test_with_another_axis_the_step_is_that_axis_and_the_count_of_log_calls_stays():
    data = chart({"one": curve(30)}, axis="train/global_step", counter=lambda x: 179 + 29 * x)
    assert CHART.recognises(content(data))
    (run,) = assembled(data).values()
    assert run.step_column == "train/global_step"
    assert run.columns["_step"][:2].tolist() == [179, 208]
    assert not any("__MIN" in name and "_step" in name for name in run.columns)


def test_against_a_clock_the_count_of_log_calls_is_the_step():
    data = chart({"one": curve(30)}, axis="Relative Time (Process)", counter=lambda x: 3 * x)
    (run,) = assembled(data).values()
    assert run.step_column == "_step"
    assert run.step[:3].tolist() == [0, 3, 6]
    assert run.columns["Relative Time (Process)"][2] == 2


CLOCKS = ["Relative Time (Process)", "Relative Time (Wall)", "Wall Time", "_timestamp"]


@pytest.mark.parametrize("axis", CLOCKS)
def test_a_clock_without_a_step_is_refused(axis):
    data = chart({"one": curve(30)}, axis=axis)
    assert CHART.recognises(content(data))
    error = refused("no-step-column", CHART, data)
    assert axis in error.message
    assert COMPLETE_HISTORY in error.hint


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (
            ["grpo - seed 1 - lr 1e-6", 'a, "b", c', "[paper]GRPO_online", "x__MIN", "naïve 测试", "Step"],
            "{}",
        ),
        (["7", "007", "7.0", "1e5", "nan", "None", "-", ""], "run={}"),
    ],
    ids=["made of what headers are", "like numbers or like nothing"],
)
def test_names_of_runs_stay_apart(names, shown):
    runs = {name: curve(20, position) for position, name in enumerate(names)}
    found = assembled(chart(runs, "critic/score/mean"))
    firsts = {name: run.columns["critic/score/mean"][0] for name, run in found.items()}
    assert firsts == {shown.format(name): position for position, name in enumerate(names)}


def test_runs_of_the_same_name_are_two_runs_and_a_note_says_so():
    header = ["Step", *(f"a - r{kind}" for _ in range(2) for kind in ("", "__MIN", "__MAX"))]
    rows = [[step, *[step] * 3, *[step + 10] * 3] for step in range(20)]
    data = quoted([header, *rows])
    found = assembled(data)
    assert {name: run.columns["r"][0] for name, run in found.items()} == {"a": 0, "a#2": 10}
    assert any("several runs are called 'a'" in note for note in read(data).notes)


def test_a_third_run_that_is_called_like_a_numbered_one_stays_itself():
    columns = [("a", 0), ("a", 10), ("a#2", 20)]
    header = ["Step", *(f"{name} - r{kind}" for name, _ in columns for kind in ("", "__MIN", "__MAX"))]
    rows = [[step, *(step + offset for _, offset in columns for _ in range(3))] for step in range(20)]
    firsts = sorted(run.columns["r"][0] for run in assembled(quoted([header, *rows])).values())
    assert firsts == [0, 10, 20]


def test_points_that_stand_for_several_values_are_kept_and_counted():
    points = {**curve(20), 4: (0.04, 0.01, 0.09), 7: (0.07, 0.06, 0.08)}
    data = chart({"one": points, "two": curve(20)})
    table = read(data)
    assert table.rows == 40
    (note,) = (note for note in table.notes if "several logged values" in note)
    assert note.startswith("at least 2 of 40 points of 'train/reward' summarise")
    assert COMPLETE_HISTORY in note


def test_a_chart_of_single_values_has_no_such_note():
    assert not any(COMPLETE_HISTORY in note for note in read(chart({"one": curve(1499)})).notes)


@pytest.mark.parametrize("number", [1000, 1500])
def test_as_many_points_as_the_page_draws_at_random_are_noted_where_they_are_uneven(number):
    chance = np.random.default_rng(3)
    steps = np.sort(chance.choice(6000, number, replace=False)).tolist()
    uneven = read(chart({"one": dict.fromkeys(steps, 0.5), "two": curve(number)}))
    (note,) = (note for note in uneven.notes if "random sample" in note)
    assert note.startswith("'one': exactly")


def test_a_group_of_runs_is_called_an_average():
    notes = read(chart({"Group: ppo": curve(20), "ppo": curve(20)})).notes
    assert any(note.startswith("'Group: ppo': by the name, each value is an average") for note in notes)


def test_several_metrics_of_a_chart_are_several_columns():
    header = ["Step", "a - entropy", "a - entropy__MIN", "a - entropy__MAX", "a - reward"]
    rows = [[step, 1, 1, 1, "" if step % 2 else 2] for step in range(20)]
    (run,) = assembled(quoted([header, *rows])).values()
    assert np.isnan(run.columns["reward"][1::2]).all()
    assert run.columns["entropy"].sum() == 20


def test_a_metric_called_like_the_axis_or_like_the_label_gets_a_number():
    axis = chart({"a": curve(20)}, "train/global_step", "train/global_step")
    assert "train/global_step#2" in read(axis).columns
    label = chart({"a": curve(20)}, "run")
    assert next(iter(read(label).columns["run"])) == "a"
    assert "run#2" in read(label).columns


def test_without_a_run_in_the_names_there_is_no_run_column():
    header = ["Step", "reward", "reward__MIN", "reward__MAX"]
    table = read(quoted([header, *([step, 1, 1, 1] for step in range(9))]))
    assert list(table.columns) == ["_step", "reward", "reward__MIN", "reward__MAX"]


@pytest.mark.parametrize("axis", ["Step", "train/global_step", "training/global_step", *CLOCKS])
def test_a_chart_without_bounds_and_quotes_is_known_by_its_axis(axis):
    data = chart({"a": curve(5), "b": curve(5)}, axis=axis, bounds=False).replace('"', "")
    assert CHART.recognises(content(data))


def test_a_chart_without_bounds_over_any_axis_is_known_by_its_quotes():
    data = chart({"a": curve(5), "b": curve(5)}, axis="epoch", bounds=False)
    assert CHART.recognises(content(data))
    assert not CHART.recognises(content(data.replace('"', "")))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_chart_that_a_spreadsheet_has_rewritten_is_read(delimiter):
    data = "\ufeff" + chart({"a": curve(5)}).replace('"', "").replace(",", delimiter) + "\r\n"
    data = data.replace("\n", "\r\n").replace("\r\r", "\r")
    assert CHART.recognises(content(data))
    assert read(data).rows == 5


def test_a_chart_that_pandas_has_rewritten_is_read_without_the_index():
    lines = chart({"a": curve(5)}).replace('"', "").split("\n")
    data = "\n".join([f",{lines[0]}", *(f"{row},{line}" for row, line in enumerate(lines[1:]))])
    assert list(read(data).columns)[:2] == ["_step", "run"]


def test_columns_that_somebody_added_are_named():
    header = ["Step", "a - r", "a - r__MIN", "a - r__MAX", "my mean"]
    table = read(quoted([header, *([step, 1, 1, 1, 5] for step in range(9))]))
    assert "my mean" not in table.columns
    assert any("left out: 'my mean'" in note for note in table.notes)


@pytest.mark.parametrize(
    "text",
    [
        "step,actor/entropy,critic/score/mean\n1,0.5,0.2\n2,0.4,0.3\n",
        '"step","entropy","reward"\n"1","0.5","0.2"\n',
        "epoch,loss - train,loss - val\n1,0.5,0.2\n",
        "step,train - loss,val - loss\n1,0.5,0.2\n",
        "step,entropy - mean,kl,reward\n1,0.5,0.2,3\n",
        "Step,a - 1,a - 2,b - 3,b - 4,c - 5\n1,2,3,4,5,6\n",
        "id,x__MIN,x__MAX,x,name\n1,2,3,4,5\n",
        "Wall time,Step,Value\n1,2,3\n",
        "step:1 - actor/entropy:0.35 - critic/score/mean:0.4\n",
        "2025-01-01 12:00:00,123 - INFO - main - start\n2025-01-01 12:00:01,123 - INFO - main - go\n",
        '{"_step": 1, "a - b": 2}\n{"_step": 2, "a - b": 2}\n',
        "Step\n1\n",
        "",
        "\n\n",
    ],
)
def test_other_texts_are_no_charts(text):
    assert not CHART.recognises(content(text))


def test_a_forced_format_that_does_not_fit_is_refused():
    refused("no-records", CHART, "step,reward\n1,2\n")
    refused("no-records", CHART, "")


def test_a_chart_without_points_is_refused():
    empty = quoted([["Step", "a - r", "a - r__MIN", "a - r__MAX"], [1, "", "", ""], [2, "", "", ""]])
    assert CHART.recognises(content(empty))
    assert "without a single point" in refused("no-records", CHART, empty).message


def test_damaged_rows_are_counted_by_reason():
    lines = chart({"a": curve(9)}).split("\n")
    lines[2] = lines[2].rpartition(",")[0]
    lines[4] += ',"7"'
    lines[6] = lines[6].replace('"', '"x"', 1)
    lines[8] = ",".join(["1"] * 500)
    table = read("\n".join(lines))
    assert table.dropped == {OTHER_LENGTH: 4}
    assert table.rows == 9


@pytest.mark.parametrize("cut", [1, 2, 5, 9])
def test_a_last_row_that_is_cut_off_is_left_out(cut):
    data = chart({"a": dict.fromkeys(range(9), 0.123456)})
    table = read(data[:-cut])
    assert table.dropped == {CUT_OFF: 1}
    assert len(table.columns["run"]) == 8


def test_a_text_in_place_of_a_number_is_left_to_whoever_takes_the_column():
    header = ["Step", "a - r", "a - r__MIN", "a - r__MAX"]
    rows = [[step, "oops" if step == 3 else step, step, step] for step in range(20)]
    (run,) = assembled(quoted([header, *rows])).values()
    assert np.isnan(run.columns["r"][3])
    assert any("with text in place of a number" in note for note in run.notes)


def hostile_chart():
    runs = {"a - b, c": curve(12), "two": {**curve(8), 3: (1, 0, 2)}}
    return chart(runs, axis="train/global_step", counter=lambda x: 2 * x)


def test_many_runs_with_a_metric_each_do_not_multiply():
    number = 1500
    header = ["Step", *(f"r{run} - m{run}{kind}" for run in range(number) for kind in ("", "__MIN", "__MAX"))]
    table = read(quoted([header, *([step, *[0.5] * (3 * number)] for step in range(4))]))
    assert len(table.columns["run"]) == 4 * number
    assert len(table.columns) > 100
    assert sum(len(cells) for cells in table.columns.values()) < 1.1 * (1 << 21)
    assert any("far more columns than values" in note for note in table.notes)


def test_more_columns_than_any_chart_has_are_no_chart():
    header = ",".join(["Step", *("r - m",) * (1 << 17)])
    assert not CHART.recognises(content(header + "\n1\n"))


@pytest.mark.skipif(not REAL_CHART.exists(), reason="the real chart is not at hand")
def test_a_real_chart():
    data = REAL_CHART.read_bytes()
    assert CHART.recognises(content(data))
    runs = assembled(data)
    assert {name: len(run.step) for name, run in runs.items()} == {
        "[paper]GRPO_online": 1280,
        "[paper]GEPO_online": 1295,
        "[paper]GSPO_online": 1295,
    }
    first = runs["[paper]GSPO_online"]
    assert first.step_column == "train/global_step"
    assert first.columns["train/reward"][-1] == 0.5078125
    assert not any("several logged values" in note for note in first.notes)
