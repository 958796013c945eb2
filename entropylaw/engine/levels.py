"""The level of a series: what its values would be without the noise of each, at all steps jointly, and later.

    value(s) = level(s) + white noise,    level(s) = c + d·t + smooth trend(t) + random walk(s)

with t a power of the step, so that a run may change early and be slow later. The trend is an integrated
random walk in t, whose mean is a cubic spline (Wahba 1978, doi:10.1111/j.2517-6161.1978.tb01050.x). Its size,
that of the walk and the power are summed over a grid by the restricted likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from entropylaw.arrays import FloatArray
from entropylaw.engine.reads import Cells

POWERS = (1.0, 0.5, 0.25, 0.12)
"""Powers of the step in which the trend is smooth."""

TRENDS = (0.0, 0.02, 0.14, 1.0, 7.0, 50.0, 1000.0)
"""Variance of the trend at the last step, in variances of the noise."""

WALKS = (0.0, 0.25, 2.0, 15.0)
"""Variance of the random walk over the whole run, likewise."""

FREE_WALKS = (*WALKS, 120.0, 1000.0)
"""The same where no trend is continued, so that values may have hardly any noise."""

_APART = 1e6
"""Variance, likewise, of a first value that is from before any change, and apart from the others."""

_FAR = 4.0
"""Standard deviations of the noise from which on the first value may be apart."""

_NEGLIGIBLE = 1e-4
"""Probability below which a model is left out, relative to the best one."""

MOST = 64
"""Values above which a run is averaged over blocks of equal length."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """The level at m steps: a mixture of k multivariate t distributions.

    ``weight`` (k,), ``mean`` and ``variance`` (k, m), and ``covariance`` (k, n, n) at the n steps of the
    values, which come first: squared scales, all with ``df`` degrees of freedom.
    """

    n: int
    weight: FloatArray
    mean: FloatArray
    variance: FloatArray
    covariance: FloatArray
    df: float

    def level(self) -> FloatArray:
        """Posterior mean (m,)."""
        return np.asarray(self.weight @ self.mean)

    def at(self, index: int) -> Cells:
        """The level at one of the steps."""
        scale = np.sqrt(self.variance[:, index])
        df = np.full(self.weight.size, self.df)
        return Cells(weight=self.weight, location=self.mean[:, index], scale=scale, df=df)

    def p_below(self, value: float) -> FloatArray:
        """Probability (m,) that the level at each step is at most ``value``."""
        deviates = (value - self.mean) / np.sqrt(np.maximum(self.variance, 1e-300))
        return np.asarray(self.weight @ stdtr(self.df, deviates))

    def between(self, index: int, other: int) -> Cells:
        """The level at one step less that at another, both of the values."""
        covariance = self.covariance
        square = covariance[:, index, index] + covariance[:, other, other] - 2.0 * covariance[:, index, other]
        return Cells(
            weight=self.weight,
            location=self.mean[:, index] - self.mean[:, other],
            scale=np.sqrt(np.maximum(square, 1e-300)),
            df=np.full(self.weight.size, self.df),
        )

    def p_above(self, index: int, other: int) -> float:
        """Probability that the level at one step is above that at another."""
        return float(self.between(other, index).below(np.zeros(1))[0])


def levels_of(
    step: FloatArray,
    values: FloatArray,
    later: FloatArray | None = None,
    walks: tuple[float, ...] | None = None,
    *,
    may_jump: bool = False,
) -> Levels:
    """The level of ``values`` (n,), n ≥ 4, at their steps and at ``later`` ones, by sizes of the walk.

    Where the values ``may_jump`` after the first one, and it is far from the next ones, models with a level
    of its own are among the others.
    """
    n = step.size
    unit = float(np.ptp(values)) or 1.0
    origin = float(values[-1])
    every = step if later is None else np.concatenate([step, later])
    x = (every - step[0]) / (step[-1] - step[0])
    y = (values - values[-1]) / unit
    noise = float(np.median(np.abs(np.diff(y[1:])))) / 0.6745 / np.sqrt(2.0)
    far = may_jump and abs(y[0] - np.median(y[1:4])) > _FAR * noise
    models = []
    for power in POWERS:
        models.append(_Models(x, y, power, walks or WALKS, 0.0))
        if far:
            models.append(_Models(x, y, power, walks or WALKS, _APART))
    best = max(model.evidence.max() for model in models)
    # Only of what is plausible the level is computed, which takes longest.
    posteriors = [model.posterior(model.evidence >= best + np.log(_NEGLIGIBLE)) for model in models]
    weight, mean, variance, covariance = map(np.concatenate, zip(*posteriors, strict=True))
    weight = np.exp(weight - best)
    return Levels(
        n=n,
        weight=weight / weight.sum(),
        mean=mean * unit + origin,
        variance=variance * unit**2,
        covariance=covariance * unit**2,
        df=float(n - 2),
    )


def blocked(step: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """Means over blocks of equal length, at most :data:`MOST` of them, and that length.

    Evaluations that fill no block are left out at the beginning, where they affect a forecast least.
    """
    size = -(-step.size // MOST)
    whole = slice(step.size % size, None)
    steps = step[whole].reshape(-1, size).mean(axis=1)
    means = values[whole].reshape(-1, size).mean(axis=1)
    return steps, means, size


def level_now(step: FloatArray, values: FloatArray) -> Cells:
    """The level of a run (n,), n ≥ 4, at its last step."""
    steps, means, _ = blocked(step, values)
    return levels_of(steps, means, step[-1:], FREE_WALKS).at(steps.size)


class _Models:
    """The models with one power of the step, g sizes of the trend and the walk, and one of ``apart``."""

    def __init__(
        self, x: FloatArray, y: FloatArray, power: float, walks: tuple[float, ...], apart: float
    ) -> None:
        n = y.size
        t = ((x + 1.0 / n) ** power - n**-power) / ((1.0 + 1.0 / n) ** power - n**-power)
        low = np.minimum.outer(t, t[:n])
        high = np.maximum.outer(t, t[:n])
        spline = low**2 * (3.0 * high - low) / 2.0
        trend, walk = (grid.ravel() for grid in np.meshgrid(TRENDS, walks, indexing="ij"))
        self.columns = np.column_stack([np.ones_like(t), t])
        #: Covariance of the level at all steps with that at the steps of the values, and its variance.
        self.across = trend[:, None, None] * spline + walk[:, None, None] * np.minimum.outer(x, x[:n])
        self.prior = trend[:, None] * t**3 + walk[:, None] * x
        self.across[:, 0, 0] += apart
        self.prior[:, 0] += apart
        covariance = self.across[:, :n] + np.eye(n)
        columns = self.columns[:n]
        self.inverse = np.linalg.inv(covariance)
        self.along = self.inverse @ columns
        self.inner = columns.T @ self.along
        self.line = np.linalg.solve(self.inner, (self.along.transpose(0, 2, 1) @ y)[..., None])[..., 0]
        residual = y - self.line @ columns.T
        self.weighted = (self.inverse @ residual[..., None])[..., 0]
        self.square = np.maximum((residual * self.weighted).sum(axis=1), 1e-12) / (n - 2)
        log_det = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(self.inner)[1]
        log_det -= np.linalg.slogdet(columns.T @ columns)[1]
        self.evidence = -0.5 * log_det - 0.5 * (n - 2) * np.log(self.square * (n - 2))

    def posterior(self, likely: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Log evidence (k,), mean and variance (k, m) and covariance (k, n, n) of the ``likely`` models."""
        across = self.across[likely]
        n = self.weighted.shape[1]
        mean = self.line[likely] @ self.columns.T + (across @ self.weighted[likely][..., None])[..., 0]
        gain = across @ self.inverse[likely]
        rest = self.columns - across @ self.along[likely]
        of_line = rest @ np.linalg.inv(self.inner[likely])
        variance = self.prior[likely] + (of_line * rest).sum(axis=-1) - (gain * across).sum(axis=-1)
        covariance = across[:, :n] - gain[:, :n] @ across[:, :n].transpose(0, 2, 1)
        covariance += of_line[:, :n] @ rest[:, :n].transpose(0, 2, 1)
        square = self.square[likely]
        return self.evidence[likely], mean, square[:, None] * variance, square[:, None, None] * covariance
