"""The same summary from DuckDB and from a local Spark, to the last byte."""

import json
import math
import os
import shutil
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw.tokens import query
from entropylaw.tokens.columns import resolve
from entropylaw.tokens.files import find
from entropylaw.tokens.on_duckdb import duckdb_backend
from entropylaw.tokens.options import TokenOptions
from entropylaw.tokens.run import tokens_of
from tests.conftest import nightly
from tests.typed import assert_says
from tests.unit.test_table_names import sampled, written

NAN = float("nan")
ROWS = int(os.environ.get("ENTROPYLAW_SPARK_ROWS", "8000"))
CHUNK = 1_000_000

pytestmark = [
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: entropylaw[spark]"),
    pytest.mark.skipif(
        shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Java is not installed"
    ),
]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    """A folder of four shards with every column, and nan, null, zeros and masked rows."""
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


#: A Java that starts quickly and leaves the other cores alone.
JAVA = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@pytest.fixture
def summarised(run, tmp_path):
    """The files and output for tables; all Spark sessions are in one Java, which ends with this process."""

    def made(tables, name, *options):
        done = run("tokens", *tables, "-o", name, *options, **JAVA)
        assert done.returncode == 0, done.stderr
        return [(tmp_path / name).read_bytes(), done.stdout]

    return made


SPARK = ("--backend", "spark", "--master", "local[2]")


def test_the_same_bytes_from_both(tokens, tmp_path, summarised):
    here = summarised([tokens], "duckdb.parquet")
    there = summarised([tokens], "spark.parquet", *SPARK)
    assert here == there
    table = pq.read_table(tmp_path / "spark.parquet")
    assert sum(table.column("tokens").to_pylist()) < ROWS // 4 * 4
    assert min(table.column("tokens_without_entropy").to_pylist()) >= 0
    assert None not in table.column("entropy_se_responses").to_pylist()
    assert None not in table.column("entropy_se_prompts").to_pylist()


@nightly
def test_sequences_in_json_lines_too(tmp_path, summarised):
    folder = tmp_path / "token_exports" / "step_3"
    folder.mkdir(parents=True)
    line = (
        '{"step": 3, "rank": %d, "export_sequence_idx": %d, "loss_mask": [false, true, true], '
        '"entropy": [11.93, 0.25, %s], "trainer_logprobs": [-1, -0.5, null], "position_ids": [0, 1, 2]}\n'
    )
    for rank in (0, 1):
        text = "".join(line % (rank, at, value) for at, value in enumerate(("0.5", "0", "null")))
        (folder / f"rank_{rank}.jsonl").write_text(text, encoding="utf-8")
    here = summarised(["token_exports"], "duckdb.parquet")
    assert here == summarised(["token_exports"], "spark.parquet", *SPARK)
    assert pq.read_table(tmp_path / "duckdb.parquet").column("tokens").to_pylist() == [10]


def test_rows_without_an_identifier_and_flags_of_text(tmp_path, summarised):
    """A row is a response; a list is null; flags and steps are text; a prompt has several responses."""
    rng = np.random.default_rng(1)
    made = []
    for at in range(60):
        n = int(rng.integers(2, 6))
        made.append(
            {
                "step": str(at // 20),
                "prompt_id": f"p{at // 5}",
                "entropy": rng.random(n).tolist() if at % 20 else None,
                "loss_mask": rng.choice(["1", "true", "0", ""], n).tolist() if at % 7 else None,
                "logprob": (-rng.random(n)).tolist() if at % 3 else None,
                "correct": [None, "true", "0.0"][at % 3],
            }
        )
    pq.write_table(pa.Table.from_pylist(made), tmp_path / "lists.parquet")
    text = "".join(json.dumps(row) + "\n" for row in made)
    (tmp_path / "lists.jsonl").write_text(text, encoding="utf-8")
    for name in ("lists.parquet", "lists.jsonl"):
        here = summarised([name], "duckdb.parquet")
        assert here == summarised([name], "spark.parquet", *SPARK)
    table = pq.read_table(tmp_path / "duckdb.parquet")
    assert table.column("prompts").to_pylist() == [4, 4, 4]
    assert max(table.column("responses").to_pylist()) > 10


@nightly
def test_partitions_named_by_folders_too(tokens, tmp_path, summarised):
    table = pq.read_table(next(tokens.iterdir())).slice(0, 2000)
    pq.write_to_dataset(table, tmp_path / "hive", partition_cols=["step"])
    here = summarised(["hive"], "duckdb.parquet")
    assert here == summarised(["hive"], "spark.parquet", *SPARK)


ODD = [NAN, None, math.inf, -1e-7, -1.0, 0.0, 0.01, 0.25, 8.5, 8.5, 9.0, 13.5, 20.0]
TYPES = {
    "step": [pa.array([3, 5, None] * 13), pa.array([" 3", "5.0 ", "x"] * 13), pa.array([3.0, 5.5, NAN] * 13)],
    "class": [
        pa.array([True, False, None] * 13),
        pa.array([" Plan\t", "exec", "it's\\"] * 13),
        pa.array([1.0, 0.5, NAN] * 13),
    ],
    "loss_mask": [
        pa.array([True, True, None] * 13),
        pa.array(["1", "True", "nan"] * 13),
        pa.array([1, 1, 2] * 13),
    ],
}
"""Tokens of which most are not usable, and columns in the types that have their own SQL."""


def test_each_query_has_the_same_rows(tmp_path):
    """Those of tables that are refused, and of too many responses, too."""
    for at in range(3):
        columns = {name: kinds[at] for name, kinds in TYPES.items()}
        columns |= {'a `b` "c': pa.array(range(39)), "position": pa.array([0, 1, 2] * 13)}
        columns |= {"entropy": pa.array(ODD * 3), "logprob": pa.array([-0.5, NAN, None] * 13)}
        pq.write_table(pa.table(columns), tmp_path / f"part-{at}.parquet")
    from entropylaw.tokens.on_spark import spark_backend  # where pyspark is installed

    with spark_backend("local[2]") as spark, duckdb_backend() as duckdb:
        for at in range(3):
            options = TokenOptions(response=('a `b` "c',))
            folder = tmp_path / str(at)
            folder.mkdir()
            files, _ = find([str(tmp_path / f"part-{at}.parquet")], folder)
            columns, _ = resolve(files, options)
            tables = [(engine, tokens_of(engine, files, columns)) for engine in (duckdb, spark)]
            made = [query.cells, query.each_response, query.responses, query.high]
            # A flag is true, false or null, and never unknown.
            made += [query.unknown_classes] * (at > 0)
            for make in made:
                here, there = (as_rows(engine.run(make(table, columns))) for engine, table in tables)
                assert here
                assert here == there, (make.__name__, at)


def as_rows(table):
    """The rows of a small result in one order, with null as nan."""
    made = [
        {name: None if value != value else value for name, value in row.items()} for row in table.to_pylist()
    ]
    return sorted(made, key=repr)


@nightly
def test_java_errors_are_reported_without_a_traceback(run_process, tmp_path):
    line = '{"step": 1, "entropy": [0.5, 0.25]}\n'
    (tmp_path / "t.jsonl").write_text(line * 1001 + line.replace("1,", '"soon",'), encoding="utf-8")
    done = run_process("tokens", "t.jsonl", "-o", "steps.parquet", *SPARK, **JAVA, code=3)
    assert_says(done.stderr, "error[spark-failed]", "Malformed records")
    assert "\tat " not in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("steps*"))


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_the_same_samples_from_both(run, tmp_path, suffix):
    random = np.random.default_rng(5)
    prompt = "user\nHow much is {} and {}, which are numbers with a sum that is asked for?\nassistant\n"
    for step in (0, 40):
        rows = [
            {
                "prompt": prompt.format(i % 30, i % 7),
                "correct": [True, False, None][random.choice(3, p=[0.4, 0.5, 0.1])],
                "answer": str(random.integers(0, 5)),
                "tokens": int(random.integers(1, 99)),
            }
            for i in range(900)
        ]
        path, table = tmp_path / f"step_{step}.{suffix}", pa.Table.from_pylist(rows)
        if suffix == "parquet":
            pq.write_table(table, path)
        elif suffix == "csv":
            table.to_pandas().to_csv(path, index=False)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    printed = [
        run("samples", f"step_*.{suffix}", "--format", "csv", "-q", *more, **JAVA) for more in ((), SPARK)
    ]
    assert [done.returncode for done in printed] == [0, 0], printed[1].stderr
    assert printed[0].stdout == printed[1].stdout
    assert printed[0].stdout.count("\n") == 3


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "jsonl.zst", "feather"])
def test_files_of_any_name_from_both(run, tmp_path, suffix):
    """What Hadoop takes for patterns, partitions or hidden files; each file has the step of its folder."""
    for step, name in enumerate(("exp[1]", "a*", "{a,b}", "_hidden", "right=true", "é 100%", "a:b", "x#y?z")):
        written(tmp_path / "runs" / name / f"step_{step}" / f"{name}.{suffix}", sampled(2 + step % 3))
    files = sorted((tmp_path / "runs").glob("*/*/*"))
    written(tmp_path / "runs" / "exp1" / "step_0" / f"exp1.{suffix}", sampled(1))
    names = ("samples", *files, "--format", "csv", "-q")
    here, there = run(*names, **JAVA), run(*names, *SPARK, **JAVA)
    assert here.returncode == there.returncode == 0, there.stderr
    assert here.stdout == there.stdout
    assert here.stdout.count("\n") == 9
