"""One entropy curve: whether it rises above its lowest level or explodes, when it moves and settles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from entropylaw.analysis.law.estimates import tails
from entropylaw.analysis.law.evaluations import SMALLEST_ENTROPY, check_scale
from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.engine.levels import level_now
from entropylaw.engine.trend import Trend, design_of
from entropylaw.engine.windows import Windows, neighbours, recent_over_lowest
from entropylaw.errors import FitError
from entropylaw.results import WORDS, Estimate
from entropylaw.results.phases import CURVES, MATERIAL, POWER, CurvePhases, Eruption, gaps
from entropylaw.results.result import Finding, caution

FEWEST_POINTS, MOST_POINTS, FEWEST_TO_ERUPT = 20, 150, 150
"""Points below which no curve is fitted, above which blocks of neighbours are averaged, and below which
eruptions are not looked for."""

DRAWS = 400
"""Draws of the curve, of its onset and of the step at which it has settled."""

FIRST, LAST, PLACES, RAMP, LADDER = 0.5, 0.8, 5, 0.1, 1.3 ** np.arange(-6.0, 24.0)
"""Rises are injected after the fall, in the second half, at so many places up to the last one, over a tenth
of the run; their sizes in typical changes from point to point."""

SMALL = 0.1
"""Share of a curve's range: where no smaller rise, nor a doubling of the lowest level, would have
been found, the curve shows nothing."""

SHARP = 0.01
"""Level of the test for eruptions, over all windows."""

WITHIN = 0.05
"""Share of its range within which a curve has settled."""

FALLEN, ENDS, FALLS, BENDS = 0.05, 40, (0.02, 0.06, 0.15, 0.4), (0.05, 0.1, 0.2, 0.4)
"""The onset is looked for where at most that share of the fall is left, at so many points; times, in runs, of
the falls before it, and of rises that level off."""

GROWTHS, POWERS = (2.0, 4.0, 6.0, 8.0), (2.0, 3.0)
"""Rises that accelerate up to the end, as an explosion does: expm1(k·u)/expm1(k) with these k, and these
powers of u, 0 at the onset and 1 at the end."""

WIDER = 0.03
"""Share of the run by which the interval of a step is wider than its draws at both ends."""

ALLOWANCE = 1.2
"""Factor of the detectable rise for the noise of another run."""

CORNERS = 1.25
"""Factor of the band's width, for what splines and decays leave of a sharp corner."""

TEMPERED = 0.05
"""Power of the weights of models in a band, over the root of the number of points. Drift and a bent curve
explain a short run equally well, and the evidence, an approximation for many points, prefers one of them too
clearly."""

METHOD = "splines, decays and steps, drift + noise of changing scale integrated out"

NOW = "trend + random walk + noise"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """A curve with the draws of its onset, and of the step at which it has settled, both (d,) or empty."""

    curve: CurvePhases
    onset: FloatArray
    settled: FloatArray


@lru_cache(maxsize=2)
def windows_of(step: bytes) -> tuple[Windows, Windows]:
    """The windows of both tests at some steps: of a rise, and of eruptions."""
    design = design_of(step)
    return (
        Windows(design, recent_over_lowest(design.step.size)),
        Windows(design, neighbours(design.step.size)),
    )


def fit_curve(step: FloatArray, entropy: FloatArray, name: str, level: float) -> Fitted:
    """One curve; ``entropy`` (n,) is nan where it is missing.

    The curve is fitted as it is or as its logarithm, whichever makes it more probable. Raises FitError:
    ``too-few-points``, ``entropy-constant``, and as :func:`check_scale`.
    """
    s, y = _checked_points(step, entropy, name)
    trend = likelier(Trend(design_of(s.tobytes()), y)).with_steps()
    there = np.isfinite(entropy)
    lowest = _lowest_window(y)
    drawn = trend.draws(DRAWS, TEMPERED * float(np.sqrt(y.size)))
    curves = np.clip(_in_nats(trend, drawn), y.min(), y.max())
    before, recent = (y[window].mean() for window in lowest)
    test = windows_of(s.tobytes())[0]
    deviations = test.deviations(trend.whitened.scale)
    p = float(test.p_values(trend.y, trend.models, deviations).min())
    answers: dict[str, Any] = dict.fromkeys(("detectable", "since", "stays", "onset", "settled"))
    onsets = settled = np.empty(0)
    if p <= 1.0 - level + 1e-12 and recent >= MATERIAL * before:
        verdict = WORDS[0]
        answers["since"], answers["stays"] = since(s, y, lowest)
        at = onset(Trend(trend.design, y).with_steps() if trend.is_logarithm else trend)
        onsets = np.interp(at, np.arange(s.size), s)
        answers["onset"] = between(s, at, onsets, level)
    else:
        mean = curves.mean(axis=0)
        fallen = trend.design.time[int(np.argmax(mean <= mean.min() + FALLEN * np.ptp(mean)))]
        places = np.linspace(np.clip(fallen, FIRST, LAST), LAST, PLACES)
        x = _smallest_rise(trend, y, places, (test, deviations), 1.0 - level)
        answers["detectable"] = x
        # What is seen has to be less than what would have been found.
        shows = x is not None and recent - before < x <= max(before, SMALL * float(np.ptp(y)))
        verdict = WORDS[1] if shows else WORDS[2]
        falling = _in_nats(trend, trend.falling().draws(DRAWS))
        if np.quantile(falling[:, 0] - falling[:, -1], 1.0 - level) > 0.0:
            at = settling(falling)
            settled = s[at]
            answers["settled"] = between(s, at, settled, level)
    # An entropy is never below 0, and neither is the interval of its level at the last step.
    now = level_now(s, y).estimate(level=level, method=NOW)
    value, least, most = np.maximum(np.array([now.value, now.low, now.high], dtype=float), 0.0).tolist()
    fitted, low, high = _in_nats(trend, _band(drawn, level))
    curve = CurvePhases(
        name=name,
        n=s.size,
        verdict=verdict,
        p_rise=p,
        lowest=float(before),
        lowest_step=float(s[lowest[0]].mean()),
        rise=of_draws(curves[:, lowest[1]].mean(axis=1) - curves[:, lowest[0]].mean(axis=1), level),
        ratio=float(recent / before) if before > 0.0 else None,
        eruptions=eruptions(trend, s, y) if np.count_nonzero(there) >= FEWEST_TO_ERUPT else None,
        last=Estimate(value=value, low=least, high=most, level=level, method=NOW),
        noise=float(np.std(y - fitted)),
        first_step=float(step[there][0]),
        last_step=float(step[there][-1]),
        step=s,
        entropy=y,
        fitted=fitted,
        low=low,
        high=high,
        **answers,
    )
    return Fitted(curve=curve, onset=onsets, settled=settled)


def likelier(plain: Trend) -> Trend:
    """The trend of a curve in nats, or that of its logarithm where it makes the curve more probable."""
    if plain.y.min() <= 0.0:
        return plain
    logarithm = Trend(plain.design, np.log(plain.y), is_logarithm=True)
    higher = logarithm.models.total - logarithm.y.sum() > plain.models.total
    return logarithm if higher else plain


def _checked_points(step: FloatArray, entropy: FloatArray, name: str) -> tuple[FloatArray, FloatArray]:
    """The points of a curve, or blocks of them; errors as :func:`fit_curve`."""
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
    return s, y


def level_findings(curve: CurvePhases) -> list[Finding]:
    """An explosion and the eruptions of a curve, as cautions."""
    findings = []
    if curve.exploded:
        findings.append(
            caution(
                "entropy-exploded",
                curve=CURVES[curve.name],
                rise=curve.rise.value,
                ratio=curve.ratio,
                lowest=curve.lowest,
                at=curve.lowest_step,
                since=curve.since,
                stays=curve.stays,
            )
        )
    if curve.eruptions:
        rises = tuple(eruption.rise for eruption in curve.eruptions)
        findings.append(
            caution("entropy-eruption", curve=CURVES[curve.name], steps=curve.eruption_steps, rises=rises)
        )
    return findings


def _in_nats(trend: Trend, curves: FloatArray) -> FloatArray:
    """Curves of a trend, which may be one of logarithms, in nats; none is below 0."""
    return np.maximum(np.exp(np.minimum(curves, 100.0)) if trend.is_logarithm else curves, 0.0)


def of_draws(values: FloatArray, level: float, reach: float = 0.0) -> Estimate:
    """Median and equal-tailed interval of equally probable values (d,), wider by ``reach`` at both ends."""
    low, value, high = (np.quantile(values, tails(level)) + np.array([-reach, 0.0, reach])).tolist()
    return Estimate(
        value=value, low=low, high=high, level=level, method=METHOD, std_error=float(values.std())
    )


def between(step: FloatArray, at: FloatArray, steps: FloatArray, level: float) -> Estimate:
    """A step by draws of it, and of its index among the points (d,), wider by :data:`WIDER`.

    The ends are points: what may be inside a gap reaches from one of its ends to the other.
    """
    tail, middle, _ = tails(level)
    reach = WIDER * step.size
    low = int(np.floor(np.quantile(at, tail) - reach))
    high = int(np.ceil(np.quantile(at, 1.0 - tail) + reach))
    last = step.size - 1
    return Estimate(
        value=float(np.quantile(steps, middle)),
        low=float(step[max(low, 0)]),
        high=float(step[min(high, last)]),
        level=level,
        method=METHOD,
        std_error=float(np.std(steps)),
    )


def _lowest_window(y: FloatArray) -> tuple[slice, slice]:
    """The window of the lowest mean before the end, and the one at the end."""
    n = y.size
    width, recent = max(3, n // 12), max(4, n // 10)
    means = np.convolve(y, np.ones(width) / width, "valid")[: n - recent - width + 1]
    return slice(int(means.argmin()), int(means.argmin()) + width), slice(n - recent, n)


def since(step: FloatArray, y: FloatArray, lowest: tuple[slice, slice]) -> tuple[float, bool]:
    """The step since which a curve is above half of its rise, and whether the end has half of the largest."""
    window, end = lowest
    low = y[window].mean()
    half = 0.5 * (y[end].mean() - low)
    below = np.flatnonzero(y[: end.start] < low + half)
    means = np.convolve(y[window.start :], np.ones(window.stop - window.start), "valid")
    top = means.max() / (window.stop - window.start) - low
    return float(step[min(int(below.max()) + 1, step.size - 1)]), bool(half >= 0.25 * top)


def _smallest_rise(
    trend: Trend, y: FloatArray, places: FloatArray, test: tuple[Windows, FloatArray], alpha: float
) -> float | None:
    """The smallest rise that is found in :data:`POWER` of the places where it is added to the curve."""
    windows, deviations = test
    shapes = np.array([np.clip((trend.design.time - start) / RAMP, 0.0, 1.0) for start in places])

    def is_seen(size: float) -> bool:
        raised = y + size * shapes
        tested = np.log(raised) if trend.is_logarithm else raised
        p_values = windows.p_values(tested, trend.models, deviations).min(axis=1)
        levels = [[curve[window].mean() for window in _lowest_window(curve)] for curve in raised]
        material = [end >= MATERIAL * low for low, end in levels]
        return bool(np.mean((p_values <= alpha) & material) >= POWER - 1e-9)

    sizes = LADDER * max(float(np.std(np.diff(y))), 1e-3 * float(np.ptp(y)))
    low, high = 0, sizes.size - 1
    if not is_seen(sizes[high]):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_seen(sizes[middle]) else (middle + 1, high)
    least = (MATERIAL - 1.0) * float(y[_lowest_window(y)[0]].mean())
    return max(ALLOWANCE * float(sizes[high]), least)


def eruptions(trend: Trend, step: FloatArray, y: FloatArray) -> tuple[Eruption, ...]:
    """The sharp rises: peaks of the differences of adjacent windows, the clearest of those that overlap."""
    test = windows_of(step.tobytes())[1]
    deviations = test.deviations(trend.whitened.scale)
    p = test.p_values(trend.y, trend.models, deviations)
    height = test.differences(trend.y) / deviations[trend.models.best[0]]
    start, middle, _, end = test.pairs.T
    width = middle - start
    clearest: list[int] = []
    for i in np.flatnonzero(p <= SHARP)[np.argsort(-height[p <= SHARP], kind="stable")]:
        rival = (width == width[i]) & (np.abs(middle - middle[i]) <= width[i])
        is_peak = height[i] >= height[rival].max()
        if is_peak and all(abs(middle[i] - middle[j]) > max(width[i], width[j]) for j in clearest):
            clearest.append(int(i))
    sharp = []
    for i in sorted(clearest, key=lambda i: int(middle[i])):
        before, after = y[start[i] : middle[i]].mean(), y[middle[i] : end[i]].mean()
        if after >= MATERIAL * before:
            sharp.append(Eruption(step=float(step[middle[i]]), rise=float(after - before)))
    return tuple(sharp)


def onset(trend: Trend) -> FloatArray:
    """Draws (d,) of the point, or between points, at which a rise begins.

    After the fall the curve is a constant and at most one exponential, to which a rise is added from one
    point to another, one that levels off, or one that accelerates up to the end.
    """
    means = np.convolve(trend.y, np.ones(5) / 5, "valid")
    low = means[: int(means.argmin()) + 1].min()
    start = int(np.argmax(means <= low + FALLEN * (means[0] - low))) if means[0] > low else 0
    start = start if trend.y.size - start >= FEWEST_POINTS else 0
    y, scale = trend.y[start:], trend.whitened.scale[start:]
    time = trend.design.time[start:] - trend.design.time[start]
    falls = [np.ones((y.size, 1)), *(np.column_stack([np.ones(y.size), np.exp(-time / t)]) for t in FALLS)]
    ends = np.unique(np.linspace(2, y.size - 1, ENDS).astype(int))
    first, last = (places.ravel() for places in np.meshgrid(ends, ends, indexing="ij"))
    first, last = first[last > first + 1], last[last > first + 1]
    ramps = np.clip((time[:, None] - time[first]) / (time[last] - time[first]), 0.0, 1.0)
    after = np.maximum(time[:, None, None] - time[ends][:, None], 0.0) / np.array(BENDS)
    begun = ends[:-1]
    share = np.clip((time[:, None] - time[begun]) / (time[-1] - time[begun]), 0.0, 1.0)
    exponentials = [np.expm1(growth * share) / np.expm1(growth) for growth in GROWTHS]
    growing = [*exponentials, *(share**power for power in POWERS)]
    rises = np.hstack([ramps, 1.0 - np.exp(-after.reshape(y.size, -1)), *growing])
    begins = np.concatenate([first, np.repeat(ends, len(BENDS)), np.tile(begun, len(growing))])
    # Every onset is equally probable, and so are the rises that begin there.
    log_number = np.log(np.bincount(begins)[begins])
    evidence, onsets = [], []
    for point in trend.likely_points():
        root = np.linalg.cholesky(trend.design.correlations[point][start:, start:] * np.outer(scale, scale))
        every = solve_triangular(root, np.column_stack([y, rises]), lower=True, check_finite=False)
        white, columns = every[:, 0], every[:, 1:]
        log = trend.design.log_prior[point] - np.log(np.diagonal(root)).sum()
        for fall in falls:
            q, r = np.linalg.qr(solve_triangular(root, fall, lower=True, check_finite=False))
            left, beyond = white - q @ (q.T @ white), columns - q @ (q.T @ columns)
            along = np.maximum(beyond.T @ left, 0.0)
            height = along / np.maximum((beyond**2).sum(axis=0), 1e-12)
            rss = np.maximum(left @ left - height * along, trend.slack)
            # While more falls than rises, the slope is not above 0 yet.
            depth = q[:, -1] @ (white[:, None] - height * columns) / r[-1, -1]
            curves = np.where(rises < rises[-1], depth * fall[:, -1:] + height * rises, np.inf)
            onsets.append(np.maximum(begins, curves.argmin(axis=0)))
            cost = 0.5 * fall.shape[1] * np.log(y.size)
            evidence.append(log - log_number - 0.5 * y.size * np.log(rss) - cost)
    log_weight = np.concatenate(evidence)
    shares = np.cumsum(np.exp(log_weight - log_weight.max()))
    picked = np.searchsorted(shares / shares[-1], (np.arange(DRAWS) + 0.5) / DRAWS).clip(max=shares.size - 1)
    random = np.random.default_rng(3)
    spacing = float(np.median(np.diff(ends)))
    places = start + np.concatenate(onsets)[picked] + random.uniform(-spacing, spacing, DRAWS)
    return random.permutation(places).clip(0.0, trend.y.size - 1.0)


def settling(curves: FloatArray) -> Any:
    """Of each curve (d, n) the first point from which on it is near its end; a curve only falls."""
    n = curves.shape[1]
    above = np.maximum.accumulate(curves[:, ::-1], axis=1)[:, ::-1]
    falling = 0.5 * (np.minimum.accumulate(curves, axis=1) + above)
    end = falling[:, -max(2, n // 20) :].mean(axis=1, keepdims=True)
    far: BoolArray = np.abs(falling - end) > WITHIN * np.ptp(falling, axis=1)[:, None]
    return np.minimum(n - np.argmax(far[:, ::-1], axis=1), n - 1)


def _band(curves: FloatArray, level: float) -> FloatArray:
    """The mean of curves (d, n), and the ends of a band that holds all of a curve at the level, (3, n)."""
    mean, sd = curves.mean(axis=0), np.maximum(curves.std(axis=0), 1e-12)
    reach = CORNERS * float(np.quantile((np.abs(curves - mean) / sd).max(axis=1), level))
    return np.array([mean, mean - reach * sd, mean + reach * sd])


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
