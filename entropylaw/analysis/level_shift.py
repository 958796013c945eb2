"""Level shifts: steps at which a run jumps, against the drift that any run has.

A reference reset, a longer context, new data or a resume can move reward or entropy from one evaluation
to the next. A known one is a column of the engine's table (:func:`entropylaw.fit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr

from entropylaw.analysis.law.evaluations import check_scale, check_steps, paired
from entropylaw.analysis.numbers import OWN
from entropylaw.arguments import as_floats, checked_level
from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import PRIOR
from entropylaw.engine.reads import Cells, Reads, merged
from entropylaw.engine.residuals import covariances, spacings
from entropylaw.engine.table import grouped
from entropylaw.engine.threads import one_thread
from entropylaw.results.fit import LevelShift
from entropylaw.results.law import LawFit

FALSE_SHIFT = 0.01
"""p-value, over both series and all steps, below which a jump is a level shift. It is small because a false
one costs a level."""

SIDE = 5
"""Evaluations on either side of a level shift: with fewer its level is not known."""

MOST_SHIFTS, MOST_OUTLIERS = 5, 10
"""Level shifts looked for in one series, and single outliers that get a coefficient of their own."""

FEWEST_TO_SEARCH = 20
"""Evaluations below which drift and a level shift cannot be distinguished, and there is no search."""

MOST_TESTED = 150
"""Steps tested at once, those with the largest local change; the p-value counts all."""


@one_thread
def find_level_shifts(step: Any, entropy: Any, reward: Any, *, level: float = 0.95) -> tuple[LevelShift, ...]:
    """Steps at which the reward or the entropy jumps, against a smooth trend, drift and noise.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing.
    entropy, reward
        Shape (n,), nats and reward units, as logged, finite.
    level
        Coverage of the jumps' intervals.

    Returns
    -------
    The level shifts in the order of their steps; empty with fewer than 20 evaluations, or for a series that
    does not move.

    Notes
    -----
    For every step past the first tenth of the run, with five evaluations on either side:
    series = trend + jump·1{s ≥ step} + drift + noise, with the engine's covariances integrated out. The
    trend holds a cubic and two fast decays. The jump is a Student t for each covariance; its two-sided
    tail is averaged over the covariances and multiplied by the number of steps and of series (Bonferroni).
    A jump below the limit joins the trend, and the search starts again. Where a single evaluation next to the
    jump explains more as an outlier, it gets a coefficient of its own, and the search continues.

    A change that takes several evaluations is part of the drift, and not a level shift. Of more than a
    thousand evaluations means of neighbours are searched.
    """
    level = checked_level(level)
    run = paired(entropy, reward, step)
    check_steps(run.step)
    check_scale("reward", run.reward)
    check_scale("entropy", run.entropy)
    shifts = _shifts_of(run.step, run.reward, "reward", level)
    shifts += _shifts_of(run.step, run.entropy, "entropy", level)
    return tuple(sorted(shifts, key=lambda shift: (shift.step, shift.series)))


def level_shift_steps(shifts: Sequence[LevelShift], step: Any) -> tuple[float, ...]:
    """The steps at which a run gets a new level: of shifts fewer than five evaluations apart the clearest.

    One event often shifts reward and entropy an evaluation apart; two columns could not be distinguished.
    """
    numbers = {shift: int(np.searchsorted(as_floats(step, "step"), shift.step)) for shift in shifts}
    chosen: list[int] = []
    for shift in sorted(shifts, key=lambda shift: shift.p_value):
        if all(abs(numbers[shift] - other) >= SIDE for other in chosen):
            chosen.append(numbers[shift])
    return tuple(float(step[i]) for i in sorted(chosen))


def known_shifts(law: LawFit) -> tuple[LevelShift, ...]:
    """The shift of the reward's level at each known step of a fit, averaged over the functional forms."""
    reads: Reads = law.reads
    table, shifts = reads.table, []
    for start, column in zip(law.shifts, table.candidates.of("shift"), strict=False):
        # The column is the level before.
        location, scale = table.numbers(-table.coefficient_of([column]))
        cells = merged(location[0], scale[0], table.df, reads.averaged)
        below = float(cells.below(np.zeros(1))[0])
        number = int(np.searchsorted(law.step, start))
        shift = LevelShift(
            series="reward",
            step=start,
            after=float(law.step[number - 1]),
            jump=cells.estimate(level=law.level, method=OWN),
            p_value=min(1.0, 2.0 * min(below, 1.0 - below)),
        )
        shifts.append(shift)
    return tuple(shifts)


def _shifts_of(step: FloatArray, values: FloatArray, series: str, level: float) -> list[LevelShift]:
    """The level shifts of one series, by forward search, as :func:`find_level_shifts` describes."""
    if step.size < FEWEST_TO_SEARCH or np.ptp(values) <= 1e-13 * np.abs(values).max():
        return []
    _, (step, values) = grouped(step, values)
    # Without a level shift a run has slow changes, and fast ones at its start.
    time = np.arange(step.size) / (step.size - 1)
    slow = np.polynomial.legendre.legvander(2.0 * time - 1.0, 3)
    trend = np.column_stack([slow, np.exp(-5.0 * time), np.exp(-20.0 * time)])
    number, chances = np.arange(step.size), dict[int, float]()
    for _ in range(MOST_SHIFTS + MOST_OUTLIERS):
        best, chance = _clearest_jump(step, values, trend, list(chances))
        if chance >= FALSE_SHIFT or len(chances) == MOST_SHIFTS:
            break
        # An outlier looks like a jump at its own step and at the next.
        columns = np.column_stack([number >= best, number == best - 1, number == best]).astype(float)
        clearest = int(np.argmin(jumps(step, values, trend, columns).p_value))
        if clearest == 0:
            chances[best] = chance
        trend = np.column_stack([trend, columns[:, clearest]])
    shifts = []
    for i, chance in chances.items():
        column = (number >= i).astype(float)[:, None]
        others = trend[:, (trend != column).any(axis=0)]
        size = jumps(step, values, others, column).cells().estimate(level=level, method=OWN)
        at, after = float(step[i]), float(step[i - 1])
        shifts.append(LevelShift(series=series, step=at, after=after, jump=size, p_value=chance))
    return shifts


def _clearest_jump(
    step: FloatArray, values: FloatArray, trend: FloatArray, taken: Sequence[int]
) -> tuple[int, float]:
    """The index of the clearest jump, and its p-value over all steps and both series."""
    n = step.size
    # The first tenth is left out because the start of a run is steep.
    numbers = np.arange(max(SIDE, int(0.1 * n)), n - SIDE + 1)
    for other in taken:
        numbers = numbers[np.abs(numbers - other) >= SIDE]
    count = numbers.size
    if not count:
        return 0, 1.0
    if count > MOST_TESTED:
        wide = max(SIDE, n // 100)
        total = np.concatenate([[0.0], np.cumsum(values)])
        before, after = np.maximum(numbers - wide, 0), np.minimum(numbers + wide, n)
        change = (total[after] - total[numbers]) / (after - numbers)
        change -= (total[numbers] - total[before]) / (numbers - before)
        numbers = np.sort(numbers[np.argsort(-np.abs(change), kind="stable")[:MOST_TESTED]])
    chances = jumps(step, values, trend, (np.arange(n)[:, None] >= numbers).astype(float)).p_value
    best = int(np.argmin(chances))
    return int(numbers[best]), min(1.0, 2.0 * count * float(chances[best]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Jumps:
    """The coefficient of each of m columns, added to a trend one at a time, under c covariances.

    ``weight``, ``location``, ``scale`` have shape (c, m), ``df`` is that of every t; ``p_value`` (m,) is
    two-sided, averaged over the covariances.
    """

    weight: FloatArray
    location: FloatArray
    scale: FloatArray
    df: int
    p_value: FloatArray

    def cells(self) -> Cells:
        """The coefficient of the first column."""
        df = np.full(len(self.weight), float(self.df))
        return merged(self.location[:, 0], self.scale[:, 0], df, self.weight[:, 0])


def jumps(step: FloatArray, values: FloatArray, trend: FloatArray, columns: FloatArray) -> Jumps:
    """Coefficients of columns (n, m) beside a trend (n, p) in values (n,), under drift and noise.

    Memory is short: a shift looks like a long one.
    """
    n, p = trend.shape
    ortho = np.linalg.qr(trend)[0]
    rest = np.column_stack([values, columns])
    # Orthogonal to the trend and of length 1, so that the normal equations lose no digits.
    rest -= ortho @ (ortho.T @ rest)
    length_of = np.linalg.norm(rest, axis=0)
    group, _ = covariances(spacings(step, np.zeros(n)).tobytes(), PRIOR)
    white, _ = group.whitened(np.column_stack([ortho, rest / length_of]))
    product = white.transpose(0, 2, 1) @ white
    cross = product[:, :p, p:]
    partial = np.linalg.solve(product[:, :p, :p], cross)
    left = product[:, p:, p:] - cross.transpose(0, 2, 1) @ partial
    new = np.maximum(np.einsum("cmm->cm", left)[:, 1:], 1e-12)
    along, whole = left[:, 0, 1:], left[:, 0, 0]
    df = n - p - 1
    squares = np.maximum(whole[:, None] - along**2 / new, np.finfo(float).tiny)
    log_det = 2.0 * np.log(group.sd).sum(axis=0) + np.linalg.slogdet(product[:, :p, :p])[1]
    log_weight = (group.log_prior - 0.5 * log_det)[:, None] - 0.5 * np.log(new) - 0.5 * df * np.log(squares)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    weight /= weight.sum(axis=0)
    scale = np.sqrt(squares / (df * new))
    tail = (weight * 2.0 * stdtr(df, -np.abs(along / new) / scale)).sum(axis=0)
    unit = length_of[0] / length_of[1:]
    return Jumps(weight=weight, location=along / new * unit, scale=scale * unit, df=df, p_value=tail)
