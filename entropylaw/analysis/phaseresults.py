"""What is found of the two phases of a run: frozen results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from entropylaw.engine.grid import FloatArray
from entropylaw.results import Estimate

VERDICTS = ("execution first", "planning first", "overlapping", "one boundary", "no boundary")
"""What a :class:`PhaseFit` can say of the order of the two boundaries."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Boundary:
    """Where a curve changes its slope, given that it does.

    Attributes
    ----------
    step
        Median and equal-tailed interval of the step.
    intervals
        The most probable steps that together have the level's probability: one interval, or several, or
        the whole run, as ((from, to), …).
    whole
        Whether they span more than :data:`entropylaw.analysis.phases.WHOLE` of the run, so that nothing is
        known of the place.
    width
        Steps over which the slope changes: 2γ of a bent cable. 0 is a sharp bend.
    places, density
        Shape (k,): steps, and the probability of each, for a picture. Adds up to 1.
    """

    step: Estimate
    intervals: tuple[tuple[float, float], ...]
    whole: bool
    width: Estimate
    places: FloatArray
    density: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurvePhases:
    """One entropy curve: one smooth decay, or a decay and then something else.

    Attributes
    ----------
    name
        ``"planning"``, ``"execution"``, or the name of a column.
    n
        Points that were fitted; blocks of points where there were too many.
    p_value
        Of one smooth decay without a boundary.
    found
        Whether it is at most 1 − level.
    boundary
        Where, told whether it was found or not: it is what a boundary's place would be.
    slope_before, slope_after
        Mean slope of the fitted curve up to the boundary and from there on, nats per step.
    rise
        How much higher the curve ends than the decay alone would have, nats; below 0 it ends lower.
    detectable
        The smallest rise, from a bend in the middle of the run to its end, that would have been found in 80
        of 100 such runs, nats; None where even the largest tried would not.
    last
        Entropy at the last step by the fitted curve, nats.
    lag1, noise
        Lag-1 autocorrelation and standard deviation of the residuals of the smooth decay.
    step, entropy, decay, fitted
        Shape (n,): the points, the smooth decay alone, and the decay with a boundary (posterior means).
    low, high
        Shape (n,): pointwise interval of ``fitted``.
    """

    name: str
    n: int
    p_value: float
    found: bool
    boundary: Boundary
    slope_before: Estimate
    slope_after: Estimate
    rise: Estimate
    detectable: float | None
    last: Estimate
    lag1: float | None
    noise: float
    step: FloatArray
    entropy: FloatArray
    decay: FloatArray
    fitted: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhaseFit:
    """The two phases of one run.

    Attributes
    ----------
    run
        Its name.
    planning, execution
        The two curves; None with the reason in ``notes`` where there is none.
    aggregate
        The curve of all tokens, where it was fitted alone or beside the two.
    delta
        Boundary of planning less that of execution, in steps; positive where execution's comes first. None
        as long as both curves have no boundary, with the reason in ``notes``.
    later
        Probability that planning's boundary comes after execution's, given both.
    verdict
        One of :data:`VERDICTS`; None where there is one curve only.
    share_planning
        Planning tokens' share of all entropy at the last step; None with the reason in ``notes``.
    level
        Of every interval; tests are at 1 − level.
    cautions
        What may look like a boundary and is none: seams, response lengths that jump, filtered prompts.
    notes
        What was decided, and why something is not there.
    dropped
        Reason → steps left out.
    """

    run: str
    planning: CurvePhases | None
    execution: CurvePhases | None
    aggregate: CurvePhases | None
    delta: Estimate | None
    later: float | None
    verdict: str | None
    share_planning: Estimate | None
    level: float
    cautions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhasesAcross:
    """Phases over several runs.

    Attributes
    ----------
    runs, both
        Runs with both curves, and those of them in which both have a boundary.
    share_both
        both / runs with Wilson's interval.
    planning, execution, delta
        Mean place of the boundaries that were found, and of their difference, as shares of the runs' spans,
        by a random-effects model; None with the reason in ``notes`` where fewer than three were found.
    notes
        What was left out, and why.
    """

    runs: int
    both: int
    share_both: Estimate
    planning: Estimate | None
    execution: Estimate | None
    delta: Estimate | None
    notes: tuple[str, ...] = ()
