"""Two tables of samples, paired by problem: pass@k with a band over all k, kept, gained and lost problems.

The unit is the problem: seeds of training are not in it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtri, stdtrit, xlog1py, xlogy

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.samples.numbers import Counts, log_without

DRAWS = 4000
"""Draws of the multiplier bootstrap."""

SEED = 20_260_101
"""Seed of all generators."""

CHANCES = np.concatenate(([0.0], expit(np.linspace(-6.5, 6.5, 38)), [1.0]))
"""Chances of a right sample (J,), of which the distribution over problems is made."""

REPEATS, UPDATES, SPREAD = 120, 8, 0.05
"""Estimates of the distribution, the steps of each, and the shape of the gamma distribution of its start.

A start with a small shape has most weight at few chances, as real models' chances have: with 0.2, and 40
estimates, intervals of 500 problems held the number that were kept in 12 to 38 % on shares of the lab.
"""

CLASSES = ("kept", "gained", "lost", "neither")
"""What a problem can be: solved on both sides, only now, only before, on neither."""


def student(problems: int, level: float) -> float:
    """How many standard errors are from a mean over problems to the ends of its t interval."""
    return float(stdtrit(max(problems - 1, 1), (1 + level) / 2))


def normal(level: float) -> float:
    """How many standard errors are from a mean to the ends of its normal interval."""
    return float(ndtri((1 + level) / 2))


def critical(rows: FloatArray, level: float) -> float:
    """How many standard errors wide a band over all columns (P, m) is: sup-t by a multiplier bootstrap.

    Multipliers are Gaussian; for few problems it is widened as Student's t is against the normal.
    """
    size = len(rows)
    centred = rows - rows.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    centred = centred[:, scale > 1e-12] / scale[scale > 1e-12]
    if not centred.shape[1]:
        return student(size, level)
    small = student(size, level) / normal(level)
    random = np.random.default_rng(SEED)
    largest = [np.abs(random.standard_normal((DRAWS // 8, size)) @ centred).max(axis=1) for _ in range(8)]
    return small * float(np.quantile(np.concatenate(largest), level))


def chances(now: Counts, base: Counts, solved: float) -> tuple[FloatArray, IntArray]:
    """The chance (P, 4) of each problem to be of one of the :data:`CLASSES`; draws (R, 4) of how many are.

    The joint distribution of the two sides' chances of a right sample is on pairs of :data:`CHANCES`,
    estimated from all problems by EM (empirical Bayes). How far it is from being known is in the repeats:
    with other weights of the problems (Bayesian bootstrap; Rubin 1981, doi:10.1214/aos/1176345338), and from
    another start. After few steps estimates still differ where the samples do not decide between them
    (docs/benchmarks/samples.md).
    """
    ours, theirs = _likelihood(now), _likelihood(base)
    above = solved < CHANCES
    sides = ((above, above), (~above, above), (above, ~above), (~above, ~above))
    random = np.random.default_rng(SEED)
    size = len(now.n)
    total = np.zeros((size, len(CLASSES)))
    draws = []
    for _ in range(REPEATS):
        weights = np.outer(*random.gamma(SPREAD, size=(2, len(CHANCES))))
        weights += 1e-12 * weights.max()
        times = random.exponential(size=size)
        for _ in range(UPDATES):
            evidence = ((theirs @ weights) * ours).sum(axis=1)
            weights *= (theirs * (times / evidence)[:, None]).T @ ours / times.sum()
        sums = np.column_stack(
            [((theirs * before @ weights) * ours * after).sum(axis=1) for before, after in sides]
        )
        sums /= sums.sum(axis=1, keepdims=True)
        total += sums / REPEATS
        drawn = (random.random((size, 1)) > sums.cumsum(axis=1)[:, :-1]).sum(axis=1)
        draws.append(np.bincount(drawn, minlength=len(CLASSES)))
    return total, np.array(draws)


def _likelihood(counts: Counts) -> FloatArray:
    """Likelihood (P, J) of each of the :data:`CHANCES`, up to a factor of each problem."""
    right = counts.right[:, None]
    wrong = (counts.n - counts.right)[:, None]
    log = xlogy(right, CHANCES) + xlog1py(wrong, -CHANCES)
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def on_unsolved(now: Counts, base: Counts) -> tuple[float, tuple[float, float, float, float] | None]:
    """Distinct answers where neither side solved a problem in one half of its samples, counted in the other.

    The chance of that, and the expected number then, are exact over all ways to halve the samples. Counting
    in the same half would select problems by the very samples that are counted. Both sides need as many
    samples.
    """
    unsolved = np.exp(sum(log_without(side.n, side.right, side.n // 2) for side in (now, base)))
    total = float(unsolved.sum())
    if not len(now.answers) or not len(base.answers) or total < 1.0 or (now.n != base.n).any():
        return total, None
    ours, theirs = _held_out(now), _held_out(base)
    difference = float(unsolved @ (ours - theirs)) / total
    spread = unsolved * (ours - theirs - difference)
    error = float(np.sqrt((spread**2).sum() * len(spread) / max(len(spread) - 1, 1))) / total
    return total, (float(unsolved @ ours) / total, float(unsolved @ theirs) / total, difference, error)


def _held_out(counts: Counts) -> FloatArray:
    """Expected distinct answers to each problem in the half of its samples that has all right ones."""
    problem, right, times, alike = counts.answers.T
    wrong = counts.n - counts.right
    left = np.maximum(wrong - counts.n // 2, 0)
    chance = -np.expm1(log_without(wrong[problem], np.minimum(times, wrong[problem]), left[problem]))
    return np.asarray(
        np.bincount(problem, alike * np.where(right == 1, 1.0, chance), len(counts.n)), dtype=float
    )


def common(now: Counts, base: Counts) -> tuple[Counts, Counts]:
    """The problems that both have, in one order."""
    _, ours, theirs = np.intersect1d(now.problem, base.problem, assume_unique=True, return_indices=True)
    return now.take(ours), base.take(theirs)
