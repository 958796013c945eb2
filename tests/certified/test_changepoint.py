"""The change point's algebra against dense least squares, and known results of its tests."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from entropylaw.analysis.changepoint import closest
from entropylaw.analysis.phases import wilson
from entropylaw.engine.changepoint import (
    FIRST,
    LAST,
    PLACES,
    RESOLUTION,
    ChangePointDesign,
    bent_cable,
    coarse_grid,
    likely_decays,
)


def series(n=50, *, rise=0.0, sd=0.02, seed=0):
    rng = np.random.default_rng(seed)
    step = np.cumsum(rng.integers(1, 4, n)).astype(float)
    time = (step - step[0]) / (step[-1] - step[0])
    curve = 0.2 + 0.8 * np.exp(-6 * time) + rise * np.maximum(time - 0.5, 0) * 2
    return step, curve + sd * rng.standard_normal(n)


def dense(step, point, grid):
    gap = np.abs(step[:, None] - step)
    return grid.drift[point] * np.exp(-gap / grid.length[point]) + grid.noise[point] * np.eye(step.size)


def test_sums_of_squares_and_evidence_are_those_of_dense_least_squares():
    step, y = series()
    decays = likely_decays(step, y)
    designs = ChangePointDesign(step, decays)
    null = designs.null(y[:, None])
    grid = coarse_grid(step)
    log = np.empty(null.weight.shape[:2])
    unseen = step.size * (RESOLUTION * np.ptp(y)) ** 2
    for g in range(len(log)):
        white = np.linalg.inv(np.linalg.cholesky(dense(step, g, grid)))
        for j, decay in enumerate(decays):
            x = np.column_stack([np.ones(step.size), decay])
            xw, yw = white @ x, white @ y
            left = yw - xw @ np.linalg.lstsq(xw, yw, rcond=None)[0]
            assert null.rss[g, j, 0] == pytest.approx(left @ left + unseen, rel=1e-6)
            information = np.linalg.slogdet(xw.T @ xw)[1] - np.linalg.slogdet(x.T @ x)[1]
            free = step.size - 2
            log[g, j] = grid.log_prior[g] - 0.5 * (np.linalg.slogdet(dense(step, g, grid))[1] + information)
            log[g, j] -= 0.5 * free * np.log(left @ left + unseen)
    weight = np.exp(log - log.max())
    np.testing.assert_allclose(null.weight[..., 0], weight / weight.sum(), rtol=1e-4, atol=1e-9)


def test_the_gain_of_a_change_point_is_the_fall_of_the_sum_of_squares():
    step, y = series(rise=0.3)
    designs = ChangePointDesign(step, likely_decays(step, y))
    null = designs.null(y[:, None])
    g, j, k = 3, 2, 7
    white = np.linalg.inv(np.linalg.cholesky(dense(step, g, coarse_grid(step))))
    cable = bent_cable(designs.time, np.linspace(FIRST, LAST, PLACES)[k], 0.0)
    x = np.column_stack([np.ones(step.size), designs.decays[j], cable])
    xw, yw = white @ x, white @ y
    left = yw - xw @ np.linalg.lstsq(xw, yw, rcond=None)[0]
    along = designs.basis[g, j].T @ (white @ y)
    gain = (
        (designs.sticks[g, k] @ (white @ y) - designs.shared[g, j, k] @ along) / designs.length[g, j, k]
    ) ** 2
    unseen = step.size * (RESOLUTION * np.ptp(y)) ** 2
    assert null.rss[g, j, 0] - gain == pytest.approx(left @ left + unseen, rel=1e-6)


def test_draws_have_the_decay_and_the_covariance_they_should():
    step, y = series(n=30)
    designs = ChangePointDesign(step, likely_decays(step, y))
    null = designs.null(y[:, None])
    mean = designs.means(null)
    # The smooth decay passes through the data, and says nothing of their noise.
    assert np.std(y - mean[:, 0]) == pytest.approx(0.02, rel=0.5)
    made = designs.draws(null, mean, np.random.default_rng(1), 4000)
    np.testing.assert_allclose(made.mean(axis=1), mean[:, 0], atol=4 * 0.03 / np.sqrt(4000))
    # Both answers as likely as their evidence, that of a change point less log(n)/2.
    bent = 1.0 / (1.0 + np.exp(0.5 * np.log(step.size) - null.statistic[0]))
    want = np.zeros((step.size, step.size))
    for odds, weight, rss, free in (
        (bent, null.bent_weight, null.bent_rss, designs.free - 1),
        (1.0 - bent, null.weight, null.rss, designs.free),
    ):
        squares = odds * (weight[..., 0] * rss[..., 0]).sum(axis=1) / free
        want += sum(square * dense(step, g, coarse_grid(step)) for g, square in enumerate(squares))
    np.testing.assert_allclose(np.cov(made), want, atol=0.15 * want.max())


def test_a_clear_change_point_is_located():
    step, y = series(n=80, rise=0.5, sd=0.005)
    designs = ChangePointDesign(step, likely_decays(step, y))
    null = designs.null(y[:, None])
    _, _, found = closest(designs, null, y)
    assert found.weight.sum() == pytest.approx(1.0)
    assert found.weight @ found.place == pytest.approx(0.5, abs=0.02)
    assert float(found.number(found.changes[2]).quantile(0.5)[0]) == pytest.approx(0.5, abs=0.05)
    at = designs.time.searchsorted(0.5)
    truth = np.diff([1.0, 0.2 + 0.8 * np.exp(-6 * designs.time[at]), 0.7 + 0.8 * np.exp(-6)])
    for row, slope in zip(found.changes[:2], truth / 0.5, strict=True):
        low, high = (float(found.number(row).quantile(p)[0]) for p in (0.005, 0.995))
        assert low < slope < high
    mean, sd = found.curve()
    truth = 0.2 + 0.8 * np.exp(-6 * designs.time) + 0.5 * np.maximum(designs.time - 0.5, 0) * 2
    assert np.abs((mean - truth) / sd).max() < 4.5


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
