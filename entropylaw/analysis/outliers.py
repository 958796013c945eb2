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

FAR = 8.0
"""Robust standard deviations outside of its neighbours' range from which a value is an outlier."""


def gross_outliers(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> tuple[Finding, ...]:
    """The evaluations with a gross error in the entropy or the reward, in the order of the steps.

    A value is named where it lies outside of the range between the median of the three evaluations before
    and the median of the three after it, so that two slips in a row are both seen: by more than :data:`FAR`
    robust standard deviations and, since a column with hardly any noise has small steps of many standard
    deviations, by more than 0.1 of the column's range (5th to 95th percentile). The standard deviation is
    that of the noise between neighbours: 1.4826 times the median of |x[t] − (x[t−1] + x[t+1])/2| / √1.5,
    which a trend does not enter. A steady fall or rise, however steep, is never outside; the first and the
    last evaluation, which have neighbours on one side only, are not judged. Nothing is named with fewer
    than 10 evaluations, where more than 0.05 of a run would be (they are no slips but how the run is), or
    where most neighbours are equal.

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
    if step.size < 10:
        return ()
    found = []
    for name, column in (("entropy", entropy), ("reward", reward)):
        bend = np.abs(column[1:-1] - 0.5 * (column[2:] + column[:-2]))
        noise = 1.4826 * float(np.median(bend)) / np.sqrt(1.5)
        if noise == 0.0:
            continue
        least = max(0.1 * float(np.subtract(*np.percentile(column, [95, 5]))), FAR * noise)
        sides = np.array([_medians_before(column), _medians_before(column[::-1])[::-1]])
        low, high = sides.min(axis=0), sides.max(axis=0)
        beyond = np.maximum(column - high, low - column)
        rows = np.column_stack([step, column, low, high, beyond / noise])[beyond > least].tolist()
        names = ("step", "value", "low", "high", "distance")
        found += [
            note("gross-outlier", column=name, limit=FAR, **dict(zip(names, row, strict=True)))
            for row in rows
        ]
    if len({outlier.values["step"] for outlier in found}) > max(1.0, 0.05 * step.size):
        return ()
    return tuple(sorted(found, key=lambda outlier: float(outlier.values["step"])))  # type: ignore[arg-type]


def _medians_before(column: FloatArray) -> FloatArray:
    """Median of the three values before each (n,), or of fewer at the start; the first stands for itself."""
    windows = np.lib.stride_tricks.sliding_window_view(column[:-1], 3)
    return np.array([column[0], column[0], np.median(column[:2]), *np.median(windows, axis=1)])
