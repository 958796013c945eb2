"""Change point of one entropy curve: the test for one, the smallest rise that it detects, and the place."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.estimate import tails
from entropylaw.analysis.law import checked_level
from entropylaw.engine.changepoint import FIRST, LAST, Bends, Kinks, Null, bend, bend_posterior
from entropylaw.engine.decays import likely_decays
from entropylaw.engine.grid import FloatArray, first_best
from entropylaw.errors import UsageError
from entropylaw.results import Estimate
from entropylaw.results.phases import DRAWS, HALF_WIDTHS, POWER, Boundary

METHOD = "bent cable on a decay, drift + noise integrated out"

WHOLE = 0.6
"""Share of the run from which on an interval of the boundary says nothing of its place."""

_CHANCES = (np.arange(400) + 0.5) / 400
"""Of the equally probable points that represent a distribution."""


def checked_test_level(level: float) -> float:
    """``level`` as :func:`checked_level` has it, if the simulations can resolve a p-value of 1 − level.

    Raises
    ------
    UsageError
        ``bad-level``.
    """
    level = checked_level(level)
    # Two simulated runs must lie beyond the critical value for it to be known.
    highest = 1.0 - 2 / (DRAWS + 1.0)
    if level > highest + 1e-12:
        raise UsageError(
            "bad-level",
            f"level {level:g}; a test by {DRAWS} simulations knows no p-value below {1 / (DRAWS + 1):.2g}, "
            f"expected a level of at most {highest:g}",
            "give 0.95 or 0.99",
        )
    return level


def decay_test(
    kinks: Kinks, null: Null, mean: FloatArray, rng: np.random.Generator, level: float, draws: int = DRAWS
) -> tuple[float, float]:
    """The p-value of one smooth decay, and the statistic from which on it is rejected at 1 − level.

    ``null`` and ``mean`` (n, 1) are of one series.
    """
    first = kinks.null(kinks.draws(null, mean, rng, draws))
    second = kinks.null(kinks.draws(first, kinks.means(first), rng, 1))
    once = np.sort(first.statistic)
    # The p-value by the first simulation is compared with what it would be for series without a bend, which
    # the second simulation estimates.
    statistic = np.append(once, null.statistic)
    plain = (1.0 + once.size - np.searchsorted(once, statistic)) / (once.size + 1.0)
    limit = np.quantile(second.statistic, 1.0 - plain)
    corrected = (1.0 + once.size - np.searchsorted(once, limit)) / (once.size + 1.0)
    p_value = np.where(statistic > once[-1], plain, corrected)
    rejected = once[p_value[:-1] <= 1.0 - level + 1e-12]
    # Beyond all of the first simulation there is nothing to correct by: what is there is rejected.
    return float(p_value[-1]), float(rejected.min() if rejected.size else np.nextafter(once[-1], np.inf))


def smallest_rise(
    kinks: Kinks, null: Null, mean: FloatArray, critical: float, rng: np.random.Generator
) -> float | None:
    """The smallest rise to the end, from a hinge in the middle, that is found in :data:`POWER` of runs.

    None where the largest that was tried, 16 standard deviations of the curve's residual, is not.
    """
    hinge, draws = bend(kinks.time, 0.5, 0.0), 99
    plain = kinks.draws(null, mean, rng, draws)
    rises = float(np.std(plain - mean)) * np.geomspace(0.25, 16.0, 7)
    tried = np.concatenate([plain + rise * (hinge / hinge[-1])[:, None] for rise in rises], axis=1)
    found = (kinks.null(tried).statistic >= critical).reshape(rises.size, draws).mean(axis=1)
    if found[-1] < POWER:
        return None
    first = int(np.argmax(found >= POWER))
    if first == 0:
        return float(rises[0])
    # Between two of them, along the logarithm of the rise.
    return float(np.exp(np.interp(POWER, found[first - 1 : first + 1], np.log(rises[first - 1 : first + 1]))))


def closest(kinks: Kinks, null: Null, series: FloatArray) -> tuple[Kinks, Null, Bends]:
    """The posterior of a bend in a series (n,), on a grid of places as fine as it is narrow.

    The decays are looked for anew beside the likeliest bend: those of ``kinks``, likely without any, have
    taken on its shape. They come back too, with the series fitted by them.
    """
    found, low, high = _on_grid(kinks, null, series, FIRST, LAST)
    for _ in range(2):
        likeliest = int(first_best(found.weight))
        beside = bend(kinks.time, float(found.place[likeliest]), float(found.half[likeliest]))
        kinks = Kinks(kinks.step, likely_decays(kinks.step, series, beside))
        null = kinks.null(series[:, None])
        found, low, high = _on_grid(kinks, null, series, FIRST, LAST)
    before = FIRST, LAST
    for _ in range(4):
        if (low, high) == before:
            break
        before = low, high
        found, low, high = _on_grid(kinks, null, series, low, high)
    return kinks, null, found


def _on_grid(
    kinks: Kinks, null: Null, series: FloatArray, low: float, high: float
) -> tuple[Bends, float, float]:
    """The posterior over 81 places from ``low`` to ``high``, and between which a closer look would help."""
    places = np.linspace(low, high, 81)
    place, half = (axis.ravel() for axis in np.meshgrid(places, HALF_WIDTHS, indexing="ij"))
    found = bend_posterior(kinks, null, series, place, half)
    # Where nearly all of the probability is on few places, they are looked at more closely.
    likely = np.flatnonzero(found.weight.reshape(places.size, -1).sum(axis=1) > 1e-5)
    first, last = max(likely[0] - 1, 0), min(likely[-1] + 1, places.size - 1)
    if last - first >= 24:
        return found, low, high
    return found, float(places[first]), float(places[last])


def boundary_of(found: Bends, first: float, span: float, level: float) -> Boundary:
    """Place and width in the run's own steps, which begin at ``first`` and last for ``span``.

    The place's interval has the fewest cells with the level's probability. The width is one of those tried.
    """
    at, density = _marginal(found.place, found.weight)
    places = first + span * at
    order = np.argsort(-density, kind="stable")
    inside = np.zeros(density.size + 2, dtype=int)
    inside[1 + order[: int(np.searchsorted(np.cumsum(density[order]), level)) + 1]] = 1
    ends = _edges(places)[np.flatnonzero(np.diff(inside))].tolist()
    intervals = tuple(zip(ends[::2], ends[1::2], strict=True))
    widths, mass = _marginal(2.0 * found.half, found.weight)
    at_most = np.minimum(np.searchsorted(np.cumsum(mass), tails(level)), widths.size - 1)
    low, value, high = (span * widths[at_most]).tolist()
    return Boundary(
        step=Estimate(
            value=float(_quantiles(places, density, np.array([0.5]))[0]),
            low=intervals[0][0],
            high=intervals[-1][1],
            level=level,
            method=f"most probable steps; {METHOD}",
            note=f"in {len(intervals)} stretches" if len(intervals) > 1 else None,
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
    """Steps below which those probabilities lie, evenly spread within a cell."""
    below = np.append(0.0, np.cumsum(density))
    return np.asarray(np.interp(probability, below / below[-1], _edges(places)))


def place_points(boundary: Boundary) -> FloatArray:
    """Equally probable steps, shape (400,), which represent the distribution of a boundary's place."""
    return _quantiles(boundary.places, boundary.density, _CHANCES)


def weighted_points(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Equally probable points of a distribution over some values, shape (400,)."""
    order = np.argsort(values, kind="stable")
    middle = np.cumsum(weight[order]) - 0.5 * weight[order]
    return np.asarray(np.interp(_CHANCES, middle / weight.sum(), values[order]))


def of_points(points: FloatArray, level: float, method: str) -> Estimate:
    """Median and equal-tailed interval of equally probable points."""
    low, value, high = np.quantile(points, tails(level)).tolist()
    return Estimate(value=value, low=low, high=high, level=level, method=method)


def difference(one: FloatArray, other: FloatArray, level: float) -> tuple[Estimate, float]:
    """One less another, both as equally probable points and independent; and how probably it is positive."""
    apart = (one[:, None] - other).ravel()
    return of_points(apart, level, METHOD), float((apart > 0).mean() + 0.5 * (apart == 0).mean())
