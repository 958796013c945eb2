"""Reads of the table: quantiles of mixtures, probabilities, the verdict's evidence, predictions.

Which candidate is true is one more unknown: the posterior of a number is the mixture of its posteriors over
the rows of a question, and the ends of its interval are quantiles of that mixture (Hoeting et al. 1999,
doi:10.1214/ss/1009212519).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.engine.constants import (
    AVERAGED,
    BELIEVED,
    CELL,
    FORMS,
    LEAST_SHORT,
    NEGLIGIBLE,
    SHORT_MEMORY,
)
from entropylaw.engine.table import Table
from entropylaw.results import Estimate

NORMAL = 1e12
"""Degrees of freedom of a normal distribution."""

_FEWEST_HILL = 6.0
"""Degrees of freedom from which a t distribution is taken from a normal one."""

_NEAR = 1e-7
"""Share of a distribution's spread to which a quantile is known where it is at a jump."""

_TINY = float(np.finfo(float).tiny)
"""Least probability and least spread: smaller numbers lose digits."""

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
        whole = self._below_top()
        if whole < BELIEVED:
            return np.asarray((value >= self.top) * 1.0)
        return np.asarray(np.where(value >= self.top, 1.0, self._uncut(np.minimum(value, self.top)) / whole))

    def _below_top(self) -> float:
        """Probability, without the cut, that the number is at most ``top``."""
        if not np.isfinite(self.top):
            return 1.0
        return float(self._uncut(np.array([self.top]))[0])

    def _uncut(self, value: FloatArray) -> FloatArray:
        return np.asarray(_t_below(self.df, (value[:, None] - self.location) / self.scale) @ self.weight)

    def mean(self) -> float:
        """Mean without the cut."""
        return float(self.weight @ self.location)

    def sd(self) -> float:
        """Standard deviation without the cut; infinite where some t has none."""
        mean = self.mean()
        spread = np.where(self.df > 2, self.df / np.maximum(self.df - 2.0, 1e-9), np.inf) * self.scale**2
        return float(np.sqrt(self.weight @ (spread + (self.location - mean) ** 2)))

    def estimate(self, *, level: float, method: str) -> Estimate:
        """Median and equal-tailed interval."""
        tail = (1.0 - level) / 2.0
        low, value, high = self.quantiles((tail, 0.5, 1.0 - tail)).tolist()
        error = self.sd()
        finite = error if np.isfinite(error) else None
        return Estimate(value=value, low=low, high=high, level=level, method=method, std_error=finite)

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles at k probabilities, shape (k,), increasing."""
        target = np.array(probabilities, dtype=float)
        whole = self._below_top()
        if whole < BELIEVED:
            return np.full(target.size, self.top)
        mean = self.mean()
        spread = float(np.sqrt(self.weight @ (self.scale**2 + (self.location - mean) ** 2)))
        values = _quantiles_of(self._uncut, target * whole, mean, spread)
        return np.asarray(np.minimum(np.maximum.accumulate(values), self.top))


def _t_below(df: FloatArray, z: FloatArray) -> FloatArray:
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


def _normal_deviate(probability: FloatArray) -> FloatArray:
    """The normal deviate below which a probability lies, finite for 0 and 1."""
    return np.asarray(ndtri(np.clip(probability, _TINY, 1.0 - 1e-16)))


def _quantiles_of(
    below: Callable[[FloatArray], FloatArray], target: FloatArray, middle: float, spread: float
) -> FloatArray:
    """Values (k,) at which a distribution function is ``target``, all at once, to 10⁻⁶ of a normal deviate.

    Regula falsi with Illinois' weights (Dowell & Jarratt 1971, doi:10.1007/BF01934364) on the scale of normal
    deviates, on which a mixture is nearly a straight line; then bisections, which end at a jump, too.
    """
    aim = ndtri(target)
    spread = max(spread, _TINY)
    at = middle + spread * np.linspace(-3.0, 3.0, 9)
    values = np.maximum.accumulate(_normal_deviate(below(at)))
    right = np.clip(np.searchsorted(values, aim), 1, at.size - 1)
    low = at[right - 1]
    high = at[right]
    error_low = values[right - 1] - aim
    error_high = values[right] - aim
    for _ in range(100):
        under = error_low > 0
        over = error_high < 0
        if not (under.any() or over.any()):
            break
        width = high - low
        low = np.where(under, low - 2.0 * width, low)
        high = np.where(over, high + 2.0 * width, high)
        error_low = _normal_deviate(below(low)) - aim
        error_high = _normal_deviate(below(high)) - aim
    value = 0.5 * (low + high)
    side = np.zeros(target.size)
    for turn in range(100):
        rise = error_high - error_low
        step = np.where(rise > 0, -error_low / np.where(rise > 0, rise, 1.0), 0.5)
        value = low + (high - low) * (step if turn < 8 else 0.5)
        off = _normal_deviate(below(value)) - aim
        under = off < 0
        error_high = np.where(under, np.where(side > 0, error_high / 2.0, error_high), off)
        error_low = np.where(under, off, np.where(side < 0, error_low / 2.0, error_low))
        low = np.where(under, value, low)
        high = np.where(under, high, value)
        side = np.where(under, 1.0, -1.0)
        if np.abs(off).max() < 1e-6 or (high - low).max() <= _NEAR * spread:
            break
    return np.asarray(value)


def merged(
    location: FloatArray, scale: FloatArray, df: FloatArray, weight: FloatArray, top: float = np.inf
) -> Cells:
    """Rows (r,) as a mixture of few cells: those alike in place and scale have one t of the same moments."""
    heavy = heavier(weight)
    location = location[heavy]
    scale = scale[heavy]
    df = df[heavy]
    weight = weight[heavy] / weight[heavy].sum()
    mean = location @ weight
    offset = location - mean
    spread = max(float(np.sqrt((scale**2 + offset**2) @ weight)), 1e-300)
    least = max(1e-9 * spread, 1e-14 * float(np.abs(location).max()), 1e-150)
    scale = np.maximum(scale, least)
    row = np.round(np.log(scale / spread) / CELL)
    column = np.clip(np.round(offset / (CELL * spread * np.exp(CELL * row))), -1e9, 1e9)
    _, cell = np.unique(column.astype(np.int64) * 4096 + row.astype(np.int64), return_inverse=True)
    total = np.bincount(cell, weight).astype(float)
    centre = np.bincount(cell, weight * offset) / total
    square = np.bincount(cell, weight * (scale**2 + offset**2)) / total - centre**2
    return Cells(
        weight=total,
        location=mean + centre,
        scale=np.sqrt(np.maximum(square, least**2)),
        df=np.bincount(cell, weight * df) / total,
        top=top,
    )


# -- answers ------------------------------------------------------------------------------------------------


class Reads:
    """The questions to a table, with the largest reward that is possible, where that is known.

    Weights are computed once; every number is a mixture over the rows that its question allows. ``averaged``,
    ``law`` and ``law_possible`` (rows,) are those of the averages, of the law's own numbers, and of those
    that the largest reward bounds; ``passed`` says that all curves pass that, ``long`` (rows,) that
    memory is long. ``location`` and ``scale`` (rows,) are those of the reward at H = 0.
    """

    def __init__(self, table: Table, top: float = np.inf) -> None:
        self.table = table
        self.top = top
        self.evidence = np.exp(table.log_weight - table.log_weight.max())
        self.long = table.whitened.long[table.covariance]
        locations, scales = table.numbers(table.ceiling())
        self.location = locations[0] + table.candidates.origin
        self.scale = scales[0]
        self.possible = np.ones(table.form.size)
        if np.isfinite(top):
            deviates = (top - self.location) / np.maximum(self.scale, 1e-300)
            self.possible = stdtr(table.df, deviates)
        terms = np.array([probability for _, probability in table.prior.terms])
        averaged = self.evidence * terms[table.term] * table.is_form(*AVERAGED)
        self.passed = bool(averaged @ self.possible < BELIEVED * averaged.sum())
        if not self.passed:
            averaged = averaged * self.possible
        self.averaged = averaged / averaged.sum()
        of_law = self.evidence * table.is_form("flat")
        if not of_law.any():
            # A flat prior does not determine the law: the rows of its normal prior do.
            of_law = self.evidence * table.is_form("law") * (table.term == 0)
        if not of_law.any():
            of_law = np.ones(of_law.size)
        self.law = of_law / of_law.sum()
        self.law_possible = self.law
        bounded = self.law @ self.possible
        if bounded > BELIEVED:
            self.law_possible = self.law * self.possible / bounded

    def ceiling(self, weight: FloatArray, top: float = np.inf) -> Cells:
        """The reward at H = 0 over rows of some weights."""
        return merged(self.location, self.scale, self.table.df, weight, top)

    def predicted(
        self, entropy: FloatArray, weight: FloatArray, *, fresh: bool = False, merge: bool = True
    ) -> list[Cells]:
        """The curve at entropies (q,); with ``fresh`` one more evaluation there, far from the last.

        Without ``merge`` every row is a cell, and a distribution is smooth in the entropy.
        """
        heavy = heavier(weight)
        share = weight[heavy] / weight[heavy].sum()
        df = self.table.df[heavy]
        variance = np.zeros(heavy.size)
        if fresh:
            # At the last evaluation's scale; a mean of neighbours has a part of one's white noise.
            white = self.table.whitened
            of_one = white.white * (self.table.group - 1.0) + 1.0
            at_last = (white.last_square * of_one)[self.table.covariance[heavy]]
            variance = at_last * self.table.variance[heavy] * self.table.candidates.unit**2
        cells = []
        for start in range(0, entropy.size, 16):
            numbers = self.table.numbers(self.table.reward_at(entropy[start : start + 16]))
            for location, scale in zip(*(values[:, heavy] for values in numbers), strict=True):
                at = location + self.table.candidates.origin
                spread = np.sqrt(scale**2 + variance)
                if merge:
                    cells.append(merged(at, spread, df, share, self.top))
                else:
                    spread = np.maximum(spread, 1e-300)
                    cells.append(Cells(weight=share, location=at, scale=spread, df=df, top=self.top))
        return cells

    def p_below(self, entropy: FloatArray, weight: FloatArray, reward: float, *, merge: bool) -> FloatArray:
        """Probability that the curve is at most a reward, at entropies (q,).

        Of the largest reward that is 1: there the curves are taken as they were fitted.
        """
        cells = self.predicted(entropy, weight, merge=merge)
        if reward >= self.top:
            cells = [replace(numbers, top=np.inf) for numbers in cells]
        return np.array([numbers.below(np.array([reward]))[0] for numbers in cells])

    def probability(self) -> dict[str, float]:
        """Probability of each averaged curve."""
        shares = np.bincount(self.table.form, self.averaged, len(FORMS)).tolist()
        return {name: shares[FORMS.index(name)] for name in AVERAGED}

    def share(self, rows: BoolArray) -> float:
        """Probability of some rows among the averaged."""
        return float(self.averaged[rows].sum())

    def p_no_curve(self) -> tuple[float, float]:
        """Probability of the free curve; and the same if no drift is long, 0 where that is excluded."""
        white = self.table.whitened
        free = self.table.is_form("free")
        short = (~white.long & (white.length <= SHORT_MEMORY))[self.table.covariance]
        p_short = self.share(short)
        if p_short <= LEAST_SHORT:
            return self.share(free), 0.0
        return self.share(free), self.share(free & short) / p_short

    @cached_property
    def coefficients(self) -> tuple[Cells, Cells]:
        """The law's a, and b = ceiling + a."""
        table = self.table
        name = "flat" if self.evidence[table.is_form("flat")].any() else "law"
        a = -1.0 / table.candidates.law_unit * table.coefficient_of(table.candidates.of(name))
        location, scale = table.numbers(a, table.ceiling() + a, rows=self.law > 0)
        of_a = merged(location[0], scale[0], table.df, self.law)
        of_b = merged(location[1] + table.candidates.origin, scale[1], table.df, self.law)
        return of_a, of_b

    def correlation(self) -> float:
        """Correlation of the law's a and b: b = ceiling + a gives their covariance."""
        a, b = self.coefficients
        numbers = (a, b, self.ceiling(self.law))
        variances = [cells.sd() ** 2 for cells in numbers]
        if not np.isfinite(variances).all() or min(variances[:2]) <= 0:
            variances = [float(cells.weight @ cells.scale**2) for cells in numbers]
        product = np.sqrt(variances[0]) * np.sqrt(variances[1])
        between = 0.5 * (variances[0] + variances[1] - variances[2])
        return float(np.clip(between / product, -1.0, 1.0)) if product > 0 else 0.0

    def memory(self) -> tuple[float, float]:
        """Drift's share of the residual variance, and effective sample size on the level: posterior means."""
        white = self.table.whitened
        rows = self.table.covariance
        drift = self.law @ (1.0 - white.white)[rows]
        effective = self.law @ (white.product[:, 0, 0] * white.mean_square)[rows]
        return float(drift), min(float(effective), float(self.table.time.size))


def heavier(weight: FloatArray) -> IntArray:
    """The rows of which a number depends."""
    return np.flatnonzero(weight > NEGLIGIBLE * weight.max())
