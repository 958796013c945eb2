"""The splines and windows against dense least squares, and known results of the tests."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from statsmodels.stats.proportion import proportion_confint

from entropylaw.analysis.phases import wilson
from entropylaw.analysis.turning_point import greatest_rise
from entropylaw.engine.trend import CAUTIOUS, RESOLUTION, Components, TrendDesign, bent_cable, spline_columns
from entropylaw.engine.windows import FEWEST, Windows


@pytest.fixture(scope="module")
def known():
    """Uneven steps, a series, and the design at the steps."""
    rng = np.random.default_rng(0)
    step = np.cumsum(rng.integers(1, 4, 60)).astype(float)
    time = (step - step[0]) / (step[-1] - step[0])
    return step, 0.2 + 0.8 * np.exp(-6 * time) + 0.02 * rng.standard_normal(60), TrendDesign(step)


@pytest.mark.parametrize("inner", [1, 4, 11])
@pytest.mark.parametrize("count", [12, 61, 250])
def test_splines_are_those_of_scipy_to_the_last_digit(inner, count):
    random = np.random.default_rng(count)
    knots = np.concatenate([np.zeros(4), np.arange(1, inner + 1) / (inner + 1), np.ones(4)])
    for time in (np.linspace(0.0, 1.0, count), np.sort([0.0, *random.random(count - 2), 1.0]), knots):
        known = BSpline.design_matrix(time, knots, 3).toarray()
        np.testing.assert_array_equal(spline_columns(time, inner, 1.0, 0.02), known)


def root(design, point):
    return np.linalg.cholesky(design.covariance(point))


def test_weights_are_those_of_restricted_maximum_likelihood(known):
    step, y, design = known
    found = design.components(y, column_cost=CAUTIOUS, extra=False)
    unseen = step.size * (RESOLUTION * np.ptp(y)) ** 2
    x = design.splines[0]
    k = x.shape[1]
    first = found.spline == 0
    log = np.empty(first.sum())
    for g in found.point[first]:
        low = root(design, g)
        xw, yw = np.linalg.solve(low, x), np.linalg.solve(low, y)
        left = yw - xw @ np.linalg.lstsq(xw, yw, rcond=None)[0]
        information = np.linalg.slogdet(xw.T @ xw)[1] - np.linalg.slogdet(x.T @ x)[1]
        rss = left @ left + unseen
        log[g] = design.group.log_prior[g] - np.log(np.diag(low)).sum() - 0.5 * information
        log[g] -= 0.5 * (step.size - k) * np.log(rss)
        assert found.scale[first][g] == pytest.approx(np.sqrt(rss / (step.size - k)), rel=1e-8)
    weight = np.exp(log - log.max())
    np.testing.assert_allclose(
        found.weight[first] / found.weight[first].sum(), weight / weight.sum(), rtol=1e-6, atol=1e-12
    )
    assert found.weight.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("extra", [-1, 42])
def test_curves_are_generalised_least_squares_with_its_standard_errors(known, extra):
    step, y, design = known
    one = {name: np.array([value]) for name, value in (("spline", 2), ("extra", extra), ("point", 20))}
    alone = Components(weight=np.ones(1), scale=np.array([0.02]), free=np.array([1e7]), **one)
    low, x = root(design, 20), design.splines[2]
    if extra >= 0:
        x = np.column_stack([x, design.extras[extra]])
    xw = np.linalg.solve(low, x)
    fitted = x @ np.linalg.lstsq(xw, np.linalg.solve(low, y), rcond=None)[0]
    np.testing.assert_allclose(design.curves(y, alone, None)[0], fitted, atol=1e-9)
    drawn = design.curves(y, alone, np.random.default_rng(1).standard_normal((4000, step.size + 1)))
    error = 0.02 * np.sqrt(np.diag(x @ np.linalg.inv(xw.T @ xw) @ x.T))
    np.testing.assert_allclose(drawn.std(axis=0), error, rtol=0.06)
    assert (np.abs(drawn.mean(axis=0) - fitted) < 5 * error / np.sqrt(4000)).all()


@pytest.mark.parametrize("degree", [1, 2])
def test_contrasts_are_least_squares_coefficients(known, degree):
    _, y, design = known
    windows = Windows(design, degree)
    assert (windows.last - windows.first + 1 >= FEWEST).all()
    for i in range(0, windows.first.size, 17):
        inside = slice(windows.first[i], windows.last[i] + 1)
        unit = windows.contrasts[i] @ design.time**degree
        slope = np.polyfit(design.time[inside], y[inside], degree)[0]
        assert windows.contrasts[i] @ y == pytest.approx(unit * slope, rel=1e-6, abs=1e-12)
    assert np.maximum(windows.contrasts, 0.0).sum(axis=1) == pytest.approx(np.ones(windows.first.size))
    for power in range(degree):
        np.testing.assert_allclose(windows.contrasts @ design.time**power, 0.0, atol=1e-10)


def test_a_curve_that_never_rises_has_no_rising_window_and_a_convex_one_no_concave(known):
    _, _, design = known
    slopes, curvatures = Windows(design, 1), Windows(design, 2)
    for curve in (np.exp(-30 * design.time), -(design.time**3), 1.0 * (design.time < 0.37)):
        assert (slopes.contrasts @ curve <= 1e-12).all()
    for curve in (np.exp(-30 * design.time), np.maximum(design.time - 0.4, 0.0), 1.0 / (0.01 + design.time)):
        assert (curvatures.contrasts @ curve >= -1e-9).all()


def test_the_standard_deviation_of_a_contrast(known):
    _, _, design = known
    windows = Windows(design, 1)
    sd, largest = windows.of(20)
    covariance = root(design, 20) @ root(design, 20).T
    assert sd == pytest.approx(
        np.sqrt(np.einsum("wi,ij,wj->w", windows.contrasts, covariance, windows.contrasts))
    )
    # The largest of many standard normals, the shorter windows divided by more.
    assert 1.0 < np.median(largest) < np.quantile(largest, 0.95) < 4.0


def test_the_greatest_rise_goes_from_a_point_to_a_later_one():
    low, high, rise = greatest_rise(
        np.array([[3.0, 1.0, 2.0, 0.0, 0.5], [1.0, 0.0, 4.0, -1.0, 2.0], [3, 2, 1, 0, 0]])
    )
    assert low.tolist()[:2] == [1, 1]
    assert high.tolist()[:2] == [2, 2]
    assert rise.tolist() == [1.0, 4.0, 0.0]


def test_the_bent_cable_is_two_lines_with_a_rounded_corner():
    time = np.linspace(0, 1, 101)
    np.testing.assert_allclose(bent_cable(time, 0.4, 0.0), np.maximum(time - 0.4, 0))
    cable = bent_cable(time, 0.4, 0.2)
    far = np.abs(time - 0.4) > 0.2
    np.testing.assert_allclose(cable[far], np.maximum(time - 0.4, 0)[far], atol=1e-12)
    slope = np.diff(cable) / np.diff(time)
    assert (np.diff(slope) > -1e-9).all()
    assert cable[40] == pytest.approx(0.2 / 4)


@pytest.mark.parametrize(("count", "total"), [(0, 5), (3, 8), (8, 8), (1, 40)])
def test_wilson_is_that_of_statsmodels(count, total):
    ours = wilson(count, total, 0.95)
    low, high = proportion_confint(count, total, alpha=0.05, method="wilson")
    assert (ours.low, ours.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))
