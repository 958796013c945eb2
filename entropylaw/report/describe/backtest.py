"""Backtests: every run with its scores, and a table over all."""

from __future__ import annotations

from entropylaw.documents.backtest import BacktestDocument
from entropylaw.report import blocks as b
from entropylaw.report.numbers import count, format_number, format_percent
from entropylaw.results.backtest import Backtest, RunBacktest

PEERS = (("last_value", "last value"), ("law", "law"), ("line", "line"), ("scalerl", "ScaleRL"))

_PROTOCOL = (
    b.Column("protocol", "fitted"),
    b.Column("entropy", "entropy", lambda row: "forecast" if row.blind else "observed"),
)
_COVERED = b.Column("covered", "in band", unit="%")

SCORES = (
    *_PROTOCOL,
    b.Column("fitted", shown_in=(b.DATA,)),
    b.Column("predicted", shown_in=(b.DATA,)),
    b.Column("n", "fitted → predicted", lambda row: f"{row.fitted} → {row.predicted}", shown_in=(b.PEOPLE,)),
    b.Column("rmse", "forecast"),
    *(b.Column(key, label) for key, label in PEERS),
    _COVERED,
    b.Column("width", "width"),
    b.Column("spread", shown_in=(b.DATA,)),
)
"""The root mean squared errors of a run's forecasts and of their peers, a row per protocol."""

COLUMNS = (
    *b.columns("run"),
    *(column for column in SCORES if b.DATA in column.shown_in),
    *b.columns("level note"),
)
"""The same in CSV and frames; a run that was not tested has its reason in ``note``."""

SKILLS = (
    *_PROTOCOL,
    *(b.Column(f"to_{key}", label, unit="ratio") for key, label in PEERS),
    _COVERED,
    b.Column("width", "width", lambda row: format_number(row.width, 2)),
    b.Column("worst", "worst to last value", lambda row: f"{row.worst:.2f} ({row.worst_run})"),
)
"""Errors over all runs, as ratios."""


def describe(result: Backtest | BacktestDocument | RunBacktest) -> list[b.Block]:
    """Every run, and before them the whole; or a run alone."""
    if isinstance(result, RunBacktest):
        if result.refusal is not None:
            return [b.Heading(result.run, 2), b.Verdict("not tested", result.refusal)]
        block = f", each the mean of {result.block}" if result.block > 1 else ""
        return [
            b.Heading(result.run, 2, f"{result.n} evaluations{block}"),
            b.Verdict("tested", "root mean squared errors of what was not fitted, in reward units", True),
            b.table_of(SCORES, result.scores, b.PEOPLE, words=2),
        ]
    blocks: list[b.Block] = [b.Heading("Backtest of forecasts", 1)]
    if isinstance(result, BacktestDocument):
        blocks.append(b.Notes(b.labelled("warning", result.warnings, "")))
    if refused := sum(run.refusal is not None for run in result.runs):
        said = f"Not tested: {refused} of {len(result.runs)} runs, each with its reason."
        blocks.append(b.paragraphs(said, detail=True))
    if result.overall:
        how = (
            f"{count(result.overall[0].runs, 'run')}: error of the forecast over that of the peer, geometric "
            "mean over runs; below 1 the forecast is better. Law and line are by least squares, and know the "
            f"observed entropies in every row. The {format_percent(result.level)} band's width is a share of "
            "the run's range of rewards, median over runs."
        )
        blocks += [b.paragraphs(how), b.table_of(SKILLS, result.overall, words=2)]
    return blocks + [block for run in result.runs for block in describe(run)]


def table(result: Backtest | BacktestDocument | RunBacktest) -> b.Table:
    """A row per run and protocol."""
    runs, level = ((result,), None) if isinstance(result, RunBacktest) else (result.runs, result.level)
    rows: list[list[b.Cell]] = []
    for run in runs:
        rows += [[run.run, *cells, level, None] for cells in b.table_of(SCORES, run.scores, b.DATA).rows]
        if run.refusal is not None:
            rows.append([run.run, *[None] * (len(COLUMNS) - 2), run.refusal])
    return b.Table(COLUMNS, rows)
