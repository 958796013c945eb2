"""The blocks of an index: one table of the runs by state, from rows alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from entropylaw.documents.summary import RunSummary
from entropylaw.report.blocks import Column, RunsTable, Trace, columns, table_of
from entropylaw.report.describe.run_table import ORDER, REFUSED, heads, state_of
from entropylaw.report.numbers import MISSING, format_step

SHOWN = ("measured", "now", "forecast", "keep")
"""The columns of the table of runs that an index has, beside the curve, the state and the law."""

READING = (
    "The curve is the reward from its least to its largest value, with the forecast; what is lost is red. "
    "The pointer shows the answers of a row."
)
"""How the rows are read."""


def counts(rows: Sequence[RunSummary]) -> list[tuple[str, int]]:
    """Each state that some rows have, with their number, the broken first."""
    counted = Counter(map(state_of, rows))
    return [(state, counted[state]) for state in ORDER if counted[state]]


def table(rows: Sequence[RunSummary], address: Callable[[str], str]) -> RunsTable:
    """The runs by state, in a state in the order given, with links to the ``address`` of each page."""
    ordered = sorted(rows, key=lambda row: ORDER.index(state_of(row)))
    fitted = [row for row in ordered if row.fitted]
    shown = [head for head in heads(fitted, Column("run")) if head.key in SHOWN]
    numbers = table_of(shown, ordered).rows
    cells = [_cells(row, values) for row, values in zip(ordered, numbers, strict=True)]
    return RunsTable(
        [*columns("run", "curve", "state"), *shown, Column("law", "law")],
        cells,
        states=[state_of(row) for row in ordered],
        about=[_about(row) for row in ordered],
        links=[address(row.slug) for row in ordered],
    )


def _cells(row: RunSummary, values: Sequence[Any]) -> list[Any]:
    """The cells of a run; of a broken one its line and its state, of a refused one the reason."""
    state = state_of(row)
    if state == REFUSED:
        return [row.shown, None, state, *[None] * len(values), row.headline]
    if state == "broken":
        return [row.shown, _trace(row), state, *[None] * (len(values) + 1)]
    known = [MISSING if value is None else value for value in values]
    return [row.shown, _trace(row), state, *known, "no law" if row.law == "none" else row.law]


def _trace(row: RunSummary) -> Trace:
    """The line of the reward with the forecast, or from where on it is lost."""
    assert row.series is not None
    steps = row.series.step
    if row.state == "broken":
        return Trace(steps, row.series.reward, lost_since=row.since)
    ahead = row.forecast
    if ahead is None or ahead.value is None or row.now is None or row.forecast_step is None:
        return Trace(steps, row.series.reward)
    now = float(row.now)
    low = ahead.value if ahead.low is None else ahead.low
    high = ahead.value if ahead.high is None else ahead.high
    fan = ((float(row.last_step or steps[-1]), now, now, now), (row.forecast_step, low, ahead.value, high))
    return Trace(steps, row.series.reward, fan=fan)


def _about(row: RunSummary) -> str:
    """The answers about a run, for the pointer; of a broken one since when it is."""
    return f"broken since step {format_step(row.since)}" if row.state == "broken" else row.headline
