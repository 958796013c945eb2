"""The state of a run: broken, flat, rising, falling, or not decided, from step and reward alone.

The words are about the level of the reward (:mod:`entropylaw.engine.levels`), not about single evaluations.
How often each is right, and what came after it: ``docs/benchmarks/state.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import Levels, levels_of_run
from entropylaw.engine.threads import one_thread
from entropylaw.results import Estimate
from entropylaw.results.result import replace
from entropylaw.results.state import Kept, State, Word

FEWEST = 8
"""Fewest evaluations that have a state and a forecast, and entropies in which an explosion is looked for."""

SURE = 0.975
"""Probability from which a change has a direction."""

FLAT = 0.9
"""Probability from which a change is within ± the gain that counts."""

BETTER = 0.95
"""Probability of being better than the last step from which an earlier one is kept."""

SPANS = (1.0 / 2.0, 1.0 / 3.0)
"""Shares of the run over which its level can be flat; its direction is that over the last of them."""

DEAD = 0.1
"""Share of the log without a usable reward, at its end, from which a run is broken."""

FEWEST_MISSED = 3.0
"""Usual distances of two evaluations that this is at least: a reward that is rarely measured is not gone."""

SHARE_GAIN = 0.01
"""The gain that counts of a share."""

RANGE_GAIN, NOISE_GAIN = 0.1, 0.5
"""Of any other reward it is the larger of these shares of the level's range and of the noise."""

LOSS_WINDOWS = (2, 3, 5, 8, 13, 21, 34, 55)
"""Numbers of last evaluations over which a loss is looked for."""

FEWEST_LOST = 3
"""Fewest last evaluations over which a reward is lost: two can be bad ones."""

LOSS_ERRORS = 4.0
"""Standard errors, beyond those of the best of many windows, from which a fall is a loss."""

LOST_SHARE, LOST_OF_BEST, LOST_GAINS = 0.5, 0.25, 3.0
"""Of what was gained more than this share is lost, of the best this one, and so many gains that count."""

FEWEST_CORRELATED = 30
"""Fewest evaluations that show a correlation of noise: in a shorter log a climb would look like one."""

MOST_CORRELATED = 0.6
"""Largest correlation of the noise of neighbouring evaluations: more is a change of the level."""

METHOD = "level of the reward, averaged over its models"


@one_thread
def state_of(
    step: FloatArray,
    reward: FloatArray,
    *,
    end: float | None = None,
    max_reward: float | None = None,
    gain: float | None = None,
    is_score: bool = True,
    level: float = 0.95,
) -> State | None:
    """What a reward has done so far; None of fewer than 8 evaluations.

    Parameters
    ----------
    step, reward
        Shape (n,): steps, increasing, and finite rewards.
    end
        The last step of the log, where it has steps after the last usable reward.
    max_reward
        The largest reward that is possible; 1 says that it is a share.
    gain
        The gain that counts; where not given, :func:`gain_of`.
    is_score
        Whether more of it is better: nothing else is lost, and has a step to keep.
    level
        Coverage of the intervals.

    Notes
    -----
    The word is the one on which all evaluations, and all but the last, agree; a loss needs no second look.
    """
    if step.size < FEWEST:
        return None
    is_share = is_share_of_count(reward, max_reward)
    levels = levels_of_run(step, reward, is_share=is_share)
    counts = gain_of(levels, is_share=is_share) if gain is None else gain
    has_ended = rewards_end_early(step, end)
    loss = loss_of(reward, counts) if is_score and not has_ended else None
    word: Word = "broken"
    share = SPANS[-1]
    if has_ended:
        since = float(step[-1])
    elif loss is not None:
        since = float(step[loss.first])
    else:
        word, share = _agreed_word(step, reward, levels, counts, is_share=is_share)
        since = _first_of_last(step, share)
    now = now_of(levels, reward, max_reward, level=level)
    third = levels.along_line(SPANS[-1]).estimate(level=level, method=METHOD)
    change = levels.along_line(share).estimate(level=level, method=METHOD)
    gained = levels.between(levels.last, 0).estimate(level=level, method=METHOD)
    if not np.ptp(reward):
        # The level of equal values is theirs to within rounding only.
        now = _exactly(float(reward[-1]), now)
        change = _exactly(0.0, change)
        gained = _exactly(0.0, gained)
    keep: Kept | None = None
    if loss is not None:
        keep = _kept_before(loss, step, reward, levels, is_share=is_share)
    elif is_score:
        keep = kept_step(step, reward, levels, counts)
    return State(
        word=word,
        since=since,
        last_step=float(step[-1]),
        change=change,
        would_show=0.5 * (third.width or 0.0),
        now=now,
        gained=gained,
        gain=counts,
        noise=levels.noise,
        keep=keep,
        lost=None if loss is None else (loss.best, loss.now),
    )


def _exactly(value: float, estimate: Estimate) -> Estimate:
    """The estimate with this value and no uncertainty."""
    return replace(estimate, value=value, low=value, high=value, std_error=0.0)


def _agreed_word(
    step: FloatArray, reward: FloatArray, levels: Levels, gain: float, *, is_share: bool
) -> tuple[Word, float]:
    """The word about a reward that is not lost, on which all evaluations and all but the last agree.

    With it the share of the run, at its end, that it is about.
    """
    if not np.ptp(reward):
        return "flat", 1.0
    word, share = _word_of(levels, gain)
    if step.size == FEWEST or word == "cannot tell":
        return word, share
    before = levels_of_run(step[:-1], reward[:-1], is_share=is_share)
    word_before, _ = _word_of(before, gain)
    if word_before != word:
        return "cannot tell", SPANS[-1]
    return word, share


def _word_of(levels: Levels, gain: float) -> tuple[Word, float]:
    """The word about a level that is not lost, and the share of the run, at its end, that it is about."""
    within = np.array([-gain, gain])
    for share in SPANS:
        below, above = levels.along_line(share).below(within)
        if above - below >= FLAT:
            return "flat", share
    falls = float(levels.along_line(SPANS[-1]).below(np.zeros(1))[0])
    if falls >= SURE:
        return "falling", SPANS[-1]
    if falls <= 1.0 - SURE:
        return "rising", SPANS[-1]
    return "cannot tell", SPANS[-1]


def _first_of_last(step: FloatArray, share: float) -> float:
    """The first evaluation in the last share of the steps."""
    begin = step[-1] - share * (step[-1] - step[0])
    return float(step[min(np.searchsorted(step, begin - 1e-9 * (step[-1] - step[0])), step.size - 1)])


def is_share_of_count(reward: FloatArray, max_reward: float | None) -> bool:
    """Whether a reward (n,) is a share of something counted.

    It is by its largest possible value, 1, or where all values are k/n with n up to 2,000; an n of 10, 100 or
    1,000 may be rounding.
    """
    if reward.min() < 0 or reward.max() > 1 or max_reward not in (None, 1.0):
        return False
    if max_reward == 1.0:
        return True
    gaps = np.diff(np.unique(np.round(reward, 9)))
    gaps = gaps[gaps > 1e-6]
    if not gaps.size:
        return False
    number = 1.0 / gaps.min()
    counted = reward * round(number)
    is_whole = abs(number - round(number)) < 0.02 and bool(np.all(abs(counted - np.round(counted)) < 0.02))
    return is_whole and round(number) <= 2000 and round(number) not in (10, 100, 1000)


def gain_of(levels: Levels, *, is_share: bool) -> float:
    """The gain that counts: .01 of a share; else a tenth of the level's range, or half of the noise."""
    if is_share:
        return SHARE_GAIN
    fitted = float(np.ptp(levels.level()[: levels.last + 1]))
    return max(RANGE_GAIN * fitted, NOISE_GAIN * levels.noise, 1e-12)


def bounds_of(reward: FloatArray, max_reward: float | None) -> tuple[float, float]:
    """The least and the largest reward that the values show to be possible.

    A reward that was never below 0 is none below 0; one that touches .95 and never passes 1 none above 1.
    """
    least = 0.0 if reward.min() >= 0 else -np.inf
    if max_reward is not None:
        return least, max_reward
    return least, 1.0 if 0.95 <= reward.max() <= 1.0 else np.inf


def now_of(levels: Levels, reward: FloatArray, max_reward: float | None, *, level: float) -> Estimate:
    """The level at the last evaluation, inside of what is possible."""
    estimate = levels.at(levels.last).estimate(level=level, method=METHOD)
    return estimate.within(*bounds_of(reward, max_reward))


def rewards_end_early(step: FloatArray, end: float | None) -> bool:
    """Whether a tenth of the log, at its end, has no usable reward, and three usual ones are missing."""
    if end is None:
        return False
    missed = end - step[-1]
    return bool(missed >= DEAD * (end - step[0]) and missed >= FEWEST_MISSED * np.median(np.diff(step)))


def kept_step(step: FloatArray, reward: FloatArray, levels: Levels, gain: float) -> Kept:
    """The step of the highest level, if it is better than the last by a gain, with P ≥ .95; else the last."""
    level = levels.level()[: levels.last + 1]
    best = int(np.argmax(level))
    p_better = 0.0
    if best < levels.last:
        p_better = 1.0 - float(levels.between(best, levels.last).below(np.zeros(1))[0])
    is_better = p_better >= BETTER and level[best] - level[-1] >= gain
    # The levels of equal values differ by rounding.
    if not is_better or not np.ptp(reward):
        return Kept(step=float(step[-1]), level=float(level[-1]), p_better=0.0, is_last=True)
    kept_at, height = _highest(step, reward, levels)
    return Kept(step=kept_at, level=height, p_better=p_better, is_last=False)


def _highest(step: FloatArray, reward: FloatArray, levels: Levels) -> tuple[float, float]:
    """The evaluation nearest to the middle of the block of the highest level, and that level."""
    level = levels.level()[: levels.last + 1]
    best = int(np.argmax(level))
    nearest = int(np.argmin(np.abs(step - levels.blocks.step[best])))
    return float(step[nearest]), float(min(level[best], reward.max()))


def _kept_before(loss: Loss, step: FloatArray, reward: FloatArray, levels: Levels, *, is_share: bool) -> Kept:
    """The step of the highest level before a loss, by the evaluations until then.

    The level of all evaluations is drawn towards what is left. ``levels`` are those: they say with what
    probability it is better than the last.
    """
    step = step[: loss.first]
    reward = reward[: loss.first]
    best = int(np.argmax(reward))
    kept_at = float(step[best])
    height = float(reward[best])
    if step.size >= FEWEST:
        kept_at, height = _highest(step, reward, levels_of_run(step, reward, is_share=is_share))
    p_better = float(levels.at(levels.last).below(np.array([height]))[0])
    return Kept(step=kept_at, level=height, p_better=p_better, is_last=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss: the ``best`` mean of some evaluations, that of the last ones, and the ``first`` lost one."""

    best: float
    now: float
    first: int


def loss_of(reward: FloatArray, gain: float) -> Loss | None:
    """Where more than half of what a reward (n,) had gained is gone, beyond noise; None where it is not.

    For some number w of evaluations, the best mean of w in a row less that of the last w, or three, exceeds
    (4 + √(2 ln(n/w)))·√(½ + 3/(2w)) standard errors, half of what was gained, three gains that count, and a
    quarter of the best; and the last third of w has not come back. The variance is half of the mean squared
    difference without the largest one, corrected for correlation; of a reward that is often 0 it is at least
    that of a count. No median decides: half of the values may be 0.
    """
    for width in LOSS_WINDOWS:
        if 2 * width >= reward.size:
            break
        loss = _loss_over(reward, width, gain)
        if loss is not None:
            return loss
    return None


def _loss_over(reward: FloatArray, width: int, gain: float) -> Loss | None:
    """The loss over the last ``width`` evaluations."""
    n = reward.size
    means = np.convolve(reward, np.full(width, 1.0 / width), "valid")
    best = int(np.argmax(means[: n - 2 * width + 1]))
    top = float(means[best])
    now = float(reward[-max(FEWEST_LOST, width) :].mean())
    fall = top - now
    error = np.sqrt(2.0 * _variance(reward, best + width, top, now) / width + 1e-18)
    # The best is the best of many windows.
    needed = (np.sqrt(2.0 * np.log(n / width)) + LOSS_ERRORS) * np.sqrt(0.5 + 1.5 / width)
    if not fall > needed * error:
        return None
    gained = 0.0
    if best:
        gained = top - min(float(means[0]), float(reward[: max(1, width // 3)].mean()))
    has_gained = gained > LOSS_ERRORS * error and gained > LOST_GAINS * gain
    least = LOST_SHARE * (gained if has_gained else abs(top))
    if fall <= max(least, LOST_GAINS * gain, LOST_OF_BEST * abs(top)):
        return None
    has_come_back = top - float(reward[-max(FEWEST_LOST, width // 3) :].mean()) < least
    if has_come_back:
        return None
    # From there on it is never again above the middle between its best and its last.
    above = np.flatnonzero(reward > (top + now) / 2.0)
    first = min(int(above[-1]) + 1, n - 1) if above.size else n - 1
    return Loss(best=top, now=now, first=first)


def _variance(reward: FloatArray, until: int, top: float, now: float) -> float:
    """Variance of one evaluation whose mean is between ``top``, before evaluation ``until``, and ``now``."""
    variance = _white_variance(reward)
    if reward.min() < 0:
        return variance
    before = reward[:until]
    middle = (top + now) / 2.0
    level = float(before.mean())
    if level > 0:
        variance = max(variance, variance * middle / level)
    if np.mean(before == 0) > 0.05 and top > 0:
        variance = max(variance, middle * float(before[before > 0].min()))
    return variance


def _white_variance(reward: FloatArray) -> float:
    """The variance of white noise whose means have the error of those of this noise, which may be correlated.

    Of noise with the correlation ρ from one evaluation to the next, half of the mean squared difference is
    σ²(1 − ρ), and of evaluations that are two apart σ²(1 − ρ²). The variance of a mean of w is, for long
    ones, σ²(1 + ρ)/(1 − ρ)/w.
    """
    # Without one jump, which may be the loss.
    near = 0.5 * float(np.mean(np.sort(np.diff(reward) ** 2)[:-1]))
    if reward.size < FEWEST_CORRELATED or not near > 0:
        return near
    apart = 0.5 * float(np.mean(np.sort((reward[2:] - reward[:-2]) ** 2)[:-2]))
    error = 1.0 / np.sqrt(reward.size)
    correlation = min(max(apart / near - 1.0 - error, 0.0), MOST_CORRELATED)
    return float(near * (1.0 + correlation) / (1.0 - correlation) ** 2)
