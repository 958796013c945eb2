"""Prior on the covariance of a residual whose memory may be long, or whose scale may change along the run.

Three kinds of covariance, in units of one variance:

- **short**: a drift of one length and white noise (:func:`~entropylaw.engine.prior.drift_grid`);
- **long**: a drift that is a ladder of lengths from below one evaluation to four spans of the run, with
  weights that fall as a power of the length, and white noise. A sum of AR(1) processes with such weights has
  long memory (Granger 1980, doi:10.1016/0304-4076(80)90092-5);
- **scaled**: short, with the scale of the noise, or of drift and noise, proportional to exp(γ·z) along the
  law's column or the step.

A run excludes most of them. :func:`adapted_grid` computes the likelihood of each once, and leaves those out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.kalman import cross_products
from entropylaw.engine.prior import Grid, drift_grid
from entropylaw.results.mixture import normalised

P_LONG = 0.41
"""Prior probability of long memory: its odds, 0.7, are the largest that the residuals of real runs allow, at
95 % (``docs/benchmarks/memory.md``)."""

LOWEST, HIGHEST = (0.4, 2.5), 4.0
"""Lowest rung of a ladder in mean spacings, and the highest in spans of the run."""

EXPONENTS = (0.1, 0.3, 0.6)
"""α: the weights of the rungs are length^−α; the memory parameter d of such a drift is (1 − α)/2."""

NOISE = (0.0, 0.1, 0.3, 0.55)
"""Shares of the noise beside a ladder."""

RUNGS, FACTOR = 5, 6.0
"""Most rungs of a ladder, and the factor between them where fewer are enough."""

P_CONSTANT = 0.4
"""Prior probability that the scale is constant, given that memory is short."""

CHANGE = 2.0
"""γ where it is not: from the highest to the lowest z the scale falls by a factor of exp(2) = 7.4. A scale
that rises is not among the covariances: without it the intervals are too wide, and not too narrow."""

P_ALONG_LAW, P_NOISE_ONLY = 0.6, 0.3
"""Probabilities, where the scale changes: that z is the law's column, and not the step; that only the noise
changes, and not the drift."""

LEFT_OUT = 0.01
"""Largest posterior probability, under any curve, of all covariances together that are left out."""


SOME, FACTOR_OF_ROWS, NEIGHBOURS = 256, 4, 16
"""Evaluations of a long run from which covariances are excluded first, the factor to the next such number,
and how many of them are neighbours."""

IMPOSSIBLE = 1e-30
"""Largest posterior probability, given some of the evaluations and under any curve, of all covariances
together that are left out before the others are seen. What all evaluations say is a martingale: under the
model the expectation of that probability stays what it is, so that with a probability of at most
``IMPOSSIBLE`` / ``LEFT_OUT``, 10⁻²⁸, it would be large enough for one of them to stay."""


def long_memory_grid(step: FloatArray) -> Grid:
    """Ladders with noise, equally probable, for evaluations at ``step`` (n,)."""
    span = float(step[-1] - step[0])
    lowest = np.array(LOWEST) * span / (step.size - 1)
    drifts = [_ladder(low, HIGHEST * span, exponent) for low in lowest for exponent in EXPONENTS]
    length, weight = (np.repeat(np.array(each).T, len(NOISE), axis=1) for each in zip(*drifts, strict=True))
    noise = np.tile(NOISE, len(drifts))
    return Grid(
        length=(length * weight).sum(axis=0),
        drift=1.0 - noise,
        noise=noise,
        log_prior=np.full(noise.size, -np.log(noise.size)),
        scaled=True,
        rungs=(length, weight),
    )


def _ladder(lowest: float, highest: float, exponent: float) -> tuple[FloatArray, FloatArray]:
    """Lengths and weights of the rungs, both (:data:`RUNGS`,), with weights of 0 where fewer are enough."""
    rungs = min(RUNGS, int(np.ceil(np.log(highest / lowest) / np.log(FACTOR))) + 1)
    length, weight = np.full(RUNGS, highest), np.zeros(RUNGS)
    length[:rungs] = np.geomspace(lowest, highest, rungs)
    weight[:rungs] = length[:rungs] ** -exponent
    return length, weight / weight.sum()


def scaled_grid(grid: Grid, along: FloatArray) -> Grid:
    """Every point of a grid with every change of scale along z, the two columns ``along`` (n, 2)."""
    z = (along - along.mean(axis=0)) / np.ptp(along, axis=0)
    # Along the law's column and the step: noise alone, then drift and noise.
    noise, drift = np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), np.array([[0, 1, 0, 0], [0, 0, 0, 1]])
    chance = np.outer([P_ALONG_LAW, 1.0 - P_ALONG_LAW], [P_NOISE_ONLY, 1.0 - P_NOISE_ONLY]).ravel()
    points = grid.length.size
    every = grid.points(np.tile(np.arange(points), chance.size))
    return replace(
        every,
        log_prior=every.log_prior + np.repeat(np.log(chance), points),
        along=z,
        drift_change=np.repeat(CHANGE * drift, points, axis=1),
        noise_change=np.repeat(CHANGE * noise, points, axis=1),
    )


def whole_grid(step: FloatArray, along: FloatArray) -> Grid:
    """Short, long and scaled covariances for evaluations at ``step`` (n,), the scale ``along`` (n, 2)."""
    short, long = drift_grid(step), long_memory_grid(step)
    kinds = (short, long, scaled_grid(short, along))
    chances = ((1.0 - P_LONG) * P_CONSTANT, P_LONG, (1.0 - P_LONG) * (1.0 - P_CONSTANT))
    return _joined(
        [
            replace(kind, log_prior=kind.log_prior + np.log(chance))
            for kind, chance in zip(kinds, chances, strict=True)
        ]
    )


def _joined(kinds: Sequence[Grid]) -> Grid:
    """Grids as one."""
    names = ("length", "drift", "noise", "log_prior")
    arrays: dict[str, Any] = {name: np.concatenate([getattr(kind, name) for kind in kinds]) for name in names}
    points, start = arrays["length"].size, 0
    length, weight = np.ones((RUNGS, points)), np.zeros((RUNGS, points))
    length[0], weight[0] = arrays["length"], 1.0
    changes: dict[str, Any] = {name: np.zeros((2, points)) for name in ("drift_change", "noise_change")}
    for kind in kinds:
        reach = slice(start, start + kind.length.size)
        if kind.rungs is not None:
            length[:, reach], weight[:, reach] = kind.rungs
        if kind.along is not None:
            for name, change in changes.items():
                change[:, reach] = getattr(kind, name)
        start = reach.stop
    along = next(kind.along for kind in kinds if kind.along is not None)
    return Grid(**arrays, **changes, along=along, scaled=True, rungs=(length, weight))


def adapted_grid(step: FloatArray, curve: FloatArray, reward: FloatArray, along: FloatArray) -> Grid:
    """The covariances of the whole prior that a run does not exclude.

    A covariance stays if it is among the most probable ones under the first 1, 2, … or all columns of
    ``curve``. So functional forms that leave more or less of the reward to the residual share one grid.

    Parameters
    ----------
    step, reward
        Shape (n,), steps strictly increasing.
    curve
        Shape (n, k), independent columns of the reward's expectation, the first constant.
    along
        Shape (n, 2): the law's column, and the step turned so that it falls, too; neither is constant.

    Returns
    -------
    A grid whose prior probabilities add up to less than 1 by those of the covariances that were left out.
    """
    grid, rows = whole_grid(step, along), SOME
    while 2 * rows <= step.size:
        some = spread_rows(step.size, rows)
        grid = _probable(step[some], curve[some], reward[some], grid, IMPOSSIBLE, some)
        rows *= FACTOR_OF_ROWS
    return _probable(step, curve, reward, grid, LEFT_OUT)


def spread_rows(n: int, rows: int) -> IntArray:
    """Numbers of about so many of n evaluations: neighbours, :data:`NEIGHBOURS` each, all along the run."""
    starts = np.linspace(0, n - NEIGHBOURS, rows // NEIGHBOURS).astype(int)
    return np.unique(starts[:, None] + np.arange(NEIGHBOURS))


def _probable(
    step: FloatArray,
    curve: FloatArray,
    reward: FloatArray,
    grid: Grid,
    left_out: float,
    some: IntArray | None = None,
) -> Grid:
    """The points without the least probable ones of ``left_out`` together, under each curve.

    With ``some``, the numbers of these evaluations, they are all that is known.
    """
    deviation = reward - reward.mean()
    scale = max(float(np.abs(deviation).max()), np.finfo(float).tiny)
    columns = np.column_stack([np.linalg.qr(curve)[0], deviation / scale])
    kept = np.zeros(grid.length.size, dtype=bool)
    for log_posterior in _log_posteriors(step, columns, grid if some is None else grid.at(some)):
        order = np.argsort(log_posterior, kind="stable")
        mass = np.cumsum(normalised(log_posterior)[0][order])
        kept[order[mass > left_out]] = True
    return grid.points(np.flatnonzero(kept))


def _log_posteriors(step: FloatArray, columns: FloatArray, grid: Grid) -> list[FloatArray]:
    """Log posterior of each point, not normalised, given the first 1, 2, … or all columns but the last.

    The last one is the reward, the others are orthonormal. The restricted likelihoods come from one
    elimination, column by column.
    """
    products = cross_products(step, columns[None], grid)
    rest, log_det, found = products.gram[0], products.log_det, []
    for p in range(1, columns.shape[1]):
        pivot = rest[:, 0, 0]
        log_det = log_det + np.log(pivot)
        rest = rest[:, 1:, 1:] - rest[:, 1:, :1] * rest[:, :1, 1:] / pivot[:, None, None]
        rss = np.maximum(rest[:, -1, -1], np.finfo(float).tiny)
        found.append(grid.log_prior - 0.5 * log_det - 0.5 * (step.size - p) * np.log(rss))
    return found
