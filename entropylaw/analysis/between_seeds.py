"""Differences of arms with the seed as the unit: pooled spread, intervals, bands, and seeds needed.

Every run has a number with an error of its own (from the residuals inside the run), and the seeds of an arm
differ beyond that. The variance of both together is pooled over arms, with Σ(s − 1) degrees of freedom for s
seeds per arm: with 2 to 5 seeds the spread of one arm alone says next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, chdtrc, chdtri, nctdtr, stdtr, stdtrit

from entropylaw.analysis.law.estimates import of_cells
from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.engine.reads import NORMAL, Cells
from entropylaw.results import Estimate
from entropylaw.results.result import replace

POWER = 0.8
"""Power for which the number of seeds is given."""

UNLIKE = 0.05
"""p-value below which the arms' spreads are not pooled (Bartlett's test)."""

MOST_SEEDS = 10_000
"""Numbers of seeds above this are not searched."""

DRAWS, SEED = 4_000, 20_260
"""Draws, from a fixed seed, for the critical value of a band."""

PRIOR_DF, MOST_DF = 4.0, 40.0
"""Weight of the assumed correlation over a curve; degrees of freedom that are drawn at most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """The spread of seeds in k arms.

    ``variance`` is that of one seed's number, the runs' own errors included, and ``df`` its degrees of
    freedom, infinite where the part between seeds was given; both are pooled over the arms in ``like`` (k,).
    ``alone`` (k,) are the variances of the arms alone, nan with one seed, ``seeds`` (k,) their numbers, and
    ``within`` is the mean variance of a run's own number.
    """

    variance: float
    df: float
    alone: FloatArray
    seeds: IntArray
    like: BoolArray
    within: float

    def pool(self, number: int) -> BoolArray:
        """The arms (k,) whose seeds say how far those of an arm differ: the pool, or the arm alone."""
        return self.like if self.like[number] else np.arange(self.like.size) == number

    def df_of(self, number: int) -> float:
        """Degrees of freedom of the variance of an arm."""
        return self.df if self.like[number] else float(self.seeds[number]) - 1.0

    def variance_of(self, number: int, squared: FloatArray | None = None) -> FloatArray:
        """The variance of one seed of an arm.

        In this number, or in another number of the same runs, of which ``squared`` (k, ...) is the sum of
        squares about the mean of every arm. A spread that was given is that of all numbers.
        """
        if squared is None or np.isinf(self.df):
            return np.asarray(self.variance if self.like[number] else self.alone[number])
        return np.asarray(squared[self.pool(number)].sum(axis=0) / self.df_of(number))


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


def means(value: FloatArray, arm: IntArray) -> FloatArray:
    """Mean of every arm, shape (k, ...) for values (n, ...); nan for an arm without a value."""
    member = (arm == np.arange(arm.max() + 1)[:, None]).astype(float)
    with np.errstate(invalid="ignore"):
        return np.asarray((member / member.sum(axis=1, keepdims=True)) @ value)


def spread(
    value: FloatArray, variance: FloatArray, arm: IntArray, *, between_sd: float | None = None
) -> Spread | None:
    """The spread of seeds, pooled over arms; None where no arm has two, and no spread is given.

    Parameters
    ----------
    value, variance
        Shape (n,): each run's number and its own variance, 0 where that is unknown.
    arm
        Shape (n,): the arm's number, from 0.
    between_sd
        Standard deviation between seeds, where it is known.

    Notes
    -----
    s² = Σ (y − ȳ)² / Σ(s − 1) about the means of the arms holds the variance between seeds and that within
    runs. All seeds of an arm weigh the same: weights from the runs' own variances find false differences
    in up to 14 % where these variances are too large. Arms are pooled that Bartlett's test (1937,
    doi:10.1098/rspa.1937.0109) does not call unlike at 5 %; until then the arm is left out without which
    the others are most alike.
    """
    seeds = np.bincount(arm)
    within = float(variance.mean())
    free = np.maximum(seeds - 1.0, 0.0)
    squared = squares(value, arm)
    with np.errstate(invalid="ignore"):
        alone = squared / np.where(free > 0, free, np.nan)
    like = np.ones(seeds.size, dtype=bool)
    if between_sd is not None:
        variance_of_seed = between_sd**2 + within
        return Spread(
            variance=variance_of_seed, df=np.inf, alone=alone, seeds=seeds, like=like, within=within
        )
    if not free.any():
        return None
    while alike(alone, free, like) < UNLIKE:
        several = np.flatnonzero(like & (free > 0))
        without = [like & (np.arange(like.size) != left_out) for left_out in several]
        # Of two arms either alone is alike: the one with more seeds says more.
        like = max(without, key=lambda rest: (alike(alone, free, rest), free[rest].sum()))
    df = float(free[like].sum())
    pooled = float(squared[like].sum()) / df
    return Spread(variance=pooled, df=df, alone=alone, seeds=seeds, like=like, within=within)


def alike(variance: FloatArray, free: FloatArray, which: BoolArray) -> float:
    """p-value of equal variances of some arms, with their degrees of freedom, by Bartlett's test."""
    which = which & (free > 0)
    variance, free = variance[which], free[which]
    if free.size < 2 or not variance.any():
        return 1.0
    total, least = free.sum(), 1e-12 * variance.max()
    statistic = total * np.log(free @ variance / total) - free @ np.log(np.maximum(variance, least))
    correction = 1.0 + ((1.0 / free).sum() - 1.0 / total) / (3.0 * (free.size - 1))
    return float(chdtrc(free.size - 1, statistic / correction))


def contrast(value: FloatArray, arm: IntArray, a: int, b: int, pooled: Spread) -> Contrast:
    """Arm ``a`` minus arm ``b``, from values (n,) of all arms: see :func:`parts`."""
    return parts(value[None], arm, a, b, pooled)[0]


def parts(values: FloatArray, arm: IntArray, a: int, b: int, pooled: Spread) -> list[Contrast]:
    """Arm ``a`` minus arm ``b`` in several numbers (p, n) of the same runs, pooled as the first of them.

    The t-test with the pooled variance. An arm whose spread is unlike the others' has its own: then the
    variances are added as in Welch's test (1947, doi:10.2307/2332510), with Satterthwaite's degrees of
    freedom (1946, doi:10.2307/3002019), and the other arm keeps the variance of the pool, which has more of
    them. ``pooled`` is the spread of the first number. Numbers that add up for every run have differences
    that do.
    """
    contrasts: list[Contrast] = []
    for value in values:
        squared = squares(value, arm) if contrasts else None
        variances = np.array(
            [pooled.variance_of(compared, squared) / pooled.seeds[compared] for compared in (a, b)]
        )
        df = contrasts[0].df if contrasts else satterthwaite(variances, pooled, a, b)
        mean = means(value, arm)
        gap, error = float(mean[a] - mean[b]), float(np.sqrt(variances.sum()))
        p = 2.0 * float(stdtr(df, -abs(gap) / error)) if error > 0 else float(gap == 0)
        contrasts.append(Contrast(value=gap, error=error, df=df, p_value=min(1.0, p)))
    return contrasts


def satterthwaite(variances: FloatArray, pooled: Spread, a: int, b: int) -> float:
    """Degrees of freedom of a sum of two arms' variances (2,) of their means; the pool's of two in it."""
    if pooled.like[[a, b]].all() or not variances.any():
        return pooled.df
    df = [pooled.df_of(a), pooled.df_of(b)]
    return float(variances.sum() ** 2 / (variances**2 / df).sum())


def squares(value: FloatArray, arm: IntArray) -> FloatArray:
    """Sum of squares about its mean of every arm, shape (k, ...) for values (n, ...)."""
    member = (arm == np.arange(arm.max() + 1)[:, None]).astype(float)
    return np.asarray(member @ (value - means(value, arm)[arm]) ** 2)


def band_reach(deviations: FloatArray, df: float, level: float) -> float:
    """Critical value of the largest |t| over m points of a difference of curves.

    Parameters
    ----------
    deviations
        Shape (n, m): each run's curve minus its arm's mean.
    df, level
        Degrees of freedom; coverage of the whole band.

    Notes
    -----
    Quantile of max |t| over curves drawn from a Gaussian process: one for the difference, and ``df`` for its
    variance, which is estimated at every point from its :func:`neighbours`. The correlation over the points
    is that of the deviations, mixed with one that falls as exp(−d²/2) over half of the range: few seeds show
    fewer ways to differ than there are.
    """
    m = deviations.shape[1]
    position = np.linspace(0.0, 2.0, m)
    prior = np.exp(-0.5 * (position[:, None] - position) ** 2)
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
        gap /= np.sqrt(squared / round(many) @ neighbours(m))
    return float(np.quantile(gap.max(axis=1), level))


def neighbours(m: int) -> FloatArray:
    """Weights (m, m) that average a variance over the points of a band nearby, columns adding up to 1.

    By exp(−d²/2) over an eighth of the range: where few seeds happen to cross their spread is not small.
    """
    position = np.linspace(0.0, 8.0, m)
    weight = np.exp(-0.5 * (position[:, None] - position) ** 2)
    return np.asarray(weight / weight.sum(axis=0))


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
    """Seeds per arm for :data:`POWER` to find a difference of the margin by a t-test; None above 10,000."""

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
    for rank, index in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def share_interval(count: int, of: int, level: float) -> tuple[float, float]:
    """Clopper & Pearson's interval of a share (1934, doi:10.1093/biomet/26.4.404)."""
    tail = 0.5 * (1.0 - level)
    low = float(betaincinv(count, of - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1.0 - tail)) if count < of else 1.0
    return low, high


TAUS = 99
"""Points of the confidence distribution of the variance between runs."""


def random_effects(value: FloatArray, variance: FloatArray, *, level: float) -> tuple[Estimate, Estimate]:
    """Mean over k ≥ 2 runs from their estimates and variances, shapes (k,), and a wider interval of it.

    The first interval takes the variance between runs as known; the second is its hull with the one in which
    that is integrated out.

    Notes
    -----
    Each run has an estimate y_i with variance v_i; their true values vary with variance τ², by Paule & Mandel
    (1982, doi:10.6028/jres.087.022). The interval is Hartung & Knapp's with t of k − 1 degrees of freedom
    (2001, doi:10.1002/sim.1009) and with a standard error that is never below that of the random-effects
    model (Röver, Knapp & Friede 2015, doi:10.1186/s12874-015-0091-1). τ² is integrated out over the
    confidence distribution of which the Q-profile (Viechtbauer 2007, doi:10.1002/sim.2514) gives the
    quantiles (after Nagashima, Noma & Furukawa 2019, doi:10.1177/0962280218773520).
    """
    from scipy.optimize import brentq  # slow to import

    k = value.size
    tail = (1.0 - level) / 2.0

    def generalised(tau2: float) -> float:
        weight = 1.0 / (variance + tau2)
        return float(weight @ (value - weight @ value / weight.sum()) ** 2)

    def solved(target: float) -> float:
        if generalised(0.0) <= target:
            return 0.0
        top = float(np.ptp(value)) ** 2
        while generalised(top) > target:
            top *= 2.0
        return float(brentq(lambda tau2: generalised(tau2) - target, 0.0, top, xtol=1e-14 * top))

    tau2 = solved(k - 1.0)
    weight = 1.0 / (variance + tau2)
    mean, reach = float(weight @ value / weight.sum()), float(stdtrit(k - 1, 1.0 - tail))
    error = float(np.sqrt(max(generalised(tau2) / (k - 1), 1.0) / weight.sum()))
    centre = Estimate(
        value=mean,
        low=mean - reach * error,
        high=mean + reach * error,
        level=level,
        method=f"between seeds (Hartung–Knapp with floor, {k} seeds)",
        std_error=error,
    )
    # τ² at equal probabilities of its confidence distribution.
    quantiles = np.array([solved(float(q)) for q in chdtri(k - 1, (np.arange(TAUS) + 0.5) / TAUS)])
    weights = 1.0 / (variance + quantiles[:, None])
    total = weights.sum(axis=1)
    around = Cells(
        weight=np.full(TAUS, 1.0 / TAUS),
        location=weights @ value / total,
        scale=np.sqrt(1.0 / total),
        df=np.full(TAUS, NORMAL),
    )
    method = f"between seeds ({k} seeds, their spread integrated out)"
    integrated = of_cells(around, level=level, method=method)
    ends = [
        end for estimate in (centre, integrated) for end in (estimate.low, estimate.high) if end is not None
    ]
    wider = replace(centre, low=min(ends), high=max(ends), method=method)
    return centre, wider
