"""The phases of runs: the verdict on each, its curves side by side, and several runs together."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.document import Entry, PhasesDocument
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
from entropylaw.results.columns import SEMANTIC, Choice
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

Result = PhasesDocument | Entry[PhaseFit] | PhaseFit | PhasesAcross

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
        blocks: list[b.Block] = [b.Heading("Phases of entropy", 1), b.warned(result.warnings)]
        if result.across is not None:
            blocks += _across(result.across)
        return blocks + [block for run in result.runs for block in _of_run(run)]
    return _of_run(without_log(result) if isinstance(result, PhaseFit) else result)


def _of_run(run: Entry[PhaseFit]) -> list[b.Block]:
    """A run: its curves, and the columns that they were read from."""
    if run.result is None:
        return [b.Heading(run.run, 2, "" if run.run == run.path else run.path), *_sections(run)]
    curves = curves_of(run)
    points = " and ".join(dict.fromkeys(str(curve.n) for curve, _ in curves))
    # Blocks of points begin later and end earlier than the curves themselves.
    blocked = any(curve.first_step < curve.step[0] or curve.step[-1] < curve.last_step for curve, _ in curves)
    first, last = map(format_step, range_of(curves))
    about = f"{points} {'block averages' if blocked else 'points'}, steps {first}–{last}"
    if not run.path:
        return [b.Heading(run.run, 2, about), *_sections(run)]
    return [
        b.Heading(run.run, 2, f"{about} · {run.path}"),
        *_sections(run),
        b.Heading("Read and dropped", name="read"),
        b.Notes(_read(run)),
    ]


def _read(run: Entry[PhaseFit]) -> list[b.Note]:
    """The columns that were used, and for what, and the points that were dropped."""
    used = []
    for name, tokens in CURVES.items():
        if (column := run.columns.get(name)) is not None:
            used.append((f"{tokens} '{column.column}'", column.meaning.kind))
    if len({entropy for _, entropy in used}) > 1:
        parts = [f"{column} ({entropy})" for column, entropy in used]
    else:
        parts = [column for column, _ in used]
        if used:
            parts[-1] += f" ({'each a ' if len(used) > 1 else ''}{used[-1][1]})"
    for name, content in (("planning_share", "planning's share of tokens"), ("length", "response length")):
        if name in run.columns:
            parts.append(f"{content} '{run.columns[name].column}'")
    return [b.Note("file", run.path, ""), b.Note("read", ", ".join(parts) or "no column"), _dropped(run)]


def _dropped(run: Entry[PhaseFit]) -> b.Note:
    """The points that were dropped, as reasons with counts; a terminal shows three."""
    counts = sorted(run.dropped.items(), key=lambda item: (-item[1], item[0]))
    reasons = [f"{reason} ({number})" for reason, number in counts if number]
    brief = reasons[:3]
    if len(reasons) > len(brief):
        brief = [*brief, f"{len(reasons) - len(brief)} more in the JSON"]
    return b.Note("dropped", "; ".join(reasons) or "nothing", "; ".join(brief) or "nothing")


def table(result: Result) -> b.Table:
    """A row per curve of every run; of several runs together, a row per finding."""
    if isinstance(result, PhasesAcross):
        rows = [
            (event or label, number, estimate, estimate.method)
            for label, event, number, estimate in _findings(result)
        ]
        return b.Table(ACROSS, rows)
    known = without_log(result) if isinstance(result, PhaseFit) else result
    runs = known.runs if isinstance(known, PhasesDocument) else (known,)
    return b.table_of(COLUMNS, (row for run in runs for row in _curve_rows(run)))


def without_log(phases: PhaseFit) -> Entry[PhaseFit]:
    """Phases without a log behind them."""
    return Entry(
        run=phases.run, path="", columns={}, dropped=phases.dropped, notes=(), result=phases, refusal=None
    )


def fitted_curves(run: Entry[PhaseFit]) -> list[tuple[CurvePhases, Choice | None]]:
    """The curves of a run that were fitted, each with the column that it was read from; planning first."""
    if run.result is None:
        return []
    curves = (run.result.planning, run.result.execution, run.result.aggregate)
    return [(curve, run.columns.get(curve.name)) for curve in curves if curve is not None]


def curves_of(run: Entry[PhaseFit]) -> Curves:
    """The curves of a run that were fitted, each with its full name; planning first."""
    named = []
    for curve, column in fitted_curves(run):
        name = f"token entropy of {curve.name.replace('aggregate', 'all')} tokens"
        # A semantic entropy is never called a token entropy.
        if column is not None and column.meaning.kind == SEMANTIC:
            name = "semantic entropy" + (" of plans" if curve.name == "planning" else "")
        named.append((curve, name))
    return named


def headline(run: Entry[PhaseFit]) -> str:
    """The verdict in one sentence; for curves that do not turn to rise also the power of the test."""
    text, curves = verdict_words(run), curves_of(run)
    flat = [curve for curve, _ in curves if not curve.rises]
    for curve in flat:
        if curve.detectable is None:
            reason = "drifts for too long" if is_long(curve) else "does not fall clearly in its first half"
            return f"{text}; the test has no power in {CURVES[curve.name]}, which {reason}"
    if not flat:
        return text
    rise = format_number(max(curve.detectable or 0.0 for curve in flat), 2)
    where = f" in {CURVES[flat[0].name]}" if len(flat) == 1 and len(curves) == 2 else ""
    return f"{text}; {100 * POWER:g} % power{where} to detect a rise of {rise} nats over the second half"


def verdict_words(run: Entry[PhaseFit]) -> str:
    """What the curves do, and where; or that none turns to rise."""
    phases = run.result
    if phases is None:
        return "This run could not be fitted."
    if phases.planning is None or phases.execution is None:
        # One curve; that of all tokens cannot be separated.
        ((curve, name),) = curves_of(run)
        kind = "one curve, classes not separated" if curve.name == "aggregate" else "one curve"
        return f"{kind}: the {name} {does(curve)}"
    planning, execution = (_owner(run, kind) for kind in ("planning", "execution"))
    sign = {"execution first": 1, "planning first": -1}.get(str(phases.verdict), 0)
    if phases.delta is not None and sign:
        (second, _), (first, sooner) = [(planning, phases.planning), (execution, phases.execution)][::sign]
        text = f"{first} {does(sooner)}, {second} turns to rise {_steps(phases.delta, sign)} later"
    else:
        text = f"{planning} {does(phases.planning)}; {execution} {does(phases.execution)}"
        if phases.verdict == "overlapping":
            text += "; the order is open"
            if phases.later is not None:
                text += f" ({planning} is later with probability {format_probability(phases.later)})"
    return f"{phases.verdict}: {text}{_after(phases, execution)}"


def does(curve: CurvePhases) -> str:
    """``turns to rise at step 41 [30, 55] by 0.1 nats [0.08, 0.12] (p = 0.002)``, or that it does not."""
    p = p_value(curve.p_rise, curve.least_p)
    if curve.rises and curve.turning_point is not None and curve.rise is not None:
        step = value_and_interval(curve.turning_point)
        text = f"{RISES} at step {step} by {value_and_interval(curve.rise, 'nats')} ({p})"
    else:
        text = f"does not turn to rise ({p}{', long drift' if is_long(curve) else ''})"
    if curve.falls_again:
        text += f" and {FALLS_AGAIN} {between(curve)} ({second_fall_p(curve)})"
    return text


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


def _owner(run: Entry[PhaseFit], kind: str) -> str:
    column = run.columns.get(kind)
    return SEMANTIC if column is not None and column.meaning.kind == SEMANTIC else kind


def _steps(gap: Estimate, sign: int) -> str:
    """``86 steps [60, 112]``, or the same with the other sign."""
    ends = [None if end is None else sign * end + 0.0 for end in (gap.low, gap.value, gap.high)]
    low, value, high = ends[::sign]
    return value_and_interval(replace(gap, value=value, low=low, high=high), "steps")


def _after(phases: PhaseFit, execution: str) -> str:
    """Planning's turning point against the end of execution's fall."""
    gap = phases.after_fall
    if gap is None or gap.value is None or gap.low is None or gap.high is None:
        return ""
    fall = f"{execution} has completed 95 % of its fall"
    steps = _steps(gap, -1 if gap.high < 0 else 1)
    if gap.low <= 0 <= gap.high:
        return f"; it is not decided whether planning's turning point is before or after {fall} ({steps})"
    return f"; planning's turning point is {steps} {'before' if gap.high < 0 else 'after'} {fall}"


def cautions_counted(run: Entry[PhaseFit]) -> str:
    """`` (2 cautions)``; nothing where there are none."""
    number = 0 if run.result is None else len(run.result.cautions)
    return f" ({counted(number, 'caution')})" if number else ""


def _sections(run: Entry[PhaseFit]) -> list[b.Block]:
    """The verdict, the cautions, the figure, and the numbers of the curves; or why there are none."""
    phases, curves = run.result, curves_of(run)
    if phases is None:
        if run.refusal is None:
            return [b.Verdict("refused", "its document gives no reason")]
        hint = b.Notes([b.Note("hint", run.refusal.hint, "")])
        return [b.Verdict("refused", f"{run.refusal.message} [{run.refusal.slug}]"), hint]
    if not curves:
        return [b.Verdict("refused", "no curve was fitted"), b.Notes(b.labelled("note", phases.notes))]
    verdict, _, text = headline(run).partition(": ")
    badge, _, kind = verdict.partition(", ")
    text = f"{kind}: {text}" if kind else text
    return [
        b.Verdict(badge, f"{text}{cautions_counted(run)}", True),
        b.Notes([*b.labelled("caution", phases.cautions), *_notes(run, phases)]),
        *figures_of("phases", run),
        *_numbers(phases, curves),
    ]


def _notes(run: Entry[PhaseFit], phases: PhaseFit) -> list[b.Note]:
    """What was decided or is missing; the headline says which curves do not turn to rise."""
    notes = [finding for finding in phases.findings if finding.severity == "note"]
    first = [
        note.sentence for note in notes if note.code not in ("no-turning-point", "planning-share-unknown")
    ]
    last = [note.sentence for note in notes if note.code == "planning-share-unknown"]
    return b.labelled("note", [*first, *run.notes, *last])


def _numbers(phases: PhaseFit, curves: Curves) -> list[b.Block]:
    """A table with a column per curve, and planning's share of the entropy."""
    end = range_of(curves)[1]
    share = ""
    if phases.share_planning is not None:
        held = percent_words(phases.share_planning)
        share = f"planning tokens have {held} of the total entropy at step {format_step(end)}"
    columns = []
    for curve, _ in curves:
        # A curve may end before the others.
        ended = end - curve.last_step > float(curve.step[-1] - curve.step[-2])
        columns.append(_numbers_of(curve, f", step {format_step(curve.last_step)}" if ended else ""))
        if share and ended:
            share += f"; {CURVES[curve.name]}'s curve ends at step {format_step(curve.last_step)}"
    rows = [(label, *(column[label] for column in columns)) for label in columns[0]]
    known = [row for row in rows if set(row[1:]) != {MISSING}]
    heads = [b.Column("", f"{format_percent(phases.level)} intervals, nats")]
    heads += [b.Column(curve.name, name) for curve, name in curves]
    return [
        b.Table(heads, known, words=1 + len(curves)),
        b.Notes([b.Note("share", share), b.Note("method", METHOD, "")]),
    ]


def _numbers_of(curve: CurvePhases, ended: str) -> dict[str, str]:
    """The numbers of a curve by label."""
    detectable = "none" if curve.detectable is None else format_number(curve.detectable, 2)
    again = ["yes" if curve.falls_again else "no", between(curve), second_fall_p(curve)]
    return {
        RISES: f"{'yes' if curve.rises else 'no'}, {p_value(curve.p_rise, curve.least_p)}",
        "turning point, step": _or_missing(curve.turning_point),
        "rise": _or_missing(curve.rise),
        "detectable rise": MISSING if curve.rises else detectable,
        FALLS_AGAIN: ", ".join(filter(None, again)),
        "drift is long": f"probability {format_probability(curve.long_drift)}",
        "95 % of the fall by step": _or_missing(curve.settled),
        "entropy now": value_and_interval(curve.last) + ended,
    }


def _or_missing(estimate: Estimate | None) -> str:
    return MISSING if estimate is None else value_and_interval(estimate)


def _findings(across: PhasesAcross) -> Iterator[tuple[str, str, int, Estimate]]:
    """The label of a finding, the event that was counted if any, the number of runs, and the estimate."""
    counts = (
        ("planning's rise", "planning turns to rise", across.planning_rises, across.share_planning_rises),
        ("both rise", "both turn to rise", across.both, across.share_both),
        (
            "after the fall",
            "planning turns to rise after execution's fall",
            across.rises_after,
            across.share_rises_after,
        ),
    )
    for label, event, number, estimate in counts:
        if estimate is not None:
            yield label, event, number, estimate
    for name, label in (
        ("planning", "planning at"),
        ("execution", "execution at"),
        ("delta", "planning later by"),
    ):
        estimate = getattr(across, name)
        if estimate is not None:
            # In so many runs it is known.
            yield label, "", sum(getattr(run, name) is not None for run in across.each), estimate


def _across(across: PhasesAcross) -> list[b.Block]:
    notes = [b.Note("", "", f"{across.runs} runs together:")]
    for label, event, number, estimate in _findings(across):
        share = percent_words(estimate)
        text = f"{event} in {number} of {across.runs} runs: {share}" if event else f"{share} of the run"
        notes.append(b.Note(label, f"{text} ({estimate.method})"))
    notes += b.labelled("note", across.notes)
    # The one published number: planning rises once execution has fallen. It is of another quantity than
    # token entropy, and no test.
    eye = "HICRA reports, by eye, that the semantic entropy of strategic n-grams rises in 3 of 8 models"
    turned = any(run.planning is not None or run.execution is not None for run in across.each)
    return [
        b.Heading(f"Phases of {across.runs} runs together", name="across"),
        b.Notes(notes),
        *(figures_of("across", across) if turned else ()),
        b.paragraphs(f"{eye} (arXiv:2509.03646)."),
        b.Heading("Run by run", name="turns"),
        replace(b.table_of(TURNS, across.each), detail=True),
    ]


def _curve_rows(run: Entry[PhaseFit]) -> Iterator[b.Row]:
    """A row per curve, or one with the refusal."""
    base: b.Row = {"run": run.run, "path": run.path}
    phases = run.result
    if phases is None:
        yield base | {"refusal": run.refusal.slug if run.refusal is not None else None}
        return
    base |= {name: getattr(phases, name) for name in ("verdict", "later", "level", *_OF_BOTH)}
    for curve, column in fitted_curves(run):
        row = {name: getattr(curve, name) for name in (*_TESTS, "long_drift", *_ESTIMATES, *_NOISE)}
        if column is not None:
            row |= {"entropy_of": column.meaning.kind, "column": column.column}
        if curve.second_fall is not None:
            row["second_fall"] = "{:g}:{:g}".format(*curve.second_fall)
        yield base | row | {"curve": curve.name, "method": METHOD}
