"""Statistics of groups of tokens from their sums by bin: means, deviations, percentiles, shares."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.tokens.query import BINS, EDGES, HALF, POINT

PERCENTS = (5, 10, 20, 50, 80, 90, 95, 99)
"""Percentiles that are reported."""


def _from_above(values: IntArray) -> IntArray:
    """Sums (g, BINS + 1) over each bin and all bins above it, and over none."""
    return np.pad(np.cumsum(values[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Tokens of g groups by bin, all (g, BINS): their number, Σq, and the halves of Σq²."""

    tokens: IntArray
    total: IntArray
    square_high: IntArray
    square_low: IntArray

    @classmethod
    def of(cls, sums: dict[str, IntArray], groups: int, group: IntArray) -> Cells:
        """Sums by bin in each of the ``groups``; entropies that were rounded up to zero are in the first bin.

        ``group`` (rows,) is the number of each row's group.
        """
        at = group * BINS + np.maximum(sums["bin"], 0)
        regular = sums["bin"] >= 0
        arrays = {name: np.zeros(groups * BINS, dtype=np.int64) for name in cls.__slots__}
        for name, array in arrays.items():
            np.add.at(array, at, sums[name] if name == "tokens" else sums[name] * regular)
        return cls(**{name: array.reshape(groups, BINS) for name, array in arrays.items()})

    @property
    def n(self) -> IntArray:
        """Tokens of each group (g,)."""
        return np.asarray(self.tokens.sum(axis=1))

    @property
    def fixed(self) -> IntArray:
        """Exact Σq of each group (g,)."""
        return np.asarray(self.total.sum(axis=1))

    def below(self, edge: float) -> IntArray:
        """Tokens of each group (g,) with an entropy below an edge of the bins."""
        return np.asarray(self.tokens[:, : np.searchsorted(EDGES, edge)].sum(axis=1))

    def deviations(self) -> list[float | None]:
        """Standard deviation between a group's tokens in nats, with n − 1; exact until the square root."""
        groups = zip(
            self.n.tolist(),
            self.fixed.tolist(),
            self.square_high.sum(axis=1).tolist(),
            self.square_low.sum(axis=1).tolist(),
            strict=True,
        )
        deviations: list[float | None] = []
        for n, fixed, high, low in groups:
            if n < 2:
                deviations.append(None)
                continue
            squares = (high << HALF) + low
            deviations.append(math.sqrt((n * squares - fixed**2) / (n * (n - 1))) / POINT)
        return deviations

    def percentiles(self) -> FloatArray:
        """Values (g, :data:`PERCENTS`), the ⌈p·n/100⌉-th smallest, in nats; within a bin by :meth:`_pieces`.

        nan for a group without tokens.
        """
        filled = np.flatnonzero(self.n)
        values = np.full((len(self.tokens), len(PERCENTS)), np.nan)
        ranks = np.maximum(1, -(-np.array(PERCENTS) * self.n[filled, None] // 100))
        tokens = self.tokens[filled]
        reached = np.cumsum(tokens, axis=1)
        at = np.sum(reached[:, None, :] < ranks[:, :, None], axis=2)
        count = np.take_along_axis(tokens, at, axis=1)
        inside = (ranks - 0.5 - (np.take_along_axis(reached, at, axis=1) - count)) / count
        low, mean, high, weight = self._pieces(filled[:, None], at)
        lower = low + (mean - low) * inside / np.maximum(weight, 1e-300)
        upper = mean + (high - mean) * (inside - weight) / np.maximum(1 - weight, 1e-300)
        values[filled] = np.where(inside <= weight, lower, upper)
        return values

    def shares_of_top(self) -> FloatArray:
        """Share (g,) of all entropy in the fifth of tokens with the highest; nan if all entropies are 0."""
        filled = np.flatnonzero(self.fixed)
        shares = np.full(len(self.tokens), np.nan)
        fixed = self.fixed[filled] / POINT
        tokens = self.tokens[filled]
        size = 0.2 * self.n[filled]
        rows = np.arange(len(filled))
        above = _from_above(tokens)
        q = _from_above(self.total[filled])
        at = np.sum(above >= size[:, None], axis=1) - 1
        count = tokens[rows, at]
        taken = np.minimum(1.0, (size - above[rows, at + 1]) / count)
        low, mean, high, weight = self._pieces(filled, at)
        not_taken = 1 - taken
        slope_above = taken * taken / np.where(weight < 1, 2 * (1 - weight), 1)
        slope_below = not_taken * not_taken / np.where(weight > 0, 2 * weight, 1)
        upper = taken * high - (high - mean) * slope_above
        lower = mean - (not_taken * low + (mean - low) * slope_below)
        rest = np.where(taken <= 1 - weight, upper, lower)
        shares[filled] = (q[rows, at + 1] / POINT + rest * count) / fixed
        return shares

    def _pieces(self, group: IntArray, at: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Uniform densities on [low, mean] and [mean, high] in bins ``at``, and the weight of the lower one.

        Their mean is the mean of the bin. Their ends are the bin's, but at most √3 standard deviations from
        the mean, as in a uniform distribution: where all tokens have one value, so do the percentiles.
        """
        lower_edge = EDGES[at]
        upper_edge = EDGES[at + 1]
        tokens = self.tokens[group, at]
        total = self.total[group, at]
        mean = np.clip(total / tokens.astype(float) / POINT, lower_edge, upper_edge)
        sums = zip(
            tokens.ravel().tolist(),
            total.ravel().tolist(),
            self.square_high[group, at].ravel().tolist(),
            self.square_low[group, at].ravel().tolist(),
            strict=True,
        )
        # √3 standard deviations of each bin, in Python integers until the square root.
        reaches = []
        for n, fixed, high, low in sums:
            squares = (high << HALF) + low
            reaches.append(math.sqrt(3 * (n * squares - fixed**2)) / (n * POINT))
        reach = np.array(reaches).reshape(at.shape)
        start = np.maximum(lower_edge, mean - reach)
        stop = np.minimum(upper_edge, mean + reach)
        width = stop - start
        weight = np.where(width > 0, (stop - mean) / np.where(width > 0, width, 1), 1.0)
        return start, mean, stop, weight
