"""The frozen types of results; importing them imports no numpy.

Where the values of a type have to agree with one another, its ``flaw`` describes what does not, and is empty
where all agree. Reading a document checks it; fresh results are not checked.

Annotations are no strings in this package: evaluating hundreds of them takes longer than reading a document.
"""

from itertools import pairwise

from msgspec import Struct, field

from entropylaw.results.arrays import lengths_flaw
from entropylaw.results.result import Finding, sentences

VERDICTS = ("execution first", "planning first", "overlapping", "one boundary", "no boundary")
"""What a :class:`~entropylaw.results.phases.PhaseFit` can say of the order of the two boundaries."""

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
    """Whether the numbers are reliable.

    ``findings`` hold the numbers found and their limits; reasons make ``ok`` False, cautions do not.
    ``contradicted`` says that a reason is evidence against the law itself; otherwise the run has too
    few evaluations or too small a range.
    """

    ok: bool
    contradicted: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> str:
        """``valid``, ``law fails`` or ``undecided``; cautions aside."""
        if self.ok:
            return "valid"
        return "law fails" if self.contradicted else "undecided"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the numbers are not reliable, in sentences."""
        return sentences(self.findings, "reason")

    @property
    def cautions(self) -> tuple[str, ...]:
        """Limitations of the numbers, in sentences."""
        return sentences(self.findings, "caution")

    def flaw(self) -> str:
        """A law that is ok although there are reasons against it."""
        against = self.contradicted or any(finding.severity == "reason" for finding in self.findings)
        return "no reason against a law that is ok" if self.ok and against else ""


class Residuals(Struct, frozen=True, kw_only=True):
    """The residual of the fit.

    Attributes
    ----------
    sd, lag1
        Root of the residual sum of squares over n − 2, reward units, and lag-1 autocorrelation; None below
        four evaluations or where all residuals are equal.
    effective_n
        Effective sample size: of independent evaluations with as much information on the level of the reward.
    drift_share, long_memory
        Share of the residual variance that is slow drift, and probability that the drift remembers half of
        the run or more and is not separable from the law's trend, 0–1.
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
    form, formula, parameters
        A name of :data:`entropylaw.analysis.forms.FORMS`, symbols, and number of free coefficients.
    ceiling
        The reward that this form gives at H = 0.
    probability, ruled_out
        Posterior probability among the forms, equal before the data, and whether it is below the limit under
        which a form is no longer considered.
    residual_sd
        Root of the residual sum of squares over n − parameters, reward units.
    rate
        The rate k of ``c − a(exp(kH) − 1)``; None for the other forms.
    """

    form: str
    formula: str
    parameters: int
    ceiling: Estimate
    probability: float = field(name="weight")
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
    """Reward at an ``entropy`` in nats, ``extrapolated`` where that is outside the fitted range.

    ``mean`` is the law's reward there; ``observation`` one more evaluation, far from the last step: the
    mean's interval widened by drift and noise.
    """

    entropy: float
    mean: Estimate
    observation: Estimate
    extrapolated: bool


class EntropySet(Struct, frozen=True, kw_only=True):
    """The entropies at which the law's reward is compatible with a target ``reward``.

    ``value`` is the entropy at which the law reaches it, None with the reason in ``note``; ``intervals`` are
    disjoint (low, high) in nats, low ≥ 0, high None where the set has no upper end, empty where no entropy is
    compatible. The rest is as in :class:`Estimate`.
    """

    reward: float
    value: float | None
    intervals: tuple[tuple[float, float | None], ...]
    level: float
    method: str
    note: str | None = None


class Saturation(Struct, frozen=True, kw_only=True):
    """Where a share of the law's headroom is used.

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
