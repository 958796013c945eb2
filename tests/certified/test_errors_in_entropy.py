"""Errors in the entropy against odrpack, a general minimiser, and dense algebra."""

from dataclasses import replace

import numpy as np
import odrpack
import pytest
from scipy.optimize import least_squares

from entropylaw.analysis.law.inference import smooth_entropy
from entropylaw.engine.errors_in_variables import uncertain_posteriors
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import drift_grid, local_level_grid, point_grid, white_grid
from tests.laws import own_law


def problem(n=40, *, seed=0, noise=0.1, sd=0.05):
    """A line seen through errors in both columns, those of the first uneven: step, x, sd of x, reward."""
    rng = np.random.default_rng(seed)
    true = np.linspace(0.0, 2.0, n)
    errors = noise * rng.uniform(0.5, 1.5, n)
    reward = 1.0 - 0.7 * true + sd * rng.standard_normal(n)
    return np.arange(n, dtype=float), true + errors * rng.standard_normal(n), errors, reward


def by_odrpack(model, x, reward, sd, variance):
    return odrpack.odr_fit(
        model,
        x,
        reward,
        np.array([1.0, 0.5]),
        weight_x=1.0 / sd**2,
        weight_y=1.0 / variance,
        sstol=1e-15,
        partol=1e-15,
        diff_scheme="central",
    )


def columns(x, sd):
    """Design and root of the second column's covariance, for a batch of one."""
    return np.stack([np.ones_like(x), -x], axis=1)[None], -np.diag(sd)[None]


@pytest.mark.parametrize("seed", range(5))
def test_without_drift_a_line_is_that_of_odrpack(seed):
    step, x, sd, reward = problem(seed=seed)
    design, root = columns(x, sd)
    ours, _ = uncertain_posteriors(step, design, root, reward[None], white_grid())
    theirs = by_odrpack(lambda x, b: b[0] - b[1] * x, x, reward, sd, ours.variance[0, 0])
    # Our variance is such that theirs, of residuals in these units, is 1.
    assert theirs.res_var == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(ours.coefficient[0, 0], theirs.beta, rtol=0, atol=1e-5 * theirs.sd_beta.max())
    np.testing.assert_allclose(np.sqrt(np.diag(ours.covariance[0, 0])), theirs.sd_beta, rtol=1e-4)
    plain = infer(step, design, reward[None], white_grid())
    assert abs(plain.coefficient[0, 0, 1] - theirs.beta[1]) > 0.05 * theirs.sd_beta[1]


@pytest.mark.parametrize("seed", range(3))
def test_the_law_with_known_errors_is_that_of_odrpack(seed):
    rng = np.random.default_rng(seed)
    true = np.linspace(1.0, 0.1, 50)
    reward = 0.55 - 0.2 * np.expm1(true) + 0.01 * rng.standard_normal(50)
    logged = true + 0.05 * rng.standard_normal(50)
    ours = own_law(logged, reward, interval="odr", entropy_sd=0.05)
    variance = float(ours.posterior.variance[0])
    theirs = by_odrpack(lambda x, b: b[0] - b[1] * np.expm1(x), logged, reward, np.full(50, 0.05), variance)
    for estimate, value, sd in zip((ours.ceiling, ours.a), theirs.beta, theirs.sd_beta, strict=True):
        assert abs(estimate.value - value) < 1e-3 * sd
        # They scale by what is left; where the errors in the entropy explain more than there is, that is
        # less than 1, and known errors are known.
        assert estimate.std_error == pytest.approx(sd / np.sqrt(theirs.res_var), rel=1e-3)
        assert theirs.res_var < 1 + 1e-6
    assert ours.a.method == "orthogonal distance regression"
    assert ours.entropy_noise is None


def test_with_drift_it_is_the_minimum_that_a_general_minimiser_finds():
    step, x, sd, reward = problem(seed=7)
    design, root = columns(x, sd)
    length, share = 8.0, 0.3
    ours, u = uncertain_posteriors(step, design, root, reward[None], point_grid(length=length, share=share))
    correlation = 0.7 * np.exp(-np.abs(step[:, None] - step) / length) + share * np.eye(step.size)
    sigma = float(np.sqrt(ours.variance[0, 0]))
    white = np.linalg.inv(np.linalg.cholesky(correlation)) / sigma

    def left(parameters):
        errors = parameters[2:]
        law = parameters[0] - parameters[1] * (x + sd * errors)
        return np.concatenate([white @ (reward - law), errors])

    found = least_squares(left, np.concatenate([[1.0, 0.5], np.zeros(x.size)]), xtol=1e-15, ftol=1e-15)
    np.testing.assert_allclose(ours.coefficient[0, 0], found.x[:2], rtol=1e-6)
    np.testing.assert_allclose(u[0], found.x[2:], atol=1e-6)
    # Its Jacobian there gives the coefficients' covariance, and the sum of squares is n − 2 by construction.
    covariance = np.linalg.inv(found.jac.T @ found.jac)[:2, :2]
    np.testing.assert_allclose(ours.covariance[0, 0], covariance, rtol=1e-4)
    assert 2 * found.cost == pytest.approx(step.size - 2, rel=1e-6)


def conditional(rows, drifts, variance, noise, loads, reward, diffuse):
    """Mean and sd given the reward, by dense algebra, of ``rows`` of (β, u) plus, or not, the last drift.

    All of it is one Gaussian vector, β with a variance that is as good as infinite; ``variance`` is that of
    the drift.
    """
    prior = np.diag(np.concatenate([np.full(2, diffuse), np.ones(reward.size)]))
    total = loads @ prior @ loads.T + variance + noise * np.eye(reward.size)
    cross = rows @ prior @ loads.T + drifts * variance[-1]
    spread = rows @ prior @ rows + drifts * variance[-1, -1] - cross @ np.linalg.solve(total, cross)
    return cross @ np.linalg.solve(total, reward), np.sqrt(spread)


def linearised(ours, u, design, root):
    """Columns of (β, u), and the error in the law, linearised where the engine ended."""
    slope, moved = ours.coefficient[0, 0, 1], root[0] @ u[0]
    return np.hstack([design[0] + np.outer(moved, [0.0, 1.0]), slope * root[0]]), slope * moved


def test_the_reward_now_is_that_of_dense_algebra():
    step, x, sd, reward = problem(n=25, seed=3)
    design, root = columns(x, sd)
    length, share = 6.0, 0.4
    ours, u = uncertain_posteriors(step, design, root, reward[None], point_grid(length=length, share=share))
    variance = ours.variance[0, 0]
    loads, error = linearised(ours, u, design, root)
    drift = variance * 0.6 * np.exp(-np.abs(step[:, None] - step) / length)
    mean, spread = conditional(loads[-1], 1.0, drift, variance * share, loads, reward + error, 1e4)
    mixture = ours.functional(design[:, -1:], np.ones(1))
    assert mixture.location[0, 0] == pytest.approx(mean - error[-1], rel=1e-6)
    assert mixture.scale[0, 0] == pytest.approx(spread, rel=1e-4)


def test_relative_to_the_last_step_the_drift_is_in_the_constant_and_the_error_is_not():
    """Random-walk drift: the constant, and the constant less the reward now, by dense algebra."""
    step, x, sd, reward = problem(n=25, seed=3)
    design, root = columns(x, sd)
    every = local_level_grid(step)
    points = {name: getattr(every, name)[5:6] for name in ("length", "drift", "noise")}
    grid = replace(every, **points, log_prior=np.zeros(1))
    ours, u = uncertain_posteriors(step, design, root, reward[None], grid)
    # The posterior's variance is that of the noise alone.
    variance = float(ours.variance[0, 0] / grid.noise[0])
    loads, error = linearised(ours, u, design, root)
    drift = variance * grid.drift[0] * np.exp(-np.abs(step[:, None] - step) / grid.length[0])
    # The constant with the drift at the end; and the law's reward there without its constant: −a·x − error.
    level = np.array([[[1.0, 0.0]]])
    at_end = np.eye(1, loads.shape[1])[0]
    spent = np.concatenate([[0.0], -loads[-1][1:]])
    for row, drifts, shift, number in (
        (at_end, 1.0, 0.0, (level, np.zeros(1))),
        (spent, 0.0, error[-1], (level - design[:, -1:], -np.ones(1))),
    ):
        noise = variance * grid.noise[0]
        mean, spread = conditional(row, drifts, drift, noise, loads, reward + error, 1e6)
        mixture = ours.functional(*number)
        assert mixture.location[0, 0] == pytest.approx(mean + shift, rel=1e-4)
        assert mixture.scale[0, 0] == pytest.approx(spread, rel=1e-3)


@pytest.mark.parametrize("interval", ["drift", "walk", "odr"])
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-6])
@pytest.mark.parametrize("sd", [1e-9, 0.02, 3.0])
def test_rewards_that_follow_the_entropy_exactly_are_fitted_and_nothing_is_nan(interval, noise, sd):
    rng = np.random.default_rng(1)
    entropy = np.linspace(1.0, 0.1, 12) + 0.01 * rng.standard_normal(12)
    fit = own_law(
        entropy,
        0.9 - 0.2 * np.exp(entropy) + noise * rng.standard_normal(12),
        interval=interval,
        entropy_sd=sd,
    )
    for number in (fit.a, fit.b, fit.ceiling, fit.reward_now, fit.headroom):
        assert np.isfinite([number.low, number.value, number.high]).all()
        assert number.low <= number.value <= number.high
    assert np.isfinite(fit.correlation)


def test_without_errors_it_is_the_plain_engine():
    step, x, sd, reward = problem()
    design, root = columns(x, sd)
    grid = drift_grid(step)
    plain = infer(step, design, reward[None], grid)
    ours, _ = uncertain_posteriors(step, design, 0.0 * root[:, :, :3], reward[None], grid)
    for name in ("weight", "coefficient", "covariance", "variance", "now_offset", "now_variance"):
        np.testing.assert_allclose(getattr(ours, name), getattr(plain, name), rtol=1e-9, atol=1e-12)
    assert ours.log_evidence == pytest.approx(plain.log_evidence, rel=1e-12)


def test_an_entropy_smoothed_with_known_noise_is_the_mixed_models():
    """With one sd for all it is ridge regression, whose covariance dense algebra gives."""
    rng = np.random.default_rng(5)
    entropy = 0.1 + 0.9 * np.exp(-np.arange(60) / 15) + 0.03 * rng.standard_normal(60)
    known = smooth_entropy(entropy, sd=np.full(60, 0.03))
    estimated = smooth_entropy(entropy)
    # The noise found is near the noise given, and so are the curves and what is known of them.
    assert np.abs(known.entropy - estimated.entropy).max() < 0.01
    spread = [np.sqrt((each.root**2).sum(axis=1)) for each in (known, estimated)]
    np.testing.assert_allclose(spread[0], spread[1], rtol=0.3)
    truth = 0.1 + 0.9 * np.exp(-np.arange(60) / 15)
    z = (known.entropy - truth) / spread[0]
    assert 0.3 < np.sqrt(np.mean(z**2)) < 1.8
    uneven = np.where(np.arange(60) < 30, 0.1, 0.001)
    tight = smooth_entropy(entropy, sd=uneven)
    assert np.abs(tight.entropy - entropy)[30:].max() < np.abs(tight.entropy - entropy)[:30].max() / 2
