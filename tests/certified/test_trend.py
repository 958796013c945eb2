"""The models of a curve against dense least squares, and the windows of its tests."""

import numpy as np
import pytest

from entropylaw.engine.trend import COLUMN_COST, STEP_COST, Trend, Whitened, design_of
from entropylaw.engine.windows import Windows, neighbours, recent_over_lowest


@pytest.fixture(scope="module")
def trend():
    """A curve at uneven steps, with a jump."""
    rng = np.random.default_rng(0)
    step = np.cumsum(rng.integers(1, 4, 60)).astype(float)
    time = (step - step[0]) / (step[-1] - step[0])
    curve = 0.2 + 0.8 * np.exp(-6 * time) + 0.3 * (time > 0.6) + 0.02 * rng.standard_normal(60)
    return Trend(design_of(step.tobytes()), curve).with_steps()


def test_the_filters_whiten_drift_and_noise(trend):
    design = trend.design
    assert design.correlations[0] == pytest.approx(np.eye(60))
    # A drift whose correlation over a mean spacing is .9, and as much noise.
    apart = np.abs(np.subtract.outer(design.time, design.time)) * 59
    drift = 0.5 * 0.9**apart + 0.5 * np.eye(60)
    assert any(np.allclose(matrix, drift) for matrix in design.correlations)
    for matrix, whitening in zip(design.correlations, design.filters, strict=True):
        np.testing.assert_allclose(whitening @ matrix @ whitening.T, np.eye(60), atol=1e-7)


def test_weights_are_those_of_restricted_maximum_likelihood(trend):
    design, models, y = trend.design, trend.models, trend.y
    assert trend.steps.shape[1] >= 1
    basis = 5
    start, size = design.starts[basis], design.sizes[basis]
    x = np.hstack([design.columns[:, start : start + size], trend.steps])
    likely, likelihood = np.empty((2, len(design.filters)))
    for point, matrix in enumerate(design.filters):
        white = matrix / trend.whitened.scale
        xw, yw = white @ x, white @ y
        left = yw - xw @ np.linalg.lstsq(xw, yw, rcond=None)[0]
        rss = left @ left + trend.slack
        assert models.rss[point, basis] == pytest.approx(rss, rel=1e-5)
        log = design.log_prior[point] + np.linalg.slogdet(white)[1]
        likelihood[point] = log - 0.5 * 60 * np.log(rss)
        information = np.linalg.slogdet(xw.T @ xw)[1]
        likely[point] = log - 0.5 * information - 0.5 * (60 - x.shape[1]) * np.log(rss)
    cost = 0.5 * np.log(60) * (COLUMN_COST * size + STEP_COST * trend.steps.shape[1])
    between = likelihood.max() - cost
    expected = likely - np.log(np.exp(likely - likely.max()).sum()) - likely.max() + between
    np.testing.assert_allclose(models.weight[:, basis], expected, atol=1e-3)


def test_draws_have_the_mean_and_the_errors_of_generalised_least_squares(trend):
    drawn = trend.draws(4000)
    point, basis = trend.models.best
    start, size = trend.design.starts[basis], trend.design.sizes[basis]
    x = np.hstack([trend.design.columns[:, start : start + size], trend.steps])
    white = trend.design.filters[point] / trend.whitened.scale
    fitted = x @ np.linalg.lstsq(white @ x, white @ trend.y, rcond=None)[0]
    # The mean over all models is within the errors of the likeliest one.
    assert (np.abs(drawn.mean(axis=0) - fitted) < 3.0 * drawn.std(axis=0) + 1e-3).all()
    assert np.ptp(drawn, axis=1).max() < 3.0 * np.ptp(trend.y)


@pytest.mark.parametrize("pairs", [recent_over_lowest, neighbours])
def test_differences_of_windows_and_their_standard_deviations(trend, pairs):
    windows = Windows(trend.design, pairs(60))
    rows = np.zeros((len(windows.pairs), 60))
    for row, (a, b, c, d) in zip(rows, windows.pairs, strict=True):
        assert 0 <= a < b <= c < d <= 60
        row[a:b], row[c:d] = -1.0 / (b - a), 1.0 / (d - c)
    np.testing.assert_allclose(windows.differences(trend.y), rows @ trend.y, atol=1e-12)
    scale = np.linspace(0.5, 2.0, 60)
    covariance = trend.design.correlations[7] * np.outer(scale, scale)
    sd = np.sqrt(np.einsum("wi,ij,wj->w", rows, covariance, rows))
    np.testing.assert_allclose(windows.deviations(scale)[7], sd, rtol=1e-6)
    assert 1.0 < np.median(windows.null(7)) < np.quantile(windows.null(7), 0.95) < 5.0


def test_a_curve_that_never_rises_has_no_difference_above_0(trend):
    windows = Windows(trend.design, recent_over_lowest(60))
    time = trend.design.time
    curves = np.array([np.exp(-30 * time), -(time**3), 1.0 * (time < 0.37)])
    assert (windows.differences(curves) <= 1e-12).all()


def test_one_scale_gives_the_same_columns_whatever_its_size(trend):
    twice = Whitened(trend.design, 2.0 * trend.whitened.scale, trend.whitened.points)
    np.testing.assert_allclose(np.abs(twice.columns), np.abs(trend.whitened.columns), atol=1e-8)
