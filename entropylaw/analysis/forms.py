"""The functional forms R(H) with their names, and those of the step, as models for lmfit.

Each form R(H) is R = c − slope · g(H) with g(0) = 0, so that c is its ceiling. A form of the step is
R = A − D · u(s), where u falls to 0 as steps go on, so that A is the limit in steps. That is not the reward
at H = 0, unless the entropy is spent: a run that keeps its entropy has both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.engine.candidates import power_column, rate_column
from entropylaw.engine.constants import PRIOR
from entropylaw.results import Influence

RATE_REACH = max(PRIOR.rates)
"""The free rate k runs over ±RATE_REACH / (largest entropy), and always past ±2."""

POWERS = PRIOR.powers[0], PRIOR.powers[-1]
"""Range of the power p: below it H^p is a step at 0, above it a wall at the largest entropy."""

TIED = 1e-6
"""Values that differ by less than this share are equal: no choice rests on the last digit."""

GRID = 17
"""Values of a shape from which a fit begins, where no other number is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a form R(H) is, whatever the run: one entry of :data:`FORMS`.

    Attributes
    ----------
    label, formula, coefficients
        The form in words, for a sentence; in symbols; and the names of its linear coefficients.
    shape
        Name of the parameter in which it is not linear.
    colour
        Name of its line's colour, of the palette of reports, in the figure of the law; None for a form that
        is not drawn.
    column
        g at some entropies, and at a shape where it has one. A form without it is no model for lmfit.
    """

    label: str
    formula: str
    coefficients: tuple[str, ...] = ("ceiling", "a")
    shape: str | None = None
    colour: str | None = None
    column: Callable[..., FloatArray] | None = None

    @property
    def parameters(self) -> int:
        """Number of free parameters, linear or not."""
        return len(self.coefficients) + (self.shape is not None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """A form bound to one run, as lmfit fits it.

    Attributes
    ----------
    name, formula
        Key and symbols.
    argument, values
        ``"entropy"`` or ``"step"``, and its values (n,) at the evaluations, nats or steps.
    coefficients
        Names of both linear coefficients, the ceiling (or the limit in steps) first.
    shapes
        Name of each parameter in which it is not linear → values from which a fit begins, its bounds first
        and last.
    column
        g or u at values of the argument, and at a value of each shape.
    """

    name: str
    formula: str
    argument: str
    values: FloatArray
    coefficients: tuple[str, ...]
    shapes: dict[str, FloatArray]
    column: Callable[..., FloatArray]


def law_column(entropy: FloatArray) -> FloatArray:
    """g(H) = exp(H) − 1, of the law R = −a·exp(H) + b with c = b − a."""
    return np.expm1(entropy)


def design(column: FloatArray) -> FloatArray:
    """Design matrix of c − slope·g, shape (..., n, 2), from a column g of shape (..., n)."""
    return np.stack([np.ones(column.shape), -column], axis=-1)


def law_line(entropy: FloatArray, reward: FloatArray, later: FloatArray) -> FloatArray:
    """The law by least squares at entropies (n,), read at ``later`` ones (k,)."""
    return np.asarray(design(law_column(later)) @ least_squares(entropy, reward))


def least_squares(entropy: FloatArray, reward: FloatArray) -> FloatArray:
    """The law's ceiling and a, shape (2,), by least squares at entropies (n,), as papers quote them."""
    return np.asarray(np.linalg.lstsq(design(law_column(entropy)), reward, rcond=None)[0])


def r_squared(entropy: FloatArray, reward: FloatArray) -> float:
    """Share of the reward's variance that the law explains by least squares, 0–1; columns (n,) as logged."""
    column = law_column(entropy)
    if np.ptp(column) == 0 or np.ptp(reward) == 0:
        return 0.0
    return float(np.corrcoef(column, reward)[0, 1]) ** 2


def strongest_influence(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Influence:
    """The evaluation whose deletion moves the least-squares law most, measured on the ceiling and a.

    Deletion formula: β without i = β − (XᵀX)⁻¹ xᵢ rᵢ / (1 − hᵢ), with leverage hᵢ (Cook 1977,
    doi:10.1080/00401706.1977.10489493). Least squares on purpose: a drift would absorb an outlier, and the
    question here is which point determines a plain reading of the curve.
    """
    x = design(law_column(entropy))
    ortho, triangle = np.linalg.qr(x)
    coefficient = np.linalg.solve(triangle, ortho.T @ reward)
    leverage = np.minimum((ortho**2).sum(axis=1), 1.0 - 1e-12)
    shift = np.linalg.solve(triangle, (ortho * ((reward - x @ coefficient) / (1.0 - leverage))[:, None]).T)
    # In standard errors (DFBETAS, up to a factor common to all): the reward's origin must not matter.
    scale = np.linalg.norm(np.linalg.inv(triangle), axis=1) + np.finfo(float).tiny
    moved = np.max(np.abs(shift) / scale[:, None], axis=0)
    most = int(np.argmax(moved >= moved.max() * (1.0 - TIED)))
    return Influence(
        step=float(step[most]),
        ceiling_shift=float(-shift[0, most]),
        # Where a is near 0 without the evaluation, only rounding remains.
        a_ratio=round(float(1.0 - shift[1, most] / coefficient[1]), 12) if coefficient[1] else 1.0,
    )


def lag1(values: FloatArray) -> float | None:
    """Lag-1 autocorrelation; None below three values or where they do not vary."""
    if values.size < 3:
        return None
    centred = values - values.mean()
    total = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / total if total > 0 else None


def form_label(name: str) -> str:
    """A form in words; a stored document may hold one that this version does not know."""
    return FORMS[name].label if name in FORMS else name


FORMS = {
    "law": Form(label="the law", formula="c − a(exp(H) − 1)", column=law_column),
    "line": Form(
        label="a straight line in H", formula="c − a·H", column=lambda entropy: entropy, colour="vermilion"
    ),
    "constant": Form(label="a constant", formula="c", coefficients=("ceiling",), colour="brown"),
    "rate": Form(
        label="the form with a free rate k",
        formula="c − a(exp(kH) − 1)",
        coefficients=("ceiling", "slope"),
        shape="k",
        column=rate_column,
        colour="green",
    ),
    "power": Form(label="a power of H", formula="c − a·H^p", shape="p", column=power_column, colour="purple"),
    "square": Form(label="the square of H", formula="c − a·H²", column=np.square, colour="muted"),
    "lagged": Form(label="the law of an earlier entropy", formula="c − a(exp(H̄) − 1)", shape="lag"),
    "free": Form(
        label="a free curve",
        formula="c + s(H)",
        coefficients=("ceiling", "s1", "s2", "s3"),
        colour="muted",
    ),
}
"""The registry of the forms R(H), by name, all of which are averaged."""


def models(entropy: FloatArray, step: FloatArray) -> tuple[dict[str, Model], dict[str, str]]:
    """Every model for a smoothed entropy and steps (n,), by name; and model → why not another.

    Those of the step are ``scalerl``, R₀ + (A − R₀)/(1 + (S/s)^B) of Khatri et al. 2025, arXiv:2510.13786, in
    steps instead of GPU hours and with D = A − R₀; ``step_exponential``, saturation at one time constant,
    counted from the first evaluation; and ``step_logistic``, symmetric about the midpoint m.
    """
    from scipy.special import expit  # reports import this module, and need none of scipy

    reach = max(RATE_REACH / float(np.max(np.abs(entropy))), 2.0)
    grids = {"k": np.linspace(-reach, reach, GRID), "p": np.geomspace(*POWERS, GRID)}
    offered, skipped = dict[str, Model](), dict[str, str]()
    first, last = float(step[0]), float(step[-1])
    span, spacing = last - first, float(np.median(np.diff(step)))

    def add(
        name: str, formula: str, column: Callable[..., FloatArray], *names: str, **shapes: FloatArray
    ) -> None:
        argument, values = ("step", step) if not names else ("entropy", entropy)
        offered[name] = Model(
            name=name,
            formula=formula,
            argument=argument,
            values=values,
            coefficients=names or ("limit", "drop"),
            shapes=shapes,
            column=column,
        )

    def sigmoid(at: FloatArray, middle: float, steepness: float) -> FloatArray:
        # 1/(1 + (s/S)^B), through logarithms: no power of a step overflows.
        with np.errstate(divide="ignore"):
            return np.asarray(expit(-steepness * (np.log(at) - np.log(middle))))

    for name, form in FORMS.items():
        if name == "power" and entropy.min() < 0:
            skipped[name] = f"entropy reaches {entropy.min():.3g}, and a power of it needs H ≥ 0"
        elif form.column is not None:
            shapes = {} if form.shape is None else {form.shape: grids[form.shape]}
            add(name, form.formula, form.column, *form.coefficients, **shapes)
    add(
        "step_exponential",
        "A − D·exp(−(s − s₁)/τ)",
        lambda at, tau: np.exp(-(at - first) / tau),
        tau=np.geomspace(0.5 * spacing, 5.0 * span, 25),
    )
    add(
        "step_logistic",
        "A − D/(1 + exp((s − m)/w))",
        lambda at, middle, width: expit(-(at - middle) / width),
        midpoint=np.linspace(first - 0.5 * span, last + 0.5 * span, GRID),
        width=np.geomspace(max(0.5 * spacing, 0.01 * span), span, 11),
    )
    if first < 0:
        skipped["scalerl"] = f"steps begin at {first:g}, and the sigmoid counts from 0"
    else:
        midpoint = np.geomspace(max(first, spacing), 3.0 * last, GRID)
        add("scalerl", "A − D/(1 + (s/S)^B)", sigmoid, midpoint=midpoint, B=np.geomspace(0.5, 8.0, 11))
    return offered, skipped
