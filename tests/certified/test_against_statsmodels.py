"""For a given covariance the engine is generalised least squares; statsmodels is the reference."""

import numpy as np
import pytest
import statsmodels.api as sm

from entropylaw.engine.kalman import filter_gains, whiten
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import drift_grid, floor_grid, point_grid, white_grid


def problem(n: int, *, uneven: bool, seed: int = 5):
    rng = np.random.default_rng(seed)
    step = np.cumsum(rng.integers(1, 9, n)).astype(float) if uneven else 10.0 * np.arange(n)
    entropy = 0.05 + 0.9 * np.exp(-3 * (step - step[0]) / np.ptp(step)) + 0.01 * rng.standard_normal(n)
    design = np.stack([np.ones(n), -np.expm1(entropy)], axis=1)
    reward = 0.6 - 0.2 * np.expm1(entropy) + np.cumsum(rng.standard_normal(n)) * 0.005
    return step, design, reward


def covariance(step, *, length, share):
    drift = np.exp(-np.abs(step[:, None] - step[None, :]) / length)
    return (1 - share) * drift + share * np.eye(step.size)


@pytest.mark.parametrize("n", [12, 51, 200])
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize(
    ("length", "share"), [(5.0, 0.0), (40.0, 0.0), (40.0, 0.3), (900.0, 0.05), (3.0, 0.9)]
)
def test_gls(n, uneven, length, share):
    step, design, reward = problem(n, uneven=uneven)
    (posterior,) = infer(step, design[None], reward[None], point_grid(length=length, share=share))
    reference = sm.GLS(reward, design, sigma=covariance(step, length=length, share=share)).fit()
    np.testing.assert_allclose(posterior.coefficient[0], reference.params, rtol=1e-9)
    np.testing.assert_allclose(posterior.covariance[0], reference.cov_params(), rtol=1e-9)
    assert posterior.variance[0] == pytest.approx(reference.scale, rel=1e-9)


@pytest.mark.parametrize("uneven", [False, True])
def test_no_drift_is_least_squares(uneven):
    step, design, reward = problem(60, uneven=uneven)
    (posterior,) = infer(step, design[None], reward[None], point_grid(length=7.0, share=1.0))
    reference = sm.OLS(reward, design).fit()
    np.testing.assert_allclose(posterior.coefficient[0], reference.params, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(np.diag(posterior.covariance[0])), reference.bse, rtol=1e-12)
    (white,) = infer(step, design[None], reward[None], white_grid())
    np.testing.assert_array_equal(white.coefficient, posterior.coefficient)


def test_interval_of_one_covariance_is_statsmodels_t_interval():
    step, design, reward = problem(40, uneven=True)
    (posterior,) = infer(step, design[None], reward[None], point_grid(length=30.0, share=0.4))
    reference = sm.GLS(reward, design, sigma=covariance(step, length=30.0, share=0.4)).fit().conf_int(0.1)
    mixture = posterior.functional(np.eye(2))
    np.testing.assert_allclose(mixture.quantile(0.05), reference[:, 0], rtol=1e-9)
    np.testing.assert_allclose(mixture.quantile(0.95), reference[:, 1], rtol=1e-9)


def test_whitening_is_the_cholesky_solve():
    step, design, _ = problem(80, uneven=True)
    grid = drift_grid(step)
    white = whiten(filter_gains(step, grid), design)
    for k in range(0, grid.length.size, 7):
        matrix = covariance(step, length=grid.length[k], share=grid.noise[k])
        expected = np.linalg.solve(np.linalg.cholesky(matrix), design)
        np.testing.assert_allclose(white[k].T, expected, rtol=1e-8, atol=1e-10)


def test_marginal_likelihood_weights_are_reml():
    """Weights against the restricted likelihood written out with dense matrices."""
    step, design, reward = problem(30, uneven=True)
    grid = drift_grid(step)
    (posterior,) = infer(step, design[None], reward[None], grid)
    n, p = design.shape
    log_weight = np.empty(grid.length.size)
    for k in range(grid.length.size):
        inverse = np.linalg.inv(covariance(step, length=grid.length[k], share=grid.noise[k]))
        normal = design.T @ inverse @ design
        residual = reward - design @ np.linalg.solve(normal, design.T @ inverse @ reward)
        log_weight[k] = (
            grid.log_prior[k]
            + 0.5 * np.linalg.slogdet(inverse)[1]
            - 0.5 * np.linalg.slogdet(normal)[1]
            - 0.5 * (n - p) * np.log(residual @ inverse @ residual)
        )
    weight = np.exp(log_weight - log_weight.max())
    np.testing.assert_allclose(posterior.weight, weight / weight.sum(), rtol=1e-7, atol=1e-14)


def test_known_noise_floor_is_gls_with_that_diagonal():
    """Every point of the floor grid against dense generalised least squares with known covariance."""
    step, design, reward = problem(30, uneven=False)
    floor = np.linspace(1e-5, 4e-4, 30)
    grid = floor_grid(step, 2e-4, floor)
    (posterior,) = infer(step, design[None], reward[None], grid)
    for k in range(0, grid.length.size, 97):
        drift = np.exp(-np.abs(step[:, None] - step[None, :]) / grid.length[k])
        matrix = grid.drift[k] * drift + np.diag(grid.noise[k] + floor)
        normal = design.T @ np.linalg.solve(matrix, design)
        np.testing.assert_allclose(posterior.covariance[k], np.linalg.inv(normal), rtol=1e-8)
        expected = np.linalg.solve(normal, design.T @ np.linalg.solve(matrix, reward))
        np.testing.assert_allclose(posterior.coefficient[k], expected, rtol=1e-8)


def test_drift_at_the_last_step_is_the_conditional_expectation():
    """Given β, the drift now against the textbook conditional normal (dense)."""
    step, design, reward = problem(25, uneven=True)
    length, share = 20.0, 0.35
    (posterior,) = infer(step, design[None], reward[None], point_grid(length=length, share=share))
    matrix = covariance(step, length=length, share=share)
    cross = (1 - share) * np.exp(-np.abs(step - step[-1]) / length)
    beta = np.array([0.55, 0.3])
    expected = cross @ np.linalg.solve(matrix, reward - design @ beta)
    found = posterior.now_offset[0] - posterior.now_slope[0] @ beta
    assert found == pytest.approx(expected, rel=1e-9)
    variance = posterior.variance[0] * ((1 - share) - cross @ np.linalg.solve(matrix, cross))
    assert posterior.now_variance[0] == pytest.approx(variance, rel=1e-9)


def test_a_batch_equals_its_members():
    step, design, reward = problem(40, uneven=True)
    others = np.stack([reward, reward[::-1], reward**2])
    designs = np.stack([design, design * [1.0, 2.0], design])
    grid = drift_grid(step)
    for i, posterior in enumerate(infer(step, designs, others, grid)):
        (single,) = infer(step, designs[i : i + 1], others[i : i + 1], grid)
        np.testing.assert_allclose(posterior.weight, single.weight, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(posterior.coefficient, single.coefficient, rtol=1e-9)
