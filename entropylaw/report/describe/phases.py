"""The phases of runs: the verdict on each, its curves side by side, and what several runs say together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from entropylaw.documents.phases import COLUMNS as READ
from entropylaw.documents.phases import PhasesDocument, RunPhases
from entropylaw.report import phasewords as words
from entropylaw.report.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Heading,
    Note,
    Notes,
    Table,
    Verdict,
    labelled,
    paragraphs,
)
from entropylaw.report.numbers import format_percent, format_step
from entropylaw.results import Estimate
from entropylaw.results.phases import PhaseFit, PhasesAcross

Result = PhasesDocument | RunPhases | PhaseFit | PhasesAcross

_REASONS = 3
"""Reasons for what was dropped that a terminal shows."""

_OF_BOTH = ("delta", "after_fall", "share_planning")
_OF_CURVE = ("slope_before", "slope_after", "rise", "settled", "last")
_OF_NOISE = ("detectable", "lag1", "noise")


def _columns(*keys: str, estimate: bool = False) -> Iterator[Column]:
    return (Column(key, key.replace("_", " "), estimate=estimate) for key in keys)


COLUMNS = (
    *_columns("run", "path", "verdict", "curve", "entropy_of", "column", "n", "first_step", "last_step"),
    *_columns("p_value", "found", "kind", "boundary_stretches", "boundary_whole"),
    *_columns("boundary", "width", *_OF_CURVE, estimate=True),
    *_columns(*_OF_NOISE),
    *_columns(*_OF_BOTH, estimate=True),
    *_columns("later", "level", "method", "refusal"),
)
"""A row per curve. ``refusal`` holds the error's slug; ``entropy_of`` says whether the curve is token entropy
or semantic entropy; ``boundary_stretches`` holds the most probable steps, as ``30:55 120:160``, and
``boundary_low`` and ``boundary_high`` the ends of them all."""

ACROSS = (
    *_columns("finding", "runs"),
    Column("share", "share", unit="%", estimate=True),
    *_columns("method"),
)


def describe(result: Result) -> list[Block]:
    """A run, the runs of a document and what they say together, or one of the two alone."""
    if isinstance(result, PhasesAcross):
        return _across(result)
    if isinstance(result, PhasesDocument):
        head: list[Block] = [Heading("Phases of entropy", 1), Notes(labelled("warning", result.warnings, ""))]
        head += _across(result.across) if result.across is not None else []
        return head + [block for run in result.runs for block in describe(run)]
    run = without_log(result) if isinstance(result, PhaseFit) else result
    if run.phases is None:
        return [Heading(run.run, 2, "" if run.run == run.path else run.path), *sections(run)]
    about = f"{_extent(words.curves_of(run))} · {run.path}" if run.path else _extent(words.curves_of(run))
    return [Heading(run.run, 2, about), *sections(run), *_read(run)]


def table(result: Result) -> Table:
    """A row per curve of every run; of several runs together, a row per finding."""
    if isinstance(result, PhasesAcross):
        return Table(ACROSS, list(_findings(result)))
    found = without_log(result) if isinstance(result, PhaseFit) else result
    runs = found.runs if isinstance(found, PhasesDocument) else (found,)
    rows = [row for run in runs for row in _rows(run)]
    return Table(COLUMNS, [tuple(row.get(column.key) for column in COLUMNS) for row in rows])


def without_log(found: PhaseFit) -> RunPhases:
    """Phases without a log behind them."""
    unknown: dict[str, Any] = dict.fromkeys((*READ, "refusal")) | {"path": "", "notes": (), "findings": ()}
    return RunPhases(run=found.run, dropped=found.dropped, phases=found, **unknown)


def sections(run: RunPhases) -> list[Block]:
    """The verdict, what to mind, the figure, and the numbers of the curves; or why there are none."""
    if run.phases is None:
        if run.refusal is None:
            return [Verdict("refused", "its document gives no reason")]
        refusal = run.refusal
        hint = Notes([Note("hint", refusal.hint, "")])
        return [Verdict("refused", f"{refusal.message} [{refusal.slug}]"), hint]
    curves = words.curves_of(run)
    if not curves:
        return [Verdict("refused", "no curve was fitted"), Notes(labelled("note", run.phases.notes))]
    before, _, text = words.headline(run).partition(": ")
    badge, _, how = before.partition(", ")
    text = f"{how}: {text}" if how else text
    notes = labelled("caution", words.all_cautions(run)) + labelled("note", words.told_notes(run))
    names = [Column("", f"{format_percent(run.phases.level)} intervals, nats")]
    share = words.share_words(run)
    return [
        Verdict(badge, f"{text}{words.cautions_counted(run)}", True),
        Notes(notes, may_wait=True),
        Figure("phases", run),
        Table(
            names + [Column(curve.name, name) for curve, name in curves],
            [(label, *cells) for label, cells in words.table_rows(curves)],
            words=1 + len(curves),
        ),
        Notes([Note("share", share), Note("method", curves[0][0].boundary.step.method, "")]),
    ]


def _read(run: RunPhases) -> list[Block]:
    if not run.path:
        return []
    dropped = Note("dropped", words.dropped_words(run), words.dropped_words(run, _REASONS))
    notes = [Note("file", run.path, ""), Note("read", words.read_words(run)), dropped]
    return [Heading("Read and dropped", name="read"), Notes(notes)]


def _extent(curves: words.Curves) -> str:
    """``101 points, steps 0–200``: of the curves themselves, not of the middles of blocks."""
    points = " and ".join(dict.fromkeys(str(curve.n) for curve, _ in curves))
    blocks = any(curve.first_step < curve.step[0] or curve.step[-1] < curve.last_step for curve, _ in curves)
    first, last = min(curve.first_step for curve, _ in curves), words.last_step(curves)
    steps = f"steps {format_step(first)}–{format_step(last)}"
    return f"{points} {'means of neighbours' if blocks else 'points'}, {steps}"


def _across(across: PhasesAcross) -> list[Block]:
    title = f"{across.runs} runs together"
    notes = [Note(label, text) for label, text in words.across_rows(across)]
    return [
        Heading(title, name="across"),
        Notes([Note("", "", f"{title}:"), *notes, *labelled("note", across.notes)]),
        paragraphs(words.PUBLISHED),
    ]


def _findings(across: PhasesAcross) -> Iterator[tuple[Cell, ...]]:
    shares: list[tuple[str, int, Estimate | None]] = [
        ("two boundaries", across.both, across.share_both),
        ("planning rises after execution's fall", across.rises_after, across.share_rises_after),
        ("planning at", across.runs, across.planning),
        ("execution at", across.runs, across.execution),
        ("planning later by", across.runs, across.delta),
    ]
    return ((name, runs, share, share.method) for name, runs, share in shares if share is not None)


def _rows(run: RunPhases) -> Iterator[dict[str, Cell]]:
    base: dict[str, Cell] = {"run": run.run, "path": run.path}
    phases = run.phases
    if phases is None:
        yield base | {"refusal": run.refusal.slug if run.refusal is not None else None}
        return
    base |= {name: getattr(phases, name) for name in ("verdict", "later", "level", *_OF_BOTH)}
    for curve, column in words.fitted_curves(run):
        boundary, row = curve.boundary, dict(base)
        for name in ("n", "first_step", "last_step", "p_value", "found", "kind", *_OF_CURVE, *_OF_NOISE):
            row[name] = getattr(curve, name)
        if column is not None:
            row |= {"entropy_of": column.what, "column": column.column}
        yield row | {
            "curve": curve.name,
            "boundary": boundary.step,
            "width": boundary.width,
            "boundary_stretches": " ".join(f"{low:g}:{high:g}" for low, high in boundary.intervals),
            "boundary_whole": boundary.whole,
            "method": boundary.step.method,
        }
