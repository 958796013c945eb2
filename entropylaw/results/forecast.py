"""Forecasts of the reward and of the step at which the entropy is spent, and backtests of forecasts."""

from collections.abc import Mapping

from msgspec import Struct

from entropylaw.arrays import lengths_flaw
from entropylaw.results import Estimate
from entropylaw.results.result import Finding, Result, sentences

SPENT = 0.95
"""Share of the law's remaining gain that is spent at saturation."""


class ForecastMember(Struct, frozen=True, kw_only=True):
    """One member of the ensemble.

    ``weight`` is its weight in the forecast; ``error`` the root mean squared error of its forecasts from
    earlier origins inside the run, reward units, None where it was not possible there.
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
        The last step fitted, and the reward there as a fit has it.
    step, reward
        The m steps, and the prediction interval of an evaluation (the mean of ``block`` of them) at each.
    entropy, blind, extrapolated
        The entropy there: given, then without interval, or forecast (``blind``), and the reward's interval
        then includes its uncertainty. For each step, whether it is outside the range that was fitted.
    members, path_members
        The members of the ensemble for the reward, and for the entropy (empty where it was given).
    level
        Coverage of the intervals.
    own
        Share of the members' weights, 0–1, that this run's own errors moved away from those of other runs.
    origins
        Number of evaluations that were fitted at each earlier origin.
    dropped, findings
        Reason → evaluations left out; notes.
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
    own: float
    origins: tuple[int, ...]
    dropped: Mapping[str, int]
    findings: tuple[Finding, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes in sentences."""
        return sentences(self.findings, "note")

    def flaw(self) -> str:
        """Lists of several lengths."""
        entropies = (self.entropy, self.extrapolated) if self.entropy else ()
        return lengths_flaw(self.step, self.reward, *entropies)


class Gain(Struct, frozen=True, kw_only=True):
    """Probability ``by_step`` that the run's reward at ``step`` is at least ``points`` above that now.

    Both are without the noise of an evaluation.
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
        Share of the law's remaining gain, the entropy now, and the one at which that share is spent.
    step, reward
        The step at which the forecast entropy is that low; an end is None, with the reason in ``note``,
        where that takes more than ten spans of the run. The prediction interval of an evaluation there,
        forecast blind; without value where there is no step.
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


class Score(Struct, frozen=True, kw_only=True):
    """One protocol on one run.

    Attributes
    ----------
    protocol, blind, fitted, predicted
        The part that was fitted, whether the entropy was forecast too, and numbers of evaluations.
    rmse
        Root mean squared error of the forecast's median, reward units.
    last_value, law, line, averaged, scalerl
        The same of the peers: the last reward; the law, and a line in the entropy, by least squares at
        the observed entropies; what :func:`entropylaw.fit_law` predicts there, None where the fitted part
        determines no fit; the ScaleRL sigmoid in step (arXiv:2510.13786) by least squares. Every one is at
        least ``RESOLUTION`` of the run's range of rewards, so that ratios are defined.
    covered, width, spread
        Share of the predicted evaluations inside the band, its median width, and the range of the run's
        rewards, reward units.
    noise
        Standard deviation of the run's rewards about their local level.
    interval_score, last_value_score
        Mean interval score of the band (its width, and 2/(1 − level) times what it misses by), and of a
        normal band about the last value, whose sd is that of one-step changes times √(steps ahead); reward
        units.
    """

    protocol: str
    blind: bool
    fitted: int
    predicted: int
    rmse: float
    last_value: float
    law: float
    line: float
    averaged: float | None
    scalerl: float
    covered: float
    width: float
    spread: float
    noise: float
    interval_score: float
    last_value_score: float


class RunBacktest(Result, frozen=True, kw_only=True):
    """All protocols on one run; ``block`` evaluations were averaged into each of the ``n`` points."""

    run: str
    n: int
    block: int
    scores: tuple[Score, ...]


class Skill(Struct, frozen=True, kw_only=True):
    """One protocol over all runs.

    Attributes
    ----------
    protocol, blind, runs
        The protocol, and the number of runs that it was possible for.
    to_last_value, to_law, to_line, to_averaged, to_scalerl
        Geometric mean over runs of the forecast's RMSE over the peer's, each at least the noise; below 1 the
        forecast is better. Over the runs in which the peer has one, None where it has none.
    worst, worst_run
        The largest ratio to the last value, and its run.
    covered, width
        Mean over runs of the share of evaluations inside the band; median over runs of the band's width, as
        a share of the run's range of rewards.
    best
        What errs least: ``"forecast"``, or the peer whose ratio is largest and above 1.
    to_band
        Geometric mean over runs of the band's interval score over that of the band about the last value.
    """

    protocol: str
    blind: bool
    runs: int
    to_last_value: float
    to_law: float
    to_line: float
    to_averaged: float | None
    to_scalerl: float
    worst: float
    worst_run: str
    covered: float
    width: float
    best: str
    to_band: float


class Backtest(Result, frozen=True, kw_only=True):
    """Every run, and all together. ``level`` is the bands' nominal coverage.

    ``refused`` has the names of the runs that could not be tested, each with the reason.
    """

    level: float
    runs: tuple[RunBacktest, ...]
    refused: tuple[tuple[str, str], ...]
    overall: tuple[Skill, ...]
