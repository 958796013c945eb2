"""Several estimates of one quantity that may truly differ: their mean, a new one, and how far they spread."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri, stdtrit

from entropylaw.engine.grid import FloatArray
from entropylaw.results import Estimate


def random_effects(
    value: FloatArray, variance: FloatArray, *, level: float
) -> tuple[Estimate, Estimate, Estimate]:
    """Mean over seeds, a new seed, and τ, from k ≥ 2 estimates and their variances, shapes (k,)."""
    from scipy.optimize import brentq  # slow to import, and seldom needed

    k = value.size
    tail = (1.0 - level) / 2.0

    def generalised(tau2: float) -> float:
        weight = 1.0 / (variance + tau2)
        return float(weight @ (value - weight @ value / weight.sum()) ** 2)

    def solved(target: float) -> float:
        if generalised(0.0) <= target:
            return 0.0
        top = float(np.ptp(value)) ** 2
        while generalised(top) > target:
            top *= 2.0
        return float(brentq(lambda tau2: generalised(tau2) - target, 0.0, top, xtol=1e-14 * top))

    tau2, low, high = (solved(float(q)) for q in (k - 1.0, *chdtri(k - 1, [tail, 1.0 - tail])))
    weight = 1.0 / (variance + tau2)
    mean, reach = float(weight @ value / weight.sum()), float(stdtrit(k - 1, 1.0 - tail))
    error = float(np.sqrt(generalised(tau2) / ((k - 1) * weight.sum())))
    ahead = float(np.sqrt(tau2 + max(error**2, 1.0 / weight.sum())))
    centre, new = (
        Estimate(
            value=mean, low=mean - reach * e, high=mean + reach * e, level=level, method=method, std_error=e
        )
        for e, method in (
            (error, f"between seeds (Hartung–Knapp, {k} seeds)"),
            (ahead, f"a new seed (t with {k - 1} degrees of freedom)"),
        )
    )
    closer = generalised(0.0) < chdtri(k - 1, 1.0 - tail)
    tau = Estimate(
        value=float(np.sqrt(tau2)),
        low=float(np.sqrt(low)),
        high=None if closer else float(np.sqrt(high)),
        level=level,
        method="Paule–Mandel, Q-profile",
        note="closer together than their own intervals allow" if closer else None,
    )
    return centre, new, tau
