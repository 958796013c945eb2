"""Forecasts of the reward, the best step so far, and backtests of forecasts."""

from collections.abc import Mapping

from msgspec import Struct

from entropylaw.arrays import lengths_flaw
from entropylaw.results import Estimate
from entropylaw.results.result import Finding, Qualified, Result
from entropylaw.results.stop import Replay

SPENT = 0.95
"""Share of exp(H) − 1 from which on the entropy is called spent."""


STANDS_OUT = 0.75
"""Probability of being better than the last step from which on a step is distinguishable from it."""


class BestSoFar(Struct, frozen=True, kw_only=True):
    """The ``step`` with the highest ``level`` of the reward, noise aside.

    ``p_better`` is the probability that its level is truly above that of the last step; 0 for that one.
    """

    step: float
    level: float
    p_better: float

    @property
    def stands_out(self) -> bool:
        """Whether the step is distinguishable from the last one."""
        return self.p_better >= STANDS_OUT


class RestsOn(Struct, frozen=True, kw_only=True):
    """How often forecasts of other runs came true that gave a gain about this probability.

    Of ``forecasts`` that said ``low`` to ``high`` the share ``came_true`` did.
    """

    low: float
    high: float
    came_true: float
    forecasts: int


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
        that this is at least ``now + gain``.
    gain
        The gain that counts, reward units.
    best_so_far
        The step with the highest level; None of what is no score.
    rests_on
        How often forecasts with such a probability as the last one came true in other runs.
    entropies, spent
        The entropy at each step, given or continued, and the step at which 95 % of exp(H) − 1 is spent: no
        entropies and None for a run without entropy. The step is unknown where it is beyond ten lengths.
    law
        The law's own prediction at these entropies; None where they are unknown.
    level
        Coverage of the intervals.
    dropped, findings
        Reason → evaluations left out; notes.
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
    gain: float
    best_so_far: BestSoFar | None
    rests_on: RestsOn
    entropies: tuple[Estimate, ...]
    spent: Estimate | None
    law: LawAhead | None
    level: float
    dropped: Mapping[str, int]
    findings: tuple[Finding, ...] = ()

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
        entropies = (self.entropies,) if self.entropies else ()
        return lengths_flaw(self.step, self.rewards, self.p_gains, *entropies)


PEERS = ("base_rate", "last_value", "three_lines", "law", "scalerl")
"""What a forecast is compared with: fields of :class:`Errors`."""


class Errors(Struct, frozen=True, kw_only=True):
    """Errors of one kind, of the forecast and of its peers; None where a peer has none.

    ``base_rate`` is the share of the cuts that gained, ``last_value`` the last reward, ``three_lines`` the
    mean of the last three and a shrunk line in H, ``law`` the law by least squares at the entropies that
    were observed, and ``scalerl`` the sigmoid in the step of arXiv:2510.13786.
    """

    forecast: float
    base_rate: float | None = None
    last_value: float | None = None
    three_lines: float | None = None
    law: float | None = None
    scalerl: float | None = None


class Cut(Struct, frozen=True, kw_only=True):
    """A finished run, cut at a step and forecast from there.

    Attributes
    ----------
    evaluations, cut_step, at_step
        Number of evaluations up to the last step that was used, that step, and the step of the forecast.
    spread
        Range of the rewards up to the cut.
    now, reward, low, high, p_gain, gain
        What was forecast.
    outcome, gained
        The mean of three evaluations around the step, and whether it is at least ``now + gain``.
    error
        Absolute errors, reward units.
    """

    evaluations: int
    cut_step: float
    at_step: float
    spread: float
    now: float
    reward: float
    low: float
    high: float
    p_gain: float
    gain: float
    outcome: float
    gained: bool
    error: Errors


class RunBacktest(Result, frozen=True, kw_only=True):
    """The cuts of one run, of ``n`` evaluations; or without cuts its ``replay`` through the stop line."""

    run: str
    n: int
    cuts: tuple[Cut, ...]
    replay: Replay | None = None


class Skill(Struct, frozen=True, kw_only=True):
    """All cuts of all runs together.

    Attributes
    ----------
    runs, cuts
        Their numbers.
    brier
        Mean squared difference of P and the outcome, 1 for a gain and 0 for none.
    error
        Geometric mean over cuts of the forecast's error to that of each peer, each at least
        a hundredth of the range so far; below 1 the forecast is better. ``forecast`` is 1.
    covered, width
        Share of the outcomes inside of their intervals, and the median width in ranges of the reward.
    best
        ``"forecast"``, or the peer that errs least.
    """

    runs: int
    cuts: int
    brier: Errors
    error: Errors
    covered: float
    width: float
    best: str


class Backtest(Result, frozen=True, kw_only=True):
    """Every run, and all together: None where no run could be tested. ``level`` is that of the intervals.

    ``refused`` has the names of the runs that could not be tested, each with the reason.
    """

    level: float
    runs: tuple[RunBacktest, ...]
    refused: tuple[tuple[str, str], ...]
    overall: Skill | None
