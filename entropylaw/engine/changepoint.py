"""Change point of a decaying curve: likely decays, evidence for one, simulated null curves, posterior.

    y(s) = c + A·g(s) + d·h(s; τ, γ) + drift + noise,        no change point: d = 0

with g a decay, of several families and time scales, and h a bent cable (Chiu, Lockhart & Routledge 2006,
doi:10.1198/016214505000001177): 0 before τ − γ, a slope of 1 after τ + γ, a parabola between; at γ = 0 a
broken stick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product

import numpy as np

from entropylaw.engine.kalman import filter_gains, whiten
from entropylaw.engine.prior import TIED, Grid, drift_points, first_best
from entropylaw.results.arrays import FloatArray
from entropylaw.results.mixture import Mixture

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
        self._gains = filter_gains(step, self._grid)
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
