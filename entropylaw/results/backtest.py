"""What a backtest finds: every run, every protocol, and all runs together."""

from msgspec import Struct

from entropylaw.results.result import Result


class Score(Struct, frozen=True, kw_only=True):
    """One protocol on one run.

    Attributes
    ----------
    protocol, blind, fitted, predicted
        What was fitted, whether the entropy was forecast too, and numbers of evaluations.
    rmse
        Root mean squared error of the forecast's median, reward units.
    last_value, law, line, scalerl
        The same of the peers: the last reward; the law, and a line in the entropy, by least squares at
        the observed entropies; the ScaleRL sigmoid in step (arXiv:2510.13786) by least squares.
        None is below ``RESOLUTION`` of the run's range of rewards: less means nothing, and a ratio needs
        a divisor.
    covered, width, spread
        Share of the predicted evaluations inside the band, its median width, and the range of the run's
        rewards, reward units.
    """

    protocol: str
    blind: bool
    fitted: int
    predicted: int
    rmse: float
    last_value: float
    law: float
    line: float
    scalerl: float
    covered: float
    width: float
    spread: float


class RunBacktest(Result, frozen=True, kw_only=True):
    """All protocols on one run; ``refusal`` says why there are none.

    ``block`` evaluations were averaged into each of the ``n`` points (1: as logged).
    """

    run: str
    n: int
    block: int
    scores: tuple[Score, ...]
    refusal: str | None = None


class Skill(Struct, frozen=True, kw_only=True):
    """One protocol over all runs.

    Attributes
    ----------
    protocol, blind, runs
        The protocol, and how many runs it could be tried on.
    to_last_value, to_law, to_line, to_scalerl
        Geometric mean over runs of the forecast's RMSE over the peer's; below 1 the forecast is better.
    worst, worst_run
        The largest ratio to the last value, and whose it is.
    covered, width
        Mean over runs of the share of evaluations inside the band; median over runs of the band's width, as
        a share of the run's range of rewards.
    """

    protocol: str
    blind: bool
    runs: int
    to_last_value: float
    to_law: float
    to_line: float
    to_scalerl: float
    worst: float
    worst_run: str
    covered: float
    width: float


class Backtest(Result, frozen=True, kw_only=True):
    """Every run and the whole. ``level`` is the bands' nominal coverage."""

    level: float
    runs: tuple[RunBacktest, ...]
    overall: tuple[Skill, ...]
