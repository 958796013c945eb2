"""Where a boundary is: its distribution over the steps, intervals of it, and how two lie to one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropylaw.engine.bends import Bends, bend_posterior
from entropylaw.engine.decays import likely_decays
from entropylaw.engine.grid import FloatArray
from entropylaw.engine.kinks import FIRST, LAST, Kinks, Null, bend, bend_grid
from entropylaw.engine.ties import first_best
from entropylaw.results import Estimate
from entropylaw.results.phases import Boundary

METHOD = "bent cable on a decay, drift + noise integrated out"
MOST_PROBABLE = f"most probable steps; {METHOD}"

BEND_PLACES = 81
HALF_WIDTHS = (0.0, 0.04, 0.08, 0.15, 0.25, 0.4)
"""Grid of the boundary's place, and of half of the transition's width, as a share of the run."""

WHOLE = 0.6
"""Share of the run from which on an interval of the boundary says nothing of its place."""

FEW_CELLS = 24
"""Where all but :data:`_NOTHING` of the probability is on so few places, they are looked at more closely."""

_LOOKS, _CLOSER, _NOTHING, _POINTS = 2, 4, 1e-5, 400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """A distribution over steps: ``weight`` (k,) on cells whose middles ``step`` (k,) are evenly apart."""

    step: FloatArray
    weight: FloatArray

    @property
    def edges(self) -> FloatArray:
        """Shape (k + 1,)."""
        half = 0.5 * (self.step[1] - self.step[0])
        return np.append(self.step - half, self.step[-1] + half)

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Steps below which those probabilities lie, even within a cell."""
        below = np.append(0.0, np.cumsum(self.weight))
        return np.asarray(np.interp(probability, below / below[-1], self.edges))

    def points(self) -> FloatArray:
        """Equally probable steps, shape (400,), which stand for the distribution."""
        return self.quantile((np.arange(_POINTS) + 0.5) / _POINTS)

    def most_probable(self, level: float) -> tuple[tuple[float, float], ...]:
        """The fewest cells that have the level's probability, as intervals."""
        order = np.argsort(-self.weight, kind="stable")
        count = int(np.searchsorted(np.cumsum(self.weight[order]), level)) + 1
        inside = np.zeros(self.weight.size, dtype=bool)
        inside[order[:count]] = True
        ends = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
        return tuple(
            (float(self.edges[a]), float(self.edges[b])) for a, b in zip(ends[::2], ends[1::2], strict=True)
        )


def places_of(boundary: Boundary) -> Places:
    """The distribution of a stored boundary."""
    return Places(step=boundary.places, weight=boundary.density)


def closest(kinks: Kinks, null: Null, series: FloatArray) -> tuple[Kinks, Null, Bends]:
    """The posterior of a bend in a series (n,), on a grid of places as fine as it is narrow.

    The decays are looked for anew beside the likeliest bend: those of ``kinks``, likely without any, have
    taken on its shape. They come back too, with the series fitted by them.
    """
    found = _on_grid(kinks, null, series, FIRST, LAST)[0]
    for _ in range(_LOOKS):
        likeliest = int(first_best(found.weight))
        beside = bend(kinks.time, float(found.place[likeliest]), float(found.half[likeliest]))
        kinks = Kinks(kinks.step, likely_decays(kinks.step, series, beside))
        null = kinks.null(series[:, None])
        found, low, high = _on_grid(kinks, null, series, FIRST, LAST)
    for _ in range(_CLOSER):
        if (low, high) == (FIRST, LAST):
            break
        found, *ends = _on_grid(kinks, null, series, low, high)
        if tuple(ends) == (low, high):
            break
        low, high = ends
    return kinks, null, found


def _on_grid(
    kinks: Kinks, null: Null, series: FloatArray, low: float, high: float
) -> tuple[Bends, float, float]:
    """The posterior over places from ``low`` to ``high``, and between which it is worth a closer look."""
    places = np.linspace(low, high, BEND_PLACES)
    grid = np.array([(place, half) for place in places for half in HALF_WIDTHS])
    columns = bend_grid(kinks.time, places, HALF_WIDTHS)
    found = bend_posterior(kinks, null, series, columns, grid[:, 0], grid[:, 1])
    likely = np.flatnonzero(found.weight.reshape(BEND_PLACES, -1).sum(axis=1) > _NOTHING)
    first, last = max(likely[0] - 1, 0), min(likely[-1] + 1, BEND_PLACES - 1)
    if last - first >= FEW_CELLS:
        return found, low, high
    return found, float(places[first]), float(places[last])


def boundary_of(found: Bends, first: float, span: float, level: float) -> Boundary:
    """Place and width in the run's own steps, which begin at ``first`` and last for ``span``."""
    at, mass = _marginal(found.place, found.weight)
    places = Places(step=first + span * at, weight=mass)
    intervals = places.most_probable(level)
    pieces = f"in {len(intervals)} stretches" if len(intervals) > 1 else None
    return Boundary(
        step=Estimate(
            value=float(places.quantile(np.array([0.5]))[0]),
            low=intervals[0][0],
            high=intervals[-1][1],
            level=level,
            method=MOST_PROBABLE,
            note=pieces,
        ),
        intervals=intervals,
        whole=sum(high - low for low, high in intervals) >= WHOLE * span,
        width=_width(found, span, level),
        searched=(first + FIRST * span, first + LAST * span),
        places=places.step,
        density=places.weight,
    )


def difference(one: FloatArray, other: FloatArray, level: float) -> tuple[Estimate, float]:
    """One less another, both as equally probable points and independent; and how probably it is positive."""
    apart = np.sort((one[:, None] - other).ravel())
    tail = (1.0 - level) / 2.0
    low, value, high = (float(q) for q in np.quantile(apart, (tail, 0.5, 1.0 - tail)))
    estimate = Estimate(value=value, low=low, high=high, level=level, method=METHOD)
    return estimate, float((apart > 0).mean() + 0.5 * (apart == 0).mean())


def weighted_points(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Equally probable points of a distribution over some values."""
    order = np.argsort(values, kind="stable")
    middle = np.cumsum(weight[order]) - 0.5 * weight[order]
    return np.asarray(np.interp((np.arange(_POINTS) + 0.5) / _POINTS, middle / weight.sum(), values[order]))


def of_points(points: FloatArray, level: float, method: str) -> Estimate:
    """Median and equal-tailed interval of equally probable points."""
    tail = (1.0 - level) / 2.0
    low, value, high = (float(q) for q in np.quantile(points, (tail, 0.5, 1.0 - tail)))
    return Estimate(value=value, low=low, high=high, level=level, method=method)


def _width(found: Bends, span: float, level: float) -> Estimate:
    """Width of the transition; one of the few that were tried."""
    widths, mass = _marginal(2.0 * found.half, found.weight)
    below, tail = np.cumsum(mass), (1.0 - level) / 2.0
    low, value, high = (
        span * float(widths[min(int(np.searchsorted(below, q)), widths.size - 1)])
        for q in (tail, 0.5, 1.0 - tail)
    )
    return Estimate(value=value, low=low, high=high, level=level, method=METHOD)


def _marginal(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct values and the probability of each."""
    points, place = np.unique(np.round(values, 12), return_inverse=True)
    mass = np.bincount(place.ravel(), weights=weight)
    return points, mass / mass.sum()
