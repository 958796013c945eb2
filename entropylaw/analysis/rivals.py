"""The law against its rivals on the same evaluations, by marginal likelihood.

Each form is fitted over a grid of its shapes that is refined until it resolves the posterior's peak.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from entropylaw.analysis.forms import FORMS, Form, Inputs, all_forms, beside, design, entropy_forms
from entropylaw.analysis.law.estimates import at_most, from_mixture, largest, tails
from entropylaw.analysis.law.evaluations import law_of
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.arrays import FloatArray
from entropylaw.engine.posterior import EVERY, Solver, infer, spread_rows
from entropylaw.engine.prior import Grid, first_best
from entropylaw.results import PLAUSIBLE, Estimate, FormEstimate
from entropylaw.results.fit import Fit
from entropylaw.results.law import Comparison, FormResult, LawFit, NestedTest
from entropylaw.results.mixture import Mixture, normalised
from entropylaw.results.posterior import Posterior

FINE = 0.15
"""Largest probability of one point of a grid of shapes; above it the grid is refined. A normal peak is then
summed at three eighths of its standard deviation, in two dimensions at one."""

COEFFICIENT = 1.0
"""Half of the width of a coefficient's prior: standard deviations of the reward per one of its column."""

MOST_POINTS = 3000
"""Points of a grid of shapes from which it is not refined further."""

_HEAVY, _LIGHT = 0.02, 1e-8
"""Probability of a point of an axis above which the gaps next to it are split, and below which it is left
out."""

DEPENDENT = 1e-9
"""Share of a column's norm that must remain when it is orthogonalised against the columns before it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormFit:
    """A form's posterior on one run, over m points of the q parameters in which it is not linear.

    ``shape`` (m, q), (1, 0) without any, are the points, ``posteriors`` a batch of one for each, ``weight``
    (m,) their probabilities; ``log_evidence`` is the log marginal likelihood with the prior of
    :func:`fit_forms`, summed over shapes.
    """

    form: Form
    shape: FloatArray
    posteriors: Posterior
    weight: FloatArray
    log_evidence: float

    @property
    def best(self) -> int:
        """Number of the most probable shape."""
        return int(first_best(self.weight))


def fit_each(
    forms: Sequence[Form], step: FloatArray, reward: FloatArray, grid: Grid, solver: Solver | None = None
) -> tuple[dict[str, FormFit], dict[str, str]]:
    """Fit every form over a grid of its shapes that resolves the posterior's peak.

    The first grid spans the prior. Where one point has more than :data:`FINE` of the probability, the gaps
    next to probable points are split, and improbable points are dropped, until the peak is
    resolved. (Evidence falls off slowly away from a sharp peak, because drift absorbs misfit: a grid refined
    by the width of the flanks would step over the peak.)

    Returns
    -------
    fits, skipped
        In the order of ``forms``; and form → reason, where the run has too few evaluations for it or
        its columns are not independent.
    """
    done: dict[str, FormFit] = {}
    skipped = {
        form.name: f"{reward.size} evaluations, and {form.parameters + 2} are needed"
        for form in forms
        if reward.size < form.parameters + 2
    }
    searches = [
        _Search(form=form, axes=tuple(shape.axis() for shape in form.shapes), known={})
        for form in forms
        if form.name not in skipped
    ]
    cost = 0.5 * np.log(reward.size) + np.log(2.0 * COEFFICIENT * float(np.std(reward)))
    solver = solver or Solver(step, reward, grid)
    while searches:
        _evaluate(searches, solver)
        unfinished = []
        for search in searches:
            name = search.form.name
            if all(posterior is None for posterior in search.known.values()):
                skipped[name] = "its columns are not independent on this run"
            elif (finer := search.finer()) is not None:
                unfinished.append(finer)
            else:
                done[name] = search.summed(cost)
        searches = unfinished
    return {form.name: done[form.name] for form in forms if form.name in done}, skipped


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Search:
    """A form with its present grid: one increasing axis per shape, in its prior's coordinate.

    ``known`` has the posterior at every point so far, as a batch and its number there; None where the columns
    are not independent.
    """

    form: Form
    axes: tuple[FloatArray, ...]
    known: dict[tuple[float, ...], tuple[Posterior, int] | None]

    def points(self) -> FloatArray:
        """Every point of the grid, shape (m, q), in the coordinates of the axes."""
        return np.array(list(product(*self.axes)))

    def values(self, points: FloatArray) -> FloatArray:
        """The shape parameters at points, same shape."""
        columns = [shape.value(column) for shape, column in zip(self.form.shapes, points.T, strict=True)]
        return np.stack(columns, axis=-1) if columns else points

    def log_mass(self) -> FloatArray:
        """Evidence times the share of the flat prior at every point of the grid, logarithms, shape (m,)."""
        points = self.points()
        found = [self.known[tuple(point)] for point in points.tolist()]
        mass = np.array([-np.inf if one is None else one[0].log_evidence[one[1]] for one in found])
        for i, (axis, shape) in enumerate(zip(self.axes, self.form.shapes, strict=True)):
            # The trapezoid rule: half of the gap on either side.
            gap = np.diff(axis, prepend=axis[0], append=axis[-1])
            share = np.log((gap[1:] + gap[:-1]) / 2.0 / np.ptp(shape.axis()))
            mass += share[np.searchsorted(axis, points[:, i])]
        return mass

    def summed(self, cost: float) -> FormFit:
        """The fit summed over shapes; each coefficient but the first subtracts ``cost`` from the evidence."""
        points = self.points()
        weight, total = normalised(self.log_mass())
        kept = np.flatnonzero(weight > _LIGHT * FINE)
        found = (self.known[tuple(point)] for point in points[kept].tolist())
        return FormFit(
            form=self.form,
            shape=self.values(points[kept]),
            posteriors=Posterior.gathered(one for one in found if one is not None),
            weight=weight[kept] / weight[kept].sum(),
            log_evidence=float(total) - (len(self.form.coefficients) - 1) * cost,
        )

    def finer(self) -> _Search | None:
        """A grid that is finer where the probability is, or None where this one is fine enough."""
        weight, _ = normalised(self.log_mass())
        if not self.axes or weight.max() <= FINE or weight.size >= MOST_POINTS:
            return None
        cube = weight.reshape([axis.size for axis in self.axes])
        margins = [cube.sum(axis=tuple({*range(cube.ndim)} - {i})) for i in range(cube.ndim)]
        # One axis per round, the coarsest: a product grid grows fast.
        worst = int(first_best(np.array([margin.max() for margin in margins])))
        axes = list(self.axes)
        axis, weight = axes[worst], margins[worst]
        top = int(first_best(weight))
        near_top = weight[max(top - 1, 0) : top + 2]
        drop = float(np.log(weight[top] / max(near_top.min(), np.finfo(float).tiny)))
        # A third of the peak's standard deviation, from a parabola through its top.
        parts = min(max(int(np.ceil(3.0 * np.sqrt(2.0 * drop))), 2), 16)
        some = np.flatnonzero(weight > _LIGHT)
        first, last = max(some[0] - 1, 0), min(some[-1] + 1, axis.size - 1)
        # The gaps next to probable points, down to a share of the shape's range.
        near = (weight[:-1] > _HEAVY) | (weight[1:] > _HEAVY)
        wide = np.diff(axis) > 1e-7 * float(np.ptp(self.form.shapes[worst].axis()))
        gaps = first + np.flatnonzero((near & wide)[first:last])
        inside = [np.linspace(axis[i], axis[i + 1], parts + 1)[1:-1] for i in gaps]
        axes[worst] = np.sort(np.concatenate([axis[first : last + 1], *inside]))
        if np.array_equal(axes[worst], axis):
            return None
        return _Search(form=self.form, axes=tuple(axes), known=self.known)


def _evaluate(searches: Sequence[_Search], solver: Solver) -> None:
    """Infer the posteriors at new points, into ``known``."""
    entries: list[tuple[_Search, tuple[float, ...], FloatArray]] = []
    for search in searches:
        points = [point for point in map(tuple, search.points().tolist()) if point not in search.known]
        if not points:
            continue
        form, new = search.form, np.array(points)
        designs = form.designs(form.at(solver.rows), search.values(new))
        usable = independent(designs)
        search.known.update({point: None for point, good in zip(points, usable, strict=True) if not good})
        entries += [(search, points[i], designs[i]) for i in np.flatnonzero(usable)]
    if not entries:
        return

    def whole(i: int) -> FloatArray:
        search, point, _ = entries[i]
        designs = search.form.designs(search.form.inputs, search.values(np.array([point])))
        return np.asarray(designs[0])

    designs_only = [design for _, _, design in entries]
    posteriors = solver.posteriors(designs_only, None if isinstance(solver.rows, slice) else whole)
    for (search, point, _), posterior in zip(entries, posteriors, strict=True):
        search.known[point] = posterior


def independent(designs: FloatArray) -> Any:
    """Whether the columns of each design, shape (..., n, p), are independent and finite: shape (...,)."""
    rest = np.abs(np.diagonal(np.linalg.qr(designs, mode="r"), axis1=-2, axis2=-1))
    return np.all(np.isfinite(rest) & (rest > DEPENDENT * np.linalg.norm(designs, axis=-2)), axis=-1)


STRONG = 20.0
"""Odds from which the data decide between two forms: "strong" in Kass & Raftery 1995,
doi:10.1080/01621459.1995.10476572."""

_PART = 10_000
"""Evaluations whose designs are in memory together."""

_NEGLIGIBLE = 1e-9
"""Probability below which shapes and covariances of a form are left out of its estimates."""

SPENT = 0.05
"""Last entropy over the run's largest, up to which limit in steps and reward at H = 0 are one number."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormFits:
    """Posteriors of the forms R(H) on one run.

    ``fits`` has one entry per form, the law among them; ``probability`` is each form's posterior probability,
    with equal prior probabilities; ``skipped`` maps a form that cannot be fitted to the reason. ``most`` is
    the largest reward that is possible, infinite where none is known; ``passed`` says that hardly any curve
    stays below it.
    """

    fits: dict[str, FormFit]
    probability: dict[str, float]
    skipped: dict[str, str]
    most: float = np.inf
    passed: bool = False


def fit_forms(
    step: FloatArray,
    entropy: FloatArray,
    reward: FloatArray,
    grid: Grid,
    names: Iterable[str] | None = None,
    *,
    term: FloatArray | None = None,
) -> FormFits:
    """Fit forms R(H) with the same residual model.

    The prior gives each form the same probability, is flat on the level, and flat on each further
    coefficient with the density of a uniform between plus and minus one standard deviation of the reward
    per standard deviation of the coefficient's column orthogonalised against those before it: no form
    can explain more than the reward's variance. (The coefficient itself is not bounded.)

    Parameters
    ----------
    step, entropy, reward
        Shape (n,): steps, smoothed entropy in nats, reward.
    grid
        The residual covariances, the same for every form, those of errors in the entropy included.
    names
        Which of :data:`~entropylaw.analysis.forms.FORMS`, those of every fit where not given; and the law.
    term
        Shape (n,): one more column of every form (:func:`entropylaw.analysis.forms.beside`).
    """
    offered, reasons = entropy_forms(entropy)
    core = (name for name, kind in FORMS.items() if kind.core)
    requested = {"law", *(core if names is None else names)}
    chosen = [form for form in offered if form.name in requested]
    if term is not None:
        chosen = [beside(form, term) for form in chosen]
    # The forms of every fit are smooth in the entropy; others need every row.
    rows = spread_rows(entropy) if names is None else EVERY
    fits, degenerate = fit_each(chosen, step, reward, grid, Solver(step, reward, grid, rows))
    skipped = {name: why for name, why in (reasons | degenerate).items() if name in requested}
    return FormFits(fits=fits, probability=_probabilities(fits), skipped=skipped)


def _probabilities(fits: dict[str, FormFit]) -> dict[str, float]:
    """Posterior probability of each form among those of its variable, with equal prior probabilities."""
    found: dict[str, float] = {}
    for variable in ("entropy", "step"):
        evidence = {n: fit.log_evidence for n, fit in fits.items() if fit.form.variable == variable}
        if evidence:
            probability, _ = normalised(np.array(list(evidence.values())))
            found |= dict(zip(evidence, probability.tolist(), strict=True))
    return found


def ceiling_of(fit: FormFit) -> Mixture:
    """Distribution of a form's reward at H = 0, or of its limit in steps."""
    some = np.flatnonzero(fit.weight > _NEGLIGIBLE)
    rows = fit.form.ceiling_row(fit.shape[some])
    each = fit.posteriors[some].pruned(_NEGLIGIBLE).functional(rows)
    weight = fit.weight[some] / fit.weight[some].sum()
    return Mixture.of_one(weight[:, None] * each.weight, each.location, each.scale, fit.posteriors.df)


def posterior_mean(fit: FormFit, inputs: Inputs) -> FloatArray:
    """Posterior mean of a form's reward at inputs, shape (m,)."""
    some = np.flatnonzero(fit.weight > _NEGLIGIBLE)
    slopes = fit.weight[some, None] * fit.posteriors[some].mean()
    n, found = next(iter(inputs.values())).size, []
    # A part of the run at a time: there is a design per shape.
    for start in range(0, n, _PART):
        part = {name: each[start : start + _PART] for name, each in inputs.items()}
        found.append(np.einsum("mnp,mp->n", fit.form.designs(part, fit.shape[some]), slopes))
    return np.concatenate(found)


def shape_estimate(fit: FormFit, number: int, level: float) -> Estimate:
    """Median and interval of one shape parameter, interpolated in its discrete distribution.

    An end at the end of the parameter's range is given as None: the data do not bound the parameter there.
    """
    shape = fit.form.shapes[number]
    points, place = np.unique(fit.shape[:, number], return_inverse=True)
    weight = np.bincount(place.ravel(), weights=fit.weight)
    edge = np.cumsum(weight) - 0.5 * weight
    below, _, above = tails(level)
    low, value, high = np.interp(tails(level), edge, points)
    open_low, open_high = edge[0] > below, edge[-1] < above
    unbounded = f"the data do not bound {shape.name} within [{shape.low:.3g}, {shape.high:.3g}]"
    return Estimate(
        value=float(value),
        low=None if open_low else float(low),
        high=None if open_high else float(high),
        level=level,
        method="marginal likelihood over a grid",
        note=unbounded if open_low or open_high else None,
    )


def most_probable_first(one: FormEstimate) -> tuple[float, str]:
    """The order of forms, the same for probabilities that differ by rounding only."""
    return -float(f"{one.probability:.9g}"), one.form


def described(fit: FormFit, probability: float, reward: FloatArray, level: float) -> dict[str, Any]:
    """The fields of a :class:`~entropylaw.results.FormEstimate` but for the ceiling."""
    residual = reward - posterior_mean(fit, fit.form.inputs)
    return {
        "form": fit.form.name,
        "formula": fit.form.formula,
        "parameters": fit.form.parameters,
        "probability": probability,
        "residual_sd": float(np.sqrt(residual @ residual / (residual.size - fit.form.parameters))),
        "shapes": {s.name: shape_estimate(fit, i, level) for i, s in enumerate(fit.form.shapes)},
    }


def range_over(forms: Sequence[tuple[str, float, Estimate]], level: float) -> Estimate:
    """From the lowest to the highest end over the forms not ruled out; the value is the mean by probability.

    ``forms`` holds name, probability and estimate. If one end is None, so is that of the range, and the
    note names the form.
    """
    kept = [one for one in forms if one[1] >= PLAUSIBLE]
    names, probabilities, _ = zip(*kept, strict=True)
    known = [probability * one.value for _, probability, one in kept if one.value is not None]
    open_ends = [name for name, _, one in kept if None in (one.low, one.high)]
    lows, highs = ([getattr(one, end) for _, _, one in kept] for end in ("low", "high"))
    return Estimate(
        value=sum(known) / sum(probabilities) if known else None,
        low=None if None in lows else min(lows),
        high=None if None in highs else max(highs),
        level=level,
        method="range over the forms not ruled out: " + ", ".join(sorted(names)),
        note=f"no end for {', '.join(open_ends)}" if open_ends else None,
    )


def compare_forms(law: Fit | LawFit) -> Comparison:
    """Fit every form to the evaluations of a law, and compare them.

    Parameters
    ----------
    law
        A fit of :func:`entropylaw.fit_law`, whose smoothed entropy, residual model and level are used.

    Notes
    -----
    Probabilities as in :func:`fit_forms`, separately for the forms of the entropy and those of the step; the
    odds are over all forms. The limit in steps is the reward to which the run tends if it continues
    unchanged; the reward at H = 0 is that without entropy. They are one number only where the entropy is
    spent.
    """
    law = law_of(law)
    step, entropy, reward = law.step, law.smoothed_entropy, law.reward
    grid, most = law.residual_covariances, largest(law)
    forms, skipped = all_forms(entropy, step)
    fits, degenerate = fit_each(forms, step, reward, grid)
    probability = _probabilities(fits)
    base, method = fits["law"].log_evidence, residual_model(law.interval).method
    # A run that lost its reward has none.
    none = law.ceiling if law.ceiling.value is None else None
    rows = (
        FormResult(
            **described(fit, probability[name], reward, law.level),
            ceiling=none or from_mixture(at_most(ceiling_of(fit), most), level=law.level, method=method),
            variable=fit.form.variable,
            log_odds=fit.log_evidence - base,
        )
        for name, fit in fits.items()
    )
    results = tuple(sorted(rows, key=lambda row: (row.variable, *most_probable_first(row))))

    def over(*variables: str) -> Estimate | None:
        some = [(row.form, row.probability, row.ceiling) for row in results if row.variable in variables]
        return none or (range_over(some, law.level) if some else None)

    ceiling, limit, reach, reach_note = over("entropy"), over("step"), None, None
    assert ceiling is not None
    if none is not None:
        limit, reach_note = None, none.note
    elif entropy[-1] > SPENT * entropy.max():
        reach_note = (
            f"entropy is at {entropy[-1] / entropy.max():.0%} of its largest value (limit {SPENT:.0%}): "
            "the limit in steps is not the reward at H = 0"
        )
    elif limit is not None:
        reach = over("entropy", "step")

    def test(null: str, name: str) -> NestedTest:
        if name not in fits:
            note = "entropy has one branch"
            return NestedTest(null=null, alternative=name, p_value=None, method=_TEST, note=note)
        columns = FORMS[name].nested[null](fits[name].form.inputs)
        return nested_test(null, name, columns, step, reward, grid, law.interval)

    rate = fits["rate"]
    below = float(np.interp(1.0, rate.shape[:, 0], np.cumsum(rate.weight) - 0.5 * rate.weight, 0.0, 1.0))
    return Comparison(
        forms=results,
        skipped=skipped | degenerate,
        alike=tuple(r.form for r in results if r.form != "law" and abs(r.log_odds) <= np.log(STRONG)),
        law_test=test("law", "rate"),
        line_test=test("line", "rate"),
        branch_test=test("law", "branches"),
        rate_tail=2.0 * min(below, 1.0 - below),
        ceiling=ceiling,
        limit=limit,
        reach=reach,
        reach_note=reach_note,
    )


_TEST = "t of the added column"


def nested_test(
    null: str,
    alternative: str,
    columns: tuple[FloatArray, FloatArray],
    step: FloatArray,
    reward: FloatArray,
    grid: Grid,
    interval: str = "drift",
) -> NestedTest:
    """Test whether a form needs a second column: two-sided test that its coefficient is 0.

    For a form nested in a nonlinear one the second column is the larger form's derivative at the nested
    form: H·exp(H) for the law (k = 1), H² for the line (k = 0). That is the P test of Davidson &
    MacKinnon 1981, doi:10.2307/1911522. It is linear, so that it keeps its size where the slope is near 0 and
    k is not identified (Davies 1977, doi:10.1093/biomet/64.2.247); a likelihood ratio does not.

    For one covariance the p-value is that of the textbook t test. With drift integrated out it is twice the
    posterior tail probability of the coefficient's sign: the actual size is below the nominal one where
    drift is short, somewhat above it where it is long.
    """
    method = f"{_TEST}, {residual_model(interval).method}"
    designs = design(*columns)[None]
    if reward.size <= 3 or not independent(designs[0]):
        why = "the two columns are not independent on this run"
        return NestedTest(null=null, alternative=alternative, p_value=None, method=method, note=why)
    (posterior,) = infer(step, designs, reward[None], grid)
    # Both tails are computed: one minus the larger would lose all digits of a small one.
    sides = posterior.functional(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]))
    p_value = min(1.0, 2.0 * float(sides.cdf(np.zeros(2)).min()))
    return NestedTest(null=null, alternative=alternative, p_value=p_value, method=method)
