"""Estimates from distributions, and the checks of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from entropylaw.analysis.law.evaluations import HIGHEST_ENTROPY, LARGEST
from entropylaw.arguments import as_floats, as_number
from entropylaw.arrays import FloatArray
from entropylaw.errors import UsageError
from entropylaw.results import Estimate


def tails(level: float) -> tuple[float, float, float]:
    """Probabilities below the low end, the median and the high end of an equal-tailed interval."""
    tail = (1.0 - level) / 2.0
    return tail, 0.5, 1.0 - tail


def unknown(why: str, *, level: float, method: str) -> Estimate:
    """No number and no interval, and the reason."""
    return Estimate(value=None, low=None, high=None, level=level, method=method, note=why)


def checked_entropies(entropy: Any, name: str = "entropy") -> FloatArray:
    """One entropy or several, nats, as an array (m,); UsageError ``bad-entropy`` as :func:`predict`."""
    values = as_floats(entropy, name)
    bad = values[~((values >= 0) & (values <= HIGHEST_ENTROPY))]
    if bad.size:
        raise UsageError(
            "bad-entropy",
            f"entropy {bad[0]:g} nats, expected a number from 0 to {HIGHEST_ENTROPY:g}",
            "give the target entropy in nats per token",
        )
    return values


def checked_gain(gain: float) -> float:
    """A gain of reward above 0, or a :class:`UsageError`."""
    number = as_number(gain, "gain")
    if not 0 < number <= LARGEST:
        raise UsageError(
            "bad-gain",
            f"gain {number:g}, expected a reward above 0, at most {LARGEST:g}",
            "give 0.01 for one point",
        )
    return number


Function = Callable[[FloatArray, bool], FloatArray]
"""A function of entropies (q,), exact with True; with False it is nearly the same, and has no jumps."""


def crossings(function: Function, *near: float | None) -> list[float]:
    """The entropies, nats, at which a function changes its sign, in order.

    Where it is nearly flat, the exact one may change its sign many times: it says where near a change of the
    other it is. The search includes the entropies ``near``, about which the function may have another sign
    over a short way only.
    """
    # Uniform in log1p(H), which resolves both ends.
    grid = np.expm1(np.linspace(0.0, np.log1p(HIGHEST_ENTROPY), 241))
    grid = np.union1d(grid, [entropy for entropy in near if entropy is not None])
    above, roots = function(grid, False) >= 0, list[float]()
    for i in np.flatnonzero(above[1:] != above[:-1]):
        root = _crossing(function, grid[i], grid[i + 1], rounds=5, exact=False)
        reach = 0.1 * (grid[i + 1] - grid[i])
        ends = np.clip([root - reach, root + reach], 0.0, HIGHEST_ENTROPY)
        if np.array_equal(function(ends, True) >= 0, above[[i, i + 1]]):
            root = _crossing(function, *ends, rounds=6, exact=True)
        roots.append(root)
    return roots


def _crossing(function: Function, low: float, high: float, *, rounds: int, exact: bool) -> float:
    """Where a function changes the sign that it has at ``low``; each round is 17 times as exact."""
    above = bool(function(np.array([high]), exact)[0] >= 0)
    for _ in range(rounds):
        inner = np.linspace(low, high, 18)
        first = int(np.argmax(np.append((function(inner[1:-1], exact) >= 0) == above, True)))
        low, high = inner[first], inner[first + 1]
    return float(0.5 * (low + high))
