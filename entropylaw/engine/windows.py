"""Tests of a curve by differences between the means of two windows, all tested together.

For every curve that does not rise, the mean over a later window minus that over an earlier one has an
expectation of at most 0. The least favourable curve is a constant, on which all expectations are 0, so that
the distribution of the largest difference is known from the covariance of drift and noise alone: it is
simulated once for the steps, and serves all curves.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import chdtri

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.trend import TINY, Design, Models

DRAWS = 599
"""Simulations of drift and noise per covariance."""

_LEAST = 2e-3
"""Models below this probability are left out of p-values."""


class Windows:
    """Differences of two windows each: ``pairs`` (w, 4) are first and end of the earlier and of the later."""

    def __init__(self, design: Design, pairs: IntArray) -> None:
        self.design = design
        self.pairs = pairs
        self.even = self.deviations(np.ones(design.step.size))
        self._null: dict[tuple[int, float], FloatArray] = {}

    def differences(self, curves: FloatArray) -> FloatArray:
        """Of curves (…, n) the later mean minus the earlier one: (…, w)."""
        total = np.concatenate([np.zeros((*curves.shape[:-1], 1)), np.cumsum(curves, axis=-1)], axis=-1)
        a, b, c, d = self.pairs.T
        later = (total[..., d] - total[..., c]) / (d - c)
        return np.asarray(later - (total[..., b] - total[..., a]) / (b - a))

    def deviations(self, scale: FloatArray) -> FloatArray:
        """Standard deviations (grid, w) of the differences of a residual of variance 1 times ``scale``."""
        total = np.zeros((len(self.design.correlations), scale.size + 1, scale.size + 1))
        covariance = self.design.correlations * np.outer(scale, scale)
        total[:, 1:, 1:] = covariance.cumsum(axis=1).cumsum(axis=2)
        start, end, later, last = self.pairs.T
        variance = _mean_over(total, later, last, later, last) + _mean_over(total, start, end, start, end)
        return np.sqrt(np.maximum(variance - 2.0 * _mean_over(total, start, end, later, last), TINY))

    def null(self, point: int, free: float = np.inf) -> FloatArray:
        """The largest of the standardised differences of constant curves with constant scale (draws,).

        Sorted; the residual's sd is estimated with so many degrees of freedom.
        """
        if (point, free) not in self._null:
            if free < np.inf:
                # The draws of the scale are independent of those of the noise.
                largest = self.null(point)[_ORDER] * _scales(free)
            else:
                normal = np.random.default_rng(0).standard_normal((DRAWS, self.design.step.size))
                noise = normal @ self.design.roots[point].T
                largest = (self.differences(noise) / self.even[point]).max(axis=1)
            self._null[point, free] = np.sort(largest)
        return self._null[point, free]

    def p_values(self, curves: FloatArray, models: Models, deviations: FloatArray) -> FloatArray:
        """Of every difference (…, w) of curves (…, n) that its expectation is at most 0, adjusted for all.

        The probability that the largest of all is as large where all expectations are 0, averaged over the
        models, and over the residual's scale given its degrees of freedom.
        """
        value = self.differences(curves)
        weight = np.exp(models.weight - models.total)
        point, basis = np.nonzero(weight >= min(_LEAST, float(weight.max())))
        p_values = np.zeros(value.shape)
        for g, i in zip(point, basis, strict=True):
            free = float(models.free[i])
            z = value / (deviations[g] * np.sqrt(models.rss[g, i] / free))
            p_values += weight[g, i] * (1 + DRAWS - np.searchsorted(self.null(int(g), free), z))
        return np.asarray(p_values / ((DRAWS + 1) * weight[point, basis].sum()))


def _mean_over(
    total: FloatArray, low: IntArray, high: IntArray, left: IntArray, right: IntArray
) -> FloatArray:
    """Means of matrices over rows ``low`` to ``high`` and columns ``left`` to ``right``, (grid, w).

    ``total`` are the sums of the matrices up to each row and column, (grid, n + 1, n + 1).
    """
    corners = total[:, high, right] - total[:, low, right] - total[:, high, left] + total[:, low, left]
    return np.asarray(corners / ((high - low) * (right - left)))


_ORDER = np.random.default_rng(1).permutation(DRAWS)
"""A random order of the simulations."""


@lru_cache(maxsize=256)
def _scales(free: float) -> FloatArray:
    """Equally probable values (draws,) of the true residual scale over the estimated one."""
    return np.asarray(np.sqrt(free / chdtri(free, (np.arange(DRAWS) + 0.5) / DRAWS)))


def recent_over_lowest(n: int) -> IntArray:
    """A window at the end against every earlier one, of three lengths each."""
    pairs: list[tuple[int, int, int, int]] = []
    for recent in sorted({max(4, n // 10), max(4, n // 5), max(5, n // 3)}):
        for width in sorted({max(3, n // 12), max(4, n // 6), max(5, n // 3)}):
            starts = range(0, n - recent - width + 1, max(1, width // 3))
            pairs.extend((start, start + width, n - recent, n) for start in starts)
    return np.array(pairs)


def neighbours(n: int) -> IntArray:
    """Adjacent windows of three lengths, at every point."""
    pairs: list[tuple[int, int, int, int]] = []
    for width in sorted({max(3, n // 40), max(4, n // 20), max(6, n // 10)}):
        middles = range(width, n - width + 1)
        pairs.extend((middle - width, middle, middle, middle + width) for middle in middles)
    return np.array(pairs)
