"""Files that are missing, or written by us."""

import math
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


@pytest.mark.parametrize(
    ("given", "output"),
    [
        ("tokens.parquet", "tokens.parquet"),
        ("tokens.parquet", "./link.parquet"),
        ("link.parquet", "tokens.parquet"),
        (".", "tokens.parquet"),
        ("tokens.parquet", "hard.parquet"),
    ],
)
def test_a_summary_does_not_replace_its_input(run, tokens, tmp_path, given, output):
    (tmp_path / "link.parquet").symlink_to(tokens)
    (tmp_path / "hard.parquet").hardlink_to(tokens)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert_error(run("tokens", given, "-o", output), "output-is-input", 2)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


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


def test_prompts_are_the_clusters_of_their_responses(tmp_path):
    rng = np.random.default_rng(2)
    repetitions, prompts, samples = 3, 20, 8
    step, prompt, sample, _ = np.indices((repetitions, prompts, samples, 5)).reshape(4, -1)
    level = rng.uniform(0.2, 1.0, (repetitions, prompts))[step, prompt]
    entropy = level * rng.uniform(0.8, 1.2, len(level))
    columns = pa.table({"step": step, "prompt": prompt, "sample": sample, "entropy": entropy})
    result = summary_of(tmp_path, columns)
    frame = result.steps.to_pandas()
    assert result.about["columns"]["prompt"] == "prompt"
    for at, part in columns.to_pandas().groupby("step"):
        each = part.groupby("prompt").entropy.agg(["sum", "count"])
        n, s = each["count"], each["sum"]
        error = math.sqrt(prompts / (prompts - 1) * ((s - s.sum() / n.sum() * n) ** 2).sum()) / n.sum()
        assert frame.entropy_se_prompts[at] == pytest.approx(error, rel=1e-3)
        assert frame.prompts[at] == prompts
    without = summary_of(tmp_path, columns, columns={"prompt": ""}).steps
    assert "entropy_se_prompts" not in without.column_names
    by_sample = summary_of(tmp_path, columns, columns={"prompt": "sample"}, response=("prompt",)).steps
    assert by_sample.column("prompts").to_pylist() == [samples] * repetitions


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
