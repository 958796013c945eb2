"""Backtests: every run with its scores, and a table over all."""

from __future__ import annotations

from entropylaw.documents.backtest import BacktestDocument
from entropylaw.report.blocks import (
    DATA,
    PEOPLE,
    Block,
    Cell,
    Column,
    Heading,
    Notes,
    Table,
    Verdict,
    columns,
    labelled,
    paragraphs,
    table_of,
)
from entropylaw.report.numbers import count, format_number, format_percent
from entropylaw.results.backtest import Backtest, RunBacktest

PEERS = (("last_value", "last value"), ("law", "law"), ("line", "line"), ("scalerl", "ScaleRL"))


_PROTOCOL = (
    Column("protocol", "fitted"),
    Column("entropy", "entropy", lambda row: "forecast" if row.blind else "observed"),
)
_COVERED = Column("covered", "in band", unit="%")

SCORES = (
    *_PROTOCOL,
    Column("fitted", shown_in=(DATA,)),
    Column("predicted", shown_in=(DATA,)),
    Column("n", "fitted → predicted", lambda row: f"{row.fitted} → {row.predicted}", shown_in=(PEOPLE,)),
    Column("rmse", "forecast"),
    *(Column(key, label) for key, label in PEERS),
    _COVERED,
    Column("width", "width"),
    Column("spread", shown_in=(DATA,)),
)
"""The root mean squared errors of a run's forecasts and of their peers, a row per protocol."""

COLUMNS = (
    *columns("run"),
    *(column for column in SCORES if DATA in column.shown_in),
    *columns("level note"),
)
"""The same in CSV and frames; a run that was not tested has its reason in ``note``."""

SKILLS = (
    *_PROTOCOL,
    *(Column(f"to_{key}", label, unit="ratio") for key, label in PEERS),
    _COVERED,
    Column("width", "width", lambda row: format_number(row.width, 2)),
    Column("worst", "worst to last value", lambda row: f"{row.worst:.2f} ({row.worst_run})"),
)
"""Errors over all runs, as ratios."""


def describe(result: Backtest | BacktestDocument | RunBacktest) -> list[Block]:
    """Every run, and before them the whole; or a run alone."""
    if isinstance(result, RunBacktest):
        return _run(result)
    blocks: list[Block] = [Heading("Backtest of forecasts", 1)]
    if isinstance(result, BacktestDocument):
        blocks.append(Notes(labelled("warning", result.warnings, "")))
    refused = sum(run.refusal is not None for run in result.runs)
    if refused:
        said = f"Not tested: {refused} of {len(result.runs)} runs, each with its reason."
        blocks.append(paragraphs(said, detail=True))
    if result.overall:
        how = (
            f"{count(result.overall[0].runs, 'run')}: error of the forecast over that of the peer, geometric "
            "mean over runs; below 1 the forecast is better. Law and line are by least squares, and know the "
            f"observed entropies in every row. The {format_percent(result.level)} band's width is a share of "
            "the run's range of rewards, median over runs."
        )
        blocks += [paragraphs(how), table_of(SKILLS, result.overall, words=2)]
    return blocks + [block for run in result.runs for block in _run(run)]


def table(result: Backtest | BacktestDocument | RunBacktest) -> Table:
    """A row per run and protocol."""
    runs, level = ((result,), None) if isinstance(result, RunBacktest) else (result.runs, result.level)
    rows: list[list[Cell]] = []
    for run in runs:
        rows += [[run.run, *cells, level, None] for cells in table_of(SCORES, run.scores, DATA).rows]
        if run.refusal is not None:
            rows.append([run.run, *[None] * (len(COLUMNS) - 2), run.refusal])
    return Table(COLUMNS, rows)


def _run(run: RunBacktest) -> list[Block]:
    if run.refusal is not None:
        return [Heading(run.run, 2), Verdict("not tested", run.refusal)]
    block = f", each the mean of {run.block}" if run.block > 1 else ""
    return [
        Heading(run.run, 2, f"{run.n} evaluations{block}"),
        Verdict("tested", "root mean squared errors of what was not fitted, in reward units", True),
        table_of(SCORES, run.scores, PEOPLE, words=2),
    ]
