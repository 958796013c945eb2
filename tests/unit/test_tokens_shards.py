"""Files of tokens that are missing, or written by us; notes on units."""

import math

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import LAB
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
    assert "'steps.parquet' was written by entropylaw, and holds no tokens" in again.stderr
    done = assert_error(run("tokens", "runs/steps.parquet"), "already-summarised", 3)
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


BITS = 1 / math.log(2)


def unit_notes(tmp_path, step, entropy, **columns):
    """The notes on units of a table."""
    result = summary_of(tmp_path, {"step": step, "entropy": entropy, **columns})
    return [note for note in result.notes if "units" in note]


def drawn(rng, tokens, temperature=1.0):
    """Entropies of random choices, and the log-probability of what was drawn from each."""
    logits = rng.normal(0, rng.uniform(0.5, 4, (tokens, 1)), (tokens, 20))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    q = np.exp(logits / temperature) / np.exp(logits / temperature).sum(1, keepdims=True)
    token = (q.cumsum(1) > rng.random((tokens, 1))).argmax(1)
    return -(p * np.log(p)).sum(1), np.log(p[np.arange(tokens), token])


def test_log_probabilities_show_that_all_entropies_are_in_bits(tmp_path):
    rng = np.random.default_rng(0)
    step = np.repeat(np.arange(10), 1000)
    entropy, logprob = drawn(rng, len(step))
    assert unit_notes(tmp_path, step, entropy, logprob=logprob) == []
    (note,) = unit_notes(tmp_path, step, entropy * BITS, logprob=logprob)
    ratio = -logprob.mean() / (entropy.mean() * BITS)
    assert f"is {ratio:.2f} of the mean entropy (the factor between nats and bits)" in note
    half = np.where(rng.random(len(step)) < 0.5, BITS, 1)
    (note,) = unit_notes(tmp_path, step, entropy * half, logprob=logprob)
    assert "(the factor" not in note


def test_tokens_drawn_with_a_low_temperature_are_named_as_a_possible_reason(tmp_path):
    step = np.repeat(np.arange(10), 1000)
    entropy, logprob = drawn(np.random.default_rng(1), len(step), temperature=0.5)
    (note,) = unit_notes(tmp_path, step, entropy, logprob=logprob)
    assert "a sampling temperature" in note


@pytest.mark.parametrize("path", sorted(LAB.glob("*/tokens.parquet")), ids=lambda path: path.parent.name)
def test_the_lab_is_in_nats(path):
    assert [note for note in summary(path).notes if "units" in note] == []
