"""Where finished runs are cut, and what simple methods say of what followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from entropylaw.analysis.forecast import AHEAD
from entropylaw.analysis.forms import law_line
from entropylaw.analysis.state import FEWEST
from entropylaw.arrays import FloatArray

CUTS = (0.2, 1 / 3, 0.5, 2 / 3)
"""Shares of a run's length after which it is cut."""

AROUND = 3
"""Evaluations whose mean is the outcome."""


def cuts_of(
    step: FloatArray, shares: Sequence[float] = CUTS, lead: float = AHEAD
) -> list[tuple[int, float, Any]]:
    """Where a run is cut: evaluations before it, the later step, and the evaluations around that."""
    length = float(step[-1] - step[0])
    cuts = []
    for share in shares:
        until = int(np.searchsorted(step, step[0] + share * length * (1 + 1e-9), side="right"))
        later = np.arange(until, step.size)
        if until < FEWEST or later.size < AROUND:
            continue
        target = float(step[until - 1] + lead * (step[until - 1] - step[0]))
        if target <= step[-1] + 0.02 * length:
            nearest = later[np.argsort(np.abs(step[later] - target), kind="stable")[:AROUND]]
            cuts.append((until, target, nearest))
    return cuts


def peers(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, at: float, later: FloatArray
) -> dict[str, float | None]:
    """What simple methods say of the reward at a later step, with the entropies (k,) observed there."""
    paired = np.isfinite(entropy)
    later = later[np.isfinite(later)]
    h = entropy[paired]
    r = reward[paired]
    moves = later.size > 0 and h.size >= FEWEST and np.ptp(h) > 0
    return {
        "three_lines": three_lines(h, r, later) if moves else None,
        "law": float(np.mean(law_line(h, r, later))) if moves else None,
        "scalerl": scalerl(step, reward, at),
    }


def three_lines(entropy: FloatArray, reward: FloatArray, later: FloatArray) -> float:
    """The mean of the last three rewards, and the least-squares line in H shrunk by t²/(t² + 9)."""
    centred = entropy - entropy.mean()
    slope = float(centred @ reward / (centred @ centred))
    residual = reward - reward.mean() - slope * centred
    square = max(float(residual @ residual) / (reward.size - 2) / float(centred @ centred), 1e-300)
    share = slope**2 / (slope**2 + 9.0 * square)
    return float(reward[-3:].mean() + share * slope * (later.mean() - entropy[-3:].mean()))


def scalerl(step: FloatArray, reward: FloatArray, at: float) -> float | None:
    """The sigmoid A − D/(1 + (s/S)^B) of ScaleRL (arXiv:2510.13786, Eq. 1) by least squares.

    Steps count from one mean spacing before the first evaluation, since the curve needs them positive. None
    where the search does not end.
    """
    from lmfit import Parameters, minimize

    spacing = 1.0 / (step.size - 1)
    x = (step - step[0]) / (step[-1] - step[0]) + spacing
    new = (at - step[0]) / (step[-1] - step[0]) + spacing
    unit = float(np.ptp(reward))
    y = (reward - reward[0]) / unit

    def curve(p: Any, s: Any) -> Any:
        return p["limit"] - p["drop"] / (1.0 + (s / p["middle"]) ** p["power"])

    start = Parameters()
    start.add("limit", value=float(y[-3:].mean()), min=-3.0, max=3.0)
    start.add("drop", value=float(y[-3:].mean() - y[:3].mean()) or 0.1, min=-4.0, max=4.0)
    start.add("middle", value=0.3, min=0.02, max=4.0)
    start.add("power", value=1.5, min=0.3, max=6.0)
    try:
        best = minimize(lambda p: curve(p, x) - y, start, max_nfev=2000)
    except ValueError:
        return None
    return float(curve(best.params, new) * unit + reward[0])
