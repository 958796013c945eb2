"""A phases document for a terminal: the verdict in one sentence first, at most 20 lines a run."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from entropylaw.analysis.phaseresults import Boundary, CurvePhases, PhaseFit, PhasesAcross
from entropylaw.documents.phases import PhasesDocument, RunPhases
from entropylaw.ingest.phasecolumns import SEMANTIC, PhaseColumn
from entropylaw.report.numbers import (
    MISSING,
    format_estimate,
    format_number,
    format_percent,
    format_step,
)
from entropylaw.report.printable import WIDTH, labelled_lines, one_line
from entropylaw.results import Estimate

Curves = list[tuple[CurvePhases, str]]
"""Curves, each with its full name."""

PUBLISHED = (
    "published, by eye, of the semantic entropy of strategic grams: in 3 of 8 models (arXiv:2509.03646)"
)
"""The one number there is to compare with; another quantity than token entropy, and no test."""

_LINES = 20
_LABEL, _CELL = 23, 38
_TOKENS = {"planning": "planning tokens", "execution": "execution tokens", "aggregate": "all tokens"}


def render(document: PhasesDocument) -> str:
    """Every run of the document, one block each; then what they say together."""
    blocks = ["\n".join(_run_lines(run)) + "\n" for run in document.runs]
    if document.across is not None:
        blocks.append("\n".join(_across_lines(document.across)) + "\n")
    return "\n".join(blocks)


def curves_of(run: RunPhases) -> Curves:
    """The curves of a run that were fitted, each with its full name; planning first."""
    phases = run.phases
    if phases is None:
        return []
    given = (
        (phases.planning, run.planning_column, "planning"),
        (phases.execution, run.execution_column, "execution"),
        (phases.aggregate, run.aggregate_column, "aggregate"),
    )
    return [(curve, full_name(column, kind)) for curve, column, kind in given if curve is not None]


def full_name(column: PhaseColumn | None, kind: str) -> str:
    """``token entropy of planning tokens``; a semantic entropy is never called by that name."""
    if column is not None and column.what == SEMANTIC:
        return "semantic entropy of plans" if kind == "planning" else "semantic entropy"
    return f"token entropy of {_TOKENS[kind]}"


def headline(run: RunPhases) -> str:
    """The verdict in one sentence."""
    phases = run.phases
    if phases is None:
        return "This run could not be fitted."
    if phases.planning is None or phases.execution is None:
        return _one_curve(run)
    plan, act = phases.planning, phases.execution
    planning, execution = _owner(run.planning_column, "planning"), _owner(run.execution_column, "execution")
    if phases.delta is not None and phases.verdict in ("execution first", "planning first"):
        first, second = (
            (execution, planning) if phases.verdict == "execution first" else (planning, execution)
        )
        boundary = (act if first == execution else plan).boundary
        gap = phases.delta if first == execution else _negated(phases.delta)
        later = format_estimate(gap)
        return (
            f"{phases.verdict}: {first} boundary {place(boundary)}, {second} {later.value} steps later "
            f"{later.interval}"
        )
    if plan.found and act.found:
        apart = format_estimate(phases.delta) if phases.delta is not None else None
        gap_words = f"; {planning} less {execution} is {apart.value} steps {apart.interval}" if apart else ""
        return (
            f"overlapping: {planning} boundary {place(plan.boundary)}, {execution} {place(act.boundary)}; "
            f"which comes first is open{gap_words}"
        )
    if not plan.found and not act.found:
        return (
            "no boundary: none is found beyond one smooth decay in either curve "
            f"({planning} {chance(plan)}, {execution} {chance(act)}){_blind((plan, act))}"
        )
    one, other = (plan, act) if plan.found else (act, plan)
    names = (planning, execution) if plan.found else (execution, planning)
    return (
        f"one boundary: {names[0]} {place(one.boundary)} ({chance(one)}); none beyond one smooth "
        f"decay in {names[1]} curve ({chance(other)}){_blind((other,))}"
    )


def place(boundary: Boundary) -> str:
    """``at step 41 [30, 55]``; several stretches, or the whole run, where it is no better known."""
    if boundary.whole:
        return "anywhere in the run"
    return f"at step {stretches(boundary)}"


def stretches(boundary: Boundary) -> str:
    """The boundary's interval, or the stretches that it consists of.

    An end at the first or the last place that was tried is where the search ended, and is said to be no end.
    """
    if boundary.whole:
        return "the whole run"
    first, last = float(boundary.places[0]), float(boundary.places[-1])
    if len(boundary.intervals) > 1:
        ends = [(f"{low:.0f}", f"{high:.0f}", low, high) for low, high in boundary.intervals]
        return " or ".join(
            f"{_before(a, low <= first)}–{_after(b, high >= last)}" for a, b, low, high in ends
        )
    text, step = format_estimate(boundary.step), boundary.step
    low = _before(text.low, step.low is not None and step.low <= first)
    return f"{text.value} [{low}, {_after(text.high, step.high is not None and step.high >= last)}]"


def _before(end: str, cut: bool) -> str:
    return f"{end} or before" if cut else end


def _after(end: str, cut: bool) -> str:
    return f"{end} or after" if cut else end


def chance(curve: CurvePhases) -> str:
    """``p = 0.41``, of one smooth decay without a boundary."""
    return f"p = {curve.p_value:.2g}"


def read_words(run: RunPhases) -> str:
    """Which columns were used, and for what."""
    columns = (
        ("planning", run.planning_column),
        ("execution", run.execution_column),
        ("all tokens", run.aggregate_column),
    )
    parts = [f"{kind} '{column.column}' ({column.what})" for kind, column in columns if column is not None]
    names = (("planning's share of tokens", run.share_column), ("response length", run.length_column))
    parts += [f"{what} '{name}'" for what, name in names if name is not None]
    return ", ".join(parts) or "no column"


def dropped_words(run: RunPhases) -> str:
    """What was left out, and why."""
    counted = sorted(run.dropped.items(), key=lambda item: (-item[1], item[0]))
    return "; ".join(f"{count} {reason}" for reason, count in counted if count) or "nothing"


def all_cautions(run: RunPhases) -> tuple[str, ...]:
    """Cautions of the phases and of the columns."""
    return (*(run.phases.cautions if run.phases is not None else ()), *run.cautions)


def rows_of(curve: CurvePhases, until: float) -> tuple[tuple[str, str], ...]:
    """The numbers of a curve, each with its label; those around a boundary only where one was found.

    What they would be without one is in the document: they are as if there was one, and mislead beside a test
    that finds none.
    """
    boundary, width = "none found", MISSING
    before = after = rise = MISSING
    if curve.found:
        boundary, width = stretches(curve.boundary), value_words(curve.boundary.width)
        before, after = value_words(curve.slope_before), value_words(curve.slope_after)
        rise = value_words(curve.rise)
    ended = f", step {format_step(float(curve.step[-1]))}" if _ends_before(curve, until) else ""
    seen = "none of those tried" if curve.detectable is None else format_number(curve.detectable, 2)
    return (
        ("one smooth decay", chance(curve)),
        ("boundary, step", boundary),
        ("its width, steps", width),
        ("slope before, a step", before),
        ("slope after, a step", after),
        ("rise by the end", rise),
        ("rise that would show", seen),
        ("entropy now", value_words(curve.last) + ended),
    )


def table_rows(curves: Curves) -> Iterator[tuple[str, list[str]]]:
    """The numbers of all curves side by side, without rows that no curve has a number for."""
    for labelled in zip(*(rows_of(curve, last_step(curves)) for curve, _ in curves), strict=True):
        cells = [cell for _, cell in labelled]
        if set(cells) != {MISSING}:
            yield labelled[0][0], cells


def wrapped(text: str, width: int) -> list[str]:
    """``text`` in lines that do not break inside ``p = 0.05`` or ``[30, 55]``."""
    joined = re.sub(r" (?== )|(?<=[=]) |(?<=\d,) (?=-?\d)", "\xa0", one_line(text))
    return [line.replace("\xa0", " ") for line in textwrap.wrap(joined, width)]


def value_words(estimate: Estimate) -> str:
    """``0.08 [0.04, 0.12]``."""
    text = format_estimate(estimate)
    return f"{text.value} {text.interval}"


def last_step(curves: Curves) -> float:
    """The last step that any of the curves reaches."""
    return max(float(curve.step[-1]) for curve, _ in curves)


def share_words(phases: PhaseFit, curves: Curves) -> str:
    """Planning's share of all entropy at the last step; where it is not known, a note says why."""
    if phases.share_planning is None:
        return ""
    share, until = percent_words(phases.share_planning), last_step(curves)
    short = [curve for curve, _ in curves if _ends_before(curve, until)]
    ends = "".join(f"; {c.name}'s curve ends at step {format_step(float(c.step[-1]))}" for c in short)
    return f"planning tokens hold {share} of all entropy at step {format_step(until)}{ends}"


def percent_words(estimate: Estimate) -> str:
    """A share with its interval, in per cent."""
    ends = [None if x is None else 100 * x for x in (estimate.value, estimate.low, estimate.high)]
    text = format_estimate(replace(estimate, value=ends[0], low=ends[1], high=ends[2]))
    return MISSING if text.value == MISSING else f"{text.value} % {text.interval}"


def across_rows(across: PhasesAcross) -> Iterator[tuple[str, str]]:
    """What several runs say together, each with its label."""
    share = across.share_both
    counted = f"in {across.both} of {across.runs} runs"
    yield "both phases", f"{counted}: {percent_words(share)} ({share.method})"
    yield "", PUBLISHED
    for label, estimate in (
        ("planning at", across.planning),
        ("execution at", across.execution),
        ("planning later by", across.delta),
    ):
        if estimate is not None:
            yield label, f"{percent_words(estimate)} of the run ({estimate.method})"


def _ends_before(curve: CurvePhases, until: float) -> bool:
    """Whether a curve stops more than a point before the others do."""
    return until - float(curve.step[-1]) > float(curve.step[-1] - curve.step[-2])


def _owner(column: PhaseColumn | None, kind: str) -> str:
    if column is not None and column.what == SEMANTIC:
        return "semantic entropy's"
    return f"{kind}'s"


def _negated(estimate: Estimate) -> Estimate:
    value, low, high = (
        None if x is None else -x + 0.0 for x in (estimate.value, estimate.high, estimate.low)
    )
    return replace(estimate, value=value, low=low, high=high)


def _blind(curves: Sequence[CurvePhases]) -> str:
    """The rise that would have been seen in each of the curves."""
    rises = [curve.detectable for curve in curves]
    known = [rise for rise in rises if rise is not None]
    if len(known) == len(rises):
        return f"; a rise of {format_number(max(known), 2)} nats by the end would have been seen"
    if not known:
        return "; but no rise that was tried would have been seen, so that this says little"
    blind = next(curve.name for curve in curves if curve.detectable is None)
    return f"; but in {blind}'s no rise that was tried would have been seen"


def _one_curve(run: RunPhases) -> str:
    """The verdict where there is one curve; that of all tokens cannot be taken apart."""
    ((curve, name),) = curves_of(run)
    kind = "one curve, not taken apart" if curve.name == "aggregate" else "one curve"
    if curve.found:
        return f"{kind}: a boundary {place(curve.boundary)} ({chance(curve)}) in the {name}"
    return f"{kind}: no boundary beyond one smooth decay in the {name} ({chance(curve)}){_blind((curve,))}"


def _run_lines(run: RunPhases) -> list[str]:
    """One block: what it is, the verdict, the numbers, what was read."""
    if run.phases is None:
        assert run.refusal is not None
        title = one_line(run.run) if run.run == run.path else f"{one_line(run.run)} · {one_line(run.path)}"
        return [title, *labelled_lines("NOT FITTED", f"{run.refusal.message} [{run.refusal.slug}]")]
    curves = curves_of(run)
    first = min(float(curve.step[0]) for curve, _ in curves)
    cautions = all_cautions(run)
    counted = f" ({len(cautions)} caution{'s' if len(cautions) > 1 else ''})" if cautions else ""
    points = " and ".join(dict.fromkeys(str(curve.n) for curve, _ in curves))
    steps = f"steps {first:g}–{last_step(curves):g}"
    top = [
        f"{one_line(run.run)} · {points} points, {steps} · {one_line(run.path)}",
        *(f"  {line}" for line in wrapped(headline(run) + counted, WIDTH - 2)),
        *_table(curves, run.phases.level),
    ]
    share = share_words(run.phases, curves)
    bottom = [*(labelled_lines("share", share) if share else ()), *labelled_lines("read", read_words(run))]
    dropped = textwrap.shorten(one_line(dropped_words(run)), WIDTH - 13)
    bottom.append(f"  {'dropped':<10} {dropped}")
    labelled = [("caution", text) for text in cautions] + [("note", text) for text in _told_notes(run)]
    return [*top, *_fitting(labelled, _LINES - len(top) - len(bottom)), *bottom]


def _told_notes(run: RunPhases) -> tuple[str, ...]:
    """Notes of the fit that the headline does not say, then those of the columns."""
    assert run.phases is not None
    said = [note for note in run.phases.notes if not note.startswith("no order is told: no boundary")]
    return (*said, *run.notes)


def _table(curves: Curves, level: float) -> Iterator[str]:
    """A row a number, a column a curve: the two curves are there to be compared."""
    yield _row(f"{format_percent(level)}, nats", [name for _, name in curves])
    for label, cells in table_rows(curves):
        yield _row(label, cells)


def _row(label: str, cells: Sequence[str]) -> str:
    return f"  {label:<{_LABEL}}{''.join(f'{cell:<{_CELL}}' for cell in cells)}".rstrip()


def _fitting(labelled: list[tuple[str, str]], lines: int) -> list[str]:
    """Whole sentences while they fit into ``lines``; the first caution in any case."""
    shown: list[str] = []
    for label, text in labelled:
        sentence = labelled_lines(label, text)
        first = not shown and label == "caution"
        if not first and len(shown) + len(sentence) > lines:
            break
        shown += sentence
    return shown


def _across_lines(across: PhasesAcross) -> Iterator[str]:
    yield f"{across.runs} runs together"
    for label, text in across_rows(across):
        first, *more = textwrap.wrap(one_line(text), WIDTH - 2 - _LABEL)
        yield f"  {label:<{_LABEL}}{first}".rstrip()
        yield from (" " * (2 + _LABEL) + line for line in more)
    for note in across.notes:
        yield from labelled_lines("note", note)
