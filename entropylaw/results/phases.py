"""The two phases of a run, and of several: frozen results."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from entropylaw.results import VERDICTS, Estimate
from entropylaw.results.arrays import FloatArray, lengths_flaw
from entropylaw.results.result import Finding, Result, sentences

KINDS = ("turns to rise", "turns to fall", "leaves its decay upwards", "leaves its decay downwards", "bends")
"""The direction of a change point that was found: the first two from the slopes before and after it, the
others from the difference between the end of the curve and that of the decay alone."""

CURVES = {"planning": "planning", "execution": "execution", "aggregate": "all tokens"}
"""Name of each curve → the tokens that it is of, in words."""

DRAWS = 399
"""Simulations of a curve without a change point: no p-value is below 1 / (DRAWS + 1)."""

POWER = 0.8
"""Power of the test at a rise of :attr:`CurvePhases.detectable`."""

HALF_WIDTHS = (0.0, 0.04, 0.08, 0.15, 0.25, 0.4)
"""Half-widths γ of the bent cable that are tried, as shares of the run."""


class ChangePoint(Struct, frozen=True, kw_only=True, eq=False):
    """The step at which a curve changes its slope, given that it does.

    Attributes
    ----------
    step, intervals
        Median, and the most probable steps that together have the level's probability: one interval, or
        several, or the whole run, as ((from, to), …).
    whole
        Whether they span more than :data:`entropylaw.analysis.changepoint.WHOLE` of the run, so that the step
        is unknown.
    width
        Steps over which the slope changes: 2γ of a bent cable, 0 where the change is sharp.
    places, density, searched
        Shape (k,): steps evenly apart, and the probability of each, which adds up to 1. They cover all steps
        with any probability, at most ``searched``, the range of the search.
    """

    step: Estimate
    intervals: tuple[tuple[float, float], ...]
    whole: bool
    width: Estimate
    places: FloatArray
    density: FloatArray
    searched: tuple[float, float] | None = None

    def flaw(self) -> str:
        """Steps and densities of different numbers."""
        return lengths_flaw(self.places, self.density)


class CurvePhases(Struct, frozen=True, kw_only=True, eq=False):
    """One entropy curve: one smooth decay, or a decay and then something else.

    Attributes
    ----------
    name, n
        ``"planning"``, ``"execution"``, or the name of a column; points that were fitted, or blocks of them.
    p_value, found
        Of one smooth decay without a change point, and whether it is at most 1 − level.
    kind, change_point
        One of :data:`KINDS`, None where no change point was found; and its posterior, found or not.
    slope_before, slope_after
        Mean slope of the fitted curve up to the change point and after it, nats per step.
    rise
        The end of the curve minus that of the decay alone, nats.
    detectable
        The smallest rise, from a change point in the middle of the run to its end, that the test detects in
        80 of 100 such runs, nats; None where it does not detect the largest that was tried.
    settled, last
        Step by which the decay has made 95 % of its fall within the run, None where the curve does not fall;
        entropy at the last step, nats: the local level there, without the noise.
    first_step, last_step
        The curve's own first and last step, also where blocks are averaged.
    lag1, noise
        Lag-1 autocorrelation and standard deviation of the residuals of the smooth decay.
    step, entropy, decay, fitted, low, high
        Shape (n,): the points, the smooth decay alone, and the decay with a change point (posterior means),
        with its pointwise interval.
    """

    name: str
    n: int
    p_value: float
    found: bool
    change_point: ChangePoint = msgspec.field(name="boundary")
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
    first_step: float
    last_step: float
    kind: str | None = None
    settled: Estimate | None = None

    def flaw(self) -> str:
        """Curves of several lengths."""
        return lengths_flaw(self.step, self.entropy, self.decay, self.fitted, self.low, self.high)


class PhaseFit(Result, frozen=True, kw_only=True, eq=False):
    """The two phases of one run.

    Attributes
    ----------
    planning, execution, aggregate
        The two curves, None with the reason in ``findings`` where there is none; and the curve of all
        tokens, where it was fitted.
    delta
        Planning's change point minus execution's, in steps; positive where execution's is first. None where
        either curve has none, with the reason in ``findings``.
    later
        Probability that planning's change point is after execution's, given both.
    after_fall
        Planning's change point minus the step by which execution has made 95 % of its fall: a decay that
        levels off smoothly has no change point, but planning may have one after it. None where planning has
        none.
    verdict, share_planning
        One of :data:`entropylaw.results.VERDICTS`, None where there is one curve only; planning tokens' share
        of all entropy at the last step, None with the reason in ``findings``.
    level
        Of every interval; tests are at 1 − level.
    findings, dropped
        Cautions: what may look like a change point, such as level shifts of the curve or of the response
        length. Notes: why a value is missing. Reason → steps left out.
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
    findings: tuple[Finding, ...] = ()
    dropped: Mapping[str, int] = msgspec.field(default_factory=dict)
    after_fall: Estimate | None = None

    def flaw(self) -> str:
        """An unknown verdict."""
        known = self.verdict is None or self.verdict in VERDICTS
        return "" if known else f"one of {', '.join(VERDICTS)} as verdict"

    @property
    def cautions(self) -> tuple[str, ...]:
        """The cautions in sentences."""
        return sentences(self.findings, "caution")

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes in sentences."""
        return sentences(self.findings, "note")

    @property
    def rises_after(self) -> bool:
        """Whether planning turns to rise, and that is after 95 % of execution's fall at the level."""
        low = None if self.after_fall is None else self.after_fall.low
        turns = self.planning is not None and self.planning.kind == KINDS[0]
        return turns and low is not None and low > 0


class PhasesAcross(Result, frozen=True, kw_only=True, eq=False):
    """Phases over several runs.

    Attributes
    ----------
    runs, both, rises_after
        Runs with both curves, those of them in which both have a change point of any kind, and those in
        which planning turns to rise after execution's fall (:attr:`PhaseFit.rises_after`).
    share_both, share_rises_after
        both / runs and rises_after / runs with Wilson's interval.
    planning, execution, delta
        Mean of the change points that were found, and of their difference, as shares of the runs' spans
        (from the first to the last step of either curve), by a random-effects model; None with the reason in
        ``findings`` where fewer than three were found.
    findings
        Runs and means that were left out, and why.
    """

    runs: int
    both: int
    share_both: Estimate
    planning: Estimate | None
    execution: Estimate | None
    delta: Estimate | None
    findings: tuple[Finding, ...] = ()
    rises_after: int = 0
    share_rises_after: Estimate | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The findings in sentences."""
        return sentences(self.findings, "note")
