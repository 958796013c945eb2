"""The table of runs: the columns of a CSV, and those of tables for people.

The former are the fields of :class:`~entropylaw.documents.summary.RunRow`; the cells of the latter are made
of several of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args, get_type_hints

from entropylaw.documents.summary import RunRow, RunSummary
from entropylaw.escaping import one_line
from entropylaw.report.blocks import Column, Table, columns, table_of
from entropylaw.report.numbers import cell_text
from entropylaw.results import Estimate
from entropylaw.results.result import replace
from entropylaw.results.state import WORDS
from entropylaw.units import UNIT_WORDS

NAME = Column("run", "run", accessor=lambda row: row.name)
"""The name of a run, with that of its reward where it has several."""

_SHORT_UNITS = {"rate": "rate", "percent": "%", "raw": "own unit"}
"""Unit of a reward → in a cell of a table."""


COLUMNS = tuple(
    NAME if name == "run" else columns(name, estimate=Estimate in get_args(kind))[0]
    for name, kind in get_type_hints(RunRow).items()
)
"""Those of a CSV, in its order."""

NO_STATE = "no state"
"""In place of the state of a run with too few evaluations for one."""

REFUSED = "refused"
"""That of a run that could not be fitted."""

ORDER = (*WORDS, NO_STATE, REFUSED)
"""States in the order in which runs are listed: broken, falling, cannot tell, rising, flat."""


def state_of(row: RunSummary) -> str:
    """The state of a row; that it has none, or was refused."""
    if not row.fitted:
        return REFUSED
    return row.state or NO_STATE


def overview(rows: Sequence[RunSummary], head: Column) -> Table:
    """A row per run, without a forecast and a word about the law of a broken one."""
    return replace(table_of(heads(rows, head), rows), overview=True)


def heads(rows: Sequence[RunSummary], head: Column) -> list[Column]:
    """The columns by their rank; a step that all rows share is in the head.

    So is the unit of a reward in percent. Where rewards differ in column or unit, every row names its own.
    """
    rewards = _rewards_of(rows)
    percent = ""
    columns = [head]
    units = {unit for _, unit in rewards}
    if head.key == "label" and len(units) > 1:
        columns.append(Column("measured", "unit", _unit_words))
    elif head.key != "label" and len(rewards) > 1:
        columns.append(
            Column(
                "measured",
                "reward",
                lambda row: f"{one_line(row.reward_column or 'not known')}, {_unit_words(row)}",
            )
        )
    elif units == {"percent"}:
        percent = ", %"
    columns.append(
        Column(
            "trace",
            "so far",
            lambda row: None if row.series is None else row.series.reward,
            unit="trace",
        )
    )
    columns.append(Column("now", f"now{percent}", lambda row: None if row.now is None else row.now.value))
    forecast = "forecast"
    steps = {row.forecast_step for row in rows if row.forecast_step is not None}
    if len(steps) == 1:
        forecast = f"by step {cell_text(steps.pop(), 'step')}"
    else:
        columns.append(Column("forecast_step", "by step", unit="step"))
    return [
        *columns,
        Column("forecast", f"{forecast}{percent}"),
        Column("state", "state", state_of, kept=True),
        Column("keep", "keep", _keep),
        Column("law", "law", _law),
    ]


def _rewards_of(rows: Iterable[RunSummary]) -> set[tuple[str | None, str | None]]:
    """The columns and units of the rewards of all rows with a fit."""
    return {(row.reward_column, row.unit) for row in rows if row.fitted}


def reward_words(rows: Sequence[RunSummary]) -> str:
    """The column and the unit of the rewards of some runs, or that these are several.

    Empty without a fit, and of runs with several rewards, which have labels.
    """
    rewards = _rewards_of(rows)
    if not rewards or any(row.label for row in rows):
        return ""
    if len({column for column, _ in rewards}) > 1:
        return "of several columns, which are not compared"
    column, unit = min(rewards, key=str)
    unit_words = "in several units" if len(rewards) > 1 else UNIT_WORDS[unit or ""]
    return f"{one_line(column or 'not known')}, {unit_words}"


def _unit_words(row: RunSummary) -> str:
    """The unit of the reward in a cell."""
    return _SHORT_UNITS.get(row.unit or "", "unit not known")


def _keep(row: RunSummary) -> str | None:
    """The step to keep."""
    if row.keep_step is None:
        return None
    return "last" if row.keep_step == row.last_step else cell_text(row.keep_step, "step")


def _law(row: RunSummary) -> str | None:
    """The word about the law, of which nothing is said of a broken run."""
    return row.law if row.fitted and row.state != "broken" else None
