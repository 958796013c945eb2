"""Whether a curve of entropy has a boundary at all: the test, and the smallest rise that it would see."""

from __future__ import annotations

import numpy as np

from entropylaw.engine.grid import FloatArray
from entropylaw.engine.kinks import Kinks, Null, bend
from entropylaw.errors import UsageError

DRAWS = 399
"""Simulated runs without a boundary, and as many from these."""

FEWEST_BEYOND = 2
"""Simulated runs that must lie beyond the critical value for it to be told."""

DRAWS_RISE = 99
RISES = 7
"""Simulated runs a rise, and rises tried, for the smallest one that would be seen."""

POWER = 0.8
"""Share of runs in which that rise is found."""


def checked_test_level(level: float) -> float:
    """``level``, if the simulations can tell a p-value of 1 − level.

    Raises
    ------
    UsageError
        ``bad-level``.
    """
    highest = 1.0 - FEWEST_BEYOND / (DRAWS + 1.0)
    if level > highest + 1e-12:
        raise UsageError(
            "bad-level",
            f"level {level:g}; a test by {DRAWS} simulations knows no p-value below {1 / (DRAWS + 1):.2g}, "
            f"expected a level of at most {highest:g}",
            "give 0.95 or 0.99",
        )
    return level


def decay_test(
    kinks: Kinks, null: Null, mean: FloatArray, rng: np.random.Generator, level: float, draws: int = DRAWS
) -> tuple[float, float]:
    """The p-value of one smooth decay, and the statistic from which on it is rejected at 1 − level.

    ``null`` and ``mean`` (n, 1) are of one series.
    """
    first = kinks.null(kinks.draws(null, mean, rng, draws))
    second = kinks.null(kinks.draws(first, kinks.means(first), rng, 1))
    once = np.sort(first.statistic)
    told = _adjusted(once, second.statistic, once)
    rejected = once[told <= 1.0 - level + 1e-12]
    # Beyond all of the first simulation there is nothing to correct by: what is there is rejected.
    critical = float(rejected.min() if rejected.size else np.nextafter(once[-1], np.inf))
    return float(_adjusted(once, second.statistic, null.statistic)[0]), critical


def _adjusted(once: FloatArray, twice: FloatArray, statistic: FloatArray) -> FloatArray:
    """p-values of statistics, corrected by a second simulation; ``once`` is sorted.

    The p-value by the first simulation is compared with what it would be for series without a bend, which
    the second tells.
    """
    size = once.size + 1.0
    plain = (1.0 + once.size - np.searchsorted(once, statistic)) / size
    limit = np.quantile(twice, 1.0 - plain)
    corrected = (1.0 + once.size - np.searchsorted(once, limit)) / size
    return np.where(statistic > once[-1], plain, corrected)


def smallest_rise(
    kinks: Kinks, null: Null, mean: FloatArray, critical: float, rng: np.random.Generator
) -> float | None:
    """The smallest rise to the end, from a hinge in the middle, that is found in :data:`POWER` of runs.

    None where the largest that was tried, 16 standard deviations of the curve's residual, is not.
    """
    ramp = bend(kinks.time, 0.5, 0.0)
    ramp = ramp / ramp[-1]
    plain = kinks.draws(null, mean, rng, DRAWS_RISE)
    rises = float(np.std(plain - mean)) * np.geomspace(0.25, 16.0, RISES)
    tried = np.concatenate([plain + rise * ramp[:, None] for rise in rises], axis=1)
    found = (kinks.null(tried).statistic >= critical).reshape(RISES, DRAWS_RISE).mean(axis=1)
    if found[-1] < POWER:
        return None
    first = int(np.argmax(found >= POWER))
    if first == 0:
        return float(rises[0])
    # Between two of them, along the logarithm of the rise.
    return float(np.exp(np.interp(POWER, found[first - 1 : first + 1], np.log(rises[first - 1 : first + 1]))))
