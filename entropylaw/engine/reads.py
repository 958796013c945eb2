"""Reads of the table: quantiles of mixtures, probabilities, the verdict's evidence, predictions.

Which candidate is true is one more unknown: the posterior of a number is the mixture of its posteriors over
the rows of a question, and the ends of its interval are quantiles of that mixture (Hoeting et al. 1999,
doi:10.1214/ss/1009212519).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.engine.blocks import Functional
from entropylaw.engine.constants import (
    AVERAGED,
    BELIEVED,
    CELL,
    FLAT,
    FREE,
    LAGGED,
    LAW,
    LEAST_SHORT,
    LISTED,
    LOG_STEP,
    NEGLIGIBLE,
    SATURATION,
    SHORT_MEMORY,
    STEP,
)
from entropylaw.engine.residuals import scale_profiles
from entropylaw.engine.table import Table

NORMAL = 1e12
"""Degrees of freedom of a normal distribution."""

_FEWEST_HILL = 6.0
"""Degrees of freedom from which a t distribution is taken from a normal one."""

_WIDE = 0.7
"""The same as :data:`CELL` for numbers that are alike in two respects, of which there are more cells."""

_NEAR = 1e-7
"""Share of a distribution's spread to which a quantile is known where it is at a jump."""

# -- numbers ------------------------------------------------------------------------------------------------


def ceiling_of(table: Table) -> Functional:
    """The reward at H = 0."""
    return reward_at(table, np.zeros(1))


def reward_at(table: Table, entropy: FloatArray) -> Functional:
    """The curve at entropies (q,), at the present stage: q numbers."""
    row = table.candidates.row(entropy)[:, None, :]
    return Functional(row=row, offset=np.zeros((len(row), 1)), variance=np.zeros((len(row), 1)))


def reward_now(table: Table) -> Functional:
    """The reward at the last evaluation without its white noise: the curve and the drift there."""
    products, columns = table.whitened, table.candidates.columns
    return Functional(
        row=(columns[-1] - products.drift)[None],
        offset=products.drift[None, :, -1],
        variance=products.drift_variance[None],
    )


def headroom_of(table: Table) -> Functional:
    """Ceiling less reward now."""
    return difference(ceiling_of(table), reward_now(table))


def coefficient_of(table: Table, name: str) -> Functional:
    """The coefficients of the columns of a curve or term, in the rows of which it is."""
    row = np.zeros((1, 1, len(table.candidates.names)))
    row[..., table.candidates.of(name)] = 1.0
    return Functional(row=row, offset=np.zeros((1, 1)), variance=np.zeros((1, 1)))


def difference(one: Functional, other: Functional) -> Functional:
    """One number less another, of which one at most has a variance of its own."""
    return Functional(
        row=one.row - other.row, offset=one.offset - other.offset, variance=one.variance + other.variance
    )


def together(*parts: Functional) -> Functional:
    """Several numbers as one functional."""
    count = max(part.row.shape[1] for part in parts)

    def joined(name: str) -> FloatArray:
        arrays = [getattr(part, name) for part in parts]
        return np.concatenate([np.broadcast_to(a, (len(a), count, *a.shape[2:])) for a in arrays])

    return Functional(row=joined("row"), offset=joined("offset"), variance=joined("variance"))


# -- mixtures -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """The distribution of one number: a mixture of t distributions, cut off at ``top``.

    ``weight``, ``location``, ``scale`` and ``df`` have shape (cells,); weights add up to 1.
    """

    weight: FloatArray
    location: FloatArray
    scale: FloatArray
    df: FloatArray
    top: float = np.inf

    def below(self, value: FloatArray) -> FloatArray:
        """Probability that the number is at most each of some values (q,)."""
        whole = self._uncut(np.array([self.top]))[0] if np.isfinite(self.top) else 1.0
        if whole < BELIEVED:
            return np.asarray((value >= self.top) * 1.0)
        return np.asarray(np.where(value >= self.top, 1.0, self._uncut(np.minimum(value, self.top)) / whole))

    def _uncut(self, value: FloatArray) -> FloatArray:
        return np.asarray(t_below(self.df, (value[:, None] - self.location) / self.scale) @ self.weight)

    def mean(self) -> float:
        """Mean without the cut."""
        return float(self.weight @ self.location)

    def sd(self) -> float:
        """Standard deviation without the cut; infinite where some t has none."""
        mean = self.weight @ self.location
        spread = np.where(self.df > 2, self.df / np.maximum(self.df - 2.0, 1e-9), np.inf) * self.scale**2
        return float(np.sqrt(self.weight @ (spread + (self.location - mean) ** 2)))

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles at k probabilities, shape (k,), increasing."""
        target = np.array(probabilities, dtype=float)
        if np.isfinite(self.top):
            whole = self._uncut(np.array([self.top]))[0]
            if whole < BELIEVED:
                return np.full(target.size, self.top)
            target = target * whole
        mean = float(self.weight @ self.location)
        spread = float(np.sqrt(self.weight @ (self.scale**2 + (self.location - mean) ** 2)))
        found = quantiles_of(self._uncut, target, mean, spread)
        return np.asarray(np.minimum(np.maximum.accumulate(found), self.top))


def t_below(df: FloatArray, z: FloatArray) -> FloatArray:
    """Distribution function of Student's t, by the normal deviate of Hill 1970 (doi:10.1145/355598.355600).

    Its error is below 10⁻⁷ from 6 degrees of freedom on; with fewer it is that of scipy, which is slow.
    """
    if df.min() < _FEWEST_HILL:
        return np.asarray(stdtr(df, z))
    a = df - 0.5
    b = 48.0 * a**2
    square = np.clip(z, -1e150, 1e150) ** 2
    y = a * np.log1p(square / df)
    series = (((-0.4 * y - 3.3) * y - 24.0) * y - 85.5) / (0.8 * y**2 + 100.0 + b) + y + 3.0
    return np.asarray(ndtr(np.copysign((series / b + 1.0) * np.sqrt(y), z)))


def quantiles_of(
    below: Callable[[FloatArray], FloatArray], target: FloatArray, middle: float, spread: float
) -> FloatArray:
    """Values (k,) at which a distribution function is ``target``, all at once, to 10⁻⁶ of a normal deviate.

    Regula falsi with Illinois' weights (Dowell & Jarratt 1971, doi:10.1007/BF01934364) on the scale of normal
    deviates, on which a mixture is nearly a straight line; then bisections, which end at a jump, too.
    """
    least = np.finfo(float).tiny
    aim, spread = ndtri(target), max(spread, least)

    def error(value: FloatArray) -> FloatArray:
        return np.asarray(ndtri(np.clip(below(value), least, 1.0 - 1e-16)) - aim)

    low, high = middle + (aim - 1.0) * spread, middle + (aim + 1.0) * spread
    error_low, error_high = error(low), error(high)
    for _ in range(100):
        under, over = error_low > 0, error_high < 0
        if not (under.any() or over.any()):
            break
        width = high - low
        low, high = np.where(under, low - 2.0 * width, low), np.where(over, high + 2.0 * width, high)
        error_low, error_high = error(low), error(high)
    value, side = 0.5 * (low + high), np.zeros(target.size)
    for turn in range(100):
        rise = error_high - error_low
        step = np.where(rise > 0, -error_low / np.where(rise > 0, rise, 1.0), 0.5)
        value = low + (high - low) * (step if turn < 8 else 0.5)
        off = error(value)
        under = off < 0
        error_high = np.where(under, np.where(side > 0, error_high / 2.0, error_high), off)
        error_low = np.where(under, off, np.where(side < 0, error_low / 2.0, error_low))
        low, high = np.where(under, value, low), np.where(under, high, value)
        side = np.where(under, 1.0, -1.0)
        if np.abs(off).max() < 1e-6 or (high - low).max() <= _NEAR * spread:
            break
    return np.asarray(value)


def merged(
    location: FloatArray, scale: FloatArray, df: FloatArray, weight: FloatArray, top: float = np.inf
) -> Cells:
    """Rows (r,) as a mixture of few cells: those alike in place and scale have one t of the same moments."""
    heavy = weight > NEGLIGIBLE * weight.max()
    weight, location, df = weight[heavy] / weight[heavy].sum(), location[heavy], df[heavy]
    mean = weight @ location
    spread = float(np.sqrt(weight @ (scale[heavy] ** 2 + (location - mean) ** 2)))
    least = max(1e-9 * spread, 1e-14 * float(np.abs(location).max()), 1e-150)
    scale = np.maximum(scale[heavy], least)
    width = np.round(np.log(scale / max(spread, 1e-300)) / CELL)
    place = np.round((location - mean) / (CELL * scale_of(width, spread)))
    key = np.clip(place, -1e9, 1e9).astype(np.int64) * 4096 + width.astype(np.int64)
    _, cell = np.unique(key, return_inverse=True)
    total = np.bincount(cell, weight).astype(float)
    centre = np.bincount(cell, weight * (location - mean)) / total
    square = np.bincount(cell, weight * (scale**2 + (location - mean) ** 2)) / total - centre**2
    return Cells(
        weight=total,
        location=mean + centre,
        scale=np.maximum(np.sqrt(np.maximum(square, 0.0)), least),
        df=np.bincount(cell, weight * df) / total,
        top=top,
    )


def merged_numbers(
    location: FloatArray, scale: FloatArray, df: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Rows of F numbers as few cells: weights and df (cells,), locations and squared scales (F, cells).

    Rows are alike whose last two numbers are alike in location and scale.
    """
    weight, scale = weight / weight.sum(), np.maximum(scale, 1e-150)
    widths = np.round(np.log(scale[-2:]) / _WIDE)
    places = np.round(np.clip(location[-2:] / (_WIDE * np.exp(_WIDE * widths)), -1e15, 1e15))
    order, starts = _alike(np.concatenate([widths, places]))
    weight, df, location, scale = weight[order], df[order], location[:, order], scale[:, order]
    total = np.add.reduceat(weight, starts)
    centre = np.add.reduceat(weight * location, starts, axis=1) / total
    apart = location - np.repeat(centre, np.diff([*starts, weight.size]), axis=1)
    square = np.add.reduceat(weight * (scale**2 + apart**2), starts, axis=1) / total
    return total, np.add.reduceat(weight * df, starts) / total, centre, square


def _alike(keys: FloatArray) -> tuple[IntArray, IntArray]:
    """An order of rows in which those of the same keys (k, r) are neighbours, and the start of each group."""
    order = np.lexsort(keys)
    new = (np.diff(keys[:, order], axis=1) != 0).any(axis=0)
    return order, np.concatenate([[0], np.flatnonzero(new) + 1])


def scale_of(width: FloatArray, spread: float) -> FloatArray:
    """The scale of which a cell's number is the rounded logarithm."""
    return np.asarray(max(spread, 1e-300) * np.exp(CELL * width))


# -- answers ------------------------------------------------------------------------------------------------


class Reads:
    """The questions to a table, with the largest reward that is possible, where that is known.

    Weights are computed once; every number is a mixture over the rows that its question allows.
    """

    def __init__(self, table: Table, top: float = np.inf) -> None:
        self.table, self.top = table, top
        weight = np.exp(table.log_weight - table.log_weight.max())
        self.evidence = weight
        terms = np.array([probability for _, probability in table.prior.terms])
        location, scale = table.numbers(together(ceiling_of(table), headroom_of(table), reward_now(table)))
        location[[0, 2]] += table.candidates.origin
        self.location, self.scale = location, scale
        self.possible = np.ones(weight.size)
        if np.isfinite(top):
            z = (top - location[0]) / np.maximum(scale[0], 1e-300)
            self.possible = stdtr(table.df, z)
        averaged = weight * terms[table.term] * table.is_form(*AVERAGED)
        self.passed = bool((averaged @ self.possible) < BELIEVED * averaged.sum())
        possible = np.ones(weight.size) if self.passed else self.possible
        self.averaged = averaged * possible / (averaged @ possible)
        own = weight * table.is_form(FLAT)
        self.law = own / own.sum() if own.sum() > 0 else self._fallback()
        bounded = self.law @ self.possible
        self.law_possible = self.law * self.possible / bounded if bounded > BELIEVED else self.law

    def _fallback(self) -> FloatArray:
        """Weights of the law where a flat prior does not determine it: those of its normal prior."""
        own = self.evidence * self.table.is_form(LAW) * (self.table.term == 0)
        total = own.sum()
        return own / total if total > 0 else np.full(own.size, 1.0 / own.size)

    def cells(self, number: int, weight: FloatArray, top: float = np.inf) -> Cells:
        """Ceiling (0), headroom (1) or reward now (2) over rows of some weights."""
        return merged(self.location[number], self.scale[number], self.table.df, weight, top)

    def most_left(self) -> float:
        """The largest headroom: what is above the reward now."""
        now = float(self.averaged @ self.location[2])
        return max(self.top - now, 0.0)

    def predicted(
        self, entropy: FloatArray, weight: FloatArray, *, fresh: bool = False, noise: float = 0.0
    ) -> list[Cells]:
        """The curve at entropies (q,); with ``fresh`` one more evaluation there, far from the last."""
        heavy = np.flatnonzero(weight > NEGLIGIBLE * weight.max())
        table, cells = self.table, list[Cells]()
        for start in range(0, entropy.size, 16):
            location, scale = table.numbers(reward_at(table, entropy[start : start + 16]))
            location, scale = location[:, heavy] + table.candidates.origin, scale[:, heavy]
            if fresh:
                variance = self.new_variance()[heavy] + noise
                scale = np.sqrt(scale**2 + variance)
            cells += [
                merged(where, width, table.df[heavy], weight[heavy], self.top)
                for where, width in zip(location, scale, strict=True)
            ]
        return cells

    def mean_curve(self, entropy: FloatArray, weight: FloatArray) -> FloatArray:
        """Mean of the curve over some rows, at entropies (q,), reward units."""
        found, share = self.table.candidates, weight / max(float(weight.sum()), 1e-300)
        along = found.row(entropy) @ self.table.mean_coefficients(share)
        return np.asarray(along * found.unit + found.origin)

    def new_variance(self) -> FloatArray:
        """Variance (rows,) of one more evaluation around the curve, at the last evaluation's scale."""
        table, last = self.table, scale_profiles(self.table.entropy, self.table.prior)[:, -1]
        scaled = table.whitened.scaled[table.covariance]
        square = np.where(scaled, last[-1] ** 2, 1.0) * table.variance * table.candidates.unit**2
        white = table.whitened.white[table.covariance]
        return np.asarray(square * (1.0 - white + white * table.group))

    def probability(self) -> dict[str, float]:
        """Probability of each averaged curve."""
        return {name: float(self.averaged[self.table.is_form(name)].sum()) for name in AVERAGED}

    def share(self, rows: BoolArray) -> float:
        """Probability of some rows among the averaged."""
        return float(self.averaged[rows].sum())

    def p_term(self) -> float:
        """Probability that reward needs a term in the step beside the entropy."""
        return self.share(self.table.term > 0)

    def p_first(self) -> float:
        """Probability that the first evaluations have a level of their own."""
        return self.share(self.table.first > 0)

    def is_long(self) -> BoolArray:
        """Rows of long memory."""
        return self.table.whitened.long[self.table.covariance]

    def p_no_curve(self) -> tuple[float, float]:
        """Probability of the free curve; and the same if no drift is long, 0 where that is excluded."""
        white = self.table.whitened
        short = (~white.long & (white.length <= SHORT_MEMORY))[self.table.covariance]
        among = self.share(short)
        free = self.table.is_form(FREE)
        return self.share(free), self.share(free & short) / among if among > LEAST_SHORT else 0.0

    def odds(self) -> dict[str, float]:
        """Marginal likelihood of each rival over the law's, largest first dummies averaged."""
        table, evidence = self.table, self.evidence
        names = [name for name, _ in table.prior.terms]

        def total(name: str, term: int = 0) -> float:
            return float(evidence[table.is_form(name) & (table.term == term)].sum())

        own = max(total(LAW), 1e-300)
        rivals = {name: total(name) for name in (*LISTED, SATURATION) if name != LAW}
        rivals |= {term: total(LAW, names.index(term)) for term in (STEP, LOG_STEP)}
        return {name: value / own for name, value in rivals.items()} | {LAGGED: total(LAGGED) / own}

    def p_step(self) -> tuple[float | None, float | None]:
        """Two-sided p-values of the step and of its logarithm beside the law."""
        table, values = self.table, list[float | None]()
        for number, (name, _) in enumerate(table.prior.terms[1:], start=1):
            rows = table.is_form(LAW) & (table.term == number)
            weight = self.evidence * rows
            if not weight.any() or not table.candidates.of(name):
                values.append(None)
                continue
            location, scale = table.numbers(coefficient_of(table, name), rows)
            heavy = weight > NEGLIGIBLE * weight.max()
            z = location[0, heavy] / np.maximum(scale[0, heavy], 1e-300)
            # Both tails: one minus the larger would lose all digits of a small one.
            tails = [float(weight[heavy] @ stdtr(table.df[heavy], side * z)) for side in (-1.0, 1.0)]
            values.append(min(1.0, 2.0 * min(tails) / float(weight[heavy].sum())))
        first, second = values
        return first, second

    @cached_property
    def coefficients(self) -> tuple[Cells, Cells]:
        """The law's a and b over its own rows."""
        return self.coefficient(self.law)

    def coefficient(self, weight: FloatArray) -> tuple[Cells, Cells]:
        """The law's a, and b = ceiling + a, over some of the law's rows."""
        table, found = self.table, self.table.candidates
        slope = coefficient_of(table, FLAT if self.evidence[table.is_form(FLAT)].any() else LAW)
        scaled = Functional(row=-slope.row / found.law_unit, offset=slope.offset, variance=slope.variance)
        ceiling = ceiling_of(table)
        both = together(
            scaled,
            Functional(row=ceiling.row + scaled.row, offset=ceiling.offset, variance=ceiling.variance),
        )
        location, scale = table.numbers(both, self.law > 0)
        location[1] += found.origin
        a, b = (merged(location[i], scale[i], table.df, weight) for i in range(2))
        return a, b

    def correlation(self) -> float:
        """Correlation of the law's a and b: b = ceiling + a gives their covariance."""
        a, b = self.coefficients
        variances = [cells.sd() ** 2 for cells in (a, b, self.cells(0, self.law))]
        if not np.isfinite(variances).all() or min(variances[:2]) <= 0:
            variances = [float(cells.weight @ cells.scale**2) for cells in (a, b, self.cells(0, self.law))]
        product = np.sqrt(variances[0]) * np.sqrt(variances[1])
        between = 0.5 * (variances[0] + variances[1] - variances[2])
        return float(np.clip(between / product, -1.0, 1.0)) if product > 0 else 0.0

    def shapes(self, name: str) -> tuple[FloatArray, FloatArray]:
        """The shapes of a curve, increasing, and their probabilities."""
        rows = self.table.is_form(name)
        values, which = np.unique(self.table.shape[rows], return_inverse=True)
        weight = np.bincount(which, self.averaged[rows], values.size)
        return values, weight / max(weight.sum(), 1e-300)

    def memory(self) -> tuple[float, float]:
        """Drift's share of the residual variance, and effective sample size on the level: posterior means."""
        white, rows = self.table.whitened, self.table.covariance
        share = white.part[rows] * (white.length[rows] > 0)
        effective = (white.product[:, 0, 0] * white.mean_square)[rows]
        return float(self.law @ share), float(min(self.law @ effective, len(self.table.time)))
