"""Numbers of arms against the logarithm of a size: a random-effects meta-regression, and other sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, stdtr, stdtrit

from entropylaw.analysis.between_seeds import Spread, means, spread
from entropylaw.analysis.groups import TAUS
from entropylaw.analysis.law.estimates import checked_level, from_mixture, unknown
from entropylaw.analysis.seeds import estimate_of, why_failed
from entropylaw.errors import UsageError
from entropylaw.escaping import listing, shown
from entropylaw.kinds import UNITS
from entropylaw.results import Estimate
from entropylaw.results.arms import Scaling, SizePoint
from entropylaw.results.arrays import FloatArray, IntArray
from entropylaw.results.fit import Fit
from entropylaw.results.mixture import Mixture
from entropylaw.results.result import replace

SCALED: dict[str, str] = {"ceiling": "reward", "a": "reward", "b": "reward", "entropy_first": "nats"}
"""What is regressed on size → its unit."""

FEWEST_SIZES = 3
"""Fewest arms, of different sizes, for an interval of a slope: two lie on a line whatever they are."""

PUBLISHED: dict[str, tuple[float, float, float]] = {
    "0.5B": (0.043, 0.191, 1.41),
    "1.5B": (0.095, 0.350, 0.93),
    "3B": (0.175, 0.478, 0.63),
    "7B": (0.210, 0.597, 0.55),
    "32B": (0.236, 0.690, 0.62),
}
"""Qwen2.5 models of arXiv:2505.22617 → a, b, and the highest entropy drawn.

Digitised from the curves of Fig. 1, right (mathematics, GRPO); the paper prints none of them. Rewards are
shares of problems solved."""

MOST_ITERATIONS = 100
"""Steps of Newton's method at most; some five are needed."""

_MODELS = 1e7
"""Sizes are numbers of parameters where the largest has at least so many."""

_WITH_UNIT = re.compile(r"(?<![\w.])(?:[A-Za-z]*[-_=])?(\d+(?:\.\d+)?)([KMBT])(?![^\W_])", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])(?:[A-Za-z]+[-_= ]*)?(\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w.])", re.IGNORECASE)


def size_of(text: str | float) -> float | None:
    """The size that a text or a number means: 5·10⁸ for ``0.5B``, 32 for ``width_32``; None for no size.

    A number with K, M, B or T is preferred; of several other numbers none is taken.
    """
    if not isinstance(text, str):
        size = float(text)
        return size if np.isfinite(size) and size > 0 else None
    with_unit = {float(number) * UNITS[unit.upper()] for number, unit in _WITH_UNIT.findall(text)}
    found = with_unit or {float(number) for number in _NUMBER.findall(text)}
    return size_of(found.pop()) if len(found) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """Weighted least-squares lines through k values, for each of m values of τ²; arrays of shape (m,).

    ``tau2`` is the variance about the line beyond the errors, ``level`` the line's value at ``middle``, where
    it is independent of the ``slope``; ``level_variance`` and ``slope_variance`` are theirs given τ².
    ``misfit`` is the weighted residual sum of squares, ``descent`` its derivative by τ² with reversed sign.
    """

    tau2: FloatArray
    middle: FloatArray
    level: FloatArray
    slope: FloatArray
    level_variance: FloatArray
    slope_variance: FloatArray
    misfit: FloatArray
    descent: FloatArray

    @classmethod
    def of(cls, x: FloatArray, value: FloatArray, variance: FloatArray, tau2: FloatArray) -> Line:
        """The lines y = level + slope·(x − middle), weights 1/(v + τ²)."""
        weight = 1.0 / (variance + tau2[:, None])
        total = weight.sum(axis=1)
        middle, level = weight @ x / total, weight @ value / total
        away, residual = x - middle[:, None], value - level[:, None]
        spread = (weight * away**2).sum(axis=1)
        slope = (weight * away * residual).sum(axis=1) / spread
        residual = residual - slope[:, None] * away
        return cls(
            tau2=tau2,
            middle=middle,
            level=level,
            slope=slope,
            level_variance=1.0 / total,
            slope_variance=1.0 / spread,
            misfit=(weight * residual**2).sum(axis=1),
            descent=(weight**2 * residual**2).sum(axis=1),
        )

    def at(self, x: float) -> tuple[FloatArray, FloatArray]:
        """The lines' values and their variances given τ²."""
        away = x - self.middle
        return self.level + self.slope * away, self.level_variance + self.slope_variance * away**2


def meta_regression(x: FloatArray, value: FloatArray, variance: FloatArray, misfit: Sequence[float]) -> Line:
    """Random-effects meta-regression y_i = α + β·x_i + u_i + e_i with var u = τ² and var e_i = v_i.

    Parameters
    ----------
    x, value, variance
        Shape (k,), k ≥ 3.
    misfit
        Shape (m,): τ² solves Q(τ²) = ``misfit``, with k − 2 as estimated, with other values as distributed.

    Notes
    -----
    Q(τ²) = Σ (y_i − α − β·x_i)²/(v_i + τ²) about the weighted least-squares line; τ² is 0 where Q(0) is less
    (Paule & Mandel 1982, doi:10.6028/jres.087.022). It is found by Newton's method on 1/Q, which is a
    straight line in τ² where all v_i are equal. The standard errors of Knapp & Hartung (2003,
    doi:10.1002/sim.1482) are multiplied by √(Q/(k − 2)), without a floor: with equal variances the line then
    has the t-interval of ordinary least squares, whatever the variances are.
    """
    target = np.asarray(misfit, dtype=float)
    line = Line.of(x, value, variance, np.zeros(target.size))
    for _ in range(MOST_ITERATIONS):
        with np.errstate(divide="ignore", invalid="ignore"):
            change = line.misfit * (line.misfit / target - 1.0) / line.descent
        # Without any residual τ² is 0.
        tau2 = np.maximum(line.tau2 + np.nan_to_num(change, posinf=0.0, neginf=0.0), 0.0)
        settled = np.abs(tau2 - line.tau2) <= 1e-12 * (tau2 + variance.min())
        line = Line.of(x, value, variance, tau2)
        if settled.all():
            break
    return line


def scale_numbers(
    arms: Mapping[str, Sequence[Fit]],
    sizes: Mapping[str, float],
    *,
    key: str,
    at: Sequence[float] = (),
    level: float = 0.95,
) -> tuple[Scaling, ...]:
    """How ceiling, a, b and the first entropy of arms move with the logarithm of their size.

    Parameters
    ----------
    arms, sizes
        Name of the arm → its fits, one per seed; and → its size, above 0, in any unit.
    key, at
        Name of the size; other sizes to predict at.
    level
        Of the intervals.

    Raises
    ------
    UsageError
        ``bad-level``, ``no-size``, ``bad-size``.

    Notes
    -----
    Every size is the mean of its seeds. Seeds of all sizes have one variance s², that between seeds and that
    within runs together, pooled over sizes (:func:`~entropylaw.analysis.between_seeds.spread`); a mean of n
    seeds has s²/n, and without two seeds of any size all means have the same. Errors of single runs do not
    weigh the sizes: such an interval of the slope covers less (``benchmarks/arms_scale.py``). The slope has
    Knapp & Hartung's t-interval with k − 2 degrees of freedom (:func:`meta_regression`). A prediction is of
    the mean over seeds at that size: normal about the line given τ², with variance τ² plus the line's, and
    τ² integrated out over the confidence distribution of which Q(τ²) ~ χ²(k − 2) gives the quantiles
    (Viechtbauer 2007, doi:10.1002/sim.2514).

    Failed runs count for the first entropy only.
    """
    checked_level(level)
    if lacking := [name for name in arms if name not in sizes]:
        message = f"no size of {listing(list(map(shown, lacking)), 4)}"
        raise UsageError(
            "no-size", message, "put a number into the names, as in width_32 or 7B, and give --by"
        )
    for name, size in (*((name, sizes[name]) for name in arms), *(("a prediction", one) for one in at)):
        if not (np.isfinite(size) and size > 0):
            message = f"the size of {shown(name)} is {size:g}, expected a number above 0"
            raise UsageError("bad-size", message, "give sizes as numbers, such as 7e9")
    lengths = [fit.law.step[-1] - fit.law.step[0] for fits in arms.values() for fit in fits]
    typical = float(np.median(lengths)) if lengths else 0.0
    whole = {name: [fit for fit in fits if why_failed(fit, typical) is None] for name, fits in arms.items()}
    order = sorted(arms, key=lambda name: sizes[name])
    found = []
    for quantity in SCALED:
        counted = arms if quantity == "entropy_first" else whole
        numbers = {name: _numbers(counted[name], quantity) for name in order}
        lost = {name: len(arms[name]) - len(numbers[name]) for name in order}
        seeds = _Seeds.of({name: each for name, each in numbers.items() if each}, sizes, lost, level)
        found.append(seeds.scaling(quantity, key, at))
    return tuple(found)


def _numbers(fits: Sequence[Fit], quantity: str) -> list[tuple[float, float]]:
    """A number of every run that has it, with its variance, 0 where that is unknown."""
    if quantity == "entropy_first":
        return [(float(fit.law.smoothed_entropy[0]), 0.0) for fit in fits]
    known = (estimate_of(fit, quantity) for fit in fits)
    return [(one.value, (one.std_error or 0.0) ** 2) for one in known if one.value is not None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seeds:
    """One number of the seeds of k sizes, ascending; ``lost`` counts the runs of all arms without it."""

    names: list[str]
    sizes: Mapping[str, float]
    lost: Mapping[str, int]
    size: FloatArray
    seeds: IntArray
    mean: FloatArray
    known: Spread | None
    level: float

    @classmethod
    def of(
        cls,
        numbers: Mapping[str, Sequence[tuple[float, float]]],
        sizes: Mapping[str, float],
        lost: Mapping[str, int],
        level: float,
    ) -> _Seeds:
        value, variance = np.array([one for each in numbers.values() for one in each]).reshape(-1, 2).T
        seeds = np.array([len(each) for each in numbers.values()], dtype=int)
        arm = np.repeat(np.arange(seeds.size), seeds)
        return cls(
            names=list(numbers),
            sizes=sizes,
            lost=lost,
            size=np.array([sizes[name] for name in numbers]),
            seeds=seeds,
            mean=means(value, arm) if arm.size else value,
            known=spread(value, variance, arm) if arm.size else None,
            level=level,
        )

    def scaling(self, quantity: str, key: str, at: Sequence[float]) -> Scaling:
        """The line, its points, and predictions at other sizes."""
        x, k = np.log10(self.size), self.size.size
        slope, p_value, between = self._without_interval(), None, None
        # Without two seeds of a size the variance within one is unknown, and part of that about the line.
        within = 0.0 if self.known is None else self.known.variance
        least = (
            1e-9 * float(np.ptp(self.mean)) ** 2 + (1e-12 * float(np.abs(self.mean).max())) ** 2 if k else 0.0
        )
        variance = max(within, least, 1e-200) / self.seeds
        if slope.value is not None and slope.note is None:
            line = meta_regression(x, self.mean, variance, [k - 2])
            slope, p_value = self._slope(line)
            between = None if self.known is None else float(np.sqrt(line.tau2[0]))
        return Scaling(
            key=key,
            quantity=quantity,
            unit=SCALED[quantity],
            slope=slope,
            p_value=p_value,
            points=tuple(self._point(name) for name in self.lost),
            between=between,
            predicted=tuple(self._predicted(float(size), variance, slope) for size in at),
            reference=self._reference(quantity, key),
        )

    def _without_interval(self) -> Estimate:
        """The slope without an interval, with the reason where it has none."""
        x, different = np.log10(self.size), len(set(self.size.tolist()))
        method = "line through the means of the sizes"
        if different < 2:
            return unknown(f"{different} size: no slope", level=self.level, method=method)
        why = None
        if different < FEWEST_SIZES:
            why = f"{different} sizes: no interval, at least {FEWEST_SIZES} are needed"
        value = float(np.polyfit(x, self.mean, 1)[0])
        return Estimate(value=value, low=None, high=None, level=self.level, method=method, note=why)

    def _slope(self, line: Line) -> tuple[Estimate, float]:
        df = self.size.size - 2
        value, error = float(line.slope[0]), float(np.sqrt(line.misfit[0] / df * line.slope_variance[0]))
        reach = float(stdtrit(df, 0.5 + 0.5 * self.level)) * error
        slope = Estimate(
            value=value,
            low=value - reach,
            high=value + reach,
            level=self.level,
            method=f"random-effects meta-regression (Knapp–Hartung, df {df})",
            std_error=error,
        )
        return slope, 2.0 * float(stdtr(df, -abs(value) / error)) if error > 0 else float(value == 0)

    def _point(self, name: str) -> SizePoint:
        lost = self.lost[name]
        if name not in self.names:
            none = unknown(f"all {lost} runs failed", level=self.level, method="mean over seeds")
            return SizePoint(arm=name, size=self.sizes[name], seeds=0, value=none)
        place = self.names.index(name)
        seeds = int(self.seeds[place])
        without = f"{lost} of {lost + seeds} runs failed and are left out" if lost else None
        value, low, high, error = float(self.mean[place]), None, None, None
        method = "mean over seeds"
        if self.known is None:
            without = "; ".join(filter(None, ("one seed per size: no between-seed variance", without)))
        else:
            method = f"mean over seeds, their spread pooled over sizes (df {self.known.df:g})"
            error = float(np.sqrt(self.known.variance / seeds))
            reach = float(stdtrit(self.known.df, 0.5 + 0.5 * self.level)) * error
            low, high = value - reach, value + reach
        each = Estimate(
            value=value, low=low, high=high, level=self.level, method=method, std_error=error, note=without
        )
        return SizePoint(arm=name, size=self.sizes[name], seeds=seeds, value=each)

    def _predicted(self, size: float, variance: FloatArray, slope: Estimate) -> SizePoint:
        """The mean over seeds at another size."""
        return SizePoint(arm="", size=size, seeds=0, value=self._ahead(np.log10(size), variance, slope))

    def _ahead(self, x: float, variance: FloatArray, slope: Estimate) -> Estimate:
        if slope.value is None:
            return slope
        sizes, df = np.log10(self.size), self.size.size - 2
        if slope.low is None:
            return replace(slope, value=float(self.mean.mean() + slope.value * (x - sizes.mean())))
        misfits = chdtri(df, (np.arange(TAUS) + 0.5) / TAUS)
        line = meta_regression(sizes, self.mean, variance, misfits)
        location, own = line.at(x)
        ahead = Mixture.of_one(np.full(TAUS, 1.0 / TAUS), location, np.sqrt(line.tau2 + own), np.inf)
        outside = "" if sizes.min() <= x <= sizes.max() else ", beyond the sizes"
        method = f"prediction of a mean over seeds (df {df}, spread of sizes integrated out{outside})"
        known = from_mixture(ahead, level=self.level, method=method)
        # A t with one or two degrees of freedom has no variance.
        return known if df > 2 else replace(known, std_error=None)

    def _reference(self, quantity: str, key: str) -> tuple[SizePoint, ...]:
        """The published sizes, in the unit of the key; none where the sizes are no numbers of parameters."""
        unit = UNITS.get(key.upper(), 1.0)
        if unit == 1.0 and self.size.max(initial=0.0) < _MODELS:
            return ()
        points = []
        for name, (a, b, first) in PUBLISHED.items():
            values = {"a": a, "b": b, "ceiling": b - a, "entropy_first": first}
            each = Estimate(
                value=round(values[quantity], 3),
                low=None,
                high=None,
                level=self.level,
                method="arXiv:2505.22617, Fig. 1 (mathematics, GRPO)",
                note="digitised from a figure; no interval is published",
            )
            size = float(size_of(name) or 0.0) / unit
            points.append(SizePoint(arm=f"Qwen2.5-{name}", size=size, seeds=1, value=each))
        return tuple(points)
