"""Tables and lines of JSON, written by what people write them with."""

import csv
import json

import numpy as np
import pytest

from entropylaw import read_runs
from tests.oracles.trace import VALIDATION, assert_read


def csv_file(run, path, dialect):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["step", *run.columns], dialect=dialect)
        writer.writeheader()
        writer.writerows({"step": step, **record} for step, record in run.records())


def orjson_file(run, path, need, *, nested):
    orjson = need("orjson")
    lines = ({"step": s, "data": record} if nested else {"step": s, **record} for s, record in run.records())
    path.write_bytes(
        b"".join(orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n" for line in lines)
    )


def parquet_file(run, path, need, compression):
    table = need("pyarrow").table(run.frame())
    need("pyarrow.parquet").write_table(table, path, compression=compression, row_group_size=37)


def frame(run, need, package="pandas"):
    need("pyarrow")
    return need(package).DataFrame(run.frame())


WRITERS = {
    "pandas.csv": lambda run, path, need: frame(run, need).to_csv(path, index=False),
    "pandas NaN.csv": lambda run, path, need: frame(run, need).to_csv(path, index=False, na_rep="NaN"),
    "pandas with its index.csv": lambda run, path, need: frame(run, need).to_csv(path),
    "pandas.parquet": lambda run, path, need: frame(run, need).to_parquet(path),
    "polars.csv": lambda run, path, need: frame(run, need, "polars").write_csv(path),
    "polars.parquet": lambda run, path, need: frame(run, need, "polars").write_parquet(path),
    **{
        f"{dialect}.csv": lambda run, path, need, dialect=dialect: csv_file(run, path, dialect)
        for dialect in ("excel", "excel-tab", "unix")
    },
    **{
        f"{name}.parquet": lambda run, path, need, name=name: parquet_file(run, path, need, name)
        for name in ("snappy", "zstd", "gzip", "none")
    },
    "json.jsonl": lambda run, path, need: path.write_text(
        "".join(json.dumps({"step": step, **record}) + "\n" for step, record in run.records()), "utf-8"
    ),
    "orjson.jsonl": lambda run, path, need: orjson_file(run, path, need, nested=False),
    "verl's file logger.jsonl": lambda run, path, need: orjson_file(run, path, need, nested=True),
}


@pytest.mark.parametrize("name", WRITERS)
def test_tables(run, need, tmp_path, name):
    WRITERS[name](run, tmp_path / name, need)
    assert assert_read(tmp_path / name, run).step_column == "step"


def test_tables_in_memory(run, need):
    assert_read(frame(run, need), run)
    assert_read(need("pyarrow").table(run.frame()), run)


def test_jsonl_by_pandas_keeps_fifteen_digits(run, need, tmp_path):
    path = tmp_path / "run.jsonl"
    frame(run, need).to_json(path, orient="records", lines=True, double_precision=15)
    (found,) = read_runs(path)
    assert found.step.tolist() == run.step.tolist()
    for name, cells in run.columns.items():
        np.testing.assert_allclose(found.columns[name], cells, rtol=1e-11, atol=1e-14)
    assert np.isfinite(found.columns[VALIDATION]).sum() == len(run.step) // 10
