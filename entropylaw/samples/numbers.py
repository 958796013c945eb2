"""The numbers of a step from counts per problem: pass@k, distinct answers, entropies of answers.

Every number is computed for each problem, and averaged over problems. Its standard error is that of
independent problems; ``se_fixed`` is that of further samples of the same problems, by the jackknife over
samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.tokens.semantic import log_choose

SHUFFLED = 1 << 15
"""Samples that are shuffled for maj@k, at least once and at most 16 times."""

SEED = 20_260_101
"""Seed of the generator that shuffles."""

COVERED = (2, 5, 8)
"""Tenths of the samples that are right, at least, in Cover@τ (arXiv:2510.08325)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """The samples of one step.

    ``problem`` (P,) are keys, ascending; ``n``, ``right`` (P,) count samples with a verdict and right ones.
    ``answers`` (m, 4) has in each row a problem's position, whether the answer is right, how often it was
    given, and how many answers this row stands for; it is empty where there are none.
    """

    problem: list[str]
    n: IntArray
    right: IntArray
    answers: IntArray

    @property
    def least(self) -> int:
        """The smallest number of samples of a problem."""
        return int(self.n.min())

    def take(self, rows: IntArray) -> Counts:
        """Some problems, in the order of ``rows``."""
        number = np.full(len(self.n), -1)
        number[rows] = np.arange(len(rows))
        answers = self.answers[number[self.answers[:, 0]] >= 0]
        answers = np.column_stack((number[answers[:, 0]], answers[:, 1:]))
        problem = [self.problem[row] for row in rows]
        return Counts(problem=problem, n=self.n[rows], right=self.right[rows], answers=answers)


def log_without(n: IntArray, marked: IntArray, k: IntArray | int) -> FloatArray:
    """Logarithm of C(n − marked, k) / C(n, k): the chance that none of k samples is among the marked ones."""
    possible = np.asarray(n - marked >= k)
    unmarked = np.where(possible, n - marked, k)
    log = gammaln(unmarked + 1) - gammaln(unmarked - k + 1) - gammaln(n + 1) + gammaln(n - k + 1)
    return np.asarray(np.where(possible, np.minimum(log, 0.0), -np.inf))


def pass_at(n: IntArray, right: IntArray, k: int) -> FloatArray:
    """1 − C(n − c, k) / C(n, k) of each problem (Chen et al. 2021, arXiv:2107.03374, equation 1)."""
    return np.asarray(-np.expm1(log_without(n, right, k))) + 0.0


def all_right(n: IntArray, right: IntArray, k: int) -> FloatArray:
    """pass^k, C(c, k) / C(n, k): the chance that all k samples are right."""
    return np.asarray(np.exp(log_without(n, n - right, k)))


def majority(n: IntArray, right: IntArray, k: int) -> FloatArray:
    """maj@k without answers: more than half of k samples are right; of a tie half counts."""
    total = np.zeros(len(n))
    for right_drawn in range((k + 1) // 2, k + 1):
        possible = (right >= right_drawn) & (n - right >= k - right_drawn)
        c = np.where(possible, right, k)
        wrong = np.where(possible, n - right, k)
        ways = log_choose(c, right_drawn) + log_choose(wrong, k - right_drawn) - log_choose(n, k)
        total += np.where(possible, np.exp(ways), 0.0) / (1 + (2 * right_drawn == k))
    return np.minimum(total, 1.0)


def pluralities(counts: Counts, ks: Sequence[int]) -> dict[str, FloatArray]:
    """maj@k: whether the commonest answer among k samples is right; of several, the share of right ones.

    The mean over disjoint sets of k samples of each problem after some shuffles: exact with all samples.
    """
    n = counts.n
    size = int(n.sum())
    random = np.random.default_rng(SEED)
    owner = np.repeat(np.arange(len(n)), n)
    start = np.cumsum(n) - n
    rows = np.repeat(counts.answers, counts.answers[:, 3], axis=0)
    rows = rows[rows[:, 0].argsort(kind="stable")]
    answered = np.bincount(rows[:, 0], rows[:, 2], len(n)).astype(np.int64)
    # The samples of a problem without an answer are its last ones.
    answer = np.full(size, -1)
    answer[np.arange(size) - start[owner] < answered[owner]] = np.repeat(np.arange(len(rows)), rows[:, 2])
    shuffles = min(max(SHUFFLED // size, 1), 16)
    values = {f"maj@{k}": np.zeros(len(n)) for k in ks}
    for _ in range(shuffles):
        shuffled = answer[(owner + random.random(size)).argsort()]
        # In the order of answers, and then of places, the votes of a set for an answer follow each other.
        places = shuffled.argsort(kind="stable")[np.count_nonzero(shuffled < 0) :]
        voted = shuffled[places]
        problem = owner[places]
        position = places - start[problem]
        for k in ks:
            sets = n // k
            used = position < k * sets[problem]
            number = ((np.cumsum(sets) - sets)[problem] + position // k)[used]
            chosen = voted[used]
            begins = np.flatnonzero(np.append(True, (np.diff(number) != 0) | (np.diff(chosen) != 0)))
            times = np.diff(begins, append=len(number))
            number = number[begins]
            chosen = chosen[begins]
            most = np.zeros(sets.sum(), dtype=np.int64)
            np.maximum.at(most, number, times)
            leads = times == most[number]
            tied = np.bincount(number[leads], minlength=len(most))
            good = np.bincount(number[leads], rows[chosen[leads], 1], len(most)) / np.maximum(tied, 1)
            values[f"maj@{k}"] += np.add.reduceat(good, np.cumsum(sets) - sets) / sets / shuffles
    return values


def jackknife_variance(n: IntArray, right: IntArray, k: int) -> FloatArray:
    """Variance of pass@k of each problem over its samples; nan where a problem has no more than k samples."""
    if (n <= k).any():
        return np.full(len(n), np.nan)
    less_right = pass_at(n - 1, np.maximum(right - 1, 0), k)
    less_wrong = pass_at(n - 1, np.minimum(right, n - 1), k)
    share = right / n
    return np.asarray((n - 1) * share * (1 - share) * (less_right - less_wrong) ** 2)


def distinct(counts: Counts, k: int, right: int | None = None) -> FloatArray:
    """Expected number of distinct answers, or of right or wrong ones, among k samples of each problem."""
    rows = counts.answers if right is None else counts.answers[counts.answers[:, 1] == right]
    problem, _, times, alike = rows.T
    seen = alike * pass_at(counts.n[problem], times, k)
    return np.asarray(np.bincount(problem, seen, len(counts.n)), dtype=float)


def entropies(counts: Counts) -> dict[str, FloatArray]:
    """Entropy of the answers to each problem in nats: Chao & Shen 2003, Miller–Madow, plug-in."""
    problem, _, times, alike = counts.answers.T
    problems = len(counts.n)

    def total(values: NDArray[np.generic]) -> FloatArray:
        return np.asarray(np.bincount(problem, np.asarray(values, dtype=float), problems), dtype=float)

    answered = total(times * alike)
    size = np.maximum(answered, 1.0)
    share = times / size[problem]
    plain = total(-alike * share * np.log(share))
    once = total(alike * (times == 1))
    # With singletons alone the coverage would be 0.
    covered = 1.0 - np.where(once >= size, size - 1.0, once) / size
    share = share * covered[problem]
    sampled = -np.expm1(size[problem] * np.log1p(-np.minimum(share, 1.0 - 1e-15)))
    chao_shen = total(-alike * share * np.log(share) / sampled)
    chao_shen = np.where(size > 1, chao_shen, 0.0) + 0.0
    corrected = plain + np.maximum(total(alike) - 1.0, 0.0) / (2.0 * size)
    values = {"": chao_shen, "_mm": corrected, "_plugin": plain + 0.0}
    return {name: np.where(answered > 0, value, np.nan) for name, value in values.items()}


def by_problem(counts: Counts, ks: Sequence[int], rarefied: int) -> dict[str, FloatArray]:
    """The numbers of each problem (P,) by the name of their column, for k up to the fewest samples."""
    n = counts.n
    right = counts.right
    ks = [k for k in ks if k <= counts.least]
    values = {f"pass@{k}": pass_at(n, right, k) for k in ks}
    for few, k in pairwise(ks):
        values[f"gain@{k}"] = (values[f"pass@{k}"] - values[f"pass@{few}"]) / np.log2(k / few)
    if len(ks) > 1:
        # What a doubling of the samples adds on average, from 1 to the most.
        values["gain_per_doubling"] = (values[f"pass@{ks[-1]}"] - values["pass@1"]) / np.log2(ks[-1])
    values |= {f"pass^{k}": all_right(n, right, k) for k in ks[1:]}
    if len(counts.answers):
        values |= pluralities(counts, ks[1:])
        values["distinct"] = distinct(counts, rarefied)
        values["distinct_right"] = distinct(counts, rarefied, 1)
        values["distinct_wrong"] = distinct(counts, rarefied, 0)
        values |= {f"answer_entropy{name}": nats for name, nats in entropies(counts).items()}
    else:
        values |= {f"maj@{k}": majority(n, right, k) for k in ks[1:]}
    values |= {f"cover@{tenths / 10:g}": (10 * right >= tenths * n).astype(float) for tenths in COVERED}
    values["none_right"] = (right == 0).astype(float)
    values["some_right"] = ((right > 0) & (right < n)).astype(float)
    values["all_right"] = (right == n).astype(float)
    return values


def summary(counts: Counts, ks: Sequence[int], rarefied: int) -> dict[str, float | None]:
    """The columns of a step; distinct answers are counted among ``rarefied`` samples."""
    row: dict[str, float | None] = {}
    for name, values in by_problem(counts, ks, rarefied).items():
        # Problems without an answer have no entropy of answers.
        finite = values[~np.isnan(values)]
        size = len(finite)
        row[name] = float(finite.mean()) if size else None
        row[f"{name}_se"] = float(finite.std(ddof=1) / np.sqrt(size)) if size > 1 else None
        if name.startswith("pass@"):
            k = int(name.removeprefix("pass@"))
            fixed = float(np.sqrt(jackknife_variance(counts.n, counts.right, k).sum())) / len(values)
            row[f"{name}_se_fixed"] = None if np.isnan(fixed) else fixed
    return row
