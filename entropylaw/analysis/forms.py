"""The functional forms R(H) and R(step): the law and its rivals, linear once the shape is given.

Each form R(H) is R = c − slope · g(H) with g(0) = 0, so that c is its ceiling; some have one more column. A
form of the step is R = A − D · u(s), where u falls to 0 as steps go on, so that A is the limit in steps. That
is not the reward at H = 0, unless the entropy is spent: a run that keeps its entropy has both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from entropylaw.arrays import FloatArray, IntArray

_HIGHEST_POWER = 300.0

Rows = slice | IntArray
"""Numbers of rows, or all of them."""

Inputs = Mapping[str, FloatArray]
"""Arguments of a form: ``{"entropy": H}`` or ``{"step": s}``, each of shape (n,), nats and steps."""

RATE_REACH = 6.0
"""The free rate k runs over ±RATE_REACH / (largest entropy), and always past ±2."""

RATES = 17
"""Points on the first grid of rates, and of powers."""

POWERS = (0.2, 5.0)
"""Range of the power p: below it H^p is a step at 0, above it a wall at the largest entropy."""

BEYOND_BREAK = 3
"""Evaluations that two straight lines must have on either side of their change point."""

TURN = 0.1
"""Share of the entropy's range by which it must reverse to have a turning point."""

TURN_NOISE = 6.0
"""The same in standard deviations of the entropy's noise, estimated from its second differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A parameter in which a form is not linear.

    ``low`` and ``high`` bound it, with a prior that is flat between them, in the logarithm where ``log``.
    ``points`` is the size of its first grid.
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
    name, formula, inputs
        Key, symbols, and arguments; the first is ``"entropy"`` or ``"step"``.
    coefficients, shapes
        Names of the p linear coefficients, the first the ceiling (or the limit in steps), and the q
        nonlinear parameters, for most none.
    design
        ``design(inputs, shape)``: shape (..., n, p), for ``shape`` of shape (..., q).
    """

    name: str
    formula: str
    inputs: Inputs
    coefficients: tuple[str, ...]
    shapes: tuple[Shape, ...]
    design: Callable[[Inputs, FloatArray], FloatArray]

    def designs(self, inputs: Inputs, shape: FloatArray) -> FloatArray:
        """Design matrices (m, n, p) for m shapes, ``shape`` being (m, q)."""
        one = self.design(inputs, shape)
        return np.broadcast_to(one, (len(shape), *one.shape[-2:]))

    def at(self, rows: Rows) -> Inputs:
        """Inputs at some of the evaluations."""
        return {name: each[rows] for name, each in self.inputs.items()}

    @property
    def variable(self) -> str:
        """``"entropy"`` or ``"step"``."""
        return next(iter(self.inputs))

    @property
    def parameters(self) -> int:
        """Number of free parameters, linear or not."""
        return len(self.coefficients) + len(self.shapes)

    def onward(self, values: FloatArray) -> Inputs:
        """Inputs at other values (shape (m,)) of the variable, the others as at the last evaluation."""
        first, *others = self.inputs
        return {first: values} | {name: np.full_like(values, self.inputs[name][-1]) for name in others}

    def ceiling_row(self, shape: FloatArray) -> FloatArray:
        """Rows (m, 1, p) of the reward at H = 0, or of the limit in steps, for ``shape`` of shape (m, q)."""
        if self.variable == "entropy":
            return self.designs(self.onward(np.zeros(1)), shape)
        return np.tile(np.eye(1, len(self.coefficients)), (len(shape), 1, 1))


def beside(form: Form, term: FloatArray) -> Form:
    """The form with one more column, ``term`` (n,), as its last.

    Its ceiling and its curve are those at the term's last value: the present stage of the run.
    """
    stage = term - term[-1]

    def with_term(inputs: Inputs, shape: FloatArray) -> FloatArray:
        own = form.design(inputs, shape)
        last = np.broadcast_to(inputs["term"][:, None], (*own.shape[:-1], 1))
        return np.concatenate([own, last], axis=-1)

    return replace(
        form,
        inputs={**form.inputs, "term": stage},
        coefficients=(*form.coefficients, "term"),
        design=with_term,
    )


def linear(entropy: FloatArray) -> tuple[Inputs, tuple[Shape, ...]]:
    """Inputs and shapes of a form of the entropy alone, linear in all its coefficients."""
    return {"entropy": entropy}, ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormKind:
    """An entry of :data:`FORMS`: the description of a form for any run.

    Attributes
    ----------
    label, formula, coefficients, design
        The form in words, for a sentence; the others are as in :class:`Form`.
    prepare
        ``prepare(entropy)``: inputs and shapes for a run with this smoothed entropy, or the reason why the
        form cannot be fitted to the run.
    core
        Whether it is in every fit; the others are fitted on request.
    nested
        Name of each form that is a special case of it → ``columns(inputs)``: that form's column, and the one
        whose coefficient is 0 in the special case, for ``rivals.nested_test``. A form with the law among
        these describes a run at least as well as the law.
    law_at
        Value of its one shape at which it is the law; a fit then estimates that shape as the rival's rate.
    colour
        Name of its line's colour, of the palette of reports, in the figure of the law; None for a form that
        is not drawn.
    """

    label: str
    formula: str
    coefficients: tuple[str, ...]
    design: Callable[[Inputs, FloatArray], FloatArray]
    prepare: Callable[[FloatArray], tuple[Inputs, tuple[Shape, ...]] | str] = linear
    core: bool = False
    nested: Mapping[str, Callable[[Inputs], tuple[FloatArray, FloatArray]]] = field(default_factory=dict)
    law_at: float | None = None
    colour: str | None = None


def law_column(entropy: FloatArray) -> FloatArray:
    """g(H) = exp(H) − 1, of the law R = −a·exp(H) + b with c = b − a."""
    return np.expm1(entropy)


def rate_column(entropy: FloatArray, rate: float | FloatArray) -> FloatArray:
    """g(H) = (exp(kH) − 1)/k, which is the law at k = 1 and the line H at k = 0; rates broadcast.

    Far above the fitted entropies kH is held at :data:`_HIGHEST_POWER`: the square is a number still.
    """
    k = np.where(rate == 0, 1.0, rate)
    return np.where(rate == 0, entropy, np.expm1(np.minimum(k * entropy, _HIGHEST_POWER)) / k)


INDEPENDENT = 1e-6
"""Share of a column's length that must be new for :func:`independent_columns` to keep it."""


def independent_columns(columns: list[FloatArray]) -> FloatArray:
    """Columns (n, k) that are not combinations of those before."""
    kept = [columns[0]]
    for column in columns[1:]:
        ortho = np.linalg.qr(np.column_stack(kept))[0]
        rest = column - ortho @ (ortho.T @ column)
        if np.linalg.norm(rest) > INDEPENDENT * np.linalg.norm(column):
            kept.append(rest)
    return np.column_stack(kept)


def design(*columns: FloatArray) -> FloatArray:
    """Design matrix of c − slope·g − …, shape (..., n, p), from p − 1 columns g of shape (..., n)."""
    x = np.ones((*np.broadcast(*columns).shape, len(columns) + 1))
    for i, column in enumerate(columns, start=1):
        x[..., i] = -column
    return x


def entropy_forms(entropy: FloatArray) -> tuple[tuple[Form, ...], dict[str, str]]:
    """Every form R(H) that can be fitted to a smoothed entropy (n,), nats, law first; form → why not another.

    *Branches*: reward changes by −a·d exp(H) where entropy falls and by −(a + d)·d exp(H) where it rises,
    so that a run whose entropy rises again need not lose its reward; the law is d = 0. Its ceiling is
    the reward after a fall from the last evaluation to H = 0. The rise is summed between turning points of at
    least :data:`TURN` of its range.
    """
    forms, skipped = [], {}
    for name, kind in FORMS.items():
        prepared = kind.prepare(entropy)
        if isinstance(prepared, str):
            skipped[name] = prepared
            continue
        inputs, shapes = prepared
        forms.append(
            Form(
                name=name,
                formula=kind.formula,
                inputs=inputs,
                coefficients=kind.coefficients,
                shapes=shapes,
                design=kind.design,
            )
        )
    return tuple(forms), skipped


def form_label(name: str) -> str:
    """A form in words; a stored document may hold one that this version does not know."""
    return FORMS[name].label if name in FORMS else name


def nests_law(name: str) -> bool:
    """Whether the law is a special case of a form."""
    return name in FORMS and "law" in FORMS[name].nested


def free_rate(entropy: FloatArray) -> tuple[Inputs, tuple[Shape, ...]]:
    """The rate k runs over a range that shrinks with the largest entropy, so that exp(kH) stays in bounds."""
    reach = max(RATE_REACH / float(np.max(np.abs(entropy))), 2.0)
    return {"entropy": entropy}, (Shape(name="k", low=-reach, high=reach, points=RATES),)


def free_power(entropy: FloatArray) -> tuple[Inputs, tuple[Shape, ...]] | str:
    """The power p runs over :data:`POWERS`; a negative entropy has none."""
    if entropy.min() < 0:
        return f"entropy reaches {entropy.min():.3g}, and a power of it needs H ≥ 0"
    return {"entropy": entropy}, (Shape(name="p", low=POWERS[0], high=POWERS[1], points=RATES, log=True),)


def free_break(entropy: FloatArray) -> tuple[Inputs, tuple[Shape, ...]] | str:
    """The change point has at least :data:`BEYOND_BREAK` evaluations on either side."""
    values = np.sort(entropy)
    low, high = values[min(BEYOND_BREAK, values.size) - 1], values[-min(BEYOND_BREAK, values.size)]
    if not low < high:
        return f"a break needs {BEYOND_BREAK} evaluations on either side"
    return {"entropy": entropy}, (Shape(name="bend", low=float(low), high=float(high), points=15),)


def two_branches(entropy: FloatArray) -> tuple[Inputs, tuple[Shape, ...]] | str:
    """The entropy, and its rise so far as a second input."""
    rise = risen(entropy)
    if rise is None:
        return f"entropy does not both fall and rise by {TURN:.0%} of its range"
    return {"entropy": entropy, "rise": rise}, ()


FORMS = {
    "law": FormKind(
        label="the law",
        formula="c − a(exp(H) − 1)",
        coefficients=("ceiling", "a"),
        design=lambda x, _: design(law_column(x["entropy"])),
        core=True,
    ),
    "line": FormKind(
        label="a straight line in H",
        formula="c − a·H",
        coefficients=("ceiling", "a"),
        design=lambda x, _: design(x["entropy"]),
        core=True,
        colour="vermilion",
    ),
    "constant": FormKind(
        label="a constant",
        formula="c",
        coefficients=("ceiling",),
        design=lambda x, _: np.ones((x["entropy"].size, 1)),
        core=True,
        colour="brown",
    ),
    "rate": FormKind(
        label="the form with a free rate k",
        formula="c − a(exp(kH) − 1)",
        coefficients=("ceiling", "slope"),
        design=lambda x, shape: design(rate_column(x["entropy"], shape[..., 0, None])),
        prepare=free_rate,
        core=True,
        # The derivative by k, at the law's k = 1 and at the line's k = 0.
        nested={
            "law": lambda x: (law_column(x["entropy"]), x["entropy"] * np.exp(x["entropy"])),
            "line": lambda x: (x["entropy"], x["entropy"] ** 2),
        },
        law_at=1.0,
        colour="green",
    ),
    "quadratic": FormKind(
        label="a parabola in H",
        formula="c − a·H − d·H²",
        coefficients=("ceiling", "a", "d"),
        design=lambda x, _: design(x["entropy"], x["entropy"] ** 2),
    ),
    "power": FormKind(
        label="a power of H",
        formula="c − a·H^p",
        coefficients=("ceiling", "a"),
        design=lambda x, shape: design(x["entropy"] ** shape[..., 0, None]),
        prepare=free_power,
        core=True,
        colour="purple",
    ),
    "square": FormKind(
        label="the square of H",
        formula="c − a·H²",
        coefficients=("ceiling", "a"),
        design=lambda x, _: design(x["entropy"] ** 2),
        core=True,
        colour="muted",
    ),
    "hinge": FormKind(
        label="two straight lines in H",
        formula="c − a·H − d·max(H − H₀, 0)",
        coefficients=("ceiling", "a", "d"),
        design=lambda x, shape: design(x["entropy"], np.maximum(x["entropy"] - shape[..., 0, None], 0.0)),
        prepare=free_break,
    ),
    "branches": FormKind(
        label="the law with a second slope while entropy rises",
        formula="c − a(exp(H) − 1) − d·rise(exp(H))",
        coefficients=("ceiling", "a", "d"),
        design=lambda x, _: design(law_column(x["entropy"]), x["rise"]),
        prepare=two_branches,
        core=True,
        colour="muted",
        nested={"law": lambda x: (law_column(x["entropy"]), x["rise"])},
    ),
}
"""The registry of the forms R(H), by name."""


def risen(entropy: FloatArray) -> FloatArray | None:
    """Rise of exp(H) so far, summed over the rising branches, shape (n,); None where H never turns."""
    corners = turning_points(entropy)
    direction = np.sign(np.diff(entropy[corners]))
    if not (np.any(direction > 0) and np.any(direction < 0)):
        return None
    rising = np.repeat(direction > 0, np.diff(corners))
    return np.append(0.0, np.cumsum(np.where(rising, np.diff(law_column(entropy)), 0.0)))


def turning_points(entropy: FloatArray) -> list[int]:
    """Numbers of the evaluations at the turning points of the entropy, with the first and the last."""
    least = TURN * float(np.ptp(entropy))
    if entropy.size > 2:
        least = max(least, TURN_NOISE * float(np.std(np.diff(entropy, n=2))) / np.sqrt(6.0))
    # Since the last turn: the number of the highest evaluation (1) and of the lowest (-1).
    corners, extreme, direction = [0], {1: 0, -1: 0}, 0
    # Between two local extremes, the first of equal values, nothing turns.
    moves = np.diff(entropy)
    some = np.flatnonzero(moves)
    inner = some[:-1][(moves[some[1:]] > 0) != (moves[some[:-1]] > 0)] + 1
    for i in [0, *inner.tolist(), entropy.size - 1]:
        value = entropy[i]
        extreme = {side: i if side * (value - entropy[at]) > 0 else at for side, at in extreme.items()}
        for side, at in extreme.items():
            if direction != -side and side * (entropy[at] - value) >= least:
                # The evaluations before the first move of that size are part of it.
                corners += [at] if direction else []
                direction, extreme[-side] = -side, i
                break
    if corners[-1] < entropy.size - 1:
        corners.append(entropy.size - 1)
    return corners


FORMULAS = {
    "scalerl": "A − D/(1 + (s/S)^B)",
    "step_exponential": "A − D·exp(−(s − s₁)/τ)",
    "step_power": "A − D·(t/t₁)^(−B)",
    "step_logistic": "A − D/(1 + exp((s − m)/w))",
}


def step_forms(step: FloatArray) -> tuple[tuple[Form, ...], dict[str, str]]:
    """Every form R(step) for these steps (n,), strictly increasing, and form → why not another.

    - ``scalerl``: R₀ + (A − R₀)/(1 + (S/s)^B) of Khatri et al. 2025, arXiv:2510.13786, in steps instead of
      GPU hours and with D = A − R₀. They fix A and S on a grid, fit B by least squares and give no interval
      for B; here all are integrated out.
    - ``step_exponential``: saturation at one time constant, counted from the first evaluation.
    - ``step_power``: t is the step, or, where the run begins at step 0 or below, the step counted from one
      median spacing before its first evaluation; t₁ belongs to the first evaluation.
    - ``step_logistic``: symmetric about the midpoint m.
    """
    from scipy.special import expit  # reports import this module, and need none of scipy

    first, last = float(step[0]), float(step[-1])
    span, spacing = last - first, float(np.median(np.diff(step)))
    shift = 0.0 if first > 0 else spacing - first

    def sigmoid(step: FloatArray, middle: FloatArray, steepness: FloatArray) -> FloatArray:
        # 1/(1 + (s/S)^B), through logarithms: no power of a step overflows.
        with np.errstate(divide="ignore"):
            distance = np.log(step) - np.log(middle)
        return np.asarray(expit(-steepness * distance))

    # Of each form the remaining share u of its drop at a step, and its shapes.
    remaining: dict[str, tuple[Callable[..., FloatArray], *tuple[Shape, ...]]] = {
        "step_exponential": (
            lambda s, tau: np.exp(-(s - first) / tau),
            Shape(name="tau", low=0.5 * spacing, high=5.0 * span, points=25, log=True),
        ),
        "step_power": (
            lambda s, power: ((s + shift) / (first + shift)) ** -power,
            Shape(name="B", low=0.1, high=4.0, points=21, log=True),
        ),
        "step_logistic": (
            lambda s, middle, width: expit(-(s - middle) / width),
            Shape(name="midpoint", low=first - 0.5 * span, high=last + 0.5 * span, points=17),
            Shape(name="width", low=max(0.5 * spacing, 0.01 * span), high=span, points=11, log=True),
        ),
        "scalerl": (
            sigmoid,
            Shape(name="midpoint", low=max(first, spacing), high=3.0 * last, points=17, log=True),
            Shape(name="B", low=0.5, high=8.0, points=11, log=True),
        ),
    }
    skipped = {}
    if first < 0:
        del remaining["scalerl"]
        skipped["scalerl"] = f"steps begin at {first:g}, and the sigmoid counts from 0"

    def design_of(u: Callable[..., FloatArray]) -> Callable[[Inputs, FloatArray], FloatArray]:
        # One number per shape, broadcast against the steps.
        return lambda x, shape: design(u(x["step"], *np.moveaxis(shape, -1, 0)[..., None]))

    forms = (
        Form(
            name=name,
            formula=FORMULAS[name],
            inputs={"step": step},
            coefficients=("limit", "drop"),
            shapes=tuple(shapes),
            design=design_of(u),
        )
        for name, (u, *shapes) in remaining.items()
    )
    return tuple(forms), skipped


def all_forms(entropy: FloatArray, step: FloatArray) -> tuple[list[Form], dict[str, str]]:
    """Every form, of the entropy and of the step, that can be fitted to a run, and why not the others."""
    by_entropy, reasons = entropy_forms(entropy)
    by_step, more = step_forms(step)
    return [*by_entropy, *by_step], reasons | more
