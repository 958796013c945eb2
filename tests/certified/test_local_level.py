"""The local-level model against statsmodels' UnobservedComponents, dense algebra and least squares."""

import numpy as np
import pytest

from entropylaw.engine.local_level import fit_local_level
from entropylaw.engine.reads import Cells

statsmodels = pytest.importorskip("statsmodels.api")


def world(n=40, seed=7, uneven=False):
    rng = np.random.default_rng(seed)
    step = np.cumsum(rng.integers(1, 9, n)) if uneven else np.arange(n)
    step = step.astype(float)
    column = np.exp(-step / step[-1] * 2)
    level = np.cumsum(rng.normal(0, 0.02, n))
    reward = 0.5 - 0.3 * column + level + rng.normal(0, 0.03, n)
    return step, np.column_stack([np.ones(n), column]), reward


def peer(reward, share, variance, column=None):
    """statsmodels' exact diffuse local level, with coefficients in the state where there is a column."""
    model = statsmodels.tsa.UnobservedComponents(
        reward, "local level", exog=column, mle_regression=False, use_exact_diffuse=True
    )
    # Without it the filter stops updating its variance once that looks steady, at six digits or so.
    model.ssm.tolerance = 0
    parameters = [variance * share, variance * (1 - share)]
    return model, parameters


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_prediction_equals_statsmodels_without_regressor(share):
    step, design, reward = world()
    fit = fit_local_level(step, design[:, :1], reward, np.array([share]))
    model, parameters = peer(reward, share, fit.variance[0])
    reference = model.smooth(parameters).get_forecast(12)
    ours = fit.predict(np.ones((12, 1)), np.arange(1.0, 13.0))
    np.testing.assert_allclose(ours[0][:, 0], reference.predicted_mean, rtol=1e-9)
    np.testing.assert_allclose(ours[1][:, 0] ** 2, reference.var_pred_mean, rtol=1e-9)


def test_the_level_now_equals_statsmodels():
    step, design, reward = world()
    fit = fit_local_level(step, design[:, :1], reward, np.array([0.5]))
    model, parameters = peer(reward, 0.5, fit.variance[0])
    reference = model.smooth(parameters)
    ours = fit.now(np.ones((1, 1)))
    np.testing.assert_allclose(ours[0][0, 0], reference.smoothed_state[0, -1], rtol=1e-9)
    np.testing.assert_allclose(ours[1][0, 0] ** 2, reference.smoothed_state_cov[0, 0, -1], rtol=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_prediction_equals_statsmodels_with_regressor(share):
    step, design, reward = world()
    fit = fit_local_level(step, design, reward, np.array([share]))
    model, parameters = peer(reward, share, fit.variance[0], design[:, 1])
    later = np.exp(-np.linspace(2, 3, 10))
    reference = model.smooth(parameters).get_forecast(10, exog=later[:, None])
    ours = fit.predict(np.column_stack([np.ones(10), later]), np.arange(1.0, 11.0))
    np.testing.assert_allclose(ours[0][:, 0], reference.predicted_mean, rtol=1e-7)
    np.testing.assert_allclose(ours[1][:, 0] ** 2, reference.var_pred_mean, rtol=1e-7)


def test_evidence_over_shares_equals_statsmodels_likelihood():
    """Ratios of the marginal likelihoods, sigma² integrated out of statsmodels' by a fine grid."""
    step, design, reward = world()
    shares, peers = np.array([0.15, 0.6, 0.95]), []
    fit = fit_local_level(step, design[:, :1], reward, shares)
    for share, variance in zip(shares, fit.variance, strict=True):
        log_variance = np.linspace(-5, 5, 400) + np.log(variance)
        model, _ = peer(reward, share, 1.0)
        values = [model.loglike([share * v, (1 - share) * v]) for v in np.exp(log_variance)]
        peers.append(np.logaddexp.reduce(values))
    np.testing.assert_allclose(np.diff(np.log(fit.weight)), np.diff(peers), rtol=1e-6)


def test_uneven_steps_equal_dense_generalised_least_squares():
    step, design, reward = world(uneven=True)
    share, n = 0.4, len(step)
    fit = fit_local_level(step, design, reward, np.array([share]))
    spacing = (step[-1] - step[0]) / (n - 1)
    new = np.append(step, step[-1] + 25.0)
    whole = (1 - share) * np.minimum.outer(new - step[0], new - step[0]) / spacing + share * np.eye(n + 1)
    cov, cross = whole[:n, :n], whole[:n, n]
    gls = statsmodels.GLS(reward, design, sigma=cov).fit()
    np.testing.assert_allclose(fit.coefficient[0], gls.params, rtol=1e-8)
    # The constant and the level at the first step are one number: its own variance is no one's.
    np.testing.assert_allclose(fit.covariance[0, 1, 1], gls.cov_params()[1, 1], rtol=1e-8)
    row = np.array([1.0, 0.1])
    residual = reward - design @ gls.params
    mean = row @ gls.params + cross @ np.linalg.solve(cov, residual)
    slope = row - design.T @ np.linalg.solve(cov, cross)
    extra = whole[n, n] - cross @ np.linalg.solve(cov, cross)
    variance = slope @ gls.cov_params() @ slope + gls.scale * extra
    ours = fit.predict(row[None], np.array([25.0]))
    np.testing.assert_allclose(ours[0][0, 0], mean, rtol=1e-9)
    np.testing.assert_allclose(ours[1][0, 0] ** 2, variance, rtol=1e-9)


def test_without_walk_it_is_least_squares():
    step, design, reward = world()
    fit = fit_local_level(step, design, reward, np.array([1.0]))
    ols = statsmodels.OLS(reward, design).fit()
    row = np.array([[1.0, 0.05]])
    reference = ols.get_prediction(row).summary_frame(alpha=0.05)
    (location,), (scale,) = fit.predict(row, np.array([500.0]))
    ours = Cells(weight=fit.weight, location=location, scale=scale, df=np.array([fit.df]))
    np.testing.assert_allclose(fit.coefficient[0], ols.params, rtol=1e-10)
    low, high = ours.quantiles((0.025, 0.975))
    np.testing.assert_allclose(low, reference["obs_ci_lower"].iloc[0], rtol=1e-6)
    np.testing.assert_allclose(high, reference["obs_ci_upper"].iloc[0], rtol=1e-6)


def test_the_walk_is_found_where_there_is_one():
    rng = np.random.default_rng(3)
    step, one = np.arange(200.0), np.ones((200, 1))
    walk = np.cumsum(rng.normal(0, 1, 200))
    white = rng.normal(0, 1, 200)
    fits = [fit_local_level(step, one, y) for y in (walk, white)]
    means = [fit.weight @ fit.noise_share for fit in fits]
    assert means[0] < 0.1
    assert means[1] > 0.9


def test_the_start_and_the_unit_of_steps_do_not_matter():
    step, design, reward = world(uneven=True)
    one = fit_local_level(step, design, reward)
    two = fit_local_level(1000 + 16 * step, design, reward)
    rows, lead = design[-3:], np.array([1.0, 5.0, 50.0])
    for ours, theirs in zip(one.predict(rows, lead), two.predict(rows, 16 * lead), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_columns_that_depend_on_each_other_are_an_error():
    step, design, reward = world()
    with pytest.raises(np.linalg.LinAlgError):
        fit_local_level(step, np.column_stack([design[:, 0], 2 * design[:, 0]]) * 0.0, reward)
