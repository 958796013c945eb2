"""One smooth decay, or a decay and a bend: evidence, a test whose size is right, and where the bend is.

    y(s) = c + A·g(s) + d·h(s; τ, γ) + drift + noise,        no bend: d = 0

with g a decay, of several families and time scales, and h a bent cable (Chiu, Lockhart & Routledge 2006,
doi:10.1198/016214505000001177): 0 before τ − γ, a slope of 1 after τ + γ, a parabola between; at γ = 0 a
hinge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from entropylaw.engine.decays import SLIGHT, coarse_grid, unseen
from entropylaw.engine.grid import FloatArray
from entropylaw.engine.whiten import filter_gains, whiten

PLACES = 16
"""Places of a bend in the test, evenly from :data:`FIRST` to :data:`LAST` of the run."""

FIRST, LAST = 0.1, 0.9

_COLUMNS = 256
"""Series looked at together."""

_LIGHT = 1e-4


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
        # Of each hinge: itself, what it shares with the decay, and the length of the rest.
        self.hinges = white[:, m + 1 :]
        self.shared = self.hinges[:, None] @ self.basis
        rest = self.hinges[:, None] - self.shared @ self.basis.swapaxes(-1, -2)
        self.length = np.maximum(np.linalg.norm(rest, axis=-1), np.sqrt(SLIGHT))
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
        slack = unseen(series)
        for g in range(points):
            y = white[g].T
            along = self.basis[g].swapaxes(-1, -2) @ y
            rss[g] = (y**2).sum(axis=0) - (along**2).sum(axis=1) + slack
            # In place: this is where the time goes, over thousands of simulated series.
            left = self.hinges[g] @ y - self.shared[g] @ along
            left /= self.length[g][..., None]
            left *= left
            left /= rss[g][:, None]
            np.maximum(np.subtract(1.0, left, out=left), 1e-12, out=left)
            least = left.min(axis=1)
            best[g] = rss[g] * least
            left /= least[:, None]
            np.exp(-0.5 * self.free * np.log(left, out=left), out=left)
            more[g] = np.log(left.mean(axis=1)) - 0.5 * self.free * np.log(least)
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
            own = np.maximum((white[g] ** 2).sum(axis=-1) - (shared**2).sum(axis=-1), SLIGHT)
            seen = (white[g] @ y[g])[:, 0] - (shared @ (self.basis[g].swapaxes(-1, -2) @ y[g]))[..., 0]
            rss = null.rss[g, :, 0, None] * np.ones_like(own)
            rss = np.maximum(rss - seen**2 / own, 1e-12 * rss)
            cost = 0.5 * (np.log(own) - np.log(np.maximum(plainly, SLIGHT)))
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
        heavy = null.weight.max(axis=-1) > _LIGHT
        for g in np.flatnonzero(heavy.any(axis=1)):
            q, weight = np.concatenate(self.basis[g, heavy[g]], axis=1), null.weight[g, heavy[g]]
            # The two columns of each decay have its weight.
            total += roots[g] @ (q @ (np.repeat(weight, 2, axis=0) * (q.T @ null.white[g].T)))
            whole += weight.sum(axis=0)
        return total / whole

    def draws(self, null: Null, mean: FloatArray, rng: np.random.Generator, count: int) -> FloatArray:
        """Series without a bend as like each of b series as can be: shape (n, b · count).

        Those of the first series come first. The decay is that of ``mean``, :meth:`means` of ``null``. The
        covariance is drawn by its probability over both answers, as likely as the evidence makes each:
        without a bend, one that is there passes for drift, and none would ever stand out from it; with a
        bend, one that is not there takes away from the drift.
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
        """Probability and residual deviation of each covariance of series i; with a bend, then without.

        Shape (2g,) each. A bend's coefficient costs log(n)/2 of its evidence, as a prior worth one point does
        (Kass & Wasserman 1995, doi:10.1080/01621459.1995.10476592).
        """
        bent = 1.0 / (1.0 + np.exp(0.5 * np.log(self.step.size) - null.statistic[i]))
        weights = (bent * null.bent_weight[..., i], (1.0 - bent) * null.weight[..., i])
        squares = (null.bent_rss[..., i] / (self.free - 1), null.rss[..., i] / self.free)
        probability = np.concatenate([weight.sum(axis=1) for weight in weights])
        sums = [(weight * square).sum(axis=1) for weight, square in zip(weights, squares, strict=True)]
        sd = np.sqrt(np.concatenate(sums) / np.maximum(probability, SLIGHT))
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
