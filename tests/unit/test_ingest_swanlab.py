"""SwanLab's CSV files, made by hand as the swanlab package parses them, and damaged."""

import numpy as np

from entropylaw.logs.runs.joining import joined
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from tests.hostile import assembled, rows_or_refusal


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


def runs_of(columns, rows):
    return assembled("swanlab-csv", read(exported(columns, rows)), "p")


def test_the_files_of_one_experiment_are_joined():
    reward = runs_of(["grpo-1-reward"], [[0, 0.5], [1, 0.6], [2, 0.7]])
    entropy = runs_of(["grpo-1-entropy"], [[1, 0.4], [2, 0.3], [3, 0.2]])
    (run,) = joined([*reward, *entropy])
    assert run.name == "grpo-1"
    assert list(run.step) == [0, 1, 2, 3]
    assert np.array_equal(run.columns["entropy"], [np.nan, 0.4, 0.3, 0.2], equal_nan=True)


def test_names_of_nothing_but_dashes():
    columns = ["-" * 50_000 + str(number) for number in range(20)]
    assert rows_or_refusal(read, exported(columns, [[1, *[0.5] * 20]])) > 0


ONE, TWO = exported(["a-reward"], [[1, 0.5]]), exported(["a-reward", "a-kl"], [[1, 0.5, 0.1], [2, 0.6, 0.2]])
EXPERIMENTS = [
    f"{run}-{metric}" for run in ("grpo-1", "grpo-2") for metric in ("train/reward", "train/entropy")
]
DASHES = (
    *(("a-b-actor/entropy",), ("a-val-core/x/acc/mean@1",), ("a-b-lr", "a-b-kl"), ("a-1-my-kl", "b-2-my-kl")),
    *(("a-1-kl", "b-2-kl"), ("实验-reward",)),
)
FILES = {
    "one metric": exported(["t0707-02:17-reward"], [[0, 0.5], [10, None], [20, 0.75]]),
    "one metric in quotes": exported(["t0707-02:17-reward"], [[0, 0.5], [10, None], [20, 0.75]], quoted=True),
    "several": exported(EXPERIMENTS, [[step, 0.1, 0.5, 0.2, None if step else 0.4] for step in range(4)]),
    **{" and ".join(names): exported(names, [[0, *range(len(names))]]) for names in DASHES},
    "a byte order mark and line ends of Windows": b"\xef\xbb\xbf" + ONE.replace(b"\n", b"\r\n"),
    "a row that was cut off": TWO[:-20],
    "no rows": exported(["a-reward"], []),
    "no values": exported(["a-reward"], [[1, None]]),
    "no file of SwanLab": b"a,b\n1,2\n",
    "a cell without an end": exported(["a-reward"], [[1, "9" * (1 << 18)]]),
}
SAMPLES = {title: ("swanlab-csv", "loss.csv", data) for title, data in FILES.items()}
