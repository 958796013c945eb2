"""A mixture of Student t distributions: what the engine knows about one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from entropylaw.engine.grid import FloatArray

_ITERATIONS = 200
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixture:
    """Distribution of m numbers at once, each a mixture over the same g grid points.

    ``weight`` has shape (g,), ``location`` and ``scale`` (m, g); every component is a Student t with
    ``df`` degrees of freedom (normal where ``df`` is infinite).
    """

    weight: FloatArray
    location: FloatArray
    scale: FloatArray
    df: float

    def cdf(self, value: FloatArray) -> FloatArray:
        """Probability that each number is at most ``value`` (shape (m,)); shape (m,)."""
        z = (value[:, None] - self.location) / self.scale
        below = ndtr(z) if np.isinf(self.df) else stdtr(self.df, z)
        return np.asarray(below @ self.weight)

    def density(self, value: FloatArray) -> FloatArray:
        """Probability density of each number at ``value`` (shape (m,)); shape (m,)."""
        z = (value[:, None] - self.location) / self.scale
        if np.isinf(self.df):
            each = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        else:
            constant = gammaln((self.df + 1) / 2) - gammaln(self.df / 2) - 0.5 * np.log(np.pi * self.df)
            each = np.exp(constant - (self.df + 1) / 2 * np.log1p(z**2 / self.df))
        return np.asarray((each / self.scale) @ self.weight)

    def quantile(self, probability: float) -> FloatArray:
        """Quantile of each number, shape (m,).

        The quantile of a mixture lies between the smallest and the largest quantile of its
        components. Newton's step is taken inside that bracket and bisection where it would leave it,
        until the bracket or the step is below 10⁻¹³ of the first bracket.
        """
        point = float(ndtri(probability) if np.isinf(self.df) else stdtrit(self.df, probability))
        each = self.location + point * self.scale
        low, high = each.min(axis=1), each.max(axis=1)
        if self.weight.size == 1:
            return np.asarray(low)
        tolerance = 1e-13 * (high - low)
        value = each @ self.weight
        for _ in range(_ITERATIONS):
            error = self.cdf(value) - probability
            low, high = np.where(error < 0, value, low), np.where(error < 0, high, value)
            density = self.density(value)
            newton = value - error / np.maximum(density, np.finfo(float).tiny)
            inside = (newton >= low) & (newton <= high)
            move = np.where(inside, newton, 0.5 * (low + high))
            done = np.abs(move - value) <= tolerance
            value = move
            if done.all():
                break
        return np.asarray(value)

    def standard_deviation(self) -> FloatArray:
        """Standard deviation of each number, shape (m,); nan where ``df`` ≤ 2 leaves it infinite."""
        inflate = 1.0 if np.isinf(self.df) else (self.df / (self.df - 2.0) if self.df > 2 else np.nan)
        mean = self.location @ self.weight
        second = (self.scale**2 * inflate + self.location**2) @ self.weight
        return np.asarray(np.sqrt(np.maximum(second - mean**2, 0.0)))

    def pruned(self) -> Mixture:
        """The same without components whose weights add up to less than 10⁻⁹."""
        order = np.argsort(self.weight)
        keep = np.sort(order[np.cumsum(self.weight[order]) > _NEGLIGIBLE])
        weight = self.weight[keep]
        return Mixture(
            weight=weight / weight.sum(),
            location=self.location[:, keep],
            scale=self.scale[:, keep],
            df=self.df,
        )
