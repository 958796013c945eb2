"""What may look like a phase boundary and is none, and the blocks in which long runs are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from entropylaw.analysis.seams import jumps_of
from entropylaw.engine.changepoint import FIRST, LAST
from entropylaw.engine.grid import FloatArray
from entropylaw.results.findings import Finding, caution
from entropylaw.results.groups import Seam
from entropylaw.results.phases import CURVES, CurvePhases

FEWEST = 20
"""Points below which no boundary is looked for."""

MOST = 250
"""Points above which blocks of neighbours are averaged: the test simulates hundreds of such runs."""

MOST_NAMED = 3
"""Outliers that are named."""

LEVEL = 0.95
"""Coverage of the intervals of jumps, which are not shown."""


def phase_cautions(
    step: FloatArray, given: dict[str, FloatArray], curves: dict[str, CurvePhases]
) -> list[Finding]:
    """What may look like a boundary and is none; ``given`` has the columns as logged, ``length`` too."""
    findings: list[Finding] = []
    for name, curve in curves.items():
        findings += _curve_cautions(step, given[name], curve, CURVES[name])
    if {"planning", "execution"} <= curves.keys():
        both = np.isfinite(given["planning"]) & np.isfinite(given["execution"])
        if both.any() and np.array_equal(given["planning"][both], given["execution"][both]):
            findings.append(caution("curves-equal"))
    length = given.get("length", np.empty(0))
    values = length[np.isfinite(length)]
    if values.size:
        jumps = jumps_of(*blocked(step[np.isfinite(length)], values), "length", LEVEL)
        found = any(curve.found for curve in curves.values())
        findings += _jumps(jumps, "the response length", found)
    if third := values.size // 3:
        before, after = float(np.median(values[:third])), float(np.median(values[-third:]))
        if before > 0 and not 0.5 < after / before < 1.5:
            findings.append(caution("length-changes", before=before, after=after))
    return findings


def _curve_cautions(step: FloatArray, entropy: FloatArray, curve: CurvePhases, name: str) -> list[Finding]:
    """Single points far off, and a boundary that is gradual, at the edge, or beside a jump of the curve."""
    there = np.isfinite(entropy)
    s, y = step[there], entropy[there]
    at, findings = far_off(y), []
    if at.size:
        findings.append(
            caution(
                "points-far-off",
                curve=name,
                values=tuple(y[at[:MOST_NAMED]].tolist()),
                steps=tuple(s[at[:MOST_NAMED]].tolist()),
                others=max(at.size - MOST_NAMED, 0),
                vocabulary=bool(y[at].max() > 9.5),  # ln(13 000)
            )
        )
    if curve.found:
        boundary, width = curve.boundary, curve.boundary.width.value
        if width is not None and width >= 0.5 * float(curve.step[-1] - curve.step[0]):
            findings.append(caution("boundary-gradual", curve=name, width=width))
        assert boundary.searched is not None
        first, last = boundary.searched
        if boundary.intervals[0][0] <= first or boundary.intervals[-1][1] >= last:
            searched = {"from_share": FIRST, "to_share": LAST, "first": first, "last": last}
            findings.append(caution("boundary-at-edge", curve=name, **searched))
    # Jumps are looked for in what the smooth decay leaves over, for a steep start would pass for a jump; and
    # in what the decay with a boundary leaves, for a bend that a smooth decay misses would, too. No bend
    # makes a jump disappear.
    plain, bent = (
        jumps_of(curve.step, curve.entropy - shape, curve.name, LEVEL)
        for shape in (curve.decay, curve.fitted)
    )
    place, others = (np.searchsorted(curve.step, [jump.step for jump in jumps]) for jumps in (plain, bent))
    near = (np.abs(place[:, None] - others) <= 1).any(axis=1)
    return findings + _jumps([plain[i] for i in np.flatnonzero(near)], name, curve.found)


def _jumps(jumps: list[Seam], name: str, found: bool) -> list[Finding]:
    shown = [{"jump": seam.jump.value, "after": seam.after, "step": seam.step} for seam in jumps]
    return [caution("series-jumps", series=name, boundary=found, **values) for values in shown]


def far_off(values: FloatArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Places of the single values far off their neighbours.

    A value is compared with the 8 nearest to it, half on either side where there are as many. It is far off
    if its distance from their median is more than 3 times the range that they span (8 times for the first and
    the last value, for a decay may start steeply), and more than each of: 10 robust standard deviations of
    that distance over the whole run (1.4826 times its median); 0.05 of the run's range, from the 5th to the
    95th of 100 values; 5 times the smallest difference of two values, which in a log with two decimals is its
    last digit.
    """
    n = values.size
    if n <= 8:
        return np.empty(0, dtype=np.int64)
    nearest = np.clip(np.arange(n) - 4, 0, n - 9)[:, None] + np.arange(8)
    nearest += nearest >= np.arange(n)[:, None]
    beside = values[nearest]
    distance = np.abs(values - np.median(beside, axis=1))
    low, high = np.quantile(values, (0.05, 0.95))
    unit = float(np.diff(np.unique(values)).min(initial=np.ptp(values)))
    scale = max(10.0 * 1.4826 * float(np.median(distance)), 0.05 * float(high - low), 5.0 * unit)
    times = np.full(n, 3.0)
    times[[0, -1]] = 8.0
    return np.flatnonzero((distance > times * np.ptp(beside, axis=1)) & (distance > scale))


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
