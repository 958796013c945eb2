"""The two phases of a run, and of several: frozen results."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from entropylaw.arrays import BoolArray, FloatArray, lengths_flaw
from entropylaw.results import VERDICTS, Estimate
from entropylaw.results.result import Finding, Result, replace, sentences

RISES, FALLS_AGAIN = "turns to rise", "falls a second time"
"""What a curve can be found to do; nothing is claimed of a decay that merely flattens."""

CURVES = {"planning": "planning", "execution": "execution", "aggregate": "all tokens"}
"""Name of each curve → the tokens that it is of, in words."""

LONG_DRIFT = 0.6
"""Probability of a long drift from which on a turn has to be far clearer."""

DRAWS = 999
"""Simulations of drift and noise per covariance."""

STRICTER = ((0.2, 5 / 3), (LONG_DRIFT, 5.0), (1.0, 45.0))
"""Factors of the p-values from the simulations, up to a probability of a long drift.

The residual's covariance is estimated, and the less well the longer the drift is. For a second fall they are
twice as large. They were chosen so that few decays with a drift of correlation 0.9 to 1 are said to turn
(docs/benchmarks/phases.md)."""

LEAST_P = STRICTER[0][1] / (DRAWS + 1)
"""The smallest p-value that the simulations give."""


GAP, AROUND = 8.0, 5
"""A gap is so many times the median of the spacings on either side of it, of which so many are looked at."""


def gaps(step: FloatArray) -> BoolArray:
    """Which spacings (n − 1,) between steps (n,) are gaps: no curve is known in there."""
    import numpy as np

    spacing = np.diff(step)
    if not spacing.size:
        return np.zeros(0, dtype=bool)
    around = np.pad(spacing, AROUND, mode="symmetric")
    usual = np.median(np.lib.stride_tricks.sliding_window_view(around, AROUND), axis=1)
    return np.asarray(spacing > GAP * np.maximum(usual[: spacing.size], usual[AROUND + 1 :]))


def stricter(long_drift: float) -> float:
    """The factor of :data:`STRICTER` at a probability of a long drift."""
    return next(factor for most, factor in STRICTER if long_drift <= most or most == 1.0)


POWER = 0.8
"""Power of the test at a rise of :attr:`CurvePhases.detectable`."""


class CurvePhases(Struct, frozen=True, kw_only=True, eq=False):
    """One entropy curve, and whether it turns to rise after its fall, or falls a second time.

    Attributes
    ----------
    name, n
        ``"planning"``, ``"execution"``, or the name of a column; points that were fitted, or blocks of them.
    long_drift
        Probability that the drift's length is a good part of the run, so that drift can look like a turn.
    p_rise, p_second_fall
        P-values of "never rises after a fall", and of "concave, then convex, or not falling in both", which
        every decay without a second fall is, with the factor of :data:`STRICTER`.
    rises, falls_again
        Whether the p-value is at most 1 − level.
    turning_point, rise
        The step of the lowest point, and the rise from there to the highest point after it, nats; None where
        the curve does not turn to rise. The interval of the step is that of the basin: all steps within 3 %
        of the rise above the lowest point.
    second_fall
        Steps between which the curve begins to fall again, None where it does not.
    detectable
        The smallest rise over the second half of the run that the test detects in 80 of 100 such runs, nats;
        None where it detects none, because the curve does not fall first or because of a long drift.
    settled, last
        Step by which 95 % of the fall to the lowest point are over, None where the curve does not fall;
        entropy at the last step, nats: the local level there, without the noise.
    first_step, last_step
        The curve's own first and last step, also where blocks are averaged.
    lag1, noise
        Lag-1 autocorrelation and standard deviation of the residuals of the fitted curve.
    step, entropy, fitted, low, high
        Shape (n,): the points, and the curve without drift and noise (mean), with its pointwise interval;
        not beyond the points by more than their noise.
    """

    name: str
    n: int
    p_rise: float
    p_second_fall: float
    long_drift: float
    rises: bool
    falls_again: bool
    detectable: float | None
    last: Estimate
    lag1: float | None
    noise: float
    step: FloatArray
    entropy: FloatArray
    fitted: FloatArray
    low: FloatArray
    high: FloatArray
    first_step: float
    last_step: float
    turning_point: Estimate | None = None
    rise: Estimate | None = None
    second_fall: tuple[float, float] | None = None
    settled: Estimate | None = None

    @property
    def least_p(self) -> float:
        """The smallest :attr:`p_rise` that there can be; that of :attr:`p_second_fall` is twice as large."""
        return stricter(self.long_drift) / (DRAWS + 1)

    def flaw(self) -> str:
        """Curves of several lengths."""
        return lengths_flaw(self.step, self.entropy, self.fitted, self.low, self.high)


class RunTurns(Result, frozen=True, kw_only=True):
    """The turns of a run with both curves, comparable with those of runs of other lengths.

    Attributes
    ----------
    run, verdict, rises_after
        As in its :class:`PhaseFit`.
    planning, execution, delta
        The turning points and their difference as shares of the run, from the first to the last step of
        either curve; None where there is none.
    planning_rise, execution_rise
        Of the curves that turn to rise, nats.
    """

    run: str
    verdict: str | None
    planning: Estimate | None
    planning_rise: Estimate | None
    execution: Estimate | None
    execution_rise: Estimate | None
    delta: Estimate | None
    rises_after: bool


class PhaseFit(Result, frozen=True, kw_only=True, eq=False):
    """The two phases of one run.

    Attributes
    ----------
    planning, execution, aggregate
        The two curves, None with the reason in ``findings`` where there is none; and the curve of all
        tokens, where it was fitted.
    delta
        Planning's turning point minus execution's, in steps; positive where execution's is first. None where
        either curve does not turn to rise, with the reason in ``findings``.
    later
        Probability that planning's turning point is after execution's, given both.
    after_fall
        Planning's turning point minus the step by which execution has made 95 % of its fall. None where
        planning does not turn to rise.
    verdict, share_planning
        One of :data:`entropylaw.results.VERDICTS`, None where there is one curve only; planning tokens' share
        of all entropy at the last step, None with the reason in ``findings``.
    level
        Of every interval; tests are at 1 − level.
    findings, dropped
        Cautions: what may look like a turn, such as level shifts of the curve or of the response
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
        allowed = self.verdict is None or self.verdict in VERDICTS
        return "" if allowed else f"one of {', '.join(VERDICTS)} as verdict"

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
        return self.planning is not None and self.planning.rises and low is not None and low > 0

    @property
    def turns(self) -> RunTurns | None:
        """What the run adds to results over several runs; None where it lacks one of the two curves."""
        plan, act = self.planning, self.execution
        if plan is None or act is None:
            return None
        first = min(plan.first_step, act.first_step)
        span = max(plan.last_step, act.last_step) - first

        def share(steps: Estimate | None, start: float) -> Estimate | None:
            if steps is None:
                return None
            ends = {name: getattr(steps, name) for name in ("value", "low", "high")}
            moved = {name: None if end is None else (end - start) / span for name, end in ends.items()}
            error = None if steps.std_error is None else steps.std_error / span
            return replace(steps, **moved, std_error=error)

        return RunTurns(
            run=self.run,
            verdict=self.verdict,
            planning=share(plan.turning_point, first),
            planning_rise=plan.rise,
            execution=share(act.turning_point, first),
            execution_rise=act.rise,
            delta=share(self.delta, 0.0),
            rises_after=self.rises_after,
        )


class PhasesAcross(Result, frozen=True, kw_only=True, eq=False):
    """Phases over several runs.

    Attributes
    ----------
    runs, planning_rises, both, rises_after
        Runs with both curves, those of them in which planning turns to rise, those in which execution does,
        too, and those in which planning rises after execution's fall (:attr:`PhaseFit.rises_after`).
    share_planning_rises, share_both, share_rises_after
        The same as shares of the runs, with Wilson's interval.
    planning, execution, delta
        Mean of the turning points, and of their difference, as shares of the runs, by a random-effects model;
        None with the reason in ``findings`` where fewer than three were found.
    each
        The runs with both curves.
    findings
        Runs and means that were left out, and why.
    """

    runs: int
    planning_rises: int
    both: int
    rises_after: int
    share_planning_rises: Estimate
    share_both: Estimate
    share_rises_after: Estimate
    planning: Estimate | None
    execution: Estimate | None
    delta: Estimate | None
    each: tuple[RunTurns, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The findings in sentences."""
        return sentences(self.findings, "note")
