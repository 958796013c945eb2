"""Fitting forms over a grid of their shapes that is made as fine as the data are sharp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entropylaw.analysis.forms import Form
from entropylaw.engine.grid import FloatArray, Grid, first_best
from entropylaw.engine.span import Solver
from entropylaw.results.mixture import normalised
from entropylaw.results.posterior import Posterior

FINE = 0.15
"""Largest probability that one point of a grid of shapes may hold; above it the grid is made finer. A normal
peak is then summed at three eighths of its standard deviation, in two dimensions at one."""

MOST_POINTS = 3000
"""Points of a grid of shapes from which it is refined no more."""

_HEAVY, _LIGHT = 0.02, 1e-8
"""Probability on an axis from which the gaps beside a point are split, and below which it is left out."""

DEPENDENT = 1e-9
"""Share of a column's norm that must be left when the columns before it are taken out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormFit:
    """A form's posterior on one run, over m points of the q parameters in which it is not linear.

    ``shape`` (m, q), (1, 0) without any, are the points, ``posteriors`` a batch of one for each, ``weight``
    (m,) their probabilities; ``log_evidence`` is the log marginal likelihood with the prior of
    ``rivals.fit_forms``, all shapes summed.
    """

    form: Form
    shape: FloatArray
    posteriors: Posterior
    weight: FloatArray
    log_evidence: float

    @property
    def best(self) -> int:
        """Number of the heaviest shape."""
        return int(first_best(self.weight))


def fit_each(
    forms: Sequence[Form], step: FloatArray, reward: FloatArray, grid: Grid
) -> tuple[dict[str, FormFit], dict[str, str]]:
    """Fit every form over a grid of its shapes that is as fine as the data are sharp.

    The first grid spans the prior. Where one point holds more than :data:`FINE` of the probability, the gaps
    about the heavy points are split, and points that hold nothing are left out, until the peak is
    resolved. (Evidence falls off slowly beside a sharp peak, because misfit passes for drift: a grid made
    finer by the width of its flanks steps over the peak.)

    Returns
    -------
    fits, skipped
        In the order of ``forms``; and form → reason, where the run has too few evaluations for it or
        cannot tell its columns apart.
    """
    done: dict[str, FormFit] = {}
    needed = {form.name: form.parameters + 2 for form in forms}
    few = (name for name, number in needed.items() if reward.size < number)
    skipped = {name: f"{reward.size} evaluations, and {needed[name]} are needed" for name in few}
    shown = (form for form in forms if form.name not in skipped)
    searches = [_Search(form=f, axes=tuple(shape.axis() for shape in f.shapes), known={}) for f in shown]
    cost = 0.5 * np.log(reward.size) + np.log(2.0 * float(np.std(reward)))
    solver = Solver(step, reward, grid)
    while searches:
        _evaluate(searches, solver)
        unfinished = []
        for search in searches:
            name = search.form.name
            if all(posterior is None for posterior in search.known.values()):
                skipped[name] = "its columns cannot be told apart on this run"
            elif (finer := _finer(search)) is not None:
                unfinished.append(finer)
            else:
                done[name] = search.summed(cost)
        searches = unfinished
    return {form.name: done[form.name] for form in forms if form.name in done}, skipped


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Search:
    """A form with the grid it is looked at on: one increasing axis a shape, in its prior's coordinate.

    ``known`` holds the posterior at every point seen so far, None where the columns depend on each other.
    """

    form: Form
    axes: tuple[FloatArray, ...]
    known: dict[tuple[float, ...], Posterior | None]

    def points(self) -> FloatArray:
        """Every point of the grid, shape (m, q), in the coordinates of the axes."""
        if not self.axes:
            return np.empty((1, 0))
        return np.stack([axis.ravel() for axis in np.meshgrid(*self.axes, indexing="ij")], axis=-1)

    def values(self, points: FloatArray) -> FloatArray:
        """The shape parameters at points, same shape."""
        columns = [shape.value(column) for shape, column in zip(self.form.shapes, points.T, strict=True)]
        return np.stack(columns, axis=-1) if columns else points

    def log_mass(self) -> FloatArray:
        """Evidence times the share of the flat prior at every point of the grid, logarithms, shape (m,)."""
        points = self.points()
        answers = [self.known[tuple(point)] for point in points.tolist()]
        mass = np.array([-np.inf if answer is None else answer.log_evidence for answer in answers])
        for i, (axis, shape) in enumerate(zip(self.axes, self.form.shapes, strict=True)):
            # The trapezoid rule: half of the gap on either side.
            gap = np.diff(axis, prepend=axis[0], append=axis[-1])
            share = np.log((gap[1:] + gap[:-1]) / 2.0 / np.ptp(shape.axis()))
            mass += share[np.searchsorted(axis, points[:, i])]
        return mass

    def summed(self, cost: float) -> FormFit:
        """Shapes weighed over their flat prior, coefficients by theirs; each but the first has a ``cost``."""
        points = self.points()
        weight, total = normalised(self.log_mass())
        kept = np.flatnonzero(weight > _LIGHT * FINE)
        answers = (self.known[tuple(point)] for point in points[kept].tolist())
        return FormFit(
            form=self.form,
            shape=self.values(points[kept]),
            posteriors=Posterior.joined(answer for answer in answers if answer is not None),
            weight=weight[kept] / weight[kept].sum(),
            log_evidence=float(total) - (len(self.form.coefficients) - 1) * cost,
        )


def _evaluate(searches: Sequence[_Search], solver: Solver) -> None:
    """Posteriors at the points that were not seen yet, into ``known``."""
    entries: list[tuple[_Search, tuple[float, ...], FloatArray]] = []
    for search in searches:
        points = [point for point in map(tuple, search.points().tolist()) if point not in search.known]
        if not points:
            continue
        form, new = search.form, np.array(points)
        designs = form.designs(form.inputs, search.values(new))
        left = np.abs(np.diagonal(np.linalg.qr(designs, mode="r"), axis1=1, axis2=2))
        usable = np.all(np.isfinite(left) & (left > DEPENDENT * np.linalg.norm(designs, axis=1)), axis=1)
        search.known.update({point: None for point, good in zip(points, usable, strict=True) if not good})
        entries += [(search, points[i], designs[i]) for i in np.flatnonzero(usable)]
    answers = solver.posteriors([design for _, _, design in entries]) if entries else []
    for (search, point, _), answer in zip(entries, answers, strict=True):
        search.known[point] = answer


def _finer(search: _Search) -> _Search | None:
    """A grid that is finer where the probability lies, or None where this one is fine enough."""
    weight, _ = normalised(search.log_mass())
    if not search.axes or weight.max() <= FINE or weight.size >= MOST_POINTS:
        return None
    cube = weight.reshape([axis.size for axis in search.axes])
    margins = [cube.sum(axis=tuple({*range(cube.ndim)} - {i})) for i in range(cube.ndim)]
    # One axis a round, the coarsest: a product grid grows fast.
    worst = int(first_best(np.array([margin.max() for margin in margins])))
    axes = list(search.axes)
    axis, weight = axes[worst], margins[worst]
    top = int(first_best(weight))
    beside = weight[max(top - 1, 0) : top + 2]
    drop = float(np.log(weight[top] / max(beside.min(), np.finfo(float).tiny)))
    # A third of the peak's standard deviation, as a parabola through its top has it.
    parts = min(max(int(np.ceil(3.0 * np.sqrt(2.0 * drop))), 2), 16)
    some = np.flatnonzero(weight > _LIGHT)
    first, last = max(some[0] - 1, 0), min(some[-1] + 1, axis.size - 1)
    # The gaps beside heavy points, down to a share of the shape's range.
    near = (weight[:-1] > _HEAVY) | (weight[1:] > _HEAVY)
    wide = np.diff(axis) > 1e-7 * float(np.ptp(search.form.shapes[worst].axis()))
    gaps = first + np.flatnonzero((near & wide)[first:last])
    inside = [np.linspace(axis[i], axis[i + 1], parts + 1)[1:-1] for i in gaps]
    axes[worst] = np.sort(np.concatenate([axis[first : last + 1], *inside]))
    if np.array_equal(axes[worst], axis):
        return None
    return _Search(form=search.form, axes=tuple(axes), known=search.known)
