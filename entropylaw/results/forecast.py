"""Forecasts of the reward, and of the step at which the entropy is spent."""

from collections.abc import Mapping

from msgspec import Struct

from entropylaw.results import Estimate
from entropylaw.results.arrays import lengths_flaw
from entropylaw.results.findings import Finding, sentences
from entropylaw.results.result import Result

SPENT = 0.95
"""Share of what the law still promises whose spending counts as saturation."""


class ForecastMember(Struct, frozen=True, kw_only=True):
    """One of the forms that are mixed.

    ``weight`` is its share of the forecast; ``error`` the root mean squared error of its forecasts from
    earlier origins inside the run, reward units, None where it could not be tried there.
    """

    name: str
    formula: str
    weight: float
    error: float | None


class Forecast(Result, frozen=True, kw_only=True):
    """Reward at later steps.

    Attributes
    ----------
    run, n, block
        Name, number of points that were used, and of evaluations averaged in each (1: as logged).
    last_step, reward_now
        The last step fitted, and the level of the run there, noise taken out by a random walk.
    step, reward
        The m steps, and a new evaluation (of ``block`` of them, averaged) at each.
    entropy, blind, extrapolated
        The entropy there: given, then without interval, or forecast, ``blind``; its uncertainty is then in
        the reward's interval. For each step, whether it lies outside the range that was fitted.
    members, path_members
        Who was mixed for the reward, and for the entropy (empty where it was given).
    level, factor
        Coverage of the intervals, and what the mixture's distances from its median are multiplied by, so that
        its bands fit the errors from the earlier origins.
    origins
        Number of evaluations that each earlier origin fitted.
    dropped, findings
        Reason → evaluations left out; what to mind.
    """

    run: str
    n: int
    block: int
    last_step: float
    reward_now: Estimate
    step: tuple[float, ...]
    reward: tuple[Estimate, ...]
    entropy: tuple[Estimate, ...]
    blind: bool
    extrapolated: tuple[bool, ...]
    members: tuple[ForecastMember, ...]
    path_members: Mapping[str, float]
    level: float
    factor: float
    origins: tuple[int, ...]
    dropped: Mapping[str, int]
    findings: tuple[Finding, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What to mind, in sentences."""
        return sentences(self.findings, "note")

    def flaw(self) -> str:
        """Lists of several lengths."""
        entropies = (self.entropy, self.extrapolated) if self.entropy else ()
        return lengths_flaw(self.step, self.reward, *entropies)


class Gain(Struct, frozen=True, kw_only=True):
    """Probability of an evaluation that is at least ``points`` above the reward now.

    ``by_step`` is for an evaluation at the step that was asked for.
    """

    points: float
    step: float
    by_step: float


class SaturationForecast(Result, frozen=True, kw_only=True):
    """When the entropy will be spent.

    Attributes
    ----------
    run, last_step, reward_now
        As in :class:`Forecast`.
    share, entropy_now, entropy
        Share of what the law still promises, the entropy now, and the one at which that share is spent.
    step, reward
        The step at which the forecast entropy gets there; an end is None, with the reason in ``note``,
        where it does not within ten spans of the run. A new evaluation there, forecast blind; without value
        where there is no step.
    gains
        One for each number of points.
    """

    run: str
    last_step: float
    reward_now: Estimate
    share: float
    entropy_now: float
    entropy: float
    step: Estimate
    reward: Estimate
    gains: tuple[Gain, ...]
