"""Progress of a run: against the closed form, draws from the posterior, and a regression by hand."""

import numpy as np
import pytest

from entropylaw import fit_law
from entropylaw.analysis.forecast import entropy_drop, used_share

STEP = np.arange(0.0, 200.0, 4.0)


def falling(n, first=1.2, last=0.2):
    return np.linspace(first, last, n)


def noisy(seed, a=0.2, b=0.9, n=50):
    rng = np.random.default_rng(seed)
    entropy = falling(n)
    return entropy, b - a * np.exp(entropy) + 0.01 * rng.standard_normal(n)


def test_exact_law_gives_the_closed_form():
    entropy = falling(50)
    law = fit_law(entropy, 0.9 - 0.2 * np.exp(entropy), STEP)
    estimate = used_share(law)
    assert estimate.value == pytest.approx((np.exp(1.2) - np.exp(0.2)) / (np.exp(1.2) - 1.0), rel=1e-4)
    assert estimate.high - estimate.low < 1e-3


def test_the_interval_is_that_of_draws_from_the_posterior():
    law = fit_law(*noisy(3), STEP)
    estimate, p = used_share(law), law.posterior
    rng = np.random.default_rng(5)
    draws = 200_000
    which = rng.choice(p.weight.size, size=draws, p=p.weight)
    ratio = np.empty(draws)
    first, now = np.expm1(law.smoothed_entropy[0]), np.expm1(law.smoothed_entropy[-1])
    for g in np.unique(which):
        here = which == g
        chi = np.sqrt(p.df / rng.chisquare(p.df, here.sum()))[:, None]
        normal = rng.standard_normal((here.sum(), 2)) @ np.linalg.cholesky(p.covariance[g]).T
        ceiling, a = (p.coefficient[g] + chi * normal).T
        drift = p.now_offset[g] - np.column_stack([ceiling, a]) @ p.now_slope[g]
        drift = drift + chi[:, 0] * np.sqrt(p.now_variance[g]) * rng.standard_normal(here.sum())
        start = ceiling - a * first
        ratio[here] = (ceiling - a * now + drift - start) / (ceiling - start)
    expected = np.quantile(ratio, (0.025, 0.5, 0.975))
    np.testing.assert_allclose((estimate.low, estimate.value, estimate.high), expected, atol=0.004)


def test_the_interval_holds_the_truth():
    truth = (np.exp(1.2) - np.exp(0.2)) / (np.exp(1.2) - 1.0)
    held = [t.low <= truth <= t.high for t in (used_share(fit_law(*noisy(s), STEP)) for s in range(100))]
    assert sum(held) >= 90


def test_a_flat_reward_has_no_share():
    entropy, reward = noisy(1, a=0.0)
    estimate = used_share(fit_law(entropy, reward, STEP))
    assert (estimate.value, estimate.low, estimate.high) == (None, None, None)
    assert "cannot be distinguished from 0" in estimate.note


def test_a_walk_knows_it_from_the_entropies():
    estimate = used_share(fit_law(*noisy(2), STEP, interval="walk"))
    assert estimate.low is None
    assert "entropies alone" in estimate.note


def test_the_fall_of_a_line():
    rng = np.random.default_rng(0)
    entropy = 2.0 - 0.004 * STEP + 0.001 * rng.standard_normal(STEP.size)
    estimate = entropy_drop(STEP, entropy)
    assert estimate.low < 0.4 < estimate.high
    assert estimate.value == pytest.approx(0.4, abs=0.02)
    recent = STEP[-1] - (STEP[-1] - STEP[0]) / 3 <= STEP
    slope = np.polyfit(STEP[recent], entropy[recent], 1)[0]
    assert estimate.value == pytest.approx(-100 * slope, rel=0.02)


@pytest.mark.parametrize("n", [5, 12])
def test_too_few_recent_evaluations(n):
    estimate = entropy_drop(np.arange(float(n)), falling(n))
    assert estimate.value is None
    assert "expected at least 6" in estimate.note


def test_a_constant_entropy_loses_nothing():
    estimate = entropy_drop(STEP, np.ones(STEP.size))
    assert estimate.value == 0.0
    assert estimate.low is None
