"""What may look like a phase boundary and is none, and the blocks in which long runs are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from entropylaw.analysis.seams import jumps_of
from entropylaw.engine.grid import FloatArray
from entropylaw.engine.kinks import FIRST, LAST
from entropylaw.results.groups import Seam
from entropylaw.results.phases import CurvePhases

FEWEST = 20
"""Points below which no boundary is looked for."""

MOST = 250
"""Points above which blocks of neighbours are averaged: the test simulates hundreds of such runs."""

WIDE = 0.5
"""Width of the transition, as a share of the run, from which on the change is called gradual."""

GROWS, SHRINKS = 1.5, 0.5
"""Last over first third of the response length from which on, or up to which, it is a caution."""

NEIGHBOURS = 8
"""Points nearest to one, half on either side where there are as many, that it is compared with."""

FAR_GLOBAL, FAR_LOCAL, FAR_END = 10.0, 3.0, 8.0
"""A point is far off its neighbours if it lies further from their median than so many robust standard
deviations of that distance over the whole run (1.4826 times the median distance), and than so many times the
range that they span: the third for the first and the last point, for a decay may start steeply."""

LEAST, FEW_UNITS = 0.05, 5.0
"""Never far is this share of the run's range (from the 5th to the 95th of 100 points), nor so many times the
smallest difference of two values: that of a log with two decimals is its last digit."""

MOST_NAMED = 3
"""Outliers that are named."""

VOCABULARY = 9.5
"""Nats from which on a value is as high as the logarithm of a vocabulary: ln(13 000)."""

LEVEL = 0.95
"""Coverage of the intervals of jumps, which are not shown."""

TOLD = {"planning": "planning", "execution": "execution", "aggregate": "all tokens"}
"""What the curves are called where they are told of."""


def phase_cautions(
    step: FloatArray, given: dict[str, FloatArray], curves: dict[str, CurvePhases], length: FloatArray | None
) -> list[str]:
    """What may look like a boundary and is none."""
    said = []
    for name, curve in curves.items():
        said += _outliers(step, given[name], TOLD[name])
        said += _gradual(TOLD[name], curve)
        said += _at_the_edge(TOLD[name], curve)
        said += _told(_curve_jumps(curve), TOLD[name], curve.found)
    if "planning" in curves and "execution" in curves:
        said += _the_same(given["planning"], given["execution"])
    if length is not None and np.isfinite(length).any():
        values = length
        there = np.isfinite(values)
        found = any(curve.found for curve in curves.values())
        length_jumps = jumps_of(*blocked(step[there], values[there]), "length", LEVEL)
        said += _told(length_jumps, "the response length", found)
        said += _other_length(values[there])
    return said


def _gradual(name: str, curve: CurvePhases) -> list[str]:
    """Whether the transition takes so long that there is hardly a boundary."""
    width = curve.boundary.width
    span = float(curve.step[-1] - curve.step[0])
    if not curve.found or width.value is None or width.value < WIDE * span:
        return []
    return [
        f"the change of {name} is gradual: it takes {width.value:.0f} steps, half of the run or more, so "
        "that its place is the middle of a long bend"
    ]


def _at_the_edge(name: str, curve: CurvePhases) -> list[str]:
    """Whether a boundary may lie beyond the places that were looked at."""
    boundary = curve.boundary
    first, last = boundary.searched or (float(boundary.places[0]), float(boundary.places[-1]))
    low, high = boundary.intervals[0][0], boundary.intervals[-1][1]
    if not curve.found or (low > first and high < last):
        return []
    share = f"{100 * FIRST:g} to {100 * LAST:g} % of the run"
    return [
        f"the boundary of {name} may lie beyond the places that were looked at ({share}, steps {first:g} to "
        f"{last:g})"
    ]


def _curve_jumps(curve: CurvePhases) -> list[Seam]:
    """Jumps of a curve, as the seams of a run are found.

    They are looked for in what the smooth decay leaves over, for a steep start would pass for a jump; and in
    what the decay with a boundary leaves, for a bend that a smooth decay misses would, too. No bend makes a
    jump disappear.
    """
    plain, bent = (
        jumps_of(curve.step, curve.entropy - shape, curve.name, LEVEL)
        for shape in (curve.decay, curve.fitted)
    )
    place = {seam: int(np.searchsorted(curve.step, seam.step)) for seam in (*plain, *bent)}
    return [seam for seam in plain if any(abs(place[seam] - place[other]) <= 1 for other in bent)]


def _told(jumps: list[Seam], name: str, found: bool) -> list[str]:
    near = ": a boundary near it may be that" if found else ""
    return [
        f"{name} jumps by {seam.jump.value:.3g} between steps {seam.after:g} and {seam.step:g}{near}"
        for seam in jumps
    ]


def _other_length(length: FloatArray) -> list[str]:
    """Whether responses end much longer or shorter than they began."""
    third = length.size // 3
    if not third:
        return []
    before, after = float(np.median(length[:third])), float(np.median(length[-third:]))
    if before <= 0 or SHRINKS < after / before < GROWS:
        return []
    return [
        f"the response length goes from {before:.0f} to {after:.0f} tokens (medians of the first and the "
        "last third of the run): other tokens are averaged, which moves an entropy by itself"
    ]


def _the_same(planning: FloatArray, execution: FloatArray) -> list[str]:
    """Whether one column was logged under two names."""
    both = np.isfinite(planning) & np.isfinite(execution)
    if not both.any() or not np.array_equal(planning[both], execution[both]):
        return []
    return [
        "planning and execution have the same entropy at every step: one column was logged under two names"
    ]


def _outliers(step: FloatArray, entropy: FloatArray, name: str) -> list[str]:
    """Single points far off their neighbours; one that is as high as a padded position is said to be."""
    there = np.isfinite(entropy)
    s, y = step[there], entropy[there]
    at = far_off(y)
    if not at.size:
        return []
    named = ", ".join(f"{y[i]:.4g} at step {s[i]:g}" for i in at[:MOST_NAMED])
    more = f" and {at.size - MOST_NAMED} more" if at.size > MOST_NAMED else ""
    padded = (
        "; the logarithm of a vocabulary, which a padded position has" if y[at].max() > VOCABULARY else ""
    )
    return [f"{name} is far off its neighbours: {named}{more}{padded}; it may make a boundary, or hide one"]


def far_off(values: FloatArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Places of the single values far off their neighbours, by :data:`FAR_GLOBAL` and its like."""
    n = values.size
    if n <= NEIGHBOURS:
        return np.empty(0, dtype=np.int64)
    first = np.clip(np.arange(n) - NEIGHBOURS // 2, 0, n - NEIGHBOURS - 1)
    nearest = first[:, None] + np.arange(NEIGHBOURS)
    nearest += nearest >= np.arange(n)[:, None]
    beside = values[nearest]
    distance = np.abs(values - np.median(beside, axis=1))
    low, high = np.quantile(values, (0.05, 0.95))
    unit = float(np.diff(np.unique(values)).min(initial=np.ptp(values)))
    scale = max(FAR_GLOBAL * 1.4826 * float(np.median(distance)), LEAST * float(high - low), FEW_UNITS * unit)
    times = np.full(n, FAR_LOCAL)
    times[[0, -1]] = FAR_END
    far = (distance > times * np.ptp(beside, axis=1)) & (distance > scale)
    return np.flatnonzero(far)


def blocked(step: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over blocks of equally many neighbours, so that at most :data:`MOST` are left.

    The first block may be shorter. Blocks of different lengths throughout would have different noise.
    """
    size = -(-step.size // MOST)
    if size == 1:
        return step, values
    first = step.size % size
    starts = np.concatenate([[0] if first else [], np.arange(first, step.size, size)]).astype(int)
    count = np.diff(np.append(starts, step.size))
    return np.add.reduceat(step, starts) / count, np.add.reduceat(values, starts) / count
