"""What is exported from W&B by hand: charts, histories, and tables that have last values only."""

import csv
import io
import json

import numpy as np
import pytest

from entropylaw.errors import InputError
from entropylaw.ingest.assemble import assemble
from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.delimited import CUT_OFF, TOO_LONG
from entropylaw.ingest.formats.wandb_chart import SHORT, UNREADABLE_ROW
from entropylaw.ingest.formats.wandb_export import (
    COMPLETE_HISTORY,
    history_notes,
)
from entropylaw.ingest.registry import reader_of
from entropylaw.results.columns import Source
from tests.conftest import PUBLIC_LOGS
from tests.hostile import flipped, rows_or_refusal

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
    table = read(data)
    source = Source(path="x.csv", format=CHART.name, sha256="", rows=table.rows)
    return {run.name: run for run in assemble(table, source, "x")[0]}


def curve(length, start=0.0):
    return {step: start + step / 100 for step in range(length)}


def refused(reader, data, name="x.csv"):
    with pytest.raises(InputError) as caught:
        reader.read(content(data, name))
    return caught.value


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
    error = refused(CHART, data)
    assert error.slug == "no-step-column"
    assert axis in error.message
    assert COMPLETE_HISTORY in error.hint


NAMES = ["grpo - seed 1 - lr 1e-6", 'a, "b", c', "[paper]GRPO_online", "x__MIN", "naïve 测试", "Step"]


def test_run_names_may_hold_what_the_header_is_made_of():
    runs = {name: curve(20, position) for position, name in enumerate(NAMES)}
    found = assembled(chart(runs, "critic/score/mean"))
    assert set(found) == set(NAMES)
    for position, name in enumerate(NAMES):
        assert found[name].columns["critic/score/mean"][0] == position


def test_names_that_look_like_numbers_or_like_nothing_stay_apart():
    names = ["7", "007", "7.0", "1e5", "nan", "None", "-", ""]
    found = assembled(chart({name: curve(20, position) for position, name in enumerate(names)}))
    assert set(found) == {f"run={name}" for name in names}
    for position, name in enumerate(names):
        assert found[f"run={name}"].columns["train/reward"][0] == position


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
    assert note.startswith("at least 2 of 40 points of 'train/reward' stand for")
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
    assert refused(CHART, "step,reward\n1,2\n").slug == "no-records"
    assert refused(CHART, "").slug == "no-records"


def test_a_chart_without_points_is_refused():
    empty = quoted([["Step", "a - r", "a - r__MIN", "a - r__MAX"], [1, "", "", ""], [2, "", "", ""]])
    assert CHART.recognises(content(empty))
    error = refused(CHART, empty)
    assert error.slug == "no-records"
    assert "without a single point" in error.message


def test_damaged_rows_are_counted_by_reason():
    lines = chart({"a": curve(9)}).split("\n")
    lines[2] = lines[2].rpartition(",")[0]
    lines[4] += ',"7"'
    lines[6] = lines[6].replace('"', '"x"', 1)
    lines[8] = ",".join(["1"] * 500)
    table = read("\n".join(lines))
    assert table.dropped == {SHORT: 1, TOO_LONG: 2, UNREADABLE_ROW: 1}
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
    return chart(runs, axis="train/global_step", counter=lambda x: 2 * x).encode()


def test_cut_anywhere_a_chart_gives_rows_or_a_refusal():
    whole = hostile_chart()
    rows = [rows_or_refusal(read, whole[:end]) for end in range(len(whole) + 1)]
    assert rows[-1] == 20
    assert rows == sorted(rows)


def test_bits_turned_over_give_rows_or_a_refusal():
    whole = hostile_chart()
    rows = []
    for data in flipped(whole):
        CHART.recognises(content(data))
        RUN_TABLE.recognises(content(data))
        rows.append(rows_or_refusal(read, data))
    assert rows.count(20) > 30
    assert min(rows) == 0


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


@pytest.mark.skipif(not REAL_CHART.exists(), reason="the real chart is not at hand")
def test_a_real_chart_cut_and_damaged():
    whole = REAL_CHART.read_bytes()
    for end in range(0, len(whole), 9973):
        rows_or_refusal(read, whole[:end])
    for data in flipped(whole[:20_000], 40):
        rows_or_refusal(read, data)


# Histories


def test_a_complete_history_has_no_note():
    assert history_notes(HISTORY, np.arange(500), 500) == ()
    assert history_notes(HISTORY, [str(step) for step in range(42)], 42) == ()
    assert history_notes(HISTORY, np.arange(7, 90), 83) == ()
    assert history_notes(HISTORY, np.concatenate((np.arange(50), np.arange(70))), 120) == ()


def test_a_history_with_gaps_of_one_length_has_no_note():
    assert history_notes(HISTORY, 179 + 29 * np.arange(300), 300) == ()


@pytest.mark.parametrize("rows", [500, 503, 524])
def test_about_500_rows_with_gaps_look_sampled(rows):
    steps = np.sort(np.random.default_rng(1).choice(9000, rows, replace=False))
    (note,) = history_notes(HISTORY, steps, rows)
    assert f"with {rows} rows of a run" in note
    assert "run.history() returns about 500 sampled rows" in note
    assert COMPLETE_HISTORY in note
    assert history_notes(HISTORY, steps[::-1], rows) == (note,)


def test_two_sampled_runs_below_each_other_look_sampled():
    steps = np.sort(np.random.default_rng(1).choice(9000, 500, replace=False))
    (note,) = history_notes(HISTORY, np.concatenate((steps, steps)), 1000)
    assert "with 500 rows of a run" in note


def test_other_gaps_may_be_innocent_and_the_note_says_so():
    (note,) = history_notes(HISTORY, [0, 1, 2, 5, 6, 9, 10], 7)
    assert "'_step' jumps in 2 of 6 places" in note
    assert "only rows with certain keys were asked for" in note


def test_a_history_whose_steps_were_not_kept_may_be_sampled():
    (note,) = history_notes(HISTORY, None, 70)
    assert "maybe sampled" in note


def test_what_is_no_history_has_no_note():
    gaps = [0, 5, 7]
    assert history_notes(("_step", "reward"), gaps, 3) == ()
    assert history_notes(("step", "_runtime"), gaps, 3) == ()
    assert history_notes(("_step", "_timestamp"), gaps, 3) != ()


@pytest.mark.parametrize(
    "steps", [[], [3], ["x", None, "y"], [np.nan, np.inf, 1], [1e308, -1e308, 1e308], [2, 2, 2], [None] * 9]
)
def test_steps_that_tell_nothing_give_no_note_and_no_error(steps):
    assert history_notes(HISTORY, steps, len(steps)) == ()


@pytest.mark.skipif(not REAL_HISTORY.exists(), reason="the real history is not at hand")
def test_a_real_history_is_complete():
    with REAL_HISTORY.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert history_notes(list(rows[0]), [row["_step"] for row in rows], len(rows)) == ()
    without = [row["_step"] for row in rows if row["_step"] not in ("7", "9", "20")]
    assert "jumps in 3 of 38 places" in history_notes(list(rows[0]), without, len(without))[0]
    assert not RUN_TABLE.recognises(content(REAL_HISTORY.read_bytes()))
    assert not CHART.recognises(content(REAL_HISTORY.read_bytes()))


# Tables of runs

OWN = ["Name", "Agent", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep"]
STATES = ("finished", "failed", "running", "crashed")


def run_table(own=OWN, rows=6, names="run-{}"):
    cells = {
        "Name": names.format,
        "Agent": lambda _: "",
        "State": lambda row: STATES[row % 4],
        "Notes": lambda row: "-" if row else 'a "note",\nover two lines',
        "User": lambda _: "somebody",
        "Tags": lambda _: "a, b",
        "Created": lambda row: f"2025-11-13T09:{row:02d}:11.000Z",
        "Updated": lambda row: f"2025-11-14T09:{row:02d}:11.000Z",
        "Runtime": lambda row: 100 * row,
        "Sweep": lambda _: "1wfhjnkh",
        "GPU Type": lambda _: "A100",
    }
    table = [[*(cells[name](row) for name in own), 0.5, 0.1 * row, 7] for row in range(rows)]
    return quoted([[*own, "lr", "train/reward", "_step"], *table])


@pytest.mark.parametrize(
    "own",
    [
        OWN,
        ["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep"],
        ["Name", "State", "Notes", "User", "Tags", "Created", "Updated", "Runtime", "GPU Type"],
        ["Name", "Runtime", "Notes", "Tags"],
    ],
)
@pytest.mark.parametrize("rows", [1, 6, 300])
def test_a_table_of_runs_is_refused(own, rows):
    data = run_table(own, rows)
    assert RUN_TABLE.recognises(content(data))
    assert not CHART.recognises(content(data))
    error = refused(RUN_TABLE, data)
    assert error.slug == "last-values-only"
    assert "a row a run" in error.message
    assert COMPLETE_HISTORY in error.hint


def test_a_table_of_runs_without_quotes_and_with_same_names_is_known():
    own = ["Name", "State", "User", "Created", "Sweep"]
    assert RUN_TABLE.recognises(content(run_table(own, names="same").replace('"', "")))


def test_the_table_that_wandbs_documentation_makes_of_all_runs_is_known():
    header = ["", "summary", "config", "name"]
    rows = [[row, str({"reward": row, "_step": 9}), str({"lr": 1e-6}), f"run-{row}"] for row in range(3)]
    assert RUN_TABLE.recognises(content(quoted([header, *rows])))
    assert not RUN_TABLE.recognises(content(quoted([header, *([1, 2, 3, 4] for _ in range(3))])))


@pytest.mark.parametrize(
    "text",
    [
        "step,entropy,reward\n1,2,3\n",
        "Name,State,step,reward\na,finished,1,2\n",
        "Name,State,User,Tags,Created\n",
        "Name,State,User,Tags,Created\nBerlin,open,me,x,2020\nRome,closed,me,x,2021\n",
        "Name\n1\n",
        "Name of the run: x\nstep:1 - a:2\n",
        "",
    ],
)
def test_other_tables_are_no_tables_of_runs(text):
    assert not RUN_TABLE.recognises(content(text))


def test_a_history_with_the_runs_own_columns_on_every_row_is_no_table_of_runs():
    header = ["Name", "State", "User", "Created", "Runtime", "_step", "reward"]
    rows = [["a", "finished", "me", "2025", 9 * step, step, 0.1] for step in range(30)]
    assert not RUN_TABLE.recognises(content(quoted([header, *rows])))


def test_a_damaged_table_of_runs_raises_nothing():
    whole = run_table().encode()
    found = [RUN_TABLE.recognises(content(whole[:end])) for end in range(0, len(whole) + 1, 7)]
    assert any(found)
    assert sum(RUN_TABLE.recognises(content(data)) for data in flipped(whole)) > 100
    assert not RUN_TABLE.recognises(content("Name," * (1 << 17) + "\n1\n"))
    assert not RUN_TABLE.recognises(content('Name,State,User,Tags\n"' + "a\n" * 5000))
    RUN_TABLE.recognises(content("Name,State,User,Tags\n" + '"' + "a" * 200_000 + '",finished,b,c\n'))


# Summaries

SUMMARIES = [
    {"train/reward": 0.5, "_timestamp": 1.7e9, "_runtime": 2.5, "_step": 525, "_wandb": {"runtime": 2}},
    {"actor": {"entropy": 0.3}, "_wandb": {"runtime": 130}},
    {"_wandb": {"runtime": 7}},
    {"loss": float("nan"), "_runtime": 4, "_step": 4, "_timestamp": 1644345412},
    {"media": {"_type": "histogram", "values": [1, 2]}, "_step": 10**20, "_runtime": 1, "_wandb": {}},
    {**{f"metric {number}": number for number in range(9000)}, "_wandb": {"runtime": 3}},
]


@pytest.mark.parametrize("summary", SUMMARIES)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_summary_is_refused(summary, indent):
    data = json.dumps(summary, indent=indent) + "\n"
    assert SUMMARY.recognises(content(data, "wandb-summary.json"))
    error = refused(SUMMARY, data, "wandb-summary.json")
    assert error.slug == "last-values-only"
    assert ".wandb" in error.hint


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    "text",
    [
        lines({"_step": step, "_runtime": 9.5, "reward": 0.5} for step in range(3)),
        lines({"step": step, "data": {"actor/entropy": 0.5}} for step in range(3)),
        lines([{"step": 1, "data": {"actor/entropy": 0.5, "_step": 1, "_runtime": 2}}]),
        lines({"_step": step, "_runtime": 9.5, "note": "x" * 70_000} for step in range(3)),
        json.dumps([SUMMARIES[0]]),
        json.dumps({"_step": [1, 2, 3], "_runtime": [4, 5, 6], "reward": [7, 8, 9]}),
        json.dumps({"_step": {"0": 1, "1": 2}, "_runtime": {"0": 3, "1": 4}, "_wandb": {"runtime": 1}}),
        json.dumps({"_wandb": {"value": {"cli_version": "0.31.0"}}, "lr": {"value": 1e-6}}),
        json.dumps({"log_history": [{"step": 1, "reward": 0.5}], "global_step": 1}),
        json.dumps({"reward": 0.5}),
        "{" * 100_000,
        '{"_wandb": ' * 100_000,
        '{"_step": ' + "9" * 5000,
        "{}",
        "[]",
        "3",
        "",
    ],
)
def test_other_json_is_no_summary(text):
    assert not SUMMARY.recognises(content(text, "wandb-summary.json"))


def test_a_summary_that_was_cut_off_is_none():
    whole = json.dumps(SUMMARIES[0])
    assert not any(SUMMARY.recognises(content(whole[:end])) for end in range(len(whole)))
    for data in flipped(whole.encode()):
        SUMMARY.recognises(content(data))
