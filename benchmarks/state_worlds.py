"""Simulated rewards whose level is known: flat, rising, a peak, saw-teeth, and rewards that are lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks import foreign_worlds
from entropylaw.arrays import FloatArray

Rng = np.random.Generator

CORRELATION = 0.6
"""Correlation of a correlated noise from one evaluation to the next."""

SHARE_GAIN = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulated:
    """A reward (n,), its level (n,) without noise, where that is known, and its largest value by its name."""

    reward: FloatArray
    level: FloatArray | None
    most: float | None = None


Draw = Callable[[int, Rng], Simulated]


# -- noise ---------------------------------------------------------------------------------------------------


def white(n: int, rng: Rng) -> FloatArray:
    """Gaussian noise (n,) of variance 1."""
    return rng.standard_normal(n)


def correlated(n: int, rng: Rng) -> FloatArray:
    """Gaussian noise (n,) of variance 1 that is correlated from one evaluation to the next."""
    fresh = rng.standard_normal(n) * np.sqrt(1.0 - CORRELATION**2)
    values = np.empty(n)
    now = rng.standard_normal()
    for i in range(n):
        values[i] = now
        now = CORRELATION * now + fresh[i]
    return values


def heavy(n: int, rng: Rng) -> FloatArray:
    """Student t noise (n,) with 3 degrees of freedom, of variance 1."""
    return rng.standard_t(3, n) / np.sqrt(3.0)


Noise = Callable[[int, Rng], FloatArray]


def with_noise(level: FloatArray, sd: float, noise: Noise, rng: Rng) -> Simulated:
    """A level with noise of a standard deviation."""
    return Simulated(reward=level + sd * noise(level.size, rng), level=level)


def as_share(level: FloatArray, samples: int, rng: Rng) -> Simulated:
    """Shares of so many samples that are right."""
    return Simulated(reward=rng.binomial(samples, level) / samples, level=level)


def often_zero(level: FloatArray, rng: Rng) -> Simulated:
    """Means of 2 to 8 scores, of which 70 to 95 % are 0 and the others have a gamma distribution."""
    size = int(rng.integers(2, 9))
    chance = rng.uniform(0.05, 0.3)
    shape = rng.uniform(1.0, 4.0)
    scores = rng.gamma(shape, 1.0 / shape, (level.size, size))
    is_there = rng.random((level.size, size)) < chance
    return Simulated(reward=level / chance * (scores * is_there).mean(axis=1), level=level)


def few_samples(rng: Rng) -> int:
    """8 to 64 samples."""
    return int(rng.choice([8, 16, 32, 64]))


def small_sd(rng: Rng) -> float:
    """A standard deviation of .003 to .1."""
    return float(10.0 ** rng.uniform(-2.5, -1.0))


# -- flat ----------------------------------------------------------------------------------------------------


def flat(n: int, rng: Rng) -> FloatArray:
    """A level (n,) of .2 to .8."""
    return np.full(n, rng.uniform(0.2, 0.8))


def flat_share(n: int, rng: Rng) -> Simulated:
    """A share of 1 to 10 % of few samples."""
    return as_share(np.full(n, rng.uniform(0.01, 0.1)), few_samples(rng), rng)


FLAT: dict[str, Draw] = {
    "flat, white noise": lambda n, rng: with_noise(flat(n, rng), small_sd(rng), white, rng),
    "flat, correlated noise": lambda n, rng: with_noise(flat(n, rng), small_sd(rng), correlated, rng),
    "flat, noise t with 3 d.f.": lambda n, rng: with_noise(flat(n, rng), small_sd(rng), heavy, rng),
    "flat share, 1–10 % of 8–64": flat_share,
    "flat, often 0": lambda n, rng: often_zero(flat(n, rng), rng),
}


# -- rising, a peak, saw-teeth -------------------------------------------------------------------------------


def climb(n: int, rng: Rng) -> FloatArray:
    """A level (n,) that rises by .1 to .6 along a line, a logistic curve, or an exponential."""
    x = np.linspace(0.0, 1.0, n)
    middle = rng.uniform(0.2, 0.8)
    rises = (
        x,
        1.0 / (1.0 + np.exp(-(x - middle) * rng.uniform(8.0, 30.0))),
        1.0 - np.exp(-x * rng.uniform(3.0, 15.0)),
    )
    return rng.uniform(0.02, 0.3) + rng.uniform(0.1, 0.6) * rises[int(rng.integers(len(rises)))]


def late(n: int, rng: Rng) -> FloatArray:
    """A level (n,) that rises in the last tenth to third of the steps alone."""
    begin = rng.uniform(2.0 / 3.0, 0.9)
    rise = np.maximum(np.linspace(0.0, 1.0, n) - begin, 0.0) / (1.0 - begin)
    return rng.uniform(0.02, 0.3) + rng.uniform(0.1, 0.6) * rise


def rising_share(n: int, rng: Rng) -> Simulated:
    """A share of few samples that rises from 1–3 % to 5–10 %."""
    level = np.linspace(rng.uniform(0.01, 0.03), rng.uniform(0.05, 0.1), n)
    return as_share(level, few_samples(rng), rng)


def peak(n: int, rng: Rng) -> FloatArray:
    """A level (n,) that rises to a peak and falls by a tenth to four tenths of what was gained."""
    x = np.linspace(0.0, 1.0, n)
    turn = rng.uniform(0.3, 0.8)
    low = rng.uniform(0.02, 0.3)
    gained = rng.uniform(0.1, 0.6)
    fall = gained * rng.uniform(0.1, 0.4) * np.maximum(x - turn, 0.0) / (1.0 - turn)
    return np.asarray(low + gained * np.sin(0.5 * np.pi * np.minimum(x / turn, 1.0)) - fall)


def saw_tooth(n: int, rng: Rng) -> FloatArray:
    """A level (n,) that rises, with two to eight teeth of at most four tenths of what was gained."""
    x = np.linspace(0.0, 1.0, n)
    rise = rng.uniform(0.1, 0.6)
    height = rise * rng.uniform(0.15, 0.4)
    tooth = (x * rng.uniform(2.0, 8.0) + rng.uniform()) % 1.0
    smooth = (rise - height) * (1.0 - np.exp(-x * rng.uniform(2.0, 8.0)))
    return np.asarray(rng.uniform(0.02, 0.3) + smooth + height * tooth)


def under_law(n: int, rng: Rng) -> Simulated:
    """A reward under the law, whose residual is of one of twelve families."""
    world = str(rng.choice(foreign_worlds.WORLDS))
    _, reward = foreign_worlds.draw(world, n, rng)
    # Drift is part of the level, and not apart from noise there.
    return Simulated(reward=reward, level=None)


OTHERS: dict[str, Draw] = {
    "rising, white noise": lambda n, rng: with_noise(climb(n, rng), small_sd(rng), white, rng),
    "rising, correlated noise": lambda n, rng: with_noise(climb(n, rng), small_sd(rng), correlated, rng),
    "late riser": lambda n, rng: with_noise(late(n, rng), small_sd(rng), white, rng),
    "rising share, 1–10 % of 8–64": rising_share,
    "rising, often 0": lambda n, rng: often_zero(climb(n, rng), rng),
    "under the law, twelve residuals": under_law,
    "peak": lambda n, rng: with_noise(peak(n, rng), small_sd(rng), white, rng),
    "peak, correlated noise": lambda n, rng: with_noise(peak(n, rng), small_sd(rng), correlated, rng),
    "saw-teeth": lambda n, rng: with_noise(saw_tooth(n, rng), small_sd(rng), white, rng),
    "saw-teeth, share of 64": lambda n, rng: as_share(saw_tooth(n, rng), 64, rng),
}
"""None of them is lost: a peak and a tooth fall by less than half of what was gained."""


# -- flat, where it can be seen ------------------------------------------------------------------------------


def visible_sd(n: int, rng: Rng) -> float:
    """A standard deviation with which a change of the gain of a share is seen over the last half of n."""
    return float(rng.uniform(0.3, 1.0)) * 0.5 * SHARE_GAIN / np.sqrt(12.0 / (n // 2))


def visible_score(n: int, rng: Rng, noise: Noise) -> Simulated:
    """A flat score of at most 1, with a noise in which the gain that counts is seen."""
    level = flat(n, rng)
    return Simulated(reward=level + visible_sd(n, rng) * noise(n, rng), level=level, most=1.0)


def visible_share(n: int, rng: Rng) -> Simulated:
    """A flat share of so many samples that the gain that counts is seen; its name says that it is one."""
    level = flat(n, rng)
    p = float(level[0])
    samples = int(np.ceil(p * (1.0 - p) / visible_sd(n, rng) ** 2))
    return Simulated(reward=as_share(level, samples, rng).reward, level=level, most=1.0)


VISIBLE: dict[str, Draw] = {
    "score of at most 1, white noise": lambda n, rng: visible_score(n, rng, white),
    "share": visible_share,
    "score of at most 1, correlated noise": lambda n, rng: visible_score(n, rng, correlated),
}

VISIBLE_LONG: dict[str, Draw] = {
    "any unit, white noise": FLAT["flat, white noise"],
    "any unit, correlated noise": FLAT["flat, correlated noise"],
}
"""Half of the noise of an evaluation is seen from 384 evaluations on."""


# -- lost ----------------------------------------------------------------------------------------------------


def sudden(n: int, rng: Rng) -> Simulated:
    """A reward, flat or risen, that falls by ten noise sds or more to a tenth of its best, three long."""
    top = rng.uniform(0.2, 0.9)
    x = np.linspace(0.0, 1.0, n)
    level = np.full(n, top)
    if rng.random() < 0.5:
        level = top * (rng.uniform(0.05, 0.5) + (1.0 - np.exp(-6.0 * x)))
        level *= top / level[:-3].max()
    level[-3:] = 0.1 * top
    sd = 0.9 * top / rng.uniform(10.0, 60.0)
    return with_noise(level, sd, white, rng)


def loses_more_than_half(n: int, rng: Rng) -> FloatArray:
    """A level (n,) that gains half of its best or more, and loses 60 to 100 % of that, at once or slowly."""
    x = np.linspace(0.0, 1.0, n)
    top = rng.uniform(0.3, 0.9)
    gained = top * rng.uniform(0.5, 1.0)
    turn = rng.uniform(0.3, 0.8)
    long = float(rng.choice([0.01, 0.1, 0.2]))
    fall = gained * rng.uniform(0.6, 1.0) * np.clip((x - turn) / long, 0.0, 1.0)
    return np.asarray(top - gained + gained * np.sin(0.5 * np.pi * np.minimum(x / turn, 1.0)) - fall)


def half_lost(n: int, rng: Rng) -> Simulated:
    """A reward that loses more than half of what was gained, five to thirty noise sds."""
    level = loses_more_than_half(n, rng)
    return with_noise(level, np.ptp(level) / rng.uniform(5.0, 30.0), white, rng)


def half_of_share_lost(n: int, rng: Rng) -> Simulated:
    """The same of a share of 64 samples."""
    level = np.clip(loses_more_than_half(n, rng), 0.0, 1.0)
    return as_share(level, 64, rng)


# -- changes that are to be seen -----------------------------------------------------------------------------


def line(n: int, rng: Rng) -> Simulated:
    """A line of ten noise sds."""
    sd = small_sd(rng)
    return with_noise(np.linspace(0.0, 10.0 * sd, n) + rng.uniform(0.1, 0.5), sd, white, rng)


def sparse_line(n: int, rng: Rng) -> Simulated:
    """A share of 16 samples that rises from .01 to .06."""
    return as_share(np.linspace(0.01, 0.06, n), 16, rng)
