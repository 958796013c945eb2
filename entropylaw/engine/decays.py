"""Smooth decays: the families of curves for an entropy, and those that are likely for a series."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import numpy as np

from entropylaw.engine.kalman import Gains, filter_gains, whiten
from entropylaw.engine.prior import TIED, Grid, drift_points, first_best
from entropylaw.results.arrays import FloatArray

_LENGTHS, _SHARES = 6, (0.0, 0.3, 0.7)
"""The covariances: coarser than the engine's grid, because the sum is computed thousands of times."""

SLIGHT = 1e-24
"""Least squared length of a bent cable orthogonalised against the decays."""

SLOWEST = 1000.0
"""Longest time scale, in runs: so slow a decay is a straight line."""

RESOLUTION = 1e-3
"""Share of a curve's range that counts as noise: without noise every curve would have a change point."""

_COARSE = {2: (18, 5), 3: (14, 4, 4)}
"""Points of the first grid of a family, by its number of parameters: the time scale's first."""

_STILL = 1e-12
"""Fall of a decay that counts as none."""

_WIDE, _NARROW = (-2.5, -1.2, 0.0, 1.2, 2.5), (-1.8, 0.0, 1.8)
_AROUND = {2: (_WIDE, _WIDE), 3: (_WIDE, _NARROW, _NARROW)}
"""Standard deviations about the likeliest at which decays are kept, along the least known axis first."""


def stretched(time: FloatArray, theta: FloatArray) -> FloatArray:
    """Stretched exponentials."""
    scale, power = np.exp(theta.T[..., None])
    return np.asarray(np.exp(-((time / scale) ** power)))


def power_law(time: FloatArray, theta: FloatArray) -> FloatArray:
    """Powers of 1 + time / scale."""
    scale, power = np.exp(theta.T[..., None])
    return np.asarray((1.0 + time / scale) ** -power)


def logistic(time: FloatArray, theta: FloatArray) -> FloatArray:
    """Falls about a middle."""
    scale, place = np.exp(theta[:, :1]), theta[:, 1:]
    return np.asarray(1.0 / (1.0 + np.exp(np.clip((time - place) / scale, -500.0, 500.0))))


def two_exponentials(time: FloatArray, theta: FloatArray) -> FloatArray:
    """Sums of two exponentials: two kinds of tokens or prompts, learnt at different rates."""
    scale, share, times = theta.T[..., None]
    scale, share, times = np.exp(scale), 1.0 / (1.0 + np.exp(-share)), np.exp(times)
    return np.asarray(share * np.exp(-time / scale) + (1.0 - share) * np.exp(-time / (times * scale)))


Family = Callable[[FloatArray, FloatArray], FloatArray]
Bounds = tuple[tuple[float, float], ...]

FAMILIES: dict[Family, Bounds] = {
    stretched: ((np.log(0.25), np.log(3.0)),),
    power_law: ((np.log(0.01), np.log(8.0)),),
    logistic: ((0.0, 0.6),),
    two_exponentials: ((-3.0, 3.0), (np.log(2.0), np.log(100.0))),
}
"""Families of decays over time in [0, 1], each down to a constant: a function maps time (n,) and
parameters (m, k) to decays (m, n). The first parameter is the logarithm of a time scale, from one spacing to
:data:`SLOWEST` runs; the table has the bounds of the others. Exponents go from 0.25 to 3 and 0.01 (a
logarithm) to 8; middles up to 0.6 of the run; shares of the faster exponential from 0.05 to 0.95, and the
other is 2 to 100 times slower. A decay outside these families may look like a change point: the share of
false ones is in ``docs/benchmarks/phases.md``."""


def coarse_grid(step: FloatArray) -> Grid:
    """Drift and noise for points at ``step``, shape (n,): the engine's grid, coarse."""
    span = float(step[-1] - step[0])
    lengths = np.geomspace(0.5 * span / (step.size - 1), 2.0 * span, _LENGTHS)
    return drift_points(step, lengths, np.array(_SHARES), np.full(len(_SHARES), 1.0 / len(_SHARES)))


def likely_decays(step: FloatArray, series: FloatArray, cable: FloatArray | None = None) -> FloatArray:
    """Likely decays of a series, closer together than the series can resolve: shape (m, n).

    Each goes from 1 at the first point to 0 at the last; those that do not move are left out.
    ``cable`` (n,) is a bent cable to fit together with the decay: a decay fitted alone would absorb it.
    The parameters of each family are optimised, and values about the optimum are kept. A fixed grid would
    be enough for a noisy series; in one without noise a curve between two grid points looks like a change
    point.
    """
    evidence = _Evidence(step, series, cable)
    kept, logs = [], []
    for family, bounds in FAMILIES.items():
        decays = family(evidence.time, _likely(family, bounds, evidence))
        fall = decays[:, :1] - decays[:, -1:]
        moves = fall[:, 0] > _STILL
        # The normalisation changes no fit, but its numerical accuracy.
        kept.append((decays[moves] - decays[moves, -1:]) / fall[moves])
        logs.append(evidence.of(kept[-1]))
    log = np.concatenate(logs)
    return np.asarray(np.concatenate(kept)[log - log.max() > np.log(1e-4)])


def _likely(family: Family, bounds: Bounds, evidence: _Evidence) -> FloatArray:
    """Parameters (m, k) about the likeliest of a family: the best on a coarse grid, then moves from there."""
    low, high = np.array([(-np.log(evidence.time.size - 1.0), np.log(SLOWEST)), *bounds]).T
    axes = [np.linspace(*ends) for ends in zip(low, high, _COARSE[low.size], strict=True)]
    tried = np.array(list(product(*axes)))
    best = tried[first_best(evidence.of(family(evidence.time, tried)))]
    reach = np.array([0.5 * (axis[1] - axis[0]) for axis in axes])
    around = np.array(list(product((-1.0, 0.0, 1.0), repeat=low.size)))
    single = (around != 0).sum(axis=1) == 1
    for _ in range(40):
        near = np.clip(best + reach * around, low, high)
        log = evidence.of(family(evidence.time, near))
        middle, top = log[len(around) // 2], int(first_best(log))
        if log[top] > middle + TIED:
            best = near[top]
            continue
        drop = np.array([middle - log[single & (around[:, i] != 0)].mean() for i in range(low.size)])
        # The search ends where the evidence of all neighbours is less than so far below the best.
        near_enough = drop < 0.5
        if near_enough.all():
            break
        reach = np.where(near_enough, reach, reach / 2.0)
    # A paraboloid through the neighbours: time scale and shape are strongly correlated, so that either alone
    # seems better known than it is, and the offsets follow the axes of the evidence's ridges.
    value = dict(zip(map(tuple, around.astype(int)), log, strict=True))
    unit = np.eye(low.size, dtype=int)
    centre = value[(0,) * low.size]
    curvature = np.diag([2.0 * centre - value[tuple(one)] - value[tuple(-one)] for one in unit])
    for i, j in permutations(range(low.size), 2):
        signs = product((1, -1), repeat=2)
        curvature[i, j] = -0.25 * sum(a * b * value[tuple(a * unit[i] + b * unit[j])] for a, b in signs)
    # Rounded: where the evidence is flat, its axes would be those of rounding errors.
    stiff, ridges = np.linalg.eigh(np.round(curvature, 6))
    # No deviation is longer than a quarter of the range between the bounds.
    longest = (0.25 * (high - low) / reach / np.maximum(np.abs(ridges.T), SLIGHT)).min(axis=1)
    sd = np.minimum(1.0 / np.sqrt(np.maximum(stiff, SLIGHT)), longest)
    offsets = (np.array(list(product(*_AROUND[low.size]))) * sd) @ ridges.T * reach
    # Rounded, so that two that differ by rounding errors are one.
    return np.unique(np.round(np.clip(best + offsets, low, high), 9), axis=0)


class _Evidence:
    """Log evidence of c + A·g (+ d·h) for decays g of one series, covariances summed over."""

    def __init__(self, step: FloatArray, series: FloatArray, cable: FloatArray | None) -> None:
        self.time = (step - step[0]) / (step[-1] - step[0])
        self._grid = coarse_grid(step)
        self._gains: Gains = filter_gains(step, self._grid)
        self._slack = float(unseen(series[:, None])[0])
        known = np.ones((1, step.size)) if cable is None else np.stack([np.ones(step.size), cable])
        self._free = step.size - len(known) - 1
        self._plain = np.linalg.qr(known.T)[0]
        self._basis, triangle = np.linalg.qr(whiten(self._gains, known.T).swapaxes(-1, -2))
        self._cost = log_diagonal(triangle)
        self._residual = self._orthogonalised(whiten(self._gains, series[:, None]))
        self._rss = (self._residual**2).sum(axis=-1)

    def of(self, decays: FloatArray) -> FloatArray:
        """Shape (m,), for decays (m, n)."""
        fall = decays[:, :1] - decays[:, -1:]
        # A slow decay minus its constant is small: scaled first, it loses no digits.
        decays = (decays - decays[:, -1:]) / np.where(fall > _STILL, fall, 1.0)
        x = self._orthogonalised(whiten(self._gains, decays.T))
        own = np.maximum((x**2).sum(axis=-1), SLIGHT)
        rss = self._rss - (x * self._residual).sum(axis=-1) ** 2 / own + self._slack
        plainly = (decays**2).sum(axis=1) - ((decays @ self._plain) ** 2).sum(axis=1)
        log = self._grid.log_prior[:, None] - 0.5 * self._gains.log_det[:, None] - self._cost[:, None]
        log = log - 0.5 * np.log(own / np.maximum(plainly, SLIGHT))
        log = log - 0.5 * self._free * np.log(np.maximum(rss, SLIGHT))
        return log_sum(log)

    def _orthogonalised(self, white: FloatArray) -> FloatArray:
        """Whitened rows (g, c, n) orthogonalised against the constant and the bent cable."""
        return np.asarray(white - (white @ self._basis) @ self._basis.swapaxes(-1, -2))


def log_diagonal(triangle: FloatArray) -> FloatArray:
    """Sum of log |diagonal| of each triangular matrix (…, k, k): half the log determinant of its square."""
    return np.asarray(np.log(np.abs(np.diagonal(triangle, axis1=-2, axis2=-1))).sum(axis=-1))


def log_sum(log: FloatArray) -> FloatArray:
    """Logarithm of the sum of exponentials over all axes but the last."""
    flat = log.reshape(-1, log.shape[-1])
    top = flat.max(axis=0)
    return np.asarray(top + np.log(np.exp(flat - top).sum(axis=0)))


def unseen(series: FloatArray) -> FloatArray:
    """Sum of squares of series (n, b) that counts as noise, shape (b,)."""
    return np.asarray(series.shape[0] * (RESOLUTION * np.ptp(series, axis=0)) ** 2)


def fallen(time: FloatArray, decays: FloatArray, share: float) -> FloatArray:
    """Time at which each decay (m, n) has completed ``share`` of its fall within the run, shape (m,)."""
    done = (decays[:, :1] - decays) / np.maximum(decays[:, :1] - decays[:, -1:], SLIGHT)
    after = np.argmax(done >= share, axis=1)
    rows = np.arange(len(decays))
    before = np.maximum(after - 1, 0)
    low, high = done[rows, before], done[rows, after]
    part = np.clip((share - low) / np.maximum(high - low, SLIGHT), 0.0, 1.0)
    return np.asarray(time[before] + part * (time[after] - time[before]))
