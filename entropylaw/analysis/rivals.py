"""The law against its rivals on the same evaluations, by marginal likelihood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropylaw.analysis.course import course_for
from entropylaw.analysis.estimate import from_mixture, tails
from entropylaw.analysis.forms import FORMS, Inputs, design, entropy_forms
from entropylaw.analysis.propagate import infer_run
from entropylaw.analysis.residual import covariances
from entropylaw.analysis.residual_models import residual_model
from entropylaw.analysis.shapes import DEPENDENT, FormFit, fit_each
from entropylaw.analysis.stepforms import all_forms
from entropylaw.arguments import of_kind
from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.posterior import infer
from entropylaw.results import Estimate, Rival
from entropylaw.results.forms import Comparison, FormResult, NestedTest
from entropylaw.results.law import LawFit
from entropylaw.results.mixture import Mixture, normalised

PLAUSIBLE = 0.05
"""A form whose weight is below this is ruled out."""

TELLING = 20.0
"""Odds from which two forms count as told apart: "strong" in Kass & Raftery 1995,
doi:10.1080/01621459.1995.10476572."""

_LIGHT = 1e-9
"""Probability below which shapes and covariances of a form are not looked at any more."""

SPENT = 0.05
"""Entropy now over the largest of the run, up to which the limit in steps and the reward at H = 0 are one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormFits:
    """Posteriors of the forms R(H) on one run.

    ``fits`` has one entry per form, the law among them; ``weight`` maps a form to its posterior probability,
    equal before the data; ``skipped`` maps a form that the run cannot show to the reason.
    """

    fits: dict[str, FormFit]
    weight: dict[str, float]
    skipped: dict[str, str]


def fit_forms(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, grid: Grid, names: Iterable[str] | None = None
) -> FormFits:
    """Fit forms R(H) with the same residual model.

    The prior gives each form the same probability, is flat on the level, and flat on each further
    coefficient with the density of a uniform between plus and minus one standard deviation of the reward
    per standard deviation of the coefficient's column, less what the columns before it explain: no form
    can explain more than there is. (The coefficient itself is not cut off.)

    Parameters
    ----------
    step, entropy, reward
        Shape (n,): steps, smoothed entropy in nats, reward.
    grid
        The residual covariances, the same for every form, with what errors in the entropy add by the law.
    names
        Which of :data:`~entropylaw.analysis.forms.FORMS`, those of every fit where not given; and the law.
    """
    offered, reasons = entropy_forms(entropy)
    core = (name for name, kind in FORMS.items() if kind.core)
    wanted = {"law", *(core if names is None else names)}
    chosen = [form for form in offered if form.name in wanted]
    fits, degenerate = fit_each(chosen, step, reward, grid)
    skipped = {name: why for name, why in (reasons | degenerate).items() if name in wanted}
    return FormFits(fits=fits, weight=weights(fits), skipped=skipped)


def weights(fits: dict[str, FormFit]) -> dict[str, float]:
    """Posterior probability of each form among these, equal before the data."""
    weight, _ = normalised(np.array([fit.log_evidence for fit in fits.values()]))
    return dict(zip(fits, weight.tolist(), strict=True))


def ceiling_of(fit: FormFit) -> Mixture:
    """Distribution of a form's reward at H = 0, or of its limit in steps."""
    some = np.flatnonzero(fit.weight > _LIGHT)
    rows = fit.form.ceiling_row(fit.shape[some])
    each = fit.posteriors[some].pruned(_LIGHT).functional(rows)
    weight = fit.weight[some] / fit.weight[some].sum()
    return Mixture.of_one(weight[:, None] * each.weight, each.location, each.scale, each.df)


def posterior_mean(fit: FormFit, inputs: Inputs) -> FloatArray:
    """Posterior mean of a form's reward at inputs, shape (m,)."""
    some = np.flatnonzero(fit.weight > _LIGHT)
    slopes = fit.weight[some, None] * fit.posteriors[some].mean()
    return np.asarray(np.einsum("mnp,mp->n", fit.form.designs(inputs, fit.shape[some]), slopes))


def shape_estimate(fit: FormFit, number: int, level: float) -> Estimate:
    """Median and interval of one shape parameter, interpolated in its discrete distribution.

    An end that lies at the end of the parameter's range is no end at all, and is given as None.
    """
    shape = fit.form.shapes[number]
    points, place = np.unique(fit.shape[:, number], return_inverse=True)
    weight = np.bincount(place.ravel(), weights=fit.weight)
    edge = np.cumsum(weight) - 0.5 * weight
    below, _, above = tails(level)
    low, value, high = np.interp(tails(level), edge, points)
    open_low, open_high = edge[0] > below, edge[-1] < above
    reach = f"{shape.name} was searched in [{shape.low:.3g}, {shape.high:.3g}]"
    return Estimate(
        value=float(value),
        low=None if open_low else float(low),
        high=None if open_high else float(high),
        level=level,
        method="marginal likelihood over a grid",
        note=f"{reach} and the data do not bound it there" if open_low or open_high else None,
    )


def rivals_of(fits: FormFits, reward: FloatArray, *, level: float, method: str) -> tuple[Rival, ...]:
    """The rivals of the law, heaviest first."""
    rivals = (
        Rival(
            **_described(fit, fits.weight[name], reward, level, method),
            rate=shape_estimate(fit, 0, level) if FORMS[name].law_at is not None else None,
        )
        for name, fit in fits.fits.items()
        if name != "law"
    )
    return tuple(sorted(rivals, key=_heaviest_first))


def _heaviest_first(rival: Rival) -> tuple[float, str]:
    return -float(f"{rival.weight:.9g}"), rival.form


def _described(fit: FormFit, weight: float, reward: FloatArray, level: float, method: str) -> dict[str, Any]:
    """What a :class:`Rival` and a :class:`FormResult` say alike of a form."""
    residual = reward - posterior_mean(fit, fit.form.inputs)
    return {
        "form": fit.form.name,
        "formula": fit.form.formula,
        "parameters": fit.form.parameters,
        "ceiling": from_mixture(ceiling_of(fit), level=level, method=method),
        "weight": weight,
        "residual_sd": float(np.sqrt(residual @ residual / (residual.size - fit.form.parameters))),
        "ruled_out": weight < PLAUSIBLE,
    }


def range_over(kept: Sequence[tuple[str, float, Estimate]], level: float) -> Estimate:
    """From the lowest to the highest end of several intervals; the value is the mean by weight.

    ``kept`` holds name, weight and estimate. An end that is None for one of them is None for all, and the
    note says whose it is.
    """
    known = [weight * one.value for _, weight, one in kept if one.value is not None]
    open_ends = [name for name, _, one in kept if None in (one.low, one.high)]
    lows, highs = ([getattr(one, end) for _, _, one in kept] for end in ("low", "high"))
    return Estimate(
        value=sum(known) / sum(weight for _, weight, _ in kept) if known else None,
        low=None if None in lows else min(lows),
        high=None if None in highs else max(highs),
        level=level,
        method="range over the forms not ruled out: " + ", ".join(sorted(name for name, _, _ in kept)),
        note=f"no end for {', '.join(open_ends)}" if open_ends else None,
    )


def compare_forms(law: LawFit) -> Comparison:
    """Fit every form to the evaluations of a law, and say what the data tell apart.

    Parameters
    ----------
    law
        A fit of :func:`entropylaw.fit_law`: the forms see its smoothed entropy, residual model and level.

    Notes
    -----
    Weights as in :func:`fit_forms`, within the forms of the entropy and within those of the step. The odds
    go across. A limit in steps is what the run tends to if it goes on as it did; the reward at H = 0 is what
    it would have without entropy. They are one number only where the entropy is spent.
    """
    law = of_kind(law, LawFit, "law")
    step, entropy, reward = law.step, law.course, law.reward
    grid = residual_covariances(law)
    forms, skipped = all_forms(entropy, step)
    fits, degenerate = fit_each(forms, step, reward, grid)
    weight: dict[str, float] = {}
    for variable in ("entropy", "step"):
        weight |= weights({name: fit for name, fit in fits.items() if fit.form.variable == variable})
    base, method = fits["law"].log_evidence, residual_model(law.interval).method
    rows = (
        FormResult(
            **_described(fit, weight[name], reward, law.level, method),
            variable=fit.form.variable,
            log_odds=fit.log_evidence - base,
            shapes={s.name: shape_estimate(fit, i, law.level) for i, s in enumerate(fit.form.shapes)},
        )
        for name, fit in fits.items()
    )
    results = tuple(sorted(rows, key=lambda row: (row.variable, *_heaviest_first(row))))

    def over(*variables: str) -> Estimate | None:
        good = (row for row in results if row.variable in variables if not row.ruled_out)
        kept = [(row.form, row.weight, row.ceiling) for row in good]
        return range_over(kept, law.level) if kept else None

    ceiling, limit, reach, reach_note = over("entropy"), over("step"), None, None
    assert ceiling is not None
    if entropy[-1] > SPENT * entropy.max():
        reach_note = (
            f"entropy stands at {entropy[-1] / entropy.max():.0%} of its largest value (limit {SPENT:.0%}): "
            "the limit in steps is not the reward at H = 0"
        )
    elif limit is not None:
        reach = over("entropy", "step")
    tests = {
        (null, name): nested_test(null, name, columns(fit.form.inputs), step, reward, grid, law.interval)
        for name, fit in fits.items()
        if name in FORMS
        for null, columns in FORMS[name].nested.items()
    }
    one_branch = NestedTest(
        null="law", alternative="branches", p_value=None, method=_TEST, note="entropy has one branch"
    )
    rate = fits["rate"]
    below = float(np.interp(1.0, rate.shape[:, 0], np.cumsum(rate.weight) - 0.5 * rate.weight, 0.0, 1.0))
    return Comparison(
        forms=results,
        skipped=skipped | degenerate,
        alike=tuple(r.form for r in results if r.form != "law" and abs(r.log_odds) <= np.log(TELLING)),
        law_test=tests["law", "rate"],
        line_test=tests["line", "rate"],
        branch_test=tests.get(("law", "branches"), one_branch),
        rate_tail=2.0 * min(below, 1.0 - below),
        ceiling=ceiling,
        limit=limit,
        reach=reach,
        reach_note=reach_note,
    )


def residual_covariances(law: LawFit) -> Grid:
    """The residual covariances that a law was fitted with, with what errors in the entropy add."""
    grid = covariances(law.step, law.course, law.reward, law.interval, law.eval_size)
    if law.entropy_noise is None and law.entropy_sd is None:
        return grid
    course = course_for(residual_model(law.interval), law.entropy, law.step, law.entropy_sd)
    inferred = infer_run(law.step, course, law.reward, grid, law.interval)
    return grid if inferred is None else inferred.blurred(grid)


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
    """Test whether a form needs a second column: its coefficient against 0, two-sided.

    For a form inside a nonlinear one the second column is the larger form's derivative where it is the
    smaller one: H·exp(H) for the law (k = 1), H² for the line (k = 0). That is the P test of Davidson &
    MacKinnon 1981, doi:10.2307/1911522. It is linear, so that its size does not suffer where the slope is
    near 0 and k means nothing (Davies 1977, doi:10.1093/biomet/64.2.247), as a likelihood ratio does.

    For one covariance the p-value is that of the textbook t test. With drift integrated out it is twice the
    posterior tail probability of the coefficient's sign: it rejects a true form less often than it says where
    drift is short, somewhat more often where it is long.
    """
    method = f"{_TEST}, {residual_model(interval).method}"
    designs = design(*columns)[None]
    left = np.abs(np.diagonal(np.linalg.qr(designs[0], mode="r")))
    if reward.size <= 3 or not np.all(left > DEPENDENT * np.linalg.norm(designs[0], axis=0)):
        why = "the run cannot tell the two columns apart"
        return NestedTest(null=null, alternative=alternative, p_value=None, method=method, note=why)
    (posterior,) = infer(step, designs, reward[None], grid)
    # Each tail for itself: one less the other has no digits left where it is small.
    sides = posterior.functional(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]))
    p_value = min(1.0, 2.0 * float(sides.cdf(np.zeros(2)).min()))
    return NestedTest(null=null, alternative=alternative, p_value=p_value, method=method)
