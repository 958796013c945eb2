"""Tables and lines of JSON, written by what people write them with."""

import csv
import json

import numpy as np
import pytest

from entropylaw import read_runs
from tests.oracles.trace import VALIDATION, assert_read


@pytest.mark.parametrize("missing", ["", "NaN"])
def test_csv_by_pandas(run, need, tmp_path, missing):
    path = tmp_path / "run.csv"
    need("pandas").DataFrame(run.frame()).to_csv(path, index=False, na_rep=missing)
    assert_read(path, run)


def test_csv_by_pandas_with_its_index(run, need, tmp_path):
    path = tmp_path / "run.csv"
    need("pandas").DataFrame(run.frame()).to_csv(path)
    assert "Unnamed: 0" not in assert_read(path, run).step_column


@pytest.mark.parametrize("dialect", ["excel", "excel-tab", "unix"])
def test_csv_by_pythons_own_module(run, tmp_path, dialect):
    path = tmp_path / "run.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["step", *run.columns], dialect=dialect)
        writer.writeheader()
        writer.writerows({"step": step, **record} for step, record in run.records())
    assert_read(path, run)


@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "none"])
def test_parquet_by_pyarrow(run, need, tmp_path, compression):
    parquet = need("pyarrow.parquet")
    path = tmp_path / "run.parquet"
    parquet.write_table(need("pyarrow").table(run.frame()), path, compression=compression, row_group_size=37)
    assert_read(path, run)


@pytest.mark.parametrize(
    ("package", "name", "write"),
    [
        ("polars", "run.csv", lambda frame, path: frame.write_csv(path)),
        ("polars", "run.parquet", lambda frame, path: frame.write_parquet(path)),
        ("pandas", "run.parquet", lambda frame, path: frame.to_parquet(path)),
    ],
)
def test_tables_by_packages_of_frames(run, need, tmp_path, package, name, write):
    need("pyarrow")
    write(need(package).DataFrame(run.frame()), tmp_path / name)
    assert_read(tmp_path / name, run)


def test_tables_in_memory(run, need):
    assert_read(need("pandas").DataFrame(run.frame()), run)
    assert_read(need("pyarrow").table(run.frame()), run)


def test_jsonl_by_pythons_own_module(run, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(
        "".join(json.dumps({"step": step, **record}) + "\n" for step, record in run.records()), "utf-8"
    )
    assert "NaN" in path.read_text("utf-8")
    assert_read(path, run)


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "as verl's file logger"])
def test_jsonl_by_orjson(run, need, tmp_path, nested):
    orjson = need("orjson")
    path = tmp_path / "run.jsonl"
    with path.open("wb") as file:
        for step, record in run.records():
            line = {"step": step, "data": record} if nested else {"step": step, **record}
            file.write(orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
    assert_read(path, run)


def test_jsonl_by_pandas_keeps_fifteen_digits(run, need, tmp_path):
    path = tmp_path / "run.jsonl"
    need("pandas").DataFrame(run.frame()).to_json(path, orient="records", lines=True, double_precision=15)
    (found,) = read_runs(path)
    assert found.step.tolist() == run.step.tolist()
    for name, cells in run.columns.items():
        np.testing.assert_allclose(found.columns[name], cells, rtol=1e-11, atol=1e-14)
    assert np.isfinite(found.columns[VALIDATION]).sum() == len(run.step) // 10
