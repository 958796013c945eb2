"""What others would do with the same runs: each function gives the ends of a 95 % interval of the ceiling."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.optimize import curve_fit
from scipy.stats import t as student

from benchmarks.worlds import FloatArray

Ends = tuple[float, float]

RESAMPLES = 200
"""Bootstrap samples an interval; 1,000 give the same coverage within a point, at five times the time."""


def by_curve_fit(entropy: FloatArray, reward: FloatArray) -> Ends:
    """The notebook's way: b − a ± t · sd from pcov."""
    (a, b), cov = curve_fit(lambda h, a, b: -a * np.exp(h) + b, entropy, reward, p0=(0.1, 0.5))
    half = student.ppf(0.975, entropy.size - 2) * np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1])
    return b - a - half, b - a + half


def by_lmfit(entropy: FloatArray, reward: FloatArray) -> Ends:
    """The profile interval of lmfit's ``conf_interval``, with the ceiling as a parameter."""
    import lmfit

    def left(p: lmfit.Parameters) -> FloatArray:
        return np.asarray(p["c"].value - p["a"].value * np.expm1(entropy) - reward)

    parameters = lmfit.create_params(c=0.5, a=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitter = lmfit.Minimizer(left, parameters)
        found = lmfit.conf_interval(fitter, fitter.minimize(), p_names=["c"], sigmas=[0.95])["c"]
    return found[0][1], found[-1][1]


def by_newey_west(entropy: FloatArray, reward: FloatArray) -> Ends:
    """Least squares with statsmodels' HAC errors, Bartlett kernel, 4(n/100)^(2/9) lags, Student t."""
    import statsmodels.api as sm

    lags = int(4 * (entropy.size / 100) ** (2 / 9))
    model = sm.OLS(reward, _design(entropy))
    fit = model.fit(cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": True}, use_t=True)
    return tuple(fit.conf_int()[0])


def by_glsar(entropy: FloatArray, reward: FloatArray) -> Ends:
    """Feasible GLS with AR(1) residuals, statsmodels' GLSAR iterated."""
    import statsmodels.api as sm

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = sm.GLSAR(reward, _design(entropy), rho=1).iterative_fit(maxiter=20)
    return tuple(fit.conf_int()[0])


def by_bootstrap(entropy: FloatArray, reward: FloatArray, resamples: int = RESAMPLES) -> Ends:
    """Stationary bootstrap by arch of least-squares residuals, block length by its own rule, percentile."""
    from arch.bootstrap import StationaryBootstrap, optimal_block_length

    x = _design(entropy)
    solve = np.linalg.pinv(x)
    fitted = x @ (solve @ reward)
    residual = reward - fitted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        length = float(optimal_block_length(residual)["stationary"].iloc[0])
        block = max(1.0, length if np.isfinite(length) else 1.0)
        bootstrap = StationaryBootstrap(block, residual, seed=7)
        low, high = bootstrap.conf_int(
            lambda e: solve[0] @ (fitted + e), reps=resamples, method="percentile", size=0.95
        ).ravel()
    return float(low), float(high)


def _design(entropy: FloatArray) -> FloatArray:
    return np.stack([np.ones(entropy.size), -np.expm1(entropy)], axis=1)


QUICK: dict[str, Callable[[FloatArray, FloatArray], Ends]] = {
    "curve_fit": by_curve_fit,
    "HAC": by_newey_west,
    "AR(1) GLS": by_glsar,
}
"""Milliseconds a run."""

SLOW: dict[str, Callable[[FloatArray, FloatArray], Ends]] = {"lmfit": by_lmfit, "bootstrap": by_bootstrap}
"""Tens of milliseconds a run."""

PEERS = QUICK | SLOW
