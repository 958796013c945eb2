"""Forecasts of the reward at later steps, with the probability of a gain.

A forecast goes on from the level of the reward by its recent change, where that is sure. It uses no curve in
the entropy; what the law says along the entropy's path is computed beside it. How often its probabilities and
intervals were right: ``docs/benchmarks/forecasts.md``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from entropylaw.analysis.entropy_ahead import entropy_ahead
from entropylaw.analysis.forms import law_line
from entropylaw.analysis.law.estimates import checked_entropies, checked_gain, tails
from entropylaw.analysis.law.evaluations import (
    HIGHEST_ENTROPY,
    LARGEST,
    Evaluations,
    check_entropy,
    check_evaluations,
    check_reward_moves,
    check_rewards,
    is_constant,
    rewarded,
)
from entropylaw.analysis.state import FEWEST, bounds_of, gain_of, is_share_of_count
from entropylaw.arguments import as_floats, checked_level, of_kind
from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import Levels, levels_of_run
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate
from entropylaw.results.forecast import Forecast, LawAhead
from entropylaw.results.result import Finding, note

FARTHEST = 4.0
"""How far ahead a reward is forecast at most, in lengths of the run so far."""

AHEAD = 0.5
"""How far ahead it is forecast where no step is given, likewise."""

METHOD = "level, recent change, fixed constants"

DF = 5.0
"""Degrees of freedom of a forecast's error."""

CLIMB = 0.3
"""Share of a climb's straight line, carried on, in the scale above the centre."""

WAYPOINTS = np.arange(1, 9) / 8.0
"""Parts of the way to a later step of which the most probable says whether the level is ever high enough."""

DOUBT = 1.65
"""Squared standard deviations of a change at which half of it goes on."""

GOES_ON = 0.2
"""Share of a change that goes on where it is sure."""

DRIFT = 0.1
"""Share of the wandering by which a reward rises in addition, at most that share of the room above it."""

OF_WANDER, OF_CHANGE = 0.05, 0.37
"""Parts of the squared wandering, and of the change's squared error, in the squared scale."""


class SoFar(NamedTuple):
    """What a run has done so far, in units of the reward; numbers of one run, or arrays of several.

    ``level`` is that of the reward at the last evaluation, ``level_sd`` its standard deviation, and ``noise``
    that of an evaluation about it. ``change`` is that of the level over the last third of the steps, along a
    line, with its standard deviation ``change_sd``; ``wander`` the root mean square of the level's changes
    over a third of the evaluations, all those in the last two thirds; ``climb`` what the straight line of the
    last half of the rewards gains over half the length of the run, 0 where it falls. ``least`` and ``most``
    are the bounds that the data show, or infinite.
    """

    level: Any
    level_sd: Any
    noise: Any
    change: Any
    change_sd: Any
    wander: Any
    climb: Any
    least: Any
    most: Any


def so_far(step: FloatArray, reward: FloatArray, levels: Levels, max_reward: float | None) -> SoFar:
    """What rewards (n,) and their levels say; n ≥ 8."""
    now = levels.at(levels.last)
    change = levels.along_line(1.0 / 3.0)
    level = levels.level()[: levels.last + 1]
    third = max(1, level.size // 3)
    later = level[third:]
    least, most = bounds_of(reward, max_reward)
    # The last half of the steps has three evaluations at least: one alone has no line.
    middle = step[-1] - (0.5 + 1e-9) * (step[-1] - step[0])
    half = min(int(np.searchsorted(step, middle)), step.size - 3)
    x = step[half:] - step[half:].mean()
    slope = float(x @ reward[half:] / (x @ x))
    return SoFar(
        level=float(np.clip(now.mean(), least, most)),
        level_sd=now.sd(),
        noise=levels.noise,
        change=change.mean(),
        change_sd=change.sd(),
        wander=float(np.sqrt(np.mean((later - level[: later.size]) ** 2))),
        climb=max(slope * AHEAD * float(step[-1] - step[0]), 0.0),
        least=least,
        most=most,
    )


class Ahead(NamedTuple):
    """The distribution of a later reward: a t about ``centre`` with one scale below and another above it."""

    centre: Any
    below: Any
    above: Any

    def reaches(self, reward: Any) -> FloatArray:
        """Probability of being at least ``reward``."""
        scale = np.where(reward < self.centre, self.below, self.above)
        z = (reward - self.centre) / scale
        share_above = self.above / (self.below + self.above)
        beyond = 2.0 * share_above * stdtr(DF, -z)
        return np.asarray(np.where(z < 0, 1.0 - 2.0 * (1.0 - share_above) * stdtr(DF, z), beyond))

    def end(self, probability: float) -> FloatArray:
        """The reward below which it is with a probability."""
        share_below = self.below / (self.below + self.above)
        lower = self.below * stdtrit(DF, np.minimum(0.5 * probability / share_below, 0.5))
        upper = self.above * stdtrit(DF, np.minimum(0.5 * (1.0 - probability) / (1.0 - share_below), 0.5))
        return np.asarray(self.centre + np.where(probability < share_below, lower, -upper))


def ahead(run: SoFar, lead: Any, *, of_level: bool = False) -> Ahead:
    """The mean of three evaluations, or the level, ``lead`` lengths of the run after its end.

    A change over a third of the run goes on for the lead, and wandering by its root.
    """
    change = run.change * 3.0 * lead
    change_sd = run.change_sd * 3.0 * lead
    wander = run.wander * np.sqrt(2.0 * lead)
    kept = change**3 / (change**2 + DOUBT * change_sd**2 + 1e-18)
    room = np.minimum(wander, np.maximum(run.most - run.level, 0.0))
    measured = 0.0 if of_level else run.noise**2 / 3.0
    square = run.level_sd**2 + measured + OF_WANDER * wander**2 + OF_CHANGE * change_sd**2
    climb = CLIMB * run.climb * lead / AHEAD
    return Ahead(
        centre=np.clip(run.level + GOES_ON * kept + DRIFT * room, run.least, run.most),
        below=np.sqrt(square + 1e-18),
        above=np.sqrt(square + climb**2 + 1e-18),
    )


def p_reached(run: SoFar, lead: Any, reward: Any) -> FloatArray:
    """Probability that the level is at least ``reward`` then; 0 above the largest reward."""
    return np.where(reward > run.most, 0.0, ahead(run, lead, of_level=True).reaches(reward))


def p_ever(run: SoFar, lead: Any, reward: Any) -> FloatArray:
    """The largest of these probabilities at some steps up to a lead."""
    leads = np.multiply.outer(WAYPOINTS, np.asarray(lead))
    return np.asarray(p_reached(run, leads, reward).max(axis=0))


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
        Reward units; by default :func:`entropylaw.analysis.state.gain_of`.
    level, run
        Coverage of the intervals, and the run's name in the result.
    max_reward
        The largest reward that is possible: intervals end there, and at 0 where no reward is negative.
    entropy_path
        The entropy at each later step, in nats; where not given the entropy is continued.

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
    With L the level at the last evaluation (:mod:`entropylaw.engine.levels`), λ the lead in lengths of the
    run, d the change of the level over the last third of the steps along a line, and e its standard
    deviation, both times 3λ, w the root mean square of the level's changes over a third of the evaluations
    times √(2λ), and q the room to the largest reward that the data show, the centre is
    L + .2 d³/(d² + 1.65 e²) + .1 min(w, q): a change goes on where it is many standard deviations. The error
    is a t with 5 degrees of freedom and the squared scale s² = l² + σ²/3 + .05 w² + .37 e², l the standard
    deviation of L and σ that of an evaluation; above the centre it is s² + (.3 C)², C what the straight line
    of the last half gains where it rises. Intervals end at the bounds that the data show. P(gain) is of the
    level, without σ²/3. Runs of more than 48 evaluations are averaged over blocks.
    """
    run = of_kind(run, str, "run")
    level = checked_level(level)
    if step is None:
        raise FitError(
            "forecast-needs-steps",
            "no steps were given, and a forecast is for a later step",
            "pass the trainer's step of every evaluation",
        )
    used = rewarded(step, entropy, reward)
    check_entropy(used.entropy[np.isfinite(used.entropy)])
    return forecast_of(
        used,
        at_step=at_step,
        gain=gain,
        level=level,
        max_reward=max_reward,
        entropy_path=entropy_path,
        run=run,
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
) -> Forecast:
    """The forecast of some evaluations; parameters, method and errors as :func:`forecast`."""
    remedy = "wait for more evaluations, or forecast"
    check_evaluations(used, fewest=FEWEST, needs="a forecast needs", remedy=remedy)
    check_reward_moves(used.reward)
    check_rewards(used.reward, max_reward)
    at, path = _targets(at_step, entropy_path, used.step)
    is_share = is_share_of_count(used.reward, max_reward)
    levels = levels_of_run(used.step, used.reward, is_share=is_share)
    done = so_far(used.step, used.reward, levels, max_reward)
    gain = gain_of(levels, is_share=is_share) if gain is None else checked_gain(gain)
    lead = (at - used.step[-1]) / (used.step[-1] - used.step[0])
    expected = ahead(done, lead)
    ends = np.array([expected.end(probability) for probability in tails(level)])
    ends[1] = expected.centre
    ends = np.clip(ends, done.least, done.most)
    target = done.level + gain
    chances = p_reached(done, lead, target)
    ever = p_ever(done, lead.max(), target)
    curve = _along_entropy(used, at, path, level=level, top=done.most)
    size = levels.blocks.size
    findings = [note("averaged-in-blocks", block=size)] if size > 1 else []
    has_entropy = np.isfinite(used.entropy)
    return Forecast(
        run=run,
        n=levels.blocks.step.size,
        block=size,
        without_entropy=int((~has_entropy).sum()) if has_entropy.any() else 0,
        last_step=float(used.step[-1]),
        now=done.level,
        step=tuple(at.tolist()),
        rewards=tuple(
            Estimate(value=value, low=low, high=high, level=level, method=METHOD)
            for low, value, high in ends.T.tolist()
        ),
        p_gains=tuple(chances.tolist()),
        # What is so at one of the steps is so at any.
        p_ever=max(float(ever), *chances.tolist()),
        gain=gain,
        level=level,
        dropped=used.dropped,
        entropies=curve.entropies,
        spent=curve.spent,
        law=curve.law,
        findings=(*findings, *curve.findings),
    )


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
    # A fit of sums over tokens has a forecast, of which no entropy is a part.
    if entropy.size < FEWEST or is_constant(entropy) or np.abs(entropy).max() > HIGHEST_ENTROPY:
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
    path = checked_entropies(entropy_path, "entropy_path")
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
