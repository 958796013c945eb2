"""Tests of a curve's shape without a model of it: contrasts over windows, tested together.

For every curve that does not rise, the least-squares slope over any window has an expectation of at most 0;
for every convex curve a quadratic contrast has one of at least 0. The least favourable curve is a straight
line, on which all expectations are 0, so that the distribution of the largest contrast is known from the
covariance of drift and noise alone: it is simulated once for the steps, and serves all curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.special import chdtri

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.trend import Components, TrendDesign
from entropylaw.results.phases import DRAWS

ENDS = 25
"""Windows begin and end at so many evaluations, evenly over the run."""

FEWEST = 4
"""Fewest evaluations in a window."""

LEAST = 0.002
"""Components of the trend below this probability are left out."""


class Windows:
    """Contrasts of one degree over all windows: 1 for slopes, 2 for curvatures.

    ``first`` and ``last`` (w,) are the first and the last evaluation of each window, ``contrasts`` (w, n) the
    weights: orthogonal to lower powers of time, with a positive part that adds up to 1.
    """

    def __init__(self, design: TrendDesign, degree: int) -> None:
        self.design, time = design, design.time
        at = np.unique(np.round(np.linspace(0, time.size - 1, ENDS)).astype(int))
        first, last = (axis.ravel() for axis in np.meshgrid(at, at, indexing="ij"))
        wide = last - first + 1 >= FEWEST
        self.first: IntArray = first[wide]
        self.last: IntArray = last[wide]
        self.contrasts = np.zeros((self.first.size, time.size))
        for row, low, high in zip(self.contrasts, self.first, self.last, strict=True):
            t = time[low : high + 1]
            t = (t - t[0]) / (t[-1] - t[0])
            lower = np.linalg.qr(np.vander(t, degree))[0]
            own = t**degree - lower @ (lower.T @ t**degree)
            own -= lower @ (lower.T @ own)
            row[low : high + 1] = own / own[own > 0].sum()
        # Short windows are many, and pay for that.
        length = time[self.last] - time[self.first]
        self.penalty = np.log(np.e / length) ** (0.5 if degree == 1 else 0.25)
        self._known: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._scales: dict[float, FloatArray] = {}

    @cached_property
    def _normal(self) -> FloatArray:
        # A constant of the method: the same numbers for every curve.
        return np.random.default_rng(0).standard_normal((self.design.time.size, DRAWS))

    @cached_property
    def _chi(self) -> FloatArray:
        """Probabilities (draws,), in random order, of the residual's scale."""
        return np.random.default_rng(1).permutation((np.arange(DRAWS) + 0.5) / DRAWS)

    def of(self, point: int) -> tuple[FloatArray, FloatArray]:
        """Standard deviation of each contrast (w,) for a covariance of variance 1, and simulated maxima."""
        if point not in self._known:
            covariance = self.design.covariance(point)
            rows = self.contrasts @ np.linalg.cholesky(covariance)
            sd = np.linalg.norm(rows, axis=1)
            largest = ((rows / (sd * self.penalty)[:, None]) @ self._normal).max(axis=0)
            self._known[point] = sd, largest
        return self._known[point]

    def null(self, components: Components) -> list[FloatArray]:
        """Per component the sorted simulated maxima, allowing for the estimated residual scale."""
        each = zip(components.point, components.free, strict=True)
        return [np.sort(self.of(int(point))[1] * self._wider(float(free))) for point, free in each]

    def _wider(self, free: float) -> FloatArray:
        """Draws (draws,) of the true residual scale over the estimated one, with its degrees of freedom."""
        if free not in self._scales:
            self._scales[free] = np.sqrt(free / chdtri(free, self._chi))
        return self._scales[free]

    def p_values(self, value: FloatArray, components: Components, null: Sequence[FloatArray]) -> FloatArray:
        """Of every window (w,), that its contrast is at most 0, from the contrasts' values (w,).

        The probability that the largest of all windows is as large where all expectations are 0, averaged
        over the components.
        """
        found = np.zeros(value.size)
        for weight, point, scale, largest in zip(
            components.weight, components.point, components.scale, null, strict=True
        ):
            z = value / (scale * self.of(int(point))[0] * self.penalty)
            found += weight * (1 + DRAWS - np.searchsorted(largest, z))
        return found / (DRAWS + 1)

    def then(self, before: FloatArray, after: FloatArray) -> tuple[float, int, int]:
        """The smallest p-value of "one window with ``before``, and after its end another with ``after``".

        Both are p-values per window (w,); the larger of the two counts (intersection–union test, Berger 1982,
        doi:10.1080/00401706.1982.10487790). Returns it with the numbers of both windows.
        """
        best, windows = 2.0, (0, 0)
        for at in np.unique(self.last):
            one, other = np.flatnonzero(self.last <= at), np.flatnonzero(self.first >= at)
            if not other.size:
                continue
            i, j = one[np.argmin(before[one])], other[np.argmin(after[other])]
            if (p := float(max(before[i], after[j]))) < best:
                best, windows = p, (int(i), int(j))
        return best, *windows
