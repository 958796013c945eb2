"""Prior on the residual's covariance: correlation lengths and noise shares to sum over, with probabilities.

The residual of a fit is a slow drift of the policy plus white noise of a finite test set,

    covariance = variance * [(1 - share) * exp(-|s - s'| / length) + share * identity],

with unknown ``length`` and ``share``. Both are summed over a fixed grid, so that every interval is
deterministic: no sampling, no seed. The constants below were chosen once, on the exponential entropy path of
``benchmarks/calibration.py`` with other seeds; ``docs/benchmarks/calibration.md`` has the coverage.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import betaincinv

from entropylaw.arrays import BoolArray, FloatArray, IntArray

TIED = 1e-6
"""Difference of a log evidence, or of a probability, below which two values count as equal, so that no
rounding error decides."""

SHORTEST_LENGTH = 0.4
"""Shortest correlation length, in median spacings; a shorter drift looks like noise."""

LONGEST_LENGTH = 6.0
"""Longest correlation length, in spans of the run; a longer drift looks like a straight line."""

TYPICAL_LENGTH = 8.0
"""Median of the length's log-normal prior, in mean spacings (the span over n − 1)."""

LENGTH_SPREAD = 1.1
"""Standard deviation of the logarithm of the length: a factor of 3 either way."""

LENGTHS = 12
"""Grid points in length, uniform in its logarithm."""

SHARE_LAW = (0.75, 1.25)
"""Parameters of the noise share's Beta distribution."""

SHARES = 5
"""Grid points in the noise share, at equal probabilities of its distribution, and one more at 0. Drift with
hardly any noise must be on the grid: otherwise a run that is pure drift of long memory gets too short a
correlation length."""

NO_NOISE_MASS = 1.0 / 6.0
"""Prior probability of a noise share of 0, given that there is drift."""

NO_DRIFT_MASS = 0.1
"""Prior probability that there is no drift at all: white residuals, the textbook case."""

WALK_SHARES = 9
"""Grid points of a local level's noise share between 0 and 1, at equal probabilities of Beta(1/2, 1/2)."""

PURE_MASS = 0.1
"""Prior probability of a pure random walk (noise share 0), and the same of white noise alone (share 1)."""

WALK_LENGTH = 1e3
"""Correlation length, in spans, of a stationary drift that moves within the run as a random walk does: its
increments are independent, and of one size, to a thousandth."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorCovariance:
    """Part of a residual covariance that comes from errors in a regressor: slope² · root @ rootᵀ.

    ``root`` has shape (n, k); ``slope`` (g,) is the change of the reward per unit of the regressor at each
    grid point, and ``variance`` (g,) the σ² there, in units of which the engine computes.
    """

    root: FloatArray
    slope: FloatArray
    variance: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Residual covariances to sum over: grid points of the drift's prior, arrays of shape (g,).

    ``drift`` and ``noise`` are the two variances, as shares of the residual variance (they add up to
    1) or, with a known noise floor, in squared reward units. ``log_prior`` is normalised. Where ``length`` is
    infinite (then at every point) the drift is a random walk, and ``drift`` its variance per unit of step.
    ``scaled`` is True if the residual variance is integrated out in closed form. ``relative_to_last`` says
    that the design's constant is the level at the last step, because the drift has no mean to return to.
    ``floor`` (n,) is the known noise variance of each evaluation, only where not ``scaled``; ``errors`` is
    the covariance from errors in a regressor, for forms that take it as known.

    Where the drift is a sum of several processes, ``rungs`` has their lengths and shares of the drift, two
    arrays of shape (k, g), and ``length`` is their mean by share: the integral of the correlation. Rungs of
    share 0 are ignored. Where the residual's scale changes along the run, ``along`` (n, m) are the columns
    that it changes with, and exp(along · change) the factors of drift and of noise at each evaluation, with
    ``drift_change`` and ``noise_change`` (m, g).
    """

    length: FloatArray
    drift: FloatArray
    noise: FloatArray
    log_prior: FloatArray
    scaled: bool
    relative_to_last: bool = False
    floor: FloatArray | None = None
    errors: ErrorCovariance | None = None
    rungs: tuple[FloatArray, FloatArray] | None = None
    along: FloatArray | None = None
    drift_change: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    noise_change: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def mean_floor(self) -> float:
        """Mean known noise variance; 0 where none is known."""
        return 0.0 if self.floor is None else float(self.floor.mean())

    def at(self, steps: slice | IntArray) -> Grid:
        """The grid for some of the steps."""
        known: dict[str, Any] = {"floor": self.floor, "along": self.along}
        return replace(self, **{name: each[steps] for name, each in known.items() if each is not None})

    def points(self, which: Any) -> Grid:
        """Some of the grid points: their numbers (m,), or a mask (g,)."""
        names = ("length", "drift", "noise", "log_prior")
        some: dict[str, Any] = {name: getattr(self, name)[which] for name in names}
        if self.along is not None:
            some |= {"drift_change": self.drift_change[:, which], "noise_change": self.noise_change[:, which]}
        if self.rungs is not None:
            some["rungs"] = tuple(each[:, which] for each in self.rungs)
        if self.errors is not None:
            slope, variance = self.errors.slope[which], self.errors.variance[which]
            some["errors"] = replace(self.errors, slope=slope, variance=variance)
        return replace(self, **some)

    @property
    def several(self) -> BoolArray:
        """Whether the drift of a point is a sum of several processes, shape (g,)."""
        rungs = self.rungs
        return np.zeros(self.length.size, dtype=bool) if rungs is None else np.asarray(rungs[1][1] > 0)

    @property
    def changes(self) -> BoolArray:
        """Whether the scale of a point changes along the run, shape (g,)."""
        if self.along is None:
            return np.zeros(self.length.size, dtype=bool)
        return np.asarray((self.noise_change != 0).any(axis=0))

    @property
    def now(self) -> tuple[FloatArray, FloatArray]:
        """Variances of drift and noise at the last evaluation, each (g,), a known floor aside."""
        last = self.at(slice(-1, None))
        drift, noise = (1.0 if each is None else each[0] for each in (last.drift_scale, last.noise_scale))
        return self.drift * drift**2, self.noise * noise**2

    def covariance(self, step: FloatArray) -> FloatArray:
        """The covariance matrix (n, n) at ``step`` (n,), of a grid of one point; its errors are ignored."""
        gap = np.abs(step[:, None] - step)
        length, weight = self.rungs or (self.length[None], np.ones((1, 1)))
        drift = np.sum(
            [w * np.exp(-gap / each) for w, each in zip(weight, length, strict=True) if w > 0], axis=0
        )
        matrix = self.drift * drift
        if (scale := self.drift_scale) is not None:
            matrix = scale * matrix * scale.T
        noise = np.full(step.size, self.noise[0])
        if (scale := self.noise_scale) is not None:
            noise = noise * scale[:, 0] ** 2
        return np.asarray(matrix + np.diag(noise if self.floor is None else noise + self.floor))

    @property
    def drift_scale(self) -> FloatArray | None:
        """Factor of the drift at each evaluation, (n, g); None where it is 1."""
        if self.along is None or not self.drift_change.any():
            return None
        return np.asarray(np.exp(self.along @ self.drift_change))

    @property
    def noise_scale(self) -> FloatArray | None:
        """Factor of the noise at each evaluation, (n, g); None where it is 1."""
        return None if self.along is None else np.asarray(np.exp(self.along @ self.noise_change))

    @property
    def noise_to_drift(self) -> FloatArray:
        """Variance of the noise at each step in units of the drift's scale there: (n, g), or (1, g)."""
        if self.along is None:
            noise = self.noise[None]
            return noise if self.floor is None else noise + self.floor[:, None]
        # In place: memory for one more array of this size takes as long as a loop over it.
        noise = self.along @ (2.0 * (self.noise_change - self.drift_change))
        np.multiply(np.exp(noise, out=noise), self.noise, out=noise)
        if self.floor is not None:
            noise += self.floor[:, None] * np.exp(self.along @ (-2.0 * self.drift_change))
        return noise


def drift_grid(step: FloatArray) -> Grid:
    """Grid over correlation length and noise share for evaluations at ``step`` (shape (n,))."""
    span = float(step[-1] - step[0])
    # With uneven steps the short gaps resolve drifts that are noise at the mean spacing.
    shortest = SHORTEST_LENGTH * min(float(np.median(np.diff(step))), span / (step.size - 1))
    lengths = np.geomspace(shortest, LONGEST_LENGTH * span, LENGTHS)
    shares = np.append(0.0, betaincinv(*SHARE_LAW, (np.arange(SHARES) + 0.5) / SHARES))
    chances = np.append(NO_NOISE_MASS, np.full(SHARES, (1.0 - NO_NOISE_MASS) / SHARES))
    return drift_points(step, lengths, shares, chances)


def drift_points(step: FloatArray, lengths: FloatArray, shares: FloatArray, chances: FloatArray) -> Grid:
    """Every length (l,), in steps, with every noise share, their prior, and one point without drift.

    ``chances`` (s,) are the prior probabilities of ``shares`` (s,), given that there is drift.
    """
    spacing = float(step[-1] - step[0]) / (step.size - 1)
    length, share = (axis.ravel() for axis in np.meshgrid(lengths, shares, indexing="ij"))
    typical = TYPICAL_LENGTH * spacing
    weight = np.exp(-0.5 * (np.log(length / typical) / LENGTH_SPREAD) ** 2) * np.tile(chances, lengths.size)
    weight *= (1.0 - NO_DRIFT_MASS) / weight.sum()
    return Grid(
        length=np.append(length, lengths[0]),
        drift=np.append(1.0 - share, 0.0),
        noise=np.append(share, 1.0),
        log_prior=np.log(np.append(weight, NO_DRIFT_MASS)),
        scaled=True,
    )


def white_grid() -> Grid:
    """The one-point grid of ordinary least squares: no drift."""
    return point_grid(length=1.0, share=1.0)


def point_grid(*, length: float, share: float) -> Grid:
    """A single, given covariance: generalised least squares with it. An infinite length is a random walk."""
    return Grid(
        length=np.array([length]),
        drift=np.array([1.0 - share]),
        noise=np.array([share]),
        log_prior=np.zeros(1),
        scaled=True,
    )


def floor_grid(step: FloatArray, variance: float, floor: FloatArray) -> Grid:
    """Grid for a known noise ``floor`` (n,): the variance beyond the floor is a third axis.

    With part of the noise known in absolute units the residual variance cannot be integrated out in closed
    form. It runs over ``variance`` (the least-squares residual variance) times 10^-2 … 10^2, with a prior
    flat in the standard deviation: a prior flat in the logarithm favours a residual that consists of the
    floor alone.
    """
    base = drift_grid(step)
    scale = variance * np.geomspace(1e-2, 1e2, 17)
    prior = np.sqrt(scale) / np.sqrt(scale).sum()
    points = base.length.size
    return Grid(
        length=np.tile(base.length, scale.size),
        drift=np.tile(base.drift, scale.size) * np.repeat(scale, points),
        noise=np.tile(base.noise, scale.size) * np.repeat(scale, points),
        log_prior=np.tile(base.log_prior, scale.size) + np.repeat(np.log(prior), points),
        scaled=False,
        floor=floor,
    )


def random_walk_grid() -> Grid:
    """Random walk plus noise: noise shares 0, 1, and the arcsine law between; steps in mean gaps."""
    angle = np.pi * (np.arange(WALK_SHARES) + 0.5) / (2 * WALK_SHARES)
    share = np.concatenate([[0.0], np.sin(angle) ** 2, [1.0]])
    prior = np.full(share.size, (1.0 - 2.0 * PURE_MASS) / WALK_SHARES)
    prior[[0, -1]] = PURE_MASS
    return Grid(
        length=np.full(share.size, np.inf),
        drift=1.0 - share,
        noise=share,
        log_prior=np.log(prior),
        scaled=True,
    )


def local_level_grid(step: FloatArray) -> Grid:
    """The local-level model as a stationary drift, which a fit of the law can report; steps (n,).

    A random walk is the limit of a stationary drift whose length and variance grow together; the length is
    :data:`WALK_LENGTH`. The design's constant is the level at the last step, which is identified.
    """
    walk = random_walk_grid()
    # Variance of the change of a drift of variance 1 from one evaluation to the next.
    moves = -2.0 * np.expm1(-1.0 / ((step.size - 1) * WALK_LENGTH))
    # noise / (noise + drift · moves) is the share, and drift + noise = 1.
    noise = walk.noise * moves / (walk.noise * moves + 1.0 - walk.noise)
    length = np.full(noise.size, WALK_LENGTH * float(step[-1] - step[0]))
    return replace(walk, length=length, drift=1.0 - noise, noise=noise, relative_to_last=True)


def first_best(values: FloatArray, slack: float = TIED) -> Any:
    """Index along the last axis of the first value that is within ``slack`` of the greatest.

    Which of two values is the greater in their last digits depends on the processor.
    """
    return np.argmax(values >= values.max(axis=-1, keepdims=True) - slack, axis=-1)
