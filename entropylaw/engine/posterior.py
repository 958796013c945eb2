"""Exact inference for R = X β + drift + noise, with the drift's parameters integrated out.

For one covariance the answer is generalised least squares in closed form: with a flat prior on β and
1/σ² on the residual variance, any linear functional of β is a Student t with n − p degrees of freedom.
Over a grid of covariances the answers are mixed by their restricted marginal likelihood (Harville 1974,
doi:10.1093/biomet/61.2.383), so that an interval is a quantile of a mixture of t's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.special import gammaln

from entropylaw.engine.blur import Blur, blurred_products
from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.mixture import Mixture
from entropylaw.engine.whiten import Products
from entropylaw.results.posterior import SHARPEST, Posterior

LEAST = 1e-280
"""Smallest residual sum of squares: an exact fit must leave a width that can be divided by."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posteriors:
    """Posteriors of b problems on one grid: as :class:`Posterior`, with one more axis in front."""

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
    df: float
    log_evidence: FloatArray

    def functional(
        self, row: FloatArray, drift_now: FloatArray, fresh: FloatArray | None = None, mass: float = 1e-9
    ) -> Mixture:
        """Distribution of m numbers ``row @ β + drift_now · (drift at the last step)`` of each problem.

        Parameters
        ----------
        row
            Shape (b, m, p).
        drift_now
            Shape (m,), multiples of the drift at the last step.
        fresh
            Shape (m,), 1 where the number is a new evaluation, with a drift and a noise of its own.
        mass
            The lightest grid points, together lighter than this, get no weight, as in
            :meth:`Posterior.pruned`.

        Returns
        -------
        b · m numbers, those of the first problem first.
        """
        b, m, _ = row.shape
        order = np.argsort(self.weight, axis=1, kind="stable")
        kept = np.take_along_axis(
            np.cumsum(np.take_along_axis(self.weight, order, 1), axis=1) > mass, np.argsort(order, axis=1), 1
        )
        weight = self.weight * kept
        weight /= weight.sum(axis=1, keepdims=True)
        effective = row[:, :, None, :] - drift_now[:, None, None] * self.now_slope[:, None]
        location = row @ self.coefficient.transpose(0, 2, 1)
        level = self.now_offset - (self.now_slope * self.coefficient).sum(axis=-1)
        location += drift_now[:, None] * level[:, None, :]
        squared = ((effective[..., None, :] @ self.covariance[:, None])[..., 0, :] * effective).sum(axis=-1)
        squared += drift_now[:, None] ** 2 * self.now_variance[:, None, :]
        if fresh is not None:
            squared += fresh[:, None] * self.variance[:, None, :]
        scale = np.sqrt(np.maximum(squared, SHARPEST**2 * self.variance[:, None, :]))
        return Mixture(
            weight=np.repeat(weight, m, axis=0),
            location=location.reshape(b * m, -1),
            scale=scale.reshape(b * m, -1),
            df=self.df,
        )


def infer(
    step: FloatArray,
    designs: FloatArray,
    rewards: FloatArray,
    grid: Grid,
    floor: FloatArray | None = None,
    blur: Blur | None = None,
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
    blur
        What errors in a regressor add to the covariance.
    """
    return split(posteriors(step, designs, rewards, grid, floor, blur))


def posteriors(
    step: FloatArray,
    designs: FloatArray,
    rewards: FloatArray,
    grid: Grid,
    floor: FloatArray | None = None,
    blur: Blur | None = None,
) -> Posteriors:
    """The same as :func:`infer`, each problem whitened on its own, and all in one."""
    mean_floor = 0.0 if floor is None else float(floor.mean())
    # Orthonormal columns and least-squares residuals: what is left to whiten is small and well
    # conditioned, so that normal equations lose no digits.
    ortho, triangle = np.linalg.qr(designs)
    start = np.einsum("bnp,bn->bp", ortho, rewards)
    residual = rewards - np.einsum("bnp,bp->bn", ortho, start)
    columns = np.concatenate([ortho, residual[:, :, None]], axis=2)
    products = blurred_products(step, columns, grid, floor, blur)
    return solve(products, grid, start, triangle, step.size, mean_floor)


def solve(
    products: Products, grid: Grid, start: FloatArray, triangle: FloatArray, n: int, floor: float
) -> Posteriors:
    """Closed form at every grid point of b problems, from the cross products of their whitened columns.

    The columns are Q of the design = Q·R and what the least-squares coordinates ``start`` (b, p) along Q
    leave of the reward; ``triangle`` (b, p, p) is R.
    """
    gram, last = products.gram, products.last
    p = start.shape[1]
    normal, moment = gram[..., :p, :p], gram[..., :p, p]
    inverse, log_det = symmetric_inverse(normal)
    shift = (inverse @ moment[..., None])[..., 0]
    rss = np.maximum(gram[..., p, p] - (moment * shift).sum(axis=-1), LEAST)
    log_like = -0.5 * (products.log_det + log_det)
    free = n - p
    if grid.scaled:
        variance = rss / free
        log_like += gammaln(free / 2) - free / 2 * (np.log(rss / 2) + np.log(2 * np.pi))
    else:
        variance = np.ones_like(rss)
        log_like += -0.5 * rss - free / 2 * np.log(2 * np.pi)
    log_weight = log_like + grid.log_prior
    top = log_weight.max(axis=1, keepdims=True)
    weight = np.exp(log_weight - top)
    total = weight.sum(axis=1, keepdims=True)
    back = np.linalg.inv(triangle)
    whole = grid.drift + grid.noise
    # The filter's last state is linear in the column: residual − Q (βq − start), and βq = triangle β.
    many = Posteriors(
        weight=weight / total,
        coefficient=(start[:, None] + shift) @ back.transpose(0, 2, 1),
        covariance=(back[:, None] @ inverse @ back.transpose(0, 2, 1)[:, None]) * variance[..., None, None],
        variance=variance * whole,
        drift_share=np.broadcast_to(grid.drift / (whole + floor), rss.shape),
        length=np.broadcast_to(grid.length, rss.shape),
        now_offset=last[..., p] + (last[..., :p] @ start[..., None])[..., 0],
        now_slope=last[..., :p] @ triangle,
        now_variance=products.last_variance * variance,
        effective_n=n * normal[..., 0, 0] * (whole + floor),
        df=float(free) if grid.scaled else np.inf,
        log_evidence=(top + np.log(total))[:, 0],
    )
    return told_at_the_end(many, grid) if grid.homeless else many


def told_at_the_end(many: Posteriors, grid: Grid) -> Posteriors:
    """With the constant as the level at the last step: it takes up the drift there, of which nothing is left.

    ``variance`` then is the noise's alone: of a new evaluation at the last step.
    """
    p = many.coefficient.shape[-1]
    level = np.zeros((p, p))
    level[0, 0] = 1.0
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


def split(many: Posteriors) -> list[Posterior]:
    """One posterior for each problem of a batch."""
    arrays = {name: getattr(many, name) for name in _PARTS}
    return [
        Posterior(
            **{name: array[i] for name, array in arrays.items()},
            df=many.df,
            log_evidence=float(many.log_evidence[i]),
        )
        for i in range(len(many.weight))
    ]


def joined(each: Sequence[Posterior]) -> Posteriors:
    """Posteriors on one grid as one: what :func:`split` takes apart."""
    arrays = {name: np.array([getattr(one, name) for one in each]) for name in (*_PARTS, "log_evidence")}
    return Posteriors(**arrays, df=each[0].df)


_PARTS = tuple(part.name for part in fields(Posteriors) if part.name not in ("df", "log_evidence"))


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
