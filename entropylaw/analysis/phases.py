"""Two phases: turning points of entropy curves, their order, and findings that may look like one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from entropylaw.analysis.between_seeds import random_effects
from entropylaw.analysis.law.estimates import checked_level, tails
from entropylaw.analysis.law.evaluations import check_scale, check_steps
from entropylaw.analysis.level_shift import shifts_of
from entropylaw.analysis.turning_point import (
    NOW,
    Fitted,
    blocked,
    checked_test_level,
    draws_of,
    fit_curve,
    of_points,
    tested,
)
from entropylaw.arguments import as_floats, several
from entropylaw.arrays import FloatArray
from entropylaw.engine.local_level import level_now
from entropylaw.engine.threads import one_thread
from entropylaw.errors import FitError
from entropylaw.results import Estimate
from entropylaw.results.groups import LevelShift
from entropylaw.results.phases import (
    CURVES,
    LONG_DRIFT,
    CurvePhases,
    PhaseFit,
    PhasesAcross,
    RunTurns,
    gaps,
    stricter,
)
from entropylaw.results.result import Finding, caution, note

FEWEST_RUNS = 3
"""Fewest turning points for a mean over runs."""

MOST_NAMED = 3
"""Largest number of outliers, and of gaps, listed in a caution."""

LEVEL = 0.95
"""Coverage of the intervals of level shifts, which are not shown."""


@one_thread
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
    """Look for a turn in the entropies of planning and of execution tokens.

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
    *The test* has no model of the decay (:mod:`entropylaw.engine.windows`). "Turns to rise" needs a window
    over which the curve falls, and after its end another over which it rises, both significant among all
    windows; its null hypothesis is every curve that never rises after a fall. "Falls a second time" needs a
    convex window and then a concave one; a decay that merely flattens is convex, and nothing is claimed of
    it. Drift and noise are integrated out, their covariances estimated beside splines
    (:mod:`entropylaw.engine.trend`). Where the drift's likely length is a good part of the run,
    the test is stricter (:data:`entropylaw.results.phases.STRICTER`). Points beyond
    :data:`entropylaw.analysis.turning_point.MOST_POINTS` are averaged in blocks.

    *The turning point and the rise* are those of draws of the curve. The two curves are drawn together, with
    the correlation of their residuals; *the order* follows from the difference of the basins.

    *Entropy now*, and planning's share of it, are the local levels at the last step, not values of the
    fitted curves.
    """
    level = checked_test_level(level)
    s = as_floats(step, "step")
    columns = {"planning": planning, "execution": execution, "aggregate": aggregate}
    columns |= {"planning_share": planning_share, "length": length}
    logged = {name: checked_column(s, values, name) for name, values in columns.items() if values is not None}
    if not CURVES.keys() & logged.keys():
        raise FitError("no-phase-curve", "no curve of entropy was given, expected at least one", "give one")
    # With either class the curve of all tokens only gives their shares.
    chosen = [name for name in logged if name in ("planning", "execution")] or ["aggregate"]
    tests = [tested(s, logged[name], name, level) for name in chosen]
    fitted, curves = dict[str, Fitted](), dict[str, CurvePhases]()
    for test, normal in zip(tests, draws_of(tests), strict=True):
        fitted[test.name] = fit_curve(test, level, normal)
        curves[test.name] = fitted[test.name].curve
    findings = phase_cautions(s, logged, curves)
    order: dict[str, Any] = dict.fromkeys(("delta", "later", "verdict", "share_planning"))
    if len(chosen) == 2:
        order |= order_of_turns(fitted["planning"], fitted["execution"], level, findings)
        order["share_planning"], unknown = share_of_entropy(logged, curves, level)
        if unknown:
            findings.append(note("planning-share-unknown", why=unknown))
    else:
        findings.append(one_curve(chosen[0]))
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
            if (missing := int(np.isnan(logged[name]).sum()))
        },
    )


def one_curve(name: str) -> Finding:
    """What a single curve does not show."""
    return note("classes-not-separable") if name == "aggregate" else note("one-curve", curve=name)


def checked_column(step: FloatArray, values: Any, name: str) -> FloatArray:
    """A checked column as floats: an entropy of one of :data:`CURVES`, a share or a length."""
    column = as_floats(values, name)
    quantity = f"entropies of {CURVES[name]}" if name in CURVES else name
    if column.size != step.size:
        raise FitError(
            "lengths-differ",
            f"{column.size} values of {quantity} and {step.size} steps, expected one of each",
            "pass arrays of the same length",
        )
    finite = np.isfinite(column)
    check_scale(quantity, column[finite])
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


def order_of_turns(plan: Fitted, act: Fitted, level: float, findings: list[Finding]) -> dict[str, Any]:
    """The fields of a :class:`PhaseFit` on the order of both turning points; adds to ``findings``."""
    order = dict[str, Any]()
    if act.fall.size and plan.curve.rises:
        order["after_fall"] = _apart(plan.turn, act.fall, level)
    if lacking := tuple(fitted.curve.name for fitted in (plan, act) if not fitted.curve.rises):
        findings.append(note("no-turning-point", curves=lacking))
        return order | {"verdict": "one turns to rise" if len(lacking) == 1 else "none turns to rise"}
    delta = _apart(plan.turn, act.turn, level)
    assert delta.low is not None
    assert delta.high is not None
    first = "execution first" if delta.low > 0 else "planning first" if delta.high < 0 else "overlapping"
    ahead, behind = plan.turn[:, 0], act.turn[:, 0]
    later = float((ahead > behind).mean() + 0.5 * (ahead == behind).mean())
    return order | {"delta": delta, "later": later, "verdict": first}


def _apart(first: FloatArray, second: FloatArray, level: float) -> Estimate:
    """The difference of two turning points by their draws (d, 3).

    Its interval is that of the difference of the middles of the two basins, and on either side half of the
    width of each: the steps of a basin are all as low, which is no random error that could cancel.
    """
    tail, middle, _ = tails(level)
    value = float(np.quantile(first[:, 0] - second[:, 0], middle))
    gap = 0.5 * (first[:, 1] + first[:, 2] - second[:, 1] - second[:, 2])
    reach = 0.5 * float(np.median(first[:, 2] - first[:, 1] + second[:, 2] - second[:, 1]))
    low, high = np.quantile(gap, [tail, 1.0 - tail]) + np.array([-reach, reach])
    return Estimate(
        value=value,
        low=float(min(low, value)),
        high=float(max(high, value)),
        level=level,
        method="from the basins, both curves drawn together",
        std_error=float(np.std(first[:, 0] - second[:, 0])),
    )


def share_of_entropy(
    given: dict[str, FloatArray], curves: dict[str, CurvePhases], level: float
) -> tuple[Estimate | None, str | None]:
    """Planning's share of all entropy now, or the reason why it is unknown.

    Its share of the tokens is the median over the last tenth of the run.
    """
    shares, reason = given.get("planning_share"), "no-value"
    logged = shares is not None
    if shares is None:
        if "aggregate" not in given:
            return None, "no-column"
        # H is the mean over the tokens of both classes, so that the three entropies give the share.
        apart = given["planning"] - given["execution"]
        with np.errstate(all="ignore"):
            ratio = (given["aggregate"] - given["execution"]) / apart
        shares, reason = np.where(np.abs(apart) > 1e-3, ratio, np.nan), "same-entropy"
    there = shares[np.isfinite(shares)]
    if not there.size:
        return None, reason
    share = float(np.median(there[-max(1, there.size // 10) :]))
    if not (logged or 0 <= share <= 1):
        return None, "not-between"
    points = ((np.arange(101) + 0.5) / 101).tolist()
    plan, act = (
        np.maximum(level_now(curves[name].step, curves[name].entropy).quantiles(points), 0.0)
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
    Shares of runs have Wilson's interval (1927, doi:10.1080/01621459.1927.10502953). Turning points are
    shares of each run's span, the same for both curves, with their standard error; their mean is that of
    :func:`entropylaw.analysis.between_seeds.random_effects`. Only curves that turn to rise are included.
    """
    fits = several(fits, PhaseFit, "fits")
    turns = [of_run for fit in fits if (of_run := fit.turns) is not None]
    if not turns:
        raise FitError(
            "no-phase-curve", f"none of {len(fits)} runs has both curves, expected one at least", "name both"
        )
    return combine_turns(turns, runs=len(fits), level=fits[0].level if level is None else level)


def combine_turns(each: Sequence[RunTurns], *, runs: int, level: float) -> PhasesAcross:
    """As :func:`combine_phases`, from the turns alone; ``runs`` counts those with one curve, too."""
    level = checked_level(level)
    findings = [note("runs-with-one-curve", left=runs - len(each), runs=runs)] if runs > len(each) else []
    estimates = {
        name: [
            estimate
            for turns in each
            if (estimate := getattr(turns, name)) is not None and estimate.value is not None
        ]
        for name in ("planning", "execution", "delta")
    }
    means: dict[str, Estimate | None] = dict.fromkeys(estimates)
    for name, of_quantity in estimates.items():
        if len(of_quantity) >= FEWEST_RUNS:
            value, error = np.array(
                [(estimate.value, estimate.std_error or 0.0) for estimate in of_quantity]
            ).T
            means[name] = random_effects(value, np.maximum(error**2, 1e-12), level=level)[1]
        else:
            counts = {"found": len(of_quantity), "runs": len(each), "needed": FEWEST_RUNS}
            findings.append(note("too-few-turning-points", quantity=name, **counts))
    rising, both = len(estimates["planning"]), len(estimates["delta"])
    after = sum(turns.rises_after for turns in each)
    return PhasesAcross(
        runs=len(each),
        planning_rises=rising,
        both=both,
        rises_after=after,
        share_planning_rises=wilson(rising, len(each), level),
        share_both=wilson(both, len(each), level),
        share_rises_after=wilson(after, len(each), level),
        **means,
        each=tuple(each),
        findings=tuple(findings),
    )


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
    """Cautions about what may look like a turn; ``given`` has the columns as logged."""
    findings: list[Finding] = []
    turned = False
    for name, curve in curves.items():
        findings += curve_cautions(step, given[name], curve, CURVES[name])
        turned |= curve.rises or curve.falls_again
    if {"planning", "execution"} <= curves.keys():
        both = np.isfinite(given["planning"]) & np.isfinite(given["execution"])
        if both.any() and np.array_equal(given["planning"][both], given["execution"][both]):
            findings.append(caution("curves-equal"))
    if "length" in given:
        findings += length_cautions(step, given["length"], turned)
    return findings


def length_cautions(step: FloatArray, length: FloatArray, turned: bool) -> list[Finding]:
    """Level shifts and a large change of the response length; ``found`` as in :func:`_shift_caution`."""
    findings: list[Finding] = []
    values = length[np.isfinite(length)]
    if values.size:
        shifts = shifts_of(*blocked(step[np.isfinite(length)], values), "length", LEVEL)
        findings += [_shift_caution(shift, "the response length", turned) for shift in shifts]
    if third := values.size // 3:
        before, after = float(np.median(values[:third])), float(np.median(values[-third:]))
        if before > 0 and not 0.5 < after / before < 1.5:
            findings.append(caution("length-changes", before=before, after=after))
    return findings


def curve_cautions(step: FloatArray, entropy: FloatArray, curve: CurvePhases, name: str) -> list[Finding]:
    """Single outliers, a drift too long for any claim, and level shifts."""
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
    if (gap := np.flatnonzero(gaps(curve.step))).size:
        after, until = (tuple(curve.step[gap[:MOST_NAMED] + end].tolist()) for end in (0, 1))
        others = max(gap.size - MOST_NAMED, 0)
        findings.append(caution("no-values-between", curve=name, after=after, until=until, others=others))
    if curve.long_drift > LONG_DRIFT:
        findings.append(
            caution(
                "drift-long",
                curve=name,
                probability=curve.long_drift,
                factor=stricter(curve.long_drift),
            )
        )
    for shift in shifts_of(curve.step, curve.entropy, curve.name, LEVEL):
        if jumps_at_once(curve.step, curve.entropy, shift):
            findings.append(_shift_caution(shift, name, curve.rises or curve.falls_again))
    return findings


def jumps_at_once(step: FloatArray, entropy: FloatArray, shift: LevelShift) -> bool:
    """Whether half of a level shift is there from one three points to the next: a sharp turn has no jump."""
    at = int(np.searchsorted(step, shift.step))
    local = np.median(entropy[at : at + 3]) - np.median(entropy[at - 3 : at])
    return bool(local * np.sign(shift.jump.value or 0.0) >= 0.5 * abs(shift.jump.value or 0.0))


def _shift_caution(shift: LevelShift, name: str, found: bool) -> Finding:
    """A level shift of a series; ``found`` says whether a turn was found that it may have made."""
    where = {"jump": shift.jump.value, "after": shift.after, "step": shift.step}
    return caution("series-jumps", series=name, turn=found, **where)


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
