"""Backtests: fit the early part of a finished run, forecast the rest, and score the forecasts.

The protocol is that of the paper behind the law (Cui et al. 2025, arXiv:2505.22617, §2.4, who fit on the
first 36 of 236 steps and predict the rest at the observed entropies): the first 15 %, and the first third.
In addition: the same with the entropy forecast too, the reverse (fit the later two thirds, predict the first
third), and a comparison with the forecast of no change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import ndtri

from entropylaw.analysis.ensemble import RESOLUTION, outlook
from entropylaw.analysis.forecast import FEWEST, blocked
from entropylaw.analysis.forecast_prior import Prior
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.diagnostics import TIED
from entropylaw.analysis.law.estimates import checked_level, tails
from entropylaw.analysis.law.evaluations import complete, refuse, usable
from entropylaw.analysis.members import decay, now_and_noise, spans
from entropylaw.analysis.numbers import reads_of_run
from entropylaw.arguments import several
from entropylaw.arrays import FloatArray
from entropylaw.engine.threads import one_thread
from entropylaw.errors import EntropyLawError, FitError
from entropylaw.results.forecast import Backtest, RunBacktest, Score, Skill

SHARES = {"first 15 %": 0.15, "first third": 1 / 3}
"""Protocol → share that is fitted; never fewer than 8 evaluations."""

PEERS = ("last_value", "law", "line", "averaged", "scalerl")
"""What the forecast is compared with: fields of :class:`~entropylaw.results.forecast.Score`."""

LEAST_AHEAD = 4
"""Evaluations that must remain to be predicted."""


@runtime_checkable
class Evaluations(Protocol):
    """The run of a backtest: a name, and paired arrays of shape (n,)."""

    @property
    def run(self) -> str:
        """Name of the run."""

    @property
    def step(self) -> FloatArray:
        """The trainer's step."""

    @property
    def entropy(self) -> FloatArray:
        """Nats per token."""

    @property
    def reward(self) -> FloatArray:
        """The score."""


@one_thread
def backtest(runs: Iterable[Evaluations], *, level: float = 0.95) -> Backtest:
    """Backtest every run, and all of them together.

    Parameters
    ----------
    runs
        Series as :func:`entropylaw.select` gives them, or anything with their four attributes.
    level
        Coverage of the bands, and the residual model of the fit that is compared, as for
        :func:`entropylaw.fit_law`.

    Raises
    ------
    UsageError
        ``bad-level``. A run that cannot be tested is in the ``refused`` ones of the result.
    """
    level = checked_level(level)
    tested, refused = list[RunBacktest](), list[tuple[str, str]]()
    for one in several(runs, Evaluations, "runs"):  # type: ignore[type-abstract]
        try:
            tested.append(backtest_run(one.step, one.entropy, one.reward, level=level, run=one.run))
        except EntropyLawError as error:
            refused.append((one.run, error.message))
    return Backtest(level=level, runs=tuple(tested), refused=tuple(refused), overall=skills(tested))


def backtest_run(
    step: FloatArray,
    entropy: FloatArray,
    reward: FloatArray,
    *,
    level: float = 0.95,
    max_reward: float | None = None,
    prior: Prior | None = None,
    run: str = "run",
) -> RunBacktest:
    """All protocols on one run.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,), n ≥ 12; more than 200 are averaged over blocks first.
    level, max_reward, run
        Coverage of the bands, the residual model of the fit that is compared, the largest possible reward as
        for :func:`entropylaw.forecast`, and the run's name in the result.
    prior
        What other runs did next; where not given, the one that is shipped.

    Raises
    ------
    FitError
        ``too-few-evaluations`` below 12, and those of :func:`entropylaw.fit_law` on the data.
    """
    level = checked_level(level)
    used = complete(entropy, reward, step)
    refuse(used, fewest=FEWEST + LEAST_AHEAD, needs="a backtest needs", remedy="test longer runs, or")
    s, h, r, block = blocked(used.step, used.entropy, used.reward)
    how = _How(level=level, most=max_reward, prior=prior, noise=now_and_noise(s, r)[1])
    firsts = {
        name: min(max(FEWEST, round(share * s.size)), s.size - LEAST_AHEAD) for name, share in SHARES.items()
    }
    scores = [
        one for name, first in firsts.items() for one in _scores(name, (False, True), (s, h, r), first, how)
    ]
    # The reverse: predict the first third.
    late = max(FEWEST, s.size - max(LEAST_AHEAD, round(s.size / 3)))
    scores += _scores("later two thirds", (False,), (-s[::-1], h[::-1], r[::-1]), late, how)
    return RunBacktest(run=run, n=s.size, block=block, scores=tuple(scores))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _How:
    """The settings of a backtest, and the noise of the run's evaluations about their local level."""

    level: float
    most: float | None
    prior: Prior | None
    noise: float


def skills(runs: Sequence[RunBacktest]) -> tuple[Skill, ...]:
    """Geometric means and coverage over the tested runs, one for each protocol.

    An error below the noise of the run counts as the noise: a run that is forecast exactly by chance, or
    whose rewards hardly move, then does not decide the mean.
    """
    over_runs = []
    for scores in zip(*(run.scores for run in runs), strict=True):
        to_last_value = ratios_to(scores, "last_value")
        to_band = np.array([score.interval_score / score.last_value_score for score in scores])
        means: dict[str, Any] = {f"to_{peer}": geometric_mean(ratios_to(scores, peer)) for peer in PEERS}
        closest = max(PEERS, key=lambda peer: means[f"to_{peer}"] or 0.0)
        worst = int(np.argmax(to_last_value >= to_last_value.max() - TIED))
        over_runs.append(
            Skill(
                protocol=scores[0].protocol,
                blind=scores[0].blind,
                runs=len(runs),
                **means,
                worst=float(to_last_value[worst]),
                worst_run=runs[worst].run,
                covered=float(np.mean([score.covered for score in scores])),
                width=float(np.median([score.width / score.spread for score in scores])),
                best=closest if means[f"to_{closest}"] > 1.0 else "forecast",
                to_band=float(np.exp(np.mean(np.log(to_band)))),
            )
        )
    return tuple(over_runs)


def ratios_to(scores: Sequence[Score], peer: str) -> FloatArray:
    """Errors of the forecast over those of a peer, of the runs in which that has one."""
    known = [(score, error) for score in scores if (error := getattr(score, peer)) is not None]
    ratios = [max(score.rmse, score.noise) / max(error, score.noise) for score, error in known]
    return np.array(ratios, dtype=float)


def geometric_mean(ratios: FloatArray) -> float | None:
    """Geometric mean of ratios (n,); None without any."""
    return float(np.exp(np.mean(np.log(ratios)))) if ratios.size else None


def interval_score(low: FloatArray, high: FloatArray, truth: FloatArray, level: float) -> float:
    """Mean interval score of m intervals, in the unit of the truth; smaller is better.

    The width, and 2/(1 − level) times the distance by which an interval misses (Gneiting & Raftery 2007,
    doi:10.1198/016214506000001437, Eq. 43).
    """
    missed = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return float(np.mean(high - low + 2.0 / (1.0 - level) * missed))


def last_value_score(
    step: FloatArray, reward: FloatArray, at: FloatArray, truth: FloatArray, level: float
) -> float:
    """Interval score of a normal band about the last value, as :class:`Score` describes it."""
    ahead = (at - step[-1]) / (step[-1] - step[0]) * (step.size - 1)
    half = ndtri(0.5 * (1.0 + level)) * float(np.std(np.diff(reward))) * np.sqrt(np.maximum(ahead, 1.0))
    return interval_score(reward[-1] - half, reward[-1] + half, truth, level)


def _scores(
    protocol: str, blinds: Sequence[bool], series: Sequence[FloatArray], first: int, how: _How
) -> list[Score]:
    """Fit the first evaluations of (step, entropy, reward), predict the others; the peers once."""
    (s, at), (h, later), (r, truth) = ((column[:first], column[first:]) for column in series)
    spread = float(np.ptp(series[-1]))
    least = RESOLUTION * spread

    def rmse(forecast: FloatArray) -> float:
        return max(float(np.sqrt(np.mean((forecast - truth) ** 2))), least)

    # Ordinary least squares of c − slope · column, continued.
    law, line = (
        design(column(later)) @ np.linalg.lstsq(design(column(h)), r, rcond=None)[0]
        for column in (law_column, np.asarray)
    )
    try:
        averaged = rmse(_averaged(s, h, r, later))
    except FitError:  # the first part of a run may have one entropy only
        averaged = None
    common: dict[str, Any] = {
        "protocol": protocol,
        "fitted": first,
        "predicted": truth.size,
        "last_value": rmse(r[-1:]),
        "law": rmse(law),
        "line": rmse(line),
        "averaged": averaged,
        "scalerl": rmse(scalerl(s, r, at)),
        "spread": spread,
        "noise": how.noise,
        "last_value_score": max(last_value_score(s, r, at, truth, how.level), least),
    }
    found = []
    for blind in blinds:
        band = outlook(s, h, r, at, None if blind else later, most=how.most, prior=how.prior).band
        low, value, high = (band.quantile(p) for p in tails(how.level))
        found.append(
            Score(
                **common,
                blind=blind,
                rmse=rmse(value),
                covered=float(np.mean((low <= truth) & (truth <= high))),
                width=float(np.median(high - low)),
                interval_score=max(interval_score(low, high, truth, how.level), least),
            )
        )
    return found


def _averaged(step: FloatArray, entropy: FloatArray, reward: FloatArray, at: FloatArray) -> FloatArray:
    """What a fit predicts at entropies (m,): means of the averaged curve."""
    reads = reads_of_run(usable(entropy, reward, step, keep_outliers=False))
    return reads.mean_curve(at, reads.averaged)


def scalerl(step: FloatArray, reward: FloatArray, at: FloatArray) -> FloatArray:
    """The sigmoid A − D/(1 + (s/S)^B) of ScaleRL (arXiv:2510.13786, Eq. 1), continued to ``at``.

    A and D by least squares, the other two on a grid; the source puts A on a grid and leaves out the
    first part of the run, whose length is not known here. Steps count from one mean spacing before
    the first evaluation, since the curve needs them positive.
    """
    x, new = spans(step, at)
    offset = 1.0 / (step.size - 1)
    shapes = [
        [1.0 / (1.0 + ((z + offset) / middle) ** power) for z in (x, new)]
        for middle in np.geomspace(0.05, 4.0, 16)
        for power in (0.5, 0.8, 1.2, 1.7, 2.5, 4.0)
    ]
    return decay(reward, shapes)
