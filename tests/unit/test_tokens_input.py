"""Token tables that are none, are incomplete or mean something else: each error with its slug."""

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

from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.tokens.files import METADATA
from tests.conftest import HANGS, LAB, clean_environment
from tests.unit.test_cli import assert_error
from tests.unit.test_tokens import summary

NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture
def table(tmp_path):
    """Write a table of tokens; returns its path."""

    def write(name="t.parquet", **columns):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = {"step": [1, 1, 2, 2], "entropy": [0.1, 0.2, 0.3, 0.4]} | columns
        pq.write_table(pa.table({k: v for k, v in columns.items() if v is not None}), path)
        return path

    return write


def refused(slug, *tables, **asked):
    """The error of a table that is refused with this slug."""
    with pytest.raises(EntropyLawError) as caught:
        summary(*tables, **asked)
    assert caught.value.slug == slug, caught.value
    assert caught.value.hint
    return caught.value


def rows(found):
    return {row["step"]: row for row in found.steps.to_pylist()}


def test_no_entropy_column_names_the_nearest(table):
    error = refused("no-entropy-column", table(entropy=None, token_entropie=[0.1] * 4))
    assert "token_entropie" in error.message
    assert error.exit_code == 3
    assert rows(summary(table(entropy=None, h=[0.1] * 4), columns={"entropy": "h"}))[1]["tokens"] == 2


def test_no_step_column(table):
    assert "entropy" in refused("no-step-column", table(step=None)).message


def test_a_column_that_was_asked_for_and_is_not_there(table):
    error = refused("column-not-found", table(is_planing=[True] * 4), columns={"planning": "is_planning"})
    assert "is_planing" in error.message


def test_entropies_as_text(table):
    assert "string" in refused("column-not-numeric", table(entropy=["0.1"] * 4)).message


def test_negative_entropies(table):
    error = refused("entropy-negative", table(entropy=[0.1, -0.2, 0.3, -0.4]))
    assert "2 of 4" in error.message
    assert "first 1" in error.message


def test_rounding_below_zero_counts_as_zero_and_is_said(table):
    found = summary(table(entropy=[0.5, -1e-7, 0.3, 0.4]))
    assert rows(found)[1] | {"entropy": 0.25, "tokens": 2} == rows(found)[1]
    assert any("1 entropies between -1e-6 and 0" in note for note in found.result.notes)


def test_nan_infinity_and_null_are_counted_and_named(table):
    found = summary(table(entropy=[NAN, 0.2, INFINITY, -INFINITY], step=[1, 1, 1, 1]))
    assert rows(found)[1]["tokens"] == 1
    assert rows(found)[1]["tokens_without_entropy"] == 3
    assert any("3 of 4 tokens left out: nan or infinite" in note for note in found.result.notes)
    found = summary(table(entropy=[None, 0.2, 0.3, 0.4]))
    assert any("1 of 4 tokens left out: without a value" in note for note in found.result.notes)
    assert rows(summary(table(entropy=[NAN, NAN, 0.3, 0.4])))[1]["entropy"] is None


def test_no_number_at_all(table):
    refused("entropy-missing", table(entropy=[NAN, NAN, None, NAN]))


def test_beyond_any_vocabulary(table):
    error = refused("entropy-too-high", table(entropy=[0.1, 17.0, 0.2, 200.0]))
    assert "2 of 4" in error.message
    assert "bits" in error.hint


def test_padding_that_no_mask_leaves_out(table):
    entropy = [math.log(151936), 0.2] * 4
    step = [1, 1, 1, 1, 2, 2, 2, 2]
    error = refused("entropy-padding", table(entropy=pa.array(entropy, pa.float32()), step=step))
    assert "4 of 8" in error.message
    assert "11.93" in error.message
    masked = summary(table(entropy=entropy, step=step, loss_mask=[0, 1] * 4))
    assert rows(masked)[2] | {"tokens": 2, "tokens_masked": 2} == rows(masked)[2]
    assert rows(masked)[2]["entropy"] == pytest.approx(0.2, abs=1e-8)
    refused("entropy-padding", table(entropy=entropy, step=step, mask=[0, 1] * 4), columns={"mask": ""})


def test_a_mask_of_nothing(table):
    refused("all-masked", table(loss_mask=[False] * 4))


def test_steps_missing_or_broken(table):
    assert "1 of 4" in refused("step-missing", table(step=[1, None, 2, 2])).message
    assert "2 of 4" in refused("step-missing", table(step=[1.0, NAN, NAN, 2.0])).message
    assert "0.5" in refused("step-not-whole", table(step=[0.5, 1.0, 1.5, 2.0])).message
    assert "2 of 4" in refused("step-missing", table(step=["1", "1", "step 2", "2.5"])).message
    dates = pa.array([1, 1, 2, 2], pa.int32()).cast(pa.date32())
    assert "date32" in refused("step-not-whole", table(step=dates)).message
    large = pa.array([2**63, 2**63, 1, 1], pa.uint64())
    assert "2 rows" in refused("step-not-whole", table(step=large)).message
    assert set(rows(summary(table(step=pa.array([1, 1, 2, 2], pa.uint64()))))) == {1, 2}
    assert set(rows(summary(table(step=["1", "1", " 2", "2.0"])))) == {1, 2}
    assert set(rows(summary(table(step=[3.0, 1.0, 3.0, 1.0])))) == {1, 3}


def test_steps_in_any_order_come_out_sorted(table):
    found = summary(table(step=[9, 2, 5, 2]))
    assert found.steps.column("step").to_pylist() == [2, 5, 9]


def test_no_classes_is_a_note_and_no_columns(table):
    found = summary(table())
    assert not any("planning" in name for name in found.steps.column_names)
    assert any("--class" in note for note in found.result.notes)


def test_one_class_only_is_a_note_and_nulls(table):
    found = summary(table(is_planning=[True] * 4))
    assert any("every token with a class is planning" in note for note in found.result.notes)
    assert rows(found)[1]["entropy_execution"] is None
    assert rows(found)[1]["tokens_execution"] == 0


def test_classes_by_name_number_and_gaps(table):
    by_name = summary(table(token_class=["Planning", "execution", "plan", None]))
    assert rows(by_name)[2] | {"tokens_planning": 1, "tokens_execution": 0, "tokens": 2} == rows(by_name)[2]
    assert any("1 tokens have no class" in note for note in by_name.result.notes)
    by_number = summary(table(is_planning=[1, 0, 1, 0]))
    assert rows(by_number)[1]["entropy_planning"] == pytest.approx(0.1, abs=1e-8)


def test_a_class_that_is_none(table):
    error = refused("class-unknown", table(**{"class": ["planning", "verb", "noun", "execution"]}))
    assert "'noun', 'verb'" in error.message
    assert "--class ''" in error.hint
    assert summary(table(**{"class": ["verb"] * 4}), columns={"planning": ""}).steps.num_rows == 2


def test_correctness_that_is_a_score(table):
    assert "1 values" in refused("correct-not-binary", table(correct=[1.0, 0.0, 0.5, 1.0])).message
    found = rows(summary(table(correct=[1.0, 0.0, NAN, 1.0])))
    assert (found[2]["tokens_correct"], found[2]["tokens_wrong"]) == (1, 0)


def test_log_probabilities_that_are_none_are_said(table):
    found = summary(table(logprob=[-0.5, NAN, -INFINITY, -0.25]))
    assert rows(found)[1]["logprob"] == -0.5
    assert any("2 tokens have no log-probability" in note for note in found.result.notes)


def test_two_rules_for_classes(table):
    path = table(is_planning=[True] * 4)
    assert isinstance(refused("two-class-rules", path, top_quantile=0.2, grams="default"), UsageError)
    refused("two-class-rules", path, top_quantile=0.2, columns={"planning": "is_planning"})
    for share in (0.0, 1.0, 20.0):
        refused("bad-quantile", path, top_quantile=share)


def test_grams_without_text(table):
    error = refused("grams-need-text", table(), grams="default")
    assert "--token, --response, --position" in error.hint
    ids = table(sequence=[1, 1, 2, 2], position=[0, 1, 0, 1], token=[5, 6, 7, 8])
    assert "int64" in refused("tokens-without-text", ids, grams="default").message


def test_a_run_column_is_not_used_and_said(table):
    assert any("'seed'" in note for note in summary(table(seed=[1, 1, 2, 2])).result.notes)


def test_a_gap_in_numbered_shards(table, tmp_path):
    for number in (0, 1, 3):
        table(f"set/part-0000{number}-of-00004.parquet")
    assert "'part-00002-of-00004.parquet'" in refused("shard-missing", tmp_path / "set").message
    assert summary(tmp_path / "set", allow_missing=True).steps.column("tokens").to_pylist() == [6, 6]
    table("set/part-00002-of-00004.parquet")
    assert summary(tmp_path / "set").steps.column("tokens").to_pylist() == [8, 8]
    for number in (1, 2):
        table(f"from_one/x-{number}-of-2.parquet")
    assert summary(tmp_path / "from_one").steps.num_rows == 2


def line(step, **more):
    return (
        json.dumps({"step": step, "entropy": [12.0, 0.5, 0.25], "loss_mask": [False, True, True]} | more)
        + "\n"
    )


def test_a_rank_or_a_marker_that_only_other_steps_have(tmp_path):
    for step, rank in ((9, 0), (9, 1), (10, 0)):
        folder = tmp_path / "token_exports" / f"step_{step}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"rank_{rank}.jsonl").write_text(line(step, rank=rank, export_sequence_idx=0))
    error = refused("shard-missing", tmp_path / "token_exports")
    assert "'step_10/rank_1.jsonl'" in error.message
    assert summary(tmp_path / "token_exports", allow_missing=True).steps.num_rows == 2
    (tmp_path / "token_exports" / "step_10" / "rank_1.jsonl").write_text(
        line(10, rank=1, export_sequence_idx=0)
    )
    (tmp_path / "token_exports" / "step_9" / "STABLE").touch()
    assert "'step_10/STABLE'" in refused("shard-missing", tmp_path / "token_exports").message
    (tmp_path / "token_exports" / "step_10" / "STABLE").touch()
    assert rows(summary(tmp_path / "token_exports"))[10]["tokens"] == 4


def test_shards_with_other_columns_or_types(table):
    first = table("a.parquet", correct=[True] * 4)
    error = refused("shards-differ", first, table("b.parquet"))
    assert "'b.parquet'" in error.message
    assert "'correct'" in error.message
    narrow = table("c.parquet", correct=[True] * 4, entropy=pa.array([0.1] * 4, pa.float32()))
    assert "float" in refused("shards-differ", first, narrow).message
    same = table("d.parquet", correct=[True] * 4, unused=["x"] * 4)
    assert summary(first, same).steps.column("tokens").to_pylist() == [4, 4]


def test_empty_and_broken_tables(table, tmp_path):
    empty = {"step": pa.array([], pa.int64()), "entropy": pa.array([], pa.float64())}
    refused("no-records", table(**empty))
    (tmp_path / "zero.parquet").touch()
    refused("file-empty", tmp_path / "zero.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    assert "'broken.parquet'" in refused("file-corrupt", tmp_path / "broken.parquet").message
    (tmp_path / "broken.jsonl").write_text("{\n")
    refused("file-corrupt", tmp_path / "broken.jsonl")
    (tmp_path / "list.jsonl").write_text("[1, 2]\n")
    assert "list" in refused("file-corrupt", tmp_path / "list.jsonl").message
    (tmp_path / "late.jsonl").write_text(line(1) * 1001 + '{"step": "soon", "entropy": [0.1]}\n')
    assert "late.jsonl" in refused("file-corrupt", tmp_path / "late.jsonl").message


def test_files_that_are_none(table, tmp_path):
    refused("file-not-found", tmp_path / "nowhere.parquet")
    refused("file-not-found", f"{tmp_path}/nowhere*.parquet")
    (tmp_path / "notes.md").touch()
    refused("no-token-files", tmp_path / "notes.md")
    refused("no-token-files", tmp_path)
    table("_hidden/a.parquet")
    refused("no-token-files", tmp_path)
    table("a.parquet")
    (tmp_path / "a.jsonl").write_text(line(1))
    assert "'a.jsonl'" in refused("mixed-formats", tmp_path).message


def test_one_file_named_twice_is_read_once(table, tmp_path):
    table("a.parquet")
    table("b.parquet")
    found = summary(tmp_path / "a.parquet", tmp_path, f"{tmp_path}/*.parquet")
    assert found.steps.column("tokens").to_pylist() == [4, 4]
    assert [file["name"] for file in found.result.about["read"]["files"]] == ["a.parquet", "b.parquet"]


def test_a_mixed_list_of_numbers_and_packed_lines(tmp_path):
    text = '{"step": 1, "entropy": 0}\n{"step": 1, "entropy": 0.5}\n'
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert rows(summary(tmp_path / "t.jsonl.gz"))[1]["entropy"] == pytest.approx(0.25, abs=1e-8)


def test_sums_are_not_mixed_with_tokens_nor_asked_again(table, tmp_path):
    sums = tmp_path / "t.hist.parquet"
    pq.write_table(summary(table()).histogram, sums)
    assert summary(sums).steps.num_rows == 2
    refused("sums-are-fixed", sums, table())
    refused("sums-are-fixed", sums, columns={"entropy": "h"})
    refused("file-not-found", tmp_path / "other.hist.parquet")
    classes = tmp_path / "c.hist.parquet"
    pq.write_table(summary(table(is_planning=[True, False] * 2)).histogram, classes)
    assert "'c.hist.parquet'" in refused("shards-differ", sums, classes).message
    pq.write_table(pa.table({"step": [1]}), sums)
    refused("not-token-sums", sums)
    sums.write_bytes(b"PAR1")
    refused("file-corrupt", sums)


def test_the_command_and_its_files(run, table, tmp_path):
    table(is_planning=[True, False] * 2)
    done = run("tokens", "t.parquet", "-o", "out/steps.parquet")
    assert done.returncode == 0, done.stderr
    about = json.loads(pq.read_schema(tmp_path / "out" / "steps.parquet").metadata[b"entropylaw"])
    assert about["read"]["files"][0]["name"] == "t.parquet"
    assert about["read"]["files"][0]["rows"] == 4
    assert about["class"] == {"rule": "column 'is_planning'", "column": "is_planning"}
    assert str(tmp_path) not in json.dumps(about)
    shape = pq.read_table(tmp_path / "out" / "steps.hist.parquet")
    assert shape.column_names[:7] == ["step", "class", "correct", "low", "high", "tokens", "entropy"]
    again = (tmp_path / "out" / "steps.parquet").read_bytes()
    assert run("tokens", "t.parquet", "-o", "out/steps.parquet", "-q").stderr == ""
    assert (tmp_path / "out" / "steps.parquet").read_bytes() == again
    assert not list((tmp_path / "out").glob(".*"))
    listed = json.loads(run("tokens", "t.parquet", "--format", "json").stdout)
    assert [row["step"] for row in listed["steps"]] == [1, 2]
    assert run("tokens", "t.parquet", "--format", "csv").stdout.startswith("step,tokens,entropy,")


def test_the_command_says_what_is_wrong_and_writes_nothing(run, table, tmp_path):
    table(entropy=[-1.0] * 4)
    assert_error(run("tokens", "t.parquet", "-o", "steps.parquet"), "entropy-negative", 3)
    assert_error(run("tokens", "t.parquet", "-o", "steps.txt"), "unknown-suffix", 2)
    assert_error(run("tokens", "t.parquet", "-o", "steps.hist.parquet"), "unknown-suffix", 2)
    assert_error(run("tokens", "t.parquet", "--master", "local"), "master-needs-spark", 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet"]


def test_spark_that_is_not_installed(run_process, table, tmp_path):
    """A module of that name that cannot be imported stands for one that is not there."""
    table()
    (tmp_path / "pyspark.py").write_text("raise ImportError('No module named pyspark')\n")
    done = run_process(
        "tokens",
        "t.parquet",
        "--backend",
        "spark",
        PYTHONPATH=f"{tmp_path}:{clean_environment()['PYTHONPATH']}",
    )
    assert_error(done, "spark-not-installed", 2)
    assert "entropylaw[spark]" in done.stderr


def test_spark_is_not_started_for_what_it_cannot_do(run, table):
    """Both are known without Java, which takes seconds to start."""
    table()
    done = run("tokens", "t.parquet", "--backend", "spark", "--master", "no")
    assert_error(done, "spark-failed", 2)
    assert "--master 'no' is no Spark master" in done.stderr
    done = run("tokens", "t.parquet", "--backend", "spark", "--master", "local", "--grams", "default")
    assert_error(done, "grams-need-duckdb", 2)


def test_help_imports_no_engine():
    code = (
        "import sys, entropylaw.cli, typer.main\n"
        "typer.main.get_command(entropylaw.cli.app)\n"
        "print([m for m in ('ibis', 'duckdb', 'pyarrow', 'numpy', 'pyspark') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_ctrl_c_leaves_nothing(tmp_path, seconds):
    rng = np.random.default_rng(0)
    rows = 6_000_000
    # Responses of one token make a query that takes its time.
    table = pa.table(
        {"step": rng.integers(0, 9, rows), "sequence": np.arange(rows), "entropy": rng.random(rows)}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "entropylaw", "tokens", "t.parquet", "-o", "steps.parquet"]
    environment = clean_environment() | {"TMPDIR": str(temporary)}
    started = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not list(temporary.iterdir()) and started.poll() is None:
        time.sleep(0.01)
    time.sleep(seconds)
    os.kill(started.pid, signal.SIGINT)
    started.communicate(timeout=HANGS)
    assert started.returncode == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet", "temporary"]
    assert not list(temporary.iterdir())


def test_input_errors_are_input_errors(table):
    assert isinstance(refused("entropy-negative", table(entropy=[-1.0] * 4)), InputError)


@pytest.mark.parametrize(
    ("spoil", "slug"),
    [
        (lambda table, facts: (table, b"{not json"), "not-token-sums"),
        (lambda table, facts: (table, b"[1, 2]"), "not-token-sums"),
        (lambda table, facts: (table, json.dumps({**facts, "format": 3}).encode()), "not-token-sums"),
        (lambda table, facts: (table.drop_columns(["class"]), json.dumps(facts).encode()), "file-corrupt"),
        (
            lambda table, facts: (table, json.dumps({**facts, "responses": {"0": [1]}}).encode()),
            "file-corrupt",
        ),
        (lambda table, facts: (table, json.dumps({"format": facts["format"]}).encode()), "file-corrupt"),
    ],
)
def test_damaged_sums_are_refused(tmp_path, run, spoil, slug):
    assert run("tokens", LAB / "grpo_s0" / "tokens.parquet", "-o", "steps.parquet", "-q").returncode == 0
    table = pq.read_table(tmp_path / "steps.hist.parquet")
    spoiled, facts = spoil(table, json.loads(table.schema.metadata[METADATA]))
    pq.write_table(spoiled.replace_schema_metadata({METADATA: facts}), tmp_path / "bad.hist.parquet")
    done = run("tokens", "bad.hist.parquet")
    assert done.returncode == 3
    assert f"error[{slug}]" in done.stderr
