"""The phases of runs: the verdict on each, its curves side by side, and what several runs say together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from entropylaw.documents.phases import COLUMNS as READ
from entropylaw.documents.phases import PhasesDocument, RunPhases
from entropylaw.report import blocks as b
from entropylaw.report import phasewords as words
from entropylaw.report.figures import figures_of
from entropylaw.report.findings import UNKNOWN_SHARE
from entropylaw.report.numbers import MISSING, format_percent, format_step
from entropylaw.results import Estimate
from entropylaw.results.phases import CURVES, PhaseFit, PhasesAcross

Result = PhasesDocument | RunPhases | PhaseFit | PhasesAcross

_CURVE = "n first_step last_step p_value found kind"
_OF_BOTH = "delta after_fall share_planning"
_OF_CURVE = "slope_before slope_after rise settled last"
_OF_NOISE = "detectable lag1 noise"

COLUMNS = (
    *b.columns(f"run path verdict curve entropy_of column {_CURVE} boundary_stretches boundary_whole"),
    *b.columns(f"boundary width {_OF_CURVE}", estimate=True),
    *b.columns(_OF_NOISE),
    *b.columns(_OF_BOTH, estimate=True),
    *b.columns("later level method refusal"),
)
"""A row per curve. ``refusal`` holds the error's slug; ``entropy_of`` says whether the curve is token entropy
or semantic entropy; ``boundary_stretches`` holds the most probable steps, as ``30:55 120:160``, and
``boundary_low`` and ``boundary_high`` the ends of them all."""

ACROSS = (
    *b.columns("finding runs"),
    b.Column("share", "share", unit="%", estimate=True),
    *b.columns("method"),
)


def describe(result: Result) -> list[b.Block]:
    """A run, the runs of a document and what they say together, or one of the two alone."""
    if isinstance(result, PhasesAcross):
        return _across(result)
    if isinstance(result, PhasesDocument):
        warned = b.Notes(b.labelled("warning", result.warnings, ""))
        across = _across(result.across) if result.across is not None else []
        runs = (block for run in result.runs for block in describe(run))
        return [b.Heading("Phases of entropy", 1), warned, *across, *runs]
    run = without_log(result) if isinstance(result, PhaseFit) else result
    if run.phases is None:
        return [b.Heading(run.run, 2, "" if run.run == run.path else run.path), *sections(run)]
    about = " · ".join(filter(None, (_extent(words.curves_of(run)), run.path)))
    blocks = [b.Heading(run.run, 2, about), *sections(run)]
    if run.path:
        dropped = b.Note("dropped", _dropped(run), _dropped(run, 3))
        notes = [b.Note("file", run.path, ""), b.Note("read", _columns_read(run)), dropped]
        blocks += [b.Heading("Read and dropped", name="read"), b.Notes(notes)]
    return blocks


def table(result: Result) -> b.Table:
    """A row per curve of every run; of several runs together, a row per finding."""
    if isinstance(result, PhasesAcross):
        shares = (
            ("two boundaries", result.both, result.share_both),
            ("planning rises after execution's fall", result.rises_after, result.share_rises_after),
            ("planning at", result.runs, result.planning),
            ("execution at", result.runs, result.execution),
            ("planning later by", result.runs, result.delta),
        )
        return b.Table(ACROSS, [(name, n, share, share.method) for name, n, share in shares if share])
    found = without_log(result) if isinstance(result, PhaseFit) else result
    runs = found.runs if isinstance(found, PhasesDocument) else (found,)
    return b.table_of(COLUMNS, (row for run in runs for row in _rows(run)))


def without_log(found: PhaseFit) -> RunPhases:
    """Phases without a log behind them."""
    unknown: dict[str, Any] = dict.fromkeys((*READ, "refusal")) | {"path": "", "notes": (), "findings": ()}
    return RunPhases(run=found.run, dropped=found.dropped, phases=found, **unknown)


def sections(run: RunPhases) -> list[b.Block]:
    """The verdict, what to mind, the figure, and the numbers of the curves; or why there are none."""
    if run.phases is None:
        if (refusal := run.refusal) is None:
            return [b.Verdict("refused", "its document gives no reason")]
        hint = b.Notes([b.Note("hint", refusal.hint, "")])
        return [b.Verdict("refused", f"{refusal.message} [{refusal.slug}]"), hint]
    curves = words.curves_of(run)
    if not curves:
        return [b.Verdict("refused", "no curve was fitted"), b.Notes(b.labelled("note", run.phases.notes))]
    before, _, text = words.headline(run).partition(": ")
    badge, _, how = before.partition(", ")
    text = f"{how}: {text}" if how else text
    # The headline says already that there is no boundary; what was done to the data before what is not known.
    said = [note for note in run.phases.notes if not note.startswith("no order is told: no boundary")]
    said = sorted((*said, *run.notes), key=lambda note: note.startswith(UNKNOWN_SHARE))
    notes = b.labelled("caution", words.all_cautions(run)) + b.labelled("note", said)
    heads = [b.Column("", f"{format_percent(run.phases.level)} intervals, nats")]
    heads += [b.Column(curve.name, name) for curve, name in curves]
    until = words.last_step(curves)
    rows = [
        (beside[0][0], *(cell for _, cell in beside))
        for beside in zip(*(words.rows_of(curve, until) for curve, _ in curves), strict=True)
        if any(cell != MISSING for _, cell in beside)
    ]
    share = ""
    if run.phases.share_planning is not None:
        short = [curve for curve, _ in curves if words.ends_before(curve, until)]
        ends = (f"; {CURVES[one.name]}'s curve ends at step {format_step(one.last_step)}" for one in short)
        held = words.percent_words(run.phases.share_planning)
        share = f"planning tokens hold {held} of all entropy at step {format_step(until)}{''.join(ends)}"
    return [
        b.Verdict(badge, f"{text}{words.cautions_counted(run)}", True),
        b.Notes(notes, may_wait=True),
        *figures_of("phases", run),
        b.Table(heads, rows, words=1 + len(curves)),
        b.Notes([b.Note("share", share), b.Note("method", curves[0][0].boundary.step.method, "")]),
    ]


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


def _dropped(run: RunPhases, most: int | None = None) -> str:
    """What was left out, and why; with ``most`` the reasons of so many, and the number of the others."""
    counted = sorted(run.dropped.items(), key=lambda item: (-item[1], item[0]))
    reasons = [f"{reason} ({number})" for reason, number in counted if number]
    hidden = len(reasons) - len(reasons[:most])
    return "; ".join([*reasons[:most], *[f"{hidden} more in the JSON"] * bool(hidden)]) or "nothing"


def _extent(curves: words.Curves) -> str:
    """``101 points, steps 0–200``: of the curves themselves, not of the middles of blocks."""
    points = " and ".join(dict.fromkeys(str(curve.n) for curve, _ in curves))
    blocks = any(curve.first_step < curve.step[0] or curve.step[-1] < curve.last_step for curve, _ in curves)
    first, last = min(curve.first_step for curve, _ in curves), words.last_step(curves)
    steps = f"steps {format_step(first)}–{format_step(last)}"
    return f"{points} {'means of neighbours' if blocks else 'points'}, {steps}"


def _across(across: PhasesAcross) -> list[b.Block]:
    def share(label: str, what: str, number: int, of: Estimate) -> b.Note:
        found = f"in {number} of {across.runs} runs: {words.percent_words(of)} ({of.method})"
        return b.Note(label, f"{what} {found}")

    title, rises = f"{across.runs} runs together", "planning turns to rise after execution's fall"
    notes = [b.Note("", "", f"{title}:")]
    notes.append(share("two boundaries", "in both curves", across.both, across.share_both))
    if across.share_rises_after is not None:
        notes.append(share("planning's rise", rises, across.rises_after, across.share_rises_after))
    labels = ("planning at", "execution at", "planning later by")
    for label, estimate in zip(labels, (across.planning, across.execution, across.delta), strict=True):
        if estimate is not None:
            notes.append(b.Note(label, f"{words.percent_words(estimate)} of the run ({estimate.method})"))
    notes += b.labelled("note", across.notes)
    # The one number there is to compare with: planning rises once execution has fallen. It is of another
    # quantity than token entropy, and no test.
    eye = "published, by eye, of the semantic entropy of strategic grams: in 3 of 8 models"
    return [b.Heading(title, name="across"), b.Notes(notes), b.paragraphs(f"{eye} (arXiv:2509.03646)")]


def _rows(run: RunPhases) -> Iterator[dict[str, b.Cell]]:
    base: dict[str, b.Cell] = {"run": run.run, "path": run.path}
    if (phases := run.phases) is None:
        yield base | {"refusal": run.refusal.slug if run.refusal is not None else None}
        return
    base |= {name: getattr(phases, name) for name in f"verdict later level {_OF_BOTH}".split()}
    for curve, column in words.fitted_curves(run):
        boundary = curve.boundary
        row = {name: getattr(curve, name) for name in f"{_CURVE} {_OF_CURVE} {_OF_NOISE}".split()}
        if column is not None:
            row |= {"entropy_of": column.what, "column": column.column}
        row |= {"curve": curve.name, "boundary": boundary.step, "width": boundary.width}
        row |= {"boundary_stretches": " ".join(f"{low:g}:{high:g}" for low, high in boundary.intervals)}
        yield base | row | {"boundary_whole": boundary.whole, "method": boundary.step.method}
