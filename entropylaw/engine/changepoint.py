"""Change point of a decaying curve: the evidence for one, simulated null curves, and its posterior.

    y(s) = c + A·g(s) + d·h(s; τ, γ) + drift + noise,        no change point: d = 0

with g a decay, of several families and time scales, and h a bent cable (Chiu, Lockhart & Routledge 2006,
doi:10.1198/016214505000001177): 0 before τ − γ, a slope of 1 after τ + γ, a parabola between; at γ = 0 a
broken stick.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from entropylaw.engine.decays import SLIGHT, coarse_grid, log_diagonal, log_sum, unseen
from entropylaw.engine.kalman import filter_gains, whiten
from entropylaw.results.arrays import FloatArray
from entropylaw.results.mixture import Mixture

PLACES = 16
"""Candidate change points of the test, evenly from :data:`FIRST` to :data:`LAST` of the run."""

FIRST, LAST = 0.1, 0.9

# Series per block of work, and combinations kept in the posterior of curves.
_COLUMNS, _MOST = 256, 600


def bent_cable(time: FloatArray, place: float, half: float) -> FloatArray:
    """The bent cable with change point ``place`` and half-width ``half``, shape as ``time``."""
    if half <= 0:
        return np.maximum(time - place, 0.0)
    inside = (time - place + half) ** 2 / (4.0 * half)
    return np.where(np.abs(time - place) <= half, inside, np.maximum(time - place, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Null:
    """The smooth decay fitted to b series: grid points g, decays m.

    ``statistic`` (b,) is the log of the evidence for a change point; ``weight`` (g, m, b) the probability of
    each covariance and decay without one; ``rss`` (g, m, b) the residual sums of squares; ``bent_weight`` and
    ``bent_rss`` the same with the bent cable that fits best; ``white`` (g, b, n) the series, whitened.
    """

    statistic: FloatArray
    weight: FloatArray
    rss: FloatArray
    bent_weight: FloatArray
    bent_rss: FloatArray
    white: FloatArray


class ChangePointDesign:
    """Whitened designs for all series over the same steps with the same candidate decays.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing, n ≥ 12.
    decays
        Shape (m, n), as :func:`likely_decays` finds them for one series.

    ``free`` are the residual degrees of freedom of a smooth decay.
    """

    def __init__(self, step: FloatArray, decays: FloatArray) -> None:
        self.step, self.decays, self.grid = step, decays, coarse_grid(step)
        self.time = (step - step[0]) / (step[-1] - step[0])
        self.gains = filter_gains(step, self.grid)
        n, m = step.size, len(decays)
        self.free = n - 2
        sticks = [bent_cable(self.time, place, 0.0) for place in np.linspace(FIRST, LAST, PLACES)]
        white = whiten(self.gains, np.concatenate([np.ones((1, n)), decays, sticks]).T)
        one = np.broadcast_to(white[:, None, 0], (len(white), m, n))
        self.basis, triangle = np.linalg.qr(np.stack([one, white[:, 1 : m + 1]], axis=-1))
        # Orthonormal constant and decay for every decay, shape (m, n, 2).
        self._plain, plain = np.linalg.qr(np.stack([np.ones_like(decays), decays], axis=-1))
        self.cost = self.gains.log_det[:, None] + 2.0 * log_diagonal(triangle) - 2.0 * log_diagonal(plain)
        # Of each broken stick: itself, its projection on the decay, and the length of the remainder.
        self.sticks = white[:, m + 1 :]
        self.shared = self.sticks[:, None] @ self.basis
        rest = self.sticks[:, None] - self.shared @ self.basis.swapaxes(-1, -2)
        self.length = np.maximum(np.linalg.norm(rest, axis=-1), np.sqrt(SLIGHT))

    @cached_property
    def _roots(self) -> FloatArray:
        """Cholesky factors (g, n, n) of the covariances in σ², the inverse of whitening."""
        gap = np.abs(self.step[:, None] - self.step)
        each = self.grid.drift[:, None, None] * np.exp(-gap / self.grid.length[:, None, None])
        noise = self.grid.noise[:, None, None] * np.eye(self.step.size)
        return np.asarray(np.linalg.cholesky(each + noise))

    def null(self, series: FloatArray) -> Null:
        """Fit the smooth decay to series (n, b), and compute each one's evidence for a change point."""
        white = whiten(self.gains, series)
        rss = np.empty((*self.cost.shape, series.shape[1]))
        more, best = np.empty_like(rss), np.empty_like(rss)
        slack = unseen(series)
        for g, i in product(range(len(rss)), range(0, series.shape[1], _COLUMNS)):
            part = slice(i, i + _COLUMNS)
            y = white[g, part].T
            along = self.basis[g].swapaxes(-1, -2) @ y
            plain = (y**2).sum(axis=0) - (along**2).sum(axis=1) + slack[part]
            # In place: most of the time is spent here, over thousands of simulated series.
            left = self.sticks[g] @ y - self.shared[g] @ along
            left /= self.length[g][..., None]
            left *= left
            left /= plain[:, None]
            np.maximum(np.subtract(1.0, left, out=left), 1e-12, out=left)
            least = left.min(axis=1)
            rss[g, :, part], best[g, :, part] = plain, plain * least
            left /= least[:, None]
            np.exp(-0.5 * self.free * np.log(left, out=left), out=left)
            more[g, :, part] = np.log(left.mean(axis=1)) - 0.5 * self.free * np.log(least)
        log = self.grid.log_prior[:, None, None] - 0.5 * self.cost[..., None] - 0.5 * self.free * np.log(rss)
        evidence, bent_evidence = log_sum(log), log_sum(log + more)
        return Null(
            statistic=bent_evidence - evidence,
            weight=np.exp(log - evidence),
            rss=rss,
            bent_weight=np.exp(log + more - bent_evidence),
            bent_rss=best,
            white=white,
        )

    def bent_weights(self, null: Null, cables: FloatArray) -> FloatArray:
        """Probability of every covariance, decay and bent cable of one series that has one: (g, m, k).

        ``cables`` has shape (k, n). The density of a cable's coefficient is per standard deviation of its
        part that is orthogonal to the decay, as in the comparison of forms.
        """
        y = null.white[:, 0, :, None]
        white = whiten(self.gains, cables.T)
        plainly = (cables**2).sum(axis=-1) - ((cables @ self._plain) ** 2).sum(axis=-1)
        log = np.empty((*self.cost.shape, len(cables)))
        for g in range(len(self.cost)):
            shared = white[g] @ self.basis[g]
            own = np.maximum((white[g] ** 2).sum(axis=-1) - (shared**2).sum(axis=-1), SLIGHT)
            seen = (white[g] @ y[g])[:, 0] - (shared @ (self.basis[g].swapaxes(-1, -2) @ y[g]))[..., 0]
            plain = null.rss[g, :, 0, None]
            rss = np.maximum(plain - seen**2 / own, 1e-12 * plain)
            cost = 0.5 * (np.log(own) - np.log(np.maximum(plainly, SLIGHT)))
            log[g] = self.grid.log_prior[g] - 0.5 * self.cost[g, :, None] - cost
            log[g] -= 0.5 * (self.free - 1) * np.log(rss)
        return np.asarray(np.exp(log - log_sum(log.reshape(-1, 1))[0]))

    def means(self, null: Null) -> FloatArray:
        """The smooth decay, averaged over covariances and shapes: shape (n, b)."""
        total, mass = np.zeros(null.white.shape[:0:-1]), np.zeros(null.white.shape[1])
        probable = null.weight.max(axis=-1) > 1e-4
        for g in np.flatnonzero(probable.any(axis=1)):
            q, weight = np.concatenate(self.basis[g, probable[g]], axis=1), null.weight[g, probable[g]]
            # The two columns of each decay have its weight.
            total += self._roots[g] @ (q @ (np.repeat(weight, 2, axis=0) * (q.T @ null.white[g].T)))
            mass += weight.sum(axis=0)
        return total / mass

    def draws(self, null: Null, mean: FloatArray, rng: np.random.Generator, count: int) -> FloatArray:
        """Series simulated without a change point, from the fit of each of b series: shape (n, b · count).

        Those of the first series come first. The decay is ``mean``, :meth:`means` of ``null``. The
        covariance is drawn from its posterior over both hypotheses: under the null fit a real change point is
        absorbed by the drift, and the test loses power; under the other fit drift is absorbed by a change
        point that does not exist. The change of slope costs log(n)/2 of its evidence, as a prior with the
        information of one point does (Kass & Wasserman 1995, doi:10.1080/01621459.1995.10476592).
        """
        n, b = mean.shape
        made = np.empty((n, b, count))
        for i in range(b):
            bent = 1.0 / (1.0 + np.exp(0.5 * np.log(n) - null.statistic[i]))
            weight = np.concatenate([bent * null.bent_weight[..., i], (1.0 - bent) * null.weight[..., i]])
            square = np.concatenate([null.bent_rss[..., i] / (self.free - 1), null.rss[..., i] / self.free])
            probability = weight.sum(axis=1)
            sd = np.sqrt((weight * square).sum(axis=1) / np.maximum(probability, SLIGHT))
            chosen = rng.choice(probability.size, size=count, p=probability / probability.sum())
            noise = rng.standard_normal((n, count))
            for g in np.unique(chosen):
                here, root = chosen == g, self._roots[g % len(self._roots)]
                made[:, i, here] = mean[:, i, None] + sd[g] * (root @ noise[:, here])
        return made.reshape(n, b * count)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangePointPosterior:
    """Posterior of a change point in one series.

    ``place``, ``half`` and ``weight`` (k,) are change point and half-width in time from 0 to 1 and the
    probability of each. The rest has one entry per probable combination c: ``share`` (c,) its
    probability, ``coefficient`` (c, 3), ``factor`` (c, 3, 3) with factor · factorᵀ its squared scale, and
    ``design`` (c, n, 3); ``changes`` (3, c, 3) has rows whose product with the coefficients is the mean slope
    before and after the change point (per unit of time), and the rise from the bent cable at the end.
    """

    place: FloatArray
    half: FloatArray
    weight: FloatArray
    share: FloatArray
    coefficient: FloatArray
    factor: FloatArray
    design: FloatArray
    changes: FloatArray
    df: float

    def number(self, row: FloatArray) -> Mixture:
        """Distribution of the product of rows (c, 3) with the coefficients."""
        location = (row * self.coefficient).sum(axis=1)
        scale = np.sqrt(np.maximum((np.einsum("cp,cpq->cq", row, self.factor) ** 2).sum(axis=1), 1e-300))
        return Mixture(weight=self.share, location=location[None], scale=scale[None], df=self.df)

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the curve at every step, shape (n,) each."""
        each = np.einsum("cnp,cp->cn", self.design, self.coefficient)
        within = ((self.design @ self.factor) ** 2).sum(axis=-1)
        mean = self.share @ each
        return mean, np.sqrt(self.share @ (within * (self.df / (self.df - 2.0)) + (each - mean) ** 2))


def change_point_posterior(
    designs: ChangePointDesign, null: Null, series: FloatArray, place: FloatArray, half: FloatArray
) -> ChangePointPosterior:
    """Posterior of a change point, given that there is one.

    Parameters
    ----------
    designs, null
        Of the steps, and the smooth decay fitted to the series.
    series
        Shape (n,).
    place, half
        Shape (k,): candidate change points and half-widths, in time from 0 to 1.
    """
    columns = np.array([bent_cable(designs.time, *each) for each in zip(place, half, strict=True)])
    weight = designs.bent_weights(null, columns)
    flat = weight.ravel()
    likely = np.sort(np.argpartition(-flat, _MOST)[:_MOST]) if flat.size > _MOST else np.arange(flat.size)
    order = likely[np.argsort(-flat[likely], kind="stable")]
    # The least probable, 0.001 together, are left out of curves and slopes, and not of the change point.
    chosen = order[: int(np.searchsorted(np.cumsum(flat[order]), 1.0 - 1e-3)) + 1]
    # A combination is a covariance, a decay and a bent cable, by their numbers.
    point, shape, which = np.unravel_index(chosen, weight.shape)
    decays = designs.decays[shape]
    design = np.stack([np.ones_like(decays), decays, columns[which]], axis=-1)
    # Generalised least squares of each combination.
    used, slot = np.unique(which, return_inverse=True)
    rows = [series, np.ones_like(series), *columns[used], *designs.decays]
    white = whiten(designs.gains, np.column_stack(rows))
    y, behind = white[point, 0], 2 + used.size
    x = np.stack([white[point, 1], white[point, behind + shape], white[point, 2 + slot]], axis=-1)
    ortho, triangle = np.linalg.qr(x)
    along = np.einsum("cnp,cn->cp", ortho, y)
    residual = y - np.einsum("cnp,cp->cn", ortho, along)
    variance = np.maximum((residual**2).sum(axis=1), 1e-300) / (series.size - x.shape[-1])
    back = np.linalg.inv(triangle)
    # The point nearest to each change point, and its time, which is never that of an end.
    near = np.abs(designs.time - place[which, None]).argmin(axis=1)
    turn = np.clip(designs.time[near], designs.time[1], designs.time[-2])[:, None]
    first, bent, last = design[:, 0], design[np.arange(chosen.size), near], design[:, -1]
    return ChangePointPosterior(
        place=place,
        half=half,
        weight=weight.sum(axis=(0, 1)),
        share=flat[chosen] / flat[chosen].sum(),
        coefficient=np.einsum("cpq,cq->cp", back, along),
        factor=back * np.sqrt(variance)[:, None, None],
        design=design,
        changes=np.stack([(bent - first) / turn, (last - bent) / (1.0 - turn), last * np.eye(3)[2]]),
        df=float(designs.free - 1),
    )
