"""The phases of runs: what each curve does, their order, and several runs together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
from entropylaw.results import VERDICTS, WORDS
from entropylaw.results.phases import CURVES, CurvePhases, PhaseFit, PhasesAcross, PooledCurve
from entropylaw.results.result import replace

EXPLODES = "explodes"

IN_ROWS = ("entropy-exploded", "entropy-eruption")
"""Cautions that a terminal does not repeat: the rows of the curves say them in short."""

METHOD = "differences of windows, drift + noise integrated out"

Result = PhasesDocument | Entry[PhaseFit] | PhaseFit | PhasesAcross | CurvePhases | PooledCurve

NAMES = {
    "planning": "token entropy of planning tokens",
    "execution": "token entropy of execution tokens",
    "semantic": "semantic entropy of plans",
    "aggregate": "token entropy of all tokens",
}
"""Full names of the curves. A semantic entropy is never called a token entropy."""

_ROWS = {
    "planning": "planning tokens",
    "execution": "execution tokens",
    "semantic": "plans (semantic)",
    "aggregate": "all tokens",
}

_CURVE = ("n", "first_step", "last_step", "p_rise", "detectable", "lowest", "lowest_step", "ratio", "since")
_ESTIMATES = ("rise", "onset", "settled", "last")

COLUMNS = (
    *b.columns("run", "path", "verdict", "curve", "column", "does", *_CURVE, "stays", "exploded"),
    *b.columns("eruptions", "eruption_steps"),
    *b.columns(*_ESTIMATES, estimate=True),
    *b.columns("noise"),
    *b.columns("delta", estimate=True),
    *b.columns("later", "level", "method"),
    *b.columns("curve_step", "curve_fitted", "curve_low", "curve_high", "refusal"),
)
"""A row per curve. ``refusal`` holds the error's slug, ``eruption_steps`` steps as ``30:55``; so do
``curve_step`` … ``curve_high`` the points of the curve and of the band that holds all of it."""

POINTS = b.columns("step", "entropy", "fitted", "low", "high")
"""A row per point of a curve, with the band that holds the whole curve."""

SHARES = b.columns("at", "mean", "low", "high")
"""A row per share of the run of a curve over several runs."""

ACROSS = (
    b.Column("curve", "curve", lambda curve: CURVES[curve.name]),
    *b.columns("runs", "rising", "not_rising", "unknown"),
    b.Column("share", "rises in", unit="%", estimate=True),
    b.Column("rise", "rise, nats", estimate=True),
    b.Column("onset", "rises from", unit="%", estimate=True),
    b.Column("settled", "settles at", unit="%", estimate=True),
)
"""A row per curve over several runs; steps are shares of the run."""


def describe(result: Result) -> list[b.Block]:
    """A run, the runs of a document and what they have in common, or one of the two alone."""
    if isinstance(result, CurvePhases | PooledCurve):
        return [table(result)]
    if isinstance(result, PhasesAcross):
        return _across(result)
    if isinstance(result, PhasesDocument):
        blocks: list[b.Block] = [b.Heading("Phases of entropy", 1), b.warned(result.warnings)]
        if result.across is not None:
            blocks += _across(result.across)
        return blocks + [block for run in result.runs for block in _of_run(run)]
    return _of_run(_without_log(result) if isinstance(result, PhaseFit) else result)


def _of_run(run: Entry[PhaseFit]) -> list[b.Block]:
    """A run: its curves, and the columns that they were read from."""
    if run.result is None:
        return [b.Heading(run.name, 2, "" if run.run == run.path else run.path), *_sections(run)]
    curves = run.result.curves
    points = " and ".join(dict.fromkeys(str(curve.n) for curve in curves))
    # Blocks of points begin later and end earlier than the curves themselves.
    blocked = any(curve.first_step < curve.step[0] or curve.step[-1] < curve.last_step for curve in curves)
    first_step = format_step(min(curve.first_step for curve in curves))
    steps = f"steps {first_step}–{format_step(last_step(run.result))}"
    about = f"{points} {'block averages' if blocked else 'points'}, {steps}"
    if not run.path:
        return [b.Heading(run.name, 2, about), *_sections(run)]
    read: list[b.Block] = [b.Heading("Read and dropped", name="read"), b.Notes(_read(run))]
    return [b.Heading(run.name, 2, f"{about} · {run.path}"), *_sections(run), *read]


def _read(run: Entry[PhaseFit]) -> list[b.Note]:
    """The columns that were used, and for what, and the points that were dropped; a terminal shows three."""
    # A stored document has its columns in another order.
    columns = ((CURVES[name], run.columns[name].column) for name in CURVES if name in run.columns)
    used = [f"{content} '{column}'" for content, column in columns]
    counts = sorted(run.dropped.items(), key=lambda item: (-item[1], item[0]))
    reasons = [f"{reason} ({number})" for reason, number in counts if number]
    brief = reasons[:3]
    if len(reasons) > 3:
        brief.append(f"{len(reasons) - 3} more in the JSON")
    return [
        b.Note("file", run.path, ""),
        b.Note("read", ", ".join(used) or "no column"),
        b.Note("dropped", "; ".join(reasons) or "nothing", "; ".join(brief) or "nothing"),
    ]


def table(result: Result) -> b.Table:
    """A row per curve of every run, or of several together; of a curve, a row per point."""
    if isinstance(result, CurvePhases | PooledCurve):
        columns = POINTS if isinstance(result, CurvePhases) else SHARES
        series = [getattr(result, column.key).tolist() for column in columns]
        return b.Table(columns, list(zip(*series, strict=True)))
    if isinstance(result, PhasesAcross):
        return b.table_of(ACROSS, result.curves)
    entry = _without_log(result) if isinstance(result, PhaseFit) else result
    runs = entry.runs if isinstance(entry, PhasesDocument) else (entry,)
    return b.table_of(COLUMNS, (row for run in runs for row in _curve_rows(run)))


def _without_log(phases: PhaseFit) -> Entry[PhaseFit]:
    """Phases without a log behind them."""
    return Entry(
        run=phases.run, path="", columns={}, dropped=phases.dropped, notes=(), result=phases, refusal=None
    )


def headline(run: Entry[PhaseFit]) -> str:
    """The answer in a word, and the curves that it is of, or the steps between two of them."""
    phases = run.result
    if phases is None:
        return "This run could not be fitted."
    return f"{_answer(phases)}: {_about(phases)}"


def _answer(phases: PhaseFit) -> str:
    """The order, or what the curves do."""
    if phases.answer == WORDS[0] and any(word(curve) == EXPLODES for curve in phases.curves):
        return EXPLODES
    return phases.answer


def _about(phases: PhaseFit) -> str:
    """How long after execution has settled another curve rises, or which curves do as the answer says."""
    if phases.delta is None or phases.verdict not in VERDICTS[:3]:
        alike = [CURVES[curve.name] for curve in phases.curves if word(curve) == _answer(phases)]
        return ", ".join(alike or (CURVES[curve.name] for curve in phases.curves))
    rising = "planning" if getattr(phases.planning, "rises", None) else "plans"
    later = f"P of later {format_probability(phases.later or 0.0)}"
    steps = value_and_interval(phases.delta, "steps")
    return f"onset of {rising} {steps} after execution settles ({later})"


def word(curve: CurvePhases) -> str:
    """What a curve does: ``explodes``, ``rises``, ``does not rise``, ``cannot tell``."""
    return EXPLODES if curve.exploded or curve.eruptions else curve.verdict


def _path(curve: CurvePhases, end: float) -> str:
    """``0.80 → 0.24 at 300 → 0.485 [0.472, 0.498]``: the start, the lowest level and its step, and now."""
    text = f"{format_number(float(curve.fitted[0]), 2)} → "
    if curve.rises:
        text += f"{format_number(curve.lowest, 2)} at {format_step(curve.lowest_step)} → "
    text += value_and_interval(curve.last)
    # A curve may end before the others.
    if end - curve.last_step > float(curve.step[-1] - curve.step[-2]):
        text += f" at {format_step(curve.last_step)}"
    return text


def _rise(curve: CurvePhases) -> str:
    """How far a curve rises, or a bound: a larger rise would have been found."""
    if curve.rises:
        return value_and_interval(curve.rise)
    return MISSING if curve.detectable is None else f"<{format_number(curve.detectable, 2)}"


def _when(curve: CurvePhases) -> str:
    """The onset, the step of settling, and the steps of sharp rises."""
    parts = []
    if curve.onset is not None:
        parts.append(f"from {value_and_interval(curve.onset)}")
    if curve.stays is False:
        parts.append("fallen since")
    if curve.settled is not None:
        parts.append(f"settles {value_and_interval(curve.settled)}")
    if curve.eruptions:
        parts.append(f"explodes {', '.join(map(format_step, curve.eruption_steps))}")
    return "; ".join(parts) or MISSING


def last_step(phases: PhaseFit) -> float:
    """The last step of any curve."""
    return max(curve.last_step for curve in phases.curves)


def _sections(run: Entry[PhaseFit]) -> list[b.Block]:
    """The answer, a line per curve, the figure, and the cautions; or why there are none."""
    phases = run.result
    if phases is None:
        assert run.refusal is not None
        hint = b.Notes([b.Note("hint", run.refusal.hint, "")])
        return [b.Verdict("refused", f"{run.refusal.message} [{run.refusal.slug}]"), hint]
    notes = b.labelled("note", [*phases.notes, *run.notes])
    badge = b.Verdict(_answer(phases), _about(phases), True)
    cautions = [
        b.Note("caution", finding.sentence, "" if finding.code in IN_ROWS else None)
        for finding in phases.findings
        if finding.severity == "caution"
    ]
    return [badge, *_numbers(phases), *figures_of("phases", run), b.Notes([*cautions, *notes])]


def _numbers(phases: PhaseFit) -> list[b.Block]:
    """A row per curve."""
    heads = [
        b.Column("curve", f"{format_percent(phases.level)} intervals"),
        b.Column("does"),
        b.Column("path", "entropy, nats, at step"),
        b.Column("rise", "rise, nats"),
        b.Column("when", "step"),
    ]
    end = last_step(phases)
    rows = [
        (_ROWS[curve.name], word(curve), _path(curve, end), _rise(curve), _when(curve))
        for curve in phases.curves
    ]
    return [b.Table(heads, rows, words=len(heads)), b.Notes([b.Note("method", METHOD, "")])]


def _across(across: PhasesAcross) -> list[b.Block]:
    levels = {curve.share.level for curve in across.curves if curve.share is not None}
    curve = replace(ACROSS[0], label=" ".join([*map(format_percent, levels), "intervals"]))
    notes = []
    if across.orders:
        orders = ", ".join(f"{word} in {counted(number, 'run')}" for word, number in across.orders.items())
        if across.delta is not None:
            share = value_and_interval(across.delta, "%")
            orders += f"; planning rises {share} of the run after execution settles (mean)"
        notes.append(b.Note("order", orders))
    return [
        b.Heading(f"Phases of {across.runs} runs together", name="across"),
        b.table_of([curve, *ACROSS[1:]], across.curves),
        b.Notes([*notes, *b.labelled("note", across.notes)]),
        *figures_of("across", across),
    ]


def _curve_rows(run: Entry[PhaseFit]) -> Iterator[b.Row]:
    """A row per curve, or one with the refusal."""
    base: b.Row = {"run": run.name, "path": run.path}
    phases = run.result
    if phases is None:
        assert run.refusal is not None
        yield base | {"refusal": run.refusal.slug}
        return
    base |= {name: getattr(phases, name) for name in ("verdict", "later", "level", "delta")}
    for curve in phases.curves:
        names = (*_CURVE, "stays", "exploded", *_ESTIMATES, "noise")
        row: b.Row = {name: getattr(curve, name) for name in names}
        row |= {"curve": curve.name, "does": curve.verdict, "method": METHOD}
        if curve.name in run.columns:
            row["column"] = run.columns[curve.name].column
        if curve.eruptions is not None:
            row["eruptions"] = len(curve.eruptions)
            row["eruption_steps"] = _series(curve.eruption_steps) or None
        row["curve_step"] = _series(curve.step)
        row |= {f"curve_{name}": _series(getattr(curve, name), 6) for name in ("fitted", "low", "high")}
        yield base | row


def _series(values: Iterable[float], digits: int = 10) -> str:
    """Numbers in one cell, ``30:55``, with as many significant digits."""
    return ":".join(f"{value:.{digits}g}" for value in values)
