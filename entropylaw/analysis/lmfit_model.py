"""Forms as lmfit models on whitened data, to fit, to change and to extend.

A form of the step is R = A − D · u(s), where u falls to 0 as steps go on, so that A is the limit in steps.
That is not the reward at H = 0, unless the entropy is spent: a run that keeps its entropy has both.

lmfit is imported when a function of this module is called, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit

from entropylaw.analysis.forms import FORMS
from entropylaw.arguments import as_flag, of_kind
from entropylaw.arrays import FloatArray
from entropylaw.engine.candidates import power_column, rate_column
from entropylaw.engine.constants import PRIOR
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.escaping import shown
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit

RATE_REACH = max(PRIOR.rates)
"""The free rate k runs over ±RATE_REACH / (largest entropy), and always past ±2."""

POWERS = PRIOR.powers[0], PRIOR.powers[-1]
"""Range of the power p: below it H^p is a step at 0, above it a wall at the largest entropy."""

GRID = 17
"""Values of a shape from which a fit begins, where no other number is given."""

STEP_FORMULAS = {
    "scalerl": "A − D/(1 + (s/S)^B)",
    "step_exponential": "A − D·exp(−(s − s₁)/τ)",
    "step_logistic": "A − D/(1 + exp((s − m)/w))",
}
"""Forms of the step, in symbols."""

Curve = Callable[..., FloatArray]
"""A curve of entropies or steps (n,), two linear coefficients and shapes; with one coefficient 1 and the
other 0 it is a column of the regression."""


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """Whitens the n residuals of a run by ``matrix`` (n, n), the inverse root of their covariance.

    Called with n residuals it returns n that are independent and of equal variance if the covariance is
    correct: each residual minus its prediction from those before it.
    """

    matrix: FloatArray

    def __call__(self, residual: FloatArray) -> FloatArray:
        """Whitened residuals, shape (n,).

        Raises
        ------
        UsageError
            ``lengths-differ``: not one residual for each evaluation of the fit.
        """
        if residual.shape != self.matrix.shape[:1]:
            raise UsageError(
                "lengths-differ",
                f"{residual.size} residuals, expected {len(self.matrix)}, one for each evaluation of the fit",
                "fit the whole run: a part of it has another covariance",
            )
        return np.asarray(self.matrix @ residual)


@one_thread
def to_lmfit(form: str, law: LawFit, *, whiten: bool = True) -> Any:
    """A form as an ``lmfit.Model`` for the run of a law, ready to fit, to change and to extend.

    Parameters
    ----------
    form
        A name of :func:`curves_of`: ``"law"``, ``"rate"``, ``"scalerl"``, …
    law
        A fit of :func:`entropylaw.fit`, fresh or from a document.
    whiten
        Whiten by the covariance of the most probable row of the run's table; otherwise residuals are
        independent, as in ordinary least squares.

    Returns
    -------
    model
        A subclass of ``lmfit.Model``. Its independent variables are ``model.inputs`` (a dict of name →
        values at the evaluations), its parameter hints start at the best of a grid, with the bounds of each
        shape, and its residual is ``model.whitening(data − model)``:

        >>> model = to_lmfit("rate", law)  # doctest: +SKIP
        >>> result = model.fit(law.reward, **model.inputs)  # doctest: +SKIP
        >>> result.conf_interval()  # doctest: +SKIP

        ``weights`` multiply the residual before it is whitened. A composite (``model + other``) is a plain
        ``lmfit.CompositeModel`` and loses the whitening; to keep it, minimise
        ``model.whitening(reward − composite.eval(params, …))`` with ``lmfit.minimize``.

    Raises
    ------
    UsageError
        ``unknown-form``; ``too-many-evaluations`` for the matrix of a run.
    FitError
        ``form-not-shown``: the form cannot be fitted to this run; the message has the reason.

    Notes
    -----
    The covariance is that of the form's own rows where the table has some: under a wrong form the drift
    absorbs misfit. lmfit takes it as known, up to its scale, and the smoothed entropy too: its intervals are
    narrower than the engine's, much narrower where drift is strong.
    """
    law = of_kind(law.law if isinstance(law, Fit) else law, LawFit, "law")
    form, whiten = of_kind(form, str, "form"), as_flag(whiten, "whiten")
    curves = curves_of(law)
    if form not in curves:
        raise UsageError(
            "unknown-form",
            f"form {shown(form, 40)}, expected one of {', '.join(sorted(curves))}",
            "choose one of these",
        )
    lowest = float(law.smoothed_entropy.min())
    first = float(law.step[0])
    cause = ""
    if form == "power" and lowest < 0:
        cause = f"entropy reaches {lowest:.3g}, and a power of it needs H ≥ 0"
    elif form == "scalerl" and first < 0:
        cause = f"steps begin at {first:g}, and the sigmoid counts from 0"
    if cause:
        message = f"the form {form!r} cannot be fitted: {cause}"
        raise FitError("form-not-shown", message, "choose another form")
    curve, grids = curves[form]
    model = _whitened_model(
        form, curve, law, _whitening_of(law, form) if whiten else Whitening(np.eye(law.n))
    )
    for name, value in zip(model.param_names, _best_start(model, curve, law.reward, grids), strict=True):
        if name not in grids:
            model.set_param_hint(name, value=value)
            continue
        low, high = float(grids[name][0]), float(grids[name][-1])
        # Not at the bounds, where lmfit's transform of a bounded parameter has no slope.
        margin = 1e-3 * (high - low)
        model.set_param_hint(name, value=min(max(value, low + margin), high - margin), min=low, max=high)
    return model


def _best_start(
    model: Any, curve: Curve, reward: FloatArray, grids: dict[str, FloatArray]
) -> tuple[float, ...]:
    """Coefficients and shapes of the best least squares over all combinations of the shapes' values."""
    (values,), target = model.inputs.values(), model.whitening(reward)
    least, best = np.inf, tuple[float, ...]()
    for shapes in product(*grids.values()):
        columns = np.column_stack([curve(values, *unit, *shapes) for unit in ((1.0, 0.0), (0.0, 1.0))])
        columns = model.whitening.matrix @ columns
        coefficients = np.linalg.lstsq(columns, target, rcond=None)[0]
        squares = float(np.sum((target - columns @ coefficients) ** 2))
        if squares < least:
            least, best = squares, (*coefficients.tolist(), *map(float, shapes))
    return best


def _whitening_of(law: LawFit, form: str) -> Whitening:
    """The whitening of the heaviest row of a form, or of all where the table has none of that form."""
    reads = law.reads
    table = reads.table
    if table.group > 1:
        raise UsageError(
            "too-many-evaluations",
            f"{law.n} evaluations, expected at most {table.time.size} for a matrix of them all",
            "take every tenth evaluation, or whiten=False",
        )
    weight = reads.averaged
    if form in FORMS and weight[table.is_form(form)].any():
        weight = weight * table.is_form(form)
    drift, white = table.residual_covariance(int(np.argmax(weight)))
    return Whitening(np.linalg.inv(np.linalg.cholesky(drift + np.diag(white))))


def _whitened_model(form: str, curve: Curve, law: LawFit, whitening: Whitening) -> Any:
    """An ``lmfit.Model`` of a form whose residual is whitened; parameters still without values."""
    import lmfit

    def residual(model: Any, params: Any, data: Any, weights: Any, **inputs: Any) -> FloatArray:
        plain = lmfit.Model._residual(model, params, data, weights, **inputs)
        return model.whitening(np.asarray(plain))  # type: ignore[no-any-return]

    formula = STEP_FORMULAS[form] if form in STEP_FORMULAS else FORMS[form].formula
    model = type("WhitenedModel", (lmfit.Model,), {"_residual": residual})(curve, name=f"{form}: {formula}")
    (argument,) = model.independent_vars
    values = law.step if argument == "step" else law.smoothed_entropy
    model.whitening, model.inputs, model.formula = whitening, {argument: values}, formula
    return model


def curves_of(law: LawFit) -> dict[str, tuple[Curve, dict[str, FloatArray]]]:
    """Every curve for a run, by name; and of each shape the values from which a fit begins, with its bounds.

    The first argument is the entropy or the step, two coefficients and the shapes follow. Curves of the step
    are ``scalerl``, R₀ + (A − R₀)/(1 + (S/s)^B) of Khatri et al. 2025, arXiv:2510.13786, in steps instead of
    GPU hours and with D = A − R₀; ``step_exponential``, saturation at one time constant, counted from the
    first evaluation; and ``step_logistic``, symmetric about the midpoint m.
    """
    reach = max(RATE_REACH / float(np.max(np.abs(law.smoothed_entropy))), 2.0)
    first, last = float(law.step[0]), float(law.step[-1])
    span, spacing = last - first, float(np.median(np.diff(law.step)))

    def sigmoid(step: FloatArray, limit: float, drop: float, midpoint: float, B: float) -> FloatArray:  # noqa: N803
        # 1/(1 + (s/S)^B), through logarithms: no power of a step overflows.
        with np.errstate(divide="ignore"):
            return np.asarray(limit - drop * expit(-B * (np.log(step) - np.log(midpoint))))

    return {
        "law": (lambda entropy, ceiling, a: ceiling - a * np.expm1(entropy), {}),
        "line": (lambda entropy, ceiling, a: ceiling - a * entropy, {}),
        "square": (lambda entropy, ceiling, a: ceiling - a * np.square(entropy), {}),
        "rate": (
            lambda entropy, ceiling, slope, k: ceiling - slope * rate_column(entropy, k),
            {"k": np.linspace(-reach, reach, GRID)},
        ),
        "power": (
            lambda entropy, ceiling, a, p: ceiling - a * power_column(entropy, p),
            {"p": np.geomspace(*POWERS, GRID)},
        ),
        "scalerl": (
            sigmoid,
            {
                "midpoint": np.geomspace(max(first, spacing), 3.0 * max(last, spacing), GRID),
                "B": np.geomspace(0.5, 8.0, 11),
            },
        ),
        "step_exponential": (
            lambda step, limit, drop, tau: limit - drop * np.exp(-(step - first) / tau),
            {"tau": np.geomspace(0.5 * spacing, 5.0 * span, 25)},
        ),
        "step_logistic": (
            lambda step, limit, drop, midpoint, width: limit - drop * expit(-(step - midpoint) / width),
            {
                "midpoint": np.linspace(first - 0.5 * span, last + 0.5 * span, GRID),
                "width": np.geomspace(max(0.5 * spacing, 0.01 * span), span, 11),
            },
        ),
    }
