"""Phases over several runs: how many have both boundaries, and where they lie as a share of training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from entropylaw.analysis.phaseresults import CurvePhases, PhaseFit, PhasesAcross
from entropylaw.analysis.randomeffects import random_effects
from entropylaw.errors import FitError
from entropylaw.results import Estimate

FEWEST = 3
"""Boundaries below which no mean over runs is told."""


def combine_phases(fits: Sequence[PhaseFit], *, level: float | None = None) -> PhasesAcross:
    """What several runs have in common.

    Parameters
    ----------
    fits
        At least one; runs without both curves are left out, and noted.
    level
        Coverage of the intervals; the first fit's where not given.

    Raises
    ------
    FitError
        ``no-phase-curve`` where no run has both curves.

    Notes
    -----
    The share of runs with both boundaries has Wilson's interval (1927,
    doi:10.1080/01621459.1927.10502953). Places are shares of each run's span, with the sd of their own
    distribution as standard error; their mean is that of
    :func:`entropylaw.analysis.randomeffects.random_effects`. Only boundaries that were found are in it.
    """
    pairs = [(fit.planning, fit.execution) for fit in fits if fit.planning and fit.execution]
    if not pairs:
        raise FitError(
            "no-phase-curve", f"none of {len(fits)} runs has both curves, expected one at least", "name both"
        )
    reach = fits[0].level if level is None else level
    notes = []
    if len(pairs) < len(fits):
        notes.append(f"{len(fits) - len(pairs)} of {len(fits)} runs have one curve only, and are left out")
    both = [(plan, act) for plan, act in pairs if plan.found and act.found]
    planning = [_place(plan) for plan, _ in pairs if plan.found]
    execution = [_place(act) for _, act in pairs if act.found]
    apart = [(a - b, u + v) for (a, u), (b, v) in ((_place(plan), _place(act)) for plan, act in both)]
    means = {}
    for name, found in (("planning", planning), ("execution", execution), ("delta", apart)):
        means[name] = _mean(found, reach)
        if means[name] is None:
            notes.append(f"no mean of {name}: found in {len(found)} runs, {FEWEST} are needed")
    share = wilson(len(both), len(pairs), reach)
    return PhasesAcross(runs=len(pairs), both=len(both), share_both=share, **means, notes=tuple(notes))


def wilson(count: int, total: int, level: float) -> Estimate:
    """A share with Wilson's score interval."""
    z = float(ndtri(0.5 + level / 2.0))
    share = count / total
    spread = z * np.sqrt(share * (1.0 - share) / total + z**2 / (4.0 * total**2))
    centre, whole = share + z**2 / (2.0 * total), 1.0 + z**2 / total
    return Estimate(
        value=share,
        low=max(float((centre - spread) / whole), 0.0) if count else 0.0,
        high=min(float((centre + spread) / whole), 1.0) if count < total else 1.0,
        level=level,
        method="Wilson's score interval",
    )


def _place(curve: CurvePhases) -> tuple[float, float]:
    """Mean and variance of a boundary's place, as a share of the run."""
    share = (curve.boundary.places - curve.step[0]) / (curve.step[-1] - curve.step[0])
    mean = float(curve.boundary.density @ share)
    return mean, float(curve.boundary.density @ (share - mean) ** 2)


def _mean(found: Sequence[tuple[float, float]], level: float) -> Estimate | None:
    if len(found) < FEWEST:
        return None
    value, variance = (np.array(column) for column in zip(*found, strict=True))
    return random_effects(value, np.maximum(variance, 1e-12), level=level)[0]
