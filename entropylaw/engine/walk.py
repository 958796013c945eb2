"""Drift that does not come home: a random walk seen through white noise, its share integrated out.

A stationary drift pulls a forecast back to the fitted line; a random walk (the local-level model,
Harvey 1989, doi:10.1017/CBO9781107049994) starts a forecast where the run stands and widens it with
the square root of the horizon:

    R(s) = X(s)·β + level(s) + noise(s),    level(s) − level(s') ~ N(0, σ²·(1 − f)·|s − s'| / spacing)
    noise ~ N(0, σ²·f)

with unknown β and σ² and noise share f; ``spacing`` is the mean gap between evaluations, so that f = 1/2
means a walk whose step between neighbours is as large as the noise. Given f, the answer is generalised
least squares in closed form (flat priors on β and 1/σ² on σ²); f is summed over a grid, weighted by the
restricted marginal likelihood (Harville 1974, doi:10.1093/biomet/61.2.383). Steps may be uneven.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.posterior import log_likelihood
from entropylaw.results.mixture import Mixture, normalised

SHARES = 9
"""Grid points of the noise share between 0 and 1, at equal probabilities of the law Beta(1/2, 1/2)."""

PURE_MASS = 0.1
"""Prior probability of a pure walk (f = 0), and the same of no walk at all (f = 1, least squares)."""

FAR_HOME = 1e3
"""Correlation length, in spans, of a stationary drift that moves within the run as a walk does: its steps are
independent, and of one size, to a thousandth."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WalkGrid:
    """Noise shares to sum over and their normalised log prior, both of shape (g,)."""

    share: FloatArray
    log_prior: FloatArray


def walk_grid() -> WalkGrid:
    """Pure walk, no walk, and the arcsine law between them."""
    inner = np.sin(np.pi * (np.arange(SHARES) + 0.5) / (2 * SHARES)) ** 2
    weight = np.full(SHARES, (1.0 - 2.0 * PURE_MASS) / SHARES)
    return WalkGrid(
        share=np.concatenate([[0.0], inner, [1.0]]),
        log_prior=np.log(np.concatenate([[PURE_MASS], weight, [PURE_MASS]])),
    )


def local_level_grid(step: FloatArray) -> Grid:
    """The same model as covariances for :func:`entropylaw.engine.posterior.infer`, for steps (n,).

    A walk is the limit of a stationary drift whose length and variance grow together; :data:`FAR_HOME` is how
    far it is gone to. The constant of the design is told at the last step, where it means something.
    """
    shares = walk_grid()
    # What a drift of variance 1 moves from one evaluation to the next.
    moves = -2.0 * np.expm1(-1.0 / ((step.size - 1) * FAR_HOME))
    # noise / (noise + drift · moves) is the share, and drift + noise = 1.
    noise = shares.share * moves / (shares.share * moves + 1.0 - shares.share)
    return Grid(
        length=np.full(noise.size, FAR_HOME * float(step[-1] - step[0])),
        drift=1.0 - noise,
        noise=noise,
        log_prior=shares.log_prior,
        scaled=True,
        homeless=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WalkFit:
    """Posterior of β (p coefficients) and of the level at the last step, over g noise shares.

    Attributes
    ----------
    weight
        Shape (g,), adds up to 1.
    share
        Shape (g,), the noise shares f.
    coefficient, covariance
        Shapes (g, p) and (g, p, p): location and squared scale of β's Student t. The constant cannot be
        told from the level at the first step, so that its own variance means nothing; predictions do.
    variance
        Shape (g,): σ².
    level_offset, level_slope, level_variance
        Shapes (g,), (g, p), (g,): given β, the level at the last step is ``level_offset −
        level_slope · β`` with variance ``level_variance``.
    spacing
        Mean gap between evaluations, in steps.
    df
        Degrees of freedom, n − p.
    log_evidence
        Log restricted marginal likelihood, for columns that are orthonormal over the n rows.
    """

    weight: FloatArray
    share: FloatArray
    coefficient: FloatArray
    covariance: FloatArray
    variance: FloatArray
    level_offset: FloatArray
    level_slope: FloatArray
    level_variance: FloatArray
    spacing: float
    df: float
    log_evidence: float

    def now(self, rows: FloatArray) -> Mixture:
        """Distribution of ``rows @ β`` plus the level at the last step, without noise; rows (m, p)."""
        return self._mixture(rows, np.zeros((rows.shape[0], self.share.size)))

    def predict(self, rows: FloatArray, lead: FloatArray) -> Mixture:
        """Distribution of new evaluations, noise included.

        Parameters
        ----------
        rows
            Shape (m, p): X at the new steps.
        lead
            Shape (m,), ≥ 0: how many steps each lies behind the last one.
        """
        return self._mixture(rows, (1.0 - self.share) * (lead[:, None] / self.spacing) + self.share)

    def _mixture(self, rows: FloatArray, extra: FloatArray) -> Mixture:
        """``extra`` (m, g) is the variance beyond the last level, in σ²."""
        effective = rows[:, None, :] - self.level_slope
        location = np.einsum("mgp,gp->mg", effective, self.coefficient) + self.level_offset
        squared = np.einsum("mgp,gpq,mgq->mg", effective, self.covariance, effective)
        squared += self.level_variance + self.variance * extra
        # A pure walk knows the level at lead 0 exactly; a mixture wants a width, however small.
        scale = np.sqrt(np.maximum(squared, 1e-18 * self.variance))
        return Mixture(weight=self.weight, location=location, scale=scale, df=self.df)


def fit_walk(step: FloatArray, design: FloatArray, reward: FloatArray, grid: WalkGrid) -> WalkFit:
    """Fit the local-level model with regressors.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing.
    design
        Shape (n, p), full column rank, n > p; the first column is constant.
    reward
        Shape (n,).
    grid
        Noise shares to sum over.

    Raises
    ------
    numpy.linalg.LinAlgError
        The columns of ``design`` are not independent.
    """
    n, p = design.shape
    spacing = float(step[-1] - step[0]) / (n - 1)
    ortho, triangle = np.linalg.qr(design)
    back = np.linalg.inv(triangle)
    start = ortho.T @ reward
    columns = np.column_stack([ortho, reward - ortho @ start])
    gap = np.diff(step, prepend=step[0]) / spacing
    gain, innovation, level_variance = _gains(gap.tobytes(), grid.share.tobytes())
    # The Kalman filter over the columns, for all shares at once: innovations (n, c, g), the level (c, g).
    surprise = np.empty((*columns.shape, grid.share.size))
    level = np.zeros((p + 1, grid.share.size))
    for seen, column, weight in zip(surprise, columns[:, :, None], gain, strict=True):
        np.subtract(column, level, out=seen)
        level += seen * weight
    white = surprise / np.sqrt(innovation)[:, None]
    gram = np.einsum("tig,tjg->gij", white, white)
    normal, moment = gram[:, :p, :p], gram[:, :p, p]
    inverse = np.linalg.inv(normal)
    shift = np.einsum("gpq,gq->gp", inverse, moment)
    # In units of the largest residual from the mean.
    least = max(1e-24 * float(np.max(np.abs(reward - reward.mean()))) ** 2, np.finfo(float).tiny)
    rss = np.maximum(gram[:, p, p] - np.einsum("gp,gp->g", moment, shift), least)
    log_det = np.log(innovation).sum(axis=0) + np.linalg.slogdet(normal)[1]
    log_like = log_likelihood(rss, log_det, n - p, scaled=True)
    weight, evidence = normalised(grid.log_prior + log_like)
    variance = rss / (n - p)
    return WalkFit(
        weight=weight,
        share=grid.share,
        coefficient=(start + shift) @ back.T,
        covariance=np.einsum("ip,gpq,jq->gij", back, inverse, back) * variance[:, None, None],
        variance=variance,
        # The filter's last state is linear in the column: residual − Q (βq − start), βq = triangle β.
        level_offset=level[p] + level[:p].T @ start,
        level_slope=level[:p].T @ triangle,
        level_variance=level_variance * variance,
        spacing=spacing,
        df=float(n - p),
        log_evidence=float(evidence),
    )


@lru_cache(maxsize=32)
def _gains(gap: bytes, share: bytes) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The filter's gains and innovation variances (n, g), and the last state's variance (g,).

    They depend on the steps alone, and a forecast fits many series and forms over the same ones.
    """
    gaps, shares = np.frombuffer(gap), np.frombuffer(share)
    gain, innovation = np.empty((2, gaps.size, shares.size))
    # Of the level at the first step, in σ². Any number does: the constant column absorbs it.
    variance = np.ones(shares.size)
    for t, apart in enumerate(gaps):
        variance = variance + (1.0 - shares) * apart
        innovation[t] = variance + shares
        gain[t] = variance / innovation[t]
        variance = variance * shares / innovation[t]
    for array in (gain, innovation, variance):
        array.setflags(write=False)
    return gain, innovation, variance
