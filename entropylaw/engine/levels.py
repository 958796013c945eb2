"""The level of a series: what its values would be without the noise of each, at all steps jointly, and later.

    value(s) = level(s) + white noise,    level(s) = c + d·t + smooth trend(t) + random walk(s)

with t a power of the step, so that a run may change early and be slow later. The trend is an integrated
random walk in t, whose mean is a cubic spline (Wahba 1978, doi:10.1111/j.2517-6161.1978.tb01050.x). Its size,
that of the walk and the power are summed over a grid by the restricted likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from entropylaw.arrays import FloatArray
from entropylaw.engine.reads import Cells

POWERS = (1.0, 0.5, 0.25, 0.12)
"""Powers of the step in which the trend is smooth."""

TRENDS = (0.0, 0.02, 0.14, 1.0, 7.0, 50.0, 1000.0)
"""Variance of the trend at the last step, in variances of the noise."""

WALKS = (0.0, 0.25, 2.0, 15.0)
"""Variance of the random walk over the whole run, likewise."""

NEGLIGIBLE = 1e-4
"""Probability below which a model is left out, relative to the best one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """The level at m steps: a mixture of k multivariate t distributions.

    ``weight`` (k,), ``mean`` (k, m), ``covariance`` (k, m, m): squared scales, all with ``df`` degrees of
    freedom. The n steps of the values come first, then the later ones.
    """

    n: int
    weight: FloatArray
    mean: FloatArray
    covariance: FloatArray
    df: float

    def level(self) -> FloatArray:
        """Posterior mean (m,)."""
        return np.asarray(self.weight @ self.mean)

    def at(self, index: int) -> Cells:
        """The level at one of the steps."""
        scale = np.sqrt(self.covariance[:, index, index])
        df = np.full(self.weight.size, self.df)
        return Cells(weight=self.weight, location=self.mean[:, index], scale=scale, df=df)

    def p_above(self, index: int, other: int) -> float:
        """Probability that the level at one step is above that at another."""
        covariance = self.covariance
        square = covariance[:, index, index] + covariance[:, other, other] - 2.0 * covariance[:, index, other]
        scale = np.sqrt(np.maximum(square, 1e-300))
        return float(self.weight @ stdtr(self.df, (self.mean[:, index] - self.mean[:, other]) / scale))


def levels_of(step: FloatArray, values: FloatArray, later: FloatArray | None = None) -> Levels:
    """The level of ``values`` (n,), n ≥ 4 and not all equal, at their steps and at ``later`` ones."""
    n, unit = step.size, float(np.ptp(values))
    every = step if later is None else np.concatenate([step, later])
    x = (every - step[0]) / (step[-1] - step[0])
    y, origin = (values - values[-1]) / unit, float(values[-1])
    trend, walk = (grid.ravel() for grid in np.meshgrid(TRENDS, WALKS, indexing="ij"))
    evidences, means, squares = [], [], []
    for power in POWERS:
        t = ((x + 1.0 / n) ** power - n**-power) / ((1.0 + 1.0 / n) ** power - n**-power)
        low, high = np.minimum.outer(t, t), np.maximum.outer(t, t)
        spline = low**2 * (3.0 * high - low) / 2.0
        prior = trend[:, None, None] * spline + walk[:, None, None] * np.minimum.outer(x, x)
        columns = np.column_stack([np.ones_like(t), t])
        covariance = prior[:, :n, :n] + np.eye(n)
        inverse = np.linalg.inv(covariance)
        along = inverse @ columns[:n]
        inner = columns[:n].T @ along
        line = np.linalg.solve(inner, (along.transpose(0, 2, 1) @ y)[..., None])[..., 0]
        residual = y - line @ columns[:n].T
        weighted = (inverse @ residual[..., None])[..., 0]
        rss = np.maximum((residual * weighted).sum(axis=1), 1e-12)
        log_det = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(inner)[1]
        log_det -= np.linalg.slogdet(columns[:n].T @ columns[:n])[1]
        evidences.append(-0.5 * log_det - 0.5 * (n - 2) * np.log(rss))
        across = prior[:, :, :n]
        means.append(line @ columns.T + (across @ weighted[..., None])[..., 0])
        rest = columns - across @ along
        square = prior - across @ inverse @ across.transpose(0, 2, 1)
        square += rest @ np.linalg.solve(inner, rest.transpose(0, 2, 1))
        squares.append(square * (rss / (n - 2))[:, None, None])
    evidence = np.concatenate(evidences)
    likely = evidence >= evidence.max() + np.log(NEGLIGIBLE)
    weight = np.exp(evidence[likely] - evidence.max())
    return Levels(
        n=n,
        weight=weight / weight.sum(),
        mean=np.concatenate(means)[likely] * unit + origin,
        covariance=np.concatenate(squares)[likely] * unit**2,
        df=float(n - 2),
    )
