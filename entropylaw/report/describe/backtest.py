"""Backtests: the errors of forecasts from parts of runs, and of their peers."""

from __future__ import annotations

from entropylaw.documents.document import BacktestDocument
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


def describe(result: Backtest | BacktestDocument | RunBacktest) -> list[b.Block]:
    """A table over all runs, then every run."""
    if isinstance(result, RunBacktest):
        return _of_run(result)
    blocks: list[b.Block] = [b.Heading("Backtest of forecasts", 1)]
    if isinstance(result, BacktestDocument):
        blocks.append(b.warned(result.warnings))
    refused = sum(run.refusal is not None for run in result.runs)
    if refused:
        text = f"Not tested: {refused} of {len(result.runs)} runs, each with its reason."
        blocks.append(b.paragraphs(text, detail=True))
    if result.overall:
        blocks += over_all_runs(result)
    return blocks + [block for run in result.runs for block in _of_run(run)]


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


def table(result: Backtest | BacktestDocument | RunBacktest) -> b.Table:
    """A row per protocol of every run."""
    runs = (result,) if isinstance(result, RunBacktest) else result.runs
    level = getattr(result, "level", None)
    rows: list[list[b.Cell]] = []
    for run in runs:
        rows += [[run.run, *cells, level, None] for cells in b.table_of(SCORES, run.scores, b.DATA).rows]
        if run.refusal is not None:
            rows.append([run.run, *[None] * (len(BACKTEST) - 2), run.refusal])
    return b.Table(BACKTEST, rows)


def _of_run(run: RunBacktest) -> list[b.Block]:
    if run.refusal is not None:
        return [b.Heading(run.run, 2), b.Verdict("not tested", run.refusal)]
    block = f", each the mean of {run.block}" if run.block > 1 else ""
    return [
        b.Heading(run.run, 2, f"{run.n} evaluations{block}"),
        b.Verdict("tested", "root mean squared errors on the evaluations not fitted, in reward units", True),
        b.table_of(SCORES, run.scores, b.PEOPLE, words=2),
    ]
