"""The types of numbers that results are made of, and what verdicts say; importing them imports no numpy.

Where the values of a type have to agree with one another, its ``flaw`` describes what does not, and is empty
where all agree. Reading a document checks it; fresh results are not checked.

Annotations are no strings in this package: evaluating hundreds of them takes longer than reading a document.
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise

from msgspec import Struct, structs

from entropylaw.arrays import lengths_flaw

WORDS = ("rises", "does not rise", "cannot tell")
"""What a :class:`~entropylaw.results.phases.CurvePhases` can say of a curve of entropy."""

VERDICTS = ("settles, then rises", "rises, then settles", "overlapping", *WORDS[1:])
"""What a :class:`~entropylaw.results.phases.PhaseFit` can say: that execution settles before planning rises,
or the other way round, that the intervals overlap, or that planning does not rise, or may not."""

# Ends and values are rounded separately.
_ROUNDING = 1e-9


class Estimate(Struct, frozen=True, kw_only=True):
    """A number with its interval.

    Attributes
    ----------
    value, low, high
        The estimate and the ends of its interval; None, never 0 or nan, where ``note`` says why.
    level, method
        Nominal coverage of the interval, 0–1, and what made it, e.g. ``"drift + noise, integrated"``.
    std_error
        Standard error (for a mixture: standard deviation), None where it is infinite or unknown.
    note
        Why something is missing, or a limitation.
    """

    value: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    std_error: float | None = None
    note: str | None = None

    @property
    def width(self) -> float | None:
        """From the low end to the high one; None where either is missing."""
        if self.low is None or self.high is None:
            return None
        return self.high - self.low

    def times(self, factor: float) -> "Estimate":
        """The same in a unit of which ``factor`` are one of this, such as 100 for a rate in per cent."""

        def scaled(number: float | None) -> float | None:
            return None if number is None else factor * number

        return structs.replace(
            self,
            value=scaled(self.value),
            low=scaled(self.low),
            high=scaled(self.high),
            std_error=scaled(self.std_error),
        )

    def within(self, least: float, most: float) -> "Estimate":
        """The same, with its value and ends inside of what is possible."""

        def inside(number: float | None) -> float | None:
            return None if number is None else min(max(number, least), most)

        return structs.replace(self, value=inside(self.value), low=inside(self.low), high=inside(self.high))

    def __float__(self) -> float:
        """The value; a ValueError says why there is none."""
        if self.value is None:
            raise ValueError(f"no value: {self.note or 'no reason is given'}")
        return self.value

    def __str__(self) -> str:
        """The value with its interval, four digits each, and the reason where one is missing."""
        text = f"{self:.4g}"
        if self.low is not None and self.high is not None:
            text += f" [{self.low:.4g}, {self.high:.4g}]"
        if self.note:
            text += f" ({self.note})"
        return text

    def __format__(self, spec: str) -> str:
        """The value in a format such as ``.3f``, an unknown one as a dash; without a format as printed."""
        if not spec:
            return str(self)
        return "—" if self.value is None else format(self.value, spec)

    def flaw(self) -> str:
        """A level that is none, or a value outside of its interval."""
        if not 0 < self.level < 1:
            return "a level between 0 and 1"
        ends = [end for end in (self.low, self.value, self.high) if end is not None]
        if ends == sorted(ends):
            return ""
        slack = _ROUNDING * max(map(abs, ends))
        rising = all(lower <= upper + slack for lower, upper in pairwise(ends))
        return "" if rising else "a value within its own interval"


class Verdict(StrEnum):
    """What the data say of the law in one run."""

    holds = "holds"
    undecided = "undecided"
    fails = "fails"


class Why(StrEnum):
    """Why the law fails.

    ``another_curve``: reward follows entropy along another curve. ``more_than_entropy``: a term in the step
    is needed beside every curve in H. ``no_relation``: reward does not follow entropy, or rises with it.
    """

    another_curve = "another curve"
    more_than_entropy = "more than entropy"
    no_relation = "no relation"


class LawTests(Struct, frozen=True, kw_only=True):
    """The evidence for and against the law, from which its verdict follows; None where unknown.

    Attributes
    ----------
    p_step, p_log_step
        Two-sided p-values of a term added to the law: the step, and the logarithm of one plus the step.
    odds_line, odds_rate, odds_power, odds_square
        Marginal likelihood of a curve in the entropy over the law's: a line, a free rate k, a power, H².
    odds_constant, odds_lagged
        The same of a constant, and of the law of an earlier entropy.
    odds_saturation, odds_step, odds_log_step
        The same of what needs more than the entropy: saturation in the step alone, and the law with the step,
        or its logarithm, beside it.
    spearman
        Rank correlation of smoothed entropy and reward.
    """

    p_step: float | None
    p_log_step: float | None
    odds_line: float | None
    odds_rate: float | None
    odds_power: float | None
    odds_square: float | None
    odds_constant: float | None
    odds_lagged: float | None
    odds_saturation: float | None
    odds_step: float | None
    odds_log_step: float | None
    spearman: float | None


class Residuals(Struct, frozen=True, kw_only=True):
    """The residual of the fit.

    Attributes
    ----------
    sd, lag1
        Root of the residual sum of squares over n − 2, reward units, and lag-1 autocorrelation; None below
        four evaluations or where all residuals are equal.
    effective_n
        Effective sample size: of independent evaluations with as much information on the level of the reward;
        at most the number of evaluations.
    drift_share, long_memory
        Share of the residual variance that is slow drift, 0–1, and probability that it has long memory.
    """

    sd: float
    lag1: float | None
    effective_n: float
    drift_share: float
    long_memory: float


FEWEST_FOR_MEMORY = 150
"""Evaluations below which long and short memory are not distinguished."""


class FormAnswer(Struct, frozen=True, kw_only=True):
    """A functional form fitted to a run.

    Attributes
    ----------
    form, formula, parameters
        A name of :data:`entropylaw.analysis.forms.FORMS`, symbols, and number of free coefficients.
    probability
        Posterior probability among the forms, equal before the data.
    ceiling, headroom
        The reward at H = 0, and the gain of reward that is left, if the form is true.
    residual_sd
        Root of the residual sum of squares over n − parameters, reward units.
    shapes
        Estimates of the parameters in which the form is not linear, by name.
    """

    form: str
    formula: str
    parameters: int
    probability: float
    ceiling: Estimate
    residual_sd: float
    shapes: Mapping[str, Estimate]
    headroom: Estimate


class Prediction(Struct, frozen=True, kw_only=True):
    """Reward at an ``entropy`` in nats, ``extrapolated`` where that is outside the fitted range.

    ``mean`` is the curve's reward there; ``observation`` one more evaluation, far from the last step: the
    mean's interval widened by drift and noise.
    """

    entropy: float
    mean: Estimate
    observation: Estimate
    extrapolated: bool


class EntropySet(Struct, frozen=True, kw_only=True):
    """The entropies at which the curve's reward is compatible with a target ``reward``.

    ``value`` is the entropy at which the curve reaches it, None with the reason in ``note``; ``intervals``
    are disjoint (low, high) in nats, low ≥ 0, high None where the set has no upper end, empty where no
    entropy is compatible. The rest is as in :class:`Estimate`.
    """

    reward: float
    value: float | None
    intervals: tuple[tuple[float, float | None], ...]
    level: float
    method: str
    note: str | None = None


class Curve(Struct, frozen=True, kw_only=True):
    """The averaged curve and its band over a grid of entropies, to draw; these tuples have the same length.

    ``forms`` holds the mean of each functional form. The path is that of the run itself, of any length: its
    smoothed entropy, and the level of its reward.
    """

    entropy: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    forms: dict[str, tuple[float, ...]]
    path_entropy: tuple[float, ...]
    path_reward: tuple[float, ...]

    def __repr__(self) -> str:
        return f"<Curve: {len(self.entropy)} entropies, {len(self.forms)} forms>"

    def flaw(self) -> str:
        """Bands of several lengths."""
        flaw = lengths_flaw(self.path_entropy, self.path_reward)
        return flaw or lengths_flaw(self.entropy, self.mean, self.low, self.high, *self.forms.values())
