"""Forecasts of the reward at later steps, with the probability of a gain, and the best step so far.

A forecast goes on from the level of the reward by its change over the last quarter, where that is sure, with
seven constants that were learned from other runs (``forecast_constants.json``, made by
``python -m benchmarks.forecasts --learn``). Its interval and the probability of a gain are of one
distribution. It uses no curve in the entropy; what the law says along the entropy's path is computed beside
it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from entropylaw.analysis.entropy_ahead import entropy_ahead
from entropylaw.analysis.forms import law_line
from entropylaw.analysis.law.diagnostics import lost_reward
from entropylaw.analysis.law.estimates import (
    checked_entropies,
    checked_gain,
    tails,
    usual_gain,
)
from entropylaw.analysis.law.evaluations import (
    LARGEST,
    Evaluations,
    check_evaluations,
    check_reward_moves,
    check_rewards,
    is_constant,
    rewarded,
)
from entropylaw.arguments import as_floats, checked_level, of_kind
from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import Levels, blocked, levels_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate
from entropylaw.results.forecast import BestSoFar, Forecast, LawAhead, RestsOn
from entropylaw.results.result import Finding, note

FEWEST = 8
"""Fewest evaluations for a forecast."""

FARTHEST = 4.0
"""How far ahead a reward is forecast at most, in lengths of the run so far."""

FEWEST_LEVELS = 4
"""Fewest evaluations that have levels."""

AHEAD = 0.5
"""How far ahead it is forecast where no step is given, likewise."""

METHOD = "errors of such forecasts in other runs"

DF = 4.0
"""Degrees of freedom of a forecast's error."""


class Constants(NamedTuple):
    """What was learned from other runs.

    ``path`` are the scale of trust in a change, the shares of change and wandering, the logarithms of three
    parts of the variance, and a shift in scales. ``reliability`` has a row per range of probabilities: its
    ends, the share that came true, and the number of forecasts.
    """

    path: Sequence[float]
    reliability: Sequence[tuple[float, float, float, int]] = ()


@cache
def learned() -> Constants:
    """The constants that are shipped."""
    content = json.loads(Path(__file__).with_name("forecast_constants.json").read_text(encoding="utf-8"))
    return Constants(**{name: content[name] for name in Constants._fields})


class SoFar(NamedTuple):
    """What a run has done so far, in units of the reward; numbers of one run, or arrays of several.

    ``level`` is that of the reward at the last step, ``spread`` the range after the first evaluation, which
    may be from before any change, ``most`` the largest possible reward (infinite where unknown), and
    ``noise`` the variance of the difference between the level and the mean of three later evaluations.
    ``change`` is that of the level over the last quarter of the steps, with its standard deviation
    ``change_sd``, and ``wander`` the root mean square of the level's changes over a third of the evaluations,
    all those in the last two thirds.
    """

    level: Any
    spread: Any
    most: Any
    noise: Any
    change: Any
    change_sd: Any
    wander: Any


def so_far(
    step: FloatArray, reward: FloatArray, raw: FloatArray, levels: Levels, most: float | None
) -> SoFar:
    """What blocks (m,) of a run, and its ``raw`` rewards (n,), say; m ≥ 8."""
    least = 1e-3 * float(np.ptp(reward))
    spread = max(float(np.ptp(reward[1:])), least)
    last, third = step.size - 1, step.size // 3
    distances = np.abs(step[:last] - (0.25 * step[0] + 0.75 * step[-1]))
    # Of two that are as near the first is taken, in any unit of the steps: not by the last digit.
    quarter = int(np.argmax(distances <= distances.min() + 1e-9 * (step[-1] - step[0])))
    now, change, later = levels.at(last), levels.between(last, quarter), levels.level()[third:]
    jumps = np.abs(np.diff(raw[1:]))
    sd = max(float(np.median(jumps)) / 0.6745, 0.5 * float(np.std(np.diff(raw[1:])))) / np.sqrt(2.0)
    return SoFar(
        level=now.mean(),
        spread=spread,
        most=np.inf if most is None else most,
        noise=now.sd() ** 2 + max(sd, 0.02 * spread) ** 2 / 3.0,
        change=change.mean(),
        change_sd=max(change.sd(), least),
        wander=max(float(np.sqrt(np.mean((later[third:] - later[:-third]) ** 2))), least),
    )


def ahead(run: SoFar, lead: Any, path: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Location and scale of the mean of three evaluations, ``lead`` lengths of the run after its end.

    All changes count by the root of the lead: at a lead of half a length they count once.
    """
    trust, along, upward, noise, of_wander, of_change, shift = path
    # A reward may rise by the range so far, and to the largest one.
    room, times = np.minimum(run.spread, np.maximum(run.most - run.level, 0.0)), np.sqrt(2.0 * lead)
    kept = run.change**3 / (run.change**2 + np.exp(trust) * run.change_sd**2)
    bound = 0.25 * run.spread
    move = along * bound * np.tanh(kept / bound) + upward * np.minimum(run.wander, room)
    square = np.exp(of_wander) * run.wander**2 + np.exp(of_change) * run.change_sd**2
    scale = np.sqrt(np.exp(noise) * run.noise + times**2 * square)
    # About a value that is possible: an interval between a limit and itself would have no width.
    return np.minimum(run.level + times * move + shift * scale, run.most), scale


def p_reached(run: SoFar, lead: Any, reward: Any, path: Sequence[float]) -> FloatArray:
    """Probability that the mean of three evaluations is at least ``reward``; 0 above the largest one."""
    location, scale = ahead(run, lead, path)
    return np.where(reward > run.most, 0.0, stdtr(DF, (location - reward) / scale))


def forecast(
    step: Any,
    entropy: Any,
    reward: Any,
    *,
    at_step: Any,
    gain: float | None = None,
    level: float = 0.95,
    max_reward: float | None = None,
    entropy_path: Any = None,
    run: str = "run",
    is_score: bool = True,
) -> Forecast:
    """Forecast the reward at later steps, and the probability of a gain.

    Parameters
    ----------
    step, reward
        Shape (n,), n ≥ 8: the trainer's step, rising, and the score.
    entropy
        The policy entropy at each, in nats, nan where there is none; None for a run without. It says when the
        entropy is spent and what the law predicts, and does not change the forecast.
    at_step
        The later step, or m of them, up to four lengths of the run after its end.
    gain
        Reward units; by default :func:`entropylaw.analysis.law.estimates.usual_gain`, which takes rewards
        between 0 and 1 for rates: nothing else depends on the unit.
    level, run
        Coverage of the intervals, and the run's name in the result.
    max_reward
        The largest reward that is possible: intervals end there, and at 0 where no reward is negative.
    entropy_path
        The entropy at each later step, in nats; where not given the entropy is continued.
    is_score
        Whether more of it is better; of a length, a cost or a divergence no step is the best so far.

    Raises
    ------
    FitError
        ``too-few-evaluations`` (fewer than 8), ``reward-constant``, ``steps-not-increasing``,
        ``entropy-not-a-mean``, ``lengths-differ``, ``out-of-scale``, ``reward-above-max``.
    UsageError
        ``step-not-ahead``, ``step-too-far``, ``lengths-differ``, ``bad-entropy``, ``bad-level``,
        ``bad-gain``.

    Notes
    -----
    With L the level at the last step (:mod:`entropylaw.engine.levels`), r the range after the first
    evaluation, q the room to the largest reward (at most r), λ the lead in lengths of the run, d the change
    of the level over the last quarter of the steps with standard deviation e, and w the root mean square of
    its changes over a third of the evaluations, the reward is L + √(2λ)·(c₁ ¼r tanh(4d′/r) + c₂ min(w, q)),
    with d′ = d³/(d² + exp(c₀) e²): a change goes on where it is many standard deviations. The error is a t
    with 4 degrees of freedom and squared scale s² = exp(c₃) n + 2λ(exp(c₄) w² + exp(c₅) e²), n the variance
    of noise and level, and its median c₆ s. The interval and P(gain) are of this distribution, which ends at
    the largest reward. Runs of more than 64 evaluations are averaged over blocks.
    """
    run = of_kind(run, str, "run")
    level = checked_level(level)
    if step is None:
        raise FitError(
            "forecast-needs-steps",
            "no steps were given, and a forecast is for a later step",
            "pass the trainer's step of every evaluation",
        )
    return forecast_of(
        rewarded(step, entropy, reward),
        at_step=at_step,
        gain=gain,
        level=level,
        max_reward=max_reward,
        entropy_path=entropy_path,
        run=run,
        is_score=is_score,
    )


@one_thread
def forecast_of(
    used: Evaluations,
    *,
    at_step: Any,
    gain: float | None,
    level: float,
    max_reward: float | None,
    entropy_path: Any = None,
    run: str = "run",
    is_score: bool,
) -> Forecast:
    """The forecast of some evaluations; parameters, method and errors as :func:`forecast`."""
    remedy = "wait for more evaluations, or forecast"
    check_evaluations(used, fewest=FEWEST, needs="a forecast needs", remedy=remedy)
    check_reward_moves(used.reward)
    check_rewards(used.reward, max_reward)
    at, path = _targets(at_step, entropy_path, used.step)
    s, r, size = blocked(used.step, used.reward)
    levels = levels_of(s, r, may_jump=True)
    top = np.inf if max_reward is None else max_reward
    bottom = 0.0 if max_reward is not None and used.reward.min() >= 0 else -np.inf
    done = so_far(s, r, used.reward, levels, max_reward)
    done = done._replace(level=float(np.clip(done.level, bottom, top)))
    if gain is None:
        gain = usual_gain(used.reward, max_reward, is_score=is_score)
    gain = checked_gain(gain)
    best, best_level, p_better = best_of(levels, r)
    lost = lost_reward(used.reward) if is_score else None
    fall = s.size
    if lost is not None:
        # From there on it is never again above the middle between its best and its last.
        best_reward, last_reward = (float(str(lost.values[name])) for name in ("best", "last"))
        above = np.flatnonzero(r > (best_reward + last_reward) / 2.0)
        fall = int(above[-1]) + 1 if above.size else 0
    if FEWEST_LEVELS <= fall < s.size:
        # A smooth level spreads the fall over the evaluations before it: the best is of those alone.
        best, best_level, _ = best_of(levels_of(s[:fall], r[:fall], may_jump=True), r[:fall])
        p_better = levels.p_above(best, s.size - 1)
        done = done._replace(level=float(np.clip(done.level, r[fall:].min(), r[fall:].max())))
    # Of an earlier block it is the evaluation in its middle.
    behind = (s.size - 1 - best) * size + size // 2 if best < s.size - 1 else 0
    constants = learned()
    lead = (at - used.step[-1]) / (used.step[-1] - used.step[0])
    location, scale = ahead(done, lead, constants.path)
    location = np.maximum(location, bottom)
    ends = np.clip(location + np.outer(stdtrit(DF, tails(level)), scale), bottom, top)
    chances = p_reached(done, lead, done.level + gain, constants.path).tolist()
    best_so_far = BestSoFar(
        step=float(used.step[-1 - behind]),
        level=float(np.clip(best_level, bottom, top)),
        p_better=p_better,
    )
    curve = _along_entropy(used, at, path, level=level, top=top)
    findings = [note("averaged-in-blocks", block=size)] if size > 1 else []
    has_entropy = np.isfinite(used.entropy)
    return Forecast(
        run=run,
        n=s.size,
        block=size,
        without_entropy=int((~has_entropy).sum()) if has_entropy.any() else 0,
        last_step=float(used.step[-1]),
        now=done.level,
        step=tuple(at.tolist()),
        rewards=tuple(
            Estimate(value=value, low=low, high=high, level=level, method=METHOD)
            for low, value, high in ends.T.tolist()
        ),
        p_gains=tuple(chances),
        gain=gain,
        best_so_far=best_so_far if is_score else None,
        rests_on=rests_on(chances[-1], constants),
        level=level,
        dropped=used.dropped,
        entropies=curve.entropies,
        spent=curve.spent,
        law=curve.law,
        findings=(*findings, *curve.findings),
    )


def best_of(levels: Levels, values: FloatArray) -> tuple[int, float, float]:
    """Index of the highest level of ``values``, that level, and the probability that it is above the last."""
    last, mean = levels.n - 1, levels.mean.copy()
    # A smooth curve overshoots beside a jump: no level is above all means of three neighbours, and now.
    highest = max(np.convolve(values, np.full(3, 1.0 / 3.0), "valid").max(), levels.level()[last])
    mean[:, :last] = np.minimum(mean[:, :last], highest)
    levels = replace(levels, mean=mean)
    best = int(np.argmax(levels.level()))
    return best, float(levels.level()[best]), levels.p_above(best, last) if best < last else 0.0


def rests_on(chance: float, constants: Constants) -> RestsOn:
    """The range of probabilities that ``chance`` is in, and how often such forecasts came true."""
    low, high, share, forecasts = next(row for row in constants.reliability if chance <= row[1])
    return RestsOn(low=low, high=high, came_true=share, forecasts=forecasts)


class _AlongEntropy(NamedTuple):
    """What a forecast says of the entropy: fields of :class:`~entropylaw.results.forecast.Forecast`."""

    entropies: tuple[Estimate, ...]
    spent: Estimate | None = None
    law: LawAhead | None = None
    findings: tuple[Finding, ...] = ()


def _along_entropy(
    used: Evaluations, at: FloatArray, path: FloatArray | None, *, level: float, top: float
) -> _AlongEntropy:
    """The entropies at later steps, given as a ``path`` or continued, and what the law says along them."""
    given = [] if path is None else path.tolist()
    entropies = tuple(
        Estimate(value=value, low=None, high=None, level=level, method="given", note="given")
        for value in given
    )
    known = np.isfinite(used.entropy)
    entropy = used.entropy[known]
    if entropy.size < FEWEST or is_constant(entropy):
        return _AlongEntropy(entropies)
    continued, spent = entropy_ahead(used.step[known], entropy, at, level=level)
    entropies = entropies or tuple(continued)
    expected = np.array([point.value for point in entropies], dtype=float)
    low = float(entropy.min())
    high = float(entropy.max())
    outside = int(((expected < low) | (expected > high)).sum())
    extrapolated = note("extrapolated", outside=outside, steps=at.size, low=low, high=high)
    return _AlongEntropy(
        entropies=entropies,
        spent=spent,
        law=_law_ahead(entropy, used.reward[known], expected, top),
        findings=(extrapolated,) if outside else (),
    )


def _law_ahead(entropy: FloatArray, reward: FloatArray, expected: FloatArray, top: float) -> LawAhead:
    """The law by least squares at the ``expected`` entropies, and its error in the last third."""
    first = entropy.size - max(3, entropy.size // 3)
    truth = reward[first:]
    by_law = law_line(entropy[:first], reward[:first], entropy[first:])
    return LawAhead(
        rewards=tuple(np.minimum(law_line(entropy, reward, expected), top).tolist()),
        error=float(np.sqrt(np.mean((by_law - truth) ** 2))),
        last_value_error=float(np.sqrt(np.mean((reward[first - 1] - truth) ** 2))),
    )


def _targets(at_step: Any, entropy_path: Any, step: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Later steps, and the entropies given for them; or an error."""
    at = as_floats(at_step, "at_step")
    last, span = float(step[-1]), float(step[-1] - step[0])
    bad = at[~((at > last) & (at <= LARGEST))]
    if bad.size or not at.size:
        shown = f"{bad[0]:g}" if at.size else "none"
        raise UsageError(
            "step-not-ahead",
            f"step {shown} was given, expected one after the last evaluation, which is at step {last:g}",
            "give a later step; earlier rewards are in the log",
        )
    farthest = last + FARTHEST * span
    if at.max() > farthest * (1.0 + 1e-9):
        raise UsageError(
            "step-too-far",
            f"step {at.max():g} is more than {FARTHEST:g} lengths of the run ahead: too little to say",
            f"give a step up to {farthest:g}",
        )
    if entropy_path is None:
        return at, None
    path = checked_entropies(entropy_path)
    if path.size != at.size:
        raise UsageError(
            "lengths-differ",
            f"{at.size} steps and {path.size} entropies in the path, expected one for each",
            "give one entropy for each step, or none to continue it",
        )
    return at, path


def usual_step(step: FloatArray) -> float:
    """Half as many steps again: a whole number where the run's steps are."""
    later = float(step[-1] + AHEAD * (step[-1] - step[0]))
    return float(np.ceil(later)) if (step % 1 == 0).all() else later
