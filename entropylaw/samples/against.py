"""Two tables of samples, paired by problem: pass@k with a band over all k, kept, gained and lost problems.

The unit is the problem: seeds of training are not in it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

from entropylaw.arrays import FloatArray
from entropylaw.samples.numbers import Counts, IntArray, log_without

DRAWS, SEED = 4000, 20_260_101
"""Draws of the multiplier bootstrap, and the seed of its generator."""

GRID: FloatArray = np.concatenate(([0.0], 1.0 / (1.0 + np.exp(-np.linspace(-8.0, 8.0, 33))), [1.0]))
"""Chances of a right sample over which the distribution of problems is estimated."""

ATOM = 0.02
"""Share of problems that are never solved, and of those that always are, at the start of the estimate."""

UPDATES = 25
"""Steps of the estimate from its start; more would fit the noise of few problems (docs/benchmarks)."""

CLASSES = ("kept", "gained", "lost", "neither")
"""What a problem can be: solved on both sides, only now, only before, on neither."""


def student(problems: int, level: float) -> float:
    """How many standard errors are from a mean over problems to the ends of its t interval."""
    return float(stdtrit(max(problems - 1, 1), (1 + level) / 2))


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
    small = student(size, level) / float(ndtri((1 + level) / 2))
    random = np.random.default_rng(SEED)
    largest = [np.abs(random.standard_normal((DRAWS // 8, size)) @ centred).max(axis=1) for _ in range(8)]
    return small * float(np.quantile(np.concatenate(largest), level))


def chances(now: Counts, base: Counts, solved: float) -> FloatArray:
    """The chance of each problem (P, 4) to be of one of the :data:`CLASSES`.

    The joint distribution of the two sides' chances of a right sample is estimated from all problems on a
    grid, by the EM algorithm from Jeffreys' distribution and :data:`ATOM` (nonparametric empirical Bayes).
    """
    ours, theirs = (_likelihood(counts.n, counts.right) for counts in (now, base))
    inner = np.sqrt(GRID * (1.0 - GRID))
    start = (1.0 - 2.0 * ATOM) * inner / inner.sum() + np.where((GRID == 0.0) | (GRID == 1.0), ATOM, 0.0)
    weights = np.outer(start, start)
    for _ in range(UPDATES):
        evidence = np.einsum("pi,ij,pj->p", theirs, weights, ours, optimize=True)
        weights = weights * ((theirs / evidence[:, None]).T @ ours) / len(ours)
    above = solved < GRID
    sides = ((above, above), (~above, above), (above, ~above), (~above, ~above))
    sums = np.column_stack(
        [((theirs * was) @ weights * (ours * is_now)).sum(axis=1) for was, is_now in sides]
    )
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))


def _likelihood(n: IntArray, right: IntArray) -> FloatArray:
    """Likelihood (P, G) of every chance on the grid, up to a factor of each problem."""
    with np.errstate(divide="ignore", invalid="ignore"):
        good = np.where(right[:, None] > 0, right[:, None] * np.log(GRID), 0.0)
        bad = np.where((n - right)[:, None] > 0, (n - right)[:, None] * np.log1p(-GRID), 0.0)
    log = good + bad
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
    shared = sorted(set(now.problem) & set(base.problem))
    sides = []
    for counts in (now, base):
        number = {key: row for row, key in enumerate(counts.problem)}
        sides.append(counts.take(np.array([number[key] for key in shared], dtype=np.int64)))
    return sides[0], sides[1]
