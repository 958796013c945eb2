"""A smooth curve with a residual of drift and noise, averaged over cubic splines and over covariances.

    y(s) = X(s)·β + d·x(s) + drift(s) + noise(s)

The columns of X are cubic B-splines in a warped time, because entropy moves most at the start; x is a bent
cable or a step, which no smooth spline follows, or there is none. The tests of
:mod:`entropylaw.engine.windows` take the covariances and the residual's scale from here; no hypothesis is
about the splines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtri, logsumexp, ndtr

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.residuals import Covariances, drifts

KNOTS = (1, 2, 3, 4, 6, 8, 11)
"""Numbers of inner knots that are tried."""

PER_COLUMN = 8
"""Fewest evaluations per column of the splines; five columns are always tried."""

WARPS = ((1.0, 1.0), (0.5, 0.02), (0.05, 0.02), (0.05, 0.004))
"""Layouts of the knots: evenly apart in w·t + (1 − w)·ln(1 + t/t₀)/ln(1 + 1/t₀), with (w, t₀) and the time t
in runs."""

LENGTHS, SHARES = 11, (0.0, 0.15, 0.4, 0.7)
"""Grid points in the drift's length, from half a spacing to two runs, and the noise's shares of the
variance."""

TYPICAL_LENGTH, LENGTH_SPREAD = 6.0, 2.4
"""The length's log-normal prior: its median in spacings for 61 evaluations, and for n evaluations that times
(60 / (n − 1))^0.3; standard deviation of the logarithm. It is wide: a narrower one calls long drifts
short."""

NO_DRIFT = 0.12
"""Prior probability of white noise alone."""

CAUTIOUS, EVEN_HANDED = 1.0, 0.5
"""Cost of a column in units of ln n. With the first a part of the curve that the splines miss counts as
drift, so that a test grows cautious; the second is that of the Bayesian information criterion."""

PLACES, CABLES, STEPS = 31, (0.0, 0.04, 0.1), (None, 0.06)
"""Places of the extra columns, evenly over the run; half-widths of bent cables and of steps, in runs (None:
one and a half spacings)."""

RESOLUTION = 1e-3
"""Share of a curve's range that counts as noise: no curve is known better."""

SPANNED = 1e-12
"""Share of an extra column's square beyond a spline up to which the spline has it, as a step inside a gap."""

TINY = 1e-24
"""Least sum of squares: below are rounding errors."""


def covariances(step: FloatArray) -> Covariances:
    """Drift and noise for evaluations at ``step`` (n,), with the prior of :data:`TYPICAL_LENGTH`."""
    n = step.size
    gap = np.diff(step) * ((n - 1) / (step[-1] - step[0]))
    lengths = np.repeat(np.geomspace(0.5, 2.0 * (n - 1), LENGTHS), len(SHARES))
    median = TYPICAL_LENGTH * (60.0 / (n - 1)) ** 0.3
    log = -0.5 * (np.log(lengths / median) / LENGTH_SPREAD) ** 2
    prior = (1.0 - NO_DRIFT) * np.exp(log - logsumexp(log))
    return drifts(
        gap,
        length=np.append(lengths, lengths[0]),
        white=np.append(np.tile(SHARES, LENGTHS), 1.0),
        prior=np.append(prior, NO_DRIFT),
    )


def spline_columns(time: FloatArray, inner: int, even: float, start: float) -> FloatArray:
    """Cubic B-splines (n, inner + 4) over time from 0 to 1, which add up to 1, in one of :data:`WARPS`.

    By the recursion of de Boor 1972, doi:10.1016/0021-9045(72)90080-9, as ``scipy.interpolate.BSpline`` has
    it, to the last digit: importing that takes longer than the phases of a run.
    """
    place = even * time + (1.0 - even) * np.log1p(time / start) / np.log1p(1.0 / start)
    place = np.clip(place, 0.0, 1.0)
    knots = np.concatenate([np.zeros(4), np.arange(1, inner + 1) / (inner + 1), np.ones(4)])
    # The interval between knots in which each place lies; the last one contains its end.
    at = np.clip(np.searchsorted(knots, place, side="right") - 1, 3, inner + 3)
    values = np.zeros((4, place.size))
    values[0] = 1.0
    for degree in (1, 2, 3):
        lower = values[:degree].copy()
        values[0] = 0.0
        for i in range(1, degree + 1):
            above, below = knots[at + i], knots[at + i - degree]
            part = lower[i - 1] / (above - below)
            values[i - 1] += part * (above - place)
            values[i] = part * (place - below)
    columns = np.zeros((place.size, inner + 4))
    columns[np.arange(place.size)[:, None], at[:, None] + np.arange(-3, 1)] = values.T
    return columns


def bent_cable(time: FloatArray, place: float, half: float) -> FloatArray:
    """0 before ``place`` − ``half``, a slope of 1 after ``place`` + ``half``, a parabola between.

    Chiu, Lockhart & Routledge 2006, doi:10.1198/016214505000001177. Shape as ``time``.
    """
    if half <= 0:
        return np.maximum(time - place, 0.0)
    inside = (time - place + half) ** 2 / (4.0 * half)
    return np.where(np.abs(time - place) <= half, inside, np.maximum(time - place, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Components:
    """Components (m,) of the average over splines, extra columns and covariances, for one series.

    ``weight`` are probabilities; ``spline`` the number of the spline, ``extra`` that of the extra column or
    −1, ``point`` the grid point; ``scale`` the residual's standard deviation, ``free`` its degrees of
    freedom.
    """

    weight: FloatArray
    spline: IntArray
    extra: IntArray
    point: IntArray
    scale: FloatArray
    free: FloatArray

    def likely(self, least: float) -> Components:
        """Those with at least that probability, or the likeliest alone."""
        kept = self.weight >= min(least, float(self.weight.max()))
        each = {name: getattr(self, name)[kept] for name in self.__slots__}
        return Components(**each | {"weight": each["weight"] / each["weight"].sum()})


class TrendDesign:
    """Whitened splines for all series at the same steps (n,), n ≥ 12; ``time`` (n,) goes from 0 to 1."""

    def __init__(self, step: FloatArray) -> None:
        self.step = step
        self.time = (step - step[0]) / (step[-1] - step[0])
        self.group = covariances(step)
        most = max(5, step.size // PER_COLUMN)
        every = [spline_columns(self.time, k, *warp) for warp in WARPS for k in KNOTS if k + 4 <= most]
        # Knots may be closer together than the evaluations.
        self.splines = [each for each in every if np.linalg.svd(each, compute_uv=False)[-1] > 1e-3]
        white, _ = self.group.whitened(np.concatenate(self.splines, axis=1))
        ends = np.cumsum([each.shape[1] for each in self.splines])[:-1]
        factors = [np.linalg.qr(each) for each in np.split(white, ends, axis=-1)]
        self.basis, self.triangle = [q for q, _ in factors], [r for _, r in factors]
        plain = [np.linalg.qr(each) for each in self.splines]
        self._plain_basis = [q for q, _ in plain]
        each_cost = [
            np.log(self.group.sd).sum(axis=0) + _log_diagonal(r) - _log_diagonal(own)
            for r, (_, own) in zip(self.triangle, plain, strict=True)
        ]
        self.cost = np.array(each_cost)

    def covariance(self, point: int) -> FloatArray:
        """The covariance (n, n) of one drift and noise."""
        drift, noise = self.group.matrix(self.time * (self.step.size - 1), point)
        return drift + np.diag(noise)

    @cached_property
    def extras(self) -> FloatArray:
        """Bent cables and steps, shape (e, n)."""
        narrow, columns = 1.5 / (self.step.size - 1), []
        for place in np.linspace(0.0, 1.0, PLACES + 2)[1:-1].tolist():
            columns += [bent_cable(self.time, place, half) for half in CABLES]
            away = (self.time - place) / 2.0
            columns += [np.clip(0.5 + away / (half or narrow), 0.0, 1.0) for half in STEPS]
        return np.array(columns)

    @cached_property
    def white_extras(self) -> FloatArray:
        """Shape (g, e, n)."""
        return np.ascontiguousarray(self.group.whitened(self.extras.T)[0].swapaxes(-1, -2))

    @cached_property
    def beyond(self) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Of each spline what the extras are in it and beyond it.

        The coordinates (g, e, k) of the whitened extras, their squared length (g, e) beyond the spline, and
        the log of that length's ratio to the one without whitening: infinite for an extra that is the
        spline's own, which is not added.
        """
        white, plain = (self.white_extras**2).sum(axis=-1), (self.extras**2).sum(axis=-1)
        found = []
        for q, own in zip(self.basis, self._plain_basis, strict=True):
            shared = self.white_extras @ q
            rest = np.maximum(white - (shared**2).sum(axis=-1), TINY)
            unwhitened = np.maximum(plain - ((self.extras @ own) ** 2).sum(axis=-1), TINY)
            longer = np.where(rest > SPANNED * white, np.log(rest / unwhitened), np.inf)
            found.append((shared, rest, longer))
        return found

    def components(self, series: FloatArray, *, column_cost: float, extra: bool) -> Components:
        """Average over splines and covariances for a series (n,).

        ``column_cost`` is one of :data:`CAUTIOUS` and :data:`EVEN_HANDED`. With ``extra`` one of the columns
        :attr:`extras` may be added, at the cost of ln(n)/2 and of the logarithm of their number.

        Within one spline with k columns the covariances have the weights of restricted maximum likelihood,
        prior · |V|^−½ · (|XᵀV⁻¹X| / |XᵀX|)^−½ · RSS^−(n − k)/2; the splines those of the sum of the same with
        RSS^−n/2 · n^−k·column_cost.
        """
        n, points = series.size, self.group.white.size
        white = self.group.whitened(series[:, None])[0][:, :, 0]
        slack = n * (RESOLUTION * float(np.ptp(series))) ** 2 + TINY
        names = np.arange(-1, len(self.extras) if extra else 0)
        found, evidence = [], []
        for i, q in enumerate(self.basis):
            k = q.shape[-1]
            along = np.einsum("gnk,gn->gk", q, white)
            left = white - np.einsum("gnk,gk->gn", q, along)
            rss = (left**2).sum(axis=-1)[:, None]
            log = (self.group.log_prior - self.cost[i])[:, None]
            if extra:
                _, rest, longer = self.beyond[i]
                gain = np.einsum("gen,gn->ge", self.white_extras, left) ** 2 / rest
                rss = np.concatenate([rss, np.maximum(rss - gain, 0.0)], axis=1)
                price = 0.5 * (longer + np.log(n)) + np.log(len(self.extras))
                log = np.concatenate([log, log - price], axis=1)
            rss, free = rss + slack, n - k - (names >= 0)
            within = log - 0.5 * free * np.log(rss)
            evidence.append(float(logsumexp(log - 0.5 * n * np.log(rss))) - column_cost * k * np.log(n))
            each = (
                np.exp(within - logsumexp(within)),
                np.full(rss.shape, i),
                np.broadcast_to(names, rss.shape),
                np.broadcast_to(np.arange(points)[:, None], rss.shape),
                np.sqrt(rss / free),
                np.broadcast_to(free.astype(float), rss.shape),
            )
            found.append([part.ravel() for part in each])
        share = np.exp(np.array(evidence) - logsumexp(evidence))
        parts = [np.concatenate(column) for column in zip(*found, strict=True)]
        parts[0] *= np.repeat(share, [each[0].size for each in found])
        return Components(**dict(zip(Components.__slots__, parts, strict=True)))

    def long_drift(self, components: Components, share: float) -> float:
        """Probability that there is a drift with a length above that share of the run."""
        length = np.where(self.group.white < 1.0, self.group.length[:, 0], 0.0)[components.point]
        return float(components.weight[length > share * (self.step.size - 1)].sum())

    def curves(self, series: FloatArray, components: Components, normal: FloatArray | None) -> FloatArray:
        """Curves without drift and noise: draws (d, n), or their means per component (m, n).

        ``normal`` (d, n + 1) are independent standard normals per draw: n of the whitened residual, in the
        order of the steps, and one that picks the residual's scale. Draws are spread over the components by
        their weight. Two series with correlated normals have correlated residuals.
        """
        which = np.arange(components.weight.size)
        if normal is not None:
            ends = np.floor(np.cumsum(components.weight) * len(normal) + 0.5).astype(int)
            # Every draw has a component, spread evenly so that neighbouring draws are not alike.
            which = np.searchsorted(ends, np.arange(len(normal)), side="right").clip(max=which[-1])
            which = which[np.random.default_rng(0).permutation(which.size)]
        found = np.empty((which.size, series.size))
        white = self.group.whitened(series[:, None])[0][:, :, 0]
        for i in np.unique(which):
            at = which == i
            noise = np.zeros((1, series.size))
            if normal is not None:
                free = components.free[i]
                wider = np.sqrt(free / chdtri(free, ndtr(normal[at, -1])))
                noise = components.scale[i] * wider[:, None] * normal[at, :-1]
            found[at] = self._component(white[components.point[i]] + noise, components, int(i))
        return found

    def _component(self, white: FloatArray, components: Components, i: int) -> FloatArray:
        """Curves (d, n) of one component for whitened series (d, n)."""
        names = components.spline, components.extra, components.point
        spline, extra, point = (int(each[i]) for each in names)
        q, r = self.basis[spline][point], self.triangle[spline][point]
        along, curve = white @ q, 0.0
        if extra >= 0:
            column = self.white_extras[point, extra]
            shared, rest, _ = (each[point, extra] for each in self.beyond[spline])
            size = (white @ column - along @ shared) / rest
            along = along - size[:, None] * shared
            curve = size[:, None] * self.extras[extra]
        return np.asarray(np.linalg.solve(r, along.T).T @ self.splines[spline].T + curve)


def _log_diagonal(triangle: FloatArray) -> FloatArray:
    """Sum of log |diagonal| of each triangular matrix (…, k, k): half the log determinant of its square."""
    return np.asarray(np.log(np.abs(np.diagonal(triangle, axis1=-2, axis2=-1))).sum(axis=-1))
