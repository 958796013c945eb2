"""For a given covariance the engine is generalised least squares; statsmodels is the reference."""

import numpy as np
import pytest

from entropylaw.engine.constants import PRIOR
from entropylaw.engine.reads import Reads
from entropylaw.engine.residuals import covariances, spacings
from entropylaw.engine.table import error_columns, table_of
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


def generalised(design, reward, matrix):
    """Coefficients and residual variance by generalised least squares."""
    inverse = np.linalg.inv(matrix)
    beta = np.linalg.solve(design.T @ inverse @ design, design.T @ inverse @ reward)
    residual = reward - design @ beta
    return beta, residual @ inverse @ residual / (reward.size - design.shape[1])


def coefficients(reads):
    """Ceiling, a and b of the law under one covariance: locations and scales."""
    cells = (reads.ceiling(reads.law), *reads.coefficients)
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
    found = [cells.quantiles((0.05, 0.95)) for cells in (reads.ceiling(reads.law), reads.coefficients[0])]
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


def test_an_error_of_the_entropy_is_a_covariance_of_the_residual():
    """Columns of the error with normal coefficients are generalised least squares with V + a²·D·S·D."""
    step, entropy, design, reward = problem(40, uneven=True)
    length, share = 3.0, 0.35
    sd = 0.02 + 0.03 * np.linspace(0.0, 1.0, 40)
    prior = fixed(length, share)
    table = table_of(step, entropy, reward, error_sd=sd, error_length=8.0, prior=prior)
    reads = Reads(table)
    assert table.candidates.of("error")
    matrix = covariance(step, length=length, share=share)
    with_step = np.column_stack([design, step])
    own, _ = generalised(design, reward, matrix)
    _, typical = generalised(with_step, reward, matrix)
    errors = np.column_stack(error_columns(step, sd * np.exp(entropy), 8.0))
    whole = matrix + own[1] ** 2 / typical * errors @ errors.T
    expected, variance = generalised(design, reward, whole)
    scale = np.sqrt(variance * np.linalg.inv(design.T @ np.linalg.solve(whole, design))[0, 0])
    rows = reads.law > 1e-100
    assert reads.location[rows] == pytest.approx(expected[0], rel=1e-6)
    assert reads.scale[rows] == pytest.approx(scale, rel=1e-6)
    assert not np.isclose(expected[0], own[0], rtol=1e-4)
