"""Files that are missing, or written by us."""

import shutil

import numpy as np
import pyarrow as pa
import pytest

from entropylaw.tokens.files import histogram_of
from tests.token_tables import made, refused, summary, summary_of, written
from tests.typed import assert_error


@pytest.fixture
def tokens(tmp_path):
    """A file of tokens; returns its path."""
    return written(tmp_path / "tokens.parquet", made(2000))


def test_our_own_files_are_not_read_as_tokens(run, tokens, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    tokens.rename(folder / "tokens.parquet")
    first = run("tokens", "runs")
    assert run("tokens", "runs", "-o", "runs/steps.parquet").returncode == 0
    again = run("tokens", "runs")
    assert first.stdout == again.stdout
    assert "2,000 tokens" in again.stdout
    assert "skipped 'steps.parquet'" in again.stderr
    assert_error(run("tokens", "runs/steps.parquet"), "already-summarised", 3)
    shutil.copy(folder / "steps.hist.parquet", folder / "renamed.parquet")
    for histogram in ("runs/renamed.parquet", "runs/steps.hist.parquet"):
        done = run("tokens", histogram)
        assert_error(done, "already-summarised", 3)
        assert "give the token files of all shards in one call" in done.stderr
    (folder / "tokens.parquet").unlink()
    assert_error(run("tokens", "runs"), "no-token-files", 3)


def test_a_pattern_that_no_shell_expanded_names_files_alone(tmp_path):
    for seed, name in enumerate(("a.parquet", "b.parquet", "other.parquet")):
        written(tmp_path / name, made(500, seed=seed))
    (tmp_path / "c.parquet").mkdir()
    assert sum(summary(tmp_path / "[abc].parquet").steps.column("tokens").to_pylist()) == 1000
    refused("file-not-found", tmp_path / "[xy].parquet")


def test_prompts_are_recognised_named_or_left_out(tmp_path):
    step, prompt, sample, _ = np.indices((3, 20, 8, 5)).reshape(4, -1)
    entropy = np.random.default_rng(2).random(step.size)
    columns = pa.table({"step": step, "prompt": prompt, "sample": sample, "entropy": entropy})
    assert summary_of(tmp_path, columns).about["columns"]["prompt"] == "prompt"
    without = summary_of(tmp_path, columns, columns={"prompt": ""}).steps
    assert "entropy_se_prompts" not in without.column_names
    by_sample = summary_of(tmp_path, columns, columns={"prompt": "sample"}, response=("prompt",)).steps
    assert by_sample.column("prompts").to_pylist() == [8] * 3


def test_a_summary_names_its_histograms(run, tokens, tmp_path):
    assert run("tokens", tokens.name, "-o", "one.parquet").returncode == 0
    assert run("tokens", tokens.name, "--top-quantile", "0.2", "-o", "two.parquet").returncode == 0
    one, two = (tmp_path / f"{name}.hist.parquet" for name in ("one", "two"))
    assert histogram_of(tmp_path / "one.parquet") == (one, "")
    assert histogram_of(tmp_path / "three.parquet") == (None, "")
    shutil.copy(one, tokens.with_suffix(".hist.parquet"))
    assert histogram_of(tokens) == (tokens.with_suffix(".hist.parquet"), "")
    shutil.copy(two, one)
    warning = "one.hist.parquet is of other tokens than one.parquet: it is not drawn"
    assert histogram_of(tmp_path / "one.parquet") == (None, warning)
