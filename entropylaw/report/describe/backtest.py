"""Backtests: the errors of forecasts from parts of runs, and of their peers."""

from __future__ import annotations

from entropylaw.documents.document import BacktestDocument, Entry
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.numbers import format_number, format_percent
from entropylaw.results.forecast import Backtest, RunBacktest

PEERS = (
    ("last_value", "last value"),
    ("law", "law"),
    ("line", "line"),
    ("averaged", "averaged"),
    ("scalerl", "ScaleRL"),
)

_NAMES = {
    "forecast": "the forecast",
    "last_value": "the last value",
    "law": "the law by least squares",
    "line": "a line by least squares",
    "averaged": "the averaged prediction of a fit",
    "scalerl": "the ScaleRL sigmoid",
}

_PROTOCOL = (
    b.Column("protocol", "fitted"),
    b.Column("entropy", "entropy", lambda row: "forecast" if row.blind else "observed"),
)

_COVERED = b.Column("covered", "coverage", unit="%")

SCORES = (
    *_PROTOCOL,
    b.Column("fitted", shown_in=(b.DATA,)),
    b.Column("predicted", shown_in=(b.DATA,)),
    b.Column("n", "fitted → predicted", lambda row: f"{row.fitted} → {row.predicted}", shown_in=(b.PEOPLE,)),
    b.Column("rmse", "forecast"),
    *(b.Column(key, label) for key, label in PEERS),
    _COVERED,
    b.Column("width", "width"),
    *(b.Column(key, shown_in=(b.DATA,)) for key in ("spread", "noise", "interval_score", "last_value_score")),
)
"""The root mean squared errors of a run's forecasts and of their peers, a row per protocol."""

BACKTEST = (
    *b.columns("run"),
    *(column for column in SCORES if b.DATA in column.shown_in),
    *b.columns("level", "note"),
)
"""The same in CSV and frames; a run that was not tested has its reason in ``note``."""

SKILLS = (
    *_PROTOCOL,
    *(b.Column(f"to_{key}", label, unit="ratio") for key, label in PEERS),
    _COVERED,
    b.Column("width", "width", lambda row: format_number(row.width, 2)),
    b.Column("to_band", "interval score", unit="ratio"),
    b.Column("worst", "worst to last value", lambda row: f"{row.worst:.2f} ({row.worst_run})"),
)
"""Errors over all runs, as ratios."""

_HOW = (
    "{}: error of the forecast over that of the peer, geometric mean over runs, errors below the noise "
    "counted as the noise; below 1 the forecast is better. Law and line are by least squares, averaged is "
    "what a fit of that part predicts, and the three use the observed entropies in every row. The width of "
    "the {} prediction interval is a share of the run's range of rewards, median over runs; its interval "
    "score (width and misses together) is over that of a normal band about the last value."
)


def describe(result: Backtest | BacktestDocument | Entry[RunBacktest] | RunBacktest) -> list[b.Block]:
    """A table over all runs, then every run."""
    if isinstance(result, Entry | RunBacktest):
        return _of_run(*_runs(result)[0])
    blocks: list[b.Block] = [b.Heading("Backtest of forecasts", 1)]
    if isinstance(result, BacktestDocument):
        blocks.append(b.warned(result.warnings))
    runs = _runs(result)
    refused = sum(tested is None for _, tested, _ in runs)
    if refused:
        text = f"Not tested: {refused} of {len(runs)} runs, each with its reason."
        blocks.append(b.paragraphs(text, detail=True))
    if result.overall:
        blocks += over_all_runs(result)
    return blocks + [block for run in runs for block in _of_run(*run)]


def over_all_runs(result: Backtest | BacktestDocument) -> list[b.Block]:
    """What has the smallest error, and the errors as ratios."""
    best: dict[str, list[str]] = {}
    for skill in result.overall:
        entropies = "forecast" if skill.blind else "observed"
        best.setdefault(_NAMES[skill.best], []).append(f"{skill.protocol}, {entropies} entropies")
    named = "; ".join(f"{name} ({'; '.join(protocols)})" for name, protocols in best.items())
    how = _HOW.format(counted(result.overall[0].runs, "run"), format_percent(result.level))
    return [
        b.Notes([b.Note("least error", named)]),
        b.paragraphs(how),
        b.table_of(SKILLS, result.overall, words=2),
    ]


def table(result: Backtest | BacktestDocument | Entry[RunBacktest] | RunBacktest) -> b.Table:
    """A row per protocol of every run."""
    level = getattr(result, "level", None)
    rows: list[list[b.Cell]] = []
    for name, tested, reason in _runs(result):
        if tested is None:
            rows.append([name, *[None] * (len(BACKTEST) - 2), reason])
        else:
            rows += [[name, *cells, level, None] for cells in b.table_of(SCORES, tested.scores, b.DATA).rows]
    return b.Table(BACKTEST, rows)


def _runs(
    result: Backtest | BacktestDocument | Entry[RunBacktest] | RunBacktest,
) -> list[tuple[str, RunBacktest | None, str]]:
    """The names of the runs, what was tested of each, and why nothing was."""
    if isinstance(result, Backtest):
        refused = [(name, None, reason) for name, reason in result.refused]
        return [*((run.run, run, "") for run in result.runs), *refused]
    if isinstance(result, RunBacktest):
        return [(result.run, result, "")]
    entries = result.runs if isinstance(result, BacktestDocument) else (result,)
    return [(entry.name, entry.result, getattr(entry.refusal, "message", "")) for entry in entries]


def _of_run(name: str, tested: RunBacktest | None, reason: str) -> list[b.Block]:
    if tested is None:
        return [b.Heading(name, 2), b.Verdict("not tested", reason)]
    block = f", each the mean of {tested.block}" if tested.block > 1 else ""
    return [
        b.Heading(name, 2, f"{tested.n} evaluations{block}"),
        b.Verdict("tested", "root mean squared errors on the evaluations not fitted, in reward units", True),
        b.table_of(SCORES, tested.scores, b.PEOPLE, words=2),
    ]
