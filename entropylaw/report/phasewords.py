"""The phases of a run in words: the verdict in one sentence, and the numbers of its curves."""

from __future__ import annotations

import numpy as np

from entropylaw.documents.phases import RunPhases
from entropylaw.report.numbers import (
    MISSING,
    count,
    format_estimate,
    format_number,
    format_step,
    format_weight,
    value_and_interval,
)
from entropylaw.results import Estimate
from entropylaw.results.columns import SEMANTIC, PhaseColumn
from entropylaw.results.fields import replace
from entropylaw.results.phases import (
    CURVES,
    DRAWS,
    HALF_WIDTHS,
    KINDS,
    POWER,
    Boundary,
    CurvePhases,
    PhaseFit,
)

Curves = list[tuple[CurvePhases, str]]
"""Curves, each with its full name."""

BENDS = KINDS[-1]
"""What a curve does at a boundary of which no more is known."""


def fitted_curves(run: RunPhases) -> list[tuple[CurvePhases, PhaseColumn | None]]:
    """The curves of a run that were fitted, each with the column that it was read from; planning first."""
    if (phases := run.phases) is None:
        return []
    columns = (run.planning_column, run.execution_column, run.aggregate_column)
    curves = (phases.planning, phases.execution, phases.aggregate)
    return [(curve, column) for curve, column in zip(curves, columns, strict=True) if curve is not None]


def curves_of(run: RunPhases) -> Curves:
    """The curves of a run that were fitted, each with its full name; planning first."""
    named = []
    for curve, column in fitted_curves(run):
        name = f"token entropy of {curve.name.replace('aggregate', 'all')} tokens"
        # A semantic entropy is never called a token entropy.
        if column is not None and column.what == SEMANTIC:
            name = "semantic entropy" + (" of plans" if curve.name == "planning" else "")
        named.append((curve, name))
    return named


def headline(run: RunPhases) -> str:
    """The verdict in one sentence, and what would have been seen, in all curves, where nothing was."""
    curves, found = [curve for curve, _ in curves_of(run)], verdict_words(run)
    missing = [curve for curve in curves if not curve.found]
    if not missing:
        return found
    if len(curves) == 2 and len(missing) == 1:
        other = missing[0]
        column = run.planning_column if other.name == "planning" else run.execution_column
        found += f"; none beyond one smooth decay in {_owner(column, other.name)} ({chance(other)})"
    blind = next(filter(sees_nothing, missing), None)
    if blind is None:
        rise = format_number(max(curve.detectable or 0.0 for curve in missing), 2)
        there = " there" if len(missing) == 1 else ""
        often = f"in {100 * POWER:g} of 100 such runs"
        return f"{found}; {often} a rise of {rise} nats from mid-run would have been seen{there}"
    reason = "it would have missed every rise that was tried"
    if blind.detectable is not None:
        needed, reach = (format_number(x, 2) for x in (blind.detectable, float(np.ptp(blind.entropy))))
        reason = f"only a rise of {needed} nats would show, and the whole curve spans {reach}"
    where = "" if len(missing) == 1 else f" in {CURVES[blind.name]}"
    return f"{found}; but{where} the test could see nothing here: {reason}"


def verdict_words(run: RunPhases) -> str:
    """What the curves that have a boundary do, and where; or that there is none."""
    if (phases := run.phases) is None:
        return "This run could not be fitted."
    if phases.planning is None or phases.execution is None:
        # One curve; that of all tokens cannot be taken apart.
        ((curve, name),) = curves_of(run)
        kind = "one curve, not taken apart" if curve.name == "aggregate" else "one curve"
        if curve.found:
            return f"{kind}: the {name} {does(curve)} ({chance(curve)})"
        return f"{kind}: no boundary beyond one smooth decay in the {name} ({chance(curve)})"
    plan, act = phases.planning, phases.execution
    planning, execution = _owner(run.planning_column, "planning"), _owner(run.execution_column, "execution")
    if not plan.found and not act.found:
        none = "no boundary: none is found beyond one smooth decay in either curve"
        return f"{none} ({planning} {chance(plan)}, {execution} {chance(act)})"
    one, name = (plan, planning) if plan.found else (act, execution)
    found = f"one boundary: {name} {does(one)} ({chance(one)})"
    if plan.found and act.found:
        found = _two_boundaries(phases, (plan, planning), (act, execution))
    return found + _after(phases, execution)


def does(curve: CurvePhases) -> str:
    """``turns to rise at step 41 [30, 55]``: what a curve does at a boundary that was found."""
    return f"{curve.kind or BENDS} {place(curve.boundary)}"


def place(boundary: Boundary) -> str:
    """``at step 41 [30, 55]``; several stretches, or the whole run, where it is no better known.

    An end at the first or the last step that was searched is where the search ended, and is said to be none.
    """
    if boundary.whole:
        return "somewhere in the run"
    first, last = boundary.searched or (float(boundary.places[0]), float(boundary.places[-1]))
    ends = [
        (max(low, first), " or before" * (low <= first), min(high, last), " or after" * (high >= last))
        for low, high in boundary.intervals
    ]
    if len(ends) > 1:
        places = (f"{low:.0f}{before}–{high:.0f}{after}" for low, before, high, after in ends)
        return f"at step {' or '.join(places)}"
    ((low, before, high, after),) = ends
    text = format_estimate(replace(boundary.step, low=low, high=high))
    return f"at step {text.value} [{text.low}{before}, {text.high}{after}]"


def chance(curve: CurvePhases) -> str:
    """``p = 0.41``, of one smooth decay without a boundary; the simulations know none below their floor."""
    floor = 1.0 / (DRAWS + 1)
    return f"p ≤ {floor:g}" if curve.p_value <= floor * (1 + 1e-9) else f"p = {curve.p_value:.2g}"


def all_cautions(run: RunPhases) -> tuple[str, ...]:
    """Cautions of the phases and of the columns."""
    return (*(run.phases.cautions if run.phases is not None else ()), *run.cautions)


def rows_of(curve: CurvePhases, until: float) -> tuple[tuple[str, str], ...]:
    """The numbers of a curve, each with its label; those around a boundary only where one was found.

    Without one only the document has them: as if there was one, they mislead beside a test that finds none.
    """
    shape, boundary, width, before, after, rise = ("one smooth decay", *[MISSING] * 5)
    seen = "none of those tried" if curve.detectable is None else format_number(curve.detectable, 2)
    if curve.found:
        shape, seen = curve.kind or BENDS, MISSING
        boundary = place(curve.boundary).removeprefix("at step ")
        before, after, rise = map(value_and_interval, (curve.slope_before, curve.slope_after, curve.rise))
        # The widest transition that was tried is no end of it.
        known, width = curve.boundary.width, value_and_interval(curve.boundary.width)
        widest = 2.0 * HALF_WIDTHS[-1] * float(curve.step[-1] - curve.step[0]) * (1.0 - 1e-9)
        if known.high is not None and known.high >= widest:
            text = format_estimate(known)
            beyond = known.low is not None and known.low >= widest
            width = f"{text.value} or more" if beyond else f"{text.value} [{text.low}, {text.high} or more]"
    ended = f", step {format_step(curve.last_step)}" if ends_before(curve, until) else ""
    return (
        ("what it does", f"{shape}, {chance(curve)}"),
        ("boundary, step", boundary),
        ("its width, steps", width),
        ("slope before, a step", before),
        ("slope after, a step", after),
        ("rise by the end", rise),
        ("rise that would show", seen),
        ("95 % fallen by step", MISSING if curve.settled is None else value_and_interval(curve.settled)),
        ("entropy now", value_and_interval(curve.last) + ended),
    )


def last_step(curves: Curves) -> float:
    """The last step that any of the curves reaches."""
    return max(curve.last_step for curve, _ in curves)


def percent_words(estimate: Estimate) -> str:
    """A share with its interval, in per cent."""
    return MISSING if estimate.value is None else value_and_interval(estimate, "%")


def ends_before(curve: CurvePhases, until: float) -> bool:
    """Whether a curve stops more than a point before the others do."""
    return until - curve.last_step > float(curve.step[-1] - curve.step[-2])


def _owner(column: PhaseColumn | None, kind: str) -> str:
    return SEMANTIC if column is not None and column.what == SEMANTIC else kind


def _two_boundaries(phases: PhaseFit, plan: tuple[CurvePhases, str], act: tuple[CurvePhases, str]) -> str:
    """What both curves do, in the order of their boundaries where that is known."""
    if phases.delta is not None and phases.verdict in ("execution first", "planning first"):
        sooner, later = (act, plan) if phases.verdict == "execution first" else (plan, act)
        then = f"{later[0].kind or BENDS} {_steps(phases.delta, 1 if sooner is act else -1)} later"
        return f"{phases.verdict}: {sooner[1]} {does(sooner[0])}, {later[1]} {then}"
    both = f"overlapping: {plan[1]} {does(plan[0])}, {act[1]} {does(act[0])}; which comes first is open"
    chances = f" ({plan[1]} is later with probability {format_weight(phases.later)})"
    return both if phases.later is None else both + chances


def _steps(gap: Estimate, sign: int) -> str:
    """``86 steps [60, 112]``, or the same the other way round."""
    ends = (None if x is None else sign * x + 0.0 for x in (gap.low, gap.value, gap.high))
    low, value, high = tuple(ends)[::sign]
    return value_and_interval(replace(gap, value=value, low=low, high=high), "steps")


def _after(phases: PhaseFit, execution: str) -> str:
    """How planning's boundary lies to execution's fall: a decay that levels off has no boundary."""
    if (gap := phases.after_fall) is None or gap.value is None or gap.low is None or gap.high is None:
        return ""
    # Beside two boundaries it is not plain whose place this is.
    whose = "that is" if phases.delta is None else "planning's boundary lies"
    fall = f"{execution} has made 95 % of its fall"
    steps = _steps(gap, -1 if gap.high < 0 else 1)
    if gap.low <= 0 <= gap.high:
        return f"; whether {whose} before or after {fall} is open ({steps})"
    return f"; {whose} {steps} {'before' if gap.high < 0 else 'after'} {fall}"


def sees_nothing(curve: CurvePhases) -> bool:
    """Whether the test is blind: no rise that was tried would show, or none smaller than the whole curve."""
    return curve.detectable is None or curve.detectable > float(np.ptp(curve.entropy))


def cautions_counted(run: RunPhases) -> str:
    """`` (2 cautions)``; nothing where there are none."""
    cautions = all_cautions(run)
    return f" ({count(len(cautions), 'caution')})" if cautions else ""
