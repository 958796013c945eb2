"""Progress of a run: against the closed form, draws from the posterior, and a regression by hand."""

import numpy as np
import pytest

from entropylaw import fit_law
from entropylaw.analysis.entropy_ahead import entropy_drop

STEP = np.arange(0.0, 200.0, 4.0)


def falling(n, first=1.2, last=0.2):
    return np.linspace(first, last, n)


def noisy(seed, a=0.2, b=0.9, n=50, sd=0.01):
    rng = np.random.default_rng(seed)
    entropy = falling(n)
    return entropy, b - a * np.exp(entropy) + sd * rng.standard_normal(n)


def test_exact_law_gives_the_closed_form():
    entropy = falling(50)
    used = fit_law(entropy, 0.9 - 0.2 * np.exp(entropy), STEP).used
    assert used.value == pytest.approx((np.exp(1.2) - np.exp(0.2)) / (np.exp(1.2) - 1.0), rel=1e-4)
    assert used.high - used.low < 1e-3


def test_the_interval_holds_the_truth():
    truth = (np.exp(1.2) - np.exp(0.2)) / (np.exp(1.2) - 1.0)
    held = [t.low <= truth <= t.high for t in (fit_law(*noisy(s), STEP).used for s in range(50))]
    assert sum(held) >= 45


def test_a_flat_reward_has_no_share():
    used = fit_law(*noisy(1, a=0.0), STEP).used
    assert (used.value, used.low, used.high) == (None, None, None)
    assert "cannot be distinguished from 0" in used.note


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
