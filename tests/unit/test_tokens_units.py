"""Notes on log-probabilities that do not fit the entropies, and none where they do."""

import math

import numpy as np
import pytest

from tests.conftest import LAB
from tests.token_tables import summary, summary_of

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
