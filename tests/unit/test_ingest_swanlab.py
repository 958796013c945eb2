"""SwanLab's CSV files, made by hand as the swanlab package parses them, and damaged."""

import numpy as np
import pytest

from entropylaw.ingest.readers.trackers.charts import CUT_OFF
from entropylaw.ingest.runs.joining import joined
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.registry import reader_of
from tests.hostile import assembled, refused, rows_or_refusal


def exported(columns, rows, quoted=False):
    """Write a file of ``<experiment>-<metric>`` columns; a row is a step and its values, None for none."""
    mark = '"' if quoted else ""
    header = ["step", *(f"{mark}{name}{end}{mark}" for name in columns for end in ("_step", "_timestamp"))]
    lines = [",".join(header)]
    for step, *values in rows:
        cells = ("," if value is None else f"{value},17607{step:08d}" for value in values)
        lines.append(",".join((str(step), *cells)))
    return ("\n".join(lines) + "\n").encode()


def read(data):
    return reader_of("swanlab-csv").read(Content("loss.csv", data))


def parted(*columns):
    table = read(exported(columns, [[0, *range(len(columns))]]))
    return set(table.columns["run"]), set(table.columns) - {"run", "step"}


def runs_of(columns, rows):
    return assembled("swanlab-csv", read(exported(columns, rows)), "p")


@pytest.mark.parametrize("quoted", [False, True])
def test_one_metric_of_one_experiment(quoted):
    data = exported(["t0707-02:17-reward"], [[0, 0.5], [10, None], [20, 0.75]], quoted)
    content = Content("reward.csv", data)
    assert reader_of("swanlab-csv").recognises(content)
    table = reader_of("swanlab-csv").read(content)
    assert list(table.columns["step"]) == [0, 20]
    assert list(table.columns["reward"]) == [0.5, 0.75]
    assert set(table.columns["run"]) == {"t0707-02:17"}
    assert table.partial


def test_several_metrics_of_several_experiments_are_runs():
    columns = [
        f"{run}-{metric}" for run in ("grpo-1", "grpo-2") for metric in ("train/reward", "train/entropy")
    ]
    runs = runs_of(columns, [[step, 0.1, 0.5, 0.2, None if step else 0.4] for step in range(4)])
    assert [run.name for run in runs] == ["grpo-1", "grpo-2"]
    assert list(runs[0].columns["train/entropy"]) == [0.5] * 4
    assert np.array_equal(runs[1].columns["train/entropy"], [0.4, np.nan, np.nan, np.nan], equal_nan=True)
    assert any("separated at a dash" in note for note in runs[0].notes)


def test_the_files_of_one_experiment_are_joined():
    reward = runs_of(["grpo-1-reward"], [[0, 0.5], [1, 0.6], [2, 0.7]])
    entropy = runs_of(["grpo-1-entropy"], [[1, 0.4], [2, 0.3], [3, 0.2]])
    (run,) = joined([*reward, *entropy])
    assert run.name == "grpo-1"
    assert list(run.step) == [0, 1, 2, 3]
    assert np.array_equal(run.columns["entropy"], [np.nan, 0.4, 0.3, 0.2], equal_nan=True)


@pytest.mark.parametrize(
    ("columns", "runs", "metrics"),
    [
        (("a-b-actor/entropy",), {"a-b"}, {"actor/entropy"}),
        (("a-val-core/x/acc/mean@1",), {"a"}, {"val-core/x/acc/mean@1"}),
        (("a-b-lr", "a-b-kl"), {"a-b"}, {"lr", "kl"}),
        (("a-1-my-kl", "b-2-my-kl"), {"a-1-my", "b-2-my"}, {"kl"}),
        (("a-1-kl", "b-2-kl"), {"a-1", "b-2"}, {"kl"}),
        (("实验-reward",), {"实验"}, {"reward"}),
    ],
)
def test_experiments_and_metrics_may_have_dashes(columns, runs, metrics):
    assert parted(*columns) == (runs, metrics)


@pytest.mark.parametrize(
    "header",
    [
        *(
            "step,loss",
            "step",
            "step,a-loss_step",
            "step,a-loss_step,a-kl_timestamp",
            "step,loss_step,loss_timestamp",
        ),
        *("Step,a - loss,a - loss__MIN,a - loss__MAX", "a-loss_step,a-loss_timestamp", "", "step:1 - a:2"),
        'step,"a-loss_step',
    ],
)
def test_other_files_are_not_taken_for_it(header):
    assert not reader_of("swanlab-csv").recognises(Content("a.csv", f"{header}\n1,2,3,4\n".encode()))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks(end, mark):
    data = mark + exported(["a-reward"], [[1, 0.5]]).replace(b"\n", end.encode())
    assert reader_of("swanlab-csv").recognises(Content("a.csv", data))
    assert reader_of("swanlab-csv").recognises(Content("a.csv", data.splitlines()[0]))
    assert list(read(data).columns["reward"]) == [0.5]


def test_a_row_that_was_cut_off_is_counted():
    data = exported(["a-reward", "a-kl"], [[1, 0.5, 0.1], [2, 0.6, 0.2]])[:-20]
    table = read(data)
    assert table.dropped == {CUT_OFF: 1}
    assert (table.rows, len(table.columns["step"])) == (2, 1)


@pytest.mark.parametrize(
    ("data", "slug"),
    [
        (exported(["a-reward"], []), "no-records"),
        (exported(["a-reward"], [[1, None]]), "no-records"),
        (b"a,b\n1,2\n", "file-corrupt"),
        (exported(["a-reward"], [[1, "9" * (1 << 18)]]), "no-records"),
    ],
)
def test_refusals(data, slug):
    refused(slug, read, data)


def test_names_of_nothing_but_dashes():
    columns = ["-" * 50_000 + str(number) for number in range(20)]
    assert rows_or_refusal(read, exported(columns, [[1, *[0.5] * 20]])) > 0
