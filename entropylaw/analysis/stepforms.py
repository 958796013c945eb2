"""Forms R(step), which know no entropy.

Each form is R = A − D · u(s), where u falls to 0 as steps go on, so that A is the limit in steps. That is
not the reward at H = 0, unless the entropy is spent: a run that keeps its entropy has both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from entropylaw.analysis.forms import Form, Inputs, Shape, design, entropy_forms
from entropylaw.engine.grid import FloatArray

FORMULAS = {
    "scalerl": "A − D/(1 + (s/S)^B)",
    "step_exponential": "A − D·exp(−(s − s₁)/τ)",
    "step_power": "A − D·(t/t₁)^(−B)",
    "step_logistic": "A − D/(1 + exp((s − m)/w))",
}


def step_forms(step: FloatArray) -> tuple[tuple[Form, ...], dict[str, str]]:
    """Every form R(step) that fits these steps (n,), strictly increasing, and form → why another does not.

    - ``scalerl``: R₀ + (A − R₀)/(1 + (S/s)^B) of Khatri et al. 2025, arXiv:2510.13786, in steps instead of
      GPU hours and with D = A − R₀. They fix A and S on a grid, fit B by least squares and give no interval
      for B; here all are integrated out.
    - ``step_exponential``: saturation at one time constant, counted from the first evaluation.
    - ``step_power``: t is the step, or, where the run begins at step 0 or below, the step counted from one
      median spacing before its first evaluation; t₁ belongs to the first evaluation.
    - ``step_logistic``: symmetric about the midpoint m.
    """
    first, last = float(step[0]), float(step[-1])
    span, spacing = last - first, float(np.median(np.diff(step)))
    shift = 0.0 if first > 0 else spacing - first

    def sigmoid(step: FloatArray, middle: FloatArray, steepness: FloatArray) -> FloatArray:
        # 1/(1 + (s/S)^B), through logarithms: no power of a step overflows.
        with np.errstate(divide="ignore"):
            distance = np.log(step) - np.log(middle)
        return np.asarray(expit(-steepness * distance))

    # Of each form the part u of its drop that is left at a step, and its shapes.
    left: dict[str, tuple[Callable[..., FloatArray], *tuple[Shape, ...]]] = {
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
        del left["scalerl"]
        skipped["scalerl"] = f"steps begin at {first:g}, and the sigmoid counts from 0"

    def design_of(u: Callable[..., FloatArray]) -> Callable[[Inputs, FloatArray], FloatArray]:
        # One number for each shape, to be broadcast against the steps.
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
        for name, (u, *shapes) in left.items()
    )
    return tuple(forms), skipped


def all_forms(entropy: FloatArray, step: FloatArray) -> tuple[list[Form], dict[str, str]]:
    """Every form, of the entropy and of the step, that a run can show, and why the others cannot."""
    by_entropy, reasons = entropy_forms(entropy)
    by_step, more = step_forms(step)
    return [*by_entropy, *by_step], reasons | more
