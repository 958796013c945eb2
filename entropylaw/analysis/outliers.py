"""Single evaluations that no run makes: a gross error of logging, named by a stated rule.

The rule is about slips (one or two evaluations next to each other), not about what a run did: an entropy
that explodes for twenty evaluations is no outlier, and neither is the first evaluation, which may well
stand apart from the rest. Least squares and the drift alike would bend to a slip; so it is left out, and
said.
"""

from __future__ import annotations

import numpy as np

from entropylaw.engine.grid import FloatArray
from entropylaw.results.findings import Finding, note

FEWEST = 10
"""Evaluations below which nothing is called an outlier."""

FAR = 8.0
"""Robust standard deviations outside of its neighbours' range from which a value is an outlier."""

WIDE = 0.1
"""Share of the column's range (5th to 95th percentile) that it must lie outside, too: a column with hardly
any noise has small steps of many standard deviations."""

MOST = 0.05
"""Share of a run's evaluations above which they are no slips but how the run is, and nothing is named."""

_NEIGHBOURS = 3
"""Evaluations on each side whose median is looked at; so that two slips in a row are both seen."""


def gross_outliers(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> tuple[Finding, ...]:
    """The evaluations with a gross error in the entropy or the reward, in the order of the steps.

    A value is named where it lies outside of the range between the median of the three evaluations before
    and the median of the three after it, by more than :data:`FAR` robust standard deviations and more than
    :data:`WIDE` of the column's range. The standard deviation is that of the noise between neighbours:
    1.4826 times the median of |x[t] − (x[t−1] + x[t+1])/2| / √1.5, which a trend does not enter. A steady
    fall or rise, however steep, is never outside; the first and the last evaluation, which have
    neighbours on one side only, are not judged. Where more than :data:`MOST` of a run would be named, or
    most neighbours are equal, nothing is.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,), in the order of the steps; entropy in nats.

    Returns
    -------
    A finding for each: its ``step``, the ``column`` ("entropy" or "reward"), the ``value`` as logged, the
    medians of the evaluations before and after it (``low`` and ``high``, the smaller first), and how far
    outside of these it lies, in robust standard deviations of the column's noise (``distance``).
    """
    if step.size < FEWEST:
        return ()
    found = []
    for name, column in (("entropy", entropy), ("reward", reward)):
        bend = np.abs(column[1:-1] - 0.5 * (column[2:] + column[:-2]))
        noise = 1.4826 * float(np.median(bend)) / np.sqrt(1.5)
        least = WIDE * float(np.subtract(*np.percentile(column, [95, 5])))
        sides = np.array([_medians_before(column), _medians_before(column[::-1])[::-1]])
        low, high = sides.min(axis=0), sides.max(axis=0)
        beyond = np.maximum(column - high, low - column)
        if noise == 0.0:
            continue
        found += [
            note(
                "gross-outlier",
                step=float(step[i]),
                column=name,
                value=float(column[i]),
                low=float(low[i]),
                high=float(high[i]),
                distance=float(beyond[i] / noise),
                limit=FAR,
            )
            for i in np.flatnonzero((beyond > least) & (beyond / noise > FAR))
        ]
    if len({outlier.values["step"] for outlier in found}) > max(1.0, MOST * step.size):
        return ()
    return tuple(sorted(found, key=lambda outlier: float(outlier.values["step"])))  # type: ignore[arg-type]


def _medians_before(column: FloatArray) -> FloatArray:
    """Median of the three values before each (n,), or of fewer at the start; the first stands for itself."""
    n = column.size
    windows = np.lib.stride_tricks.sliding_window_view(column, _NEIGHBOURS)
    medians = column.copy()
    medians[_NEIGHBOURS:] = np.sort(windows, axis=1)[: n - _NEIGHBOURS, _NEIGHBOURS // 2]
    for i in range(1, min(_NEIGHBOURS, n)):
        medians[i] = np.median(column[:i])
    return medians
