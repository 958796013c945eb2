"""The frozen types that every number travels in; none of them needs numpy to be imported.

Where the values of one have to agree with one another, its ``flaw`` says what it should hold and does not,
and is empty where all agrees. Whoever reads documents asks for it; fresh results are not checked.

Annotations are no strings in this package: evaluating hundreds of them takes longer than reading a document.
"""

from itertools import pairwise

from msgspec import Struct

from entropylaw.results.arrays import lengths_flaw
from entropylaw.results.findings import Finding, sentences

VERDICTS = ("execution first", "planning first", "overlapping", "one boundary", "no boundary")
"""What a :class:`~entropylaw.results.phases.PhaseFit` can say of the order of the two boundaries."""

# Ends and values are rounded on their own.
_ROUNDING = 1e-9


class Estimate(Struct, frozen=True, kw_only=True):
    """A number with its interval.

    Attributes
    ----------
    value
        The estimate; None where there is none, and then ``note`` says why.
    low, high
        Ends of the interval, or None with the reason in ``note``; never 0 and never nan.
    level
        Nominal coverage of the interval, 0–1.
    method
        What made the interval, e.g. ``"drift + noise, integrated"``.
    std_error
        Standard error (for a mixture: standard deviation), None where it is infinite or unknown.
    note
        Why something is missing, or what to mind.
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
        return None if self.low is None or self.high is None else self.high - self.low

    def flaw(self) -> str:
        """A level that is none, or a value outside of its interval."""
        if not 0 < self.level < 1:
            return "a level between 0 and 1"
        ends = [end for end in (self.low, self.value, self.high) if end is not None]
        if ends == sorted(ends):
            return ""
        slack = _ROUNDING * max(map(abs, ends))
        rising = all(one <= other + slack for one, other in pairwise(ends))
        return "" if rising else "a value within its own interval"


class Validity(Struct, frozen=True, kw_only=True):
    """Whether the numbers may be read as they stand.

    ``findings`` hold the numbers found and their limits; reasons make ``ok`` False, cautions do not.
    ``contradicted`` says that a reason speaks against the law itself; otherwise the run just cannot
    answer, for want of evaluations or range.
    """

    ok: bool
    contradicted: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the numbers may not be read as they stand, in sentences."""
        return sentences(self.findings, "reason")

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a careful reader wants beside the numbers, in sentences."""
        return sentences(self.findings, "caution")

    def flaw(self) -> str:
        """A law that holds beside reasons against it."""
        against = self.contradicted or any(finding.severity == "reason" for finding in self.findings)
        return "no reason against a law that is ok" if self.ok and against else ""


class Residuals(Struct, frozen=True, kw_only=True):
    """What is left of the reward after the fit.

    Attributes
    ----------
    sd
        Root of the residual sum of squares over n − 2, reward units.
    lag1
        Lag-1 autocorrelation; None below four evaluations or where all residuals are equal.
    effective_n
        Number of independent evaluations that would tell as much about the level of the reward.
    drift_share
        Share of the residual variance that is slow drift, 0–1.
    long_memory
        Probability that the drift remembers half of the run or more, 0–1: then it cannot be told from
        the trend that the law describes.
    """

    sd: float
    lag1: float | None
    effective_n: float
    drift_share: float
    long_memory: float


class Rival(Struct, frozen=True, kw_only=True):
    """Another form fitted to the same evaluations by the same engine.

    Attributes
    ----------
    form
        ``"law"``, ``"line"``, ``"rate"``, ``"constant"``, or ``"branches"`` where entropy falls and rises.
    formula
        The form in symbols.
    parameters
        Number of free coefficients.
    ceiling
        The reward that this form gives at H = 0.
    weight
        Posterior probability among the forms, equal before the data.
    residual_sd
        Root of the residual sum of squares over n − parameters, reward units.
    ruled_out
        Whether the weight is below the limit under which a form is no longer considered.
    rate
        The rate k of ``c − a(exp(kH) − 1)``; None for the other forms.
    """

    form: str
    formula: str
    parameters: int
    ceiling: Estimate
    weight: float
    residual_sd: float
    ruled_out: bool
    rate: Estimate | None = None


class Influence(Struct, frozen=True, kw_only=True):
    """The evaluation that moves the least-squares fit most when it is left out.

    ``ceiling_shift`` is in reward units, ``a_ratio`` is a without it over a with it.
    """

    step: float
    ceiling_shift: float
    a_ratio: float


class Prediction(Struct, frozen=True, kw_only=True):
    """Reward at an entropy.

    Attributes
    ----------
    entropy
        Nats.
    mean
        The law's reward there.
    observation
        A new evaluation there, far from the last step: the mean's interval widened by drift and noise.
    extrapolated
        Whether ``entropy`` lies outside the range that was fitted.
    """

    entropy: float
    mean: Estimate
    observation: Estimate
    extrapolated: bool


class EntropySet(Struct, frozen=True, kw_only=True):
    """The entropies at which the law's reward is compatible with a target.

    Attributes
    ----------
    reward
        The target.
    value
        Entropy at which the law reaches it; None with the reason in ``note``.
    intervals
        Disjoint (low, high) in nats, low ≥ 0; high is None where the set has no upper end. Empty where
        no entropy is compatible.
    level, method, note
        As in :class:`Estimate`.
    """

    reward: float
    value: float | None
    intervals: tuple[tuple[float, float | None], ...]
    level: float
    method: str
    note: str | None = None


class Saturation(Struct, frozen=True, kw_only=True):
    """Where a share of the reward that entropy can still buy is spent.

    ``entropy`` follows from the form of the law and the last entropy alone, so that it has no interval.
    """

    share: float
    entropy: float
    reward: Estimate


class Curve(Struct, frozen=True, kw_only=True):
    """The law and its bands over a grid of entropies, ready to draw; every tuple has the same length.

    ``rivals`` holds each rival's mean by form.
    """

    entropy: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    observation_low: tuple[float, ...]
    observation_high: tuple[float, ...]
    rivals: dict[str, tuple[float, ...]]

    def flaw(self) -> str:
        """Bands of several lengths."""
        bands = (self.mean, self.low, self.high, self.observation_low, self.observation_high)
        return lengths_flaw(self.entropy, *bands, *self.rivals.values())
