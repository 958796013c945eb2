"""What the entropy curves of a run do, and of several runs: frozen results."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from entropylaw.arrays import BoolArray, FloatArray, held, lengths_flaw, on_access
from entropylaw.results import VERDICTS, WORDS, Estimate
from entropylaw.results.result import Finding, Qualified, Result, replace

CURVES = {"planning": "planning", "execution": "execution", "semantic": "plans", "aggregate": "all tokens"}
"""Name of each curve → what it is the entropy of, in words."""

MATERIAL = 1.25
"""Multiple of the level before it from which on a rise counts."""

EXPLODED = 2.0
"""Multiple of the level before it from which on a rise is an explosion."""

POWER = 0.8
"""Share of injected rises of :attr:`CurvePhases.detectable` that are found."""

_GAP = 8.0
"""A gap is so many times the median of the spacings on either side of it."""

_AROUND = 5
"""Number of spacings on either side of which that median is taken."""

POOLED = 41
"""Points of curves over runs."""

_BAND = 7.5
"""Width of a band that holds a whole curve, in standard errors."""


def gaps(step: FloatArray) -> BoolArray:
    """Which spacings (n − 1,) between steps (n,) are gaps: no curve is known in there."""
    import numpy as np

    spacing = np.diff(step)
    if not spacing.size:
        return np.zeros(0, dtype=bool)
    around = np.pad(spacing, _AROUND, mode="symmetric")
    usual = np.median(np.lib.stride_tricks.sliding_window_view(around, _AROUND), axis=1)
    return np.asarray(spacing > _GAP * np.maximum(usual[: spacing.size], usual[_AROUND + 1 :]))


class Eruption(Struct, frozen=True):
    """A sharp rise: its step, and how far it goes within the window that shows it best, nats."""

    step: float
    rise: float


@on_access
class CurvePhases(Result, frozen=True, kw_only=True, eq=False):
    """One entropy curve: its level, its eruptions, and when it begins to rise or settles.

    Attributes
    ----------
    name, n
        One of :data:`CURVES`; points that were fitted, or blocks of them.
    verdict
        One of :data:`entropylaw.results.WORDS`: the end is above the lowest level; it is not, though a rise
        of ``detectable`` would have been found; or the curve does not show which.
    p_rise
        P-value of "no later level is above an earlier one".
    detectable
        The smallest rise in the second half of the run that is found in :data:`POWER` of places where it is
        added to the curve, nats; None where none is, or the curve rises.
    lowest, lowest_step
        Mean of the lowest window before the end, nats, and its middle.
    rise, ratio
        How far the end is above that level, nats, and the end as a multiple of it.
    since, stays
        Of a curve that rises, the step since which it is above half of the rise, and whether the end has at
        least half of the largest rise.
    eruptions
        Sharp rises; None where there are too few points to look for them.
    onset
        The step from which on the slope is above 0; None where the curve does not rise.
    settled
        The step from which on the curve stays within 5 % of its range of its final level; None where it
        rises, or does not fall.
    last
        Entropy at the last step, nats: the level there, without the noise.
    noise
        Standard deviation of the residuals, nats.
    first_step, last_step
        The curve's own first and last step, also where blocks are averaged.
    step, entropy, fitted, low, high
        Shape (n,): the points, and the curve without drift and noise with a band that holds all of it at the
        level, none below 0.
    """

    name: str
    n: int
    verdict: str
    p_rise: float
    detectable: float | None
    lowest: float
    lowest_step: float
    rise: Estimate
    ratio: float | None
    since: float | None
    stays: bool | None
    eruptions: tuple[Eruption, ...] | None
    onset: Estimate | None
    settled: Estimate | None
    last: Estimate
    noise: float
    first_step: float
    last_step: float
    step: FloatArray
    entropy: FloatArray
    fitted: FloatArray
    low: FloatArray
    high: FloatArray

    def flaw(self) -> str:
        """Curves of several lengths, or an unknown word."""
        if self.verdict not in WORDS:
            return f"one of {', '.join(WORDS)} as verdict"
        return lengths_flaw(*(held(self, name) for name in ("step", "entropy", "fitted", "low", "high")))

    @property
    def rises(self) -> bool | None:
        """Whether the curve rises; None where that is not known."""
        return {WORDS[0]: True, WORDS[1]: False}.get(self.verdict)

    @property
    def eruption_steps(self) -> tuple[float, ...]:
        """The steps of the eruptions; empty also where none were looked for."""
        return tuple(eruption.step for eruption in self.eruptions or ())

    @property
    def exploded(self) -> bool | None:
        """Whether the curve rises to at least :data:`EXPLODED` times its lowest level; None: not known."""
        return self.rises and (self.ratio is None or self.ratio >= EXPLODED)


@on_access
class CurveSummary(Struct, frozen=True, kw_only=True, eq=False):
    """What a curve adds to results over runs: as in :class:`CurvePhases`, steps as shares of the run.

    ``mean`` and ``error`` (m,) are the curve and its standard error at those of :data:`POOLED` even shares
    ``at`` of the run that are between its own first and last step.
    """

    name: str
    verdict: str
    rise: Estimate
    onset: Estimate | None
    settled: Estimate | None
    at: FloatArray
    mean: FloatArray
    error: FloatArray


class PhaseSummary(Result, frozen=True, kw_only=True):
    """What a run adds to results over several runs; ``delta`` is a share of the run."""

    run: str
    verdict: str | None
    delta: Estimate | None
    curves: tuple[CurveSummary, ...]


class PhaseFit(Qualified, Result, frozen=True, kw_only=True, eq=False):
    """The phases of one run.

    Attributes
    ----------
    planning, execution, semantic, aggregate
        The curves; None where there is none.
    delta, later
        The onset of planning's rise (of the plans', where planning does not rise) minus the step at which
        execution has settled, and the probability that it is later. None where either is not known.
    verdict
        One of :data:`entropylaw.results.VERDICTS`, None without a curve of execution and another one.
    level
        Of every interval; tests are at 1 − level.
    findings, dropped
        Cautions: what may look like a rise. Notes: why a value is missing. Reason → steps left out.
    """

    run: str
    planning: CurvePhases | None
    execution: CurvePhases | None
    semantic: CurvePhases | None
    aggregate: CurvePhases | None
    delta: Estimate | None
    later: float | None
    verdict: str | None
    level: float
    findings: tuple[Finding, ...] = ()
    dropped: Mapping[str, int] = msgspec.field(default_factory=dict)

    def flaw(self) -> str:
        """An unknown verdict."""
        allowed = self.verdict is None or self.verdict in VERDICTS
        return "" if allowed else f"one of {', '.join(VERDICTS)} as verdict"

    @property
    def curves(self) -> tuple[CurvePhases, ...]:
        """The curves that were fitted, planning first."""
        return tuple(curve for name in CURVES if (curve := getattr(self, name)) is not None)

    @property
    def levels(self) -> CurvePhases:
        """The curve whose level stands for the run: that of all tokens, or else the first."""
        return self.aggregate or self.curves[0]

    @property
    def answer(self) -> str:
        """The order or, where none is known, what is known of the run's curve or else of another one."""
        words = (self.verdict, self.levels.verdict, *(curve.verdict for curve in self.curves))
        return next((word for word in words if word not in (None, WORDS[2])), WORDS[2])

    @property
    def summary(self) -> PhaseSummary:
        """What the run adds to results over several runs."""
        import numpy as np

        start = min(curve.first_step for curve in self.curves)
        span = max(curve.last_step for curve in self.curves) - start
        at = np.linspace(0.0, 1.0, POOLED)
        step = start + span * at
        summaries = []
        for curve in self.curves:
            inside = (step >= curve.first_step) & (step <= curve.last_step)
            error = (curve.high - curve.low) / _BAND
            summaries.append(
                CurveSummary(
                    name=curve.name,
                    verdict=curve.verdict,
                    rise=curve.rise,
                    onset=_share_of(span, curve.onset, start),
                    settled=_share_of(span, curve.settled, start),
                    at=at[inside],
                    mean=np.interp(step[inside], curve.step, curve.fitted),
                    error=np.interp(step[inside], curve.step, error),
                )
            )
        delta = _share_of(span, self.delta, 0.0)
        return PhaseSummary(run=self.run, verdict=self.verdict, delta=delta, curves=tuple(summaries))


def _share_of(span: float, steps: Estimate | None, start: float) -> Estimate | None:
    """Steps after a first one, as a share of the run's ``span`` of steps."""
    if steps is None:
        return None

    def share(step: float | None, start: float) -> float | None:
        return None if step is None else (step - start) / span

    return replace(
        steps,
        value=share(steps.value, start),
        low=share(steps.low, start),
        high=share(steps.high, start),
        std_error=share(steps.std_error, 0.0),
    )


@on_access
class PooledCurve(Result, frozen=True, kw_only=True, eq=False):
    """One curve over several runs.

    ``runs`` have it; in ``rising`` and ``not_rising`` of them it does and does not rise, in the others that
    is not known. ``share`` is that of the rising among those that are known, with Clopper & Pearson's
    interval. ``rise``, ``onset`` and ``settled`` are means by a random-effects model, the last two as shares
    of the run, over the runs in which they are known; None below three. ``at``, ``mean``, ``low``, ``high``
    (m,) are the mean curve and its pointwise interval at the shares of the run at which three runs or more
    have it.
    """

    name: str
    runs: int
    rising: int
    not_rising: int
    share: Estimate | None
    rise: Estimate | None
    onset: Estimate | None
    settled: Estimate | None
    at: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def unknown(self) -> int:
        """Runs in which it is not known whether the curve rises."""
        return self.runs - self.rising - self.not_rising


class PhasesAcross(Qualified, Result, frozen=True, kw_only=True, eq=False):
    """Phases over several runs.

    Attributes
    ----------
    runs, curves
        Number of runs, and what each curve does over them.
    orders
        Word of :data:`entropylaw.results.VERDICTS` → number of runs.
    delta
        Mean of :attr:`PhaseFit.delta` as a share of the run, None where fewer than three are known.
    each, findings
        The runs; means that are missing, and why.
    """

    runs: int
    curves: tuple[PooledCurve, ...]
    orders: Mapping[str, int]
    delta: Estimate | None
    each: tuple[PhaseSummary, ...] = ()
    findings: tuple[Finding, ...] = ()
