"""Token tables that are refused or incomplete, or that mean something else: each error with its slug."""

import gzip
import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import HANGS, clean_environment
from tests.token_tables import noted, refused, rows, summary, written
from tests.typed import assert_error, assert_says, imported

NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture
def table(tmp_path):
    """Write a table of four tokens in two steps; returns its path."""

    def write(name="t.parquet", **columns):
        columns = {"step": [1, 1, 2, 2], "entropy": [0.1, 0.2, 0.3, 0.4]} | columns
        return written(tmp_path / name, {k: v for k, v in columns.items() if v is not None})

    return write


DATES = pa.array([1, 1, 2, 2], pa.int32()).cast(pa.date32())


@pytest.mark.parametrize(
    ("columns", "slug", "words"),
    [
        ({"entropy": None, "token_entropie": [0.1] * 4}, "no-entropy-column", ["'token_entropie'"]),
        ({"step": None}, "no-step-column", ["'entropy'"]),
        ({"entropy": ["0.1"] * 4}, "column-not-numeric", ["string"]),
        ({"entropy": [0.1, -0.2, 0.3, -0.4]}, "entropy-negative", ["2 of 4", "in 2 steps, first 1"]),
        ({"entropy": [NAN, NAN, None, NAN]}, "entropy-missing", ["4 of 4"]),
        ({"entropy": [0.1, 17.0, 0.2, 200.0]}, "entropy-too-high", ["2 of 4", "bits"]),
        ({"loss_mask": [False] * 4}, "all-masked", ["4 of 4"]),
        ({"mask": [0.4, 1.0] * 2}, "mask-not-binary", ["2 of 4 values of 'mask'", "--mask"]),
        ({"mask": [2, 1] * 2}, "mask-not-binary", ["2 of 4 values of 'mask'"]),
        ({"mask": ["maybe", "true"] * 2}, "mask-not-binary", ["2 of 4 values of 'mask'"]),
        ({"step": [1, None, 2, 2]}, "step-missing", ["1 of 4"]),
        ({"step": [1.0, NAN, NAN, 2.0]}, "step-missing", ["2 of 4"]),
        ({"step": ["1", "1", "step 2", "2.5"]}, "step-missing", ["2 of 4"]),
        ({"step": [0.5, 1.0, 1.5, 2.0]}, "step-not-whole", ["0.5"]),
        ({"step": DATES}, "step-not-whole", ["date32"]),
        ({"step": pa.array([2**63, 2**63, 1, 1], pa.uint64())}, "step-not-whole", ["2 rows"]),
        (
            {"class": ["planning", "verb", "noun", "execution"]},
            "class-unknown",
            ["'noun', 'verb'", "--class ''"],
        ),
        ({"correct": [1.0, 0.0, 0.5, 1.0]}, "correct-not-binary", ["1 of 4"]),
        ({"logprob": ["a"] * 4}, "column-not-numeric", ["column 'logprob'"]),
        ({"logprob": [True] * 4}, "column-not-numeric", ["column 'logprob'"]),
        ({"mask": pa.array([1, 1, 2, 2], pa.timestamp("s"))}, "column-not-numeric", ["column 'mask'"]),
        ({"correct": [{"score": 1.0}] * 4}, "column-not-numeric", ["column 'correct'"]),
        ({"is_planning": DATES}, "column-not-numeric", ["column 'is_planning'"]),
        ({"step": pa.array([], pa.int64()), "entropy": pa.array([], pa.float64())}, "no-records", []),
    ],
)
def test_a_table_with_these_columns_is_refused(table, columns, slug, words):
    error = refused(slug, table(**columns))
    assert error.exit_code == 3
    assert all(word in f"{error.message} {error.hint}" for word in words), error


@pytest.mark.parametrize(
    ("options", "slug", "code"),
    [
        ({"columns": {"mask": "is_planing"}}, "column-not-found", 3),
        ({"columns": {"planning": "is_planning"}, "top_quantile": 0.2}, "two-class-rules", 2),
        ({"top_quantile": 0.2, "grams": "default"}, "two-class-rules", 2),
        ({"top_quantile": 0.0}, "bad-quantile", 2),
        ({"top_quantile": 1.0}, "bad-quantile", 2),
        ({"grams": "default"}, "grams-need-text", 3),
    ],
)
def test_options_that_do_not_fit_are_refused(table, options, slug, code):
    error = refused(slug, table(is_planning=[True] * 4), **options)
    assert error.exit_code == code
    assert slug != "column-not-found" or "similar: 'is_planning'" in error.message
    assert slug != "grams-need-text" or "--token, --response, --position" in error.hint


def test_steps_of_any_type_and_order_are_sorted(table):
    for step in (pa.array([1, 1, 3, 3], pa.uint64()), ["1", "3", " 3", "3.0"], [3.0, 1.0, 3.0, 1.0]):
        assert summary(table(step=step)).steps.column("step").to_pylist() == [1, 3]


def test_columns_by_option_and_none_by_an_empty_one(table):
    assert rows(summary(table(entropy=None, h=[0.1] * 4), columns={"entropy": "h"}))[1]["tokens"] == 2
    assert summary(table(**{"class": ["verb"] * 4}), columns={"planning": ""}).steps.num_rows == 2


def test_rounding_below_zero_counts_as_zero_with_its_log_probability(table):
    result = summary(table(entropy=[0.5, -1e-7, 0.3, 0.4], logprob=[-0.75, -0.25, -1, -1]))
    assert rows(result)[1] | {"entropy": 0.25, "tokens": 2, "logprob": -0.5} == rows(result)[1]
    assert noted(result, "1 entropies between -1e-6 and 0")


def test_nan_infinity_and_null_are_counted_and_noted(table):
    result = summary(table(entropy=[NAN, 0.2, INFINITY, -INFINITY], step=[1, 1, 1, 1]))
    assert rows(result)[1] | {"tokens": 1, "tokens_without_entropy": 3} == rows(result)[1]
    assert noted(result, "3 of 4 tokens left out: nan or infinite")
    assert noted(summary(table(entropy=[None, 0.2, 0.3, 0.4])), "1 of 4 tokens left out: without a value")
    assert rows(summary(table(entropy=[NAN, NAN, 0.3, 0.4])))[1]["entropy"] is None


def test_padding_that_no_mask_leaves_out(table):
    padded = {"entropy": [math.log(151936), 0.2] * 4, "step": [1] * 4 + [2] * 4}
    narrow = padded | {"entropy": pa.array(padded["entropy"], pa.float32())}
    error = refused("entropy-padding", table(**narrow))
    assert_says(error.message, "4 of 8", "11.93")
    masked = rows(summary(table(**padded, loss_mask=[0, 1] * 4)))[2]
    assert masked | {"tokens": 2, "tokens_masked": 2} == masked
    assert masked["entropy"] == pytest.approx(0.2, abs=1e-8)
    refused("entropy-padding", table(**padded, mask=[0, 1] * 4), columns={"mask": ""})


def test_padding_among_other_high_entropies(table):
    """Neither one higher value nor differences in the last digits hide it; high entropies alone are none."""
    rng = np.random.default_rng(0)
    pad = math.log(151936) * (1 + rng.normal(0, 1e-6, 400))
    entropy = np.where(np.arange(400) % 20 == 0, pad, rng.random(400))
    entropy[7] = 13.1
    columns = {"step": np.repeat([1, 2], 200), "position": np.arange(400) % 20}
    error = refused("entropy-padding", table(**columns, entropy=entropy))
    assert_says(error.message, "20 of 400", "log(151,936), 20 of them at position 0")
    entropy = np.where(entropy > 8, rng.uniform(8, 12, 400), entropy)
    assert summary(table(**columns, entropy=entropy)).steps.num_rows == 2


def test_classes_by_name_and_number_or_none(table):
    none = summary(table())
    assert not any("planning" in name for name in none.steps.column_names)
    assert noted(none, "--class")
    one = summary(table(is_planning=[True] * 4))
    assert noted(one, "every token with a class is planning")
    assert (rows(one)[1]["entropy_execution"], rows(one)[1]["tokens_execution"]) == (None, 0)
    by_name = summary(table(token_class=["Planning", "execution", "plan", None]))
    assert rows(by_name)[2] | {"tokens_planning": 1, "tokens_execution": 0, "tokens": 2} == rows(by_name)[2]
    assert noted(by_name, "1 tokens have no class")
    for columns in ({"is_planning": [1, 0, 1, 0]}, {"class": ["1.0", "0.0"] * 2}):
        assert rows(summary(table(**columns)))[1]["entropy_planning"] == pytest.approx(0.1, abs=1e-8)


def test_unknown_log_probabilities_and_unused_columns_are_noted(table):
    result = summary(table(logprob=[-0.5, NAN, -INFINITY, -0.25], seed=[1, 1, 2, 2]))
    assert rows(result)[1]["logprob"] == -0.5
    assert noted(result, "2 tokens have no log-probability")
    assert noted(result, "'seed'")
    assert noted(summary(table(loss_mask=[[1, 1], [1], [1], [1]])), "'loss_mask' holds lists")


def line(step, **more):
    return {"step": step, "entropy": [12.0, 0.5, 0.25], "loss_mask": [False, True, True]} | more


def test_in_each_rank_the_numbers_of_sequences_start_again(tmp_path):
    folder = tmp_path / "token_exports"
    for rank in (0, 1):
        written(folder / f"step_10/rank_{rank}.jsonl", [line(10, rank=rank, export_sequence_idx=0)])
    row = rows(summary(folder))[10]
    assert (row["tokens"], row["tokens_masked"], row["responses"]) == (4, 2, 2)


def test_shards_with_other_columns_or_types(table):
    first = table("a.parquet", correct=[True] * 4)
    error = refused("shards-differ", first, table("b.parquet"))
    assert_says(error.message, "'b.parquet'", "'correct'")
    narrow = table("c.parquet", correct=[True] * 4, entropy=pa.array([0.1] * 4, pa.float32()))
    assert "float" in refused("shards-differ", first, narrow).message
    same = table("d.parquet", correct=[True] * 4, unused=["x"] * 4)
    assert summary(first, same).steps.column("tokens").to_pylist() == [4, 4]


@pytest.mark.parametrize(
    ("name", "content", "slug"),
    [
        ("zero.parquet", b"", "file-empty"),
        ("broken.parquet", b"PAR1 and then nothing", "file-corrupt"),
        ("broken.jsonl", b"{\n", "file-corrupt"),
        ("list.jsonl", b"[1, 2]\n", "file-corrupt"),
        ("blank.jsonl", b"\n\n", "file-corrupt"),
        ("notes.md", b"", "no-token-files"),
        ("_hidden/a.parquet", b"PAR1", "file-set-aside"),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, slug):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    given = tmp_path if name.startswith("_") else path
    assert path.name in refused(slug, given).message


def test_a_damaged_compressed_file_cannot_be_read(tmp_path):
    random = np.random.default_rng(0)
    lines = "".join(f'{{"step": 1, "entropy": {value}}}\n' for value in random.random(500))
    whole, path = gzip.compress(lines.encode()), tmp_path / "t.jsonl.gz"
    for data in (whole[: len(whole) // 2], whole[:100] + b"\xff" * 20 + whole[120:], b"plain text"):
        path.write_bytes(data)
        assert "'t.jsonl.gz' cannot be read" in refused("file-corrupt", path).message


def test_files_that_do_not_exist_or_differ_in_format(table, tmp_path):
    refused("file-not-found", tmp_path / "nowhere.parquet")
    refused("file-not-found", f"{tmp_path}/nowhere*.parquet")
    refused("no-token-files", tmp_path)
    refused("file-not-found", "")
    late = written(tmp_path / "late.jsonl", [*([line(1)] * 1001), {"step": "soon", "entropy": [0.1]}])
    assert "late.jsonl" in refused("file-corrupt", late).message
    table("a.parquet")
    assert "'late.jsonl'" in refused("mixed-formats", tmp_path).message


def test_one_file_named_twice_is_read_once(table, tmp_path):
    lines = '{"step": 1, "entropy": 0}\n{"step": 1, "entropy": 0.5}\n'
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert rows(summary(tmp_path / "t.jsonl.gz", tmp_path / "t.jsonl.gz"))[1]["entropy"] == pytest.approx(
        0.25
    )
    (tmp_path / "t.jsonl.gz").unlink()
    table("a.parquet")
    table("b.parquet", entropy=[0.5] * 4)
    result = summary(tmp_path / "a.parquet", tmp_path, f"{tmp_path}/*.parquet")
    assert result.steps.column("tokens").to_pylist() == [4, 4]
    assert [file["name"] for file in result.about["read"]["files"]] == ["a.parquet", "b.parquet"]


def test_the_command_and_its_files(run, table, tmp_path):
    table(is_planning=[True, False] * 2)
    run("tokens", "t.parquet", "-o", "out/steps.parquet", code=0)
    about = json.loads(pq.read_schema(tmp_path / "out" / "steps.parquet").metadata[b"entropylaw"])
    assert about["read"]["files"][0] | {"name": "t.parquet", "rows": 4} == about["read"]["files"][0]
    assert about["class"] == {"rule": "column 'is_planning'", "column": "is_planning"}
    assert str(tmp_path) not in json.dumps(about)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["steps.parquet"]
    again = (tmp_path / "out" / "steps.parquet").read_bytes()
    assert run("tokens", "t.parquet", "-o", "out/steps.parquet", "-q").stderr == ""
    assert (tmp_path / "out" / "steps.parquet").read_bytes() == again
    assert not list((tmp_path / "out").glob(".*"))
    listed = json.loads(run("tokens", "t.parquet", "--format", "json").stdout)
    assert [row["step"] for row in listed["steps"]] == [1, 2]
    assert run("tokens", "t.parquet", "--format", "csv").stdout.startswith("step,tokens,entropy,")


@pytest.mark.parametrize(
    ("arguments", "slug", "status"),
    [
        (("-o", "steps.parquet"), "entropy-negative", 3),
        (("-o", "steps.txt"), "unknown-suffix", 2),
        (("--master", "local"), "master-needs-spark", 2),
        # Known without Java, which takes seconds to start.
        (("--backend", "spark", "--master", "no"), "spark-failed", 2),
        (("--backend", "spark", "--master", "local", "--grams", "default"), "grams-need-duckdb", 2),
    ],
)
def test_the_command_reports_an_error_and_writes_nothing(run, table, tmp_path, arguments, slug, status):
    table(entropy=[-1.0] * 4)
    assert_error(run("tokens", "t.parquet", *arguments), slug, status)
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_spark_that_is_not_installed(run_process, table, tmp_path):
    """A module of that name that cannot be imported, as if there were none."""
    table()
    (tmp_path / "pyspark.py").write_text("raise ImportError('No module named pyspark')\n")
    path = f"{tmp_path}:{clean_environment()['PYTHONPATH']}"
    done = assert_error(
        run_process("tokens", "t.parquet", "--backend", "spark", PYTHONPATH=path), "spark-not-installed", 2
    )
    assert "entropylaw[spark]" in done.stderr


def test_a_small_summary_imports_nothing_that_takes_long(tmp_path, table):
    """DuckDB reads SQL; columns are made and sorted without functions that import more than they do."""
    table()
    slow = ("ibis", "sqlglot", "pandas", "pyarrow.compute", "numpy.ma", "entropylaw.logs")
    assert imported(["tokens", "t.parquet", "-o", "steps.parquet", "-q"], slow, tmp_path) == []


def test_names_with_quotes_are_names(tmp_path):
    """In SQL, a column's name is between double quotes and a path between single ones."""
    step, entropy, kind = """it's "a" step""", '"; DROP', "a`b\\c"
    columns = {step: [1, 1], entropy: [0.25, 0.5], kind: ["plan", "exec"]}
    path = written(tmp_path / """the "run's".parquet""", columns)
    found = rows(summary(path, columns={"step": step, "entropy": entropy, "planning": kind}))
    assert (found[1]["entropy_planning"], found[1]["entropy_execution"]) == (0.25, 0.5)


@pytest.mark.parametrize(
    "begun", ["entropylaw-*", "entropylaw-*/*"], ids=["with its folder", "with what it spills"]
)
def test_ctrl_c_leaves_nothing(tmp_path, begun):
    rng = np.random.default_rng(0)
    count = 6_000_000
    # Responses of one token make a query that spills before its half.
    columns = {"step": rng.integers(0, 9, count), "sequence": np.arange(count), "entropy": rng.random(count)}
    written(tmp_path / "t.parquet", columns)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "entropylaw", "tokens", "t.parquet", "-o", "steps.parquet"]
    environment = clean_environment() | {"TMPDIR": str(temporary)}
    started = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # Python tries the folder first, with a file of another name.
    while not list(temporary.glob(begun)) and started.poll() is None:
        time.sleep(0.01)
    os.kill(started.pid, signal.SIGINT)
    _, errors = started.communicate(timeout=HANGS)
    assert started.returncode == 130, errors.decode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet", "temporary"]
    assert not list(temporary.iterdir())
