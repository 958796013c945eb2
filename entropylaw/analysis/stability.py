"""What the answer of a run rests on: the fit again without its first evaluations.

Reward often jumps at nearly constant entropy while a format is learned, and a few first evaluations may then
decide which curve fits.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from entropylaw.analysis.averaging import averaged_ceiling, needed_term
from entropylaw.analysis.conditions import at_most
from entropylaw.analysis.forms import design
from entropylaw.analysis.law.estimates import from_mixture
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.analysis.law.verdict import Columns, added_column, law_tests, r_squared, rule
from entropylaw.analysis.rivals import FormFit, FormFits, fit_forms
from entropylaw.arrays import FloatArray
from entropylaw.engine.posterior import Rows, Solver, spread_rows
from entropylaw.results import Why
from entropylaw.results.fit import Cut
from entropylaw.results.law import LawFit
from entropylaw.results.result import replace

CUTS = ((0.05, 1), (0.1, 2), (0.2, 4))
"""Shares of the evaluations that are left out at the start, and the least number of each."""

REMAINING = 12
"""Fewest evaluations that a fit without the first ones needs."""

OFF_THE_CURVE = 0.025
"""p-value below which the first evaluations are off the curve of the others."""

_UNLIKELY = 0.01
"""Probability below which a form is left out of the test."""


def off_the_curve(fit: LawFit, solver: Solver) -> bool:
    """Whether first evaluations may be off the curve of the others: without that no answer rests on them.

    The p-values are those of :func:`first_evaluations` beside (1, H, H², H³), which are lower bounds.
    ``solver`` is that of the run.
    """
    known = [p for p in added_column(solver, first_designs(fit)) if p is not None]
    return min(known, default=1.0) < OFF_THE_CURVE


def first_designs(fit: LawFit) -> list[Columns]:
    """Of every cut (1, H, H², H³) with each column of the first evaluations, (n, 5) each."""
    return [
        _beside(lambda rows: _flexible(fit, rows), column)
        for _, first in _firsts(fit.n)
        for column in _first_columns(fit.n, first)
    ]


def _beside(curve: Columns, column: FloatArray) -> Columns:
    """A design with one more column (n,)."""
    return lambda rows: np.column_stack([curve(rows), column[rows]])


def most_probable(fit: FormFit) -> Columns:
    """The design of a form at its most probable shape."""
    return lambda rows: fit.form.designs(fit.form.at(rows), fit.shape[[fit.best]])[0]


def _firsts(n: int) -> list[tuple[float, int]]:
    """The shares that are left out, with their numbers of evaluations."""
    cuts = ((share, max(least, ceil(share * n))) for share, least in CUTS)
    return [(share, first) for share, first in cuts if n - first >= REMAINING]


def _first_columns(n: int, first: int) -> list[FloatArray]:
    """A level of the first evaluations, and a column that falls from 1 to 0 over them, (n,) each."""
    number = np.arange(n)
    return [(number < first).astype(float), np.maximum(1.0 - number / first, 0.0)]


def _flexible(fit: LawFit, rows: Rows) -> FloatArray:
    h = fit.smoothed_entropy[rows]
    return design(h, h**2, h**3)


def rests_on(fit: LawFit, fits: FormFits, *, most: float | None = None) -> tuple[Cut, ...]:
    """The verdict and the averaged ceiling again without the first 5, 10 and 20 % of the evaluations.

    At least 1, 2 and 4 evaluations are left out; a cut after which fewer than :data:`REMAINING` are left is
    none, and after the first on which the answer rests there is no other.

    Parameters
    ----------
    fit, fits
        The fit of the law, and the forms on the same evaluations; the smoothed entropy and the residual
        covariances are those of the whole run.
    most
        The largest reward that is possible, where it is known.
    """
    cuts: list[Cut] = []
    for share, first in _firsts(fit.n):
        if not np.ptp(fit.reward[first:]) or not np.ptp(fit.smoothed_entropy[first:]):
            break  # nothing is left to fit
        cuts.append(without_first(fit, fits, share, first, most))
        if cuts[-1].changed:
            break  # more evaluations are off the curve because these are
    return tuple(cuts)


def without_first(fit: LawFit, fits: FormFits, share: float, first: int, most: float | None) -> Cut:
    """The answer without the first evaluations, as :func:`rests_on` describes it."""
    grid = fit.residual_covariances
    errors = grid.errors if grid.errors is None else replace(grid.errors, root=grid.errors.root[first:])
    grid = replace(grid.at(slice(first, None)), errors=errors)
    step, entropy, reward = (each[first:] for each in (fit.step, fit.smoothed_entropy, fit.reward))
    rest = fit_forms(step, entropy, reward, grid)
    bounded = at_most(rest, most)
    tests = law_tests(step, entropy, reward, grid, rest, bounded)
    level, method = fit.level, f"averaged over forms; {residual_model(fit.interval).method}"
    a = from_mixture(
        rest.fits["law"].posteriors[0].functional(np.array([[0.0, 1.0]])), level=level, method=method
    )
    found, why = rule(
        tests,
        a,
        n=step.size,
        span=float(np.ptp(entropy)),
        r_squared=r_squared(fit.entropy[first:], reward),
        among_forms=bounded.probability["law"],
    )
    p_first = first_evaluations(fit, fits, rest.probability, first)
    if why is Why.more_than_entropy:
        present = fit_forms(step, entropy, reward, grid, term=needed_term(step, tests))
        bounded = at_most(present, most)
    return Cut(
        share=share,
        dropped=first,
        first_step=float(step[0]),
        verdict=found,
        why=why,
        ceiling=averaged_ceiling(bounded, level=level, method=method),
        p_first=p_first,
        changed=p_first is not None and p_first < OFF_THE_CURVE,
    )


def first_evaluations(fit: LawFit, fits: FormFits, probability: dict[str, float], first: int) -> float | None:
    """p-value of a difference between the first evaluations and the curve of the run; None where unknown.

    Two columns are tested, each beside the curve: a level of the first evaluations, and one that falls from 1
    to 0 over them. Of each the p-value is the larger of that beside (1, H, H², H³) and that beside the forms,
    averaged by ``probability``: which they have without those evaluations, so that no form is preferred for
    describing them. Shapes are the most probable ones of the whole run. The smaller of the two is returned.
    """
    likely = {name: p for name, p in probability.items() if p >= _UNLIKELY and name in fits.fits}
    curves: list[Columns] = [lambda rows: _flexible(fit, rows)]
    curves += [most_probable(fits.fits[name]) for name in likely]
    designs = [_beside(curve, column) for curve in curves for column in _first_columns(fit.n, first)]
    rows = spread_rows(fit.smoothed_entropy)
    found = added_column(Solver(fit.step, fit.reward, fit.residual_covariances, rows), designs)
    flexible, *each = np.array(found, dtype=float).reshape(-1, 2)
    share = np.array(list(likely.values())) / sum(likely.values())
    p_values = np.fmax(share @ np.array(each), flexible)
    known = p_values[np.isfinite(p_values)]
    return float(known.min()) if known.size else None
