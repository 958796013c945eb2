"""Level shifts: steps at which a run jumps, the law on either side, and tests that it is the same law.

A reference reset, a longer context, new data or a resume can move reward or entropy from one evaluation
to the next. The search tests each step against the drift that any run has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.special import fdtrc, stdtr

from entropylaw.analysis.answer import fit_law
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.estimates import checked_level, estimates
from entropylaw.analysis.law.evaluations import Evaluations, check_scale, check_steps, complete, usable
from entropylaw.analysis.law.inference import SmoothedEntropy, entropy_for_model, infer_run
from entropylaw.analysis.law.residual_models import (
    DEFAULT_RESIDUAL,
    RESIDUAL_MODELS,
    ResidualModel,
    residual_model,
)
from entropylaw.arguments import as_floats
from entropylaw.arrays import FloatArray
from entropylaw.engine.kalman import filter_gains, whiten
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import Grid, drift_grid, first_best
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.results.groups import LevelShift, SameTest, Segment, SegmentFit
from entropylaw.results.posterior import Posterior
from entropylaw.results.result import note

FALSE_SHIFT = 0.01
"""p-value, over both series and all steps, below which a jump is a level shift. It is small because a false
one splits the run."""

SIDE = 5
"""Evaluations on either side of a level shift: a segment with fewer could not be fitted."""

MOST_SHIFTS = 5
"""Level shifts looked for in one series."""

FEWEST_TO_SEARCH = 20
"""Evaluations below which drift and a level shift cannot be distinguished, and there is no search."""


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

    A change that takes several evaluations is part of the drift, and not a level shift.
    """
    level = checked_level(level)
    found = complete(entropy, reward, step)
    check_steps(found.step)
    columns = {"reward": found.reward, "entropy": found.entropy}
    for name, values in columns.items():
        check_scale(name, values)
    shifts = [one for name, values in columns.items() for one in shifts_of(found.step, values, name, level)]
    return tuple(sorted(shifts, key=lambda shift: (shift.step, shift.series)))


def level_shift_steps(shifts: Sequence[LevelShift], step: Any) -> tuple[float, ...]:
    """The steps at which the run is split: of shifts fewer than five evaluations apart only the clearest.

    One event often shifts reward and entropy an evaluation apart; two splits would leave a segment that is
    too short to be fitted.
    """
    place = {shift: int(np.searchsorted(as_floats(step, "step"), shift.step)) for shift in shifts}
    kept: list[int] = []
    for shift in sorted(shifts, key=lambda shift: shift.p_value):
        if all(abs(place[shift] - other) >= SIDE for other in kept):
            kept.append(place[shift])
    return tuple(float(step[i]) for i in sorted(kept))


def shifts_of(step: FloatArray, values: FloatArray, series: str, level: float) -> list[LevelShift]:
    """The level shifts of one series, by forward search, as :func:`find_level_shifts` describes."""
    if step.size < FEWEST_TO_SEARCH or np.ptp(values) <= 1e-13 * np.abs(values).max():
        return []
    # Without a level shift a run has slow changes, and fast ones at its start.
    time = np.arange(step.size) / (step.size - 1)
    slow = np.polynomial.legendre.legvander(2.0 * time - 1.0, 3)
    trend = np.column_stack([slow, np.exp(-5.0 * time), np.exp(-20.0 * time)])
    place, found = np.arange(step.size), dict[int, float]()
    # At most ten single outliers get a coefficient of their own.
    for _ in range(MOST_SHIFTS + 10):
        best, chance = clearest_jump(step, values, trend, list(found))
        if chance >= FALSE_SHIFT or len(found) == MOST_SHIFTS:
            break
        # An outlier looks like a jump at its own step and at the next.
        columns = np.column_stack([place >= best, place == best - 1, place == best]).astype(float)
        clearest, _ = _least(step, values, trend, columns)
        if clearest == 0:
            found[best] = chance
        trend = np.column_stack([trend, columns[:, clearest]])
    if not found:
        return []
    (posterior,) = infer(step, trend[None], values[None], drift_grid(step))
    rows = np.array([(trend == (place >= i)[:, None]).all(axis=0) for i in found], dtype=float)
    method = RESIDUAL_MODELS[DEFAULT_RESIDUAL].method
    jumps = estimates(posterior.pruned().functional(rows), level=level, method=method)
    return [
        LevelShift(series=series, step=float(step[i]), after=float(step[i - 1]), jump=jump, p_value=chance)
        for (i, chance), jump in zip(found.items(), jumps, strict=True)
    ]


def clearest_jump(
    step: FloatArray, values: FloatArray, trend: FloatArray, taken: Sequence[int]
) -> tuple[int, float]:
    """The index of the clearest jump, and its p-value over all steps and both series."""
    n = step.size
    # The first tenth is left out because the start of a run is steep.
    places = np.arange(max(SIDE, int(0.1 * n)), n - SIDE + 1)
    for other in taken:
        places = places[np.abs(places - other) >= SIDE]
    count = places.size
    if not count:
        return 0, 1.0
    # In a long run only the steps with the largest local change are tested; the p-value counts all.
    most = min(150, max(300_000 // n, 1))
    if count > most:
        wide = max(SIDE, n // 100)
        total = np.concatenate([[0.0], np.cumsum(values)])
        before, after = np.maximum(places - wide, 0), np.minimum(places + wide, n)
        change = (total[after] - total[places]) / (after - places)
        change -= (total[places] - total[before]) / (places - before)
        places = np.sort(places[np.argsort(-np.abs(change), kind="stable")[:most]])
    best, chance = _least(step, values, trend, (np.arange(n)[:, None] >= places).astype(float))
    return int(places[best]), min(1.0, 2.0 * count * chance)


def _least(step: FloatArray, values: FloatArray, trend: FloatArray, columns: FloatArray) -> tuple[int, float]:
    """The column with the smallest p-value, the first of equal ones, and that p-value."""
    chances = jump_tails(step, values, trend, columns, drift_grid(step))
    best = int(first_best(-np.log(np.maximum(chances, np.finfo(float).tiny))))
    return best, float(chances[best])


def jump_tails(
    step: FloatArray, values: FloatArray, trend: FloatArray, jumps: FloatArray, grid: Grid
) -> FloatArray:
    """Two-sided tail at 0 of the coefficient of each of m columns, added to the trend one at a time.

    Parameters
    ----------
    step, values
        Shape (n,).
    trend, jumps
        Shapes (n, p) and (n, m).
    grid
        Covariances, averaged over by their posterior probabilities given each column.

    Notes
    -----
    The same as ``infer`` with p + 1 columns m times, but p + m columns are whitened once.
    """
    n, p = trend.shape
    ortho = np.linalg.qr(trend)[0]
    rest = np.column_stack([values, jumps])
    # Orthogonal to the trend and of length 1, so that the normal equations lose no digits.
    rest -= ortho @ (ortho.T @ rest)
    rest /= np.linalg.norm(rest, axis=0)
    gains = filter_gains(step, grid)
    white = whiten(gains, np.column_stack([ortho, rest]))
    trends, others = white[:, :p], white[:, p:]
    normal = trends @ trends.transpose(0, 2, 1)
    cross = others @ trends.transpose(0, 2, 1)
    partial = cross @ np.linalg.inv(normal)
    length = (others[:, 1:] ** 2).sum(axis=2) - (partial[:, 1:] * cross[:, 1:]).sum(axis=2)
    along = (others @ others[:, 0, :, None] - partial @ cross[:, 0, :, None])[:, :, 0]
    moment, whole = along[:, 1:], along[:, :1]
    free = n - p - 1
    rss = np.maximum(whole - moment**2 / length, np.finfo(float).tiny)
    constant = -0.5 * (gains.log_det + np.linalg.slogdet(normal)[1]) + grid.log_prior
    log_weight = constant[:, None] - 0.5 * np.log(length) - 0.5 * free * np.log(rss)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    size = np.abs(moment) / np.sqrt(length * rss / free)
    return np.asarray((weight * 2.0 * stdtr(free, -size)).sum(axis=0) / weight.sum(axis=0))


@one_thread
def fit_segments(
    step: Any,
    entropy: Any,
    reward: Any,
    seams: Sequence[float],
    *,
    level: float = 0.95,
    interval: str = "drift",
    eval_size: int | None = None,
    entropy_sd: Any = None,
    max_reward: float | None = None,
    run: str = "run",
) -> SegmentFit:
    """Fit the law on either side of level shifts, and test whether it is the same law.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,); steps strictly increasing, values finite.
    seams
        Steps of the level shifts, in any order. The first evaluation at or after one begins a new segment;
        two between the same evaluations count once.
    level, interval, eval_size, entropy_sd, max_reward
        As for :func:`entropylaw.fit_law`.
    run
        Name of the run; a segment has it with its number.

    Raises
    ------
    UsageError
        ``bad-seam``: not between the first step (excluded) and the last one.

    Notes
    -----
    The test is Chow's (1960, doi:10.2307/1910133) with a drift that continues over the level shifts: for a
    given residual covariance the differences of (ceiling, a) to the first segment give an F statistic, and
    its p-value is averaged over the covariances. Without drift it is the textbook F test. Segments that are
    too short to be fitted are not in it.
    """
    level, model = checked_level(level), residual_model(interval)
    data = usable(entropy, reward, step, entropy_sd, model, keep_outliers=True)
    s, marks = data.step, as_floats(seams, "seams")
    outside = marks[~((marks > s[0]) & (marks <= s[-1]))]
    if outside.size:
        raise UsageError(
            "bad-seam",
            f"seam at step {outside[0]:g}, expected a step after {s[0]:g} and not after {s[-1]:g}",
            "give the first step of the new segment",
        )
    starts = sorted(set(np.searchsorted(s, marks).tolist()))
    parts = [data.only(slice(first, end), {}) for first, end in pairwise([0, *starts, s.size])]
    segments: list[Segment] = []
    fitted = []
    for part in parts:
        fit, refusal = None, None
        try:
            fit = fit_law(
                part.entropy,
                part.reward,
                part.step,
                level=level,
                interval=interval,
                eval_size=eval_size,
                entropy_sd=part.entropy_sd,
                max_reward=max_reward,
                run=f"{run}, segment {len(segments) + 1}",
            )
            fitted.append(part)
        except FitError as error:
            refusal = error.message
        first, last = part.step[[0, -1]].tolist()
        segments.append(Segment(first_step=first, last_step=last, n=part.step.size, fit=fit, refusal=refusal))
    same, left = None, len(parts) - len(fitted)
    findings = [note("segments-left-out", left=left, segments=len(parts))] if left else []
    if len(fitted) > 1:
        same = chow_test(fitted, model, eval_size)
    else:
        findings = [note("too-few-segments", fitted=len(fitted), segments=len(parts))]
    return SegmentFit(
        starts=tuple(s[starts].tolist()), segments=tuple(segments), same=same, findings=tuple(findings)
    )


def chow_test(parts: Sequence[Evaluations], model: ResidualModel, eval_size: int | None) -> SameTest:
    """Chow test with one residual for the whole run and separate coefficients for every segment."""
    # Each segment is smoothed separately: a smooth curve over the run would smear the level shift.
    smoothed = [entropy_for_model(model, part.entropy, part.step, part.entropy_sd) for part in parts]
    s, r = (np.concatenate(each) for each in zip(*((p.step, p.reward) for p in parts), strict=True))
    root = block_diag(*(each.root for each in smoothed)).reshape(s.size, -1)
    whole = SmoothedEntropy(entropy=np.concatenate([each.entropy for each in smoothed]), root=root)
    x = design(law_column(whole.entropy))
    columns = blocks(x, np.repeat(np.arange(len(parts)), [part.step.size for part in parts]))
    # A shift looks like long memory, or a change of scale, to covariances that allow for them.
    short = model.name == DEFAULT_RESIDUAL and eval_size is None
    grid, _ = infer_run(s, whole, r, model.name, eval_size, drift_grid(s) if short else None)
    posterior, same = (infer(s, each[None], r[None], grid)[0] for each in (columns, x))
    return difference_test(
        posterior,
        same,
        np.eye(columns.shape[1])[2:],
        hypothesis=f"all {len(parts)} segments have the same a and b",
        method=f"Chow test ({model.method})",
    )


def blocks(x: FloatArray, group: Any) -> FloatArray:
    """Design (n, 2k) with coefficients for group 0, and differences to it for the other k − 1 groups."""
    return np.column_stack([x, *[x * (group == i)[:, None] for i in range(1, int(group.max()) + 1)]])


def difference_test(
    posterior: Posterior, same: Posterior, rows: FloatArray, *, hypothesis: str, method: str
) -> SameTest:
    """F test that ``rows @ β`` is 0, rows of shape (q, p), averaged over the residual covariances.

    ``same`` is the posterior without the differences, over the same grid; its weights are used. Weights
    of the larger model would attribute slow drift to differences; the test is of the smaller one.
    """
    location = posterior.coefficient @ rows.T
    scale = rows @ posterior.covariance @ rows.T
    q = len(rows)
    each = np.einsum("gi,gi->g", location, np.linalg.solve(scale, location[:, :, None])[:, :, 0]) / q
    free = posterior.df if np.isfinite(posterior.df) else 1e9
    return SameTest(
        hypothesis=hypothesis,
        statistic=float(same.weight @ each),
        df1=float(q),
        df2=float(free),
        p_value=float(same.weight @ fdtrc(q, free, each)),
        method=method,
    )
