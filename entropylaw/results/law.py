"""The fitted law: its numbers, predictions at an entropy, and entropies for a target reward."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import msgspec

from entropylaw.results import (
    Curve,
    EntropySet,
    Estimate,
    Influence,
    Prediction,
    Residuals,
    Rival,
    Saturation,
    Validity,
)
from entropylaw.results.arrays import FloatArray
from entropylaw.results.posterior import Posterior
from entropylaw.results.result import Result, late

LAW_VERDICTS = ("valid", "with cautions", "law fails", "undecided")
"""The verdicts on the law of a run."""

CLEARLY = 3.0
"""A rival is better from this many times the law's probability."""


class LawFit(Result, frozen=True, kw_only=True, eq=False, dict=True):
    """The law fitted to one run.

    Attributes
    ----------
    run, n
        Name of the run, and number of evaluations that were fitted.
    validity
        Whether the numbers are reliable; read it first.
    a, b, ceiling
        Coefficients of R = −a·exp(H) + b, and ceiling = b − a, the reward at H = 0.
    correlation
        Correlation of a and b; they are nearly the same number, the ceiling is not.
    entropy_now, reward_now, headroom
        Smoothed entropy at the last evaluation (nats), the run's reward there with the evaluation's sampling
        noise taken out (the law plus the drift at the last step), and ceiling − reward_now.
    residuals, influence
        Residuals of the law, and the evaluation that changes it most when left out.
    law_probability, law_ruled_out, rivals
        Posterior probability of the law among the forms, whether it is below the limit under which a
        form is no longer considered, and the other forms, most probable first.
    entropy_spent
        Entropy at which 95 % of the law's headroom is used (see :meth:`saturation`).
    ceiling_over_forms, r_squared
        Range of the ceiling over all forms that are not ruled out, and share of the reward's variance that
        the fitted law explains.
    step, entropy, reward, fitted
        Shape (n,): the evaluations, as logged, and the law's reward at the smoothed entropy.
    smoothed_entropy, entropy_noise
        Shape (n,): the entropy without the noise of measuring it, to which the law is fitted; and that
        noise's standard deviation in nats, None where the entropy was used as logged.
    curve
        The law, its bands and the rivals' means over a grid of entropies, for figures.
    level, interval
        Level of every interval, and what made them: "drift", "walk", "odr" or "ols".
    eval_size, entropy_sd
        Where given: number of samples behind each reward; known noise of each logged entropy, (n,), nats.
    dropped
        Reason → evaluations left out.
    posterior, noise_floor
        The engine's answer, from which :meth:`predict` reads, and known noise variance of one more evaluation
        (0 without ``eval_size``).
    """

    run: str
    n: int
    validity: Validity
    a: Estimate
    b: Estimate
    ceiling: Estimate
    correlation: float
    entropy_now: float
    entropy_noise: float | None
    reward_now: Estimate
    headroom: Estimate
    residuals: Residuals
    influence: Influence
    law_probability: float = msgspec.field(name="law_weight")
    law_ruled_out: bool
    entropy_spent: float
    rivals: tuple[Rival, ...]
    ceiling_over_forms: Estimate
    r_squared: float
    step: FloatArray
    entropy: FloatArray
    smoothed_entropy: FloatArray = msgspec.field(name="course")
    reward: FloatArray
    fitted: FloatArray
    curve: Curve
    level: float
    interval: str
    eval_size: int | None
    dropped: Mapping[str, int] = msgspec.field(default_factory=dict)
    posterior: Posterior
    noise_floor: float
    entropy_sd: FloatArray | None = None

    @cached_property
    def residual_covariances(self) -> Any:
        """The residual covariances of the fit, those of errors in the entropy included; kept once computed.

        A fresh fit has them from its own inference; a stored one infers them again. They are no part of a
        document.
        """
        return late("analysis.law.inference.residual_covariances", self)

    @property
    def rivals_as_good(self) -> tuple[Rival, ...]:
        """Rivals that are not ruled out; a form with the law as a special case is not one of them."""
        kept = (rival for rival in self.rivals if not rival.ruled_out)
        return tuple(rival for rival in kept if not late("analysis.forms.nests_law", rival.form))

    @property
    def better_rival(self) -> Rival | None:
        """The form that is clearly more probable than the law, where there is one."""
        best = self.rivals[0] if self.rivals else None
        return best if best is not None and best.probability >= CLEARLY * self.law_probability else None

    @property
    def verdict(self) -> str:
        """One of :data:`LAW_VERDICTS`."""
        careful = any(finding.severity == "caution" for finding in self.validity.findings)
        if self.validity.ok and (careful or self.rivals_as_good):
            return "with cautions"
        return self.validity.verdict

    def flaw(self) -> str:
        """Arrays of other lengths than n, or steps that do not rise."""
        known = [self.entropy_sd] if self.entropy_sd is not None else []
        columns = (self.step, self.entropy, self.smoothed_entropy, self.reward, self.fitted, *known)
        listed = isinstance(self.step, list)  # for gates, which read no array
        fits = all(len(column) == self.n and (listed or column.ndim == 1) for column in columns)
        if self.n < 2 or not fits:
            return f"arrays of the length n = {self.n}, at least 2"
        if listed:
            return ""
        if self.posterior.coefficient.shape[-1] != 2:
            return "a posterior of two coefficients"
        return "" if (self.step[1:] > self.step[:-1]).all() else "increasing steps"

    @overload
    def predict(self, entropy: float, *, level: float | None = None) -> Prediction: ...
    @overload
    def predict(
        self, entropy: Sequence[float] | FloatArray, *, level: float | None = None
    ) -> tuple[Prediction, ...]: ...
    def predict(
        self, entropy: float | Sequence[float] | FloatArray, *, level: float | None = None
    ) -> Prediction | tuple[Prediction, ...]:
        """Reward at an entropy, or at each of several.

        Parameters
        ----------
        entropy
            Nats; a number, or shape (m,).
        level
            Coverage of the intervals; the fit's own where not given.

        Returns
        -------
        A :class:`~entropylaw.results.Prediction`, or a tuple of them. Its ``mean`` is the law
        c − a(exp(H) − 1); its ``observation`` one more evaluation far from the last step, so that the
        drift there is unknown.

        Raises
        ------
        UsageError
            ``bad-level``, or ``bad-entropy`` where an entropy is negative, not finite or above 12 nats.
        """
        return late("analysis.law.estimates.predict", self, entropy, level)  # type: ignore[no-any-return]

    def entropy_for(self, reward: float, *, level: float | None = None) -> EntropySet:
        """The entropies at which the law's reward is compatible with a target, in the run's reward units.

        The set holds every H for which the target is in the interval of the mean at H, with coverage
        ``level`` (the fit's own where not given). It is empty where the target is above (or below) every
        interval, and has no upper end where the sign of a is not settled.
        """
        return late("analysis.law.estimates.entropy_for", self, reward, level)  # type: ignore[no-any-return]

    def saturation(self, share: float = 0.95, *, level: float | None = None) -> Saturation:
        """Entropy at which ``share`` of the law's headroom is used, and the reward there.

        The law's headroom is a(exp(H_now) − 1); all but 1 − share of it is used at
        H = ln(1 + (1 − share)(exp(H_now) − 1)), whatever a and b are.
        """
        return late("analysis.law.estimates.saturation", self, share, level)  # type: ignore[no-any-return]


class Influences(Result, frozen=True, kw_only=True, eq=False):
    """What each evaluation does to the fit; every array has shape (n,).

    ``leverage`` is how much the fitted reward at an evaluation follows the reward logged there, the diagonal
    of the matrix that turns rewards into fitted ones; it adds up to 2. ``ceiling_shift`` and ``a_ratio`` are
    the change of the ceiling, in reward units, and a, without the evaluation over with it. ``length`` (steps)
    and ``drift_share`` describe the fit's most probable covariance: no drift with least squares.
    """

    step: FloatArray
    leverage: FloatArray
    ceiling_shift: FloatArray
    a_ratio: FloatArray
    length: float
    drift_share: float


class FormResult(Rival, frozen=True, kw_only=True):
    """A form in a :class:`Comparison`, the law included; probabilities are among forms of its variable.

    Attributes
    ----------
    variable
        ``"entropy"``, or ``"step"``: the ceiling then is the limit in steps.
    log_odds
        Natural logarithm of its marginal likelihood over the law's: the evidence of the data for this form
        against the law, whatever other forms there are.
    shapes
        Estimates of the parameters in which the form is not linear, by name; ``rate`` is None.
    """

    variable: str
    log_odds: float
    shapes: dict[str, Estimate]


class NestedTest(msgspec.Struct, frozen=True, kw_only=True):
    """Test of a form inside a larger one.

    ``p_value`` is None, with the reason in ``note``, where the two columns are not independent on the run.
    """

    null: str
    alternative: str
    p_value: float | None
    method: str
    note: str | None = None


class Comparison(Result, frozen=True, kw_only=True):
    """The law among all forms, of the entropy and of the step.

    Attributes
    ----------
    forms
        The law and its rivals; those of the entropy first, each group most probable first.
    skipped
        Form → why it cannot be fitted to this run.
    alike
        Forms between which and the law the data do not decide: odds between 1/20 and 20.
    law_test, line_test, branch_test
        The law (k = 1) and the line (k = 0) inside the form with a free rate, and the law inside the
        branches.
    rate_tail
        Twice the smaller posterior probability of k < 1 and k > 1, with k flat in its range.
    ceiling
        Reward at H = 0, over the forms of the entropy that are not ruled out.
    limit
        Limit in steps, over the forms of the step that are not ruled out; None without any.
    reach
        ``ceiling`` and ``limit`` together where the entropy is spent, so that both mean the same; else None
        with the reason in ``reach_note``.
    """

    forms: tuple[FormResult, ...]
    skipped: dict[str, str]
    alike: tuple[str, ...]
    law_test: NestedTest
    line_test: NestedTest
    branch_test: NestedTest
    rate_tail: float
    ceiling: Estimate
    limit: Estimate | None
    reach: Estimate | None
    reach_note: str | None


class NonlinearFit(Result, frozen=True, kw_only=True):
    """A form fitted by lmfit.

    Attributes
    ----------
    form, formula
        Key and symbols.
    parameters
        Name → estimate with its profile interval and lmfit's standard error. An end that the profile does
        not reach is None, with the reason in ``note``.
    residual_sd
        Root of the whitened residual sum of squares over n − parameters; reward units.
    length, drift_share, settled, message
        The covariance that was used, in steps and 0–1; whether Levenberg–Marquardt converged, and how.
    """

    form: str
    formula: str
    parameters: dict[str, Estimate]
    residual_sd: float
    length: float
    drift_share: float
    settled: bool
    message: str


class FormAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What one functional form says: its ``probability``, and the ceiling and the headroom if it is true."""

    form: str
    formula: str
    probability: float
    ceiling: Estimate
    headroom: Estimate


class Averaged(Result, frozen=True, kw_only=True, eq=False, dict=True):
    """The answer of a run, averaged over the functional forms.

    Attributes
    ----------
    run
        Name of the run.
    ceiling, headroom, reward_now
        Reward at H = 0, that minus the reward now, and the run's reward at the last evaluation without the
        evaluation's sampling noise; each averaged over the forms by their probability.
    gain, p_headroom
        A gain of reward, and the probability that the headroom is at least that.
    entropy_now, lowest_entropy
        Smoothed entropy at the last evaluation, and the lowest, nats: the ceiling is an extrapolation from
        there to 0.
    forms, skipped
        The forms, most probable first; and form → why it cannot be fitted to the run.
    level
        Level of the intervals.
    """

    run: str
    ceiling: Estimate
    headroom: Estimate
    reward_now: Estimate
    gain: float
    p_headroom: float
    entropy_now: float
    lowest_entropy: float
    forms: tuple[FormAnswer, ...]
    skipped: Mapping[str, str]
    level: float

    @cached_property
    def basis(self) -> Any:
        """The fit of the law and the posteriors of the forms, from which :meth:`predict` reads."""
        raise AttributeError("an answer of average_forms has its basis; a copy of one has not")

    @overload
    def predict(self, entropy: float, *, level: float | None = None) -> Prediction: ...
    @overload
    def predict(
        self, entropy: Sequence[float] | FloatArray, *, level: float | None = None
    ) -> tuple[Prediction, ...]: ...
    def predict(
        self, entropy: float | Sequence[float] | FloatArray, *, level: float | None = None
    ) -> Prediction | tuple[Prediction, ...]:
        """Reward at an entropy, or at each of several, averaged over the forms.

        Arguments and errors as for :meth:`entropylaw.LawFit.predict`.
        """
        return late("analysis.averaging.predict", self, entropy, level)  # type: ignore[no-any-return]
