"""Two phases: change points of entropy curves, their order, and findings that may look like one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from entropylaw.analysis.changepoint import (
    NOW,
    blocked,
    checked_test_level,
    difference,
    fit_curve,
    of_points,
    place_points,
)
from entropylaw.analysis.groups import random_effects
from entropylaw.analysis.law.estimates import checked_level
from entropylaw.analysis.law.evaluations import check_scale, check_steps
from entropylaw.analysis.level_shift import shifts_of
from entropylaw.analysis.members import level_now
from entropylaw.arguments import as_floats, several
from entropylaw.engine.changepoint import FIRST, LAST
from entropylaw.errors import FitError
from entropylaw.results import Estimate
from entropylaw.results.arrays import FloatArray
from entropylaw.results.groups import LevelShift
from entropylaw.results.phases import CURVES, ChangePoint, CurvePhases, PhaseFit, PhasesAcross
from entropylaw.results.result import Finding, caution, note

FEWEST_RUNS = 3
"""Fewest change points for a mean over runs."""

MOST_NAMED = 3
"""Largest number of outliers listed in a caution."""

LEVEL = 0.95
"""Coverage of the intervals of level shifts, which are not shown."""


def fit_phases(
    step: Any,
    planning: Any = None,
    execution: Any = None,
    *,
    aggregate: Any = None,
    planning_share: Any = None,
    length: Any = None,
    level: float = 0.95,
    run: str = "run",
) -> PhaseFit:
    """Look for a change point in the entropies of planning and of execution tokens.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing.
    planning, execution
        Shape (n,), entropies in nats, nan where a step has none. Any quantity that decays can take the place
        of either, for example the semantic entropy of plans.
    aggregate
        Shape (n,): entropy of all tokens. Together with the two others it gives their share of the tokens;
        without them it is fitted as one curve.
    planning_share
        Shape (n,): share of planning tokens among all, where it is known.
    length
        Shape (n,): mean response length. A level shift in it is a caution.
    level
        Coverage of every interval; the test is at 1 − level.
    run
        Name of the run in the result.

    Raises
    ------
    FitError
        ``too-few-points``, ``steps-not-increasing``, ``lengths-differ``, ``entropy-negative``,
        ``entropy-constant``, ``no-phase-curve``.
    UsageError
        ``bad-level``.

    Notes
    -----
    *The test.* One smooth decay to a floor (:data:`entropylaw.engine.changepoint.FAMILIES`) against the same
    with a sharp change point, drift and noise integrated out. The statistic is the log of the evidence for a
    change point, averaged over its step; its null distribution is simulated from the fitted decay, with
    covariances drawn by their probability under both hypotheses, and the p-value is corrected by one more
    simulation from each (fast double bootstrap, Davidson & MacKinnon 2007, doi:10.1016/j.csda.2006.04.001).
    With a straight line as null every decay would have a change point. The seed is derived from the data.

    *The change point.* Given that there is one: its posterior over steps and widths with flat priors and a
    flat coefficient; the interval is its most probable steps. Points beyond
    :data:`entropylaw.analysis.changepoint.MOST` are averaged in blocks.

    *The order* takes the two curves as independent given their own fits. A decay that levels off smoothly has
    no change point; ``after_fall`` compares planning's with the step of 95 % of execution's fall.

    *Entropy now*, and planning's share of it, are the local levels at the last step, not values of the
    fitted curves.
    """
    level = checked_test_level(level)
    s = as_floats(step, "step")
    columns = {"planning": planning, "execution": execution, "aggregate": aggregate}
    columns |= {"planning_share": planning_share, "length": length}
    given = {name: _column(s, values, name) for name, values in columns.items() if values is not None}
    if not CURVES.keys() & given.keys():
        raise FitError("no-phase-curve", "no curve of entropy was given, expected at least one", "give one")
    # With either class the curve of all tokens only gives their shares.
    chosen = [name for name in given if name in ("planning", "execution")] or ["aggregate"]
    curves: dict[str, CurvePhases] = {}
    for name in chosen:  # execution last: the steps of its fall are needed below
        curves[name], settled = fit_curve(s, given[name], name, level)
    findings = phase_cautions(s, given, curves)
    order: dict[str, Any] = dict.fromkeys(("delta", "later", "verdict", "share_planning"))
    if len(chosen) == 2:
        order |= _order(curves, settled, level, findings)
        order["share_planning"], unknown = _planning_share(given, curves, level)
        findings += [note("planning-share-unknown", why=unknown)] if unknown else []
    elif "aggregate" in curves:
        findings.append(note("classes-not-separable"))
    else:
        findings.append(note("one-curve", curve=chosen[0]))
    return PhaseFit(
        run=run,
        planning=curves.get("planning"),
        execution=curves.get("execution"),
        aggregate=curves.get("aggregate"),
        **order,
        level=level,
        findings=tuple(findings),
        dropped={
            f"no entropy of {CURVES[name]} at that step": missing
            for name in chosen
            if (missing := int(np.isnan(given[name]).sum()))
        },
    )


def _column(step: FloatArray, values: Any, name: str) -> FloatArray:
    """A checked column as floats: an entropy of one of :data:`CURVES`, a share or a length."""
    column = as_floats(values, name)
    what = f"entropies of {CURVES[name]}" if name in CURVES else name
    if column.size != step.size:
        raise FitError(
            "lengths-differ",
            f"{column.size} values of {what} and {step.size} steps, expected one of each",
            "pass arrays of the same length",
        )
    finite = np.isfinite(column)
    check_scale(what, column[finite])
    if name not in CURVES:
        return column
    check_steps(step)
    least = float(column[finite].min(initial=0.0))
    if least < -1e-6:
        raise FitError(
            "entropy-negative",
            f"the entropy of {CURVES[name]} goes down to {least:.3g}, expected none below 0",
            "an entropy over a vocabulary is never negative: check the sign, or name another column",
        )
    return np.where(finite, column, np.nan)


def _order(
    curves: dict[str, CurvePhases], settled: FloatArray | None, level: float, findings: list[Finding]
) -> dict[str, Any]:
    """The fields of a :class:`PhaseFit` on the order of both change points; adds to ``findings``.

    ``settled`` are equally probable steps by which execution has made most of its fall.
    """
    plan, act = curves["planning"], curves["execution"]
    turn, order = place_points(plan.change_point), dict[str, Any]()
    if settled is not None and plan.found:
        order["after_fall"] = difference(turn, settled, level)[0]
    if lacking := tuple(name for name, curve in curves.items() if not curve.found):
        findings.append(note("no-boundary", curves=lacking))
        return order | {"verdict": "one boundary" if len(lacking) == 1 else "no boundary"}
    delta, later = difference(turn, place_points(act.change_point), level)
    assert delta.low is not None
    assert delta.high is not None
    first = "execution first" if delta.low > 0 else "planning first" if delta.high < 0 else "overlapping"
    return order | {"delta": delta, "later": later, "verdict": first}


def _planning_share(
    given: dict[str, FloatArray], curves: dict[str, CurvePhases], level: float
) -> tuple[Estimate | None, str | None]:
    """Planning's share of all entropy now, or the reason why it is unknown.

    Its share of the tokens is the median over the last tenth of the run.
    """
    shares, why = given.get("planning_share"), "no-value"
    logged = shares is not None
    if shares is None:
        if "aggregate" not in given:
            return None, "no-column"
        # H is the mean over the tokens of both classes, so that the three entropies give the share.
        apart = given["planning"] - given["execution"]
        with np.errstate(all="ignore"):
            ratio = (given["aggregate"] - given["execution"]) / apart
        shares, why = np.where(np.abs(apart) > 1e-3, ratio, np.nan), "same-entropy"
    there = shares[np.isfinite(shares)]
    if not there.size:
        return None, why
    share = float(np.median(there[-max(1, there.size // 10) :]))
    if not (logged or 0 <= share <= 1):
        return None, "not-between"
    points = ((np.arange(101) + 0.5) / 101).tolist()
    plan, act = (
        np.maximum(level_now(curves[name].step, curves[name].entropy).quantiles(points)[:, 0], 0.0)
        for name in ("planning", "execution")
    )
    of_plan, of_act = share * plan[:, None], (1.0 - share) * act
    with np.errstate(invalid="ignore"):
        parts = (of_plan / (of_plan + of_act)).ravel()
    if not np.isfinite(parts).all():
        return None, "no-entropy"
    return of_points(parts, level, f"both levels now, {NOW}"), None


def combine_phases(fits: Sequence[PhaseFit], *, level: float | None = None) -> PhasesAcross:
    """Phases over several runs.

    Parameters
    ----------
    fits
        At least one; runs without both curves are left out, with a note.
    level
        Coverage of the intervals; the first fit's where not given.

    Raises
    ------
    FitError
        ``no-phase-curve`` where no run has both curves.

    Notes
    -----
    The share of runs with both change points has Wilson's interval (1927,
    doi:10.1080/01621459.1927.10502953). Change points are shares of each run's span, the same for both
    curves, with the sd of their own posterior as standard error; their mean is that of
    :func:`entropylaw.analysis.groups.random_effects`. Only change points that the test detected are included.
    """
    fits = several(fits, PhaseFit, "fits")
    both = [(fit.planning, fit.execution) for fit in fits if fit.planning and fit.execution]
    if not both:
        raise FitError(
            "no-phase-curve", f"none of {len(fits)} runs has both curves, expected one at least", "name both"
        )
    level = checked_level(fits[0].level if level is None else level)
    left = len(fits) - len(both)
    findings = [note("runs-with-one-curve", left=left, runs=len(fits))] if left else []
    # Mean and variance of both change points and of their difference, (runs, 3, 2), and which were found.
    moments, found = np.empty((len(both), 3, 2)), np.empty((len(both), 3), dtype=bool)
    for i, (plan, act) in enumerate(both):
        first = min(plan.first_step, act.first_step)
        span = max(plan.last_step, act.last_step) - first
        moments[i, 0] = one = _moments(plan.change_point, first, span)
        moments[i, 1] = other = _moments(act.change_point, first, span)
        moments[i, 2] = one[0] - other[0], one[1] + other[1]
        found[i] = plan.found, act.found, plan.found & act.found
    means: dict[str, Estimate | None] = {"planning": None, "execution": None, "delta": None}
    for i, name in enumerate(means):
        value, variance = moments[found[:, i], i].T
        if value.size >= FEWEST_RUNS:
            means[name] = random_effects(value, np.maximum(variance, 1e-12), level=level)[0]
        else:
            counts = {"found": value.size, "runs": len(both), "needed": FEWEST_RUNS}
            findings.append(note("too-few-boundaries", quantity=name, **counts))
    turned, rising = int(found[:, 2].sum()), sum(fit.rises_after for fit in fits)
    return PhasesAcross(
        runs=len(both),
        both=turned,
        share_both=wilson(turned, len(both), level),
        rises_after=rising,
        share_rises_after=wilson(rising, len(both), level),
        **means,
        findings=tuple(findings),
    )


def _moments(change_point: ChangePoint, first: float, span: float) -> tuple[float, float]:
    """Mean and variance of a change point as a share of a span that begins at ``first``."""
    share = (change_point.places - first) / span
    mean = float(change_point.density @ share)
    return mean, float(change_point.density @ (share - mean) ** 2)


def wilson(count: int, total: int, level: float) -> Estimate:
    """A share with Wilson's score interval."""
    from scipy.stats import binomtest  # slow to import

    ends = binomtest(count, total).proportion_ci(level, method="wilson")
    return Estimate(
        value=count / total,
        low=float(ends.low),
        high=float(ends.high),
        level=level,
        method="Wilson's score interval",
    )


def phase_cautions(
    step: FloatArray, given: dict[str, FloatArray], curves: dict[str, CurvePhases]
) -> list[Finding]:
    """Cautions about what may look like a change point; ``given`` has the columns as logged."""
    findings: list[Finding] = []
    found = False
    for name, curve in curves.items():
        findings += _curve_cautions(step, given[name], curve, CURVES[name])
        found |= curve.found
    if {"planning", "execution"} <= curves.keys():
        both = np.isfinite(given["planning"]) & np.isfinite(given["execution"])
        if both.any() and np.array_equal(given["planning"][both], given["execution"][both]):
            findings.append(caution("curves-equal"))
    length = given.get("length", np.empty(0))
    values = length[np.isfinite(length)]
    if values.size:
        shifts = shifts_of(*blocked(step[np.isfinite(length)], values), "length", LEVEL)
        findings += [_shift_caution(one, "the response length", found) for one in shifts]
    if third := values.size // 3:
        before, after = float(np.median(values[:third])), float(np.median(values[-third:]))
        if before > 0 and not 0.5 < after / before < 1.5:
            findings.append(caution("length-changes", before=before, after=after))
    return findings


def _curve_cautions(step: FloatArray, entropy: FloatArray, curve: CurvePhases, name: str) -> list[Finding]:
    """Single outliers, and a change point that is gradual, at the edge, or next to a level shift."""
    there = np.isfinite(entropy)
    s, y = step[there], entropy[there]
    at, findings = far_off(y), []
    if at.size:
        findings.append(
            caution(
                "points-far-off",
                curve=name,
                values=tuple(y[at[:MOST_NAMED]].tolist()),
                steps=tuple(s[at[:MOST_NAMED]].tolist()),
                others=max(at.size - MOST_NAMED, 0),
                vocabulary=bool(y[at].max() > 9.5),  # ln(13 000)
            )
        )
    if curve.found:
        place, width = curve.change_point, curve.change_point.width.value
        assert place.searched is not None
        assert width is not None
        if width >= 0.5 * float(curve.step[-1] - curve.step[0]):
            findings.append(caution("boundary-gradual", curve=name, width=width))
        first, last = place.searched
        if place.intervals[0][0] <= first or place.intervals[-1][1] >= last:
            searched = {"from_share": FIRST, "to_share": LAST, "first": first, "last": last}
            findings.append(caution("boundary-at-edge", curve=name, **searched))
    # A steep start looks like a level shift in the entropies, and a change point looks like one in the
    # residuals of a smooth decay. A true level shift is in the residuals of both fits.
    plain, bent = (
        shifts_of(curve.step, curve.entropy - fitted, curve.name, LEVEL)
        for fitted in (curve.decay, curve.fitted)
    )
    ours, others = (np.searchsorted(curve.step, [shift.step for shift in one]) for one in (plain, bent))
    near = (np.abs(ours[:, None] - others) <= 1).any(axis=1)
    return findings + [_shift_caution(plain[i], name, curve.found) for i in np.flatnonzero(near)]


def _shift_caution(shift: LevelShift, name: str, found: bool) -> Finding:
    """A level shift of a series; ``found`` says whether there is a change point that it may have made."""
    where = {"jump": shift.jump.value, "after": shift.after, "step": shift.step}
    return caution("series-jumps", series=name, boundary=found, **where)


def far_off(values: FloatArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Indices of the single values that are far from their neighbours.

    A value is compared with the 8 nearest to it, half on either side where there are as many. It is far off
    if its distance from their median is more than 3 times their range (8 times for the first and the last
    value, because a decay may start steeply), and more than each of: 10 robust standard deviations of that
    distance over the whole run (1.4826 times its median); 0.05 of the run's range, from the 5th to the 95th
    percentile; 5 times the smallest difference of two values, which in a log with two decimals is its last
    digit.
    """
    n = values.size
    if n <= 8:
        return np.empty(0, dtype=np.int64)
    nearest = np.clip(np.arange(n) - 4, 0, n - 9)[:, None] + np.arange(8)
    nearest += nearest >= np.arange(n)[:, None]
    neighbours = values[nearest]
    distance = np.abs(values - np.median(neighbours, axis=1))
    low, high = np.quantile(values, (0.05, 0.95))
    unit = float(np.diff(np.unique(values)).min(initial=np.ptp(values)))
    scale = max(10.0 * 1.4826 * float(np.median(distance)), 0.05 * float(high - low), 5.0 * unit)
    times = np.full(n, 3.0)
    times[[0, -1]] = 8.0
    return np.flatnonzero((distance > times * np.ptp(neighbours, axis=1)) & (distance > scale))
