"""The fitted law: its numbers, predictions at an entropy, and entropies for a target reward."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import msgspec

from entropylaw.arrays import FloatArray, held, on_access
from entropylaw.binding import methods
from entropylaw.results import (
    EntropySet,
    Estimate,
    FormAnswer,
    KeptWord,
    LawTests,
    Prediction,
    Residuals,
    Verdict,
    Why,
)


class Predictor:
    """What is read of the curve of a fit, which is averaged over the forms, or of its law alone."""

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
        A :class:`~entropylaw.results.Prediction`, or a tuple of them. Its ``mean`` is the curve, of the law
        c − a(exp(H) − 1); its ``observation`` one more evaluation far from the last step, so that the
        drift there is unknown.

        Raises
        ------
        UsageError
            ``bad-level``, or ``bad-entropy`` where an entropy is negative, not finite or above 12 nats.
        FitError
            ``no-law`` of a run without one.
        """
        return methods.predicting().predict(self, entropy, level)  # type: ignore[no-any-return]

    def entropy_for(self, reward: float, *, level: float | None = None) -> EntropySet:
        """The entropies at which the reward is compatible with a target, in the run's reward units.

        The set holds every H for which the target is in the interval of the mean at H, with coverage
        ``level`` (the fit's own where not given). It is empty where the target is above (or below) every
        interval, and has no upper end where the sign of a is not settled. Raises FitError ``no-law``.
        """
        return methods.predicting().entropy_for(self, reward, level)  # type: ignore[no-any-return]


@on_access
class LawFit(Predictor, msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """The law R = −a·exp(H) + b fitted to one run: its numbers, as if it were true, and whether it holds.

    Attributes
    ----------
    run, n
        Name of the run, and number of evaluations that were fitted.
    verdict, why
        Whether the law holds for this run, and the one reason why it does not.
    tests
        The evidence from which that follows (``docs/method/law.md``).
    a, b, ceiling
        Coefficients of R = −a·exp(H) + b, and ceiling = b − a, the reward at H = 0. They are unknown where
        the entropy hardly moved.
    correlation
        Correlation of a and b; they are nearly the same number, the ceiling is not.
    entropy_now
        Smoothed entropy at the last evaluation, nats.
    forms, skipped
        The functional forms, most probable first; and form → why it cannot be fitted to the run.
    p_term, p_first, p_no_curve
        Probability that reward needs a term in the step beside the entropy, that the first evaluations are
        off the curve of the others, and that no curve of the list fits: that of a free curve.
    residuals
        Residuals of the law.
    r_squared
        Of the law by least squares on the entropy as logged, as papers quote it, and not of a and b.
    step, entropy, reward, fitted
        Shape (n,): the evaluations, as logged, and the law's reward at the smoothed entropy.
    smoothed_entropy, smoothing_error, smoothing_length, entropy_noise
        Shape (n,): the entropy without the noise of measuring it, to which the law is fitted, and its
        standard error; over how many steps its errors are alike; and that noise's standard deviation in nats,
        None where it was used as logged.
    level
        Level of every interval.
    max_reward
        The largest reward that is possible, 1 for a rate: no ceiling, curve and prediction is above it. None
        where it is not known.
    dropped
        Reason → evaluations left out.
    """

    run: str
    n: int
    verdict: Verdict
    why: Why | None
    tests: LawTests
    a: Estimate
    b: Estimate
    ceiling: Estimate
    correlation: float
    entropy_now: float
    entropy_noise: float | None
    forms: tuple[FormAnswer, ...]
    skipped: Mapping[str, str] = msgspec.field(default_factory=dict)
    p_term: float
    p_first: float
    p_no_curve: float
    residuals: Residuals
    r_squared: float
    step: FloatArray
    entropy: FloatArray
    smoothed_entropy: FloatArray
    smoothing_error: FloatArray
    smoothing_length: float
    reward: FloatArray
    fitted: FloatArray
    level: float
    max_reward: float | None = None
    dropped: Mapping[str, int] = msgspec.field(default_factory=dict)

    @property
    def best(self) -> FormAnswer:
        """The most probable form."""
        return self.forms[0]

    @property
    def lowest_entropy(self) -> float:
        """Lowest smoothed entropy, nats: the reward at H = 0 is an extrapolation from there."""
        return float(min(self.smoothed_entropy))

    @cached_property
    def kept_word(self) -> KeptWord | None:
        """How far law and averaged curve of the first two thirds missed the last third; None of a short run.

        It takes another fit, and is not a part of a document.
        """
        return methods.predicting().kept_word_of(self)  # type: ignore[no-any-return]

    @cached_property
    def reads(self) -> Any:
        """The engine's table of the run, from which predictions are read; not a part of a document."""
        return methods.predicting().reads_of(self)

    def __repr__(self) -> str:
        return f"<LawFit {self.run!r}: R = {self.b:.3g} − {self.a:.3g}·exp(H), {self.n} evaluations>"

    def flaw(self) -> str:
        """Arrays of other lengths than n, steps that do not rise, or a verdict without its reason."""
        if (self.why is None) == (self.verdict is not Verdict.holds):
            return "a reason why the law does not hold, where it does not only"
        names = ("step", "entropy", "smoothed_entropy", "smoothing_error", "reward", "fitted")
        arrays = [held(self, name) for name in names]
        if self.n < 2 or any(len(array) != self.n for array in arrays):
            return f"arrays of the length n = {self.n}, at least 2"
        if any(later <= earlier for earlier, later in pairwise(arrays[0])):
            return "increasing steps"
        return ""
