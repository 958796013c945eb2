"""The entropy lost by a run, against a regression by hand."""

import numpy as np
import pytest

from entropylaw.analysis.entropy_ahead import entropy_drop

STEP = np.arange(0.0, 200.0, 4.0)


def falling(n, first=1.2, last=0.2):
    return np.linspace(first, last, n)


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
