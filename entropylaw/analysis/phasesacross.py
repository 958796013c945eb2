"""Phases over several runs: how many have both boundaries, and where they lie as a share of training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from entropylaw.analysis.law import checked_level
from entropylaw.analysis.randomeffects import random_effects
from entropylaw.arguments import several
from entropylaw.errors import FitError
from entropylaw.results import Estimate
from entropylaw.results.phases import CurvePhases, PhaseFit, PhasesAcross

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
    doi:10.1080/01621459.1927.10502953). Places are shares of each run's span, the same for both curves, with
    the sd of their own distribution as standard error; their mean is that of
    :func:`entropylaw.analysis.randomeffects.random_effects`. Only boundaries that were found are in it.
    """
    fits = several(fits, PhaseFit, "fits")
    pairs = [(fit.planning, fit.execution) for fit in fits if fit.planning and fit.execution]
    if not pairs:
        raise FitError(
            "no-phase-curve", f"none of {len(fits)} runs has both curves, expected one at least", "name both"
        )
    reach = fits[0].level if level is None else checked_level(level)
    notes = []
    if len(pairs) < len(fits):
        notes.append(f"{len(fits) - len(pairs)} of {len(fits)} runs have one curve only, and are left out")
    planning, execution, apart = [], [], []
    for plan, act in pairs:
        first = min(plan.first_step, act.first_step)
        span = max(plan.last_step, act.last_step) - first
        one, other = _place(plan, first, span), _place(act, first, span)
        planning += [one] if plan.found else []
        execution += [other] if act.found else []
        apart += [(one[0] - other[0], one[1] + other[1])] if plan.found and act.found else []
    means = {}
    for name, found in (("planning", planning), ("execution", execution), ("delta", apart)):
        means[name] = _mean(found, reach)
        if means[name] is None:
            what = "difference" if name == "delta" else f"place of {name}'s boundary"
            notes.append(f"no mean {what}: told by {len(found)} of {len(pairs)} runs, {FEWEST} are needed")
    rising = sum(fit.rises_after for fit in fits if fit.planning and fit.execution)
    return PhasesAcross(
        runs=len(pairs),
        both=len(apart),
        share_both=wilson(len(apart), len(pairs), reach),
        rises_after=rising,
        share_rises_after=wilson(rising, len(pairs), reach),
        **means,
        notes=tuple(notes),
    )


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


def _place(curve: CurvePhases, first: float, span: float) -> tuple[float, float]:
    """Mean and variance of a boundary's place, as a share of a run that begins at ``first``."""
    share = (curve.boundary.places - first) / span
    mean = float(curve.boundary.density @ share)
    return mean, float(curve.boundary.density @ (share - mean) ** 2)


def _mean(found: Sequence[tuple[float, float]], level: float) -> Estimate | None:
    if len(found) < FEWEST:
        return None
    value, variance = (np.array(column) for column in zip(*found, strict=True))
    return random_effects(value, np.maximum(variance, 1e-12), level=level)[0]
