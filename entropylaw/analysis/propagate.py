"""The law's posterior where the course of the entropy is known only so well."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.posterior import Posteriors, posteriors
from entropylaw.engine.uncertain import uncertain_posteriors

NEGLIGIBLE = 0.02
"""A direction in which the course is uncertain counts where the reward, by the least-squares law, moves along
it by more than this share of the residual's sum of squares over n. Counting them all moves the ends of
intervals by less than a hundredth of their width."""

CURVED = 0.1
"""Error in the reward up to which exp(H) may be replaced by its tangent, in standard errors of a mean: a
residual standard deviation over √n."""

_MOST_TURNS = 20


def law_posteriors(
    step: FloatArray,
    entropy: FloatArray,
    root: FloatArray,
    rewards: FloatArray,
    grid: Grid,
    floor: FloatArray | None = None,
    *,
    curved: float = CURVED,
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
    curved
        As :data:`CURVED`.
    """
    designs = design(law_column(entropy))
    slope, variance = _least_squares(designs, rewards)
    root = felt(entropy, root, rewards)
    if not root.shape[2]:
        return posteriors(step, designs, rewards, grid, floor)
    at, most = entropy, curved * np.sqrt(variance / step.size)[:, None]
    for _ in range(_MOST_TURNS):
        steep = np.exp(at)
        tangent = design(law_column(at) - steep * (at - entropy))
        many, u = uncertain_posteriors(step, tangent, -steep[:, :, None] * root, rewards, grid, floor)
        likely = entropy + np.einsum("bnk,bk->bn", root, u)
        error = 0.5 * np.abs(slope)[:, None] * steep * (likely - at) ** 2
        far = (error > most).any(axis=1)
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


def felt(entropy: FloatArray, root: FloatArray, rewards: FloatArray) -> FloatArray:
    """The columns of ``root`` (b, n, k) that matter to some run, and 0 for runs to which they do not.

    A column matters by :data:`NEGLIGIBLE`; the other shapes are as for :func:`law_posteriors`.
    """
    if not root.shape[2]:
        return root
    slope, variance = _least_squares(design(law_column(entropy)), rewards)
    moved = (slope**2 / variance)[:, None] * np.einsum("bn,bnk->bk", np.exp(2.0 * entropy), root**2)
    matters = moved > NEGLIGIBLE
    return np.asarray((root * matters[:, None, :])[:, :, matters.any(axis=0)])
