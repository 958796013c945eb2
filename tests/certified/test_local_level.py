"""The local-level model against statsmodels' UnobservedComponents, dense algebra and least squares."""

import numpy as np
import pytest

from entropylaw.engine.local_level import level_now, noise_shares

statsmodels = pytest.importorskip("statsmodels.api")


def world(n=40, seed=7, uneven=False):
    rng = np.random.default_rng(seed)
    step = np.cumsum(rng.integers(1, 9, n)) if uneven else np.arange(n)
    step = step.astype(float)
    return step, 0.5 + np.cumsum(rng.normal(0, 0.02, n)) + rng.normal(0, 0.03, n)


def peer(values):
    """statsmodels' exact diffuse local level."""
    model = statsmodels.tsa.UnobservedComponents(values, "local level", use_exact_diffuse=True)
    # Without it the filter stops updating its variance once that looks steady, at six digits or so.
    model.ssm.tolerance = 0
    return model


def dense(step, values, share):
    """Level now and its variance by generalised least squares, and the residual variance."""
    n = len(step)
    walk = (1 - share) * np.minimum.outer(step - step[0], step - step[0]) * (n - 1) / (step[-1] - step[0])
    cov = walk + share * np.eye(n)
    gls = statsmodels.GLS(values, np.ones(n), sigma=cov).fit()
    along = np.linalg.solve(cov, walk[:, -1])
    mean = gls.params[0] + along @ (values - gls.params[0])
    rest = 1 - along.sum()
    return mean, gls.scale * (
        rest**2 / np.linalg.solve(cov, np.ones(n)).sum() + walk[-1, -1] - along @ walk[:, -1]
    )


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_level_now_equals_statsmodels(share):
    step, values = world()
    ours = level_now(step, values, np.array([share]))
    _, variance = dense(step, values, share)
    unit = peer(values).smooth([share, 1 - share])
    np.testing.assert_allclose(ours.location[0], unit.smoothed_state[0, -1], rtol=1e-9)
    sigma2 = ours.scale[0] ** 2 / unit.smoothed_state_cov[0, 0, -1]
    np.testing.assert_allclose(variance / unit.smoothed_state_cov[0, 0, -1], sigma2, rtol=1e-9)


def test_evidence_over_shares_equals_statsmodels_likelihood():
    """Ratios of the marginal likelihoods, sigma² integrated out of statsmodels' by a fine grid."""
    step, values = world()
    shares, peers = np.array([0.15, 0.6, 0.95]), []
    ours = level_now(step, values, shares)
    for share in shares:
        log_variance = np.linspace(-12, 2, 1200)
        likelihoods = [peer(values).loglike([share * v, (1 - share) * v]) for v in np.exp(log_variance[::3])]
        peers.append(np.logaddexp.reduce(likelihoods))
    np.testing.assert_allclose(np.diff(np.log(ours.weight)), np.diff(peers), rtol=1e-6)


def test_uneven_steps_equal_dense_generalised_least_squares():
    step, values = world(uneven=True)
    ours = level_now(step, values, np.array([0.4]))
    mean, variance = dense(step, values, 0.4)
    np.testing.assert_allclose(ours.location[0], mean, rtol=1e-9)
    np.testing.assert_allclose(ours.scale[0] ** 2, variance, rtol=1e-9)


def test_without_walk_it_is_the_mean():
    step, values = world()
    ours = level_now(step, values, np.array([1.0]))
    low, high = ours.quantiles((0.025, 0.975))
    reference = statsmodels.OLS(values, np.ones(40)).fit().conf_int()[0]
    np.testing.assert_allclose([low, high], reference, rtol=1e-6)


def test_the_walk_is_found_where_there_is_one():
    rng = np.random.default_rng(3)
    step, share = np.arange(200.0), noise_shares()[0]
    walk, white = np.cumsum(rng.normal(0, 1, 200)), rng.normal(0, 1, 200)
    assert level_now(step, walk).weight @ share < 0.1
    assert level_now(step, white).weight @ share > 0.9


def test_the_start_and_the_unit_of_steps_do_not_matter():
    step, values = world(uneven=True)
    one, two = level_now(step, values), level_now(1000 + 16 * step, values)
    np.testing.assert_allclose(one.location, two.location, rtol=1e-6)
    np.testing.assert_allclose(one.scale, two.scale, rtol=1e-6)
