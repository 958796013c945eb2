"""The posterior of a law's coefficients, as it is stored."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from entropylaw.arrays import FloatArray, OneOrMany, Unbounded
from entropylaw.results.result import replace

if TYPE_CHECKING:
    from entropylaw.arrays import IntArray
    from entropylaw.results.mixture import Mixture

SHARPEST = 1e-9
"""Smallest width of a component, in residual standard deviations."""

SHORT, LONG, SCALED = 0.0, 1.0, 2.0
"""Kinds of residual: a drift of one length and noise, of constant scale; a drift of several lengths, as long
memory needs them; a drift of one length and noise whose scale changes along the run."""


class Posterior(Struct, frozen=True, kw_only=True, eq=False):
    """Posterior of β (p coefficients) over g grid points.

    Shapes are those of one problem; a batch has one more axis in front of every array, the evidence too.

    Attributes
    ----------
    weight
        Shape (g,), adds up to 1.
    coefficient, covariance
        Shapes (g, p) and (g, p, p): location and squared scale of the t at each grid point.
    variance
        Shape (g,): residual variance (drift and noise together).
    drift_share, length, kind
        Shape (g,): share of the residual variance that is drift; its correlation length in steps, the mean
        where it has several; and :data:`SHORT`, :data:`LONG` or :data:`SCALED`.
    now_offset, now_slope, now_variance
        Shapes (g,), (g, p), (g,): given β, the drift at the last step is ``now_offset − now_slope · β``
        with variance ``now_variance``.
    effective_n
        Shape (g,): number of independent evaluations with as much information on the level.
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
    kind: FloatArray
    now_offset: FloatArray
    now_slope: FloatArray
    now_variance: FloatArray
    effective_n: FloatArray
    df: Unbounded
    log_evidence: OneOrMany

    @classmethod
    def joined(cls, each: "Iterable[Posterior]") -> Self:
        """Posteriors on one grid as a batch."""
        import numpy as np

        several = list(each)
        names = (name for name in cls.__struct_fields__ if name != "df")
        arrays = {name: np.array([getattr(posterior, name) for posterior in several]) for name in names}
        return cls(**arrays, df=several[0].df)

    @classmethod
    def gathered(cls, each: "Iterable[tuple[Posterior, int]]") -> "Posterior":
        """Problems of some batches on one grid, each a batch and a number in it, as one batch."""
        import numpy as np

        several = list(each)
        batches = list({id(batch): batch for batch, _ in several}.values())
        start = dict(
            zip(map(id, batches), np.cumsum([0, *(len(batch.weight) for batch in batches)]), strict=False)
        )
        rows = np.array([start[id(batch)] + number for batch, number in several])
        if len(batches) == 1:
            return batches[0][rows]
        names = (name for name in cls.__struct_fields__ if name != "df")
        arrays = {name: np.concatenate([getattr(batch, name) for batch in batches])[rows] for name in names}
        return cls(**arrays, df=batches[0].df)

    def __iter__(self) -> Iterator[Self]:
        """The problems of a batch."""
        return (self[i] for i in range(len(self.weight)))

    def __getitem__(self, i: "int | IntArray") -> Self:
        """One problem of a batch, or some of them."""
        arrays = {name: getattr(self, name)[i] for name in _arrays(self)}
        evidence = self.log_evidence[i]
        return replace(self, **arrays, log_evidence=float(evidence) if isinstance(i, int) else evidence)

    def flaw(self) -> str:
        """Arrays whose shapes do not match, or weights that do not add up to 1."""
        if isinstance(self.weight, list):
            return ""
        size = self.weight.size
        p = self.coefficient.shape[-1] if self.coefficient.ndim else 0
        of_size = (self.weight, self.variance, self.drift_share, self.length, self.kind, self.now_offset)
        arrays = (*of_size, self.now_variance, self.effective_n, self.coefficient, self.now_slope)
        expected = [*[(size,)] * 8, *[(size, p)] * 2, (size, p, p)]
        if not size or [array.shape for array in (*arrays, self.covariance)] != expected:
            return "arrays of matching shapes"
        weighted = (self.weight >= 0).all() and abs(float(self.weight.sum()) - 1.0) < 1e-6
        return "" if weighted else "weights that add up to 1"

    def functional(
        self,
        row: FloatArray,
        drift_now: float | FloatArray = 0.0,
        fresh: float | FloatArray = 0.0,
        *,
        floor: float = 0.0,
    ) -> "Mixture":
        """Distribution of ``row @ β + drift_now · (drift at the last step)``.

        ``row`` has shape (m, p), or (b, m, p) for a batch, of which there are b · m numbers, those of the
        first problem first. ``fresh`` is 1 where the number is one more evaluation, to which the residual's
        variance and ``floor``, its known part, are added. ``drift_now`` and ``fresh`` are one, or (m,).
        """
        import numpy as np

        from entropylaw.results.mixture import Mixture

        m = row.shape[-2]
        drift, new = (np.reshape(value, (-1, 1)) for value in (drift_now, fresh))
        effective = row[..., :, None, :] - drift[..., None] * self.now_slope[..., None, :, :]
        location = row @ self.coefficient.swapaxes(-1, -2)
        level = self.now_offset - (self.now_slope * self.coefficient).sum(axis=-1)
        location = location + drift * level[..., None, :]
        squared = np.einsum("...mgp,...gpq,...mgq->...mg", effective, self.covariance, effective)
        squared += drift**2 * self.now_variance[..., None, :]
        squared += new * self.variance[..., None, :] + new * floor
        # With pure drift the reward now is known exactly; a mixture needs a width, however small.
        scale = np.sqrt(np.maximum(squared, SHARPEST**2 * self.variance[..., None, :]))
        points = self.weight.shape[-1]
        return Mixture(
            weight=self.weight if self.weight.ndim == 1 else np.repeat(self.weight, m, axis=0),
            location=location.reshape(-1, points),
            scale=scale.reshape(-1, points),
            df=self.df,
        )

    def mean(self) -> FloatArray:
        """Posterior mean of β, shape (p,); (b, p) for a batch."""
        return (self.weight[..., None, :] @ self.coefficient)[..., 0, :]

    def pruned(self, mass: float = 1e-9) -> Self:
        """The same without the least probable grid points, of less than ``mass`` together.

        In a batch their weights are set to 0, because they differ between problems.
        """
        import numpy as np

        order = np.argsort(self.weight, axis=-1, kind="stable")
        probable = np.cumsum(np.take_along_axis(self.weight, order, -1), axis=-1) > mass
        likely = np.take_along_axis(probable, np.argsort(order, axis=-1), -1)
        if self.weight.ndim > 1:
            weight = self.weight * likely
            return replace(self, weight=weight / weight.sum(axis=-1, keepdims=True))
        left = {name: getattr(self, name)[likely] for name in _arrays(self)}
        return replace(self, **left | {"weight": left["weight"] / left["weight"].sum()})


def _arrays(posterior: Posterior) -> tuple[str, ...]:
    return tuple(name for name in posterior.__struct_fields__ if name not in ("df", "log_evidence"))
