"""Forms as lmfit models on whitened data, to fit, to change and to extend.

lmfit is imported when a function of this module is called, and by nothing else.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropylaw.analysis.forms import Form, all_forms
from entropylaw.analysis.law.evaluations import law_of
from entropylaw.analysis.law.residual_models import check_fixed_level
from entropylaw.analysis.rivals import fit_each
from entropylaw.arguments import of_kind
from entropylaw.arrays import FloatArray
from entropylaw.engine.kalman import filter_gains, whiten
from entropylaw.engine.prior import Grid
from entropylaw.errors import FitError, UsageError
from entropylaw.results.law import LawFit
from entropylaw.results.result import replace

LARGEST_MATRIX = 1500
"""Evaluations up to which the whitening is kept as an n × n matrix; beyond, the filter runs each time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whitening:
    """Whitens residuals at ``step`` (n,) whose covariance has this ``length`` (steps) and ``drift_share``.

    Called with n residuals it returns n that are independent and of equal variance if the covariance is
    correct: each residual minus its prediction from those before it.
    """

    step: FloatArray
    length: float
    drift_share: float
    grid: Grid
    matrix: FloatArray | None

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
        return self.matrix @ residual if self.matrix is not None else self.filtered(residual[:, None])[:, 0]

    def filtered(self, columns: FloatArray) -> FloatArray:
        """Columns (n, c) whitened by the filter."""
        gains = filter_gains(self.step, self.grid)
        return np.ascontiguousarray(whiten(gains, columns, self.grid.drift_scale)[0].T)


def to_lmfit(form: str, law: LawFit) -> Any:
    """A form as an ``lmfit.Model`` for the run of a law, ready to fit, to change and to extend.

    Parameters
    ----------
    form
        A name of ``forms.FORMS`` or ``forms.FORMULAS``: ``"law"``, ``"rate"``, ``"scalerl"``, …
    law
        A fit of :func:`entropylaw.fit_law`, fresh or from a document.

    Returns
    -------
    model
        A subclass of ``lmfit.Model``. Its independent variables are ``model.inputs`` (a dict of name →
        values at the evaluations), its parameter hints start at the engine's posterior mode, with the
        bounds of each shape's prior, and its residual is ``model.whitening(data − model)``:

        >>> model = to_lmfit("rate", law)  # doctest: +SKIP
        >>> result = model.fit(law.reward, **model.inputs)  # doctest: +SKIP
        >>> result.conf_interval()  # doctest: +SKIP

        ``weights`` multiply the residual before it is whitened. A composite (``model + other``) is a plain
        ``lmfit.CompositeModel`` and loses the whitening; to keep it, minimise
        ``model.whitening(reward − composite.eval(params, …))`` with ``lmfit.minimize``.

    Raises
    ------
    UsageError
        ``unknown-form``; ``no-fixed-ceiling`` for a fit with ``interval="walk"``.
    FitError
        ``form-not-shown``: the form cannot be fitted to this run; the message has the reason.

    Notes
    -----
    The covariance is the most probable one of this form's own posterior at its most probable shape: under a
    wrong form the drift absorbs misfit. lmfit takes it as known, up to its scale, and the smoothed entropy
    too: its intervals are narrower than the engine's, much narrower where drift is strong.
    """
    law, form = law_of(law), of_kind(form, str, "form")
    check_fixed_level(law.interval, "a model of lmfit", "; a model of lmfit has none")
    offered, skipped = all_forms(law.smoothed_entropy, law.step)
    forms, grid = {one.name: one for one in offered}, law.residual_covariances
    if form not in forms | skipped:
        message = f"form {form[:40]!r}, expected one of {', '.join(sorted(forms | skipped))}"
        raise UsageError("unknown-form", message, "choose one of these")
    if form in forms:
        fits, degenerate = fit_each([forms[form]], law.step, law.reward, grid)
        skipped |= degenerate
    if form in skipped:
        message = f"the form {form!r} cannot be fitted: {skipped[form]}"
        raise FitError("form-not-shown", message, "choose another form")
    fit, floor = fits[form], grid.floor
    posterior = fit.posteriors[fit.best]
    at = int(np.argmax(posterior.weight))
    point = replace(grid.points([at]), log_prior=np.zeros(1), errors=None)
    drift, noise = point.drift, point.noise
    if floor is not None:
        # Residual sums of squares in reward units, as without a floor: the covariance's mean variance is 1.
        unit = float(drift[0] + noise[0] + floor.mean())
        drift, noise, floor = drift / unit, noise / unit, floor / unit
    whitening = Whitening(
        step=law.step,
        length=float(point.length[0]),
        drift_share=float(posterior.drift_share[at]),
        grid=replace(point, drift=drift, noise=noise, floor=floor),
        matrix=None,
    )
    if law.n <= LARGEST_MATRIX:
        whitening = replace(whitening, matrix=whitening.filtered(np.eye(law.n)))
    model = whitened_model(forms[form], whitening)
    for name, value in zip(forms[form].coefficients, posterior.coefficient[at], strict=True):
        model.set_param_hint(name, value=float(value))
    for shape, value in zip(forms[form].shapes, fit.shape[fit.best], strict=True):
        # Not at the bounds, where lmfit's transform of a bounded parameter has no slope.
        margin = 1e-3 * (shape.high - shape.low)
        inside = min(max(float(value), shape.low + margin), shape.high - margin)
        model.set_param_hint(shape.name, value=inside, min=shape.low, max=shape.high)
    return model


def whitened_model(form: Form, whitening: Whitening) -> Any:
    """An ``lmfit.Model`` of a form whose residual is whitened; parameters still without values."""
    import lmfit

    names = [shape.name for shape in form.shapes]

    def function(**given: Any) -> FloatArray:
        inputs = {key: np.asarray(given[key], dtype=float) for key in form.inputs}
        shape = np.array([given[name] for name in names])
        slopes = np.array([given[name] for name in form.coefficients])
        return np.asarray(form.design(inputs, shape) @ slopes)

    # lmfit reads the parameters' names from the signature, and ignores keyword-only ones.
    arguments = [*form.inputs, *form.coefficients, *names]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in arguments])
    function.__signature__ = signature  # type: ignore[attr-defined]

    def residual(model: Any, params: Any, data: Any, weights: Any, **inputs: Any) -> FloatArray:
        plain = lmfit.Model._residual(model, params, data, weights, **inputs)
        return model.whitening(np.asarray(plain))  # type: ignore[no-any-return]

    whitened = type("WhitenedModel", (lmfit.Model,), {"_residual": residual})
    name = f"{form.name}: {form.formula}"
    model = whitened(function, independent_vars=list(form.inputs), name=name)
    model.whitening, model.inputs, model.formula = whitening, dict(form.inputs), form.formula
    return model
