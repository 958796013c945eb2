"""Notes on entropies in bits, all or some of them, and none on what only looks like it."""

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


@pytest.mark.parametrize(("steps", "each"), [(4, 30_000), (40, 500)])
@pytest.mark.parametrize("drift", [0.0, 0.01])
@pytest.mark.parametrize("back", [False, True])
def test_a_change_in_the_middle_is_found_where_it_is(tmp_path, steps, each, drift, back):
    rng = np.random.default_rng(steps + each)
    step = np.repeat(np.arange(steps), each)
    entropy = rng.lognormal(-1, 1, len(step)).clip(0, 5) * np.exp(-drift * step)
    assert unit_notes(tmp_path, step, entropy) == []
    late = step >= steps // 2
    mixed = np.where(late != back, entropy * BITS, entropy)
    (note,) = unit_notes(tmp_path, step, mixed)
    assert f"from step {steps // 2 - 1} to {steps // 2} " in note
    assert ("from bits to nats" if back else "from nats to bits") in note


@pytest.mark.parametrize("each", [1, 20])
def test_few_tokens_give_no_note(tmp_path, each):
    rng = np.random.default_rng(each)
    step = np.repeat(np.arange(300), each)
    assert unit_notes(tmp_path, step, rng.lognormal(-1, 1, len(step)).clip(0, 5)) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_policy_that_moves_is_no_change_of_units(tmp_path, seed):
    """A random walk with a tenth per step, as fast as a policy collapses."""
    rng = np.random.default_rng(seed)
    level = np.cumsum(rng.normal(0, 0.1, 100))
    step = np.repeat(np.arange(100), 3000)
    entropy = rng.lognormal(-1.5, 1.2, len(step)) * np.exp(level[step] - level.max())
    assert unit_notes(tmp_path, step, entropy.clip(0, 5)) == []


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
