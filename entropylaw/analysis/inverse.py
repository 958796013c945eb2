"""Entropy for a target reward: the band of the law, inverted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from entropylaw.engine.grid import FloatArray

SMALLEST_ENTROPY = 1e-12
"""Entropies, in nats, that differ by less do not move by anything that a logger writes."""

HIGHEST_ENTROPY = 12.0
"""Nats; about the logarithm of the largest vocabularies. No token distribution has more."""

_POINTS = 241


def compatible_entropies(
    below: Callable[[FloatArray], FloatArray], tail: float, hints: FloatArray
) -> tuple[tuple[float, float | None], ...]:
    """Entropies at which a target reward lies between two quantiles of the law's mean.

    Parameters
    ----------
    below
        Maps entropies (shape (m,)) to the probability that the law's mean there is at most the target.
    tail
        Half of 1 − level. The set is where ``below`` lies in [tail, 1 − tail]: the inversion of Fieller
        (1954, doi:10.1111/j.2517-6161.1954.tb00159.x), which may be empty, disjoint or unbounded.
    hints
        Shape (k,), entropies near which the set is expected. The set can be narrower than any fixed grid.

    Returns
    -------
    Disjoint intervals in nats, from 0; the upper end is None where the set reaches the largest
    entropy that a vocabulary allows.
    """
    # Uniform in exp(H) − 1 near 0 would waste points; uniform in log1p(H) resolves both ends.
    grid = np.expm1(np.linspace(0.0, np.log1p(HIGHEST_ENTROPY), _POINTS))
    near = hints[np.isfinite(hints) & (hints > 0) & (hints < HIGHEST_ENTROPY)]
    grid = np.union1d(grid, near)

    def margin(entropy: FloatArray) -> FloatArray:
        probability = below(entropy)
        return np.minimum(probability - tail, 1.0 - tail - probability)

    inside = margin(grid) >= 0
    starts = [0.0] if inside[0] else []
    ends: list[float | None] = []
    for i in np.flatnonzero(inside[1:] != inside[:-1]):
        crossing = _bisect(margin, float(grid[i]), float(grid[i + 1]), rising=bool(inside[i + 1]))
        (starts if inside[i + 1] else ends).append(crossing)
    if inside[-1]:
        ends.append(None)
    return tuple(zip(starts, ends, strict=True))


def _bisect(margin: Callable[[FloatArray], FloatArray], low: float, high: float, *, rising: bool) -> float:
    """Where ``margin`` changes sign between ``low`` and ``high``."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        if (float(margin(np.array([middle]))[0]) >= 0) == rising:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)
