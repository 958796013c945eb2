"""Seams: steps at which a run jumps, the law on either side of them, and tests that it is the same law.

A reference reset, a longer context, new data or a resume can move reward or entropy from one evaluation
to the next. Such a jump is looked for against the drift that any run has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtr

from entropylaw.analysis.estimate import estimates
from entropylaw.analysis.fitting import check_scale, check_steps, complete
from entropylaw.analysis.law import checked_level
from entropylaw.analysis.residual_models import DEFAULT_RESIDUAL, RESIDUAL_MODELS
from entropylaw.arguments import as_floats
from entropylaw.engine.grid import FloatArray, Grid, drift_grid, first_best
from entropylaw.engine.posterior import infer
from entropylaw.engine.whiten import filter_gains, whiten
from entropylaw.results.groups import Seam

FALSE_SEAM = 0.01
"""p-value, over both series and all steps, below which a jump is called a seam. A false one costs more
than a missed one: it splits the run."""

SIDE = 5
"""Evaluations on either side of a jump: a segment with fewer could not be fitted."""

MOST_SEAMS = 5
"""Seams looked for in one series; a run that jumps more often does not drift, and has no law."""

FEWEST_TO_SEARCH = 20
"""Evaluations below which no seam is looked for: drift and a jump cannot be told apart."""


def find_seams(step: Any, entropy: Any, reward: Any, *, level: float = 0.95) -> tuple[Seam, ...]:
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
    The seams in the order of their steps; empty with fewer than 20 evaluations, or for a series that does
    not move.

    Notes
    -----
    For every step past the first tenth of the run, with five evaluations on either side:
    series = trend + jump·1{s ≥ step} + drift + noise, with the engine's covariances integrated out. The
    trend holds a cubic and two fast decays. The jump is a Student t for each covariance; its two-sided
    tail is averaged over the covariances and multiplied by the number of steps and of series (Bonferroni).
    A jump that is found joins the trend, and the search starts again. Where the evaluation on either side
    of a jump explains more by standing out alone, it gets a coefficient of its own, and the search goes on.

    A jump that is spread over several evaluations is no jump here, but drift.
    """
    level = checked_level(level)
    s, h, r, _ = complete(entropy, reward, step)
    check_steps(s)
    columns = {"reward": r, "entropy": h}
    for name, values in columns.items():
        check_scale(name, values)
    found = [seam for name, values in columns.items() for seam in jumps_of(s, values, name, level)]
    return tuple(sorted(found, key=lambda seam: (seam.step, seam.series)))


def seam_steps(seams: Sequence[Seam], step: Any) -> tuple[float, ...]:
    """The steps to cut at: of seams fewer than five evaluations apart the clearest alone.

    Reward and entropy often answer to one event an evaluation apart; two cuts would leave a segment that
    nothing can be fitted to.
    """
    place = {seam: int(np.searchsorted(as_floats(step, "step"), seam.step)) for seam in seams}
    kept: list[int] = []
    for seam in sorted(seams, key=lambda seam: seam.p_value):
        if all(abs(place[seam] - other) >= SIDE for other in kept):
            kept.append(place[seam])
    return tuple(float(step[i]) for i in sorted(kept))


def jumps_of(step: FloatArray, values: FloatArray, series: str, level: float) -> list[Seam]:
    """The seams of one series, by forward search; as :func:`find_seams`, which looks at two."""
    if step.size < FEWEST_TO_SEARCH or np.ptp(values) <= 1e-13 * np.abs(values).max():
        return []
    # What a run does without a seam: slow changes, and the fast ones of its start.
    time = np.arange(step.size) / (step.size - 1)
    slow = np.polynomial.legendre.legvander(2.0 * time - 1.0, 3)
    trend = np.column_stack([slow, np.exp(-5.0 * time), np.exp(-20.0 * time)])
    place, found = np.arange(step.size), dict[int, float]()
    # Ten single evaluations that stand out are set aside at most.
    for _ in range(MOST_SEAMS + 10):
        best, chance = _clearest(step, values, trend, list(found))
        if chance >= FALSE_SEAM or len(found) == MOST_SEAMS:
            break
        # One evaluation that stands out looks like a jump on either side of it.
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
        Seam(series=series, step=float(step[i]), after=float(step[i - 1]), jump=jump, p_value=chance)
        for (i, chance), jump in zip(found.items(), jumps, strict=True)
    ]


def _clearest(
    step: FloatArray, values: FloatArray, trend: FloatArray, taken: Sequence[int]
) -> tuple[int, float]:
    """The step with the clearest jump, and its p-value over all steps and both series."""
    n = step.size
    # A run's start is steep: no seam is looked for in its first tenth.
    places = np.arange(max(SIDE, int(0.1 * n)), n - SIDE + 1)
    for seam in taken:
        places = places[np.abs(places - seam) >= SIDE]
    count = places.size
    if not count:
        return 0, 1.0
    # Of a long run those with the largest local change are tried. All are counted.
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
    """Number of the column with the first of the smallest chances, and that chance."""
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
        Covariances, averaged over with the weights that each column's own fit gives them.

    Notes
    -----
    The same as ``infer`` with p + 1 columns m times, for the price of whitening p + m columns once.
    """
    n, p = trend.shape
    ortho = np.linalg.qr(trend)[0]
    rest = np.column_stack([values, jumps])
    # Without the trend, and of length 1: small numbers, so that the normal equations lose no digits.
    rest -= ortho @ (ortho.T @ rest)
    rest /= np.linalg.norm(rest, axis=0)
    gains = filter_gains(step, grid)
    white = whiten(gains, np.column_stack([ortho, rest]))[0].transpose(2, 1, 0)
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
