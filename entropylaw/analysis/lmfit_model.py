"""Forms as lmfit models on whitened data, to fit, to change and to extend.

A form of the step is R = A − D · u(s), where u falls to 0 as steps go on, so that A is the limit in steps.
That is not the reward at H = 0, unless the entropy is spent: a run that keeps its entropy has both.

lmfit is imported when a function of this module is called, and by nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit

from entropylaw.analysis.forms import FORMS, design
from entropylaw.arguments import as_flag, of_kind
from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import PRIOR
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit

RATE_REACH = max(PRIOR.rates)
"""The free rate k runs over ±RATE_REACH / (largest entropy), and always past ±2."""

POWERS = PRIOR.powers[0], PRIOR.powers[-1]
"""Range of the power p: below it H^p is a step at 0, above it a wall at the largest entropy."""

GRID = 17
"""Values of a shape from which a fit begins, where no other number is given."""


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whitening:
    """Whitens residuals at ``step`` (n,) by ``matrix`` (n, n), the inverse root of their covariance.

    Called with n residuals it returns n that are independent and of equal variance if the covariance is
    correct: each residual minus its prediction from those before it. ``length`` (steps) is that of the drift,
    and ``drift_share`` its share of the variance.
    """

    step: FloatArray
    length: float
    drift_share: float
    matrix: FloatArray

    def __call__(self, residual: FloatArray) -> FloatArray:
        """Whitened residuals, shape (n,).

        Raises
        ------
        UsageError
            ``lengths-differ``: not one residual for each evaluation of the fit.
        """
        if residual.shape != self.step.shape:
            raise UsageError(
                "lengths-differ",
                f"{residual.size} residuals, expected {self.step.size}, one for each evaluation of the fit",
                "fit the whole run: a part of it has another covariance",
            )
        return np.asarray(self.matrix @ residual)


@one_thread
def to_lmfit(form: str, law: LawFit, *, whiten: bool = True) -> Any:
    """A form as an ``lmfit.Model`` for the run of a law, ready to fit, to change and to extend.

    Parameters
    ----------
    form
        A name of :func:`models`: ``"law"``, ``"rate"``, ``"scalerl"``, …
    law
        A fit of :func:`entropylaw.fit_law`, fresh or from a document.
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
    offered, skipped = models(law.smoothed_entropy, law.step)
    if form in skipped:
        message = f"the form {form!r} cannot be fitted: {skipped[form]}"
        raise FitError("form-not-shown", message, "choose another form")
    if form not in offered:
        message = f"form {form[:40]!r}, expected one of {', '.join(sorted(offered | skipped))}"
        raise UsageError("unknown-form", message, "choose one of these")
    chosen = offered[form]
    whitening = Whitening(step=law.step, length=0.0, drift_share=0.0, matrix=np.eye(law.n))
    if whiten:
        whitening = _whitening(law, form)
    model, target, least = whitened_model(chosen, whitening), whitening(law.reward), np.inf
    starts = tuple[float, ...]()
    # Least squares at every combination of shapes: the best one is where a fit starts.
    for shapes in product(*chosen.shapes.values()):
        columns = whitening.matrix @ design(chosen.column(chosen.values, *shapes))
        coefficients = np.linalg.lstsq(columns, target, rcond=None)[0]
        squares = float(np.sum((target - columns @ coefficients) ** 2))
        if squares < least:
            least, starts = squares, (*coefficients.tolist(), *shapes)
    for name, value in zip(chosen.coefficients, starts, strict=False):
        model.set_param_hint(name, value=value)
    for (name, grid), value in zip(chosen.shapes.items(), starts[2:], strict=True):
        # Not at the bounds, where lmfit's transform of a bounded parameter has no slope.
        low, high = float(grid[0]), float(grid[-1])
        margin = 1e-3 * (high - low)
        model.set_param_hint(
            name, value=float(np.clip(value, low + margin, high - margin)), min=low, max=high
        )
    return model


def _whitening(law: LawFit, form: str) -> Whitening:
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
    row = int(np.argmax(weight))
    drift, white = table.residual_covariance(row)
    number = table.covariance[row]
    return Whitening(
        step=law.step,
        length=float(table.whitened.length[number] * (law.step[-1] - law.step[0]) / (law.n - 1)),
        drift_share=1.0 - float(table.whitened.white[number]),
        matrix=np.linalg.inv(np.linalg.cholesky(drift + np.diag(white))),
    )


def whitened_model(form: Model, whitening: Whitening) -> Any:
    """An ``lmfit.Model`` of a form whose residual is whitened; parameters still without values."""
    import lmfit

    shapes = list(form.shapes)

    def function(**arguments: Any) -> FloatArray:
        column = form.column(np.asarray(arguments[form.argument]), *(arguments[name] for name in shapes))
        return np.asarray(design(column) @ np.array([arguments[name] for name in form.coefficients]))

    # lmfit reads the parameters' names from the signature, and ignores keyword-only ones.
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [form.argument, *form.coefficients, *shapes]
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    function.__signature__ = signature  # type: ignore[attr-defined]

    def residual(model: Any, params: Any, data: Any, weights: Any, **inputs: Any) -> FloatArray:
        plain = lmfit.Model._residual(model, params, data, weights, **inputs)
        return model.whitening(np.asarray(plain))  # type: ignore[no-any-return]

    whitened = type("WhitenedModel", (lmfit.Model,), {"_residual": residual})
    name = f"{form.name}: {form.formula}"
    model = whitened(function, independent_vars=[form.argument], name=name)
    model.whitening, model.inputs, model.formula = whitening, {form.argument: form.values}, form.formula
    return model


def models(entropy: FloatArray, step: FloatArray) -> tuple[dict[str, Model], dict[str, str]]:
    """Every model for a smoothed entropy and steps (n,), by name; and model → why not another.

    Those of the step are ``scalerl``, R₀ + (A − R₀)/(1 + (S/s)^B) of Khatri et al. 2025, arXiv:2510.13786, in
    steps instead of GPU hours and with D = A − R₀; ``step_exponential``, saturation at one time constant,
    counted from the first evaluation; and ``step_logistic``, symmetric about the midpoint m.
    """
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
