"""The fixed grid of entropies, numbers in fixed point, and what can be read off a histogram.

A float's sum depends on the order in which it is made, and so on shards, threads and engines. Entropies are
therefore summed as integers: ``q = round(H · 2^27)``, and q² in two halves of 31 bits. Sums of integers are
exact; what comes out is the same bytes wherever and in whatever pieces it was summed.

The bins are equally wide in the fourth root of H: ``k = floor(128 · H^(1/4))``. Square roots are correctly
rounded by IEEE 754, logarithms are not, so that every engine finds the same bin. A bin is 3.4 % wide at
0.672 nats, 10 % at 0.01, 31 % at 1e-4. What is read off within it is far finer, because its mean and standard
deviation are known; twice as many bins made the query half as long again. Two more edges lie at 0.01 and
0.672 nats exactly, the thresholds of arXiv:2506.01939.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FINENESS = 128
"""Bins to a unit of the fourth root of H."""

LOW, FORK = 0.01, 0.672
"""Nats: below LOW lie 50.64 % of the tokens of Qwen3-8B, above FORK a fifth (arXiv:2506.01939, section 3)."""

TOP = 247
"""Bins of the fourth root. The last ends at 13.87 nats: a uniform choice among a million tokens has 13.82."""

LIMIT = (TOP / FINENESS) ** 4
"""Nats; nothing at or above it is an entropy of a token in nats."""

POINT = 1 << 27
"""One nat in fixed point: a token's entropy is off by at most 3.7e-9 nats.

A cell holds at most 2^32 tokens: q < 13.87 · 2^27 < 2^31, so that Σq < 2^63; q² < 2^62, each half of it
below 2^31, so that their sums are below 2^63 too. Beyond that both engines raise an error, none wraps.
"""

HALF = 31
"""Bits of the lower half of q²."""

EDGES: FloatArray = np.union1d((np.arange(TOP + 1) / FINENESS) ** 4, [LOW, FORK])
"""Edges of the bins in nats, ascending; bin i is [EDGES[i], EDGES[i + 1])."""

BINS = len(EDGES) - 1
"""Number of bins."""

PERCENTS = (5, 10, 20, 50, 80, 90, 95, 99)
"""Percentiles that are reported."""


def bin_of(entropy: FloatArray) -> IntArray:
    """Bin of entropies (n,) in nats, each in [0, LIMIT); the same rule as the query's."""
    root = np.floor(np.sqrt(np.sqrt(entropy)) * FINENESS).astype(np.int64)
    bins: IntArray = root + (entropy >= LOW) + (entropy >= FORK)
    return bins


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Tokens of one kind by bin, all (BINS,): their number, Σq, and the halves of Σq²."""

    tokens: IntArray
    total: IntArray
    square_high: IntArray
    square_low: IntArray

    @property
    def n(self) -> int:
        """Tokens."""
        return int(self.tokens.sum())

    @property
    def fixed(self) -> int:
        """Exact Σq."""
        return int(self.total.sum())

    @property
    def mean(self) -> float | None:
        """Mean entropy in nats."""
        return self.fixed / (self.n * POINT) if self.n else None

    @property
    def sd(self) -> float | None:
        """Standard deviation between tokens in nats, with n − 1; exact until the root."""
        n = self.n
        if n < 2:
            return None
        squares = (int(self.square_high.sum()) << HALF) + int(self.square_low.sum())
        return math.sqrt((n * squares - self.fixed**2) / (n * (n - 1))) / POINT

    def share_below(self, edge: float) -> float | None:
        """Share of tokens with H < ``edge``, which must be one of EDGES."""
        at = int(np.searchsorted(EDGES, edge))
        return int(self.tokens[:at].sum()) / self.n if self.n else None

    def percentiles(self) -> list[float | None]:
        """Values at :data:`PERCENTS`, in nats.

        The p-th percentile is the ⌈p·n/100⌉-th smallest entropy. It is known to its bin; the value within
        the bin follows from the bin's mean and standard deviation (:meth:`_pieces`).
        """
        n = self.n
        if not n:
            return [None] * len(PERCENTS)
        ranks = np.array([max(1, -(-percent * n // 100)) for percent in PERCENTS])
        reached = np.cumsum(self.tokens)
        at = np.searchsorted(reached, ranks)
        inside = (ranks - 0.5 - (reached[at] - self.tokens[at])) / self.tokens[at]
        low, mean, high, weight = self._pieces(at)
        lower = low + (mean - low) * inside / np.maximum(weight, 1e-300)
        upper = mean + (high - mean) * (inside - weight) / np.maximum(1 - weight, 1e-300)
        return [float(x) for x in np.where(inside <= weight, lower, upper)]

    def share_of_top(self, fifth: float = 0.2) -> float | None:
        """Share of all entropy that the ``fifth`` of tokens with most of it holds; None where all is 0."""
        n = self.n
        if not n or not self.fixed:
            return None
        wanted = fifth * n
        above = np.cumsum(self.tokens[::-1])[::-1]
        at = int(np.flatnonzero(above >= wanted)[-1])
        taken = float(above[at + 1]) if at + 1 < BINS else 0.0
        part = min(1.0, (wanted - taken) / float(self.tokens[at]))
        low, mean, high, weight = (float(x[0]) for x in self._pieces(np.array([at])))
        if part <= 1 - weight:
            rest = part * high - (high - mean) * part**2 / (2 * (1 - weight)) if part else 0.0
        else:
            left = 1 - part
            rest = mean - (left * low + ((mean - low) * left**2 / (2 * weight) if left else 0.0))
        whole = int(self.total[at + 1 :].sum()) / POINT
        return (whole + rest * int(self.tokens[at])) / (self.fixed / POINT)

    def _pieces(self, at: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Two uniform pieces [low, mean], [mean, high] in bins ``at``, and the weight of the lower one.

        Their mean is the bin's. The ends are the bin's, drawn in to √3 standard deviations around the mean,
        which is where a uniform distribution ends: tokens of one value stay that value.
        """
        n = self.tokens[at].astype(float)
        left, right = EDGES[at], EDGES[at + 1]
        mean = np.clip(self.total[at] / n / POINT, left, right)
        high, low = self.square_high[at], self.square_low[at]
        reach = np.array([_reach(*cell) for cell in zip(n, self.total[at], high, low, strict=True)])
        start, stop = np.maximum(left, mean - reach), np.minimum(right, mean + reach)
        width = stop - start
        weight = np.where(width > 0, (stop - mean) / np.where(width > 0, width, 1), 1.0)
        return start, mean, stop, weight


def _reach(n: float, total: int, high: int, low: int) -> float:
    """√3 standard deviations of one cell, in nats."""
    count, fixed = int(n), int(total)
    squares = (int(high) << HALF) + int(low)
    return math.sqrt(3 * (count * squares - fixed**2)) / (count * POINT)


def together(parts: list[Cells]) -> Cells:
    """Cells of several kinds as one; none at all is an empty cell."""
    zero = np.zeros(BINS, dtype=np.int64)
    return Cells(
        tokens=sum((part.tokens for part in parts), zero),
        total=sum((part.total for part in parts), zero),
        square_high=sum((part.square_high for part in parts), zero),
        square_low=sum((part.square_low for part in parts), zero),
    )
