"""Estimates that are averaged over the functional forms."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, overload

from msgspec import Struct

from entropylaw.results import Estimate, Prediction
from entropylaw.results.arrays import FloatArray
from entropylaw.results.result import Result, late


class FormAnswer(Struct, frozen=True, kw_only=True):
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
