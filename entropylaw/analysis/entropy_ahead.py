"""The entropy of a run: its recent fall, an explosion, its continuation, and the step of its end."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.law.estimates import tails, unknown
from entropylaw.analysis.law.evaluations import HIGHEST_ENTROPY
from entropylaw.analysis.state import FEWEST, SURE
from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import levels_of, levels_of_run
from entropylaw.engine.threads import one_thread
from entropylaw.results import Estimate
from entropylaw.results.forecast import SPENT
from entropylaw.results.phases import EXPLODED
from entropylaw.results.result import Finding, caution

SMALLEST_ENTROPY = 1e-4
"""Entropy below which its logarithm is not looked at, nats."""


@one_thread
def entropy_ahead(
    step: FloatArray, entropy: FloatArray, at: FloatArray, *, level: float
) -> tuple[list[Estimate], Estimate]:
    """The entropy at later steps ``at`` (m,), and the step at which 95 % of exp(H) − 1 is spent.

    The logarithm of the entropy is continued by its level: as a power of the step or exponentially, in the
    mean of all that is plausible, with the band of that.
    """
    span = step[-1] - step[0]
    grid = step[-1] + span * np.geomspace(0.02, 10.0, 60)
    every = np.concatenate([at, grid])
    levels = levels_of(step, np.log(np.maximum(entropy, SMALLEST_ENTROPY)), every)
    first_later = levels.last + 1
    method, bounds = "level of the logarithm, continued", tails(level)
    curves = [levels.at(first_later + i).quantiles(bounds) for i in range(at.size)]
    path = [
        Estimate(value=value, low=low, high=high, level=level, method=method)
        for low, value, high in np.exp(np.minimum(curves, np.log(HIGHEST_ENTROPY))).tolist()
    ]
    now = max(float(np.exp(levels.at(levels.last).mean())), 0.0)
    target = float(np.log1p((1.0 - SPENT) * np.expm1(now)))
    reached = levels.p_below(float(np.log(target)))[first_later + at.size :]
    # The lower end of the band is there first.
    first = [float(grid[below.argmax()]) if (below := reached >= p).any() else None for p in bounds]
    note = None
    if None in first:
        end = "" if first[1] is None else " by the upper end"
        note = f"{target:.3g} nats are not reached{end} within ten lengths of the run"
    # A whole interval above the target is spent after all steps that were looked at.
    first[0] = float(grid[-1]) if first[0] is None else first[0]
    return path, Estimate(value=first[1], low=first[0], high=first[2], level=level, method=method, note=note)


@one_thread
def entropy_drop(step: FloatArray, entropy: FloatArray, *, level: float = 0.95) -> Estimate:
    """Entropy lost per 100 steps over the last third of the run, nats; negative where it grows.

    Parameters
    ----------
    step, entropy
        Shape (n,), steps strictly increasing, nats.
    level
        Coverage of the interval.

    Notes
    -----
    The slope of the straight line through the level (:mod:`entropylaw.engine.levels`). None with the reason
    where the last third has fewer than six evaluations.
    """
    method = "line through the level over the last third"
    recent = step >= step[-1] - (1.0 / 3.0) * (step[-1] - step[0])
    recent_entropy = entropy[recent]
    if recent_entropy.size < 6:
        few = f"{recent_entropy.size} evaluations in the last third of the steps, expected at least 6"
        return unknown(few, level=level, method=method)
    if np.ptp(recent_entropy) == 0:
        return Estimate(
            value=0.0, low=None, high=None, level=level, method=method, note="entropy is constant"
        )
    levels = levels_of_run(step, entropy)
    return levels.along_line(1.0 / 3.0, per=-100.0).estimate(level=level, method=method)


@one_thread
def explosion_of(step: FloatArray, entropy: FloatArray) -> list[Finding]:
    """A caution where the level of the entropy (n,) ends above twice its lowest; nothing else."""
    if step.size < FEWEST or np.ptp(entropy) == 0:
        return []
    levels = levels_of_run(step, entropy)
    level = levels.level()
    lowest = int(np.argmin(level))
    if not 0 < EXPLODED * level[lowest] < level[-1]:
        return []
    above = np.zeros(level.size)
    above[-1] = 1.0
    above[lowest] = -EXPLODED
    if levels.of(above).below(np.zeros(1))[0] > 1.0 - SURE:
        return []
    at = float(levels.blocks.step[lowest])
    return [caution("entropy-ends-high", now=float(level[-1]), lowest=float(level[lowest]), at=at, since=at)]
