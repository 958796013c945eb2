"""Models for lmfit: NIST's certified values, exact data, generalised least squares written out.

NIST StRD, nonlinear regression, https://www.itl.nist.gov/div898/strd/nls/: *DanWood* (y = b1·x^b2, lower
difficulty), *Misra1a* (y = b1(1 − exp(−b2·x)), lower), *Rat42* (y = b1/(1 + exp(b2 − b3·x)), higher).
They are our forms with a coefficient tied: the power without its ceiling, the exponential and the logistic
through 0.
"""

import math

import lmfit
import numpy as np
import pytest
from scipy.optimize import curve_fit, least_squares

from entropylaw import FitError, UsageError, to_lmfit
from tests.laws import own_law

DANWOOD_Y_X = "2.138 1.309 3.421 1.471 3.597 1.490 4.340 1.565 4.882 1.611 5.660 1.680"
MISRA1A_Y_X = """
10.07 77.6 14.73 114.9 17.94 141.1 23.93 190.8 29.61 239.9 35.18 289.0 40.02 332.8
44.82 378.4 50.76 434.8 55.05 477.3 61.01 536.8 66.40 593.1 75.47 689.1 81.78 760.0
"""
RAT42_Y_X = "8.930 9 10.800 14 18.590 21 22.330 28 39.350 42 56.110 57 61.730 63 64.620 70 67.080 79"


def fit_model(model, reward):
    """To the digits that NIST certifies."""
    return model.fit(reward, **model.inputs, fit_kws={"ftol": 1e-10, "xtol": 1e-10, "gtol": 0.0})


def digits(found: float, certified: float) -> float:
    """Matching significant digits (log relative error), at most 11: what NIST certifies."""
    return 11.0 if found == certified else min(11.0, -math.log10(abs(found / certified - 1.0)))


def columns(table: str):
    return np.array(table.split(), dtype=float).reshape(-1, 2).T


def falling(n: int) -> np.ndarray:
    """Any entropy, for forms of the step."""
    return np.linspace(1.0, 0.1, n)


def check(found, certified, std_error):
    # MINPACK's Jacobian is by forward differences, which know half of a number's digits.
    assert digits(found[0], certified) >= 7
    assert digits(found[1], std_error) >= 5


def test_nist_danwood_is_the_power_form_without_ceiling():
    reward, entropy = columns(DANWOOD_Y_X)
    model = to_lmfit("power", own_law(entropy, reward), whiten=False)
    model.set_param_hint("ceiling", value=0.0, vary=False)
    result = fit_model(model, reward)
    a, p = result.params["a"], result.params["p"]
    check((-a.value, a.stderr), 7.6886226176e-01, 1.8281973860e-02)
    check((p.value, p.stderr), 3.8604055871, 5.1726610913e-02)
    assert digits(result.chisqr, 4.3173084083e-03) >= 9


def test_nist_misra1a_is_the_exponential_through_zero():
    reward, step = columns(MISRA1A_Y_X)
    model = to_lmfit("step_exponential", own_law(falling(14), reward, step), whiten=False)
    model.set_param_hint("drop", expr=f"limit * exp(-{step[0]} / tau)")
    result = fit_model(model, reward)
    limit, tau = result.params["limit"], result.params["tau"]
    check((limit.value, limit.stderr), 2.3894212918e02, 2.7070075241)
    check((1 / tau.value, tau.stderr / tau.value**2), 5.5015643181e-04, 7.2668688436e-06)
    assert digits(result.chisqr, 1.2455138894e-01) >= 9


def test_nist_rat42_is_the_logistic_through_zero():
    reward, step = columns(RAT42_Y_X)
    model = to_lmfit("step_logistic", own_law(falling(9), reward, step), whiten=False)
    model.set_param_hint("drop", expr="limit")
    result = fit_model(model, reward)
    limit, width, midpoint = (result.params[name] for name in ("limit", "width", "midpoint"))
    check((limit.value, limit.stderr), 7.2462237576e01, 1.7340283401)
    check((1 / width.value, width.stderr / width.value**2), 6.7359200066e-02, 3.4465663377e-03)
    assert digits(midpoint.value / width.value, 2.6180768402) >= 7
    assert digits(result.chisqr, 8.0565229338) >= 9


N = 60
STEP = 10.0 * np.arange(1, N + 1)
FALLING = 0.04 + 0.96 * np.exp(-4 * np.arange(N) / N)
EXACT = {
    "law": (lambda h: 0.55 - 0.2 * np.expm1(h), {"ceiling": 0.55, "a": 0.2}),
    "line": (lambda h: 0.55 - 0.3 * h, {"ceiling": 0.55, "a": 0.3}),
    "rate": (lambda h: 0.55 - 0.3 * np.expm1(-2 * h) / -2, {"ceiling": 0.55, "slope": 0.3, "k": -2.0}),
    "power": (lambda h: 0.6 - 0.3 * h**0.4, {"ceiling": 0.6, "a": 0.3, "p": 0.4}),
    "square": (lambda h: 0.55 - 0.3 * h**2, {"ceiling": 0.55, "a": 0.3}),
}
EXACT_STEP = {
    "step_exponential": (
        lambda s: 0.6 - 0.4 * np.exp(-(s - 10) / 150),
        {"limit": 0.6, "drop": 0.4, "tau": 150.0},
    ),
    "step_logistic": (
        lambda s: 0.6 - 0.4 / (1 + np.exp((s - 300) / 60)),
        {"limit": 0.6, "drop": 0.4, "midpoint": 300.0, "width": 60.0},
    ),
    "scalerl": (
        lambda s: 0.2 + 0.4 / (1 + (300 / s) ** 2.5),
        {"limit": 0.6, "drop": 0.4, "midpoint": 300.0, "B": 2.5},
    ),
}


@pytest.mark.parametrize("form", EXACT | EXACT_STEP)
def test_data_without_noise_give_the_form_back(form):
    entropy = FALLING
    function, truth = (EXACT | EXACT_STEP)[form]
    reward = function(STEP if form in EXACT_STEP else entropy)
    model = to_lmfit(form, own_law(entropy, reward, STEP), whiten=False)
    result = fit_model(model, reward)
    assert {name: result.params[name].value for name in truth} == pytest.approx(truth, rel=1e-6, abs=1e-9)
    assert set(result.params) == set(truth)
    assert "np.float64" not in repr(model.make_params())


@pytest.fixture(scope="module")
def drifting():
    """A run with drift and noise, its fit, and a form that fits it."""
    rng = np.random.default_rng(8)
    drift = np.exp(-np.abs(STEP[:, None] - STEP[None, :]) / 80.0)
    residual = 0.006 * np.linalg.cholesky(drift) @ rng.standard_normal(N) + 0.004 * rng.standard_normal(N)
    reward = 0.55 - 0.2 * np.expm1(1.4 * FALLING) / 1.4 + residual
    return own_law(FALLING, reward, STEP)


def dense(whitening):
    """The covariance of a whitening, as a matrix, up to its scale."""
    root = np.linalg.inv(whitening.matrix)
    return root @ root.T


def test_whitened_law_is_generalised_least_squares(drifting):
    model = to_lmfit("law", drifting)
    result = fit_model(model, drifting.reward)
    x = np.stack([np.ones(N), -np.expm1(drifting.smoothed_entropy)], axis=1)
    inverse = np.linalg.inv(dense(model.whitening))
    normal = x.T @ inverse @ x
    beta = np.linalg.solve(normal, x.T @ inverse @ drifting.reward)
    residual = drifting.reward - x @ beta
    scale = residual @ inverse @ residual / (N - 2)
    errors = np.sqrt(scale * np.diag(np.linalg.inv(normal)))
    for name, value, error in zip(("ceiling", "a"), beta, errors, strict=True):
        assert result.params[name].value == pytest.approx(value, rel=1e-8)
        assert result.params[name].stderr == pytest.approx(error, rel=1e-5)


def test_whitened_rate_is_scipys_on_data_whitened_by_cholesky(drifting):
    model = to_lmfit("rate", drifting)
    result = fit_model(model, drifting.reward)
    factor = np.linalg.cholesky(dense(model.whitening))

    def residual(p):
        curve = p[0] - p[1] * np.expm1(p[2] * drifting.smoothed_entropy) / p[2]
        return np.linalg.solve(factor, drifting.reward - curve)

    reference = least_squares(residual, [0.5, 0.1, 0.7], xtol=1e-14, ftol=1e-14, gtol=1e-14, x_scale="jac")
    found = [result.params[name].value for name in ("ceiling", "slope", "k")]
    np.testing.assert_allclose(found, reference.x, rtol=1e-5)
    assert result.chisqr == pytest.approx(2 * reference.cost, rel=1e-10)


@pytest.mark.parametrize("form", ["step_exponential", "scalerl"])
def test_step_forms_equal_curve_fit_where_residuals_are_white(form):
    function = {
        "step_exponential": lambda s, a, d, tau: a - d * np.exp(-(s - 10) / tau),
        "scalerl": lambda s, a, d, m, b: a - d / (1 + (s / m) ** b),
    }[form]
    truth = list(EXACT_STEP[form][1].values())
    reward = function(STEP, *truth) + 0.01 * np.random.default_rng(3).standard_normal(N)
    reference, covariance = curve_fit(function, STEP, reward, truth, xtol=1e-13, ftol=1e-13)
    found = fit_model(to_lmfit(form, own_law(FALLING, reward, STEP), whiten=False), reward)
    assert found.success
    for name, value, variance in zip(EXACT_STEP[form][1], reference, np.diag(covariance), strict=True):
        assert found.params[name].value == pytest.approx(value, rel=1e-5)
        assert found.params[name].stderr == pytest.approx(np.sqrt(variance), rel=1e-3)


def test_the_whitening_is_that_of_the_heaviest_row(drifting):
    table = drifting.reads.table
    row = int(np.argmax(drifting.reads.averaged * table.is_form("power")))
    drift, white = table.residual_covariance(row)
    np.testing.assert_allclose(dense(to_lmfit("power", drifting).whitening), drift + np.diag(white))


def test_a_long_run_has_no_matrix():
    entropy = 0.04 + 0.96 * np.exp(-4 * np.arange(2500) / 2500)
    reward = 0.5 - 0.2 * entropy + 0.01 * np.random.default_rng(1).standard_normal(2500)
    with pytest.raises(UsageError, match="matrix of them all"):
        to_lmfit("law", own_law(entropy, reward))


def test_the_model_is_lmfits_own(drifting):
    model = to_lmfit("rate", drifting)
    assert isinstance(model, lmfit.Model)
    assert model.independent_vars == ["entropy"]
    params = model.make_params()
    assert (params["k"].min, params["k"].max) == (
        -6 / drifting.smoothed_entropy.max(),
        6 / drifting.smoothed_entropy.max(),
    )
    model.set_param_hint("k", value=1.0, vary=False)
    tied = fit_model(model, drifting.reward)
    assert tied.nvarys == 2
    curve = model.eval(tied.params, entropy=np.zeros(1))
    assert curve[0] == pytest.approx(tied.params["ceiling"].value)


def test_what_cannot_be_fitted_says_why(drifting):
    with pytest.raises(UsageError, match=r"expected one of .*scalerl"):
        to_lmfit("cubic", drifting)
    with pytest.raises(FitError, match="needs H ≥ 0"):
        to_lmfit("power", own_law(drifting.entropy - 0.5, drifting.reward))
    with pytest.raises(UsageError, match="one for each evaluation"):
        to_lmfit("law", drifting).fit(drifting.reward[:20], entropy=drifting.smoothed_entropy[:20])
