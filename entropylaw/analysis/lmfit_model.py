"""Forms as lmfit models on whitened data, to fit, to change and to extend.

lmfit is imported when a function of this module is called, and by nothing else.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from entropylaw.analysis.forms import FORMS, Model, design, models
from entropylaw.arguments import as_flag, of_kind
from entropylaw.arrays import FloatArray
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError, UsageError
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit


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
        A name of :func:`entropylaw.analysis.forms.models`: ``"law"``, ``"rate"``, ``"scalerl"``, …
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
