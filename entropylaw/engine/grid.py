"""The prior on the drift: which correlation lengths and noise shares are summed over, and their weights.

The residual of a fit is a slow drift of the policy plus white noise of a finite test set,

    covariance = variance * [(1 - share) * exp(-|s - s'| / length) + share * identity],

and neither ``length`` nor ``share`` is known. They are summed over a fixed grid, so that every interval
is deterministic: no sampling, no seed. The numbers below were chosen by ``benchmarks/calibration.py``;
``docs/method.md`` has its table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

FloatArray = NDArray[np.float64]

TIED = 1e-6
"""Difference of a log evidence, or of a probability, that is taken for none: no rounding error chooses."""

SHORTEST_LENGTH = 0.4
"""Shortest correlation length, in median spacings; below it a drift is noise to the eye."""

LONGEST_LENGTH = 6.0
"""Longest correlation length, in spans of the run; beyond it a drift is a straight line."""

TYPICAL_LENGTH = 6.0
"""Median of the length's log-normal prior, in mean spacings (the span over n − 1), for 61 evaluations."""

CAUTION = 0.3
"""The median grows as this power of 60/(n − 1): few evaluations cannot exclude a long memory, and the
interval must allow for it; many tell what it is whatever the prior."""

LENGTH_SPREAD = 1.2
"""Standard deviation of the logarithm of the length: a factor of 3.3 either way."""

LENGTHS = 12
"""Grid points in length, uniform in its logarithm."""

SHARE_LAW = (0.75, 1.25)
"""Parameters of the noise share's Beta law."""

SHARES = 5
"""Grid points in the noise share, at equal probabilities of its law, and one more at 0. Drift with hardly
any noise must be on the grid: a run that is pure drift of long memory is fitted by a too short one as soon
as some noise is imposed."""

NO_NOISE_MASS = 1.0 / 6.0
"""Prior probability, given that there is drift, that there is nothing else."""

NO_DRIFT_MASS = 0.12
"""Prior probability that there is no drift at all: white residuals, the textbook case."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blur:
    """One more part of a run's residual covariance, by errors in a regressor: slope² · root @ rootᵀ.

    ``root`` has shape (n, k); ``slope`` (g,) is the reward that a unit of the regressor costs at each grid
    point, and ``variance`` (g,) the σ² there, in which the engine counts.
    """

    root: FloatArray
    slope: FloatArray
    variance: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """The residual's covariances: grid points of the drift's prior, arrays of shape (g,), and what is known.

    ``drift`` and ``noise`` are the two variances, as shares of the residual variance (they add up to
    1) or, with a known noise floor, in squared reward units. ``log_prior`` is normalised. Where ``length`` is
    infinite (then at every point) the drift is a random walk, and ``drift`` its variance per unit of step.
    ``scaled`` says that the residual variance is integrated out in closed form. ``homeless`` says that the
    drift has no level to come home to: the design's constant then stands for the level at the last step.
    ``floor`` (n,) is the known noise variance of each evaluation, only where not ``scaled``; ``blur`` is what
    errors in a regressor add, for forms that take it as known.
    """

    length: FloatArray
    drift: FloatArray
    noise: FloatArray
    log_prior: FloatArray
    scaled: bool
    homeless: bool = False
    floor: FloatArray | None = None
    blur: Blur | None = None

    @property
    def mean_floor(self) -> float:
        """Mean known noise variance, 0 where none is known."""
        return 0.0 if self.floor is None else float(self.floor.mean())


def drift_grid(step: FloatArray) -> Grid:
    """Grid over correlation length and noise share for evaluations at ``step`` (shape (n,))."""
    span = float(step[-1] - step[0])
    # Where steps are uneven the short gaps show drifts that the mean spacing would call noise.
    shortest = SHORTEST_LENGTH * min(float(np.median(np.diff(step))), span / (step.size - 1))
    lengths = np.geomspace(shortest, LONGEST_LENGTH * span, LENGTHS)
    shares = np.append(0.0, betaincinv(*SHARE_LAW, (np.arange(SHARES) + 0.5) / SHARES))
    chances = np.append(NO_NOISE_MASS, np.full(SHARES, (1.0 - NO_NOISE_MASS) / SHARES))
    return drift_points(step, lengths, shares, chances)


def drift_points(step: FloatArray, lengths: FloatArray, shares: FloatArray, chances: FloatArray) -> Grid:
    """Every length (l,), in steps, with every noise share, the prior on both, and one point without drift.

    ``chances`` (s,) are the prior probabilities of ``shares`` (s,), given that there is drift.
    """
    spacing = float(step[-1] - step[0]) / (step.size - 1)
    length, share = (axis.ravel() for axis in np.meshgrid(lengths, shares, indexing="ij"))
    typical = TYPICAL_LENGTH * (60.0 / (step.size - 1)) ** CAUTION * spacing
    weight = np.exp(-0.5 * (np.log(length / typical) / LENGTH_SPREAD) ** 2) * np.tile(chances, lengths.size)
    weight *= (1.0 - NO_DRIFT_MASS) / weight.sum()
    return Grid(
        length=np.append(length, lengths[0]),
        drift=np.append(1.0 - share, 0.0),
        noise=np.append(share, 1.0),
        log_prior=np.log(np.append(weight, NO_DRIFT_MASS)),
        scaled=True,
    )


def white_grid(step: FloatArray | None = None) -> Grid:
    """The one-point grid of ordinary least squares, whatever the steps: no drift."""
    return point_grid(length=1.0, share=1.0)


def point_grid(*, length: float, share: float) -> Grid:
    """A single, given covariance: generalised least squares with it."""
    return Grid(
        length=np.array([length]),
        drift=np.array([1.0 - share]),
        noise=np.array([share]),
        log_prior=np.zeros(1),
        scaled=True,
    )


def floor_grid(step: FloatArray, variance: float, floor: FloatArray) -> Grid:
    """Grid for a known noise ``floor`` (n,): the variance beyond the floor is a third axis.

    With part of the noise known in absolute units the residual variance has no closed form any more.
    It runs over ``variance`` (the least-squares residual variance) times 10^-2 … 10^2, with a prior
    flat in the standard deviation: one flat in its logarithm believes too readily that the floor is all
    there is.
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


def first_best(values: FloatArray, slack: float = TIED) -> Any:
    """Index along the last axis of the first value that is as great as the greatest, up to ``slack``.

    Which of two values is the greater in their last digits depends on the processor.
    """
    return np.argmax(values >= values.max(axis=-1, keepdims=True) - slack, axis=-1)
