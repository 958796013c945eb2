"""From a distribution to an :class:`~entropylaw.results.Estimate`."""

from __future__ import annotations

import numpy as np

from entropylaw.results import Estimate
from entropylaw.results.mixture import Mixture


def tails(level: float) -> tuple[float, float, float]:
    """Probabilities below the low end, the median and the high end of an equal-tailed interval."""
    tail = (1.0 - level) / 2.0
    return tail, 0.5, 1.0 - tail


def unknown(why: str, *, level: float, method: str) -> Estimate:
    """No number and no interval, and the reason."""
    return Estimate(value=None, low=None, high=None, level=level, method=method, note=why)


def from_mixture(mixture: Mixture, *, level: float, method: str) -> Estimate:
    """Median and equal-tailed interval of the first number of ``mixture``."""
    return estimates(mixture, level=level, method=method)[0]


def estimates(mixture: Mixture, *, level: float, method: str) -> list[Estimate]:
    """Median and equal-tailed interval of every number of ``mixture``."""
    # One component: the textbook standard error, not the standard deviation of its t.
    single = mixture.location.shape[1] == 1
    spread = mixture.scale[:, 0] if single else mixture.standard_deviation()
    rows = np.vstack([mixture.quantiles(tails(level)), spread])
    return [
        Estimate(
            value=value,
            low=low,
            high=high,
            level=level,
            method=method,
            std_error=error if np.isfinite(error) else None,
        )
        for low, value, high, error in rows.T.tolist()
    ]
