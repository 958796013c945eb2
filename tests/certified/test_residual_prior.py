"""Covariances of long memory and of changing scale, against dense algebra and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import gamma

from entropylaw.engine import kalman as filtering
from entropylaw.engine.kalman import cross_products, filter_gains, whiten
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import drift_grid
from entropylaw.engine.residual_prior import (
    LEFT_OUT,
    P_CONSTANT,
    P_LONG,
    adapted_grid,
    long_memory_grid,
    whole_grid,
)

N = 70


def run(even=False):
    rng = np.random.default_rng(4)
    step = 3.0 * np.arange(N) if even else np.cumsum(rng.exponential(3.0, N) + 0.1)
    entropy = 0.1 + 1.2 * np.exp(-3.0 * np.arange(N) / N)
    reward = 0.6 - 0.1 * np.expm1(entropy) + 0.01 * rng.standard_normal(N)
    return step, entropy, reward


def along(step, entropy):
    return np.column_stack([np.expm1(entropy), -step])


def dense(grid, k, step):
    """Covariance matrix of grid point k, in σ²."""
    gap = np.abs(step[:, None] - step)
    length, weight = (each[:, k] for each in grid.rungs)
    drift = np.sum([w * np.exp(-gap / each) for w, each in zip(weight, length, strict=True)], axis=0)
    drifts, noises = (
        np.exp(grid.along @ grid.drift_change[:, k]),
        np.exp(grid.along @ grid.noise_change[:, k]),
    )
    return grid.drift[k] * np.outer(drifts, drifts) * drift + grid.noise[k] * np.diag(noises**2)


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("cells", [1, 60_000, 10**9])
def test_products_are_those_of_the_dense_covariance(monkeypatch, even, cells):
    step, entropy, _ = run(even)
    grid = whole_grid(step, along(step, entropy))
    columns = np.random.default_rng(5).standard_normal((2, N, 3))
    for name in ("_CELLS", "_KEPT"):
        monkeypatch.setattr(filtering, name, cells)
    found = cross_products(step, columns, grid)
    now = sum(grid.now)
    for k in [*range(0, grid.length.size, 41), *np.flatnonzero(grid.several)]:
        matrix = dense(grid, k, step)
        for own, gram in zip(columns, found.gram[:, k], strict=True):
            expected = own.T @ np.linalg.solve(matrix, own)
            np.testing.assert_allclose(gram, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        assert found.log_det[k] == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-10, abs=1e-8)
        assert now[k] == pytest.approx(matrix[-1, -1], rel=1e-12)
        # The drift at the last step: its covariance with the evaluations, times the inverse.
        own = matrix[-1].copy()
        own[-1] = grid.now[0][k]
        np.testing.assert_allclose(
            found.last[0, k], own @ np.linalg.solve(matrix, columns[0]), rtol=1e-8, atol=1e-9
        )
        left = own[-1] - own @ np.linalg.solve(matrix, own)
        assert found.last_variance[k] == pytest.approx(left, rel=1e-7, abs=1e-10)


def test_whitened_columns_are_independent():
    step, entropy, _ = run()
    grid = whole_grid(step, along(step, entropy))
    for k in (0, 80, 90, 200, 370):
        one = grid.points([k])
        (white,) = whiten(filter_gains(step, one), np.linalg.cholesky(dense(grid, k, step)), one.drift_scale)
        np.testing.assert_allclose(white, np.eye(N), atol=1e-8)


def test_generalised_least_squares_of_statsmodels():
    """Coefficients and standard errors under a ladder, and under a scale that changes."""
    step, entropy, reward = run()
    grid = whole_grid(step, along(step, entropy))
    x = np.column_stack([np.ones(N), -np.expm1(entropy)])
    (posterior,) = infer(step, x[None], reward[None], grid)
    for k in [*range(0, grid.length.size, 53), *np.flatnonzero(grid.several)[::5]]:
        fit = sm.GLS(reward, x, sigma=dense(grid, k, step)).fit()
        np.testing.assert_allclose(posterior.coefficient[k], fit.params, rtol=1e-9)
        np.testing.assert_allclose(np.sqrt(np.diag(posterior.covariance[k])), fit.bse, rtol=1e-8)


def test_prior_probabilities_add_up():
    step, entropy, _ = run()
    grid = whole_grid(step, along(step, entropy))
    assert np.exp(grid.log_prior).sum() == pytest.approx(1.0, rel=1e-12)
    assert np.exp(grid.log_prior[grid.several]).sum() == pytest.approx(P_LONG, rel=1e-12)
    constant = (grid.noise_change == 0).all(axis=0) & ~grid.several
    assert np.exp(grid.log_prior[constant]).sum() == pytest.approx((1.0 - P_LONG) * P_CONSTANT, rel=1e-12)
    assert constant.sum() == drift_grid(step).length.size
    np.testing.assert_allclose(long_memory_grid(step).rungs[1].sum(axis=0), 1.0)


@pytest.mark.parametrize("d", [0.2, 0.3, 0.4])
def test_a_ladder_has_the_autocorrelation_of_long_memory(d):
    """Its weights length^-(1 - 2d) against ARFIMA(0, d, 0) beyond a few evaluations, up to one factor."""
    lag = np.array([8.0, 16, 32, 64, 128])
    exact = gamma(1 - d) / gamma(d) * lag ** (2 * d - 1)
    length = np.geomspace(0.4, 4 * 399, 5)
    weight = length ** -(1 - 2 * d)
    found = (weight * np.exp(-lag[:, None] / length)).sum(axis=1)
    ratio = np.log(found / exact)
    assert np.ptp(ratio) < 0.5


def test_what_is_left_out_is_improbable():
    step, entropy, reward = run()
    x = np.expm1(entropy)
    curve = np.column_stack([np.ones(N), x, entropy, entropy**2])
    whole, grid = (
        whole_grid(step, along(step, entropy)),
        adapted_grid(step, curve, reward, along(step, entropy)),
    )
    assert grid.length.size < 0.4 * whole.length.size
    for p in (1, 2, 4):
        every, some = (infer(step, curve[None, :, :p], reward[None], one)[0] for one in (whole, grid))
        assert 0.0 <= every.log_evidence - some.log_evidence < LEFT_OUT * 1.01
        row = np.eye(p)[:1] if p == 1 else np.eye(p)[1:2]
        ends, found = (one.functional(row).quantiles((0.025, 0.975))[:, 0] for one in (every, some))
        np.testing.assert_allclose(found, ends, rtol=0.0, atol=0.01 * np.ptp(ends))
