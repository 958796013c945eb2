"""From a distribution to an :class:`~entropylaw.results.Estimate`."""

from __future__ import annotations

import numpy as np

from entropylaw.engine.mixture import Mixture
from entropylaw.results import Estimate


def from_mixture(mixture: Mixture, *, level: float, method: str) -> Estimate:
    """Median and equal-tailed interval of the first number of ``mixture``."""
    return estimates(mixture, level=level, method=method)[0]


def estimates(mixture: Mixture, *, level: float, method: str) -> list[Estimate]:
    """Median and equal-tailed interval of every number of ``mixture``."""
    tail = (1.0 - level) / 2.0
    low, value, high = mixture.quantiles((tail, 0.5, 1.0 - tail))
    spread = mixture.standard_deviation()
    if mixture.location.shape[1] == 1:
        # One component: the textbook standard error, not the standard deviation of its t.
        spread = mixture.scale[:, 0]
    return [
        Estimate(
            value=float(value[i]),
            low=float(low[i]),
            high=float(high[i]),
            level=level,
            method=method,
            std_error=float(spread[i]) if np.isfinite(spread[i]) else None,
        )
        for i in range(value.size)
    ]
