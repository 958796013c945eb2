"""A local level: a random walk seen through noise, with regressors, for forecasts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.engine.reads import Cells

WALK_SHARES = 9
"""Grid points of the noise share between 0 and 1, at equal probabilities of Beta(1/2, 1/2)."""

PURE_MASS = 0.1
"""Prior probability of a pure random walk (noise share 0), and the same of white noise alone (share 1)."""

_LEAST_NOISE = 1e-9
"""Share of noise in a pure walk: the first innovation has a variance."""

_SHARPEST = 1e-9
"""Smallest width of a number, in residual standard deviations."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalLevelFit:
    """Posterior of β (p,) and of the level at the last step, over g noise shares.

    The constant and the level at the first step are not identified apart, so that the variance of the
    constant has no meaning; predictions have. ``spacing`` is the mean gap between evaluations, in steps.

    Attributes
    ----------
    weight, variance, noise_share
        Shape (g,): probability, residual variance, and share of noise in it.
    coefficient, covariance
        Shapes (g, p), (g, p, p): location and squared scale.
    offset, slope, level_variance
        Shapes (g,), (g, p), (g,): given β the level at the last step is ``offset − slope @ β``, with a
        variance.
    """

    weight: FloatArray
    variance: FloatArray
    noise_share: FloatArray
    coefficient: FloatArray
    covariance: FloatArray
    offset: FloatArray
    slope: FloatArray
    level_variance: FloatArray
    df: float
    spacing: float

    def of(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Locations and scales (m, g) of ``rows @ β``; rows (m, p)."""
        return rows @ self.coefficient.T, self._scale(rows[:, None, :], 0.0)

    def now(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same of ``rows @ β`` plus the level at the last step, without noise."""
        along = rows[:, None, :] - self.slope
        location = np.einsum("mgp,gp->mg", along, self.coefficient) + self.offset
        return location, self._scale(along, self.level_variance)

    def predict(self, rows: FloatArray, lead: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same of new evaluations, ``lead`` (m,) steps after the last; rows (m, p) are X there."""
        location, scale = self.now(rows)
        walk = (1.0 - self.noise_share) * lead[:, None] / self.spacing
        extra = self.variance * (walk + self.noise_share)
        return location, np.sqrt(scale**2 + extra)

    def _scale(self, along: FloatArray, more: FloatArray | float) -> FloatArray:
        square = np.einsum("mgp,gpq,mgq->mg", along, self.covariance, along, optimize=True) + more
        return np.asarray(np.sqrt(np.maximum(square, _SHARPEST**2 * self.variance)))


def fit_local_level(
    step: FloatArray, design: FloatArray, reward: FloatArray, shares: FloatArray | None = None
) -> LocalLevelFit:
    """Fit the local-level model with regressors (Harvey 1989, doi:10.1017/CBO9781107049994).

    R(s) = X(s)·β + level(s) + noise(s),    level(s) − level(s') ~ N(0, σ²·(1 − f)·|s − s'| / spacing)
    noise ~ N(0, σ²·f)

    A stationary drift pulls a forecast back to the fitted line; a random walk starts a forecast at the
    current level and widens it with the square root of the horizon. ``spacing`` is the mean gap between
    evaluations: at f = 1/2 the walk's step between neighbours is as large as the noise. The noise share f is
    summed over a grid by the restricted likelihood.

    Parameters
    ----------
    step, reward
        Shape (n,), steps strictly increasing.
    design
        Shape (n, p), full column rank, n > p; the first column is constant.
    shares
        Shape (g,): noise shares, equally probable; by default those of :data:`WALK_SHARES`.

    Raises numpy.linalg.LinAlgError: the columns of ``design`` are not independent.
    """
    n, p = design.shape
    spacing = float(step[-1] - step[0]) / (n - 1)
    share, prior = _shares() if shares is None else (shares, np.ones(shares.size))
    # Orthonormal columns lose no digits, and have no unit in the evidence.
    ortho, triangle = np.linalg.qr(design)
    back = np.linalg.inv(triangle)
    # From the first reward on: of a pure walk that one is known exactly, and its square would be all digits.
    columns = np.column_stack([ortho, reward - reward[0]])
    white, level, last, log_det = _filtered(columns, np.diff(step) / spacing, share)
    product = white.transpose(0, 2, 1) @ white
    inverse = np.linalg.inv(product[:, :p, :p])
    coefficient = np.einsum("gpq,gq->gp", inverse, product[:, :p, p])
    # In units of the largest deviation from the mean.
    least = max(1e-24 * float(np.max(np.abs(reward - reward.mean()))) ** 2, np.finfo(float).tiny)
    rss = np.maximum(product[:, p, p] - np.einsum("gp,gp->g", coefficient, product[:, :p, p]), least)
    free = n - p
    log_weight = np.log(prior) - 0.5 * (log_det - np.linalg.slogdet(inverse)[1]) - 0.5 * free * np.log(rss)
    weight = np.exp(log_weight - log_weight.max())
    variance = rss / free
    in_columns = coefficient @ back.T
    in_columns[:, 0] += reward[0] / design[0, 0]
    return LocalLevelFit(
        weight=weight / weight.sum(),
        variance=variance,
        noise_share=share,
        coefficient=in_columns,
        covariance=back @ (inverse * variance[:, None, None]) @ back.T,
        offset=level[:, p] + level[:, :p] @ triangle[:, 0] * (reward[0] / design[0, 0]),
        slope=level[:, :p] @ triangle,
        level_variance=last * variance,
        df=float(free),
        spacing=spacing,
    )


def _shares() -> tuple[FloatArray, FloatArray]:
    """Noise shares 0, 1, and the arcsine law between, and their prior probabilities."""
    angle = np.pi * (np.arange(WALK_SHARES) + 0.5) / (2 * WALK_SHARES)
    share = np.concatenate([[0.0], np.sin(angle) ** 2, [1.0]])
    prior = np.full(share.size, (1.0 - 2.0 * PURE_MASS) / WALK_SHARES)
    prior[[0, -1]] = PURE_MASS
    return share, prior


def _filtered(
    columns: FloatArray, gap: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Innovations (g, n, c) of columns over their sds, levels (g, c), last variance (g,), log det (g,)."""
    n, c = columns.shape
    state, variance = np.zeros((share.size, c)), np.zeros(share.size)
    white, log_det = np.empty((share.size, n, c)), np.zeros(share.size)
    noise = np.maximum(share, _LEAST_NOISE)
    for i in range(n):
        if i:
            variance = variance + (1.0 - share) * gap[i - 1]
        total = variance + noise
        innovation = columns[i] - state
        white[:, i] = innovation / np.sqrt(total)[:, None]
        gain = variance / total
        state = state + gain[:, None] * innovation
        variance = variance * (1.0 - gain)
        log_det += np.log(total)
    return white, state, variance, log_det


def level_now(step: FloatArray, values: FloatArray) -> Cells:
    """The local level at the last step, without the noise."""
    fit = fit_local_level(step, np.ones((step.size, 1)), values)
    location, scale = fit.now(np.ones((1, 1)))
    df = np.full(fit.weight.size, fit.df)
    return Cells(weight=fit.weight, location=location[0], scale=scale[0], df=df)
