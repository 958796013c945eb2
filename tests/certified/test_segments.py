"""Segments of a run, and means over runs, against statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import t
from statsmodels.stats.meta_analysis import combine_effects

from entropylaw.analysis.between_seeds import random_effects
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.level_shift import blocks, difference_test, fit_segments
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import point_grid, white_grid

# Thirteen trials of the BCG vaccine: vaccinated with and without tuberculosis, control with and without.
# Colditz et al. 1994, as printed by van Houwelingen et al. 2002 (doi:10.1002/sim.1040), table I.
BCG = """
4 119 11 128  6 300 29 274  3 228 11 209  62 13536 248 12619  33 5036 47 5761  180 1361 372 1079
8 2537 10 619  505 87886 499 87892  29 7470 45 7232  17 1699 65 1600  186 50448 141 27197
5 2493 3 2338  27 16886 29 17825
"""


@pytest.fixture(scope="module")
def bcg():
    counts = np.array(BCG.split(), dtype=float).reshape(-1, 4)
    a, b, c, d = counts.T
    return np.log(a * d / (b * c)), (1.0 / counts).sum(axis=1)


def runs(k, n, seed=3, slope=0.2):
    rng = np.random.default_rng(seed)
    entropy = [0.05 + rng.uniform(0.7, 1.2) * np.exp(-3 * np.arange(n + 4 * i) / n) for i in range(k)]
    return [(h, 0.55 - slope * np.expm1(h) + 0.01 * rng.standard_normal(h.size)) for h in entropy]


def test_common_slope_of_white_runs_is_least_squares():
    """One residual for all runs: own ceilings and one a, against OLS with dummies."""
    (h0, r0), (h1, r1) = runs(2, 25)
    h, r = np.concatenate([h0, h1]), np.concatenate([r0, r1])
    group = np.repeat([0, 1], [h0.size, h1.size])
    x = np.column_stack([design(law_column(h)), group == 1]).astype(float)
    (posterior,) = infer(np.arange(h.size, dtype=float), x[None], r[None], white_grid())
    reference = sm.OLS(r, x).fit()
    np.testing.assert_allclose(posterior.coefficient[0], reference.params, rtol=1e-10)
    np.testing.assert_allclose(np.sqrt(np.diag(posterior.covariance[0])), reference.bse, rtol=1e-10)


def test_segments_of_a_white_run_are_chows_test():
    ((h, r),) = runs(1, 40)
    r = r + 0.01 * (np.arange(40) >= 17)
    x = design(law_column(h))
    full = sm.OLS(r, blocks(x, (np.arange(40) >= 17).astype(int))).fit()
    statistic, p_value, lost = full.compare_f_test(sm.OLS(r, x).fit())
    found = fit_segments(np.arange(40), h, r, [17], interval="ols").same
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.p_value == pytest.approx(p_value, rel=1e-9)
    assert (found.df1, found.df2) == (lost, 36)


def test_segments_with_a_known_drift_are_the_f_test_of_gls():
    ((h, r),) = runs(1, 30)
    step = np.arange(30.0)
    x = design(law_column(h))
    wide = blocks(x, (step >= 12).astype(int))
    grid = point_grid(length=6.0, share=0.3)
    ours, same = (infer(step, m[None], r[None], grid)[0] for m in (wide, x))
    found = difference_test(ours, same, np.eye(4)[2:], hypothesis="", method="")
    sigma = 0.7 * np.exp(-np.abs(step[:, None] - step) / 6.0) + 0.3 * np.eye(30)
    reference = sm.GLS(r, wide, sigma=sigma).fit().f_test(np.eye(4)[2:])
    assert found.statistic == pytest.approx(float(reference.fvalue), rel=1e-8)
    assert found.p_value == pytest.approx(float(reference.pvalue), rel=1e-7)


def test_random_effects_are_statsmodels(bcg):
    """Paule–Mandel and Hartung–Knapp."""
    value, variance = bcg
    reference = combine_effects(value, variance, method_re="pm", use_t=True, alpha=0.05)
    mean, wider = random_effects(value, variance, level=0.95)
    assert wider.low <= mean.low < mean.high <= wider.high
    assert mean.value == pytest.approx(reference.mean_effect_re, rel=1e-6)
    low, high = reference.conf_int(use_t=True)[3]
    assert (mean.low, mean.high) == (pytest.approx(low, rel=1e-5), pytest.approx(high, rel=1e-5))


def test_runs_closer_than_their_errors_have_no_smaller_error_than_these():
    """τ² is 0, and the floor of the factor holds: the standard error is that of the fixed-effect mean."""
    value, variance = np.array([0.50, 0.51, 0.49, 0.50]), np.array([0.04, 0.01, 0.02, 0.03])
    mean, wider = random_effects(value, variance, level=0.95)
    assert mean.value == pytest.approx(np.average(value, weights=1 / variance))
    assert mean.std_error == pytest.approx(np.sqrt(1 / (1 / variance).sum()))
    assert mean.high - mean.value == pytest.approx(t.ppf(0.975, 3) * mean.std_error)
    assert (wider.low, wider.high) == (mean.low, mean.high)
