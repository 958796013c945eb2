"""The phases of runs: what each curve does, their order, and several runs together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter

from entropylaw.documents.document import Entry, PhasesDocument
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    format_number,
    format_percent,
    format_probability,
    format_step,
    value_and_interval,
)
from entropylaw.results import VERDICTS, WORDS
from entropylaw.results.phases import CURVES, CurvePhases, PhaseFit, PhasesAcross, PooledCurve
from entropylaw.results.result import replace

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

_SUBJECTS = {"semantic": "semantic entropy", "aggregate": "the entropy of all tokens"}

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
    b.Column("curve", "curve", attrgetter("name")),
    *b.columns("runs", "rising", "not_rising", "unknown"),
    b.Column("share", "rises in", unit="%", estimate=True),
    b.Column("rise", "end above lowest, nats", estimate=True),
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
    if len(reasons) > len(brief):
        brief = [*brief, f"{len(reasons) - len(brief)} more in the JSON"]
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
    """What the curves do, and in which order, in one sentence after the verdict."""
    phases = run.result
    if phases is None:
        return "This run could not be fitted."
    # Curves that show the answer are first, and last those that show nothing.
    curves = sorted(
        phases.curves, key=lambda curve: (curve.verdict != phases.answer, curve.verdict == WORDS[2])
    )
    parts = []
    for curve in curves:
        subject = _SUBJECTS.get(curve.name, curve.name)
        parts.append(f"{subject}{':' if curve.rises is None else ''} {does(curve)}")
    if phases.delta is not None and phases.verdict in VERDICTS[:3]:
        # Planning's onset against the step at which execution has settled.
        rising = "planning" if getattr(phases.planning, "rises", None) else _SUBJECTS["semantic"]
        later = f"probability {format_probability(phases.later or 0.0)} that it is later"
        parts.append(
            f"{rising} begins to rise {value_and_interval(phases.delta, 'steps')} after that ({later})"
        )
    return f"{phases.answer}: {'; '.join(parts)}"


def does(curve: CurvePhases) -> str:
    """``rises by 0.1 nats …``, or that it does not, or ``cannot tell``, and what would have been found."""
    if curve.rises:
        times = "" if curve.ratio is None else f", to {curve.ratio:.2g} times its lowest level,"
        text = f"rises by {value_and_interval(curve.rise, 'nats')}{times}"
        if curve.onset is not None:
            text += f" from step {value_and_interval(curve.onset)} on"
        if curve.stays is False:
            text += " and has fallen since"
    elif curve.rises is False:
        least = format_number(curve.detectable, 2)
        text = f"does not rise (a rise of {least} nats would have been found)"
    else:
        least = "" if curve.detectable is None else f" below {format_number(curve.detectable, 2)} nats"
        text = f"{WORDS[2]} (a rise{least} would not have been found)"
    if curve.settled is not None:
        text += f" and settles at step {value_and_interval(curve.settled)}"
    if curve.eruptions:
        steps = ", ".join(map(format_step, curve.eruption_steps))
        text += f" and jumps at {'step' if len(curve.eruptions) == 1 else 'steps'} {steps}"
    return text


def last_step(phases: PhaseFit) -> float:
    """The last step of any curve."""
    return max(curve.last_step for curve in phases.curves)


def cautions_counted(run: Entry[PhaseFit]) -> str:
    """`` (2 cautions)``; nothing where there are none."""
    number = 0 if run.result is None else len(run.result.cautions)
    return f" ({counted(number, 'caution')})" if number else ""


def _sections(run: Entry[PhaseFit]) -> list[b.Block]:
    """The verdict, the cautions, the figure, and the numbers of the curves; or why there are none."""
    phases = run.result
    if phases is None:
        if run.refusal is None:
            return [b.Verdict("refused", "its document gives no reason")]
        hint = b.Notes([b.Note("hint", run.refusal.hint, "")])
        return [b.Verdict("refused", f"{run.refusal.message} [{run.refusal.slug}]"), hint]
    verdict, _, text = headline(run).partition(": ")
    notes = b.labelled("note", [*phases.notes, *run.notes])
    badge = b.Verdict(verdict, f"{text}{cautions_counted(run)}", True)
    findings = b.Notes([*b.labelled("caution", phases.cautions), *notes])
    return [badge, findings, *figures_of("phases", run), *_numbers(phases)]


def _numbers(phases: PhaseFit) -> list[b.Block]:
    """A table with a row per curve."""
    labels = ("p of a rise", "lowest before the end, step", "rise of the end", "since", "entropy now")
    heads = [
        b.Column("curve", f"{format_percent(phases.level)}, nats"),
        *(b.Column(label, label) for label in labels),
    ]
    end = last_step(phases)
    rows = []
    for curve in phases.curves:
        now = value_and_interval(curve.last)
        # A curve may end before the others.
        if end - curve.last_step > float(curve.step[-1] - curve.step[-2]):
            now += f", step {format_step(curve.last_step)}"
        lowest = f"{format_number(curve.lowest, 2)}, {format_step(curve.lowest_step)}"
        rise = value_and_interval(curve.rise)
        row = (_ROWS[curve.name], f"{curve.p_rise:.2g}", lowest, rise, format_step(curve.since), now)
        rows.append(row)
    return [b.Table(heads, rows), b.Notes([b.Note("method", METHOD, "")])]


def _over_runs(curve: PooledCurve) -> b.Note:
    """What one curve does over several runs."""
    counts = f"rises in {curve.rising}, does not in {curve.not_rising}, unknown in {curve.unknown}"
    parts = [f"{counts} of {counted(curve.runs, 'run')}"]
    if curve.share is not None:
        parts.append(f"{value_and_interval(curve.share, '%')} of those that are known")
    if curve.rise is not None:
        parts.append(f"ends {value_and_interval(curve.rise, 'nats')} above its lowest level")
    if curve.onset is not None:
        parts.append(f"begins to rise at {value_and_interval(curve.onset, '%')} of the run")
    if curve.settled is not None:
        parts.append(f"has settled at {value_and_interval(curve.settled, '%')} of the run")
    return b.Note(CURVES[curve.name], "; ".join(parts))


def _across(across: PhasesAcross) -> list[b.Block]:
    notes = list(map(_over_runs, across.curves))
    if across.orders:
        orders = ", ".join(f"{word} in {counted(number, 'run')}" for word, number in across.orders.items())
        if across.delta is not None:
            share = value_and_interval(across.delta, "%")
            orders += f"; on average planning begins to rise {share} of the run after execution has settled"
        notes.append(b.Note("order", orders))
    # The one published number is of another quantity than token entropy, and no test.
    eye = "HICRA reports, by eye, that the semantic entropy of strategic n-grams rises in 3 of 8 models"
    rows: list[b.Row] = []
    for summary in across.each:
        of_curves: b.Row = {curve.name: curve.verdict for curve in summary.curves}
        rows.append({"run": summary.run, "verdict": summary.verdict} | of_curves)
    heads = [b.Column("run", "run"), b.Column("verdict", "order")]
    heads += [b.Column(curve.name, CURVES[curve.name]) for curve in across.curves]
    return [
        b.Heading(f"Phases of {across.runs} runs together", name="across"),
        b.Notes([*notes, *b.labelled("note", across.notes)]),
        *figures_of("across", across),
        b.paragraphs(f"{eye} (arXiv:2509.03646)."),
        b.Heading("Run by run", name="turns"),
        replace(b.table_of(heads, rows), detail=True),
    ]


def _curve_rows(run: Entry[PhaseFit]) -> Iterator[b.Row]:
    """A row per curve, or one with the refusal."""
    base: b.Row = {"run": run.name, "path": run.path}
    phases = run.result
    if phases is None:
        yield base | {"refusal": run.refusal.slug if run.refusal is not None else None}
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
