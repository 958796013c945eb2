"""Forecasts of the reward at later steps, from given or forecast entropies; and the progress of a run.

A forecast is a weighted mean of the law, a line in the entropy, a curve in step, "no change" and others. The
weights and the width of the band rest on the errors of such forecasts in other runs, and inside the run
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from entropylaw.analysis.answer import check_largest, fit_law
from entropylaw.analysis.ensemble import entropy_path as forecast_entropy
from entropylaw.analysis.ensemble import outlook
from entropylaw.analysis.forecast_prior import Band, fallen
from entropylaw.analysis.law.estimates import (
    checked_level,
    of_cells,
    spent_entropy,
    tails,
    unknown,
)
from entropylaw.analysis.law.evaluations import HIGHEST_ENTROPY, LARGEST, Evaluations, complete, refuse
from entropylaw.analysis.level_shift import jumps
from entropylaw.analysis.members import REWARD_FORMULAS, now_and_noise
from entropylaw.arguments import as_floats, as_number
from entropylaw.arrays import FloatArray
from entropylaw.engine.reads import merged
from entropylaw.engine.smoothing import smoothed_entropy
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate
from entropylaw.results.forecast import SPENT, Forecast, ForecastMember, Gain, SaturationForecast
from entropylaw.results.result import note

FEWEST = 8
"""Fewest evaluations for a forecast: origins inside the run need some on either side."""

MOST = 200
"""Points above which a run is averaged over blocks of equal length."""

METHOD = "errors of such forecasts in other runs"

NOT_FALLEN = 0.05
"""Share of its first value by which the entropy must have fallen to have begun to fall."""


@one_thread
def forecast(
    step: Any,
    entropy: Any,
    reward: Any,
    *,
    at_step: Any,
    entropy_path: Any = None,
    level: float = 0.95,
    max_reward: float | None = None,
    reward_now: Estimate | None = None,
    run: str = "run",
) -> Forecast:
    """Forecast the reward at later steps.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,), n ≥ 8: the trainer's step, the policy entropy in nats, the score.
    at_step
        The later step, or m of them.
    entropy_path
        The entropy at each of them, in nats. Where not given it is forecast too ("blind"), and the reward's
        interval includes its uncertainty.
    level, run
        Coverage of every interval, and the run's name in the result.
    max_reward
        The largest reward that is possible, for a share of problems 1: intervals end there, and at 0 where no
        reward so far is negative.
    reward_now
        The reward now, of a fit of the same run; where not given it is that of :func:`entropylaw.fit_law`.

    Raises
    ------
    FitError
        ``too-few-evaluations`` (fewer than 8), ``forecast-needs-steps``, ``reward-above-max``, and those of
        :func:`entropylaw.fit_law` on the data.
    UsageError
        ``step-not-ahead``, ``lengths-differ``, ``bad-level``.

    Notes
    -----
    Members: the law, a line in H and c − a·√H, each with a random walk (and the first two by least
    squares too), a random walk alone, an exponential in step, the last reward, and the means of the last
    three, of the last half, and of all. A member's weight is exp(b + γ·φ) / eᵖ: b, γ and p are learned from
    finished runs, φ is what this run has done so far, and e the member's error from up to 8 earlier origins
    inside it, about as far ahead. (1/e² alone would be Bates & Granger 1969, doi:10.1057/jors.1969.103;
    correlations are not estimated.) Half-widths of the band are learned likewise, by the interval score
    (Gneiting & Raftery 2007, doi:10.1198/016214506000001437): from the noise, the spread between members, the
    distance from the reward now, and the members' errors, as they are and times the root of the lead. Shapes
    and numbers are in :mod:`entropylaw.analysis.forecast_prior`.
    Runs of more than 200 evaluations are averaged over blocks of ``block`` evaluations.
    """
    level = checked_level(level)
    used = _checked(step, entropy, reward)
    check_largest(max_reward, used.reward)
    last, lowest, highest = float(used.step[-1]), float(used.entropy.min()), float(used.entropy.max())
    at, given = _targets(at_step, entropy_path, last)
    s, h, r, block = blocked(used.step, used.entropy, used.reward)
    ahead = outlook(s, h, r, at, given, most=max_reward)
    entropies = [
        Estimate(value=value, low=None, high=None, level=level, method="given", note="given")
        for value in ([] if given is None else given.tolist())
    ]
    if ahead.path:
        entropies = _estimates(ahead.path.band, level)
    outside = [not lowest <= one.value <= highest for one in entropies]  # type: ignore[operator]
    findings = [note("averaged-in-blocks", block=block)] if block > 1 else []
    if given is None and (share := 1.0 - float(np.exp(-fallen(h)))) < NOT_FALLEN:
        findings.append(note("entropy-has-not-fallen", share=share))
    if any(outside):
        beyond = {"outside": sum(outside), "steps": len(outside), "low": lowest, "high": highest}
        findings.append(note("extrapolated", **beyond))
    return Forecast(
        run=run,
        n=s.size,
        block=block,
        last_step=last,
        reward_now=_now(used, level, max_reward) if reward_now is None else reward_now,
        step=tuple(at.tolist()),
        reward=tuple(_estimates(ahead.band, level)),
        entropy=tuple(entropies),
        blind=given is None,
        extrapolated=tuple(outside),
        members=tuple(
            ForecastMember(
                name=name, formula=REWARD_FORMULAS[name], weight=share, error=ahead.error.get(name)
            )
            for name, share in sorted(ahead.weight.items(), key=lambda item: -float(f"{item[1]:.9g}"))
        ),
        path_members=dict(ahead.path.weight) if ahead.path else {},
        level=level,
        own=ahead.own,
        origins=ahead.origins,
        dropped=used.dropped,
        findings=tuple(findings),
    )


@one_thread
def saturation_forecast(
    step: Any,
    entropy: Any,
    reward: Any,
    *,
    gains: Sequence[float] = (),
    at_step: float | None = None,
    level: float = 0.95,
    max_reward: float | None = None,
    reward_now: Estimate | None = None,
    run: str = "run",
) -> SaturationForecast:
    """Forecast when 95 % of the law's remaining gain is spent, the reward then, and gains.

    Parameters
    ----------
    step, entropy, reward, level, max_reward, reward_now, run
        As :func:`forecast`.
    gains
        Gains of the run's reward, evaluation noise aside, whose probability is estimated.
    at_step
        The step of these gains; where not given, no gain is estimated.

    Raises
    ------
    FitError, UsageError
        As :func:`forecast`.
    """
    level = checked_level(level)
    used = _checked(step, entropy, reward)
    check_largest(max_reward, used.reward)
    last = float(used.step[-1])
    points = [as_number(gain, "gains") for gain in as_floats(gains, "gains").tolist()]
    if at_step is None:
        points = []
    else:
        _targets(as_number(at_step, "at_step"), None, last)
    s, h, r, _ = blocked(used.step, used.entropy, used.reward)
    now = float(smoothed_entropy(s, h, s).entropy[-1])
    present = _now(used, level, max_reward) if reward_now is None else reward_now
    target = spent_entropy(now, SPENT)
    # Saturation is looked for within ten spans of the run.
    later = last + (s[-1] - s[0]) * 10.0 * np.linspace(0, 1, 401)[1:]
    path = forecast_entropy(s, h, later)
    lower, upper = (path.band.quantile(p) for p in (tails(level)[0], tails(level)[2]))
    # The first step at which the path is at or below the target; its lower end is there first. Between them
    # the median over the members: their mean never falls to 0, because some members stay.
    middle = _weighted_median(path.curves, path.shares)
    low, value, high = (
        float(later[below.argmax()]) if (below := curve <= target).any() else None
        for curve in (np.minimum(lower, middle), middle, np.maximum(upper, middle))
    )
    ends = {"entropy": value, "the upper end of its interval": high}
    missing = (end for end, step in ends.items() if step is None)
    stays = f"stays above {target:.3g} nats for ten times the length of the run so far"
    why = next((f"in the forecast, {end} {stays}" for end in missing), None)
    reward_then = unknown("no step at which the entropy is spent was found", level=level, method=METHOD)
    if value is not None:
        reward_then = _estimates(outlook(s, h, r, np.array([value]), None, most=max_reward).band, level)[0]
    reachable: list[Gain] = []
    if points:
        assert at_step is not None
        band = outlook(s, h, r, np.array([at_step]), None, most=max_reward).band
        assert present.value is not None
        _, noise = now_and_noise(s, r)
        for gain in points:
            chance = float(band.exceeds(np.array([present.value + gain]), noise)[0])
            reachable.append(Gain(points=gain, step=float(at_step), by_step=chance))
    return SaturationForecast(
        run=run,
        last_step=last,
        reward_now=present,
        share=SPENT,
        entropy_now=now,
        entropy=target,
        step=Estimate(value=value, low=low, high=high, level=level, method=METHOD, note=why),
        reward=reward_then,
        gains=tuple(reachable),
    )


def _weighted_median(curves: FloatArray, weight: FloatArray) -> FloatArray:
    """At each of m points the value of curves (k, m) below which half of the weight (k, m) is."""
    order = np.argsort(curves, axis=0, kind="stable")
    half = (np.cumsum(np.take_along_axis(weight, order, 0), axis=0) >= 0.5).argmax(axis=0)
    return np.asarray(np.take_along_axis(np.take_along_axis(curves, order, 0), half[None], 0)[0])


def _now(used: Evaluations, level: float, most: float | None) -> Estimate:
    """The reward now as a fit of the run has it."""
    return fit_law(used.entropy, used.reward, used.step, level=level, max_reward=most).reward_now


def _estimates(band: Band, level: float) -> list[Estimate]:
    """Median and equal-tailed interval at each point."""
    return [
        Estimate(value=float(value), low=float(low), high=float(high), level=level, method=METHOD)
        for low, value, high in zip(*map(band.quantile, tails(level)), strict=True)
    ]


def _checked(step: Any, entropy: Any, reward: Any) -> Evaluations:
    """The evaluations of a forecast, or an error."""
    if step is None:
        raise FitError(
            "forecast-needs-steps",
            "no steps were given, and a forecast is for a later step",
            "pass the trainer's step of every evaluation",
        )
    used = complete(entropy, reward, step)
    remedy = "wait for more evaluations, or forecast"
    refuse(used, fewest=FEWEST, needs="a forecast needs", remedy=remedy)
    return used


def _targets(at_step: Any, entropy_path: Any, last: float) -> tuple[FloatArray, FloatArray | None]:
    """Later steps, and the entropies given for them; or an error."""
    at = as_floats(at_step, "at_step")
    given = None if entropy_path is None else as_floats(entropy_path, "entropy_path")
    bad = at[~((at > last) & (at <= LARGEST))]
    if bad.size or not at.size:
        shown = f"{bad[0]:g}" if at.size else "none"
        raise UsageError(
            "step-not-ahead",
            f"step {shown} was given, expected one after the last evaluation, which is at step {last:g}",
            "give a later step; earlier rewards are in the log",
        )
    if given is None:
        return at, None
    if given.size != at.size or not np.isfinite(given).all():
        raise UsageError(
            "lengths-differ",
            f"{at.size} steps and {int(np.isfinite(given).sum())} finite entropies in the path, "
            "expected one for each",
            "give one entropy for each step, or none to forecast it",
        )
    if not ((given >= 0) & (given <= HIGHEST_ENTROPY)).all():
        raise UsageError(
            "bad-entropy",
            f"the path runs from {given.min():g} to {given.max():g} nats, expected 0 to {HIGHEST_ENTROPY:g}",
            "give entropies in nats per token",
        )
    return at, given


def blocked(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, most: int = MOST
) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Means over blocks of equal length, at most ``most`` of them, and that length.

    Evaluations that fill no block are left out at the beginning, where they affect a forecast least.
    """
    size = -(-step.size // most)
    if size == 1:
        return step, entropy, reward, 1
    count = step.size // size
    s, h, r = (x[x.size - count * size :].reshape(count, size).mean(axis=1) for x in (step, entropy, reward))
    return s, h, r, size


def entropy_drop(step: FloatArray, entropy: FloatArray, *, level: float = 0.95) -> Estimate:
    """Entropy lost per 100 steps over the last third of the run, nats; negative where it grows.

    Parameters
    ----------
    step, entropy
        Shape (n,), steps strictly increasing, nats.
    level
        Coverage of the interval.

    Notes
    -----
    The slope of a straight line with drift and noise integrated out, as for the law. None with the reason
    where the last third has fewer than six evaluations.
    """
    method = "slope of the last third, drift + noise integrated out"
    recent = step >= step[-1] - (1.0 / 3.0) * (step[-1] - step[0])
    s, h = step[recent], entropy[recent]
    if s.size < 6:
        why = f"{s.size} evaluations in the last third of the steps, expected at least 6"
        return unknown(why, level=level, method=method)
    if np.ptp(h) == 0:
        return Estimate(
            value=0.0, low=None, high=None, level=level, method=method, note="entropy is constant"
        )
    slope = jumps(s, h, np.ones((s.size, 1)), ((s[-1] - s) / 100.0)[:, None])
    df = np.full(len(slope.weight), float(slope.df))
    cells = merged(slope.location[:, 0], slope.scale[:, 0], df, slope.weight[:, 0])
    return of_cells(cells, level=level, method=method)
