"""The functional forms R(H) and R(step) with their names, and as models for lmfit.

Each form R(H) is R = c − slope · g(H) with g(0) = 0, so that c is its ceiling; some have one more column. A
form of the step is R = A − D · u(s), where u falls to 0 as steps go on, so that A is the limit in steps. That
is not the reward at H = 0, unless the entropy is spent: a run that keeps its entropy has both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from entropylaw.arrays import FloatArray

_HIGHEST_POWER = 300.0

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A parameter in which a form is not linear.

    ``low`` and ``high`` bound it. ``points`` is the size of the grid on which a fit begins, even in the
    logarithm where ``log``.
    """

    name: str
    low: float
    high: float
    points: int
    log: bool = False

    def grid(self) -> FloatArray:
        """Values from which a fit begins, shape (points,)."""
        if self.log:
            return np.geomspace(self.low, self.high, self.points)
        return np.linspace(self.low, self.high, self.points)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Form:
    """A form bound to one run.

    Attributes
    ----------
    name, formula, inputs
        Key, symbols, and arguments: ``"entropy"`` or ``"step"``.
    coefficients, shapes
        Names of the p linear coefficients, the first the ceiling (or the limit in steps), and the q
        nonlinear parameters, for most none.
    design
        ``design(inputs, shape)``: shape (n, p), for ``shape`` of shape (q,).
    """

    name: str
    formula: str
    inputs: Inputs
    coefficients: tuple[str, ...]
    shapes: tuple[Shape, ...]
    design: Callable[[Inputs, FloatArray], FloatArray]


def linear(entropy: FloatArray) -> tuple[Shape, ...]:
    """Shapes of a form that has none."""
    del entropy
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FormKind:
    """What a form R(H) is, whatever the run: one entry of :data:`FORMS`.

    Attributes
    ----------
    label, formula, coefficients
        The form in words, for a sentence; in symbols; and the names of its linear coefficients.
    shape
        Name of the parameter in which it is not linear, for the averages.
    colour
        Name of its line's colour, of the palette of reports, in the figure of the law; None for a form that
        is not drawn.
    design, prepare
        As in :class:`Form`; and the shapes for a run with this smoothed entropy, or the reason why the form
        cannot be fitted to it. A form without a design is no model for lmfit.
    """

    label: str
    formula: str
    coefficients: tuple[str, ...]
    shape: str | None = None
    colour: str | None = None
    design: Callable[[Inputs, FloatArray], FloatArray] | None = None
    prepare: Callable[[FloatArray], tuple[Shape, ...] | str] = linear

    @property
    def parameters(self) -> int:
        """Number of free parameters, linear or not."""
        return len(self.coefficients) + (self.shape is not None)


def law_column(entropy: FloatArray) -> FloatArray:
    """g(H) = exp(H) − 1, of the law R = −a·exp(H) + b with c = b − a."""
    return np.expm1(entropy)


def rate_column(entropy: FloatArray, rate: float) -> FloatArray:
    """g(H) = (exp(kH) − 1)/k, which is the law at k = 1 and the line H at k = 0.

    Far above the fitted entropies kH is held at :data:`_HIGHEST_POWER`: the square is a number still.
    """
    return entropy if rate == 0 else np.expm1(np.minimum(rate * entropy, _HIGHEST_POWER)) / rate


def design(*columns: FloatArray) -> FloatArray:
    """Design matrix of c − slope·g − …, shape (..., n, p), from p − 1 columns g of shape (..., n)."""
    x = np.ones((*np.broadcast(*columns).shape, len(columns) + 1))
    for i, column in enumerate(columns, start=1):
        x[..., i] = -column
    return x


def form_label(name: str) -> str:
    """A form in words; a stored document may hold one that this version does not know."""
    return FORMS[name].label if name in FORMS else name


def form_shape(name: str) -> str | None:
    """The name of the parameter in which a form is not linear."""
    return FORMS[name].shape


def free_rate(entropy: FloatArray) -> tuple[Shape, ...]:
    """The rate k runs over a range that shrinks with the largest entropy, so that exp(kH) stays in bounds."""
    reach = max(RATE_REACH / float(np.max(np.abs(entropy))), 2.0)
    return (Shape(name="k", low=-reach, high=reach, points=RATES),)


def free_power(entropy: FloatArray) -> tuple[Shape, ...] | str:
    """The power p runs over :data:`POWERS`; a negative entropy has none."""
    if entropy.min() < 0:
        return f"entropy reaches {entropy.min():.3g}, and a power of it needs H ≥ 0"
    return (Shape(name="p", low=POWERS[0], high=POWERS[1], points=RATES, log=True),)


def free_break(entropy: FloatArray) -> tuple[Shape, ...] | str:
    """The change point has at least :data:`BEYOND_BREAK` evaluations on either side."""
    values = np.sort(entropy)
    low, high = values[min(BEYOND_BREAK, values.size) - 1], values[-min(BEYOND_BREAK, values.size)]
    if not low < high:
        return f"a break needs {BEYOND_BREAK} evaluations on either side"
    return (Shape(name="bend", low=float(low), high=float(high), points=15),)


FORMS = {
    "law": FormKind(
        label="the law",
        formula="c − a(exp(H) − 1)",
        coefficients=("ceiling", "a"),
        design=lambda x, _: design(law_column(x["entropy"])),
    ),
    "line": FormKind(
        label="a straight line in H",
        formula="c − a·H",
        coefficients=("ceiling", "a"),
        design=lambda x, _: design(x["entropy"]),
        colour="vermilion",
    ),
    "constant": FormKind(
        label="a constant",
        formula="c",
        coefficients=("ceiling",),
        design=lambda x, _: np.ones((x["entropy"].size, 1)),
        colour="brown",
    ),
    "rate": FormKind(
        label="the form with a free rate k",
        formula="c − a(exp(kH) − 1)",
        coefficients=("ceiling", "slope"),
        shape="k",
        design=lambda x, shape: design(rate_column(x["entropy"], shape[0])),
        prepare=free_rate,
        colour="green",
    ),
    "power": FormKind(
        label="a power of H",
        formula="c − a·H^p",
        coefficients=("ceiling", "a"),
        shape="p",
        design=lambda x, shape: design(x["entropy"] ** shape[0]),
        prepare=free_power,
        colour="purple",
    ),
    "square": FormKind(
        label="the square of H",
        formula="c − a·H²",
        coefficients=("ceiling", "a"),
        design=lambda x, _: design(x["entropy"] ** 2),
        colour="muted",
    ),
    "lagged": FormKind(
        label="the law of an earlier entropy",
        formula="c − a(exp(H̄) − 1)",
        coefficients=("ceiling", "a"),
        shape="lag",
    ),
    "free": FormKind(
        label="a free curve",
        formula="c + s(H)",
        coefficients=("ceiling", "s1", "s2", "s3"),
        colour="muted",
    ),
    "quadratic": FormKind(
        label="a parabola in H",
        formula="c − a·H − d·H²",
        coefficients=("ceiling", "a", "d"),
        design=lambda x, _: design(x["entropy"], x["entropy"] ** 2),
    ),
    "hinge": FormKind(
        label="two straight lines in H",
        formula="c − a·H − d·max(H − H₀, 0)",
        coefficients=("ceiling", "a", "d"),
        shape="bend",
        design=lambda x, shape: design(x["entropy"], np.maximum(x["entropy"] - shape[0], 0.0)),
        prepare=free_break,
    ),
}
"""The registry of the forms R(H), by name: the first eight are averaged, and those with a design are models
for lmfit."""


def entropy_forms(entropy: FloatArray) -> tuple[tuple[Form, ...], dict[str, str]]:
    """Every model R(H) for a smoothed entropy (n,), nats, law first; form → why not another."""
    forms, skipped = [], {}
    for name, kind in FORMS.items():
        if kind.design is None:
            continue
        shapes = kind.prepare(entropy)
        if isinstance(shapes, str):
            skipped[name] = shapes
            continue
        forms.append(
            Form(
                name=name,
                formula=kind.formula,
                inputs={"entropy": entropy},
                coefficients=kind.coefficients,
                shapes=shapes,
                design=kind.design,
            )
        )
    return tuple(forms), skipped


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

    def sigmoid(step: FloatArray, middle: float, steepness: float) -> FloatArray:
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
        return lambda x, shape: design(u(x["step"], *shape))

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
    """Every model, of the entropy and of the step, that can be fitted to a run, and why not the others."""
    by_entropy, reasons = entropy_forms(entropy)
    by_step, more = step_forms(step)
    return [*by_entropy, *by_step], reasons | more
