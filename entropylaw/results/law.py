"""The fitted law: its numbers, predictions at an entropy, and entropies for a target reward."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import msgspec

from entropylaw.arrays import FloatArray
from entropylaw.binding import methods
from entropylaw.results import EntropySet, Estimate, FormEstimate, Influence, Lag, Prediction, Residuals
from entropylaw.results.posterior import Posterior
from entropylaw.results.result import Result


class LawFit(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """The law R = −a·exp(H) + b fitted to one run: its own numbers, as if it were true.

    Attributes
    ----------
    run, n
        Name of the run, and number of evaluations that were fitted.
    a, b, ceiling
        Coefficients of R = −a·exp(H) + b, and ceiling = b − a, the reward at H = 0.
    correlation
        Correlation of a and b; they are nearly the same number, the ceiling is not.
    entropy_now, reward_now, headroom
        Smoothed entropy at the last evaluation (nats), the run's reward there with the evaluation's sampling
        noise taken out (the law plus the drift at the last step), and ceiling − reward_now.
    residuals, influence, lag
        Residuals of the law; the evaluation that changes it most when left out; and the pairing of reward and
        entropy at which their fast changes go together most, None where none is looked for.
    probability, r_squared
        Posterior probability of the law among the functional forms, and R² of the law by least squares on
        the entropy as logged, as papers quote it.
    step, entropy, reward, fitted
        Shape (n,): the evaluations, as logged, and the law's reward at the smoothed entropy.
    smoothed_entropy, entropy_noise
        Shape (n,): the entropy without the noise of measuring it, to which the law is fitted; and that
        noise's standard deviation in nats, None where the entropy was used as logged.
    level, interval
        Level of every interval, and what made them: "drift", "walk", "odr" or "ols".
    eval_size, entropy_sd
        Where given: number of samples behind each reward; known noise of each logged entropy, (n,), nats.
    max_reward
        The largest reward that is possible, 1 for a rate: no ceiling, curve and prediction is above it. None
        where it is not known.
    dropped
        Reason → evaluations left out.
    posterior, noise_floor
        The engine's answer, from which :meth:`predict` reads, and known noise variance of one more evaluation
        (0 without ``eval_size``).
    """

    run: str
    n: int
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
    lag: Lag | None = None
    probability: float
    r_squared: float
    step: FloatArray
    entropy: FloatArray
    smoothed_entropy: FloatArray
    reward: FloatArray
    fitted: FloatArray
    level: float
    interval: str
    eval_size: int | None
    max_reward: float | None = None
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
        return methods.predicting().residual_covariances(self)

    def flaw(self) -> str:
        """Arrays of other lengths than n, or steps that do not rise."""
        noise = [self.entropy_sd] if self.entropy_sd is not None else []
        columns = (self.step, self.entropy, self.smoothed_entropy, self.reward, self.fitted, *noise)
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
        return methods.predicting().law_predict(self, entropy, level)  # type: ignore[no-any-return]

    def entropy_for(self, reward: float, *, level: float | None = None) -> EntropySet:
        """The entropies at which the law's reward is compatible with a target, in the run's reward units.

        The set holds every H for which the target is in the interval of the mean at H, with coverage
        ``level`` (the fit's own where not given). It is empty where the target is above (or below) every
        interval, and has no upper end where the sign of a is not settled.
        """
        return methods.predicting().law_entropy_for(self, reward, level)  # type: ignore[no-any-return]


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


class FormResult(FormEstimate, frozen=True, kw_only=True):
    """A form in a :class:`Comparison`, the law included; probabilities are among forms of its variable.

    Attributes
    ----------
    variable
        ``"entropy"``, or ``"step"``: the ceiling then is the limit in steps.
    log_odds
        Natural logarithm of its marginal likelihood over the law's: the evidence of the data for this form
        against the law, whatever other forms there are.
    """

    variable: str
    log_odds: float


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
