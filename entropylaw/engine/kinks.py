"""One smooth decay, or a decay and a bend: evidence, a test whose size is right, and where the bend is.

    y(s) = c + A·g(s) + d·h(s; τ, γ) + drift + noise,        no bend: d = 0

with g a decay, of several families and time scales, and h a bent cable (Chiu, Lockhart & Routledge 2006,
doi:10.1198/016214505000001177): 0 before τ − γ, a slope of 1 after τ + γ, a parabola between; at γ = 0 a
hinge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from entropylaw.engine.grid import FloatArray, Grid, drift_points
from entropylaw.engine.whiten import Gains, filter_gains, whiten

PLACES = 16
"""Places of a bend in the test, evenly from :data:`FIRST` to :data:`LAST` of the run."""

FIRST, LAST = 0.1, 0.9

_LENGTHS, _SHARES = 6, (0.0, 0.3, 0.7)
"""The covariances: a coarse copy of the engine's grid, for it is summed over thousands of times."""

_COLUMNS = 256
"""Series looked at together."""

_LIGHT = 1e-4

_SLIGHT = 1e-24
"""Squared length of the part of a bend that no decay has, below which it counts as this."""


def coarse_grid(step: FloatArray) -> Grid:
    """Drift and noise for points at ``step``, shape (n,): the engine's grid, coarse."""
    span = float(step[-1] - step[0])
    lengths = np.geomspace(0.5 * span / (step.size - 1), 2.0 * span, _LENGTHS)
    return drift_points(step, lengths, np.array(_SHARES), np.full(len(_SHARES), 1.0 / len(_SHARES)))


FAMILIES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "exponential": lambda t, scale: np.exp(-t / scale),
    "exponential of the root": lambda t, scale: np.exp(-np.sqrt(t / scale)),
    "power 1/2": lambda t, scale: (1.0 + t / scale) ** -0.5,
    "power 1": lambda t, scale: 1.0 / (1.0 + t / scale),
    "power 2": lambda t, scale: (1.0 + t / scale) ** -2.0,
}
"""Decays over time in [0, 1] by a time scale, each to a floor of its own."""

SLOWEST = 1000.0
"""Longest time scale, in runs: a decay that slow is a straight line."""

RESOLUTION = 1e-3
"""Share of a curve's range that is taken for nothing: without any noise every curve would have a bend."""

_ZOOMS, _STEPS = 5, 9
"""Rounds in which the time scale of a family is looked for, and values tried in one."""

_AROUND = 3.5
"""Standard deviations of the time scale's logarithm, on either side of the likeliest, that count."""

_UNLIKELY = np.log(1e-4)
"""Evidence of a family, relative to the likeliest, below which it is left out."""


def likely_decays(step: FloatArray, series: FloatArray) -> FloatArray:
    """Decays that a series may be, closer together than the series can tell apart: shape (m, n).

    The time scale of each family is looked for from one spacing to :data:`SLOWEST` runs, and values about the
    likeliest are kept. A fixed grid of scales would do for a noisy series; in a clean one what lies between
    two scales looks like a bend.
    """
    time = (step - step[0]) / (step[-1] - step[0])
    grid = coarse_grid(step)
    gains = filter_gains(step, grid)
    low, high = np.log(1.0 / (time.size - 1)), np.log(SLOWEST)
    kept: list[FloatArray] = []
    tops: list[float] = []
    for column in FAMILIES.values():
        scales = np.linspace(low, high, 2 * _STEPS)
        for _ in range(_ZOOMS):
            log = _evidence(gains, grid, series, column(time[None], np.exp(scales)[:, None]))
            best, gap = int(np.argmax(log)), scales[1] - scales[0]
            centre, top = scales[best], float(log[best])
            scales = np.linspace(max(centre - gap, low), min(centre + gap, high), _STEPS)
            # Fine enough when the neighbours are as likely, and the curvature can be read off.
            if log[max(best - 1, 0)] > top - 0.5 and log[min(best + 1, log.size - 1)] > top - 0.5:
                break
        beside = 0.5 * (log[max(best - 1, 0)] + log[min(best + 1, log.size - 1)])
        sd = gap / np.sqrt(2.0 * max(top - beside, 1e-3))
        around = centre + sd * np.linspace(-_AROUND, _AROUND, _STEPS)
        kept.append(column(time[None], np.exp(np.unique(np.clip(around, low, high)))[:, None]))
        tops.append(top)
    likely = [found for found, top in zip(kept, tops, strict=True) if top - max(tops) > _UNLIKELY]
    return np.concatenate(likely)


def _unseen(series: FloatArray) -> FloatArray:
    """Sum of squares that series (n, b) may miss by without its counting, shape (b,)."""
    return np.asarray(series.shape[0] * (RESOLUTION * np.ptp(series, axis=0)) ** 2)


def _evidence(gains: Gains, grid: Grid, series: FloatArray, columns: FloatArray) -> FloatArray:
    """Log evidence of c + A·column for each of the columns (m, n), covariances summed over: shape (m,)."""
    n = series.size
    white = whiten(gains, np.concatenate([np.ones((1, n)), series[None], columns]).T)[0].transpose(2, 1, 0)
    one, y, each = white[:, 0, None], white[:, 1, None], white[:, 2:]
    length = (one**2).sum(axis=-1)
    # Two columns: what the constant leaves, by hand.
    x = each - (each * one).sum(axis=-1, keepdims=True) / length[..., None] * one
    left = y - (y * one).sum(axis=-1, keepdims=True) / length[..., None] * one
    own = np.maximum((x**2).sum(axis=-1), _SLIGHT)
    rss = (left**2).sum(axis=-1) - (x * left).sum(axis=-1) ** 2 / own + _unseen(series[:, None])
    plain = np.maximum(n * np.var(columns, axis=1), _SLIGHT)
    log = grid.log_prior[:, None] - 0.5 * gains.log_det[:, None] - 0.5 * np.log(length * own / plain)
    log = log - 0.5 * (n - 2) * np.log(np.maximum(rss, _SLIGHT))
    top = log.max(axis=0)
    return np.asarray(top + np.log(np.exp(log - top).sum(axis=0)))


def bend(time: FloatArray, place: float, half: float) -> FloatArray:
    """The bent cable with its centre at ``place`` and half-width ``half``, shape as ``time``."""
    if half <= 0:
        return np.maximum(time - place, 0.0)
    inside = (time - place + half) ** 2 / (4.0 * half)
    return np.where(np.abs(time - place) <= half, inside, np.maximum(time - place, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Null:
    """The smooth decay fitted to b series: grid points g, decays m.

    ``statistic`` (b,) is the log of the evidence for a bend; ``weight`` (g, m, b) the probability of each
    covariance and decay without one; ``rss`` (g, m, b) the residual sums of squares; ``bent_weight`` and
    ``bent_rss`` the same with a bend, wherever it fits best; ``white`` (g, b, n) the series, whitened.
    """

    statistic: FloatArray
    weight: FloatArray
    rss: FloatArray
    bent_weight: FloatArray
    bent_rss: FloatArray
    white: FloatArray


class Kinks:
    """What is the same for all series over the same steps with the same decays to choose from.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing, n ≥ 12.
    decays
        Shape (m, n), as :func:`likely_decays` finds them for one series.
    """

    def __init__(self, step: FloatArray, decays: FloatArray) -> None:
        self.step = step
        self.time = (step - step[0]) / (step[-1] - step[0])
        self.grid = coarse_grid(step)
        self.decays = decays
        self._gains = filter_gains(step, self.grid)
        n, m = step.size, len(decays)
        white = self.whitened(np.concatenate([np.ones((1, n)), decays, hinges(self.time)]).T)
        points = len(white)
        one = np.broadcast_to(white[:, None, 0], (points, m, n))
        self.basis, triangle = np.linalg.qr(np.stack([one, white[:, 1 : m + 1]], axis=-1))
        plain = np.linalg.qr(self._raw(), mode="r")
        self.cost = self._gains.log_det[:, None] + 2.0 * _log_diagonal(triangle)
        self.cost = self.cost - 2.0 * _log_diagonal(np.asarray(plain))
        bent = white[:, None, m + 1 :]
        left = bent - (bent @ self.basis) @ self.basis.swapaxes(-1, -2)
        self.added = left / np.linalg.norm(left, axis=-1, keepdims=True)
        self._roots: FloatArray | None = None

    @property
    def free(self) -> int:
        """Degrees of freedom that the smooth decay leaves."""
        return self.step.size - 2

    def whitened(self, columns: FloatArray) -> FloatArray:
        """Columns (n, c) whitened by every covariance, shape (g, c, n)."""
        return np.ascontiguousarray(whiten(self._gains, columns)[0].transpose(2, 1, 0))

    def null(self, series: FloatArray) -> Null:
        """Fit the smooth decay to series (n, b), and ask each for a bend."""
        parts = [self._null(series[:, i : i + _COLUMNS]) for i in range(0, series.shape[1], _COLUMNS)]
        return Null(
            statistic=np.concatenate([part.statistic for part in parts]),
            weight=np.concatenate([part.weight for part in parts], axis=-1),
            rss=np.concatenate([part.rss for part in parts], axis=-1),
            bent_weight=np.concatenate([part.bent_weight for part in parts], axis=-1),
            bent_rss=np.concatenate([part.bent_rss for part in parts], axis=-1),
            white=np.concatenate([part.white for part in parts], axis=1),
        )

    def _null(self, series: FloatArray) -> Null:
        white = self.whitened(series)
        points, m = self.cost.shape
        rss = np.empty((points, m, series.shape[1]))
        more, best = np.empty_like(rss), np.empty_like(rss)
        unseen = _unseen(series)
        for g in range(points):
            y = white[g].T
            rss[g] = (y**2).sum(axis=0) - ((self.basis[g].swapaxes(-1, -2) @ y) ** 2).sum(axis=1) + unseen
            gain = (self.added[g] @ y) ** 2 / rss[g][:, None]
            bent = -0.5 * self.free * np.log1p(-np.minimum(gain, 1.0 - 1e-12))
            top = bent.max(axis=1)
            more[g] = top + np.log(np.exp(bent - top[:, None]).mean(axis=1))
            best[g] = rss[g] * (1.0 - np.minimum(gain.max(axis=1), 1.0 - 1e-12))
        log = self.grid.log_prior[:, None, None] - 0.5 * self.cost[..., None] - 0.5 * self.free * np.log(rss)
        whole, bent_whole = _log_sum(log), _log_sum(log + more)
        return Null(
            statistic=bent_whole - whole,
            weight=np.exp(log - whole),
            rss=rss,
            bent_weight=np.exp(log + more - bent_whole),
            bent_rss=best,
            white=white,
        )

    def bent_weights(self, null: Null, bends: FloatArray) -> FloatArray:
        """Probability of every covariance, decay and bend of one series, given a bend: (g, m, k).

        ``bends`` has shape (k, n). The density of a bend's coefficient is per standard deviation of the part
        of it that the decay does not have, as in the comparison of forms.
        """
        y = null.white[:, 0, :, None]
        white = self.whitened(bends.T)
        plain = np.linalg.qr(self._raw())[0]
        plainly = (bends**2).sum(axis=-1) - ((bends @ plain) ** 2).sum(axis=-1)
        log = np.empty((*self.cost.shape, len(bends)))
        for g in range(len(self.cost)):
            shared = white[g] @ self.basis[g]
            own = np.maximum((white[g] ** 2).sum(axis=-1) - (shared**2).sum(axis=-1), _SLIGHT)
            seen = (white[g] @ y[g])[:, 0] - (shared @ (self.basis[g].swapaxes(-1, -2) @ y[g]))[..., 0]
            rss = null.rss[g, :, 0, None] * np.ones_like(own)
            rss = np.maximum(rss - seen**2 / own, 1e-12 * rss)
            cost = 0.5 * (np.log(own) - np.log(np.maximum(plainly, _SLIGHT)))
            log[g] = self.grid.log_prior[g] - 0.5 * self.cost[g, :, None] - cost
            log[g] -= 0.5 * (self.free - 1) * np.log(rss)
        return np.asarray(np.exp(log - _log_sum(log.reshape(-1, 1))[0]))

    def _raw(self) -> FloatArray:
        """Constant and decay for every decay, shape (m, n, 2)."""
        return np.stack([np.ones_like(self.decays), self.decays], axis=-1)

    def means(self, null: Null) -> FloatArray:
        """The smooth decay, averaged over covariances and shapes: shape (n, b)."""
        roots = self._unwhiten()
        total, whole = np.zeros(null.white.shape[:0:-1]), np.zeros(null.white.shape[1])
        for g, j in zip(*np.nonzero(null.weight.max(axis=-1) > _LIGHT), strict=True):
            q, weight = self.basis[g, j], null.weight[g, j]
            total += weight * (roots[g] @ (q @ (q.T @ null.white[g].T)))
            whole += weight
        return total / whole

    def draws(self, null: Null, mean: FloatArray, rng: np.random.Generator, count: int) -> FloatArray:
        """Series without a bend as like each of b series as can be: shape (n, b · count).

        Those of the first series come first. The decay is that of ``mean``, :meth:`means` of ``null``. The
        covariance is drawn by its probability over both answers, as likely as the evidence makes each: without
        a bend, one that is there passes for drift, and none would ever stand out from it; with a bend, one
        that is not there takes away from the drift.
        """
        roots = self._unwhiten()
        n, b = mean.shape
        made = np.empty((n, b, count))
        for i in range(b):
            probability, sd = self._covariances(null, i)
            chosen = rng.choice(probability.size, size=count, p=probability)
            noise = rng.standard_normal((n, count))
            for g in np.unique(chosen):
                here = chosen == g
                made[:, i, here] = mean[:, i, None] + sd[g] * (roots[g % len(roots)] @ noise[:, here])
        return made.reshape(n, b * count)

    def _covariances(self, null: Null, i: int) -> tuple[FloatArray, FloatArray]:
        """Probability and residual deviation of each covariance of series i, with a bend, then without: (2g,).

        A bend's coefficient costs log(n)/2 of its evidence, as a prior worth one point does (Kass & Wasserman
        1995, doi:10.1080/01621459.1995.10476592).
        """
        bent = 1.0 / (1.0 + np.exp(0.5 * np.log(self.step.size) - null.statistic[i]))
        weights = (bent * null.bent_weight[..., i], (1.0 - bent) * null.weight[..., i])
        squares = (null.bent_rss[..., i] / (self.free - 1), null.rss[..., i] / self.free)
        probability = np.concatenate([weight.sum(axis=1) for weight in weights])
        sums = [(weight * square).sum(axis=1) for weight, square in zip(weights, squares, strict=True)]
        sd = np.sqrt(np.concatenate(sums) / np.maximum(probability, _SLIGHT))
        return probability / probability.sum(), sd

    def _unwhiten(self) -> FloatArray:
        """Cholesky factors (g, n, n) of the covariances in σ²: what whitening undoes."""
        roots = self._roots
        if roots is None:
            gap = np.abs(self.step[:, None] - self.step)
            grid = self.grid
            each = grid.drift[:, None, None] * np.exp(-gap / grid.length[:, None, None])
            roots = np.asarray(np.linalg.cholesky(each + grid.noise[:, None, None] * np.eye(self.step.size)))
            self._roots = roots
        return roots


def hinges(time: FloatArray) -> FloatArray:
    """The hinges of the test, shape (:data:`PLACES`, n)."""
    return np.array([bend(time, place, 0.0) for place in np.linspace(FIRST, LAST, PLACES)])


def bend_grid(time: FloatArray, places: Iterable[float], halves: Sequence[float]) -> FloatArray:
    """Bent cables at every place with every half-width, shape (places · halves, n), halves fastest."""
    return np.array([bend(time, place, half) for place in places for half in halves])


def _log_diagonal(triangle: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.abs(np.diagonal(triangle, axis1=-2, axis2=-1))).sum(axis=-1))


def _log_sum(log: FloatArray) -> FloatArray:
    """Logarithm of the sum of exponentials over all axes but the last."""
    flat = log.reshape(-1, log.shape[-1])
    top = flat.max(axis=0)
    return np.asarray(top + np.log(np.exp(flat - top).sum(axis=0)))
