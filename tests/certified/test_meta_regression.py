"""Meta-regression against metafor's documented results and statsmodels.

The data are the 13 trials of the BCG vaccine of Colditz et al. (1994, doi:10.1001/jama.1994.03510330076038),
log risk ratios on absolute latitude, as in the pages of R's metafor (Viechtbauer 2010,
doi:10.18637/jss.v036.i03): ``rma(yi, vi, mods = ~ ablat, test = "knha")``.
"""

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import t

from entropylaw.analysis.scaling import Line, meta_regression

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


def fixed(tau2: float) -> Line:
    """The line with a given τ²."""
    return Line.of(LATITUDE, VALUE, VARIANCE, np.array([tau2]))


def table(line: Line) -> tuple[Any, Any]:
    """Intercept and slope of the first line, and their standard errors given τ²."""
    value, variance = line.at(0.0)
    estimates = np.array([value[0], line.slope[0]])
    return estimates, np.sqrt([variance[0], line.slope_variance[0]])


def metafor() -> float:
    """metafor's τ²: that with which the test of the moderator is what it prints, QM = 16.3571."""

    def missing(tau2: float) -> float:
        estimates, errors = table(fixed(tau2))
        return float(estimates[1] / errors[1]) ** 2 - 16.3571

    return float(brentq(missing, 0.05, 0.1))


def test_metafor_with_knapp_and_hartung() -> None:
    """What metafor prints: four decimals of every number of its table."""
    # metafor stops iterating at a change of 10⁻⁵, a little beside the largest restricted likelihood.
    assert metafor() == pytest.approx(reml(), abs=1e-5)
    assert metafor() == pytest.approx(0.0764, abs=5e-5)
    line = fixed(metafor())
    estimates, errors = table(line)
    np.testing.assert_allclose(estimates, [0.2515, -0.0291], atol=5.1e-5)
    np.testing.assert_allclose(errors, [0.2491, 0.0072], atol=5.1e-5)
    errors = np.sqrt(line.misfit / 11) * errors
    np.testing.assert_allclose(errors, [0.2839, 0.0082], atol=5.1e-5)
    np.testing.assert_allclose(estimates / errors, [0.8857, -3.5483], atol=5.1e-5)
    reach = t.ppf(0.975, 11) * errors
    np.testing.assert_allclose(estimates - reach, [-0.3735, -0.0472], atol=5.1e-5)
    np.testing.assert_allclose(estimates + reach, [0.8764, -0.0111], atol=5.1e-5)


def test_residual_heterogeneity_is_metafor_s() -> None:
    assert fixed(0.0).misfit[0] == pytest.approx(30.7331, abs=5e-5)


@pytest.mark.parametrize("misfit", [1e-6, 0.5, 11.0, 20.0, 30.0])
def test_tau_solves_paule_and_mandel(misfit: float) -> None:
    line = meta_regression(LATITUDE, VALUE, VARIANCE, [misfit, 1.0])
    fit = sm.WLS(VALUE, DESIGN, weights=1 / (VARIANCE + line.tau2[0])).fit()
    assert 11 * fit.scale == pytest.approx(misfit, rel=1e-9)
    estimates, errors = table(line)
    np.testing.assert_allclose(estimates, fit.params, rtol=1e-9)
    np.testing.assert_allclose(errors * np.sqrt(line.misfit[0] / 11), fit.bse, rtol=1e-8)


def test_errors_that_explain_all_leave_no_tau() -> None:
    line = meta_regression(LATITUDE, VALUE, 50.0 * VARIANCE, [11])
    fit = sm.WLS(VALUE, DESIGN, weights=1 / VARIANCE).fit()
    assert line.tau2[0] == 0.0
    assert line.misfit[0] < 11
    np.testing.assert_allclose(table(line)[1] * np.sqrt(line.misfit[0] / 11), fit.bse, rtol=1e-9)


@pytest.mark.parametrize("variance", [1e-9, 0.01, 100.0])
def test_equal_variances_are_ordinary_least_squares(variance: float) -> None:
    line = meta_regression(LATITUDE, VALUE, np.full(13, variance), [11])
    fit = sm.OLS(VALUE, DESIGN).fit()
    estimates, errors = table(line)
    np.testing.assert_allclose(estimates, fit.params, rtol=1e-8)
    np.testing.assert_allclose(errors * np.sqrt(line.misfit[0] / 11), fit.bse, rtol=1e-8)
    forecast = fit.get_prediction([[1.0, 70.0]]).summary_frame(alpha=0.05)
    value, own = line.at(70.0)
    assert value[0] == pytest.approx(forecast["mean"][0])
    assert np.sqrt(own[0] * line.misfit[0] / 11) == pytest.approx(forecast["mean_se"][0])


@pytest.mark.parametrize("seed", range(20))
def test_any_errors_converge(seed: int) -> None:
    """Errors that differ by factors of up to 10⁶."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 8))
    x, value = np.sort(rng.uniform(0.0, 3.0, k)), rng.standard_normal(k)
    variance = 10.0 ** rng.uniform(-6.0, 0.0, k)
    target = np.array([1e-4, 0.1, k - 2.0, 10.0])
    line = meta_regression(x, value, variance, target)
    solved = line.tau2 > 0
    np.testing.assert_allclose(line.misfit[solved], target[solved], rtol=1e-8)
    assert (line.misfit[~solved] <= target[~solved]).all()


def test_points_on_a_line_have_no_misfit() -> None:
    x = np.array([0.0, 1.0, 2.0])
    line = meta_regression(x, 2.0 * x, np.full(3, 1e-12), [1.0])
    assert (line.tau2[0], line.misfit[0]) == (0.0, pytest.approx(0.0, abs=1e-9))
