"""The engine's table: against a prototype, in other units, on inputs without information; its reads."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr

from entropylaw.engine.constants import PRIOR
from entropylaw.engine.levels import smoothed_entropy
from entropylaw.engine.reads import Cells, Reads, merged
from entropylaw.engine.table import table_of
from tests.laws import reads_under

ENDS = (0.025, 0.5, 0.975)


def run(n: int, seed: int = 0, drift: float = 0.0):
    """Steps, entropy and reward of a run under the law, with noise and a drift of eight evaluations."""
    rng = np.random.default_rng(seed)
    step = np.arange(n, dtype=float)
    entropy = 0.05 + 0.9 * np.exp(-4 * step / (n - 1))
    reward = 0.55 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(n)
    if drift:
        slow = np.exp(-np.abs(step[:, None] - step[None, :]) / 8.0) + 1e-9 * np.eye(n)
        reward = reward + drift * np.linalg.cholesky(slow) @ rng.standard_normal(n)
    return step, entropy, reward


def numbers(reads: Reads):
    """Ends of the reward at H = 0, averaged and by the law, and of a."""
    cells = (
        reads.ceiling(reads.averaged),
        reads.ceiling(reads.law),
        reads.coefficients[0],
    )
    return np.array([cell.quantiles(ENDS) for cell in cells])


@given(
    n=st.integers(4, 40),
    entropies=st.sampled_from(("constant", "two values", "step", "falls", "spike")),
    rewards=st.sampled_from(("constant", "two values", "exact", "noise", "spike")),
    seed=st.integers(0, 9),
)
def test_inputs_without_information_have_numbers(n, entropies, rewards, seed):
    rng = np.random.default_rng(seed)
    kinds = {
        "constant": np.full(n, 0.3),
        "two values": 0.1 + 0.5 * (np.arange(n) % 2),
        "step": 0.1 + 0.5 * (np.arange(n) < n // 2),
        "falls": np.linspace(1.0, 0.1, n),
        "spike": 0.1 + 0.5 * (np.arange(n) == n // 2),
        "noise": rng.standard_normal(n),
    }
    entropy = kinds[entropies]
    reward = 0.5 - 0.2 * np.expm1(entropy) if rewards == "exact" else kinds[rewards]
    reads = reads_under(PRIOR, entropy, reward)
    assert np.isfinite(numbers(reads)).all()


def test_a_long_run_is_fitted_to_means_of_neighbours():
    step, entropy, reward = run(20_000)
    start = time.process_time()
    reads = Reads(table_of(step, entropy, reward))
    low, _, high = reads.ceiling(reads.averaged).quantiles(ENDS)
    assert time.process_time() - start < 5.0
    assert reads.table.time.size <= 1000
    assert low < 0.55 < high


def test_no_number_is_above_the_largest_reward():
    step, entropy, reward = run(40, 6)
    for top in (0.6, 0.552, 0.5, 0.3):
        reads = Reads(table_of(step, entropy, reward), top)
        assert reads.ceiling(reads.averaged, top).quantiles((0.999,))[0] <= top
        assert reads.ceiling(reads.law_possible, top).quantiles((0.999,))[0] <= top
        for fresh in (False, True):
            predicted = reads.predicted(np.array([0.0, 0.05, 0.5]), reads.averaged, fresh=fresh)
            assert max(cells.quantiles((0.999,))[0] for cells in predicted) <= top
    assert Reads(table_of(step, entropy, reward), 0.3).passed


# -- reads ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [6.0, 9.0, 30.0, 400.0])
def test_hills_deviate_is_students_t(df):
    z = np.linspace(-30.0, 30.0, 2001)
    one = np.ones(1)
    below = Cells(weight=one, location=np.zeros(1), scale=one, df=np.array([df])).below(z)
    np.testing.assert_allclose(below, stdtr(df, z), atol=1e-7)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 3), st.floats(0.01, 1)), min_size=1, max_size=30))
def test_quantiles_are_where_the_distribution_has_that_probability(parts):
    location, scale, weight = np.array(parts).T
    cells = Cells(weight=weight / weight.sum(), location=location, scale=scale, df=np.full(weight.size, 20.0))
    chance = np.array([0.025, 0.5, 0.975])
    np.testing.assert_allclose(cells.below(cells.quantiles(chance)), chance, atol=1e-6)


def test_merging_costs_little_of_a_width():
    rng = np.random.default_rng(0)
    location, scale = rng.standard_normal(5000), np.exp(rng.standard_normal(5000))
    weight, df = rng.random(5000) ** 4, np.full(5000, 30.0)
    exact = Cells(weight=weight / weight.sum(), location=location, scale=scale, df=df).quantiles(ENDS)
    found = merged(location, scale, df, weight).quantiles(ENDS)
    np.testing.assert_allclose(found, exact, atol=0.003 * np.ptp(exact))


# -- smoothing -----------------------------------------------------------------------------------------------


def test_entropies_between_evaluations_are_used():
    rng = np.random.default_rng(0)
    step = np.arange(401.0)
    true = 0.05 + 0.9 * np.exp(-4 * step / 400)
    logged = true * (1.0 + 0.15 * rng.standard_normal(401))
    at = step[::20]
    every = smoothed_entropy(step, logged, at)
    few = smoothed_entropy(at, logged[::20], at)
    errors = [float(np.sqrt(np.mean((each.entropy - true[::20]) ** 2))) for each in (every, few)]
    assert errors[0] < 0.7 * errors[1]
    assert np.abs(every.entropy - true[::20]).mean() < 3 * every.sd.mean()


def test_a_curve_without_noise_is_left_alone():
    step = np.arange(60.0)
    entropy = 0.05 + np.exp(-step / 15)
    np.testing.assert_allclose(smoothed_entropy(step, entropy, step).entropy, entropy, atol=1e-4)


def test_no_smoothed_entropy_is_negative_where_none_is():
    rng = np.random.default_rng(2)
    entropy = np.abs(0.01 * rng.standard_normal(50))
    assert smoothed_entropy(np.arange(50.0), entropy, np.arange(50.0)).entropy.min() >= 0
