"""The functional forms R(H): the law and its rivals, linear in the coefficients once the shape is given.

Each form is R = c − slope · g(H) with g(0) = 0, so that c is its ceiling; some have one more column.
:class:`Form` describes any form, of the entropy or of the step, and :func:`fit_each` fits it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.posterior import Posterior
from entropylaw.engine.span import Solver

Inputs = Mapping[str, FloatArray]
"""What a form is a function of: ``{"entropy": H}`` or ``{"step": s}``, each of shape (n,), nats and steps."""

FORMULAS = {
    "law": "c − a(exp(H) − 1)",
    "line": "c − a·H",
    "rate": "c − a(exp(kH) − 1)",
    "constant": "c",
    "power": "c − a·H^p",
    "quadratic": "c − a·H − d·H²",
    "hinge": "c − a·H − d·max(H − H₀, 0)",
    "branches": "c − a(exp(H) − 1) − d·rise(exp(H))",
}

CORE = ("law", "line", "constant", "rate", "branches")
"""The forms of every fit; the others are fitted where they are asked for."""

RATE_REACH = 6.0
"""The free rate k runs over ±RATE_REACH / (largest entropy), and always past ±2."""

RATES = 17
"""Points on the first grid of rates, and of powers."""

POWERS = (0.2, 5.0)
"""Range of the power p: below it H^p is a step at 0, above it a wall at the largest entropy."""

BEYOND_BREAK = 3
"""Evaluations that a hinge must have on either side of its break."""

TURN = 0.1
"""Share of the entropy's range by which it must come back for a turn to count."""

TURN_NOISE = 6.0
"""The same in standard deviations of the entropy's noise, judged by its second differences."""

FINE = 0.15
"""Largest probability that one point of a grid of shapes may hold; above it the grid is made finer. A normal
peak is then summed at three eighths of its standard deviation, in two dimensions at one."""

FINEST = 1e-7
"""Share of a shape's range below which nothing is refined any more."""

MOST_POINTS = 3000
"""Points of a grid of shapes from which it is refined no more."""

_MOST_PARTS = 16
"""Parts that a gap is cut into at once."""

_HEAVY, _LIGHT = 0.02, 1e-8
"""Probability on an axis from which the gaps beside a point are split, and below which it is left out."""

DEPENDENT = 1e-9
"""Share of a column's norm that must be left when the columns before it are taken out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A parameter in which a form is not linear.

    ``low`` and ``high`` bound it, with a prior that is flat between them, in the logarithm where ``log``.
    ``points`` is the size of its grid at every refinement.
    """

    name: str
    low: float
    high: float
    points: int
    log: bool = False

    def axis(self) -> FloatArray:
        """First grid, shape (points,), in the coordinate in which the prior is flat."""
        ends = np.log([self.low, self.high]) if self.log else np.array([self.low, self.high])
        return np.linspace(ends[0], ends[1], self.points)

    def value(self, axis: FloatArray) -> FloatArray:
        """The parameter from that coordinate, same shape."""
        return np.exp(axis) if self.log else axis


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Form:
    """A form bound to one run.

    Attributes
    ----------
    name, formula
        Key and symbols.
    inputs
        What it is a function of, at the evaluations; the first is ``"entropy"`` or ``"step"``.
    coefficients
        Names of the p linear coefficients; the first is the ceiling (or the limit in steps).
    shapes
        The parameters it is not linear in; empty for most.
    design
        ``design(inputs, shape)``: shape (n, p), with ``shape`` one number for each of ``shapes``.
    """

    name: str
    formula: str
    inputs: Inputs
    coefficients: tuple[str, ...]
    shapes: tuple[Shape, ...]
    design: Callable[[Inputs, FloatArray], FloatArray]

    @property
    def variable(self) -> str:
        """``"entropy"`` or ``"step"``."""
        return next(iter(self.inputs))

    @property
    def parameters(self) -> int:
        """Number of free parameters, linear or not."""
        return len(self.coefficients) + len(self.shapes)

    def onward(self, values: FloatArray) -> Inputs:
        """Inputs at other values (shape (m,)) of the variable, all else as at the last evaluation."""
        first, *others = self.inputs
        return {first: values} | {name: np.full_like(values, self.inputs[name][-1]) for name in others}

    def ceiling_row(self, shape: FloatArray) -> FloatArray:
        """Row of shape (1, p) that gives the reward at H = 0, or the limit in steps."""
        if self.variable == "entropy":
            return self.design(self.onward(np.zeros(1)), shape)
        return np.eye(1, len(self.coefficients))


def law_column(entropy: FloatArray) -> FloatArray:
    """g(H) = exp(H) − 1, of the law R = −a·exp(H) + b with c = b − a."""
    return np.expm1(entropy)


def rate_column(entropy: FloatArray, rate: float) -> FloatArray:
    """g(H) = (exp(kH) − 1)/k, which is the law at k = 1 and the line H at k = 0."""
    return entropy if rate == 0 else np.expm1(rate * entropy) / rate


def design(column: FloatArray) -> FloatArray:
    """Design matrix of c − slope·g, shape (..., n, 2), from g of shape (..., n)."""
    return np.stack([np.ones_like(column), -column], axis=-1)


def stacked(*columns: FloatArray) -> FloatArray:
    """Design matrix of c − slope·g − …, shape (n, p), from p − 1 columns of shape (n,)."""
    x = np.ones((columns[0].size, len(columns) + 1))
    for i, column in enumerate(columns, start=1):
        x[:, i] = -column
    return x


def entropy_forms(entropy: FloatArray) -> tuple[tuple[Form, ...], dict[str, str]]:
    """Every form R(H) that this run can show, and why the others cannot.

    Parameters
    ----------
    entropy
        Shape (n,), nats: the course of the entropy, in the order of the steps.

    Returns
    -------
    forms, skipped
        The forms, the law first, and form → reason.

    Notes
    -----
    *Branches*: reward changes by −a·d exp(H) where entropy falls and by −(a + d)·d exp(H) where it rises,
    so that a run whose entropy comes back need not give its reward back; the law is d = 0. Its ceiling is
    the reward that falling to H = 0 from the last evaluation would bring. The rise is counted between
    turns of at least :data:`TURN` of its range.
    """
    inputs = {"entropy": entropy}
    forms = [
        _form("law", inputs, ("ceiling", "a"), lambda x, _: stacked(law_column(x["entropy"]))),
        _form("line", inputs, ("ceiling", "a"), lambda x, _: stacked(x["entropy"])),
        _form("constant", inputs, ("ceiling",), lambda x, _: np.ones((x["entropy"].size, 1))),
        _form(
            "rate",
            inputs,
            ("ceiling", "slope"),
            lambda x, shape: stacked(rate_column(x["entropy"], float(shape[0]))),
            _rate_shape(entropy),
        ),
        _form(
            "quadratic", inputs, ("ceiling", "a", "d"), lambda x, _: stacked(x["entropy"], x["entropy"] ** 2)
        ),
    ]
    skipped: dict[str, str] = {}
    if entropy.min() >= 0:
        power = Shape(name="p", low=POWERS[0], high=POWERS[1], points=RATES, log=True)
        forms.append(
            _form("power", inputs, ("ceiling", "a"), lambda x, s: stacked(x["entropy"] ** s[0]), power)
        )
    else:
        skipped["power"] = f"entropy reaches {entropy.min():.3g}, and a power of it needs H ≥ 0"
    _add_hinge(forms, skipped, entropy)
    _add_branches(forms, skipped, entropy)
    return tuple(forms), skipped


def _form(
    name: str,
    inputs: Inputs,
    coefficients: tuple[str, ...],
    function: Callable[[Inputs, FloatArray], FloatArray],
    *shapes: Shape,
) -> Form:
    return Form(
        name=name,
        formula=FORMULAS[name],
        inputs=inputs,
        coefficients=coefficients,
        shapes=shapes,
        design=function,
    )


def _rate_shape(entropy: FloatArray) -> Shape:
    """Range of the free rate for these entropies."""
    reach = max(RATE_REACH / float(np.max(np.abs(entropy))), 2.0)
    return Shape(name="k", low=-reach, high=reach, points=RATES)


def _add_hinge(forms: list[Form], skipped: dict[str, str], entropy: FloatArray) -> None:
    """Two straight lines in H that meet at H₀, wherever enough evaluations lie on either side."""
    values = np.sort(entropy)
    low, high = values[min(BEYOND_BREAK, values.size) - 1], values[-min(BEYOND_BREAK, values.size)]
    if not low < high:
        skipped["hinge"] = f"a break needs {BEYOND_BREAK} evaluations on either side"
        return
    place = Shape(name="bend", low=float(low), high=float(high), points=15)
    forms.append(
        _form(
            "hinge",
            {"entropy": entropy},
            ("ceiling", "a", "d"),
            lambda x, s: stacked(x["entropy"], np.maximum(x["entropy"] - s[0], 0.0)),
            place,
        )
    )


def _add_branches(forms: list[Form], skipped: dict[str, str], entropy: FloatArray) -> None:
    """The law with another slope where entropy rises."""
    rise = risen(entropy)
    if rise is None:
        skipped["branches"] = f"entropy does not both fall and rise by {TURN:.0%} of its range"
        return
    forms.append(
        _form(
            "branches",
            {"entropy": entropy, "rise": rise},
            ("ceiling", "a", "d"),
            lambda x, _: stacked(law_column(x["entropy"]), x["rise"]),
        )
    )


def risen(entropy: FloatArray) -> FloatArray | None:
    """Rise of exp(H) so far, summed over the rising branches, shape (n,); None where H never turns."""
    corners = _corners(entropy)
    direction = np.sign(np.diff(entropy[corners]))
    if not (np.any(direction > 0) and np.any(direction < 0)):
        return None
    level, rise = law_column(entropy), np.zeros(entropy.size)
    for start, end, sign in zip(corners, corners[1:], direction, strict=False):
        gain = level[start : end + 1] - level[start] if sign > 0 else 0.0
        rise[start : end + 1] = rise[start] + gain
    return rise


def _corners(entropy: FloatArray) -> list[int]:
    """Numbers of the evaluations at which the entropy turns, with the first and the last."""
    least = TURN * float(np.ptp(entropy))
    if entropy.size > 2:
        least = max(least, TURN_NOISE * float(np.std(np.diff(entropy, n=2))) / np.sqrt(6.0))
    corners, high, low, direction = [0], 0, 0, 0
    for i in range(1, entropy.size):
        high = i if entropy[i] > entropy[high] else high
        low = i if entropy[i] < entropy[low] else low
        if direction >= 0 and entropy[high] - entropy[i] >= least:
            # What came before the first move of that size belongs to it.
            corners += [high] if direction else []
            direction, low = -1, i
        elif direction <= 0 and entropy[i] - entropy[low] >= least:
            corners += [low] if direction else []
            direction, high = 1, i
    if corners[-1] < entropy.size - 1:
        corners.append(entropy.size - 1)
    return corners


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormFit:
    """A form's posterior on one run.

    Attributes
    ----------
    form
        What was fitted.
    shape
        Shape (m, q): the grid over the q parameters in which the form is not linear; (1, 0) without any.
    posteriors, weight
        One posterior for each of the m, and their probabilities, shape (m,).
    log_evidence
        Log marginal likelihood with the prior of ``rivals.fit_forms``, all shapes summed.
    """

    form: Form
    shape: FloatArray
    posteriors: tuple[Posterior, ...]
    weight: FloatArray
    log_evidence: float

    @property
    def best(self) -> int:
        """Number of the heaviest shape."""
        return int(np.argmax(self.weight))


def fit_each(
    forms: Sequence[Form], step: FloatArray, reward: FloatArray, grid: Grid, floor: FloatArray | None
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
    searches: list[_Search] = []
    done: dict[str, FormFit] = {}
    skipped: dict[str, str] = {}
    for form in forms:
        needed = form.parameters + 2
        if reward.size < needed:
            skipped[form.name] = f"{reward.size} evaluations, and {needed} are needed"
        else:
            searches.append(_Search(form=form, axes=tuple(shape.axis() for shape in form.shapes), known={}))
    solver = Solver(step, reward, grid, floor)
    while searches:
        _evaluate(searches, solver)
        unfinished = []
        for search in searches:
            if all(posterior is None for posterior in search.known.values()):
                skipped[search.form.name] = "its columns cannot be told apart on this run"
            elif (finer := _finer(search)) is not None:
                unfinished.append(finer)
            else:
                done[search.form.name] = _summed(search, reward)
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
        if len(self.axes) == 1:
            return self.axes[0][:, None]
        return np.stack([axis.ravel() for axis in np.meshgrid(*self.axes, indexing="ij")], axis=-1)

    def values(self, points: FloatArray) -> FloatArray:
        """The shape parameters at points, same shape."""
        columns = [shape.value(points[:, i]) for i, shape in enumerate(self.form.shapes)]
        return np.stack(columns, axis=-1) if columns else points

    def log_mass(self) -> FloatArray:
        """Evidence times the share of the flat prior at every point of the grid, logarithms, shape (m,)."""
        points = self.points()
        answers = [self.known[tuple(point)] for point in points.tolist()]
        mass = np.array([-np.inf if answer is None else answer.log_evidence for answer in answers])
        for i, (axis, shape) in enumerate(zip(self.axes, self.form.shapes, strict=True)):
            share = np.log(_trapezoid(axis) / np.ptp(shape.axis()))
            mass += share[np.searchsorted(axis, points[:, i])]
        return mass


def _evaluate(searches: Sequence[_Search], solver: Solver) -> None:
    """Posteriors at the points that were not seen yet, into ``known``."""
    entries: list[tuple[_Search, tuple[float, ...], FloatArray]] = []
    for search in searches:
        points = [point for point in map(tuple, search.points().tolist()) if point not in search.known]
        if not points:
            continue
        form, new = search.form, np.array(points)
        designs = np.array([form.design(form.inputs, value) for value in search.values(new)])
        left = np.abs(np.diagonal(np.linalg.qr(designs, mode="r"), axis1=1, axis2=2))
        usable = np.all(np.isfinite(left) & (left > DEPENDENT * np.linalg.norm(designs, axis=1)), axis=1)
        search.known.update({point: None for point, good in zip(points, usable, strict=True) if not good})
        entries += [(search, points[i], designs[i]) for i in np.flatnonzero(usable)]
    answers = solver.posteriors([design for _, _, design in entries]) if entries else []
    for (search, point, _), answer in zip(entries, answers, strict=True):
        search.known[point] = answer


def _finer(search: _Search) -> _Search | None:
    """A grid that is finer where the probability lies, or None where this one is fine enough."""
    mass = search.log_mass()
    weight = np.exp(mass - log_sum(mass))
    if not search.axes or weight.max() <= FINE or weight.size >= MOST_POINTS:
        return None
    cube = weight.reshape([axis.size for axis in search.axes])
    margins = [
        cube.sum(axis=tuple(i for i in range(cube.ndim) if i != number)) for number in range(cube.ndim)
    ]
    # One axis a round, the coarsest: a product grid grows fast.
    worst = int(np.argmax([margin.max() for margin in margins]))
    axes = list(search.axes)
    finest = FINEST * float(np.ptp(search.form.shapes[worst].axis()))
    axes[worst] = _split(axes[worst], margins[worst], finest)
    if np.array_equal(axes[worst], search.axes[worst]):
        return None
    return _Search(form=search.form, axes=tuple(axes), known=search.known)


def _split(axis: FloatArray, weight: FloatArray, finest: float) -> FloatArray:
    """The axis without its weightless ends, and with the gaps beside its heavy points cut into parts.

    The parts are a third of the peak's standard deviation, as a parabola through its top has it.
    """
    top = int(np.argmax(weight))
    beside = weight[max(top - 1, 0) : top + 2]
    drop = float(np.log(weight[top] / max(beside.min(), np.finfo(float).tiny)))
    parts = min(max(int(np.ceil(3.0 * np.sqrt(2.0 * drop))), 2), _MOST_PARTS)
    some = np.flatnonzero(weight > _LIGHT)
    first, last = max(some[0] - 1, 0), min(some[-1] + 1, axis.size - 1)
    heavy = weight > _HEAVY
    gaps = [i for i in range(first, last) if (heavy[i] or heavy[i + 1]) and axis[i + 1] - axis[i] > finest]
    inside = [np.linspace(axis[i], axis[i + 1], parts + 1)[1:-1] for i in gaps]
    return np.sort(np.concatenate([axis[first : last + 1], *inside]))


def _summed(search: _Search, reward: FloatArray) -> FormFit:
    """The form's fit: shapes weighed by the trapezoid rule over their flat prior, slopes by theirs."""
    points, mass = search.points(), search.log_mass()
    total = log_sum(mass)
    weight = np.exp(mass - total)
    kept = np.flatnonzero(weight > _LIGHT * FINE)
    answers = [search.known[tuple(point)] for point in points[kept].tolist()]
    cost = 0.5 * np.log(reward.size) + np.log(2.0 * float(np.std(reward)))
    return FormFit(
        form=search.form,
        shape=search.values(points[kept]),
        posteriors=tuple(answer for answer in answers if answer is not None),
        weight=weight[kept] / weight[kept].sum(),
        log_evidence=total - (len(search.form.coefficients) - 1) * cost,
    )


def log_sum(values: FloatArray) -> float:
    """Logarithm of the sum of exponentials; some value must be finite."""
    top = float(values.max())
    return top + float(np.log(np.exp(values - top).sum()))


def _trapezoid(points: FloatArray) -> FloatArray:
    """Weights of the trapezoid rule at increasing points."""
    gap = np.diff(points)
    return np.asarray((np.append(gap, 0.0) + np.append(0.0, gap)) / 2.0)
