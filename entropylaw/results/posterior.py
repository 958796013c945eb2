"""The posterior of a law's coefficients, as it is stored."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from entropylaw.results.arrays import FloatArray, Unbounded

if TYPE_CHECKING:
    from entropylaw.engine.mixture import Mixture

SHARPEST = 1e-9
"""Smallest width of a component, in residual standard deviations."""


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
    df: Unbounded
    log_evidence: float

    def flaw(self) -> str:
        """Arrays whose shapes do not match, or weights that do not add up to 1."""
        if isinstance(self.weight, list):
            return ""
        size = self.weight.size
        p = self.coefficient.shape[-1] if self.coefficient.ndim else 0
        of_size = (self.weight, self.variance, self.drift_share, self.length, self.now_offset)
        shapes: list[tuple[FloatArray, tuple[int, ...]]]
        shapes = [(array, (size,)) for array in (*of_size, self.now_variance, self.effective_n)]
        shapes += [(self.coefficient, (size, p)), (self.now_slope, (size, p))]
        shapes += [(self.covariance, (size, p, p))]
        if not size or any(array.shape != shape for array, shape in shapes):
            return "arrays of matching shapes"
        weighted = (self.weight >= 0).all() and abs(float(self.weight.sum()) - 1.0) < 1e-6
        return "" if weighted else "weights that add up to 1"

    def functional(
        self, row: FloatArray, *, drift_now: float | FloatArray = 0.0, new_noise: float | None = None
    ) -> "Mixture":
        """Distribution of ``row @ β + drift_now · (drift at the last step)``.

        Parameters
        ----------
        row
            Shape (m, p): m functionals at once.
        drift_now
            Multiple of the drift at the last step, where the run stands now; one, or shape (m,).
        new_noise
            Where given, the distribution is that of a new evaluation: the residual variance is added,
            and ``new_noise`` (a known noise floor, or 0) too.
        """
        import numpy as np

        from entropylaw.engine.mixture import Mixture

        drift = np.broadcast_to(np.asarray(drift_now, dtype=float), len(row))[:, None]
        effective = row[:, None, :] - drift[:, :, None] * self.now_slope
        location = row @ self.coefficient.T
        location += drift * (self.now_offset - np.einsum("gp,gp->g", self.now_slope, self.coefficient))
        squared = np.einsum("mgp,gpq,mgq->mg", effective, self.covariance, effective)
        squared += drift**2 * self.now_variance
        if new_noise is not None:
            squared = squared + self.variance + new_noise
        # Pure drift without noise knows the reward now exactly; a mixture wants a width, however small.
        scale = np.sqrt(np.maximum(squared, SHARPEST**2 * self.variance))
        return Mixture(weight=self.weight, location=location, scale=scale, df=self.df)

    def mean(self) -> FloatArray:
        """Posterior mean of β, shape (p,)."""
        import numpy as np

        return np.asarray(self.weight @ self.coefficient)

    def pruned(self, mass: float = 1e-9) -> "Posterior":
        """The same without the lightest grid points, which together weigh less than ``mass``."""
        import numpy as np

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
