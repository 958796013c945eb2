"""The level of a series against scipy's smoothing spline, statsmodels' least squares, and dense algebra."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

from entropylaw.engine import levels
from entropylaw.engine.levels import blocked, level_now, levels_of


def values(n=40, seed=3):
    rng = np.random.default_rng(seed)
    step = np.arange(float(n))
    return step, np.sin(step / 12.0) + rng.normal(0, 0.1, n)


@pytest.fixture
def only(monkeypatch):
    """Leave one model of the grid."""

    def leave(trend, walk, power=1.0):
        monkeypatch.setattr(levels, "TRENDS", (trend,))
        monkeypatch.setattr(levels, "WALKS", (walk,))
        monkeypatch.setattr(levels, "POWERS", (power,))

    return leave


@pytest.mark.parametrize("trend", [0.14, 7.0, 1000.0])
def test_a_trend_alone_is_the_smoothing_spline(only, trend):
    only(trend, 0.0)
    step, y = values()
    x = step / step[-1]
    # The variance of an integrated walk after a unit of time is a third of the walk's.
    spline = make_smoothing_spline(x, y, lam=1.0 / (3.0 * trend))
    found = levels_of(step, y, step[-1] * np.array([1.1, 1.5]))
    np.testing.assert_allclose(found.level()[:40], spline(x), atol=1e-7)
    ends = spline(1.0) + spline(1.0, 1) * np.array([0.1, 0.5])
    np.testing.assert_allclose(found.level()[40:], ends, atol=1e-6)


@pytest.mark.parametrize(("trend", "walk", "power"), [(0.0, 2.0, 1.0), (7.0, 2.0, 0.25), (0.0, 0.0, 0.5)])
def test_mean_and_covariance_are_those_of_a_flat_prior_for_the_line(only, trend, walk, power):
    only(trend, walk, power)
    step, y = values(25)
    n, wide = 25, 1e7
    x = step / step[-1]
    t = ((x + 1 / n) ** power - n**-power) / ((1 + 1 / n) ** power - n**-power)
    low, high = np.minimum.outer(t, t), np.maximum.outer(t, t)
    prior = trend * low**2 * (3 * high - low) / 2 + walk * np.minimum.outer(x, x)
    prior = prior + wide * (1.0 + np.outer(t, t))
    gain = prior @ np.linalg.inv(prior + np.eye(n))
    found = levels_of(step, y)
    np.testing.assert_allclose(found.level(), gain @ y, atol=1e-4)
    rest = y @ np.linalg.solve(prior + np.eye(n), y) / (n - 2)
    # With noise of variance 1 the posterior covariance is the gain itself.
    np.testing.assert_allclose(found.covariance[0], rest * gain, atol=1e-4 * rest)


def test_the_more_likely_models_weigh_more():
    step = np.arange(50.0)
    rng = np.random.default_rng(1)
    noise, walk = rng.normal(0, 1, 50), np.cumsum(rng.normal(0, 1, 50))
    flat, wandering = levels_of(step, noise), levels_of(step, walk)
    assert np.ptp(flat.level()) < 0.6 * np.ptp(noise)
    assert np.abs(wandering.level() - walk).max() < 0.5 * np.ptp(walk)
    assert flat.weight.sum() == pytest.approx(1.0) == wandering.weight.sum()


def test_units_carry_over_and_p_above_is_symmetric():
    step, y = values()
    one, other = levels_of(step, y), levels_of(1000 + 10 * step, 5 + 100 * y)
    np.testing.assert_allclose(other.level(), 5 + 100 * one.level(), rtol=1e-7)
    assert one.p_above(18, 39) == pytest.approx(other.p_above(18, 39), abs=1e-6)
    assert one.p_above(18, 39) + one.p_above(39, 18) == pytest.approx(1.0)
    assert one.p_above(18, 39) > 0.99


def test_the_weights_are_those_of_restricted_likelihoods(monkeypatch):
    """statsmodels' least squares with one covariance gives the sum of squares, and dense algebra the rest."""
    statsmodels = pytest.importorskip("statsmodels.api")
    monkeypatch.setattr(levels, "TRENDS", (0.0,))
    monkeypatch.setattr(levels, "WALKS", (2.0, 7.0, 15.0))
    monkeypatch.setattr(levels, "POWERS", (1.0,))
    step, y = values(30)
    x, logs = step / step[-1], []
    t = ((x + 1 / 30) - 1 / 30) / 1.0
    line = np.column_stack([np.ones(30), t])
    for walk in (2.0, 7.0, 15.0):
        covariance = np.eye(30) + walk * np.minimum.outer(x, x)
        fit = statsmodels.GLS(y, line, sigma=covariance).fit()
        inner = line.T @ np.linalg.solve(covariance, line)
        log_det = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(inner)[1]
        logs.append(-0.5 * log_det - 14.0 * np.log(fit.scale))
    weight = np.exp(np.array(logs) - max(logs))
    np.testing.assert_allclose(levels_of(step, y).weight, weight / weight.sum(), rtol=1e-8)


def test_the_level_now_is_that_of_the_last_step():
    step, y = values(50)
    np.testing.assert_allclose(level_now(step, y).mean(), levels_of(step, y).level()[-1], rtol=0.02)
    step, y = values(200)
    s, v, size = blocked(step, y)
    assert size == 4
    ours = levels_of(s, v, step[-1:], levels.FREE_WALKS)
    np.testing.assert_allclose(level_now(step, y).mean(), ours.level()[-1], rtol=1e-12)
    walk = np.cumsum(np.random.default_rng(4).normal(0, 1, 60))
    assert abs(level_now(step[:60], walk).mean() - walk[-1]) < 0.2
    assert level_now(np.arange(8.0), np.ones(8)).mean() == pytest.approx(1.0)
