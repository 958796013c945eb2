"""What may look like a phase boundary and is none, and the blocks in which long runs are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from entropylaw.analysis.phaseresults import CurvePhases
from entropylaw.analysis.seams import jumps_of
from entropylaw.engine.grid import FloatArray
from entropylaw.engine.kinks import FIRST, LAST

FEWEST = 20
"""Points below which no boundary is looked for."""

MOST = 250
"""Points above which blocks of neighbours are averaged: the test simulates hundreds of such runs."""

WIDE = 0.5
"""Width of the transition, as a share of the run, from which on there are no two phases but one change."""


LEVEL = 0.95
"""Coverage of the intervals of jumps, which are not shown."""


def phase_cautions(
    step: FloatArray, given: dict[str, FloatArray], curves: dict[str, CurvePhases], length: Any
) -> list[str]:
    """What may look like a boundary and is none."""
    found = []
    for name, curve in curves.items():
        width = curve.boundary.width.value or 0.0
        if curve.found and width >= WIDE * float(curve.step[-1] - curve.step[0]):
            found.append(
                f"the change of {name} takes {width:g} steps, half of the run or more: that is one change, "
                "not two phases"
            )
        found += _at_the_edge(name, curve)
    found += _jumps(step, {name: given[name] for name in curves})
    if length is not None:
        values = np.asarray(length, dtype=float).ravel()
        found += _jumps(step, {"the response length": values})
    return found


def _at_the_edge(name: str, curve: CurvePhases) -> list[str]:
    """Whether a boundary may lie beyond the places that were looked at."""
    places, span = curve.boundary.places, float(curve.step[-1] - curve.step[0])
    low, high = curve.boundary.intervals[0][0], curve.boundary.intervals[-1][1]
    if not curve.found or (low > places[0] and high < places[-1]):
        return []
    share = f"{100 * FIRST:g} to {100 * LAST:g} % of the run"
    return [
        f"the boundary of {name} may lie beyond the places that were looked at ({share}, steps "
        f"{curve.step[0] + FIRST * span:g} to {curve.step[0] + LAST * span:g})"
    ]


def _jumps(step: FloatArray, columns: dict[str, FloatArray]) -> list[str]:
    """Jumps of columns from one step to the next, as the seams of a run are found."""
    said = []
    for name, values in columns.items():
        there = np.isfinite(values)
        s, y = blocked(step[there], values[there])
        said += [
            f"{name} jumps by {seam.jump.value:.3g} between steps {seam.after:g} and {seam.step:g}: "
            "a boundary near it may be that"
            for seam in jumps_of(s, y, name, LEVEL)
        ]
    return said


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
