"""One curve as a mean with steps, and a residual of drift and noise whose scale changes along the run.

    y(s) = f(s) + scale(s)·(drift(s) + noise(s))

The mean f is averaged over bases (splines and sums of exponentials), to which steps and ramps are added one
by one as long as the evidence grows. The covariances of drift and noise are those of a grid, weighted by
restricted maximum likelihood. No hypothesis is about f: the tests of :mod:`entropylaw.engine.windows` take
only the residual from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, product

import numpy as np
from scipy.linalg import solve_triangular

from entropylaw.arrays import FloatArray, IntArray

CORRELATIONS = (0.35, 0.6, 0.8, 0.9, 0.95, 0.975)
"""Correlations of the drift over a mean spacing, besides 0; all are equally probable."""

SHARES = (0.0, 0.5)
"""Shares of the noise in the variance, equally probable."""

WARPS = (0.01, 25.0)
"""Cubic splines: each w with which the knots are even in log(1 + w·t), t from 0 to 1."""

KNOTS = (1, 3, 5, 8)
"""Cubic splines: numbers of intervals between knots; with one, a line."""

_PER_COLUMN = 4
"""Cubic splines: fewest points per column."""

DECAYS = ((0.02,), (0.05,), (0.12,), (0.3,), (0.02, 0.12), (0.05, 0.3), (0.05, np.inf), (0.12, np.inf))
"""Sums of exponentials, by their times in runs; an infinite one is a line."""

FALL_TIMES = 0.02 * 1.2 ** np.arange(20.0)
"""Times, in runs, of the stretched exponentials by which a curve may fall; a line ends at twice each time."""

FALL_POWERS = (0.5, 1.0, 2.0, 4.0)
"""Exponents of the stretched exponentials."""

COLUMN_COST = 1.0
"""Cost of a column in units of ln(n)/2."""

STEP_COST = 4.0
"""Cost of a step in the same units."""

MOST_STEPS = 6
"""Largest number of steps."""

_RAMPS = (1 / 8, 1 / 4)
"""Lengths, in runs, of the ramps that are tried besides steps."""

_MODERATE = 6
"""Number of a covariance of a moderate drift, beside which steps are looked for as well: 0.8, half noise."""

LIKELY, MOST_LIKELY = 0.02, 4
"""Least probability of a covariance for falls and onsets, and the largest number of them."""

RESOLUTION = 1e-3
"""Share of a curve's range that counts as noise: no curve is known better."""

TIED = 1e-6
"""Log evidences that differ by less are equal."""

_LEAST_NOISE = 1e-10
"""Share of the variance that is always noise, so that every covariance has an inverse."""

TINY = 1e-24
"""Least sum of squares, below which are rounding errors."""

_SCALE_REACH = 1 / 6
"""The local scale: half-width of its window, in runs."""

_SCALE_PRIOR = 10.0
"""The local scale: points that its mean over the run counts as."""

_SCALE_CAP = 9.0 * 2.2
"""The local scale: largest squared innovation, in units of their median."""


def _smooth_curves(time: FloatArray) -> Iterator[FloatArray]:
    """The columns (n, k) of the means without steps: a constant, splines, decays; ``time`` (n,) is 0 to 1."""
    yield np.ones((time.size, 1))
    for warp, inner in product(WARPS, KNOTS):
        if inner + 1 <= time.size / _PER_COLUMN:
            u = np.log1p(warp * time) / np.log1p(warp)
            powers = u[:, None] ** np.arange(2 if inner == 1 else 4)
            knots = np.linspace(0.0, 1.0, inner + 1)[1:-1]
            yield np.hstack([powers, np.maximum(u[:, None] - knots, 0.0) ** 3])
    for times in DECAYS:
        decays = [np.exp(-time / t) if np.isfinite(t) else time for t in times]
        yield np.column_stack([np.ones(time.size), *decays])


def _falls(time: FloatArray) -> Iterator[FloatArray]:
    """The columns (n, 2) of the means that are a constant and one fall: stretched exponentials, lines."""
    for fall in FALL_TIMES:
        shapes = [np.exp(-((time / fall) ** power)) for power in FALL_POWERS]
        for shape in (*shapes, np.maximum(1.0 - time / (2.0 * fall), 0.0)):
            yield np.column_stack([np.ones(time.size), shape])


class Design:
    """Covariances, bases and steps for all curves at the same steps (n,).

    Attributes
    ----------
    step, time
        Shape (n,): the steps, and where they are in the run, 0 to 1.
    correlations, roots, filters
        Shape (grid, n, n): covariances of drift and noise of variance 1, their triangular roots, and the
        inverses of those, which whiten.
    log_prior
        Shape (grid,): logarithm of the prior probability of each covariance.
    columns, sizes, starts
        Shapes (n, k), (bases,), (bases,): the columns of all bases, narrow ones first; the number of columns
        of each, and its first.
    steps
        Shape (n, q): the steps and ramps that are tried.
    """

    def __init__(self, step: FloatArray) -> None:
        n = step.size
        self.step = step
        self.time = (step - step[0]) / (step[-1] - step[0])
        rate = np.append(0.0, np.log(np.repeat(CORRELATIONS, len(SHARES))))[:, None, None]
        noise = np.append(1.0, np.tile(SHARES, len(CORRELATIONS)))[:, None, None]
        drift = np.exp(rate * (n - 1) * np.abs(self.time[:, None] - self.time))
        self.correlations: FloatArray = (1.0 - noise) * drift + (noise + _LEAST_NOISE) * np.eye(n)
        self.roots: FloatArray = np.linalg.cholesky(self.correlations)
        self.filters: FloatArray = np.array([solve_triangular(r, np.eye(n), lower=True) for r in self.roots])
        prior = np.append(1.0, np.full(rate.size - 1, 1.0 / len(SHARES))) / (1 + len(CORRELATIONS))
        self.log_prior: FloatArray = np.log(prior)
        self._span(_smooth_curves(self.time))
        index = np.arange(n)
        steps = (index[:, None] >= np.arange(2, n - 2)).astype(float)
        starts = np.arange(2, n - n // 5, 2)
        ramps = [np.clip((index[:, None] - starts) / max(3.0, n * share), 0.0, 1.0) for share in _RAMPS]
        self.steps: FloatArray = np.hstack([steps, *ramps])

    def _span(self, means: Iterable[FloatArray]) -> None:
        bases = sorted((np.linalg.qr(basis)[0] for basis in means), key=lambda basis: basis.shape[1])
        self.columns: FloatArray = np.hstack(bases)
        self.sizes: IntArray = np.array([basis.shape[1] for basis in bases])
        self.starts: IntArray = np.cumsum(self.sizes) - self.sizes

    @cached_property
    def falling(self) -> Design:
        """The same design with falls among the means."""
        design = copy(self)
        design._span(chain(_smooth_curves(self.time), _falls(self.time)))
        return design

    @cached_property
    def even(self) -> Whitened:
        """The columns under a constant scale."""
        return Whitened(self, np.ones(self.step.size), np.arange(self.log_prior.size))


@lru_cache(maxsize=2)
def design_of(step: bytes) -> Design:
    """The design at some steps, float64: the same for all curves there."""
    return Design(np.frombuffer(step))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Models:
    """A curve's models, of every covariance and basis with the same steps: shapes (…, grid, bases).

    ``weight`` are log weights that are comparable between sets of steps; ``rss`` the whitened residual sums
    of squares and ``free`` (bases,) their degrees of freedom. Several curves have a dimension before these.
    """

    weight: FloatArray
    rss: FloatArray
    free: FloatArray

    @property
    def total(self) -> FloatArray:
        """The log evidence of all together (…)."""
        return np.asarray(np.logaddexp.reduce(np.logaddexp.reduce(self.weight, axis=-1), axis=-1))

    @property
    def best(self) -> tuple[int, int]:
        """The likeliest covariance and basis of one curve."""
        point, basis = np.unravel_index(int(self.weight.argmax()), self.weight.shape)
        return int(point), int(basis)


class Whitened:
    """The columns of a design whitened under one scale (n,), orthonormal within each basis.

    ``points`` (c,) are the covariances of the design by which they are.
    """

    def __init__(self, design: Design, scale: FloatArray, points: IntArray) -> None:
        self.design = design
        self.scale = scale
        self.points = points
        self.filters = design.filters[points]
        self.columns = self.whiten(design.columns)
        log_size = []
        first = 0
        for size, number in zip(*np.unique(design.sizes, return_counts=True), strict=True):
            end = first + size * number
            alike = self.columns[:, :, first:end].reshape(points.size, -1, number, size)
            q, r = np.linalg.qr(alike.swapaxes(1, 2))
            self.columns[:, :, first:end] = q.swapaxes(1, 2).reshape(points.size, -1, end - first)
            log_size.append(np.log(np.abs(np.diagonal(r, axis1=-2, axis2=-1))).sum(axis=-1))
            first = end
        self.log_size = np.hstack(log_size)
        self.log_filter = (
            np.log(np.diagonal(self.filters, axis1=1, axis2=2)).sum(axis=1) - np.log(scale).sum()
        )

    def whiten(self, columns: FloatArray) -> FloatArray:
        """Columns (n, q) whitened by every covariance: (c, n, q)."""
        return np.asarray(self.filters @ (columns / self.scale[:, None]))

    def models(self, steps: FloatArray, y: FloatArray, slack: float) -> Models:
        """The models of whitened curves y (…, grid, n, 1), each with its whitened steps (…, grid, n, q)."""
        design = self.design
        added = np.concatenate([steps, y], axis=-1)
        n, q = steps.shape[-2:]
        along = self.columns.swapaxes(-1, -2) @ added
        shared = np.add.reduceat(along[..., :, None] * along[..., None, :], design.starts, axis=-3)
        beyond = (added.swapaxes(-1, -2) @ added)[..., None, :, :] - shared
        every = np.arange(q + 1)
        beyond[..., every, every] += 1e-10 * (added**2).sum(axis=-2)[..., None, :]
        beyond[..., -1, -1] += slack
        # The last pivot of the triangle is the residual beside all columns.
        pivots = np.diagonal(np.linalg.cholesky(beyond), axis1=-2, axis2=-1)
        rss = pivots[..., -1] ** 2
        free = (n - q - design.sizes).astype(float)
        log = (design.log_prior[self.points] + self.log_filter)[:, None]
        likely = log - self.log_size - np.log(pivots[..., :-1]).sum(axis=-1) - 0.5 * free * np.log(rss)
        cost = 0.5 * np.log(n) * (COLUMN_COST * design.sizes + STEP_COST * q)
        between = (log - 0.5 * n * np.log(rss)).max(axis=-2, keepdims=True) - cost
        within = likely - np.logaddexp.reduce(likely, axis=-2, keepdims=True)
        return Models(weight=within + between, rss=rss, free=free)

    def residual(
        self, y: FloatArray, steps: FloatArray, point: int, basis: int
    ) -> tuple[FloatArray, FloatArray]:
        """What the mean of one model leaves of a curve (n,), and its orthonormal columns (n, k + q).

        Curve and ``steps`` are whitened.
        """
        start = self.design.starts[basis]
        q = self.columns[point][:, start : start + self.design.sizes[basis]]
        if steps.shape[-1]:
            q = np.linalg.qr(np.hstack([q, steps[point]]))[0]
        return y[point, :, 0] - q @ (q.T @ y[point, :, 0]), q


class Trend:
    """A curve y (n,): its steps (n, q), the scale of its residual, and its models.

    ``models.total`` is comparable between a curve and its logarithm, less the logarithm of the Jacobian.
    """

    def __init__(self, design: Design, y: FloatArray, *, is_logarithm: bool = False) -> None:
        self.design = design
        self.y = y
        self.is_logarithm = is_logarithm
        self.slack = y.size * (RESOLUTION * float(np.ptp(y))) ** 2 + TINY
        self.steps = np.empty((y.size, 0))
        self._fit(design.even)
        self._rescale()

    def _rescale(self) -> None:
        """Find the models with the scale that those so far leave."""
        self._fit(Whitened(self.design, self._local_scale(), self.whitened.points))

    def _fit(self, whitened: Whitened) -> None:
        """Whiten the curve and its steps, and find the models."""
        self.whitened = whitened
        self.white = whitened.whiten(self.y[:, None])
        self.white_steps = whitened.whiten(self.steps)
        self.models = whitened.models(self.white_steps, self.white, self.slack)

    def with_steps(self) -> Trend:
        """The same, after the step that raises the evidence most has been added, again and again.

        It is one of the best beside the likeliest mean or a constant one, under the likeliest covariance or a
        moderate drift.
        """
        for _ in range(MOST_STEPS):
            point, basis = self.models.best
            beside = {(point, basis), (point, 0), (_MODERATE, basis), (_MODERATE, 0)}
            likely = sorted({self._likely_step(*model) for model in beside})
            tried = self.whitened.whiten(self.design.steps[:, likely]).transpose(2, 0, 1)[..., None]
            curves = np.broadcast_to(self.white, (len(likely), *self.white.shape))
            steps = np.broadcast_to(self.white_steps, (len(likely), *self.white_steps.shape))
            candidates = np.concatenate([steps, tried], axis=-1)
            found = self.whitened.models(candidates, curves, self.slack)
            best = int(found.total.argmax())
            if found.total[best] <= self.models.total + TIED:
                break
            self.steps = np.column_stack([self.steps, self.design.steps[:, likely[best]]])
            self.white_steps = candidates[best]
            self.models = Models(weight=found.weight[best], rss=found.rss[best], free=found.free)
        if self.steps.size:
            self._rescale()
        return self

    def _likely_step(self, point: int, basis: int) -> int:
        """The number of the step that explains most of the curve beside one model's mean."""
        residual, q = self.whitened.residual(self.white, self.white_steps, point, basis)
        columns = self.whitened.filters[point] @ (self.design.steps / self.whitened.scale[:, None])
        beyond = (columns**2).sum(axis=0) - ((q.T @ columns) ** 2).sum(axis=0)
        gain = np.where(beyond > 1e-6, (columns.T @ residual) ** 2 / np.maximum(beyond, 1e-6), 0.0)
        return int(gain.argmax())

    def _local_scale(self) -> FloatArray:
        """The local sd of the likeliest model's innovations, of mean square 1, shrunk to a constant."""
        innovations, _ = self.whitened.residual(self.white, self.white_steps, *self.models.best)
        n = innovations.size
        reach = max(6, int(n * _SCALE_REACH))
        square = (innovations * self.whitened.scale) ** 2
        square = np.minimum(square, _SCALE_CAP * float(np.median(square)) + 1e-18)
        mean = float(square.mean()) + 1e-18
        total = np.concatenate([[0.0], np.cumsum(square)])
        low = np.maximum(np.arange(n) - reach, 0)
        high = np.minimum(np.arange(n) + reach + 1, n)
        variance = (total[high] - total[low] + _SCALE_PRIOR * mean) / (high - low + _SCALE_PRIOR)
        return np.asarray(np.sqrt(variance / variance.mean()))

    def falling(self) -> Trend:
        """The same curve without steps, but with falls among its means, by its likely covariances."""
        trend = copy(self)
        trend.steps = self.steps[:, :0]
        trend._fit(Whitened(self.design.falling, self.whitened.scale, self.likely_points()))
        return trend

    def likely_points(self) -> IntArray:
        """Numbers of the likely covariances, the likeliest first."""
        share = np.exp(self.models.weight - self.models.total).sum(axis=1)
        order = np.argsort(-share, kind="stable")[:MOST_LIKELY]
        return np.asarray(order[share[order] > LIKELY])

    def draws(self, count: int, power: float = 1.0) -> FloatArray:
        """Curves (count, n) without drift and noise, of models by a ``power`` of their weights."""
        models = self.models
        weight = np.exp(power * (models.weight - models.weight.max())).ravel()
        # Every draw has a model, by its weight; the random numbers are the same for all curves.
        shares = np.cumsum(weight) / weight.sum()
        model = np.searchsorted(shares, (np.arange(count) + 0.5) / count).clip(max=weight.size - 1)
        random = np.random.default_rng(2)
        curves = np.empty((count, self.y.size))
        for number in np.unique(model):
            point, basis = divmod(int(number), models.free.size)
            at = np.flatnonzero(model == number)
            left, q = self.whitened.residual(self.white, self.white_steps, point, basis)
            sd = np.sqrt(models.rss[point, basis] / random.chisquare(models.free[basis], at.size))
            errors = q @ (sd * random.standard_normal((q.shape[1], at.size)))
            root = self.design.roots[self.whitened.points[point]]
            white = self.white[point] - left[:, None] + errors
            curves[at] = (self.whitened.scale[:, None] * (root @ white)).T
        return curves[random.permutation(count)]
