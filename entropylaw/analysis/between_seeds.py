"""Differences of arms with the seed as the unit: pooled spread, intervals, bands, and seeds needed.

Every run has a number y with a variance v of its own (from the residuals inside the run); the runs of an arm
differ by a variance τ² between seeds on top. τ² is pooled over arms, with Σ(s − 1) degrees of freedom for s
seeds per arm: with 2 to 5 seeds the spread of one arm alone says next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, chdtrc, nctdtr, stdtr, stdtrit

from entropylaw.results.arrays import FloatArray, IntArray

POWER = 0.8
"""Power for which the number of seeds is given."""

UNLIKE = 0.01
"""p-value below which the arms' spreads are not pooled (Bartlett's test)."""

MOST_SEEDS = 10_000
"""Numbers of seeds above this are not searched."""

DRAWS, SEED = 4_000, 20_260
"""Draws, from a fixed seed, for the critical value of a band."""

PRIOR_DF, MOST_DF = 4.0, 40.0
"""Weight of the assumed correlation over a curve; degrees of freedom that are drawn at most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """What is known of the spread of n runs in k arms.

    ``weight`` (n,) is 1/(τ² + v) of every run, ``scale`` the factor of the variances (1 unless the runs
    differ less than their own variances imply), ``df`` the degrees of freedom, infinite where τ² was given.
    ``unlike`` says that the arms' spreads differ, and are not pooled.
    """

    weight: FloatArray
    scale: float
    df: float
    tau2: float
    unlike: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A difference of two arms' means: its standard error, degrees of freedom, and p-value of none."""

    value: float
    error: float
    df: float
    p_value: float

    def interval(self, level: float) -> tuple[float, float]:
        """Equal-tailed interval."""
        reach = float(stdtrit(self.df, 0.5 + 0.5 * level)) * self.error
        return self.value - reach, self.value + reach

    def within(self, margin: float, level: float) -> bool:
        """Whether two one-sided tests exclude a difference of the margin (Schuirmann 1987).

        doi:10.1007/BF01068419; each test at 1 − level, so that the interval of 2·level − 1 lies within.
        """
        low, high = self.interval(2.0 * level - 1.0)
        return -margin < low and high < margin


def means(value: FloatArray, weight: FloatArray, arm: IntArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and total weight of every arm, shapes (k, ...) for values (n, ...)."""
    total = np.asarray(np.bincount(arm, weight), dtype=float)
    one_hot = (arm == np.arange(total.size)[:, None]) * weight
    with np.errstate(invalid="ignore", divide="ignore"):
        return one_hot @ value / total.reshape(-1, *[1] * (value.ndim - 1)), total


def spread(
    value: FloatArray, variance: FloatArray, arm: IntArray, *, between_sd: float | None = None
) -> Spread | None:
    """The spread of runs, pooled over arms; None where no arm has two seeds, and no τ is given.

    Parameters
    ----------
    value, variance
        Shape (n,): each run's number and its own variance, 0 where that is unknown.
    arm
        Shape (n,): the arm's number, from 0.
    between_sd
        τ, where it is known.

    Notes
    -----
    τ² solves Σ w (y − ȳ)² = Σ(s − 1), with w = 1/(τ² + v) and ȳ the weighted mean of the run's arm (Paule &
    Mandel 1982, doi:10.6028/jres.087.022, over arms). Where even τ² = 0 gives less, the variances are scaled
    down to it, as Hartung & Knapp (2001, doi:10.1002/sim.1009) do, without a floor: each run's own variance
    is that of a model, and tests with a floor find less than a t-test does. With equal variances this is
    the t-test with a pooled standard deviation, whatever they are.
    """
    if between_sd is not None:
        return Spread(weight=1.0 / (between_sd**2 + variance), scale=1.0, df=np.inf, tau2=between_sd**2)
    seeds = np.bincount(arm)
    df = float(np.maximum(seeds - 1, 0).sum())
    if df == 0:
        return None
    top = float(np.var(value)) * value.size + float(np.finfo(float).tiny)
    # A variance that is negligible beside the spread, or unknown, must not divide by 0.
    variance = np.maximum(variance, 1e-9 * top)

    def misfit(tau2: float) -> float:
        weight = 1.0 / (tau2 + variance)
        return float(weight @ (value - means(value, weight, arm)[0][arm]) ** 2)

    tau2, scale = 0.0, misfit(0.0) / df
    if scale > 1.0:
        tau2, scale = float(brentq(lambda t: misfit(t) - df, 0.0, top, xtol=1e-12 * top)), 1.0
    weight = 1.0 / (tau2 + variance)
    return Spread(weight=weight, scale=scale, df=df, tau2=tau2, unlike=_unlike(value, weight, arm))


def _unlike(value: FloatArray, weight: FloatArray, arm: IntArray) -> bool:
    """Whether the arms' spreads differ: Bartlett's test of weighted values (doi:10.1098/rspa.1937.0109)."""
    squared = np.bincount(arm, weight * (value - means(value, weight, arm)[0][arm]) ** 2)
    free = np.bincount(arm) - 1.0
    squared, free = squared[free > 0], free[free > 0]
    if free.size < 2:
        return False
    each = np.maximum(squared / free, 1e-12 * squared.max() + np.finfo(float).tiny)
    total = free.sum()
    statistic = total * np.log(squared.sum() / total) - free @ np.log(each)
    correction = 1.0 + ((1.0 / free).sum() - 1.0 / total) / (3.0 * (free.size - 1))
    return bool(chdtrc(free.size - 1, statistic / correction) < UNLIKE)


def contrast(value: FloatArray, arm: IntArray, a: int, b: int, known: Spread) -> Contrast:
    """Arm ``a`` minus arm ``b``, from values (n,) of all arms.

    Where the arms' spreads differ, and both have two seeds, each has its own (Welch 1947, with
    Satterthwaite's degrees of freedom, doi:10.2307/3002019).
    """
    mean, total = means(value, known.weight, arm)
    gap, df = float(mean[a] - mean[b]), known.df
    squared = known.scale * (1.0 / total[a] + 1.0 / total[b])
    if known.unlike and min((arm == a).sum(), (arm == b).sum()) > 1:
        each, free = [], []
        for one in (a, b):
            own, weight = value[arm == one], known.weight[arm == one]
            rest = own.size - 1
            each.append(weight @ (own - mean[one]) ** 2 / rest / weight.sum())
            free.append(rest)
        squared = each[0] + each[1]
        if squared > 0:
            df = squared**2 / (each[0] ** 2 / free[0] + each[1] ** 2 / free[1])
    error = float(np.sqrt(squared))
    p = 2.0 * float(stdtr(df, -abs(gap) / error)) if error > 0 else float(gap == 0)
    return Contrast(value=gap, error=error, df=float(df), p_value=min(1.0, p))


def band_reach(deviations: FloatArray, df: float, level: float) -> float:
    """Critical value of the largest |t| over m points of a difference of curves.

    Parameters
    ----------
    deviations
        Shape (n, m): each run's curve minus its arm's mean, in units of its weight.
    df, level
        Degrees of freedom; coverage of the whole band.

    Notes
    -----
    Quantile of max |t| over curves drawn from a Gaussian process: one for the difference, and ``df`` for the
    standard deviation at every point, which is estimated at every point. The correlation over the points is
    that of the deviations, mixed with one that falls as exp(−d²/2) over half of the range: few seeds show
    fewer ways to differ than there are.
    """
    m = deviations.shape[1]
    place = np.linspace(0.0, 2.0, m)
    prior = np.exp(-0.5 * (place[:, None] - place) ** 2)
    scale = np.sqrt(np.maximum((deviations**2).sum(axis=0), np.finfo(float).tiny))
    unit = deviations / scale
    many = min(df, MOST_DF)
    share = many / (many + PRIOR_DF)
    value, vector = np.linalg.eigh(share * (unit.T @ unit) + (1.0 - share) * prior)
    root = (vector * np.sqrt(np.maximum(value, 0.0)))[:, value > 1e-9 * value[-1]]
    random, draws = np.random.default_rng(SEED), DRAWS
    gap = np.abs(random.standard_normal((draws, root.shape[1])) @ root.T)
    if np.isfinite(df):
        squared = np.zeros((draws, m))
        for _ in range(round(many)):
            squared += (random.standard_normal((draws, root.shape[1])) @ root.T) ** 2
        gap /= np.sqrt(squared / round(many))
    return float(np.quantile(gap.max(axis=1), level))


def fieller(
    part: Contrast, total: Contrast, covariance: float, level: float
) -> tuple[float, float | None, float | None]:
    """The ratio of two contrasts, with Fieller's interval (1954); without ends where that is unbounded."""
    t2 = float(stdtrit(total.df, 0.5 + 0.5 * level)) ** 2
    square = total.value**2 - t2 * total.error**2
    ratio = part.value / total.value
    if square <= 0:
        return ratio, None, None
    middle = part.value * total.value - t2 * covariance
    root = np.sqrt(max(middle**2 - square * (part.value**2 - t2 * part.error**2), 0.0))
    return ratio, float((middle - root) / square), float((middle + root) / square)


def seeds_needed(sd: float, margin: float, level: float) -> int | None:
    """Seeds per arm for :data:`POWER` to find a difference of the margin by a t-test; None beyond 10,000."""

    def power(seeds: int) -> float:
        df, shift = 2.0 * (seeds - 1), margin / (sd * np.sqrt(2.0 / seeds))
        reach = float(stdtrit(df, 0.5 + 0.5 * level))
        return float(1.0 - nctdtr(df, shift, reach) + nctdtr(df, shift, -reach))

    if sd <= 0:
        return 2
    # From the normal approximation, which is at most some seeds too low.
    low, high = 1, 2
    while power(high) < POWER:
        low, high = high, 2 * high
        if high > MOST_SEEDS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def holm(p_values: list[float]) -> list[float]:
    """Holm's adjusted p-values (1979): sound for any dependence."""
    order = np.argsort(p_values, kind="stable")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def share_interval(count: int, of: int, level: float) -> tuple[float, float]:
    """Clopper & Pearson's interval of a share (1934, doi:10.1093/biomet/26.4.404)."""
    tail = 0.5 * (1.0 - level)
    low = float(betaincinv(count, of - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1.0 - tail)) if count < of else 1.0
    return low, high
