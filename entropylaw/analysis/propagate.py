"""The law's posterior where the course of the entropy is known only so well."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.posterior import Posteriors, posteriors
from entropylaw.engine.uncertain import uncertain_posteriors

NEGLIGIBLE = 1e-3
"""A direction in which the course is uncertain counts where the reward, by the least-squares law, moves along
it by more than this share of the residual's sum of squares over n."""

CURVED = 1e-5
"""Error in the reward, in residual standard deviations, up to which exp(H) may be replaced by its tangent."""

_MOST_TURNS = 20


def law_posteriors(
    step: FloatArray,
    entropy: FloatArray,
    root: FloatArray,
    rewards: FloatArray,
    grid: Grid,
    floor: FloatArray | None = None,
) -> Posteriors:
    """Posterior of (ceiling, a) for b runs with the same steps.

    R = c − a·(exp(H) − 1) + drift + noise with H = ``entropy`` + ``root`` · u and u standard normal. exp(H)
    is replaced by its tangent, at the course or, where that is not near enough to the most probable H, at
    that; a·u is treated as :mod:`entropylaw.engine.uncertain` says.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing.
    entropy, root
        Shapes (b, n) and (b, n, k): the courses, in nats, and square roots of their covariances.
    rewards
        Shape (b, n).
    grid, floor
        As for :func:`entropylaw.engine.posterior.infer`.
    """
    designs = design(law_column(entropy))
    slope, variance = _least_squares(designs, rewards)
    root = _felt(root, np.exp(entropy) * (slope / np.sqrt(variance))[:, None])
    if not root.shape[2]:
        return posteriors(step, designs, rewards, grid, floor)
    at = entropy
    for _ in range(_MOST_TURNS):
        steep = np.exp(at)
        tangent = design(law_column(at) - steep * (at - entropy))
        many, u = uncertain_posteriors(step, tangent, -steep[:, :, None] * root, rewards, grid, floor)
        likely = entropy + np.einsum("bnk,bk->bn", root, u)
        error = 0.5 * np.abs(slope)[:, None] * steep * (likely - at) ** 2
        far = (error > CURVED * np.sqrt(variance)[:, None]).any(axis=1)
        if not far.any():
            break
        at = np.where(far[:, None], likely, at)
    return many


def _least_squares(designs: FloatArray, rewards: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope and residual variance of each run by least squares, both of shape (b,)."""
    ortho, triangle = np.linalg.qr(designs)
    along = np.einsum("bnp,bn->bp", ortho, rewards)
    left = rewards - np.einsum("bnp,bp->bn", ortho, along)
    variance = np.maximum((left**2).mean(axis=1), np.finfo(float).tiny)
    return along[:, -1] / triangle[:, -1, -1], variance


def _felt(root: FloatArray, steepness: FloatArray) -> FloatArray:
    """The columns of ``root`` (b, n, k) that matter to some run, and 0 for runs to which they do not.

    ``steepness`` (b, n) is what a nat moves the reward, in residual standard deviations.
    """
    moved = np.einsum("bn,bnk->bk", steepness**2, root**2)
    felt = moved > NEGLIGIBLE
    return np.asarray((root * felt[:, None, :])[:, :, felt.any(axis=0)])
