"""Leverage and influence of each evaluation, against statsmodels and fits without it."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

from entropylaw import UsageError, influences
from entropylaw.engine.posterior import infer
from tests.laws import own_law


def data(n=40, seed=1):
    rng = np.random.default_rng(seed)
    step = np.cumsum(rng.integers(1, 5, n)).astype(float)
    entropy = 0.1 + 0.9 * np.exp(-np.arange(n) / 10)
    drift = np.convolve(rng.standard_normal(n + 9), np.full(10, 0.1), "valid")
    return entropy, 0.5 - 0.2 * np.expm1(entropy) + 0.06 * drift + 0.005 * rng.standard_normal(n), step


def test_without_drift_it_is_that_of_statsmodels():
    entropy, reward, step = data()
    found = influences(own_law(entropy, reward, step, interval="ols"))
    x = np.column_stack([np.ones(entropy.size), -np.expm1(entropy)])
    fit = sm.OLS(reward, x).fit()
    theirs = fit.get_influence()
    np.testing.assert_allclose(found.leverage, theirs.hat_matrix_diag, rtol=1e-9)
    np.testing.assert_allclose(found.ceiling_shift, -theirs.dfbeta[:, 0], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found.a_ratio, 1 - theirs.dfbeta[:, 1] / fit.params[1], rtol=1e-9)
    assert found.drift_share == 0


@pytest.mark.parametrize("eval_size", [None, 2000])
def test_with_drift_it_is_what_a_fit_without_the_evaluation_finds(eval_size):
    entropy, reward, step = data()
    law = own_law(entropy, reward, step, eval_size=eval_size)
    found = influences(law)
    assert found.drift_share > 0.1
    assert found.leverage.sum() == pytest.approx(2.0, rel=1e-9)
    if eval_size:
        return  # The variance beyond the known noise is on the grid.
    x = np.column_stack([np.ones(law.n), -np.expm1(law.smoothed_entropy)])
    every = replace(law.residual_covariances, errors=None)
    weight = infer(step, x[None], law.reward[None], every)[0].weight
    point = every.points([int(np.argmax(weight))])
    assert point.length[0] == found.length

    def coefficients(kept):
        some = point.at(kept)
        return infer(step[kept], x[None, kept], law.reward[None, kept], some)[0].coefficient[0]

    whole = coefficients(np.full(law.n, True))
    for i in (0, 7, 20, law.n - 1):
        without = coefficients(np.arange(law.n) != i)
        assert found.ceiling_shift[i] == pytest.approx(without[0] - whole[0], rel=1e-6, abs=1e-12)
        assert found.a_ratio[i] == pytest.approx(without[1] / whole[1], rel=1e-9)


def test_refusals():
    entropy, reward, step = data()
    with pytest.raises(UsageError) as caught:
        influences(own_law(entropy, reward, step, interval="walk"))
    assert caught.value.slug == "no-fixed-ceiling"
    many = np.linspace(0, 1, 5001)
    law = own_law(1.1 - many, 0.5 + 0.1 * many + 0.01 * np.sin(1e4 * many), interval="ols")
    with pytest.raises(UsageError) as caught:
        influences(law)
    assert caught.value.slug == "too-many-evaluations"
