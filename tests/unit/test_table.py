"""The engine's table: against a prototype, in other units, on inputs without information; its reads."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr

from entropylaw.engine.constants import PRIOR
from entropylaw.engine.reads import Cells, Reads
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
