"""The change point of one entropy curve: the test for one, the smallest rise detected, and the step."""

from __future__ import annotations

import zlib

import numpy as np
from scipy.special import ndtri

from entropylaw.analysis.law.estimates import checked_level, from_mixture, tails, weighted_quantiles
from entropylaw.analysis.law.evaluations import SMALLEST_ENTROPY, check_scale
from entropylaw.analysis.law.influence import lag1
from entropylaw.analysis.members import level_now
from entropylaw.engine.changepoint import (
    FIRST,
    LAST,
    ChangePointDesign,
    ChangePointPosterior,
    Null,
    bent_cable,
    change_point_posterior,
    fallen,
    likely_decays,
)
from entropylaw.engine.prior import first_best
from entropylaw.errors import FitError, UsageError
from entropylaw.results import Estimate
from entropylaw.results.arrays import FloatArray
from entropylaw.results.phases import CURVES, DRAWS, HALF_WIDTHS, KINDS, POWER, ChangePoint, CurvePhases

FEWEST = 20
"""Points below which no change point is looked for."""

MOST = 250
"""Points above which blocks of neighbours are averaged: the test simulates hundreds of such runs."""

NOW = "random walk + noise"

METHOD = "bent cable on a decay, drift + noise integrated out"

WHOLE = 0.6
"""An interval that covers this share of the run, or more, does not locate the change point."""

_CHANCES = (np.arange(400) + 0.5) / 400
"""Probabilities of the equally probable points that represent a distribution."""


def checked_test_level(level: float) -> float:
    """Return ``level`` if it is valid and the simulations can resolve a p-value of 1 − level.

    Raises
    ------
    UsageError
        ``bad-level``.
    """
    level = checked_level(level)
    # The critical value is known only with two simulated runs beyond it.
    highest = 1.0 - 2 / (DRAWS + 1.0)
    if level > highest + 1e-12:
        raise UsageError(
            "bad-level",
            f"level {level:g}; a test with {DRAWS} simulations has no p-value below {1 / (DRAWS + 1):.2g}, "
            f"expected a level of at most {highest:g}",
            "give 0.95 or 0.99",
        )
    return level


def fit_curve(
    step: FloatArray, entropy: FloatArray, name: str, level: float
) -> tuple[CurvePhases, FloatArray | None]:
    """Test and fit one curve; ``entropy`` (n,) is nan where it is missing.

    Raises FitError (``too-few-points``, ``entropy-constant``, and as :func:`check_scale`). Returns the fit,
    and equally probable steps, shape (400,), by which the decay has made 95 % of its fall; None where the
    curve does not fall.
    """
    there = np.isfinite(entropy)
    if np.count_nonzero(there) < FEWEST:
        raise FitError(
            "too-few-points",
            f"{np.count_nonzero(there)} entropies of {CURVES[name]}, expected at least {FEWEST}",
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
    design = ChangePointDesign(s, likely_decays(s, y))
    null = design.null(y[:, None])
    mean = design.means(null)
    rng = np.random.default_rng(zlib.crc32(np.concatenate([s, y]).tobytes()))
    p_value, critical = decay_test(design, null, mean, rng, level)
    found = p_value <= 1.0 - level + 1e-12
    bent_design, bent, posterior = closest(design, null, y)
    span = float(s[-1] - s[0])
    rows = posterior.changes / np.array([span, span, 1.0])[:, None, None]
    changes = [from_mixture(posterior.number(row), level=level, method=METHOD) for row in rows]
    (before, _), (after, after_high), (rise, rise_high) = (
        np.array([change.low, change.high], dtype=float) for change in changes
    )
    # In the order of KINDS. To fall needs a slope before that is above 0; to rise only one that is not.
    kinds = (after > 0 >= before, after_high < 0 < before, rise > 0, rise_high < 0, True)
    fitted, sd = posterior.curve()
    half = float(ndtri(0.5 + level / 2.0)) * sd
    # An entropy is never below 0, and neither is the interval of its level at the last step.
    now = from_mixture(level_now(s, y), level=level, method=NOW)
    last, low, high = np.maximum(np.array([now.value, now.low, now.high], dtype=float), 0.0).tolist()
    settled, settled_at = None, None
    if mean[0, 0] > mean[-1, 0]:
        # Of a curve with a change point the decay is the one fitted together with it.
        with_decays, weight = (bent_design, bent.bent_weight) if found else (design, null.weight)
        times = fallen(with_decays.time, with_decays.decays, 0.95)
        settled = s[0] + span * weighted_quantiles(times, weight[:, :, 0].sum(axis=0), _CHANCES)
        settled_at = of_points(settled, level, "shape of the decay, drift + noise integrated out")
    residual = y - mean[:, 0]
    curve = CurvePhases(
        name=name,
        n=s.size,
        p_value=p_value,
        found=found,
        kind=KINDS[kinds.index(True)] if found else None,
        change_point=change_point_of(posterior, float(s[0]), span, level),
        **dict(zip(("slope_before", "slope_after", "rise"), changes, strict=True)),
        fitted=fitted,
        low=fitted - half,
        high=fitted + half,
        last=Estimate(value=last, low=low, high=high, level=level, method=NOW),
        settled=settled_at,
        detectable=smallest_rise(design, null, mean, critical, rng),
        lag1=lag1(residual),
        noise=float(np.sqrt(residual @ residual / design.free)),
        step=s,
        entropy=y,
        decay=mean[:, 0],
        first_step=float(step[there][0]),
        last_step=float(step[there][-1]),
    )
    return curve, settled


def decay_test(
    design: ChangePointDesign, null: Null, mean: FloatArray, rng: np.random.Generator, level: float
) -> tuple[float, float]:
    """P-value of the null hypothesis, one smooth decay, and the critical value of the statistic at 1 − level.

    By a fast double bootstrap (Davidson & MacKinnon 2007, doi:10.1016/j.csda.2006.04.001).

    ``null`` and ``mean`` (n, 1) are of one series.
    """
    first = design.null(design.draws(null, mean, rng, DRAWS))
    second = design.null(design.draws(first, design.means(first), rng, 1))
    once = np.sort(first.statistic)
    # The p-value from the first simulation is compared with its distribution over series without a change
    # point, which the second simulation estimates.
    statistic = np.append(once, null.statistic)
    plain = (1.0 + once.size - np.searchsorted(once, statistic)) / (once.size + 1.0)
    limit = np.quantile(second.statistic, 1.0 - plain)
    corrected = (1.0 + once.size - np.searchsorted(once, limit)) / (once.size + 1.0)
    p_value = np.where(statistic > once[-1], plain, corrected)
    rejected = once[p_value[:-1] <= 1.0 - level + 1e-12]
    # Beyond the whole first simulation there is nothing to correct by: such a statistic is rejected.
    return float(p_value[-1]), float(rejected.min() if rejected.size else np.nextafter(once[-1], np.inf))


def smallest_rise(
    design: ChangePointDesign, null: Null, mean: FloatArray, critical: float, rng: np.random.Generator
) -> float | None:
    """The smallest rise to the end, from a sharp change point in the middle, detected with :data:`POWER`.

    None where the largest that is tried, 16 standard deviations of the curve's residual, is not detected.
    """
    cable, draws = bent_cable(design.time, 0.5, 0.0), 99
    plain = design.draws(null, mean, rng, draws)
    rises = float(np.std(plain - mean)) * np.geomspace(0.25, 16.0, 7)
    tried = np.concatenate([plain + rise * (cable / cable[-1])[:, None] for rise in rises], axis=1)
    power = (design.null(tried).statistic >= critical).reshape(rises.size, draws).mean(axis=1)
    if power[-1] < POWER:
        return None
    first = int(np.argmax(power >= POWER))
    if first == 0:
        return float(rises[0])
    # Interpolated in the logarithm of the rise.
    return float(np.exp(np.interp(POWER, power[first - 1 : first + 1], np.log(rises[first - 1 : first + 1]))))


def closest(
    design: ChangePointDesign, null: Null, series: FloatArray
) -> tuple[ChangePointDesign, Null, ChangePointPosterior]:
    """The posterior of the change point of a series (n,), on a grid of steps that is refined around it.

    The likely decays are searched again together with the most probable change point, because those of
    ``design``, which are likely without one, have taken on its shape. The design with these decays and the
    series fitted by it are returned too.
    """
    posterior, low, high = _on_grid(design, null, series, FIRST, LAST)
    for _ in range(2):
        likeliest = int(first_best(posterior.weight))
        cable = bent_cable(design.time, float(posterior.place[likeliest]), float(posterior.half[likeliest]))
        design = ChangePointDesign(design.step, likely_decays(design.step, series, cable))
        null = design.null(series[:, None])
        posterior, low, high = _on_grid(design, null, series, FIRST, LAST)
    before = FIRST, LAST
    for _ in range(4):
        if (low, high) == before:
            break
        before = low, high
        posterior, low, high = _on_grid(design, null, series, low, high)
    return design, null, posterior


def _on_grid(
    design: ChangePointDesign, null: Null, series: FloatArray, low: float, high: float
) -> tuple[ChangePointPosterior, float, float]:
    """The posterior over 81 steps from ``low`` to ``high``, and the range for the next refinement."""
    places = np.linspace(low, high, 81)
    place, half = (axis.ravel() for axis in np.meshgrid(places, HALF_WIDTHS, indexing="ij"))
    posterior = change_point_posterior(design, null, series, place, half)
    likely = np.flatnonzero(posterior.weight.reshape(places.size, -1).sum(axis=1) > 1e-5)
    first, last = max(likely[0] - 1, 0), min(likely[-1] + 1, places.size - 1)
    if last - first >= 24:
        return posterior, low, high
    return posterior, float(places[first]), float(places[last])


def change_point_of(posterior: ChangePointPosterior, first: float, span: float, level: float) -> ChangePoint:
    """Step and width in the run's own steps, which begin at ``first`` and last for ``span``.

    The interval of the step is the highest posterior density region. The width is one of those
    tried.
    """
    at, density = _marginal(posterior.place, posterior.weight)
    places = first + span * at
    order = np.argsort(-density, kind="stable")
    inside = np.zeros(density.size + 2, dtype=int)
    inside[1 + order[: int(np.searchsorted(np.cumsum(density[order]), level)) + 1]] = 1
    ends = _edges(places)[np.flatnonzero(np.diff(inside))].tolist()
    intervals = tuple(zip(ends[::2], ends[1::2], strict=True))
    widths, mass = _marginal(2.0 * posterior.half, posterior.weight)
    at_most = np.minimum(np.searchsorted(np.cumsum(mass), tails(level)), widths.size - 1)
    low, value, high = (span * widths[at_most]).tolist()
    return ChangePoint(
        step=Estimate(
            value=float(_quantiles(places, density, np.array([0.5]))[0]),
            low=intervals[0][0],
            high=intervals[-1][1],
            level=level,
            method=f"most probable steps; {METHOD}",
            note=f"in {len(intervals)} separate intervals" if len(intervals) > 1 else None,
        ),
        intervals=intervals,
        whole=sum(high - low for low, high in intervals) >= WHOLE * span,
        width=Estimate(value=value, low=low, high=high, level=level, method=METHOD),
        searched=(first + FIRST * span, first + LAST * span),
        places=places,
        density=density,
    )


def _marginal(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct values and the probability of each."""
    points, place = np.unique(np.round(values, 12), return_inverse=True)
    mass = np.bincount(place.ravel(), weights=weight)
    return points, mass / mass.sum()


def _edges(places: FloatArray) -> FloatArray:
    """Edges (k + 1,) of the cells whose middles ``places`` (k,) are evenly apart."""
    half = 0.5 * (places[1] - places[0])
    return np.append(places - half, places[-1] + half)


def _quantiles(places: FloatArray, density: FloatArray, probability: FloatArray) -> FloatArray:
    """Quantiles of a distribution that is uniform within each cell."""
    below = np.append(0.0, np.cumsum(density))
    return np.asarray(np.interp(probability, below / below[-1], _edges(places)))


def place_points(change_point: ChangePoint) -> FloatArray:
    """Equally probable steps, shape (400,), which represent the distribution of a change point."""
    return _quantiles(change_point.places, change_point.density, _CHANCES)


def of_points(points: FloatArray, level: float, method: str) -> Estimate:
    """Median and equal-tailed interval of equally probable points."""
    low, value, high = np.quantile(points, tails(level)).tolist()
    return Estimate(value=value, low=low, high=high, level=level, method=method)


def difference(one: FloatArray, other: FloatArray, level: float) -> tuple[Estimate, float]:
    """The difference of two independent distributions by their points, and the probability that it is > 0."""
    apart = (one[:, None] - other).ravel()
    return of_points(apart, level, METHOD), float((apart > 0).mean() + 0.5 * (apart == 0).mean())


def blocked(step: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over blocks of equally many neighbours, at most :data:`MOST` of them.

    Only the first block may be shorter: with blocks of different lengths the noise would differ.
    """
    size = -(-step.size // MOST)
    if size == 1:
        return step, values
    first = step.size % size
    starts = np.concatenate([[0] if first else [], np.arange(first, step.size, size)]).astype(int)
    count = np.diff(np.append(starts, step.size))
    return np.add.reduceat(step, starts) / count, np.add.reduceat(values, starts) / count
