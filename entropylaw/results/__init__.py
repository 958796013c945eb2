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
    """Why the law does not hold in a run: the one reason for its verdict."""

    reverse = "reward rises with entropy"
    step = "the step says more"
    few = "too few evaluations"
    narrow = "entropy hardly moved"
    slope = "no clear slope"
    line = "a line in H fits no worse"
    curve = "another curve fits better"
    neither = "the step says as much"
    controlled = "the entropy is controlled"


class More(StrEnum):
    """Whether the entropy or the step says more about the reward of a run."""

    entropy = "entropy says more than the step"
    step = "the step says more"
    unknown = "cannot tell"


class LawTests(Struct, frozen=True, kw_only=True):
    """The evidence from which the words about the law follow: odds, and one probability.

    Attributes
    ----------
    odds_entropy
        Of all curves in the entropy, each as probable, to all curves in the step alone.
    odds_law, odds_line
        Of the law to the curves in the step, and to the straight line in the entropy.
    odds_step
        Of the curves in the step to a constant.
    p_direction
        Probability that reward falls as entropy rises, by the law.
    """

    odds_entropy: float
    odds_law: float
    odds_line: float
    odds_step: float
    p_direction: float

    @property
    def more(self) -> More:
        """Whether the entropy or the step says more, at odds of 3 to 1."""
        if self.odds_entropy >= CLEAR_ODDS:
            return More.entropy
        if self.odds_entropy <= 1.0 / CLEAR_ODDS and self.odds_step >= CLEAR_ODDS:
            return More.step
        return More.unknown


class KeptWord(Struct, frozen=True, kw_only=True):
    """What the first ``fitted`` evaluations of a run said of the others, at the entropies that came.

    Root mean square errors, reward units: of the ``law`` and of the averaged ``curve``, each from the level
    at the last of the first evaluations, and of that ``level`` alone. They decide nothing about the law.
    """

    fitted: int
    law: float
    curve: float
    level: float


CLEAR_ODDS = 3.0
"""Odds from which one of two kinds of curves says more than the other."""


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
    residual_sd
        Root of the residual sum of squares over n − parameters, reward units.
    shapes
        Estimates of the parameters in which the form is not linear, by name.
    """

    form: str
    formula: str
    parameters: int
    probability: float
    residual_sd: float
    shapes: Mapping[str, Estimate]


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

    ``forms`` holds the mean of each functional form.
    """

    entropy: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    forms: dict[str, tuple[float, ...]]

    def __repr__(self) -> str:
        return f"<Curve: {len(self.entropy)} entropies, {len(self.forms)} forms>"

    def flaw(self) -> str:
        """Bands of several lengths."""
        return lengths_flaw(self.entropy, self.mean, self.low, self.high, *self.forms.values())
