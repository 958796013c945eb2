"""Exact inference for R = X β + drift + noise, with the drift's parameters integrated out.

For one covariance the answer is generalised least squares in closed form: with a flat prior on β and
1/σ² on the residual variance, any linear functional of β is a Student t with n − p degrees of freedom.
Over a grid of covariances the answers are mixed by their restricted marginal likelihood (Harville 1974,
doi:10.1093/biomet/61.2.383), so that an interval is a quantile of a mixture of t's.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.whiten import Products, cross_products
from entropylaw.results.fields import replace
from entropylaw.results.mixture import normalised
from entropylaw.results.posterior import SHARPEST, Posterior

LEAST = 1e-280
"""Smallest residual sum of squares: an exact fit must leave a width that can be divided by."""


def infer(
    step: FloatArray, designs: FloatArray, rewards: FloatArray, grid: Grid, *, least: float = LEAST
) -> Posterior:
    """Posterior of β for a batch of problems that share their steps, each whitened on its own.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing. The filter's gains depend on nothing else: a batch pays once.
    designs, rewards
        Shapes (batch, n, p), full column rank, the first column constant, and (batch, n).
    grid
        Covariances to sum over.
    least
        Smallest residual sum of squares that is believed.
    """
    # Orthonormal columns and least-squares residuals: what is left to whiten is small and well
    # conditioned, so that normal equations lose no digits.
    ortho, triangle = np.linalg.qr(designs)
    start = np.einsum("bnp,bn->bp", ortho, rewards)
    residual = rewards - np.einsum("bnp,bp->bn", ortho, start)
    columns = np.concatenate([ortho, residual[:, :, None]], axis=2)
    return solve(cross_products(step, columns, grid), grid, start, triangle, step.size, least)


def solve(
    products: Products, grid: Grid, start: FloatArray, triangle: FloatArray, n: int, least: float = LEAST
) -> Posterior:
    """Closed form at every grid point of b problems, from the cross products of their whitened columns.

    The columns are Q of the design = Q·R and what the least-squares coordinates ``start`` (b, p) along Q
    leave of the reward; ``triangle`` (b, p, p) is R.
    """
    gram, last = products.gram, products.last
    p = start.shape[1]
    normal, moment = gram[..., :p, :p], gram[..., :p, p]
    inverse, log_det = symmetric_inverse(normal)
    shift = (inverse @ moment[..., None])[..., 0]
    rss = np.maximum(gram[..., p, p] - (moment * shift).sum(axis=-1), least)
    back = np.linalg.inv(triangle)
    # The filter's last state is linear in the column: residual − Q (βq − start), and βq = triangle β.
    many = over_grid(
        grid,
        log_likelihood(rss, products.log_det + log_det, n - p, grid.scaled),
        variance=rss / (n - p) if grid.scaled else np.ones_like(rss),
        free=n - p,
        coefficient=(start[:, None] + shift) @ back.transpose(0, 2, 1),
        covariance=back[:, None] @ inverse @ back.transpose(0, 2, 1)[:, None],
        now_offset=last[..., p] + (last[..., :p] @ start[..., None])[..., 0],
        now_slope=last[..., :p] @ triangle,
        now_variance=products.last_variance,
        level_information=n * normal[..., 0, 0],
    )
    return reparametrise_at_last_step(many, grid) if grid.homeless else many


def log_likelihood(rss: FloatArray, log_det: FloatArray, free: int, scaled: bool) -> FloatArray:
    """Log restricted likelihood of covariances with residual sums of squares ``rss``, same shape.

    ``log_det`` is that of the covariance and of the normal matrix, together; ``free`` = n − p; where
    ``scaled`` the residual variance is integrated out (Harville 1974).
    """
    quadratic = (
        gammaln(free / 2) - free / 2 * (np.log(rss / 2) + np.log(2 * np.pi))
        if scaled
        else -0.5 * rss - free / 2 * np.log(2 * np.pi)
    )
    return np.asarray(-0.5 * log_det + quadratic)


def over_grid(
    grid: Grid,
    log_like: FloatArray,
    *,
    variance: FloatArray,
    free: int,
    coefficient: FloatArray,
    covariance: FloatArray,
    now_offset: FloatArray,
    now_slope: FloatArray,
    now_variance: FloatArray,
    level_information: FloatArray,
) -> Posterior:
    """The grid points' answers, mixed by their log likelihoods (b, g).

    ``covariance`` and ``now_variance`` are in σ², which is ``variance``; ``level_information`` (b, g) is n
    times the level's element of the normal matrix.
    """
    weight, log_evidence = normalised(log_like + grid.log_prior)
    whole = grid.drift + grid.noise
    return Posterior(
        weight=weight,
        coefficient=coefficient,
        covariance=covariance * variance[..., None, None],
        variance=variance * whole,
        drift_share=np.broadcast_to(grid.drift / (whole + grid.mean_floor), variance.shape),
        length=np.broadcast_to(grid.length, variance.shape),
        now_offset=now_offset,
        now_slope=now_slope,
        now_variance=now_variance * variance,
        effective_n=level_information * (whole + grid.mean_floor),
        df=float(free) if grid.scaled else np.inf,
        log_evidence=log_evidence,
    )


def reparametrise_at_last_step(many: Posterior, grid: Grid) -> Posterior:
    """With the constant as the level at the last step: it takes up the drift there, of which nothing is left.

    ``variance`` then is the noise's alone: of a new evaluation at the last step.
    """
    p = many.coefficient.shape[-1]
    level = np.diag(np.eye(1, p)[0])
    moved = many.now_offset - (many.now_slope * many.coefficient).sum(axis=-1)
    turn = np.eye(p) - level[:, :1] * many.now_slope[..., None, :]
    covariance = turn @ many.covariance @ turn.swapaxes(-1, -2)
    return replace(
        many,
        coefficient=many.coefficient + moved[..., None] * level[0],
        covariance=covariance + many.now_variance[..., None, None] * level,
        # Never 0: a width must be left where all is known.
        variance=many.variance * np.maximum(grid.noise / (grid.drift + grid.noise), SHARPEST),
        now_offset=np.zeros_like(many.now_offset),
        now_slope=np.zeros_like(many.now_slope),
        now_variance=np.zeros_like(many.now_variance),
    )


def symmetric_inverse(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Inverse and log-determinant of symmetric positive definite matrices, shape (..., p, p)."""
    p = matrix.shape[-1]
    if p == 1:
        return 1.0 / matrix, np.log(matrix[..., 0, 0])
    if p > 2:
        return np.asarray(np.linalg.inv(matrix)), np.asarray(np.linalg.slogdet(matrix)[1])
    first, both, second = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 1]
    determinant = first * second - both**2
    inverse = np.empty_like(matrix)
    inverse[..., 0, 0], inverse[..., 1, 1] = second / determinant, first / determinant
    inverse[..., 0, 1] = inverse[..., 1, 0] = -both / determinant
    return inverse, np.log(determinant)
