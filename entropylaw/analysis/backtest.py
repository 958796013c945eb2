"""Backtests: finished runs are cut, forecast from there, and compared with what followed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from entropylaw.analysis.forecast import AHEAD, FEWEST, forecast
from entropylaw.analysis.forms import law_line
from entropylaw.analysis.law.estimates import checked_level
from entropylaw.analysis.law.evaluations import complete
from entropylaw.arguments import several
from entropylaw.arrays import FloatArray
from entropylaw.errors import EntropyLawError, FitError
from entropylaw.results.forecast import PEERS, Backtest, Cut, Errors, RunBacktest, Skill

CUTS = (0.2, 1 / 3, 0.5, 2 / 3)
"""Shares of a run's length after which it is cut."""

AROUND = 3
"""Evaluations whose mean is the outcome."""

LEAST_ERROR = 0.01
"""Share of the range so far below which errors count as equal."""


@runtime_checkable
class Evaluations(Protocol):
    """The run of a backtest: its name, and paired arrays of shape (n,), entropies in nats."""

    run: str
    step: FloatArray
    entropy: FloatArray
    reward: FloatArray


def backtest(runs: Iterable[Any], *, level: float = 0.95) -> Backtest:
    """Backtest every run, and all of them together.

    Every run is cut after 20 %, a third, a half and two thirds of its length, where at least 8 evaluations
    are before the cut, and the reward half as many steps later is forecast.

    Parameters
    ----------
    runs
        Series as :func:`entropylaw.select` gives them, or anything with their four attributes.
    level
        Coverage of the intervals.

    Raises
    ------
    UsageError
        ``bad-level``. A run that cannot be tested is in the ``refused`` ones of the result.
    """
    level = checked_level(level)
    tested, refused = list[RunBacktest](), list[tuple[str, str]]()
    for run in several(runs, Evaluations, "runs"):  # type: ignore[type-abstract]
        try:
            values = getattr(run, "evaluations", (run.step, run.entropy, run.reward))
            tested.append(backtest_run(*values, level=level, run=run.run))
        except EntropyLawError as error:
            refused.append((run.run, error.message))
    return Backtest(level=level, runs=tuple(tested), refused=tuple(refused), overall=skill(tested))


def cuts_of(
    step: FloatArray, shares: Sequence[float] = CUTS, lead: float = AHEAD
) -> list[tuple[int, float, Any]]:
    """Where a run is cut: evaluations before it, the later step, and the evaluations around that."""
    length = float(step[-1] - step[0])
    cuts = []
    for share in shares:
        until = int(np.searchsorted(step, step[0] + share * length * (1 + 1e-9), side="right"))
        later = np.arange(until, step.size)
        if until < FEWEST or later.size < AROUND:
            continue
        target = float(step[until - 1] + lead * (step[until - 1] - step[0]))
        if target <= step[-1] + 0.02 * length:
            nearest = later[np.argsort(np.abs(step[later] - target), kind="stable")[:AROUND]]
            cuts.append((until, target, nearest))
    return cuts


def backtest_run(
    step: FloatArray,
    entropy: FloatArray,
    reward: FloatArray,
    *,
    level: float = 0.95,
    max_reward: float | None = None,
    run: str = "run",
) -> RunBacktest:
    """The cuts of one run.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,).
    level, max_reward, run
        As for :func:`entropylaw.forecast`.

    Raises
    ------
    FitError
        ``too-few-evaluations`` where no cut has 8 evaluations before and 3 after it, and those of
        :func:`entropylaw.forecast`.
    """
    used = complete(entropy, reward, step, law=False)
    s, h, r = used.step, used.entropy, used.reward
    tested = []
    for until, at, nearest in cuts_of(s) if s.size else ():
        if not np.ptp(r[:until]):
            continue
        ahead = forecast(
            s[:until], h[:until], r[:until], at_step=at, level=level, max_reward=max_reward, run=run
        )
        estimate, chance, truth = ahead.rewards[0], ahead.p_gains[0], float(r[nearest].mean())
        guesses = peers(s[:until], h[:until], r[:until], at, h[nearest])
        tested.append(
            Cut(
                evaluations=until,
                cut_step=float(s[until - 1]),
                at_step=at,
                spread=float(np.ptp(r[:until])),
                now=ahead.now,
                reward=float(estimate),
                low=float(estimate.low or 0.0),
                high=float(estimate.high or 0.0),
                p_gain=chance,
                gain=ahead.gain,
                outcome=truth,
                gained=truth >= ahead.now + ahead.gain,
                error=Errors(
                    forecast=abs(float(estimate) - truth),
                    **{name: abs(guess - truth) for name, guess in guesses.items() if guess is not None},
                ),
            )
        )
    if not tested:
        raise FitError(
            "too-few-evaluations",
            f"{s.size} usable evaluations, none of the cuts has {FEWEST} before and {AROUND} after it",
            "test longer runs, or the training reward with --reward",
        )
    return RunBacktest(run=run, n=s.size, cuts=tuple(tested))


def peers(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, at: float, later: FloatArray
) -> dict[str, float | None]:
    """What simple methods say of the reward at a later step, with the entropies (k,) observed there."""
    paired, later = np.isfinite(entropy), later[np.isfinite(later)]
    h, r = entropy[paired], reward[paired]
    moves = later.size > 0 and h.size >= FEWEST and np.ptp(h) > 0
    return {
        "last_value": float(reward[-1]),
        "three_lines": three_lines(h, r, later) if moves else None,
        "law": float(np.mean(law_line(h, r, later))) if moves else None,
        "scalerl": scalerl(step, reward, at),
    }


def three_lines(entropy: FloatArray, reward: FloatArray, later: FloatArray) -> float:
    """The mean of the last three rewards, and the least-squares line in H shrunk by t²/(t² + 9)."""
    centred = entropy - entropy.mean()
    slope = float(centred @ reward / (centred @ centred))
    residual = reward - reward.mean() - slope * centred
    square = max(float(residual @ residual) / (reward.size - 2) / float(centred @ centred), 1e-300)
    share = slope**2 / (slope**2 + 9.0 * square)
    return float(reward[-3:].mean() + share * slope * (later.mean() - entropy[-3:].mean()))


def scalerl(step: FloatArray, reward: FloatArray, at: float) -> float | None:
    """The sigmoid A − D/(1 + (s/S)^B) of ScaleRL (arXiv:2510.13786, Eq. 1) by least squares.

    Steps count from one mean spacing before the first evaluation, since the curve needs them positive. None
    where the search does not end.
    """
    from lmfit import Parameters, minimize

    x = (step - step[0]) / (step[-1] - step[0]) + 1.0 / (step.size - 1)
    new, unit = (at - step[0]) / (step[-1] - step[0]) + 1.0 / (step.size - 1), float(np.ptp(reward))
    y = (reward - reward[0]) / unit

    def curve(p: Any, s: Any) -> Any:
        return p["limit"] - p["drop"] / (1.0 + (s / p["middle"]) ** p["power"])

    start = Parameters()
    start.add("limit", value=float(y[-3:].mean()), min=-3.0, max=3.0)
    start.add("drop", value=float(y[-3:].mean() - y[:3].mean()) or 0.1, min=-4.0, max=4.0)
    start.add("middle", value=0.3, min=0.02, max=4.0)
    start.add("power", value=1.5, min=0.3, max=6.0)
    try:
        best = minimize(lambda p: curve(p, x) - y, start, max_nfev=2000)
    except ValueError:
        return None
    return float(curve(best.params, new) * unit + reward[0])


def skill(runs: Sequence[RunBacktest]) -> Skill | None:
    """All cuts of all runs together; None without any."""
    cuts = [cut for run in runs for cut in run.cuts]
    if not cuts:
        return None
    columns = [(cut.spread, cut.gained, cut.p_gain, cut.low, cut.high, cut.outcome) for cut in cuts]
    spread, gained, chance, low, high, outcome = np.array(columns, dtype=float).T
    least = LEAST_ERROR * spread
    misses = np.maximum([cut.error.forecast for cut in cuts], least)
    ratios = {"forecast": 1.0}
    for name in PEERS:
        errors = np.array([getattr(cut.error, name) for cut in cuts], dtype=float)
        made = np.isfinite(errors)
        if made.any():
            ratio = np.log(misses[made] / np.maximum(errors, least)[made])
            ratios[name] = float(np.exp(ratio.mean()))
    closest = max(ratios, key=lambda name: (ratios[name], name == "forecast"))
    return Skill(
        runs=len(runs),
        cuts=len(cuts),
        brier=Errors(
            forecast=float(np.mean((chance - gained) ** 2)),
            base_rate=float(gained.mean() * (1 - gained.mean())),
        ),
        error=Errors(**ratios),
        covered=float(np.mean((low <= outcome) & (outcome <= high))),
        width=float(np.median((high - low) / spread)),
        best=closest,
    )
