"""Forecasts of the reward."""

from collections.abc import Mapping

from msgspec import Struct

from entropylaw.arrays import lengths_flaw
from entropylaw.results import Estimate
from entropylaw.results.axis import STEP
from entropylaw.results.result import Finding, Qualified, Result

SPENT = 0.95
"""Share of exp(H) − 1 from which on the entropy is called spent."""


class LawAhead(Struct, frozen=True, kw_only=True):
    """What the law alone says, by least squares: the ``rewards`` at the entropies of a forecast.

    ``error`` is the root mean squared error of such predictions over the last third of the run, fitted to the
    part before, and ``last_value_error`` that of the last reward of that part; reward units.
    """

    rewards: tuple[float, ...]
    error: float
    last_value_error: float


class Forecast(Qualified, Result, frozen=True, kw_only=True):
    """Reward at later steps.

    Attributes
    ----------
    run, n, block
        Name, number of points that were used, and of evaluations averaged in each (1: as logged).
    without_entropy
        Number of evaluations without an entropy, where others have one.
    last_step, now
        The last step, and the level of the reward there, without the noise of an evaluation.
    step, rewards, p_gains
        The m steps; at each the mean of three evaluations around it with its interval, and the probability
        that the level there is at least ``now + gain``.
    p_ever
        The probability that the level is that high at any step up to the last of these.
    gain
        The gain that counts, reward units.
    entropies, spent
        The entropy at each step, given or continued, and the step at which 95 % of exp(H) − 1 is spent: no
        entropies and None for a run without entropy. The step is unknown where it is beyond ten lengths.
    law
        The law's own prediction at these entropies; None where they are unknown.
    level
        Coverage of the intervals.
    dropped, findings
        Reason → evaluations left out; notes.
    axis
        As in :class:`~entropylaw.results.fit.Fit`.
    """

    run: str
    n: int
    block: int
    without_entropy: int
    last_step: float
    now: float
    step: tuple[float, ...]
    rewards: tuple[Estimate, ...]
    p_gains: tuple[float, ...]
    p_ever: float
    gain: float
    entropies: tuple[Estimate, ...]
    spent: Estimate | None
    law: LawAhead | None
    level: float
    dropped: Mapping[str, int]
    findings: tuple[Finding, ...] = ()
    axis: str = STEP

    @property
    def reward(self) -> Estimate | tuple[Estimate, ...]:
        """The reward at the later step, or at each of several."""
        return self.rewards[0] if len(self.rewards) == 1 else self.rewards

    @property
    def p_gain(self) -> float | tuple[float, ...]:
        """The probability of the gain at the later step, or at each of several."""
        return self.p_gains[0] if len(self.p_gains) == 1 else self.p_gains

    def flaw(self) -> str:
        """Lists of several lengths."""
        if self.entropies:
            return lengths_flaw(self.step, self.rewards, self.p_gains, self.entropies)
        return lengths_flaw(self.step, self.rewards, self.p_gains)
