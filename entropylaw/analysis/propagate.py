"""The law's posterior where the course of the entropy is known only so well."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from entropylaw.analysis.course import Course
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.residual_models import residual_model
from entropylaw.engine.grid import Blur, FloatArray, Grid
from entropylaw.engine.posterior import infer
from entropylaw.engine.uncertain import uncertain_posteriors
from entropylaw.results.posterior import SHARPEST, Posterior

NEGLIGIBLE = 0.02
"""Components of the smoothing error count that move the reward, by the least-squares law, by more than this
share of the residual's sum of squares over n. Counting all moved no interval by a hundredth of its width."""

CURVED, EXACT = 0.1, 1e-4
"""Error in the reward up to which exp(H) may be replaced by its tangent, in standard errors of a mean: a
residual standard deviation over √n. The second is for entropies that are no course."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawInference:
    """The law of b runs, errors in the entropy in the model.

    ``posteriors`` are of (ceiling, a); ``likely`` (b, n) are the entropies as the reward corrects them;
    ``root`` (b, n, k) are the components of the smoothing error that affect the reward, times exp(H).
    """

    posteriors: Posterior
    likely: FloatArray
    root: FloatArray

    def blurred(self, grid: Grid) -> Grid:
        """The grid with what the errors in the first run's entropy add, for forms that take it as known."""
        whole, law = grid.drift + grid.noise, self.posteriors[0]
        share = np.maximum(grid.noise / whole, SHARPEST) if grid.homeless else 1.0
        blur = Blur(root=self.root[0], slope=law.coefficient[:, 1], variance=law.variance / (whole * share))
        return replace(grid, blur=blur)


def infer_law(
    step: FloatArray,
    entropy: FloatArray,
    root: FloatArray,
    rewards: FloatArray,
    grid: Grid,
    *,
    curved: float = CURVED,
) -> LawInference:
    """Fit the law to b runs with the same steps, errors in the entropy in the same model.

    R = c − a·(exp(H) − 1) + drift + noise with H = ``entropy`` + ``root`` · u and u standard normal. exp(H)
    is replaced by its tangent, at the course or, where that is too far from the most probable H, there;
    a·u is treated as :mod:`entropylaw.engine.uncertain` says.

    ``entropy`` (b, n) is in nats, ``root`` (b, n, k) the square roots of its covariances; k may be 0.
    ``step`` (n,), ``rewards`` (b, n) and ``grid`` are as for :func:`entropylaw.engine.posterior.infer`,
    ``curved`` is :data:`CURVED` or :data:`EXACT`.
    """
    designs = design(law_column(entropy))
    if not root.shape[2]:
        many = infer(step, designs, rewards, grid)
        return LawInference(posteriors=many, likely=entropy, root=root)
    slope, variance = _least_squares(designs, rewards)
    at, most = entropy, curved * np.sqrt(variance / step.size)[:, None]
    for _ in range(20):
        steep = np.exp(at)
        tangent = design(law_column(at) - steep * (at - entropy))
        many, u = uncertain_posteriors(step, tangent, -steep[:, :, None] * root, rewards, grid)
        likely = entropy + np.einsum("bnk,bk->bn", root, u)
        far = (0.5 * np.abs(slope)[:, None] * steep * (likely - at) ** 2 > most).any(axis=1)
        if not far.any():
            break
        at = np.where(far[:, None], likely, at)
    return LawInference(posteriors=many, likely=likely, root=steep[:, :, None] * root)


def infer_run(
    step: FloatArray, course: Course, reward: FloatArray, grid: Grid, interval: str
) -> LawInference | None:
    """The law in one run, where errors in its entropy matter; None where they do not.

    Of a smoothed entropy only those count that affect the reward, of logged values all, as exactly as odrpack
    has it.
    """
    entropy, root, rewards = course.entropy[None], course.root[None], reward[None]
    smooth = residual_model(interval).smooths_entropy
    root, curved = (felt(entropy, root, rewards), CURVED) if smooth else (root, EXACT)
    return infer_law(step, entropy, root, rewards, grid, curved=curved) if root.size else None


def _least_squares(designs: FloatArray, rewards: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope and residual variance of each run by least squares, both of shape (b,)."""
    ortho, triangle = np.linalg.qr(designs)
    along = np.einsum("bnp,bn->bp", ortho, rewards)
    left = rewards - np.einsum("bnp,bp->bn", ortho, along)
    variance = np.maximum((left**2).mean(axis=1), np.finfo(float).tiny)
    return along[:, -1] / triangle[:, -1, -1], variance


def felt(entropy: FloatArray, root: FloatArray, rewards: FloatArray) -> FloatArray:
    """The columns of ``root`` (b, n, k) that matter to some run, and 0 for runs to which they do not.

    A column matters by :data:`NEGLIGIBLE`; the other shapes are as for :func:`infer_law`.
    """
    if not root.shape[2]:
        return root
    slope, variance = _least_squares(design(law_column(entropy)), rewards)
    moved = (slope**2 / variance)[:, None] * np.einsum("bn,bnk->bk", np.exp(2.0 * entropy), root**2)
    matters = moved > NEGLIGIBLE
    return np.asarray((root * matters[:, None, :])[:, :, matters.any(axis=0)])
