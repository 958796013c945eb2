"""Curves downloaded from TensorBoard's page: by hand, made by its own code, damaged, and hostile."""

import gzip
import json

import pytest

from entropylaw.logs.sources.content import Content, load
from entropylaw.logs.sources.registry import reader_of
from tests.hostile import rows_or_refusal

NAME = "run-PPO_1-tag-actor_entropy.csv"
POINTS = [(1.7e9 + 0.25 * step, 10 * step, 1 / step) for step in range(1, 6)]
CSV = "Wall time,Step,Value\r\n" + "".join(f"{wall},{step},{value}\r\n" for wall, step, value in POINTS)
JSON = json.dumps(POINTS)


def content(data=CSV, path=NAME):
    return Content(path, data if isinstance(data, bytes) else data.encode())


def read(data=CSV, path=NAME):
    return reader_of("tensorboard-csv").read(content(data, path))


def metric(table):
    (name,) = [name for name in table.columns if name not in ("step", "run")]
    return name


def test_a_compressed_file_is_called_like_the_one_in_it(tmp_path):
    path = tmp_path / f"{NAME}.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    assert metric(reader_of("tensorboard-csv").read(load(str(path)))) == "actor_entropy"


def test_a_large_file_keeps_its_columns():
    one = content()
    one.size, one.useful = 1 << 30, lambda name: name == "actor_entropy"
    assert len(reader_of("tensorboard-csv").read(one).columns["actor_entropy"]) == 5


@pytest.mark.parametrize("unit", ["run-", "-tag-", ",tag_", " (1)", " - Copy", "(", "x"])
def test_hostile_names_take_time_in_proportion(unit):
    rows_or_refusal(lambda data: read(data, "run-x" + unit * 20_000), CSV)
    rows_or_refusal(lambda data: read(data, unit * 20_000 + ".csv"), CSV)


MANY = "Wall time,Step,Value\n" + "".join(f"1.7e9,{step},0.5\n" for step in range(1000))
NAMES = (
    *("run-PPO_1-tag-actor_entropy.csv", "run-PPO_1-tag-actor_entropy.json", "down loads/run-a-tag-b.csv"),
    *("run-.-tag-critic_score_mean.csv", "run--tag-reward.csv", "run_.-tag-reward.csv"),
    *("run_grpo,tag_train_reward.csv", "run-my-tag-v2-tag-train_entropy.csv", "run-x-tag-y (1).csv"),
    *("run-x-tag-y(12).csv", "run-x-tag-y - Copy.csv", "run-x-tag-y - Copy (2).csv"),
    *("run-x-tag-val-core_gsm8k_acc_mean@1.csv", "run-x-tag-Global reward.csv", "run-x-tag-loss.v1"),
    *("run-7-tag-y.csv", "run-nan-tag-y.csv", "run-x-tag-step.csv", "run-x-tag-run.csv"),
    *(
        "PPO_1.csv",
        "PPO_1 (1).csv",
        "-",
        "entropy.json",
        "run-x-tag-.csv",
        "run-x-tag- (1).csv",
        "rerun-x-tag-y",
    ),
)
CURVES = {
    "a curve": CSV,
    "in JSON": JSON,
    "with semicolons": CSV.replace(",", ";"),
    "with line feeds": CSV.replace("\r\n", "\n"),
    "a last point that was cut off": CSV[:-10],
    "a last point that was cut off in JSON": JSON[:-5],
    "as many points as the page gives": MANY,
    "more points than the page gives": MANY + "1.7e9,1000,0.5\n",
    **{
        f"no points: {text!r}": text
        for text in ("Wall time,Step,Value\n", "Step,Value\n1,2\n", "[[", "[[1.7e9, 1")
    },
}
SAMPLES = {title: ("tensorboard-csv", NAME, text) for title, text in CURVES.items()} | {
    name: ("tensorboard-csv", name, CSV) for name in NAMES
}
