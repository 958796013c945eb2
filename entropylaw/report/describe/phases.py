"""The phases of runs: the verdict on each, its curves side by side, and several runs together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from entropylaw.documents.document import COLUMNS as READ
from entropylaw.documents.document import PhasesDocument, RunPhases
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    MISSING,
    format_number,
    format_percent,
    format_probability,
    format_step,
    value_and_interval,
)
from entropylaw.results import Estimate
from entropylaw.results.columns import SEMANTIC, PhaseColumn
from entropylaw.results.phases import (
    CURVES,
    FALLS_AGAIN,
    LEAST_P,
    LONG_DRIFT,
    POWER,
    RISES,
    CurvePhases,
    PhaseFit,
    PhasesAcross,
)
from entropylaw.results.result import replace

METHOD = "contrasts over windows, drift + noise integrated out"

Result = PhasesDocument | RunPhases | PhaseFit | PhasesAcross

Curves = list[tuple[CurvePhases, str]]
"""Curves, each with its full name."""

_TESTS = ("n", "first_step", "last_step", "rises", "p_rise", "falls_again", "p_second_fall", "second_fall")
_ESTIMATES = ("turning_point", "rise", "settled", "last")
_NOISE = ("detectable", "lag1", "noise")
_OF_BOTH = ("delta", "after_fall", "share_planning")

COLUMNS = (
    *b.columns("run", "path", "verdict", "curve", "entropy_of", "column", *_TESTS, "long_drift"),
    *b.columns(*_ESTIMATES, estimate=True),
    *b.columns(*_NOISE),
    *b.columns(*_OF_BOTH, estimate=True),
    *b.columns("later", "level", "method", "refusal"),
)
"""A row per curve. ``refusal`` holds the error's slug; ``entropy_of`` says whether the curve is token entropy
or semantic entropy; ``second_fall`` holds the steps between which it begins, as ``30:55``."""

ACROSS = (
    *b.columns("finding", "runs"),
    b.Column("share", "share", unit="%", estimate=True),
    *b.columns("method"),
)

TURNS = (
    b.Column("run", "run"),
    b.Column("verdict", "verdict"),
    b.Column("planning", "planning turns", unit="%", estimate=True),
    b.Column("planning_rise", "by, nats", estimate=True),
    b.Column("execution", "execution turns", unit="%", estimate=True),
    b.Column("execution_rise", "by, nats", estimate=True),
    b.Column("delta", "planning later by", unit="%", estimate=True),
    b.Column("rises_after", "after execution's fall"),
)
"""A row per run of several together; turning points are shares of the run."""


def describe(result: Result) -> list[b.Block]:
    """A run, the runs of a document and what they have in common, or one of the two alone."""
    if isinstance(result, PhasesAcross):
        return _across(result)
    if isinstance(result, PhasesDocument):
        warned = b.warned(result.warnings)
        across = _across(result.across) if result.across is not None else []
        runs = (block for run in result.runs for block in describe(run))
        return [b.Heading("Phases of entropy", 1), warned, *across, *runs]
    return describe_run(without_log(result) if isinstance(result, PhaseFit) else result)


def describe_run(run: RunPhases) -> list[b.Block]:
    """A run: its curves, and the columns that they were read from."""
    if run.phases is None:
        return [b.Heading(run.run, 2, "" if run.run == run.path else run.path), *_sections(run)]
    # Number of points and steps of the curves themselves; blocks of points begin later and end earlier.
    curves = curves_of(run)
    points = " and ".join(dict.fromkeys(str(curve.n) for curve, _ in curves))
    blocks = any(curve.first_step < curve.step[0] or curve.step[-1] < curve.last_step for curve, _ in curves)
    first, last = map(format_step, range_of(curves))
    extent = f"{points} {'block averages' if blocks else 'points'}, steps {first}–{last}"
    head = b.Heading(run.run, 2, " · ".join(filter(None, (extent, run.path))))
    if not run.path:
        return [head, *_sections(run)]
    counted = sorted(run.dropped.items(), key=lambda item: (-item[1], item[0]))
    reasons = [f"{reason} ({number})" for reason, number in counted if number]
    brief = [*reasons[:3], *[f"{len(reasons) - 3} more in the JSON"] * (len(reasons) > 3)]
    dropped = b.Note("dropped", "; ".join(reasons) or "nothing", "; ".join(brief) or "nothing")
    notes = [b.Note("file", run.path, ""), b.Note("read", _columns_read(run)), dropped]
    return [head, *_sections(run), b.Heading("Read and dropped", name="read"), b.Notes(notes)]


def table(result: Result) -> b.Table:
    """A row per curve of every run; of several runs together, a row per finding."""
    if isinstance(result, PhasesAcross):
        return b.Table(ACROSS, [(name, n, one, one.method) for name, _, _, n, one in _findings(result)])
    found = without_log(result) if isinstance(result, PhaseFit) else result
    runs = found.runs if isinstance(found, PhasesDocument) else (found,)
    return b.table_of(COLUMNS, (row for run in runs for row in _curve_rows(run)))


def without_log(found: PhaseFit) -> RunPhases:
    """Phases without a log behind them."""
    unknown: dict[str, Any] = dict.fromkeys((*READ, "refusal")) | {"path": "", "notes": (), "findings": ()}
    return RunPhases(run=found.run, dropped=found.dropped, phases=found, **unknown)


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
    """The verdict in one sentence; for curves that do not turn to rise also the power of the test."""
    said = verdict_words(run)
    flat = [curve for curve, _ in curves_of(run) if not curve.rises]
    if not flat:
        return said
    if blind := next((curve for curve in flat if curve.detectable is None), None):
        why = "drifts for too long" if is_long(blind) else "does not fall clearly in its first half"
        return f"{said}; the test has no power in {CURVES[blind.name]}, which {why}"
    rise = format_number(max(curve.detectable or 0.0 for curve in flat), 2)
    where = f" in {CURVES[flat[0].name]}" if len(flat) == 1 and len(curves_of(run)) == 2 else ""
    return f"{said}; {100 * POWER:g} % power{where} to detect a rise of {rise} nats over the second half"


def verdict_words(run: RunPhases) -> str:
    """What the curves do, and where; or that none turns to rise."""
    if (phases := run.phases) is None:
        return "This run could not be fitted."
    if phases.planning is None or phases.execution is None:
        # One curve; that of all tokens cannot be separated.
        ((curve, name),) = curves_of(run)
        kind = "one curve, classes not separated" if curve.name == "aggregate" else "one curve"
        return f"{kind}: the {name} {does(curve)}"
    planning, execution = _owner(run.planning_column, "planning"), _owner(run.execution_column, "execution")
    named = [(planning, phases.planning), (execution, phases.execution)]
    said = "; ".join(f"{name} {does(curve)}" for name, curve in named)
    if phases.verdict == "overlapping":
        said += "; the order is open"
        if phases.later is not None:
            said += f" ({planning} is later with probability {format_probability(phases.later)})"
    sign = {"execution first": 1, "planning first": -1}.get(str(phases.verdict), 0)
    if phases.delta is not None and sign:
        (first, sooner), (second, _) = named[::-sign]
        said = f"{first} {does(sooner)}, {second} turns to rise {_steps(phases.delta, sign)} later"
    return f"{phases.verdict}: {said}{_after(phases, execution)}"


def does(curve: CurvePhases) -> str:
    """``turns to rise at step 41 [30, 55] by 0.1 nats [0.08, 0.12] (p = 0.002)``, or that it does not."""
    found = f"does not turn to rise ({p_value(curve.p_rise, curve.least_p)}{', long drift' * is_long(curve)})"
    if curve.rises and curve.turning_point is not None and curve.rise is not None:
        at = value_and_interval(curve.turning_point)
        p = p_value(curve.p_rise, curve.least_p)
        found = f"{RISES} at step {at} by {value_and_interval(curve.rise, 'nats')} ({p})"
    if curve.falls_again:
        found += f" and {FALLS_AGAIN} {between(curve)} ({second_fall_p(curve)})"
    return found


def between(curve: CurvePhases) -> str:
    """``between steps 30 and 55``: where the second fall begins."""
    if curve.second_fall is None:
        return ""
    return "between steps {} and {}".format(*map(format_step, curve.second_fall))


def p_value(p: float, least: float = LEAST_P) -> str:
    """``p = 0.41``; simulations give none below ``least``."""
    return f"p ≤ {least:.2g}" if p <= least * (1 + 1e-9) else f"p = {p:.2g}"


def second_fall_p(curve: CurvePhases) -> str:
    """The p-value of no second fall, or that none can be claimed."""
    least, level = 2.0 * curve.least_p, curve.last.level
    return "not tested: long drift" if least > 1.0 - level else p_value(curve.p_second_fall, least)


def is_long(curve: CurvePhases) -> bool:
    """Whether little can be said of a curve because its drift may be long."""
    return curve.long_drift > LONG_DRIFT


def range_of(curves: Curves) -> tuple[float, float]:
    """The first and the last step of several curves."""
    return min(curve.first_step for curve, _ in curves), max(curve.last_step for curve, _ in curves)


def percent_words(estimate: Estimate) -> str:
    """A share with its interval, in per cent."""
    return MISSING if estimate.value is None else value_and_interval(estimate, "%")


def _owner(column: PhaseColumn | None, kind: str) -> str:
    return SEMANTIC if column is not None and column.what == SEMANTIC else kind


def _steps(gap: Estimate, sign: int) -> str:
    """``86 steps [60, 112]``, or the same with the other sign."""
    ends = (None if x is None else sign * x + 0.0 for x in (gap.low, gap.value, gap.high))
    low, value, high = tuple(ends)[::sign]
    return value_and_interval(replace(gap, value=value, low=low, high=high), "steps")


def _after(phases: PhaseFit, execution: str) -> str:
    """Planning's turning point against the end of execution's fall."""
    if (gap := phases.after_fall) is None or gap.value is None or gap.low is None or gap.high is None:
        return ""
    whose = "planning's turning point is"
    fall = f"{execution} has completed 95 % of its fall"
    steps = _steps(gap, -1 if gap.high < 0 else 1)
    if gap.low <= 0 <= gap.high:
        return f"; it is not decided whether {whose} before or after {fall} ({steps})"
    return f"; {whose} {steps} {'before' if gap.high < 0 else 'after'} {fall}"


def _cautions(run: RunPhases) -> tuple[str, ...]:
    return (*(run.phases.cautions if run.phases is not None else ()), *run.cautions)


def cautions_counted(run: RunPhases) -> str:
    """`` (2 cautions)``; nothing where there are none."""
    return f" ({counted(number, 'caution')})" if (number := len(_cautions(run))) else ""


def _sections(run: RunPhases) -> list[b.Block]:
    """The verdict, the cautions, the figure, and the numbers of the curves; or why there are none."""
    if run.phases is None:
        if (refusal := run.refusal) is None:
            return [b.Verdict("refused", "its document gives no reason")]
        hint = b.Notes([b.Note("hint", refusal.hint, "")])
        return [b.Verdict("refused", f"{refusal.message} [{refusal.slug}]"), hint]
    curves = curves_of(run)
    if not curves:
        return [b.Verdict("refused", "no curve was fitted"), b.Notes(b.labelled("note", run.phases.notes))]
    before, _, text = headline(run).partition(": ")
    badge, _, how = before.partition(", ")
    # The headline says which do not turn to rise; the note on the unknown share comes last.
    found = [one for one in run.phases.findings if one.severity == "note" and one.code != "no-turning-point"]
    said = [(one.code == "planning-share-unknown", one.sentence) for one in found]
    said = sorted([*said, *((False, note) for note in run.notes)], key=lambda note: note[0])
    notes = b.labelled("caution", _cautions(run)) + b.labelled("note", (note for _, note in said))
    heads = [b.Column("", f"{format_percent(run.phases.level)} intervals, nats")]
    heads += [b.Column(curve.name, name) for curve, name in curves]
    until = range_of(curves)[1]
    ended = [until - curve.last_step > float(curve.step[-1] - curve.step[-2]) for curve, _ in curves]
    numbers = [_numbers(curve, short) for (curve, _), short in zip(curves, ended, strict=True)]
    rows = [
        (label, *(of_curve[label] for of_curve in numbers))
        for label in numbers[0]
        if any(of_curve[label] != MISSING for of_curve in numbers)
    ]
    share = ""
    if run.phases.share_planning is not None:
        held = percent_words(run.phases.share_planning)
        share = f"planning tokens have {held} of the total entropy at step {format_step(until)}"
        for (curve, _), short in zip(curves, ended, strict=True):
            if short:
                share += f"; {CURVES[curve.name]}'s curve ends at step {format_step(curve.last_step)}"
    return [
        b.Verdict(badge, f"{f'{how}: ' if how else ''}{text}{cautions_counted(run)}", True),
        b.Notes(notes),
        *figures_of("phases", run),
        b.Table(heads, rows, words=1 + len(curves)),
        b.Notes([b.Note("share", share), b.Note("method", METHOD, "")]),
    ]


def _numbers(curve: CurvePhases, short: bool) -> dict[str, str]:
    """The numbers of a curve by label; ``short`` is a curve that ends before the others."""
    ended = f", step {format_step(curve.last_step)}" if short else ""
    turns, again = (("yes" if found else "no") for found in (curve.rises, curve.falls_again))
    seen = "none" if curve.detectable is None else format_number(curve.detectable, 2)
    turning, rise, settled = (
        MISSING if one is None else value_and_interval(one)
        for one in (curve.turning_point, curve.rise, curve.settled)
    )
    return {
        RISES: f"{turns}, {p_value(curve.p_rise, curve.least_p)}",
        "turning point, step": turning,
        "rise": rise,
        "detectable rise": MISSING if curve.rises else seen,
        FALLS_AGAIN: ", ".join(filter(None, (again, between(curve), second_fall_p(curve)))),
        "drift is long": f"probability {format_probability(curve.long_drift)}",
        "95 % of the fall by step": settled,
        "entropy now": value_and_interval(curve.last) + ended,
    }


def _columns_read(run: RunPhases) -> str:
    """Which columns were used, and for what."""
    columns = (run.planning_column, run.execution_column, run.aggregate_column)
    named = zip(("planning", "execution", "all tokens"), columns, strict=True)
    used = [(f"{kind} '{column.column}'", column.what) for kind, column in named if column is not None]
    whats = {what for _, what in used}
    parts = [column + (f" ({what})" if len(whats) > 1 else "") for column, what in used]
    if len(whats) == 1:
        parts[-1] += f" ({'each a ' if len(used) > 1 else ''}{whats.pop()})"
    names = (("planning's share of tokens", run.share_column), ("response length", run.length_column))
    parts += [f"{what} '{name}'" for what, name in names if name is not None]
    return ", ".join(parts) or "no column"


def _findings(across: PhasesAcross) -> Iterator[tuple[str, str, str, int, Estimate]]:
    """A finding's name in CSV and its label, the event that was counted, the number of runs, the estimate."""
    plan, both = "planning turns to rise", "both turn to rise"
    after = "planning turns to rise after execution's fall"
    found = (
        (plan, "planning's rise", plan, across.planning_rises, across.share_planning_rises),
        (both, "both rise", both, across.both, across.share_both),
        (after, "after the fall", after, across.rises_after, across.share_rises_after),
        ("planning at", "planning at", "", _known(across, "planning"), across.planning),
        ("execution at", "execution at", "", _known(across, "execution"), across.execution),
        ("planning later by", "planning later by", "", _known(across, "delta"), across.delta),
    )
    for name, label, event, number, estimate in found:
        if estimate is not None:
            yield name, label, event, number, estimate


def _known(across: PhasesAcross, name: str) -> int:
    """The number of runs in which a turning point, or their difference, is known."""
    return sum(getattr(each, name) is not None for each in across.each)


def _across(across: PhasesAcross) -> list[b.Block]:
    notes = [b.Note("", "", f"{across.runs} runs together:")]
    for _, label, event, number, estimate in _findings(across):
        share = percent_words(estimate)
        found = f"{event} in {number} of {across.runs} runs: {share}" if event else f"{share} of the run"
        notes.append(b.Note(label, f"{found} ({estimate.method})"))
    notes += b.labelled("note", across.notes)
    # The one published number: planning rises once execution has fallen. It is of another quantity than
    # token entropy, and no test.
    eye = "HICRA reports, by eye, that the semantic entropy of strategic n-grams rises in 3 of 8 models"
    turned = any(each.planning is not None or each.execution is not None for each in across.each)
    return [
        b.Heading(f"Phases of {across.runs} runs together", name="across"),
        b.Notes(notes),
        *(figures_of("across", across) if turned else ()),
        b.paragraphs(f"{eye} (arXiv:2509.03646)."),
        b.Heading("Run by run", name="turns"),
        replace(b.table_of(TURNS, across.each), detail=True),
    ]


def _curve_rows(run: RunPhases) -> Iterator[b.Row]:
    """A row per curve, or one with the refusal."""
    base: b.Row = {"run": run.run, "path": run.path}
    if (phases := run.phases) is None:
        yield base | {"refusal": run.refusal.slug if run.refusal is not None else None}
        return
    base |= {name: getattr(phases, name) for name in ("verdict", "later", "level", *_OF_BOTH)}
    for curve, column in fitted_curves(run):
        row = {name: getattr(curve, name) for name in (*_TESTS, "long_drift", *_ESTIMATES, *_NOISE)}
        if column is not None:
            row |= {"entropy_of": column.what, "column": column.column}
        if curve.second_fall is not None:
            row["second_fall"] = "{:g}:{:g}".format(*curve.second_fall)
        yield base | row | {"curve": curve.name, "method": METHOD}
