"""Exact inference for R = X β + drift + noise, with the drift's parameters integrated out.

For one covariance the answer is generalised least squares in closed form: with a flat prior on β and
1/σ² on the residual variance, any linear functional of β is a Student t with n − p degrees of freedom.
Over a grid of covariances the answers are mixed by their restricted marginal likelihood (Harville 1974,
doi:10.1093/biomet/61.2.383), so that an interval is a quantile of a mixture of t's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln, logsumexp

from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.mixture import Mixture
from entropylaw.engine.whiten import Gains, filter_gains, whiten

_SHARPEST = 1e-9
"""Smallest width of a component, in residual standard deviations."""

_CELLS = 4_000_000
"""Numbers held at once while whitening; larger problems go through in slices."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """Posterior of β (p coefficients) over g grid points.

    Attributes
    ----------
    weight
        Shape (g,), adds up to 1.
    coefficient, covariance
        Shapes (g, p) and (g, p, p): location and squared scale of the t at each grid point.
    variance
        Shape (g,): residual variance (drift and noise together).
    drift_share, length
        Shape (g,): share of the residual variance that is drift, and its correlation length in steps.
    now_offset, now_slope, now_variance
        Shapes (g,), (g, p), (g,): given β, the drift at the last step is ``now_offset − now_slope · β``
        with variance ``now_variance``.
    effective_n
        Shape (g,): number of independent evaluations that would tell as much about the level.
    df
        Degrees of freedom of every component; infinite where the variance is on the grid.
    log_evidence
        Log marginal likelihood, for columns that are orthonormal over the n rows.
    """

    weight: FloatArray
    coefficient: FloatArray
    covariance: FloatArray
    variance: FloatArray
    drift_share: FloatArray
    length: FloatArray
    now_offset: FloatArray
    now_slope: FloatArray
    now_variance: FloatArray
    effective_n: FloatArray
    df: float = field(metadata={"null": math.inf})
    log_evidence: float

    def functional(
        self, row: FloatArray, *, drift_now: float = 0.0, new_noise: float | None = None
    ) -> Mixture:
        """Distribution of ``row @ β + drift_now · (drift at the last step)``.

        Parameters
        ----------
        row
            Shape (m, p): m functionals at once.
        drift_now
            Multiple of the drift at the last step, where the run stands now.
        new_noise
            Where given, the distribution is that of a new evaluation: the residual variance is added,
            and ``new_noise`` (a known noise floor, or 0) too.
        """
        effective = row[:, None, :] - drift_now * self.now_slope
        location = np.einsum("mp,gp->mg", row, self.coefficient)
        location += drift_now * (self.now_offset - np.einsum("gp,gp->g", self.now_slope, self.coefficient))
        squared = np.einsum("mgp,gpq,mgq->mg", effective, self.covariance, effective)
        squared += drift_now**2 * self.now_variance
        if new_noise is not None:
            squared = squared + self.variance + new_noise
        # Pure drift without noise knows the reward now exactly; a mixture wants a width, however small.
        scale = np.sqrt(np.maximum(squared, _SHARPEST**2 * self.variance))
        return Mixture(weight=self.weight, location=location, scale=scale, df=self.df)

    def pruned(self, mass: float = 1e-9) -> Posterior:
        """The same without the lightest grid points, which together weigh less than ``mass``."""
        order = np.argsort(self.weight, kind="stable")
        keep = np.sort(order[np.cumsum(self.weight[order]) > mass])
        weight = self.weight[keep]
        return Posterior(
            weight=weight / weight.sum(),
            coefficient=self.coefficient[keep],
            covariance=self.covariance[keep],
            variance=self.variance[keep],
            drift_share=self.drift_share[keep],
            length=self.length[keep],
            now_offset=self.now_offset[keep],
            now_slope=self.now_slope[keep],
            now_variance=self.now_variance[keep],
            effective_n=self.effective_n[keep],
            df=self.df,
            log_evidence=self.log_evidence,
        )


def infer(
    step: FloatArray, designs: FloatArray, rewards: FloatArray, grid: Grid, floor: FloatArray | None = None
) -> list[Posterior]:
    """Posterior of β for a batch of problems that share their steps.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing. The filter's gains depend on nothing else, so that a batch
        pays for them once.
    designs
        Shape (batch, n, p), full column rank, the first column constant.
    rewards
        Shape (batch, n).
    grid
        Covariances to sum over.
    floor
        Shape (n,), known noise variance; only with a grid that is not ``scaled``.
    """
    gains = filter_gains(step, grid, floor)
    mean_floor = 0.0 if floor is None else float(floor.mean())
    width = designs.shape[2] + 1
    size = max(1, _CELLS // (step.size * width * grid.length.size))
    answers: list[Posterior] = []
    for start in range(0, len(designs), size):
        part = slice(start, start + size)
        answers += _infer_slice(gains, designs[part], rewards[part], grid, mean_floor)
    return answers


def _infer_slice(
    gains: Gains, designs: FloatArray, rewards: FloatArray, grid: Grid, floor: float
) -> Sequence[Posterior]:
    """One slice of :func:`infer`, small enough to be whitened at once."""
    batch, n, p = designs.shape
    # Orthonormal columns and least-squares residuals: what is left to whiten is small and well
    # conditioned, so that normal equations lose no digits.
    ortho, triangle = np.linalg.qr(designs)
    start = np.einsum("bnp,bn->bp", ortho, rewards)
    residual = rewards - np.einsum("bnp,bp->bn", ortho, start)
    columns = np.concatenate([ortho, residual[:, :, None]], axis=2)
    white, last = whiten(gains, columns.transpose(1, 0, 2).reshape(n, batch * (p + 1)))
    points = gains.log_det.size
    white = white.reshape(n, batch, p + 1, points)
    gram = np.einsum("nbig,nbjg->bgij", white, white, optimize=False)
    last = last.reshape(batch, p + 1, points).transpose(0, 2, 1)
    back = np.linalg.inv(triangle)
    return [
        _solve(gains, grid, gram[i], last[i], start[i], back[i], triangle[i], n, floor) for i in range(batch)
    ]


def _solve(
    gains: Gains,
    grid: Grid,
    gram: FloatArray,
    last: FloatArray,
    start: FloatArray,
    back: FloatArray,
    triangle: FloatArray,
    n: int,
    floor: float,
) -> Posterior:
    """Closed form at every grid point, from the cross products of the whitened columns."""
    p = start.size
    normal, moment = gram[:, :p, :p], gram[:, :p, p]
    inverse = np.linalg.inv(normal)
    shift = np.einsum("gpq,gq->gp", inverse, moment)
    rss = np.maximum(gram[:, p, p] - np.einsum("gp,gp->g", moment, shift), np.finfo(float).tiny)
    log_like = -0.5 * (gains.log_det + np.linalg.slogdet(normal)[1])
    free = n - p
    if grid.scaled:
        variance = rss / free
        log_like += gammaln(free / 2) - free / 2 * (np.log(rss / 2) + np.log(2 * np.pi))
    else:
        variance = np.ones_like(rss)
        log_like += -0.5 * rss - free / 2 * np.log(2 * np.pi)
    log_weight = log_like + grid.log_prior
    evidence = float(logsumexp(log_weight))
    # The filter's last state is linear in the column: residual − Q (βq − start), and βq = triangle β.
    return Posterior(
        weight=np.exp(log_weight - evidence),
        coefficient=(start + shift) @ back.T,
        covariance=np.einsum("ip,gpq,jq->gij", back, inverse, back) * variance[:, None, None],
        variance=variance * (grid.drift + grid.noise),
        drift_share=grid.drift / (grid.drift + grid.noise + floor),
        length=grid.length,
        now_offset=last[:, p] + last[:, :p] @ start,
        now_slope=last[:, :p] @ triangle,
        now_variance=gains.last_variance * variance,
        effective_n=n * normal[:, 0, 0] * (grid.drift + grid.noise + floor),
        df=float(free) if grid.scaled else np.inf,
        log_evidence=evidence,
    )
