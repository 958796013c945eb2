"""Differences of arms with the seed as the unit: spreads, intervals, bands, and seeds needed.

Every run has a number with an error of its own (from the residuals inside the run), and the seeds of an arm
differ beyond that. With 2 to 5 seeds the spread of one arm alone says next to nothing, and arms need not have
the same: their spreads are drawn from a distribution over arms, and are integrated out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import betaincinv, chdtri, fdtrc, nctdtr, ndtr, ndtri, stdtr, stdtrit

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.reads import NORMAL, Cells
from entropylaw.results import Estimate

POWER = 0.8
"""Power for which the number of seeds and the smallest difference are given."""

MOST_SEEDS = 50
"""Numbers of seeds above this are not searched."""

TAILS = 4.0
"""Degrees of freedom of the distribution of log spreads over arms: one of them may be far from all others."""

UNLIKE, UNLIKE_NODES, MOST_UNLIKE = 0.3, 16, 4.0
"""Mean of the exponential prior of the scale of log spreads over arms, where the arms that are compared have
equally many seeds; its nodes and its end."""

LOG_STEP, LOWEST, HIGHEST, LEAST_MEAN, MOST_MEAN = 0.16, -40, 32, -24, 20
"""Grid of log spreads about that of all arms pooled: its step; its ends and those of their mean in steps."""

DRAWS, SEED = 4_000, 20_260
"""Draws, from a fixed seed, for the critical value of a band."""

PRIOR_DF = 4.0
"""Weight of the assumed correlation over a curve, in degrees of freedom."""


@cache
def _log_spreads() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log spreads (g,); their probabilities (m, g) by their mean and scale over arms, and the scales (m,)."""
    spread = LOG_STEP * np.arange(LOWEST, HIGHEST).astype(float)
    mean = LOG_STEP * np.arange(LEAST_MEAN, MOST_MEAN).astype(float)
    unlike = (np.arange(UNLIKE_NODES) + 0.5) / UNLIKE_NODES * MOST_UNLIKE
    deviate = (spread - mean[:, None]) / unlike[:, None, None]
    density = (1.0 + deviate**2 / TAILS) ** (-0.5 * (TAILS + 1.0))
    density = (density / density.sum(axis=-1, keepdims=True)).reshape(-1, spread.size)
    return np.asarray(spread), np.asarray(density), np.repeat(unlike, mean.size)


def spreads(
    squares: FloatArray, free: FloatArray, compared: Sequence[int], least: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Standard deviations (g,) of seeds, and the probabilities of those of one arm (g,) or of two (g, g).

    From the sums of squares (k,) about the means of all arms and their degrees of freedom, some above 0. A
    pooled standard deviation below ``least`` is rounding.

    Two means of equally many values hardly depend on equal spreads, others do (Box 1954,
    doi:10.1214/aoms/1177728786): spreads are taken to differ by more, with the cube of the ratio of the
    seeds of two arms.
    """
    spread, density, unlike = _log_spreads()
    seeds = free[list(compared)] + 1.0
    mean_unlike = UNLIKE * float(seeds.max() / seeds.min()) ** 3
    scale = max(float(np.sqrt(squares.sum() / free.sum())), least, 1e-150) * np.exp(spread)
    log = -free[:, None] * np.log(scale / scale[0]) - 0.5 * squares[:, None] / scale**2
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    # Its means over the prior for every mean and scale of log spreads over arms, and the posterior of these.
    marginal = np.maximum(likelihood @ density.T, 1e-140)
    weight = np.log(marginal).sum(axis=0) - unlike / mean_unlike
    weight = np.exp(weight - weight.max())
    first, *second = compared
    if second:
        (other,) = second
        weight /= marginal[first] * marginal[other]
        joint = (density * weight[:, None]).T @ density
        probability = joint * likelihood[first][:, None] * likelihood[other]
    else:
        probability = (weight / marginal[first]) @ density * likelihood[first]
    return scale, np.asarray(probability / probability.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrast:
    """A difference of two means: a mixture of normals about it, of weights and standard errors (c,)."""

    value: float
    weight: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, value: float, weight: FloatArray, error: FloatArray) -> Contrast:
        """The mixture with like errors put together."""
        # From the least one on: in another unit the same errors are put together.
        log_error = np.log(np.maximum(error, 1e-300)).ravel()
        step = np.rint((log_error - log_error.min()) / 0.05).astype(int)
        total = np.bincount(step, weight.ravel())
        squared = np.bincount(step, (weight * error**2).ravel())
        there = total > 1e-9
        return cls(
            value=value,
            weight=total[there] / total[there].sum(),
            error=np.sqrt(squared / np.where(total > 0, total, 1.0))[there],
        )

    @property
    def std_error(self) -> float:
        """The median standard error: the mean square may be infinite."""
        order = np.argsort(self.error)
        return float(self.error[order][np.searchsorted(np.cumsum(self.weight[order]), 0.5)])

    def beyond(self, distance: float) -> float:
        """Probability of a difference from it above a distance."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.weight @ np.where(self.error > 0, ndtr(-distance / self.error), distance <= 0))

    @property
    def p_value(self) -> float:
        """Two-sided, of no difference."""
        return min(1.0, 2.0 * self.beyond(abs(self.value)))

    def reach(self, level: float) -> float:
        """Half of the width of its interval."""
        error = self.error[self.error > 0]
        weight = self.weight[self.error > 0]
        reach, step = 0.0, float(error.max(initial=0.0))
        # The probability is convex in the distance: Newton's method comes from below.
        while step > 1e-13 * reach:
            density = float(weight @ (np.exp(-0.5 * (reach / error) ** 2) / error)) / np.sqrt(2.0 * np.pi)
            step = (float(weight @ ndtr(-reach / error)) - 0.5 * (1.0 - level)) / density
            reach += step
        return reach

    def smallest(self, level: float, most: float) -> float | None:
        """The difference that is found at a level with :data:`POWER`; None where it is above the ``most``."""
        smallest = self.reach(level) + float(ndtri(POWER)) * self.std_error
        return smallest if smallest <= most else None


def means(value: FloatArray, arm: IntArray) -> FloatArray:
    """Mean of every arm, shape (k, ...) for values (n, ...); nan for an arm without a value."""
    member = (arm == np.arange(arm.max() + 1)[:, None]).astype(float)
    with np.errstate(invalid="ignore"):
        return np.asarray((member / member.sum(axis=1, keepdims=True)) @ value)


def squares(value: FloatArray, arm: IntArray) -> FloatArray:
    """Sum of squares about its mean of every arm, shape (k, ...) for values (n, ...)."""
    member = (arm == np.arange(arm.max() + 1)[:, None]).astype(float)
    return np.asarray(member @ (value - means(value, arm)[arm]) ** 2)


def contrast(
    value: FloatArray, arm: IntArray, compared: Sequence[int], squared: FloatArray | None = None
) -> Contrast:
    """The first of two ``compared`` arms minus the second, from values (n,) of all; of one arm its mean.

    ``squared`` (k,) are sums of squares about the arms' means, by default those of the values. Some arm has
    two.
    """
    seeds = np.bincount(arm)
    free = np.maximum(seeds - 1.0, 0.0)
    least = 0.0
    if squared is None:
        squared, least = squares(value, arm), 1e-12 * float(np.abs(value).max())
    scale, probability = spreads(squared, free, compared, least)
    mean, errors = means(value, arm)[compared], [scale / np.sqrt(seeds[number]) for number in compared]
    error = errors[0] if len(errors) == 1 else np.hypot(errors[0][:, None], errors[1])
    return Contrast.of(float(mean[0] - mean[1:].sum()), probability, error)


def welch(*groups: FloatArray) -> float:
    """Welch's p-value (1947, doi:10.2307/2332510) of equal means, or of one that is 0, of two values each."""
    gap = float(groups[0].mean() - sum(group.mean() for group in groups[1:]))
    variances = np.array([group.var(ddof=1) / group.size for group in groups])
    if not variances.any():
        return float(gap == 0)
    df = variances.sum() ** 2 / (variances**2 / [group.size - 1 for group in groups]).sum()
    return float(2.0 * stdtr(df, -abs(gap) / np.sqrt(variances.sum())))


def equal_means(*groups: FloatArray) -> float:
    """p-value of equal means of all groups, each of two values or more, of whatever spreads.

    F = Σ n_i·(m_i − m)² / Σ (1 − n_i/n)·s_i² (Brown & Forsythe 1974, doi:10.1080/00401706.1974.10489158) with
    Mehrotra's degrees of freedom (1997, doi:10.1080/03610919708813431). Welch's analysis of variance finds a
    difference between twelve like arms of two seeds seven times too often.
    """
    size = np.array([group.size for group in groups])
    variance = np.array([group.var(ddof=1) for group in groups])
    share = size / size.sum()
    part = (1.0 - share) * variance
    within = float(part.sum())
    mean = np.array([group.mean() for group in groups])
    between = float(size @ (mean - share @ mean) ** 2)
    if within == 0:
        return float(between == 0)
    df_between = within**2 / float(variance**2 @ (1.0 - 2.0 * share) + (share @ variance) ** 2)
    df_within = within**2 / float((part**2 / (size - 1.0)).sum())
    return float(fdtrc(df_between, df_within, between / within))


def band_reach(deviations: FloatArray, df: float, spread: Contrast, level: float) -> float:
    """Half of the width of a band over m points, in units of its standard deviations at the points.

    Parameters
    ----------
    deviations
        Shape (n, m): each run's curve minus its arm's mean.
    df
        Degrees of freedom of the deviations.
    spread, level
        The difference in units of the standard deviations; coverage of the whole band.

    Notes
    -----
    Quantile of max |G|·e over Gaussian processes G and standard errors e drawn from the mixture. The
    correlation over the points is that of the deviations, mixed with one that falls as exp(−d²/2) over half
    of the range: few seeds show fewer ways to differ than there are.
    """
    position = np.linspace(0.0, 2.0, deviations.shape[1])
    prior = np.exp(-0.5 * (position[:, None] - position) ** 2)
    scale = np.sqrt(np.maximum((deviations**2).sum(axis=0), np.finfo(float).tiny))
    unit = deviations / scale
    share = df / (df + PRIOR_DF)
    value, vector = np.linalg.eigh(share * (unit.T @ unit) + (1.0 - share) * prior)
    root = (vector * np.sqrt(np.maximum(value, 0.0)))[:, value > 1e-9 * value[-1]]
    random = np.random.default_rng(SEED)
    highest = np.abs(random.standard_normal((DRAWS, root.shape[1])) @ root.T).max(axis=1)
    error = spread.error[
        np.searchsorted(np.cumsum(spread.weight), random.random(DRAWS)).clip(max=spread.error.size - 1)
    ]
    return float(np.quantile(highest * error, level))


def neighbours(m: int) -> FloatArray:
    """Weights (m, m) that average a variance over the points of a band nearby, columns adding up to 1.

    By exp(−d²/2) over an eighth of the range: where few seeds happen to cross their spread is not small.
    """
    position = np.linspace(0.0, 8.0, m)
    weight = np.exp(-0.5 * (position[:, None] - position) ** 2)
    return np.asarray(weight / weight.sum(axis=0))


def seeds_needed(sd: float, margin: float, level: float) -> int | None:
    """Seeds per arm for :data:`POWER` to find a difference of the margin by a t-test; None above 50."""
    if sd <= 0:
        return 2
    for seeds in range(2, MOST_SEEDS + 1):
        df, shift = 2.0 * (seeds - 1), margin / (sd * np.sqrt(2.0 / seeds))
        reach = float(stdtrit(df, 0.5 + 0.5 * level))
        if 1.0 - nctdtr(df, shift, reach) + nctdtr(df, shift, -reach) >= POWER:
            return seeds
    return None


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

STEPS = 100
"""Most steps of Newton's method; some ten are enough."""


def random_effects(value: FloatArray, variance: FloatArray, *, level: float) -> Estimate:
    """Mean over k ≥ 2 runs from their estimates and variances, shapes (k,).

    Its interval is the hull of the one that takes the variance between runs as known, and of the one in which
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
    k = value.size
    tail = (1.0 - level) / 2.0
    # τ² by its estimating equation, and at equal probabilities of its confidence distribution.
    targets = np.array([k - 1.0, *chdtri(k - 1, (np.arange(TAUS) + 0.5) / TAUS)])
    tau2 = np.zeros(targets.size)
    for _ in range(STEPS):
        # Newton's on 1/Q, which is nearly a straight line in τ².
        weights = 1.0 / (variance + tau2[:, None])
        square = (value - (weights @ value / weights.sum(axis=1))[:, None]) ** 2
        spread, slope = (weights * square).sum(axis=1), (weights**2 * square).sum(axis=1)
        rise = spread * (spread / targets - 1.0) / np.maximum(slope, np.finfo(float).tiny)
        before, tau2 = tau2, np.maximum(tau2 + rise, 0.0)
        if np.abs(tau2 - before).max() <= 1e-14 * tau2.max():
            break
    weight = 1.0 / (variance + tau2[0])
    mean, reach = float(weight @ value / weight.sum()), float(stdtrit(k - 1, 1.0 - tail))
    error = float(np.sqrt(max(float(weight @ (value - mean) ** 2) / (k - 1), 1.0) / weight.sum()))
    weights = 1.0 / (variance + tau2[1:, None])
    total = weights.sum(axis=1)
    around = Cells(
        weight=np.full(TAUS, 1.0 / TAUS),
        location=weights @ value / total,
        scale=np.sqrt(1.0 / total),
        df=np.full(TAUS, NORMAL),
    )
    low, _, high = around.quantiles((tail, 0.5, 1.0 - tail)).tolist()
    return Estimate(
        value=mean,
        low=min(mean - reach * error, low),
        high=max(mean + reach * error, high),
        level=level,
        method=f"between seeds ({k} seeds, their spread integrated out)",
        std_error=error,
    )
