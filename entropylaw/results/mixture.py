"""A mixture of Student t distributions: the posterior of a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from entropylaw.arrays import FloatArray, IntArray

_PER_UNIT = 48
"""Pieces for each unit of arsinh(z)."""

_AT_ONCE = 2**16
"""Components in arrays that a processor's cache holds: quantiles of many numbers take half the time."""

_TURNS, _SHARP = 5, 1e-6
"""Newton's steps after which a quantile is searched beside jumps, and the width of a component, relative to
what is left of the bracket, from which it is one."""

_REACH = 14
"""Largest |arsinh(z)| in the table, z about 600,000; farther out the exact function is called."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixture:
    """Distribution of m numbers at once, each a mixture over g grid points.

    ``weight`` has shape (g,), the same for all numbers, or (m, g); ``location`` and ``scale`` (m, g);
    every component is a Student t with ``df`` degrees of freedom (normal where ``df`` is infinite). ``df``
    is one number, or (g,) where components have several. ``upper`` (m, g), where it is given, cuts each
    component off there: it is the distribution given that its number is at most that.
    """

    weight: FloatArray
    location: FloatArray
    scale: FloatArray
    df: float | FloatArray
    upper: FloatArray | None = None

    @classmethod
    def of_one(cls, weight: FloatArray, location: FloatArray, scale: FloatArray, df: float) -> Mixture:
        """Distribution of a single number, from arrays of one shape; improbable components are left out."""
        parts = (weight.ravel(), location.reshape(1, -1), scale.reshape(1, -1))
        return cls(weight=parts[0], location=parts[1], scale=parts[2], df=df).pruned()

    @classmethod
    def stacked(cls, each: Sequence[Mixture]) -> Mixture:
        """The numbers of several mixtures with the same degrees of freedom, and all or none cut off."""
        largest = max(mixture.weight.size for mixture in each)

        def filled(values: FloatArray, value: FloatArray | float) -> FloatArray:
            wide = np.empty((len(values), largest))
            wide[:, : values.shape[1]], wide[:, values.shape[1] :] = values, value
            return wide

        def together(name: str) -> FloatArray:
            # What is missing are components of weight 0 that are like the first one.
            arrays = [getattr(mixture, name) for mixture in each]
            return np.concatenate([filled(values, values[:, :1]) for values in arrays])

        weight = [np.broadcast_to(mixture.weight, mixture.location.shape) for mixture in each]
        return cls(
            weight=np.concatenate([filled(values, 0.0) for values in weight]),
            location=together("location"),
            scale=together("scale"),
            df=each[0].df,
            upper=None if each[0].upper is None else together("upper"),
        )

    def cdf(self, value: FloatArray) -> FloatArray:
        """Probability that each number is at most ``value`` (shape (m,)); shape (m,)."""
        with np.errstate(over="ignore"):  # far away is infinitely far
            z = (value[:, None] - self.location) / self.scale
        below = self._each(t_cdf, z)
        return self._mean(below if self.upper is None else np.minimum(below / self.kept, 1.0))

    def density(self, value: FloatArray) -> FloatArray:
        """Probability density of each number at ``value`` (shape (m,)); shape (m,)."""
        z = (value[:, None] - self.location) / self.scale
        density = self._each(t_density, z) / self.scale
        if self.upper is not None:
            density = np.where(self.location + z * self.scale <= self.upper, density / self.kept, 0.0)
        return self._mean(density)

    def quantile(self, probability: float) -> FloatArray:
        """Quantile of each number, shape (m,)."""
        return np.asarray(self.quantiles((probability,))[0])

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles of each number, shape (k, m) for k probabilities.

        The quantile of a mixture is between the smallest and the largest quantile of its components.
        Newton's step is taken inside that bracket, on the scale of normal deviates (on which a mixture
        is nearly a straight line), and bisection where it would leave it; until the error is below
        10⁻⁷ deviates before the last step, or a bisection moves less than 10⁻¹³ of the first bracket or
        no farther than to the next float.
        """
        chance = np.array(probabilities, dtype=float)
        k, (m, size) = chance.size, self.location.shape
        if m > (block := max(1, _AT_ONCE // (k * size))):
            blocks = np.split(np.arange(m), range(block, m, block))
            return np.concatenate([self.rows(rows).quantiles(probabilities) for rows in blocks], axis=1)
        # One row per quantile: number r % m at probability r // m.
        row = np.arange(k * m)
        numbers, of_all = self.rows(row % m), chance[row // m]
        component_quantiles = numbers.location + numbers._t_quantiles(of_all) * numbers.scale
        if size == 1 and self.upper is None:
            return np.asarray(component_quantiles.reshape(k, m))
        low = high = component_quantiles
        # It depends neither on the probability nor on the value, and takes as long as a step.
        remaining = self.kept[row % m]
        if numbers.upper is not None:
            # Cut off, a component's quantile is lower: at most that of the one of which least remains.
            least = numbers.location + numbers._t_quantiles(of_all * remaining.min(axis=1)) * numbers.scale
            low, high = least, np.minimum(component_quantiles, numbers.upper)
        low, high, answer = low.min(axis=1), high.max(axis=1), np.empty(k * m)
        value = np.clip(numbers._mean(component_quantiles), low, high)
        # Numbers with hardly any width are between neighbouring floats, where no step is shorter.
        tolerance = np.maximum(1e-13 * (high - low), np.spacing(np.maximum(np.abs(low), np.abs(high))))
        target = ndtri(chance)[row // m]
        for turn in range(200):
            if turn == _TURNS:
                numbers._move_beside_jumps(low, high, target)
                value = np.clip(value, low, high)
            below, density = numbers._at(value, remaining)
            deviate = ndtri(below)
            error = deviate - target
            low, high = np.where(error < 0, value, low), np.where(error < 0, high, value)
            with np.errstate(all="ignore"):
                newton = value - error * np.exp(-0.5 * deviate**2) / (np.sqrt(2 * np.pi) * density)
            # At the end of a cut-off distribution the deviates have a pole, and Newton's steps no size.
            # From one end of the bracket to the other and back is no progress, either.
            inside = (newton >= low) & (newton <= high)
            between = (newton > low) & (newton < high) & (np.abs(newton - value) > tolerance)
            inside &= between | (np.abs(error) <= 1e-7)
            move = np.where(inside, newton, 0.5 * (low + high))
            # The error after Newton's step is the square of the one before.
            done = (np.abs(move - value) <= tolerance) | (inside & (np.abs(error) <= 1e-7))
            answer[row] = move
            if done.all():
                break
            if done.any():
                left = ~done
                row, move, low, high = row[left], move[left], low[left], high[left]
                tolerance, target, numbers = tolerance[left], target[left], self.rows(row % m)
                remaining = remaining[left]
            value = move
        return answer.reshape(k, m)

    def _move_beside_jumps(self, low: FloatArray, high: FloatArray, target: FloatArray) -> None:
        """Narrow brackets (m,) of quantiles to where the distribution is smooth; ``target`` are deviates.

        A component with hardly any width is a jump, at which Newton's steps do not end and bisection takes
        forty. Here the quantile is searched among the middles of such components and the ends around them.
        """
        for i, (centre, scale) in enumerate(zip(self.location, self.scale, strict=True)):
            sharp = (scale < _SHARP * (high[i] - low[i])) & (centre > low[i]) & (centre < high[i])
            around = centre[sharp] + np.array([[-40.0], [0.0], [40.0]]) * scale[sharp]
            edges = np.unique(around[(around > low[i]) & (around < high[i])])
            number, first, last = self.rows(np.array([i])), 0, edges.size
            while first < last:
                middle = (first + last) // 2
                if ndtri(number.cdf(edges[[middle]])[0]) < target[i]:
                    first, low[i] = middle + 1, edges[middle]
                else:
                    last, high[i] = middle, edges[middle]

    def _t_quantiles(self, probability: FloatArray) -> FloatArray:
        """Quantile of each component, in its scale, at one probability per number (m,): shape (m, g)."""
        df, of = np.unique(np.atleast_1d(self.df), return_inverse=True)
        finite, chance = np.isfinite(df), probability[:, None]
        # A t with infinitely many degrees of freedom is normal.
        quantiles = np.where(finite, stdtrit(np.where(finite, df, 1.0), chance), ndtri(chance))
        return np.asarray(quantiles[:, of])

    @property
    def kept(self) -> FloatArray:
        """Probability of each component below ``upper``, shape (m, g); 1 where nothing is cut off."""
        if self.upper is None:
            return np.ones_like(self.location)
        with np.errstate(over="ignore"):  # far away is infinitely far
            z = (self.upper - self.location) / self.scale
        return np.maximum(self._each(t_cdf, z), np.finfo(float).tiny)

    def _at(self, value: FloatArray, kept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distribution function, and density for Newton's steps, of each number at ``value``; (m,) each."""
        z = (value[:, None] - self.location) / self.scale
        density = np.empty_like(z)
        below = self._each(t_cdf, z, density)
        density /= self.scale
        if self.upper is not None:
            below = np.minimum(below / kept, 1.0)
            density /= kept
            density[value[:, None] > self.upper] = 0.0
        return self._mean(below), self._mean(density)

    def _each(self, function: Callable[..., FloatArray], z: FloatArray, *out: FloatArray) -> FloatArray:
        """A function of df and z for every component, shape (m, g) as ``z``."""
        if not isinstance(self.df, np.ndarray):
            return function(self.df, z, *out)
        result, ends = np.empty_like(z), np.flatnonzero(self.df[1:] != self.df[:-1]) + 1
        # Neighbours with the same degrees of freedom together: slices, not copies.
        for start, stop in zip([0, *ends.tolist()], [*ends.tolist(), self.df.size], strict=True):
            slices = (array[:, start:stop] for array in (z, *out))
            result[:, start:stop] = function(float(self.df[start]), *slices)
        return result

    def _mean(self, each: FloatArray) -> FloatArray:
        """Mean over the components by weight, from shape (m, g) to (m,)."""
        common = self.weight.ndim == 1
        return np.asarray(each @ self.weight if common else np.einsum("mg,mg->m", each, self.weight))

    def rows(self, which: IntArray) -> Mixture:
        """Some of the numbers."""
        weight = self.weight if self.weight.ndim == 1 else self.weight[which]
        upper = None if self.upper is None else self.upper[which]
        location, scale = self.location[which], self.scale[which]
        return Mixture(weight=weight, location=location, scale=scale, df=self.df, upper=upper)

    def mean(self) -> FloatArray:
        """Mean of each number, shape (m,)."""
        return self._mean(self._moments()[0])

    def standard_deviation(self) -> FloatArray:
        """Standard deviation of each number, shape (m,); nan where ``df`` ≤ 2 leaves it infinite."""
        centre, spread = self._moments()
        mean = self._mean(centre)
        return np.asarray(np.sqrt(self._mean(spread + (centre - mean[:, None]) ** 2)))

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of each component, (m, g) each; the variance is nan where ``df`` ≤ 2.

        Of a t that is cut off at z the first two moments are, with density f and distribution F of ν degrees
        of freedom, −f(z)·(ν + z²)/((ν − 1)·F(z)) and ν·((ν − 1)/(ν − 2)·G(z)/F(z) − 1), where G(z) is the
        distribution function of ν − 2 degrees of freedom at z·√((ν − 2)/ν); of a normal, −f/F and 1 − z·f/F.
        """
        df = np.broadcast_to(np.asarray(self.df, dtype=float), self.location.shape)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            inflate = np.where(np.isinf(df), 1.0, np.where(df > 2, df / (df - 2.0), np.nan))
            if self.upper is None:
                return self.location, self.scale**2 * inflate
            z = np.minimum((self.upper - self.location) / self.scale, 1e8)
            below, hazard = self.kept, self._each(t_density, z) / self.kept
            normal, v = np.isinf(df), np.where(np.isinf(df), 3.0, df)
            first = np.where(normal, -hazard, -hazard * (v + z**2) / (v - 1.0))
            fewer = stdtr(np.maximum(v - 2.0, 1e-9), z * np.sqrt(np.maximum(v - 2.0, 0.0) / v))
            second = np.where(v > 2, v * ((v - 1.0) / (v - 2.0) * fewer / below - 1.0), np.nan)
            second = np.where(normal, 1.0 - z * hazard, second)
        return self.location + self.scale * first, self.scale**2 * np.maximum(second - first**2, 0.0)

    def pruned(self, mass: float = 1e-9) -> Mixture:
        """The same without components whose weights (common to all numbers) add up to less than ``mass``."""
        order = np.argsort(self.weight, kind="stable")
        keep = np.sort(order[np.cumsum(self.weight[order]) > mass])
        weight = self.weight[keep]
        location, scale = self.location[:, keep], self.scale[:, keep]
        df = self.df[keep] if isinstance(self.df, np.ndarray) else self.df
        upper = None if self.upper is None else self.upper[:, keep]
        return Mixture(weight=weight / weight.sum(), location=location, scale=scale, df=df, upper=upper)


def normalised(log_weight: FloatArray) -> tuple[FloatArray, Any]:
    """Weights that add up to 1 along the last axis, and the logarithm of what they added up to before."""
    top = log_weight.max(axis=-1, keepdims=True)
    weight = np.exp(log_weight - top)
    total = weight.sum(axis=-1, keepdims=True)
    return weight / total, (top + np.log(total))[..., 0]


def t_cdf(df: float, z: FloatArray, density: FloatArray | None = None) -> FloatArray:
    """Distribution function of Student's t with ``df`` degrees of freedom (normal where infinite).

    Quintic Hermite interpolation in arsinh(z) of scipy's ``stdtr``; absolute error below 10⁻¹¹, ``df`` ≥ 1.
    The interpolant's derivative is written into ``density``, of the shape of z, where it is given; its
    absolute error is below 10⁻⁸.
    """
    if np.isinf(df):
        if density is not None:
            density[...] = t_density(df, z)
        return np.asarray(ndtr(z))
    # In place: a fresh array of many components takes as long to be given by the system as to be filled.
    position = np.abs(z)
    np.arcsinh(position, out=position)
    position *= _PER_UNIT
    if anything_far := bool(position.max(initial=0.0) >= _REACH * _PER_UNIT):
        far = position >= _REACH * _PER_UNIT
        position[far] = 0.0
    piece = position.astype(np.intp)
    position -= piece
    table = _table(df)
    tail = table[5].take(piece)
    slope = None if density is None else np.zeros_like(tail)
    buffer = np.empty_like(tail)
    for coefficient in table[4::-1]:
        if slope is not None:
            slope *= position
            slope += tail
        tail *= position
        tail += coefficient.take(piece, out=buffer, mode="clip")
    if slope is not None:
        np.square(z, out=buffer)
        buffer += 1.0
        np.sqrt(buffer, out=buffer)
        buffer /= -_PER_UNIT
        np.divide(slope, buffer, out=density)
    # Below 0 the tail, above it what the tail leaves; a choice by sign would be a branch per component.
    below = np.subtract(z >= 0, tail, out=tail)
    np.abs(below, out=below)
    if anything_far:
        below[far] = stdtr(df, z[far])
        if density is not None:
            density[far] = t_density(df, z[far])
    return np.asarray(below)


def t_density(df: float, z: FloatArray) -> FloatArray:
    """Density of Student's t with ``df`` degrees of freedom (normal where infinite)."""
    z = np.minimum(np.abs(z), 1e150)  # its square is a number still
    if np.isinf(df):
        return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(np.pi * df)
    return np.asarray(np.exp(constant - (df + 1) / 2 * np.log1p(z**2 / df)))


@lru_cache(maxsize=256)
def _table(df: float) -> FloatArray:
    """Coefficients (6, pieces) of the upper tail 1 − F(sinh w) on each piece of w, lowest power first."""
    w = np.arange(_REACH * _PER_UNIT + 1) / _PER_UNIT
    z, stretch = np.sinh(w), np.cosh(w)
    density = t_density(df, z)
    h = 1.0 / _PER_UNIT
    value = stdtr(df, -z)
    slope = -density * stretch * h
    curvature = density * (z * stretch**2 * (df + 1) / (df + z**2) - z) * h**2 / 2
    v0, v1, s0, s1, b0, b1 = (values for x in (value, slope, curvature) for values in (x[:-1], x[1:]))
    rise, turn, twist = v1 - v0 - s0 - b0, s1 - s0 - 2 * b0, b1 - b0
    cubic = 10 * rise - 4 * turn + twist
    quartic = -15 * rise + 7 * turn - 2 * twist
    return np.array([v0, s0, b0, cubic, quartic, 6 * rise - 3 * turn + twist])
