"""Whitening by a Kalman filter: O(n) per grid point, for all grid points and all columns at once.

An Ornstein–Uhlenbeck drift observed with white noise is a one-dimensional state-space model, so that the
Kalman recursion (Kalman 1960, doi:10.1115/1.3662552) turns any column into its standardised
innovations: the same numbers as a triangular solve with the Cholesky factor of the covariance, without
forming an n × n matrix. Steps may be unevenly spaced. With decay ρ from one step to the next the
innovations obey

    w[t] = x[t] − ρ·x[t−1] + ρ·(noise / innovation variance)[t−1]·w[t−1],

of which only the last term needs a loop. Cross products are summed block by block, so that memory does not
grow with n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from entropylaw.engine.prior import Grid
from entropylaw.results.arrays import FloatArray

_CELLS = 400_000
"""Numbers held at once while whitening: what fits in a core's own cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gains:
    """Coefficients of the filter at some steps for each grid point; independent of the data.

    ``decay``, ``carry`` and ``inverse_sd`` have shape (n, g): ρ, the factor of the previous innovation, and
    one over the innovation's standard deviation. ``noise_share`` (g,) is noise over innovation variance
    at the last of the steps, ``last_variance`` (g,) the drift's variance there given the data, ``log_det``
    (g,) the log-determinant of the steps' covariance given the steps before.
    """

    decay: FloatArray
    carry: FloatArray
    inverse_sd: FloatArray
    noise_share: FloatArray
    last_variance: FloatArray
    log_det: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Products:
    """Cross products of whitened columns, for a batch of b problems of c columns each.

    ``gram`` has shape (b, g, c, c); ``last`` (b, g, c) is the filter's estimate of the drift at the last
    step if the column were the residual, linear in the column; ``log_det`` and ``last_variance`` (g,) are
    the covariance's log-determinant and the drift's variance at the last step given the data.
    """

    gram: FloatArray
    last: FloatArray
    log_det: FloatArray
    last_variance: FloatArray


def filter_gains(step: FloatArray, grid: Grid, *, before: Gains | None = None) -> Gains:
    """Run the variance recursion at ``step`` (n,), strictly increasing, for every grid point.

    ``grid.errors`` is ignored; ``grid.floor``, a known noise variance per step, has the length of ``step``.
    With ``before``, the gains of the previous block, the first step is the last of that block, and is not
    filtered again.
    """
    gap = np.diff(step) if before is not None else np.diff(step, prepend=step[0])
    n, points = gap.size, grid.length.size
    rate = -gap[:, None] / grid.length
    decay = np.exp(rate)
    random_walk = np.isinf(grid.length[0])
    added = grid.drift * gap[:, None] if random_walk else -grid.drift * np.expm1(2.0 * rate)
    # A random walk may start with any variance: the constant column absorbs its first level.
    first = np.ones(points) if random_walk else grid.drift
    squared = decay**2
    noise = np.broadcast_to(grid.noise, (n, points))
    if grid.floor is not None:
        noise = noise + grid.floor[-n:, None]
    innovation, share = np.empty((n, points)), np.empty((n, points))
    variance = first if before is None else before.last_variance
    for t in range(n):
        ahead = squared[t] * variance
        ahead += added[t]
        if before is None and t == 0:
            ahead = first
        np.add(ahead, noise[t], out=innovation[t])
        np.divide(noise[t], innovation[t], out=share[t])
        variance = ahead * share[t]
    shares = np.vstack([np.zeros(points) if before is None else before.noise_share, share[:-1]])
    return Gains(
        decay=decay,
        carry=decay * shares,
        inverse_sd=1.0 / np.sqrt(innovation),
        noise_share=share[-1],
        last_variance=variance,
        log_det=np.log(innovation).sum(axis=0),
    )


def whiten(gains: Gains, columns: FloatArray) -> FloatArray:
    """Columns (n, c) whitened by every covariance, shape (g, c, n).

    Row [k, i] is L⁻¹ @ columns[:, i] for the k-th covariance L Lᵀ.
    """
    innovations = _innovations(gains, np.concatenate([np.zeros((1, columns.shape[1])), columns]), None)
    return np.ascontiguousarray((innovations * gains.inverse_sd[:, :, None]).transpose(1, 2, 0))


def cross_products(step: FloatArray, columns: FloatArray, grid: Grid) -> Products:
    """Whiten a batch of problems, ``columns`` (b, n, c) at ``step`` (n,), and multiply the columns of each.

    The grid's error covariance enters by Woodbury's identity. The filter's last state stays that of the
    drift alone.
    """
    batch, n, width = columns.shape
    if grid.errors is not None:
        errors, k = grid.errors, grid.errors.root.shape[1]
        both = np.concatenate([columns, np.broadcast_to(errors.root, (batch, n, k))], axis=2)
        products = cross_products(step, both, replace(grid, errors=None))
        own, mixed = products.gram[..., width:, width:], products.gram[..., width:, :width]
        squared = errors.slope[:, None, None] ** 2
        inner = squared * own + errors.variance[:, None, None] * np.eye(k)
        removed = squared * (mixed.swapaxes(-1, -2) @ np.linalg.solve(inner, mixed))
        return replace(
            products,
            gram=products.gram[..., :width, :width] - removed,
            last=products.last[..., :width],
            # The root is the same for the whole batch, and so is its part of the determinant.
            log_det=products.log_det + (np.linalg.slogdet(inner[0])[1] - k * np.log(errors.variance)),
        )
    points = grid.length.size
    # A slice of the batch and a block of steps that fit in the cache together.
    together = max(1, min(batch, _CELLS // (64 * width * points)))
    rows = max(16, _CELLS // (together * width * points))
    gram = np.zeros((batch, points, width, width))
    last = np.empty((batch, points, width))
    final: list[FloatArray | None] = [None] * -(-batch // together)
    log_det = np.zeros(points)
    for start, stop, gains in _blocks(step, grid, rows):
        log_det += gains.log_det
        for i, low in enumerate(range(0, batch, together)):
            part = columns[low : low + together]
            # The row before the block; before the first block it is zero, and its decay is not used.
            padded = part[:, start - 1 : stop] if start else np.pad(part[:, :stop], ((0, 0), (1, 0), (0, 0)))
            white = _innovations(gains, padded.transpose(1, 0, 2).reshape(stop - start + 1, -1), final[i])
            final[i] = ended = white[-1].copy()
            white *= gains.inverse_sd[:, :, None]
            cube = white.reshape(stop - start, points, len(part), width)
            gram[low : low + together] += cube.transpose(2, 1, 3, 0) @ cube.transpose(2, 1, 0, 3)
            kept = gains.noise_share[:, None, None] * ended.reshape(points, len(part), width)
            last[low : low + together] = part[:, stop - 1, None, :] - kept.transpose(1, 0, 2)
    return Products(gram=gram, last=last, log_det=log_det, last_variance=gains.last_variance)


def _blocks(step: FloatArray, grid: Grid, rows: int) -> Iterator[tuple[int, int, Gains]]:
    """Start, end and gains of blocks of ``rows`` steps."""
    floor = grid.floor
    if step.size <= rows:
        # Gains of short runs are cached for the next problem with the same steps.
        known = b"" if floor is None else floor.tobytes()
        arrays = (step, grid.length, grid.drift, grid.noise)
        yield 0, step.size, _cached_gains(*(array.tobytes() for array in arrays), known)
        return
    before: Gains | None = None
    steady, filtered = False, np.empty(0)
    for start in range(0, step.size, rows):
        reach = slice(max(start - 1, 0), start + rows)
        gap = np.diff(step[reach])
        if not (steady and np.array_equal(gap, filtered)):
            gains = filter_gains(step[reach], grid.at(reach), before=before)
            # With even steps the gains converge, up to rounding, and the next block can reuse them.
            even = start > 0 and floor is None and np.ptp(gap) == 0
            steady = bool(even and np.allclose(gains.carry[0], gains.carry[-1], rtol=1e-14, atol=0.0))
            before, filtered = gains, gap
        yield start, min(start + rows, step.size), gains


@lru_cache(maxsize=8)
def _cached_gains(step: bytes, length: bytes, drift: bytes, noise: bytes, floor: bytes) -> Gains:
    """Gains of a short run, which the law and its rivals need one after the other."""
    parts = [np.frombuffer(part) if part else None for part in (length, drift, noise, floor)]
    names = ("length", "drift", "noise", "floor")
    grid = Grid(**dict(zip(names, parts, strict=True)), log_prior=np.zeros(1), scaled=True)  # type: ignore[arg-type]
    return filter_gains(np.frombuffer(step), grid)


def _innovations(gains: Gains, columns: FloatArray, before: FloatArray | None) -> FloatArray:
    """Innovations, shape (n, g, c), of columns (n + 1, c) whose first row is the step before.

    ``before`` (g, c) holds that step's innovations.
    """
    found = gains.decay[:, :, None] * columns[:-1, None, :]
    np.subtract(columns[1:, None, :], found, out=found)
    carry = gains.carry[:, :, None]
    if before is not None:
        found[0] += carry[0] * before
    scratch = np.empty(found.shape[1:])
    for t in range(1, len(found)):
        np.multiply(carry[t], found[t - 1], out=scratch)
        found[t] += scratch
    return found
