"""For a given covariance the engine is generalised least squares; statsmodels is the reference."""

import numpy as np
import pytest

from entropylaw.engine.constants import PRIOR
from entropylaw.engine.residuals import covariances, spacings
from entropylaw.results.result import replace
from tests.laws import WHITE, fixed, reads_under


@pytest.fixture(scope="module")
def sm():
    """Imported here, because it takes as long as all that is tested."""
    import statsmodels.api

    return statsmodels.api


def problem(n: int, *, uneven: bool, seed: int = 5):
    rng = np.random.default_rng(seed)
    step = np.cumsum(rng.integers(1, 9, n)).astype(float) if uneven else 10.0 * np.arange(n)
    entropy = 0.05 + 0.9 * np.exp(-3 * (step - step[0]) / np.ptp(step)) + 0.01 * rng.standard_normal(n)
    design = np.stack([np.ones(n), -np.expm1(entropy)], axis=1)
    reward = 0.6 - 0.2 * np.expm1(entropy) + np.cumsum(rng.standard_normal(n)) * 0.005
    return step, entropy, design, reward


def covariance(step, *, length, share):
    """Of a drift with a length in mean spacings, and white noise."""
    time = (step - step[0]) * ((step.size - 1) / (step[-1] - step[0]))
    drift = np.exp(-np.abs(time[:, None] - time[None, :]) / length)
    return (1 - share) * drift + share * np.eye(step.size)


def coefficients(reads):
    """Ceiling, a and b of the law under one covariance: locations and scales."""
    cells = (reads.cells(0, reads.law), *reads.coefficients())
    return np.array([[cell.location[0], cell.scale[0]] for cell in cells])


@pytest.mark.parametrize("n", [12, 51, 200])
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize(("length", "share"), [(0.5, 0.0), (4.0, 0.0), (4.0, 0.3), (90.0, 0.05), (0.3, 0.9)])
def test_gls(sm, n, uneven, length, share):
    step, entropy, design, reward = problem(n, uneven=uneven)
    found = coefficients(reads_under(fixed(length, share), entropy, reward, step))
    reference = sm.GLS(reward, design, sigma=covariance(step, length=length, share=share)).fit()
    cov = reference.cov_params()
    expected = [*reference.params, reference.params.sum()]
    errors = np.sqrt([cov[0, 0], cov[1, 1], cov.sum()])
    np.testing.assert_allclose(found, np.stack([expected, errors], axis=1), rtol=1e-6)


@pytest.mark.parametrize("uneven", [False, True])
def test_no_drift_is_least_squares(sm, uneven):
    step, entropy, design, reward = problem(60, uneven=uneven)
    found = coefficients(reads_under(WHITE, entropy, reward, step))
    reference = sm.OLS(reward, design).fit()
    np.testing.assert_allclose(found[:2, 0], reference.params, rtol=1e-11)
    np.testing.assert_allclose(found[:2, 1], reference.bse, rtol=1e-9)


def test_interval_of_one_covariance_is_statsmodels_t_interval(sm):
    step, entropy, design, reward = problem(40, uneven=True)
    reads = reads_under(fixed(3.0, 0.4), entropy, reward, step)
    reference = sm.GLS(reward, design, sigma=covariance(step, length=3.0, share=0.4)).fit().conf_int(0.1)
    found = [cells.quantiles((0.05, 0.95)) for cells in (reads.cells(0, reads.law), reads.coefficients()[0])]
    np.testing.assert_allclose(found, reference, rtol=1e-6)


def test_whitening_is_the_cholesky_solve():
    step, entropy, design, _ = problem(80, uneven=True)
    gap = spacings(step, entropy)
    time = np.concatenate([[0.0], np.cumsum(gap)])
    for group in covariances(gap.tobytes(), PRIOR):
        white = group.whitened(design)
        for k in range(0, group.white.size, 5):
            drift, noise = group.matrix(time, k)
            expected = np.linalg.solve(np.linalg.cholesky(drift + np.diag(noise)), design)
            np.testing.assert_allclose(white[k], expected, rtol=1e-7, atol=1e-9)
            assert 2.0 * np.log(group.sd[:, k]).sum() == pytest.approx(
                np.linalg.slogdet(drift + np.diag(noise))[1], abs=1e-7
            )


def test_weights_are_the_restricted_likelihood():
    """Of the law without a prior of its slope, under every covariance of one drift, with dense matrices."""
    step, entropy, design, reward = problem(30, uneven=True)
    prior = replace(PRIOR, long=0.0, scales=((0.0, 1.0),))
    reads = reads_under(prior, entropy, reward, step)
    group, _ = covariances(spacings(step, entropy).tobytes(), reads.table.prior)
    time = (step - step[0]) * ((step.size - 1) / (step[-1] - step[0]))
    n, p = design.shape
    log_weight = np.empty(group.white.size)
    for k in range(group.white.size):
        drift, noise = group.matrix(time, k)
        inverse = np.linalg.inv(drift + np.diag(noise))
        normal = design.T @ inverse @ design
        residual = reward - design @ np.linalg.solve(normal, design.T @ inverse @ reward)
        log_weight[k] = (
            group.log_prior[k]
            + 0.5 * np.linalg.slogdet(inverse)[1]
            - 0.5 * np.linalg.slogdet(normal)[1]
            - 0.5 * (n - p) * np.log(residual @ inverse @ residual)
        )
    weight = np.exp(log_weight - log_weight.max())
    own = reads.law[reads.law > 1e-100]
    np.testing.assert_allclose(own, weight / weight.sum(), rtol=1e-5, atol=1e-12)


def test_the_reward_now_has_the_conditional_expectation_of_the_drift():
    step, entropy, design, reward = problem(25, uneven=True)
    length, share = 3.0, 0.35
    reads = reads_under(fixed(length, share), entropy, reward, step)
    matrix = covariance(step, length=length, share=share)
    cross = (matrix - share * np.eye(25))[-1]
    inverse = np.linalg.inv(matrix)
    normal = np.linalg.inv(design.T @ inverse @ design)
    beta = normal @ design.T @ inverse @ reward
    residual = reward - design @ beta
    expected = design[-1] @ beta + cross @ inverse @ residual
    row = design[-1] - cross @ inverse @ design
    scale = residual @ inverse @ residual / 23
    variance = scale * (row @ normal @ row + (1 - share) - cross @ inverse @ cross)
    location, spread = reads.table.numbers(reads.table.reward_now())
    own = reads.law > 1e-100
    assert location[0, own] + reads.table.candidates.origin == pytest.approx(expected, rel=1e-7)
    assert spread[0, own] ** 2 == pytest.approx(variance, rel=1e-6)
    ceiling, _ = reads.table.numbers(reads.table.ceiling())
    assert ceiling[0, own] + reads.table.candidates.origin == pytest.approx(beta[0], rel=1e-7)
