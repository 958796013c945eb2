"""One entropy curve: whether it turns to rise or falls a second time, where, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from entropylaw.analysis.law.diagnostics import lag1
from entropylaw.analysis.law.estimates import checked_level, of_cells, tails
from entropylaw.analysis.law.evaluations import SMALLEST_ENTROPY, check_scale
from entropylaw.arrays import FloatArray, IntArray
from entropylaw.engine.local_level import level_now
from entropylaw.engine.trend import CAUTIOUS, EVEN_HANDED, Components, TrendDesign
from entropylaw.engine.windows import LEAST, Windows
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate
from entropylaw.results.phases import CURVES, LEAST_P, POWER, CurvePhases, gaps, stricter

FEWEST_POINTS = 20
"""Points below which no turn is looked for."""

MOST_POINTS = 250
"""Points above which blocks of neighbours are averaged."""

DRAWS = 500
"""Draws of the curve, from which the intervals of the turning point and of the rise come."""

WIDER = 5.0
"""The rise's interval has the ends of one that misses so many times less often."""

ALLOWANCE = 1.4
"""Factor of the detectable rise: another run's covariance is estimated anew, and its factor of
:data:`~entropylaw.results.phases.STRICTER` may be larger."""

BASIN = 0.03
"""Share of the rise: steps within it above the lowest point are as low as that."""

NOISES, MARGIN = 2.0, 0.02
"""How far beyond its points a curve may be: the larger one of so many standard deviations of the residual and
that share of their range."""

SETTLED = 0.95
"""Share of the fall after which it is over."""

FIRST = (1, 4, 16)
"""Numbers of the most probable components after which a test ends if its p-value is known to be 1: most
curves do not turn, and the windows of every further covariance are simulated."""

NOW = "random walk + noise"

METHOD = "splines with bent cables and steps, drift + noise integrated out"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tested:
    """A curve after its tests: the points, the splines and windows at their steps, and what was found.

    ``bent`` are the likely components with extra columns, ``fitted`` (n,) their mean; ``start`` is the first
    point of the fall that comes before the rise; ``second_fall`` the steps between which the curve falls
    again.
    """

    name: str
    step: FloatArray
    entropy: FloatArray
    ends: tuple[float, float]
    design: TrendDesign
    bent: Components
    fitted: FloatArray
    p_rise: float
    p_second_fall: float
    long_drift: float
    start: int
    second_fall: tuple[float, float]
    detectable: float | None

    @property
    def residual(self) -> FloatArray:
        """The points minus the fitted curve."""
        return self.entropy - self.fitted

    def inside(self, curves: FloatArray) -> FloatArray:
        """Curves (d, n), cut where they leave the range of the points by more than their noise, or pass 0."""
        beyond = max(NOISES * float(np.std(self.residual)), MARGIN * float(np.ptp(self.entropy)))
        least, most = float(self.entropy.min()) - beyond, float(self.entropy.max()) + beyond
        return np.clip(curves, max(least, 0.0), most)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """A curve, with its draws of the turning point and of the end of the fall.

    ``turn`` (d, 3) are the steps of the lowest point and of both ends of its basin, ``fall`` (d, 3) the step
    of :data:`SETTLED` of the fall and the first and last one that it can be; both are empty where the curve
    has none. What may have happened inside a gap reaches from one of its ends to the other.
    """

    curve: CurvePhases
    turn: FloatArray
    fall: FloatArray


def checked_test_level(level: float) -> float:
    """Return ``level`` if it is valid and the simulations can resolve a p-value of 1 − level.

    Raises
    ------
    UsageError
        ``bad-level``.
    """
    level = checked_level(level)
    if 1.0 - level < LEAST_P - 1e-12:
        raise UsageError(
            "bad-level",
            f"level {level:g}; the test has no p-value below {LEAST_P:g}, "
            f"expected a level of at most {1.0 - LEAST_P:g}",
            "give 0.95 or 0.99",
        )
    return level


@lru_cache(maxsize=4)
def splines_and_windows(step: bytes) -> tuple[TrendDesign, Windows, Windows]:
    """The splines and the windows at some steps: the same for all curves there."""
    design = TrendDesign(np.frombuffer(step))
    return design, Windows(design, 1), Windows(design, 2)


def tested(step: FloatArray, entropy: FloatArray, name: str, level: float) -> Tested:
    """Test one curve; ``entropy`` (n,) is nan where it is missing.

    Raises FitError: ``too-few-points``, ``entropy-constant``, and as :func:`check_scale`.
    """
    there = np.isfinite(entropy)
    if np.count_nonzero(there) < FEWEST_POINTS:
        raise FitError(
            "too-few-points",
            f"{np.count_nonzero(there)} entropies of {CURVES[name]}, expected at least {FEWEST_POINTS}",
            "log the entropy of either class at every step",
        )
    check_scale(f"the entropy of {CURVES[name]}", entropy[there], SMALLEST_ENTROPY)
    s, y = blocked(step[there], entropy[there])
    if np.ptp(y) <= 1e-12 * np.abs(y).max():
        raise FitError(
            "entropy-constant",
            f"the entropy of {CURVES[name]} is {y[0]:g} at all {y.size} steps, expected one that moves",
            "check the logger, or name another column",
        )
    design, slopes, curvatures = splines_and_windows(s.tobytes())
    plain = design.components(y, column_cost=CAUTIOUS, extra=False).likely(LEAST)
    bent = design.components(y, column_cost=EVEN_HANDED, extra=True)
    long_drift = design.long_drift(bent, long_length(s.size))
    bent = bent.likely(LEAST)
    factor = stricter(long_drift)
    p_rise, falls, _ = opposite(slopes, -y, plain, factor)
    p_second_fall, slows, begins = opposite(curvatures, y, bent, 2.0 * factor)
    if p_second_fall < 1.0:
        # A rise that levels off is convex and then concave, too: the curve has to fall before and after.
        p_falls = slopes.p_values(-(slopes.contrasts @ y), bent, slopes.null(bent))
        before = p_falls[slopes.last <= curvatures.last[slows]]
        after = p_falls[slopes.first >= curvatures.first[begins]]
        p_second_fall = max(
            p_second_fall, *(min(1.0, factor * p_values.min(initial=1.0)) for p_values in (before, after))
        )
    return Tested(
        name=name,
        step=s,
        entropy=y,
        ends=(float(step[there][0]), float(step[there][-1])),
        design=design,
        bent=bent,
        fitted=np.asarray(bent.weight @ design.curves(y, bent, None)),
        p_rise=p_rise,
        p_second_fall=p_second_fall,
        long_drift=long_drift,
        start=int(slopes.first[falls]),
        second_fall=(float(s[curvatures.first[begins]]), float(s[curvatures.last[begins]])),
        detectable=smallest_rise(slopes, y, plain, (1.0 - level) / factor),
    )


def fit_curve(found: Tested, level: float, normal: FloatArray) -> Fitted:
    """The intervals of a tested curve; ``normal`` are the draws of its residual (:func:`draws_of`)."""
    s, y = found.step, found.entropy
    rises, falls_again = (p <= 1.0 - level + 1e-12 for p in (found.p_rise, found.p_second_fall))
    drawn = found.design.curves(y, found.bent, normal)
    low, _, high = found.inside(np.quantile(drawn, tails(level), axis=0))
    fall, turn = falls(s, drawn), np.empty((0, 3))
    turning_point = rise = None
    if rises:
        after = slice(found.start, None)
        turn, rise = turns(s[after], drawn[:, after], found.fitted[after], level)
        lowest, first, last = turn.T
        tail, middle, _ = tails(level)
        turning_point = Estimate(
            value=float(np.quantile(lowest, middle)),
            low=float(np.quantile(first, tail)),
            high=float(np.quantile(last, 1.0 - tail)),
            level=level,
            method=f"basin of the lowest point; {METHOD}",
            std_error=float(np.std(lowest)),
        )
    # An entropy is never below 0, and neither is the interval of its level at the last step.
    now = of_cells(level_now(s, y), level=level, method=NOW)
    value, least, most = np.maximum(np.array([now.value, now.low, now.high], dtype=float), 0.0).tolist()
    curve = CurvePhases(
        name=found.name,
        n=s.size,
        p_rise=found.p_rise,
        p_second_fall=found.p_second_fall,
        long_drift=found.long_drift,
        rises=rises,
        falls_again=falls_again,
        turning_point=turning_point,
        rise=rise,
        second_fall=found.second_fall if falls_again else None,
        detectable=found.detectable,
        settled=of_points(fall, level, METHOD) if fall.size else None,
        last=Estimate(value=value, low=least, high=most, level=level, method=NOW),
        lag1=lag1(found.residual),
        noise=float(np.std(found.residual)),
        step=s,
        entropy=y,
        fitted=found.inside(found.fitted),
        low=low,
        high=high,
        first_step=found.ends[0],
        last_step=found.ends[1],
    )
    return Fitted(curve=curve, turn=turn, fall=fall)


def long_length(n: int) -> float:
    """The length of a drift, as a share of the run, that is a good part of a run of n points."""
    return float(0.1 * (60.0 / (n - 1)) ** 0.4)


def opposite(
    windows: Windows, series: FloatArray, components: Components, factor: float
) -> tuple[float, int, int]:
    """P-value of "no window with positive contrasts before one with negative ones", and both windows.

    ``factor`` is that of :data:`~entropylaw.results.phases.STRICTER`; the windows of a p-value of 1 mean
    nothing.
    """
    value, order = windows.contrasts @ series, np.argsort(-components.weight, kind="stable")
    for count in (*(count for count in FIRST if count < order.size), order.size):
        # All terms of a p-value are positive: one of some components is a lower bound.
        likeliest = np.sort(order[:count])
        subset = Components(**{name: getattr(components, name)[likeliest] for name in Components.__slots__})
        null = windows.null(subset)
        before, after = (windows.p_values(sign * value, subset, null) for sign in (1.0, -1.0))
        p, first, second = windows.then(before, after)
        if factor * p >= 1.0:
            break
    return min(1.0, factor * p), first, second


def smallest_rise(slopes: Windows, series: FloatArray, components: Components, limit: float) -> float | None:
    """The smallest rise over the second half of the run that is detected with :data:`POWER`.

    The rise is even, and the curve is flat there without it; None where the curve does not fall in its first
    half, or no p-value is below ``limit``. The contrast of a window has its expectation under the rise, less
    the normal quantile of :data:`POWER`: no simulation is needed. :data:`ALLOWANCE` is for what that takes as
    known.
    """
    null, time = slopes.null(components), slopes.design.time
    falls = slopes.p_values(-(slopes.contrasts @ series), components, null)
    if falls[time[slopes.last] <= 0.5].min(initial=1.0) > limit:
        return None
    gain = slopes.contrasts @ np.maximum(2.0 * time - 1.0, 0.0)
    scale = float(components.weight @ components.scale)
    sd = sum(
        w * slopes.of(int(point))[0] * length_scale
        for w, point, length_scale in zip(components.weight, components.point, components.scale, strict=True)
    )
    low, high = 0.0, 64.0 * scale
    for _ in range(30):
        middle = 0.5 * (low + high)
        expected = middle * gain - float(ndtri(POWER)) * np.asarray(sd)
        detected = slopes.p_values(expected, components, null).min() <= limit
        low, high = (low, middle) if detected else (middle, high)
    return ALLOWANCE * high if high < 64.0 * scale * (1.0 - 1e-6) else None


def draws_of(curves: Sequence[Tested]) -> list[FloatArray]:
    """Standard normals (:data:`DRAWS`, n + 1) of each curve, as :meth:`TrendDesign.curves` takes them.

    Those of the second are correlated with those of the first as their residuals are, at equal steps:
    planning and execution drift together. The numbers are the same for all curves of n points.
    """
    normals = [
        np.random.default_rng([i, curve.step.size]).standard_normal((DRAWS, curve.step.size + 1))
        for i, curve in enumerate(curves)
    ]
    if len(curves) == 2 and np.array_equal(curves[0].step, curves[1].step):
        residuals = [curve.residual for curve in curves]
        first_residual, second_residual = (x / max(float(np.linalg.norm(x)), 1e-300) for x in residuals)
        r = float(np.clip(first_residual @ second_residual, -1.0, 1.0))
        normals[1] = r * normals[0] + np.sqrt(1.0 - r**2) * normals[1]
    return normals


def falls(step: FloatArray, curves: FloatArray) -> FloatArray:
    """Step at which each curve (d, n) has made :data:`SETTLED` of its fall to the lowest point (d, 3).

    With the first and the last step that it can be. Empty where most of the curves do not fall at all.
    """
    lowest = curves.argmin(axis=1)
    index = np.arange(step.size)
    before = np.where(index <= lowest[:, None], curves, -np.inf)
    top, bottom = before.max(axis=1), curves.min(axis=1)
    if np.mean(before.argmax(axis=1) < lowest) < 0.5:
        return np.empty((0, 3))
    limit = bottom + (1.0 - SETTLED) * (top - bottom)
    after = index >= before.argmax(axis=1)[:, None]
    at = np.argmax(after & (curves <= limit[:, None]), axis=1)
    return np.stack([step[at], across_gaps(step)[0][at], step[at]], axis=1)


def across_gaps(step: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of each step (n,) the step before it and the one after it where there is a gap between, else itself."""
    gap = np.flatnonzero(gaps(step))
    before, after = step.copy(), step.copy()
    before[gap + 1], after[gap] = step[gap], step[gap + 1]
    return before, after


def turns(
    step: FloatArray, curves: FloatArray, mean: FloatArray, level: float
) -> tuple[FloatArray, Estimate]:
    """Lowest step, first and last step of the basin of each curve (d, 3), and the rise.

    The rise of a curve is the greatest from a point to a later one. Its interval is the hull of two: of each
    draw's own rise, which is too large, because it follows the draw's errors, and of its rise between the two
    points at which the mean curve is lowest and highest, which is too small.
    """
    low, high, _ = greatest_rise(curves)
    rows = np.arange(len(curves))
    lowest, rise = curves[rows, low], curves[rows, high] - curves[rows, low]
    inside = curves <= (lowest + BASIN * rise)[:, None]
    index = np.arange(step.size)
    # The basin is what is connected with the lowest point.
    first = np.where(~inside & (index <= low[:, None]), index, -1).max(axis=1) + 1
    last = np.where(~inside & (index >= low[:, None]), index, step.size).min(axis=1) - 1
    (lowest_mean,), (highest_mean,), _ = greatest_rise(mean[None])
    between = curves[:, highest_mean] - curves[:, lowest_mean]
    # The splines round off a sharp turn, which draws do not show.
    ends = np.array([np.quantile(sizes, tails(1.0 - (1.0 - level) / WIDER)) for sizes in (rise, between)])
    estimate = Estimate(
        value=float(mean[highest_mean] - mean[lowest_mean]),
        low=float(min(ends[:, 0].min(), mean[highest_mean] - mean[lowest_mean])),
        high=float(max(ends[:, -1].max(), mean[highest_mean] - mean[lowest_mean])),
        level=level,
        method=METHOD,
        std_error=float(between.std()),
    )
    before, after = across_gaps(step)
    return np.stack([step[low], before[first], after[last]], axis=1), estimate


def greatest_rise(curves: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Of each curve (d, n) the points of the greatest rise from one point to a later one, and the rise."""
    lowest = np.minimum.accumulate(curves, axis=1)
    high = np.argmax(curves - lowest, axis=1)
    index = np.arange(curves.shape[1])
    low = np.where(index <= high[:, None], curves, np.inf).argmin(axis=1)
    rows = np.arange(len(curves))
    return low, high, curves[rows, high] - curves[rows, low]


def of_points(points: FloatArray, level: float, method: str) -> Estimate:
    """Median and equal-tailed interval of equally probable points (d,), or with both their ends (d, 3)."""
    value, first, last = points.T if points.ndim == 2 else (points,) * 3
    low, middle, high = tails(level)
    pairs = (first, low), (value, middle), (last, high)
    low, value, high = (float(np.quantile(points, tail)) for points, tail in pairs)
    return Estimate(value=value, low=low, high=high, level=level, method=method)


def blocked(step: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over blocks of equally many neighbours, about :data:`MOST_POINTS` of them, and none over a gap.

    Only the first block, and the first one after a gap, may be shorter: with blocks of different lengths the
    noise would differ.
    """
    size = -(-step.size // MOST_POINTS)
    if size == 1:
        return step, values
    starts = np.empty(0, dtype=int)
    for begin, end in pairwise([0, *(np.flatnonzero(gaps(step)) + 1).tolist(), step.size]):
        whole = np.arange(begin + (end - begin) % size, end, size)
        starts = np.concatenate([starts, [begin] if (end - begin) % size else [], whole]).astype(int)
    count = np.diff(np.append(starts, step.size))
    return np.add.reduceat(step, starts) / count, np.add.reduceat(values, starts) / count
