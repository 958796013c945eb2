"""The same summary from DuckDB and from a local Spark, to the last byte."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import clean_environment

ROWS = int(os.environ.get("ENTROPYLAW_SPARK_ROWS", "200000"))
CHUNK = 1_000_000

pytestmark = [
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: entropylaw[spark]"),
    pytest.mark.skipif(
        shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Java is not installed"
    ),
]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    """A folder of four shards with every column, and what is no entropy: nan, null, zeros, masked rows."""
    folder = tmp_path_factory.mktemp("spark") / "tokens"
    folder.mkdir()
    rng = np.random.default_rng(7)
    for shard in range(4):
        with pq.ParquetWriter(folder / f"part-0000{shard}-of-00004.parquet", chunk(rng, 1).schema) as writer:
            left = ROWS // 4
            while left:
                rows = min(left, CHUNK)
                writer.write_table(chunk(rng, rows))
                left -= rows
    return folder


def chunk(rng, rows):
    planning = rng.random(rows) < 0.3
    entropy = rng.lognormal(np.where(planning, -1, -4), 1.8).clip(0, 7).astype(np.float32)
    entropy[rng.random(rows) < 0.02] = 0
    entropy[rng.random(rows) < 0.001] = np.nan
    entropy[rng.random(rows) < 0.001] = -1e-7
    names = np.array(["planning", "execution", None], dtype=object)
    kinds = np.where(rng.random(rows) < 0.01, 2, 1 - planning)
    return pa.table(
        {
            "step": rng.integers(0, 40, rows).astype(np.int32),
            "prompt": rng.integers(0, 200, rows).astype(np.int16),
            "sample": rng.integers(0, 8, rows).astype(np.int8),
            "entropy": pa.array(entropy, mask=rng.random(rows) < 0.001),
            "logprob": (-rng.exponential(1, rows)).astype(np.float32),
            "class": pa.array(names[kinds], pa.string()),
            "correct": pa.array(rng.random(rows) < 0.5, mask=rng.random(rows) < 0.01),
            "loss_mask": rng.random(rows) < 0.97,
        }
    )


def summarised(folder, tables, name, *options):
    command = [sys.executable, "-m", "entropylaw", "tokens", *map(str, tables), "-o", name, *options]
    done = subprocess.run(
        command, cwd=folder, env=clean_environment(), capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return [(folder / name).read_bytes(), (folder / name.replace(".", ".hist.")).read_bytes(), done.stdout]


SPARK = ("--backend", "spark", "--master", "local[2]")


def test_the_same_bytes_from_both(tokens, tmp_path):
    here = summarised(tmp_path, [tokens], "duckdb.parquet")
    there = summarised(tmp_path, [tokens], "spark.parquet", *SPARK)
    assert here == there
    table = pq.read_table(tmp_path / "spark.parquet")
    assert sum(table.column("tokens").to_pylist()) < ROWS // 4 * 4
    assert min(table.column("tokens_without_entropy").to_pylist()) >= 0
    assert None not in table.column("entropy_se_responses").to_pylist()


def test_sequences_in_json_lines_too(tmp_path):
    folder = tmp_path / "token_exports" / "step_3"
    folder.mkdir(parents=True)
    line = (
        '{"step": 3, "rank": %d, "export_sequence_idx": %d, "loss_mask": [false, true, true], '
        '"entropy": [11.93, 0.25, %s], "trainer_logprobs": [-1, -0.5, null], "position_ids": [0, 1, 2]}\n'
    )
    for rank in (0, 1):
        text = "".join(line % (rank, at, value) for at, value in enumerate(("0.5", "0", "null")))
        (folder / f"rank_{rank}.jsonl").write_text(text, encoding="utf-8")
    here = summarised(tmp_path, ["token_exports"], "duckdb.parquet")
    assert here == summarised(tmp_path, ["token_exports"], "spark.parquet", *SPARK)
    assert pq.read_table(tmp_path / "duckdb.parquet").column("tokens").to_pylist() == [10]


def test_partitions_named_by_folders_too(tokens, tmp_path):
    table = pq.read_table(next(tokens.iterdir())).slice(0, 2000)
    pq.write_to_dataset(table, tmp_path / "hive", partition_cols=["step"])
    here = summarised(tmp_path, ["hive"], "duckdb.parquet")
    assert here == summarised(tmp_path, ["hive"], "spark.parquet", *SPARK)


def test_a_cluster_that_is_not_there(tokens, tmp_path):
    command = [
        sys.executable,
        "-m",
        "entropylaw",
        "tokens",
        str(tokens),
        "--backend",
        "spark",
        "--master",
        "no",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env=clean_environment(), capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 2
    assert "error[spark-failed]" in done.stderr
    assert not list(tmp_path.iterdir())
