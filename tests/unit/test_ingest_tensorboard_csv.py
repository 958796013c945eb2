"""Curves downloaded from TensorBoard's page: by hand, made by its own code, damaged, and hostile."""

import gzip
import json
import math
import warnings

import numpy as np
import pytest

from entropylaw.ingest.readers.delimited import CUT_OFF
from entropylaw.ingest.readers.jsonl import UNPARSEABLE
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.opening import load
from entropylaw.ingest.sources.registry import reader_of
from tests.hostile import refused, rows_or_refusal

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


@pytest.mark.parametrize("data", [CSV, JSON, CSV.replace(",", ";"), CSV.replace("\r\n", "\n")])
def test_a_curve(data):
    table = read(data)
    assert list(table.columns) == ["step", "actor_entropy", "run"]
    assert [float(cell) for cell in table.columns["step"]] == [10, 20, 30, 40, 50]
    assert [float(cell) for cell in table.columns["actor_entropy"]] == [1 / step for step in range(1, 6)]
    assert list(table.columns["run"]) == ["PPO_1"] * 5
    assert table.partial
    assert (table.rows, table.dropped) == (5, {})


@pytest.mark.parametrize(
    ("name", "run", "tag"),
    [
        ("run-PPO_1-tag-actor_entropy.csv", "PPO_1", "actor_entropy"),
        ("run-PPO_1-tag-actor_entropy.json", "PPO_1", "actor_entropy"),
        ("down loads/run-a-tag-b.csv", "a", "b"),
        ("run-.-tag-critic_score_mean.csv", None, "critic_score_mean"),
        ("run--tag-reward.csv", None, "reward"),
        ("run_.-tag-reward.csv", None, "reward"),
        ("run_grpo,tag_train_reward.csv", "grpo", "train_reward"),
        ("run-my-tag-v2-tag-train_entropy.csv", "my-tag-v2", "train_entropy"),
        ("run-x-tag-y (1).csv", "x", "y"),
        ("run-x-tag-y(12).csv", "x", "y"),
        ("run-x-tag-y - Copy.csv", "x", "y"),
        ("run-x-tag-y - Copy (2).csv", "x", "y"),
        ("run-x-tag-val-core_gsm8k_acc_mean@1.csv", "x", "val-core_gsm8k_acc_mean@1"),
        ("run-x-tag-Global reward.csv", "x", "Global reward"),
        ("run-x-tag-loss.v1", "x", "loss.v1"),
        ("run-7-tag-y.csv", "run 7", "y"),
        ("run-nan-tag-y.csv", "run nan", "y"),
    ],
)
def test_names(name, run, tag):
    table = read(path=name)
    assert metric(table) == tag
    assert table.columns.get("run", [None])[0] == run


@pytest.mark.parametrize("tag", ["step", "run"])
def test_a_metric_called_as_one_of_our_columns(tag):
    table = read(path=f"run-x-tag-{tag}.csv")
    assert list(table.columns["step"]) == [10, 20, 30, 40, 50]
    assert list(table.columns[f"{tag}#2"]) == [1 / step for step in range(1, 6)]


@pytest.mark.parametrize(
    "name",
    [
        "PPO_1.csv",
        "PPO_1 (1).csv",
        "-",
        "entropy.json",
        "run-x-tag-.csv",
        "run-x-tag- (1).csv",
        "rerun-x-tag-y",
    ],
)
def test_a_name_without_a_metric(name):
    error = refused("metric-unnamed", read, path=name)
    assert "run-NAME-tag-TAG.csv" in error.hint


def test_a_compressed_file_is_called_like_the_one_in_it(tmp_path):
    path = tmp_path / f"{NAME}.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    assert metric(reader_of("tensorboard-csv").read(load(str(path)))) == "actor_entropy"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (CSV, True),
        (JSON, True),
        (json.dumps(POINTS, indent=2), True),
        ('"Wall time","Step","Value"\n1,2,3\n', True),
        ("wall time\tstep\tvalue\n1\t2\t3\n", True),
        (b"\xef\xbb\xbf" + CSV.encode(), True),
        (CSV.encode("utf-16"), True),
        ("Wall time,Step,Value", True),
        ("Wall time,Step,Value,Run\n1,2,3,4\n", False),
        ("Step,Value\n1,2\n", False),
        ("step,entropy,reward\n1,2,3\n", False),
        ("[[1, 2, 3], [4, 5, 6]]", False),
        ("[[1.7e9, 1, 0.5, 3]]", False),
        ('[["a", 1, 0.5]]', False),
        ("[]", False),
        ('[{"step": 1}]', False),
        ("", False),
        (b"\x00\x01\x02" * 100 + CSV.encode(), False),
    ],
)
@pytest.mark.parametrize("name", [NAME, "x.csv"])
def test_recognises(data, expected, name):
    assert reader_of("tensorboard-csv").recognises(content(data, name)) is expected


@pytest.mark.parametrize("data", ["Wall time,Step,Value\n", "Step,Value\n1,2\n", "[[", "[[1.7e9, 1"])
def test_no_points(data):
    refused("no-records", read, data)


def test_a_last_point_that_was_cut_off():
    table = read(CSV[:-10])
    assert table.dropped == {CUT_OFF: 1}
    assert len(table.columns["step"]) == 4
    table = read(JSON[:-5])
    assert table.dropped == {UNPARSEABLE: 1}
    assert len(table.columns["step"]) == 4


def test_as_many_points_as_the_page_gives():
    many = "Wall time,Step,Value\n" + "".join(f"1.7e9,{step},0.5\n" for step in range(1000))
    assert read(many).notes == (
        "1000 points, as many as TensorBoard's page gives: steps between may be missing",
    )
    assert read(many + "1.7e9,1000,0.5\n").notes == ()


def test_a_large_file_keeps_its_columns():
    one = content()
    one.size, one.useful = 1 << 30, lambda name: name == "actor_entropy"
    table = reader_of("tensorboard-csv").read(one)
    assert len(table.columns["actor_entropy"]) == 5


def test_files_that_tensorboard_makes():
    """What its scalars plugin and its JSON encoder answer, nan and infinities as well."""
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tensorboard's own, when it is imported
        from tensorboard.backend import json_util
        from tensorboard.data import provider
        from tensorboard.plugins import base_plugin
        from tensorboard.plugins.scalar import scalars_plugin

    values = [0.5, math.nan, math.inf, -math.inf, float(np.float32(0.1)), -0.0, 1e-30]
    points = [
        provider.ScalarDatum(step=3 * i, wall_time=1.7e9 + i / 7, value=v) for i, v in enumerate(values)
    ]

    class Points:
        def read_scalars(self, ctx, **asked):
            return {"r": {"actor/entropy": points}}

    plugin = scalars_plugin.ScalarsPlugin(base_plugin.TBContext(data_provider=Points()))
    for form in ("csv", None):
        body, _ = plugin.scalars_impl(None, "actor/entropy", "r", "e", form)
        text = body if form else json.dumps(json_util.Cleanse(body))
        assert reader_of("tensorboard-csv").recognises(content(text))
        table = read(text)
        assert [float(cell) for cell in table.columns["step"]] == [3 * i for i in range(len(values))]
        found = np.array([float(cell) for cell in table.columns["actor_entropy"]])
        assert found.tobytes() == np.array(values).tobytes()


@pytest.mark.parametrize(
    "unit", ["[", "[ ", "[1", "[1.7e9,", "[[1.7e9, 1, ", "1", " ", "Wall time,", '"', "run-x-tag-"]
)
def test_hostile_text_takes_time_in_proportion(unit):
    """Quadratic, the least of these would take minutes."""
    for data in (unit * 300_000, JSON[:-1] + unit * 300_000, CSV + unit * 300_000):
        reader_of("tensorboard-csv").recognises(content(data))
        rows_or_refusal(read, data.encode())


@pytest.mark.parametrize("unit", ["run-", "-tag-", ",tag_", " (1)", " - Copy", "(", "x"])
def test_hostile_names_take_time_in_proportion(unit):
    rows_or_refusal(lambda data: read(data, "run-x" + unit * 20_000), CSV)
    rows_or_refusal(lambda data: read(data, unit * 20_000 + ".csv"), CSV)
