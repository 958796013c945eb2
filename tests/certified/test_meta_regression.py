"""Meta-regression against metafor's documented results and statsmodels.

The data are the 13 trials of the BCG vaccine of Colditz et al. (1994, doi:10.1001/jama.1994.03510330076038),
log risk ratios on absolute latitude, as in the pages of R's metafor (Viechtbauer 2010,
doi:10.18637/jss.v036.i03): ``rma(yi, vi, mods = ~ ablat, test = "knha")``.
"""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import t

from entropylaw.analysis.scaling import meta_regression

# Cases and others among the vaccinated, cases and others among the controls, and the latitude.
TRIALS = np.array(
    [
        (4, 119, 11, 128, 44),
        (6, 300, 29, 274, 55),
        (3, 228, 11, 209, 42),
        (62, 13536, 248, 12619, 52),
        (33, 5036, 47, 5761, 13),
        (180, 1361, 372, 1079, 44),
        (8, 2537, 10, 619, 19),
        (505, 87886, 499, 87892, 13),
        (29, 7470, 45, 7232, 27),
        (17, 1699, 65, 1600, 42),
        (186, 50448, 141, 27197, 18),
        (5, 2493, 3, 2338, 33),
        (27, 16886, 29, 17825, 33),
    ],
    dtype=float,
)
CASES, OTHERS, CONTROLS, FREE, LATITUDE = TRIALS.T
VALUE = np.log(CASES / (CASES + OTHERS) / (CONTROLS / (CONTROLS + FREE)))
VARIANCE = 1 / CASES - 1 / (CASES + OTHERS) + 1 / CONTROLS - 1 / (CONTROLS + FREE)
DESIGN = np.stack([np.ones(13), LATITUDE], axis=1)


def reml() -> float:
    """τ² of largest restricted likelihood, from dense matrices."""

    def objective(tau2: float) -> float:
        weight = np.diag(1 / (VARIANCE + tau2))
        normal = DESIGN.T @ weight @ DESIGN
        residual = VALUE - DESIGN @ np.linalg.solve(normal, DESIGN.T @ weight @ VALUE)
        determinants = np.linalg.slogdet(normal)[1] - np.linalg.slogdet(weight)[1]
        return float(determinants + residual @ weight @ residual)

    return float(minimize_scalar(objective, bounds=(0.0, 2.0), method="bounded", options={"xatol": 1e-10}).x)


def metafor() -> float:
    """metafor's τ²: that with which the test of the moderator is what it prints, QM = 16.3571."""

    def missing(tau2: float) -> float:
        line = meta_regression(LATITUDE, VALUE, VARIANCE, tau2=tau2)
        return float(line.coefficient[1] ** 2 / line.covariance[1, 1]) - 16.3571

    return float(brentq(missing, 0.05, 0.1))


def test_metafor_with_knapp_and_hartung() -> None:
    """What metafor prints: four decimals of every number of its table."""
    # metafor stops iterating at a change of 10⁻⁵, a little beside the largest restricted likelihood.
    assert metafor() == pytest.approx(reml(), abs=1e-5)
    line = meta_regression(LATITUDE, VALUE, VARIANCE, tau2=metafor())
    assert line.tau2 == pytest.approx(0.0764, abs=5e-5)
    np.testing.assert_allclose(line.coefficient, [0.2515, -0.0291], atol=5.1e-5)
    np.testing.assert_allclose(np.sqrt(np.diag(line.covariance)), [0.2491, 0.0072], atol=5.1e-5)
    error = np.sqrt(line.factor * np.diag(line.covariance))
    np.testing.assert_allclose(error, [0.2839, 0.0082], atol=5.1e-5)
    np.testing.assert_allclose(line.coefficient / error, [0.8857, -3.5483], atol=5.1e-5)
    reach = t.ppf(0.975, 11) * error
    np.testing.assert_allclose(line.coefficient - reach, [-0.3735, -0.0472], atol=5.1e-5)
    np.testing.assert_allclose(line.coefficient + reach, [0.8764, -0.0111], atol=5.1e-5)


def test_residual_heterogeneity_is_metafor_s() -> None:
    assert meta_regression(LATITUDE, VALUE, VARIANCE, tau2=0.0).factor * 11 == pytest.approx(
        30.7331, abs=5e-5
    )


def test_tau_solves_paule_and_mandel() -> None:
    line = meta_regression(LATITUDE, VALUE, VARIANCE)
    fit = sm.WLS(VALUE, DESIGN, weights=1 / (VARIANCE + line.tau2)).fit()
    # statsmodels estimates the scale of the weights, which is then 1.
    assert fit.scale == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(line.coefficient, fit.params, rtol=1e-9)
    np.testing.assert_allclose(line.factor * line.covariance, fit.cov_params(), rtol=1e-8)


def test_known_variances_that_explain_all_leave_no_tau() -> None:
    line = meta_regression(LATITUDE, VALUE, 50.0 * VARIANCE)
    fit = sm.WLS(VALUE, DESIGN, weights=1 / VARIANCE).fit()
    assert line.tau2 == 0.0
    assert line.factor < 1.0
    np.testing.assert_allclose(line.factor * line.covariance, fit.cov_params(), rtol=1e-9)


@pytest.mark.parametrize("variance", [1e-9, 0.01, 100.0])
def test_equal_variances_are_ordinary_least_squares(variance: float) -> None:
    line = meta_regression(LATITUDE, VALUE, np.full(13, variance))
    fit = sm.OLS(VALUE, DESIGN).fit()
    np.testing.assert_allclose(line.coefficient, fit.params, rtol=1e-8)
    np.testing.assert_allclose(line.factor * line.covariance, fit.cov_params(), rtol=1e-8)
