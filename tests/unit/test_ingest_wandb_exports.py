"""What is exported from W&B by hand: charts, histories, and tables that have last values only."""

import csv
import io

import numpy as np

from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from tests import hostile

CHART, RUN_TABLE, SUMMARY = reader_of("wandb-chart"), reader_of("wandb-run-table"), reader_of("wandb-summary")
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


def rows_of(header, row, n=9):
    return quoted([header, *(row(step) for step in range(n))])


def damaged():
    lines = chart({"a": curve(9)}).split("\n")
    lines[2] = lines[2].rpartition(",")[0]
    lines[4] += ',"7"'
    lines[6] = lines[6].replace('"', '"x"', 1)
    lines[8] = ",".join(["1"] * 500)
    return "\n".join(lines)


def rewritten(delimiter):
    """As a spreadsheet does."""
    data = "\ufeff" + chart({"a": curve(5)}).replace('"', "").replace(",", delimiter) + "\r\n"
    return data.replace("\n", "\r\n").replace("\r\r", "\r")


def with_index():
    """As pandas does."""
    lines = chart({"a": curve(5)}).replace('"', "").split("\n")
    return "\n".join([f",{lines[0]}", *(f"{row},{line}" for row, line in enumerate(lines[1:]))])


def random_steps(number):
    return np.sort(np.random.default_rng(3).choice(6000, number, replace=False)).tolist()


BOUNDS = ("a - r", "a - r__MIN", "a - r__MAX")
CLOCKS = ["Relative Time (Process)", "Relative Time (Wall)", "Wall Time", "_timestamp"]
AXES = ("Step", "train/global_step", "training/global_step", *CLOCKS, "epoch")
LIKE_HEADERS = ["grpo - seed 1 - lr 1e-6", 'a, "b", c', "[paper]GRPO_online", "x__MIN", "naïve 测试", "Step"]
LIKE_NUMBERS = ["7", "007", "7.0", "1e5", "nan", "None", "-", ""]
TWICE = ["Step", *(f"a - r{kind}" for _ in range(2) for kind in ("", "__MIN", "__MAX"))]
THRICE = [*TWICE, *(f"a#2 - r{kind}" for kind in ("", "__MIN", "__MAX"))]
SEVERAL = {**curve(20), 4: (0.04, 0.01, 0.09), 7: (0.07, 0.06, 0.08)}
LAST = chart({"a": dict.fromkeys(range(9), 0.123456)})
CHARTS = {
    "over W&B's step": chart({"one": curve(5), "two": curve(3, 1.0)}, "actor/entropy"),
    "runs of different length": chart({"long": curve(40), "short": curve(25, 2.0)}),
    "another axis": chart({"one": curve(30)}, axis="train/global_step", counter=lambda x: 179 + 29 * x),
    "a clock": chart({"one": curve(30)}, axis=CLOCKS[0], counter=lambda x: 3 * x),
    **{f"a clock without a step: {axis}": chart({"one": curve(30)}, axis=axis) for axis in CLOCKS},
    "runs called as headers are": chart({name: curve(20, at) for at, name in enumerate(LIKE_HEADERS)}, "acc"),
    "runs called as numbers are": chart({name: curve(20, at) for at, name in enumerate(LIKE_NUMBERS)}, "acc"),
    "two runs of one name": rows_of(TWICE, lambda step: [step, *[step] * 3, *[step + 10] * 3]),
    "a third called as a numbered one": rows_of(
        THRICE, lambda step: [step, *(step + k for k in (0, 10, 20) for _ in "abc")]
    ),
    "points that stand for several values": chart({"one": SEVERAL, "two": curve(20)}),
    "single values": chart({"one": curve(1499)}),
    "uneven points": chart({"one": dict.fromkeys(random_steps(1000), 0.5), "two": curve(1000)}),
    "more uneven points": chart({"one": dict.fromkeys(random_steps(1500), 0.5), "two": curve(1500)}),
    "a group of runs": chart({"Group: ppo": curve(20), "ppo": curve(20)}),
    "several metrics": rows_of(
        ["Step", "a - entropy", "a - entropy__MIN", "a - entropy__MAX", "a - reward"],
        lambda step: [step, 1, 1, 1, "" if step % 2 else 2],
    ),
    "a metric called as the axis": chart({"a": curve(20)}, "train/global_step", "train/global_step"),
    "a metric called as the label": chart({"a": curve(20)}, "run"),
    "no run in the names": rows_of(
        ["Step", "reward", "reward__MIN", "reward__MAX"], lambda step: [step, 1, 1, 1]
    ),
    **{
        f"without bounds and quotes: {axis}": chart({"a": curve(5)}, axis=axis, bounds=False).replace('"', "")
        for axis in AXES
    },
    "without bounds": chart({"a": curve(5), "b": curve(5)}, axis="epoch", bounds=False),
    "rewritten with semicolons": rewritten(";"),
    "rewritten with tabs": rewritten("\t"),
    "rewritten by pandas": with_index(),
    "a column that somebody added": rows_of(["Step", *BOUNDS, "my mean"], lambda step: [step, 1, 1, 1, 5]),
    "no chart": "step,reward\n1,2\n",
    "nothing": "",
    "no points": quoted([["Step", *BOUNDS], [1, "", "", ""], [2, "", "", ""]]),
    "damaged rows": damaged(),
    **{f"a last row that lacks {cut} characters": LAST[:-cut] for cut in (1, 2, 5, 9)},
    "a text": rows_of(["Step", *BOUNDS], lambda step: [step, "oops" if step == 3 else step, step, step]),
}
SAMPLES = {title: ("wandb-chart", "x.csv", text) for title, text in CHARTS.items()}
