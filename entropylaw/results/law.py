"""The fitted law: its numbers, and what it says of a target entropy or a target reward."""

from collections.abc import Mapping, Sequence
from typing import overload

import msgspec

from entropylaw.late import late
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
from entropylaw.results.result import Result

LAW_VERDICTS = ("valid", "with cautions", "law fails", "undecided")
"""What is said of the law of a run in two words."""

CLEARLY = 3.0
"""A rival is better, and not just as good, from so many times the weight of the law."""


class LawFit(Result, frozen=True, kw_only=True, eq=False):
    """The law fitted to one run.

    Attributes
    ----------
    run, n
        Name of the run, and number of evaluations that were fitted.
    validity
        Whether the numbers may be read as they stand; look here first.
    a, b, ceiling
        Coefficients of R = −a·exp(H) + b, and ceiling = b − a, the reward at H = 0.
    correlation
        Correlation of a and b; they are nearly the same number, the ceiling is not.
    entropy_now, reward_now, headroom
        Smoothed entropy at the last evaluation (nats), the run's reward there with the evaluation's sampling
        noise taken out (the law plus the drift at the last step), and ceiling − reward_now.
    residuals, influence
        What the law leaves over, and the evaluation that moves it most.
    law_weight, law_ruled_out, rivals
        Posterior probability of the law among the forms, whether it is below the limit under which a
        form is no longer considered, and the other forms, heaviest first.
    entropy_spent
        Entropy at which 95 % of what the law still promises is spent (see :meth:`saturation`).
    ceiling_over_forms, r_squared
        Range of the ceiling over all forms that are not ruled out, and share of the reward's variance that
        the fitted law explains.
    step, entropy, reward, fitted
        Shape (n,): the evaluations, as logged, and the law's reward at the course.
    course, entropy_noise
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
        The engine's answer, from which :meth:`predict` reads, and known noise variance of a new evaluation
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
    law_weight: float
    law_ruled_out: bool
    entropy_spent: float
    rivals: tuple[Rival, ...]
    ceiling_over_forms: Estimate
    r_squared: float
    step: FloatArray
    entropy: FloatArray
    course: FloatArray
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

    @property
    def rivals_as_good(self) -> tuple[Rival, ...]:
        """Rivals that are not ruled out; a form that has the law as a special case is none of them."""
        kept = (rival for rival in self.rivals if not rival.ruled_out)
        return tuple(rival for rival in kept if not late("analysis.forms.nests_law", rival.form))

    @property
    def better_rival(self) -> Rival | None:
        """The form that has clearly more weight than the law, where there is one."""
        best = self.rivals[0] if self.rivals else None
        return best if best is not None and best.weight >= CLEARLY * self.law_weight else None

    @property
    def verdict(self) -> str:
        """One of :data:`LAW_VERDICTS`."""
        valid, cautious, fails, undecided = LAW_VERDICTS
        if not self.validity.ok:
            return fails if self.validity.contradicted else undecided
        careful = any(finding.severity == "caution" for finding in self.validity.findings)
        return cautious if careful or self.rivals_as_good else valid

    def flaw(self) -> str:
        """Arrays of other lengths than n, or steps that do not rise."""
        known = [self.entropy_sd] if self.entropy_sd is not None else []
        columns = (self.step, self.entropy, self.course, self.reward, self.fitted, *known)
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
        c − a(exp(H) − 1); its ``observation`` a new evaluation far from the last step, so that the
        drift there is unknown.

        Raises
        ------
        UsageError
            ``bad-level``, or ``bad-entropy`` where an entropy is negative, not finite or above 12 nats.
        """
        return late("analysis.law.predict", self, entropy, level)  # type: ignore[no-any-return]

    def entropy_for(self, reward: float, *, level: float | None = None) -> EntropySet:
        """The entropies at which the law's reward is compatible with a target, in the run's reward units.

        The set holds every H for which the target lies in the interval of the mean at H, with coverage
        ``level`` (the fit's own where not given). It is empty where the target lies above (or below) every
        interval, and has no upper end where the sign of a is not settled.
        """
        return late("analysis.law.entropy_for", self, reward, level)  # type: ignore[no-any-return]

    def saturation(self, share: float = 0.95, *, level: float | None = None) -> Saturation:
        """Entropy at which ``share`` of what the law still promises is spent, and the reward there.

        The law promises a(exp(H_now) − 1) more; all but 1 − share of it is spent at
        H = ln(1 + (1 − share)(exp(H_now) − 1)), whatever a and b are.
        """
        return late("analysis.law.saturation", self, share, level)  # type: ignore[no-any-return]


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
