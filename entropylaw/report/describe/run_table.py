"""The table of runs: the columns of a CSV, and those of tables for people.

The former are the fields of :class:`~entropylaw.documents.summary.RunRow`. Those that have a title there are
also the last columns for people; the others, whose cells are made of several numbers, are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args, get_type_hints

from entropylaw.documents.summary import RunRow, RunSummary
from entropylaw.escaping import one_line
from entropylaw.report.blocks import PEOPLE, Column, Table, columns, table_of
from entropylaw.report.numbers import cell_text
from entropylaw.results import Estimate
from entropylaw.results.result import replace
from entropylaw.units import UNIT_WORDS

NAME = Column("run", "run", accessor=lambda row: row.name)
"""The name of a run, with that of its reward where it has several."""

_SHORT_UNITS = {"rate": "rate", "percent": "%", "raw": "own unit"}
"""Unit of a reward → in a cell of a table."""


def _columns_of_data() -> Iterator[Column]:
    """The columns of a CSV."""
    for name, kind in get_type_hints(RunRow).items():
        if name == "run":
            yield NAME
        else:
            yield from columns(name, estimate=Estimate in get_args(kind))


def _columns_under_titles() -> Iterator[Column]:
    """The columns for people that are one number each."""
    for name, kind in get_type_hints(RunRow, include_extras=True).items():
        for headed in getattr(kind, "__metadata__", ()):
            column = Column(name, headed.title, unit=headed.unit)
            yield column if headed.in_index else replace(column, shown_in=(PEOPLE,))


COLUMNS = tuple(_columns_of_data())
"""Those of a CSV, in its order."""


def overview(rows: Sequence[RunSummary], head: Column) -> Table:
    """A row per run, the columns by their rank; a step and a gain that all share are in the heads.

    So is the unit of a reward in percent. Where rewards differ in column or unit, every row names its own.
    Nothing is said of the law of a broken run.
    """
    rows = [_without_law(row) if row.state == "broken" else row for row in rows]
    rewards = _rewards_of(rows)
    percent = ""
    # The last one to be left out; an index has a table per state.
    state = Column("state", "state", lambda row: row.state or row.refusal, shown_in=(PEOPLE,))
    heads = [head, state]
    units = {unit for _, unit in rewards}
    if head.key == "label" and len(units) > 1:
        heads.append(Column("measured", "unit", _unit_words))
    elif head.key != "label" and len(rewards) > 1:
        heads.append(Column("measured", "reward", _reward_and_unit))
    elif units == {"percent"}:
        percent = ", %"
    heads.append(Column("now", f"now{percent}", lambda row: None if row.now is None else row.now.value))
    forecast = "forecast"
    steps = {row.forecast_step for row in rows if row.forecast_step is not None}
    if len(steps) == 1:
        forecast = f"by step {cell_text(steps.pop(), 'step')}"
    else:
        heads.append(Column("forecast_step", "by step", unit="step", shown_in=(PEOPLE,)))
    gain = "P(gain)"
    gains = {row.gain for row in rows if row.gain is not None}
    if len(gains) == 1:
        gain = f"P(+{gains.pop():.3g})"
    heads += _answers(forecast, gain, percent)
    return replace(table_of(heads, rows), overview=True)


def _answers(forecast: str, gain: str, percent: str) -> list[Column]:
    """The columns that answer the questions of a user, with the heads of the forecast and of its gain.

    ``percent`` is behind the heads of rewards.
    """
    return [
        Column("forecast", f"{forecast}{percent}"),
        Column("p_gain", gain, unit="probability"),
        Column("keep", "keep", _keep),
        Column("law", "law", _law, shown_in=(PEOPLE,)),
        Column("ceiling", f"at H = 0{percent}"),
        *_columns_under_titles(),
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
    """The unit of the reward."""
    return _SHORT_UNITS.get(row.unit or "", "unit not known")


def _reward_and_unit(row: RunSummary) -> str:
    """The column of the reward, with its unit."""
    return f"{one_line(row.reward_column or 'not known')}, {_unit_words(row)}"


def _keep(row: RunSummary) -> str | None:
    """The step to keep."""
    if row.keep_step is None:
        return None
    step = cell_text(row.keep_step, "step")
    return f"{step}, the last" if row.keep_step == row.last_step else step


def _without_law(row: RunSummary) -> RunSummary:
    return replace(row, law="", why=None, ceiling=None, r_squared=None)


def _law(row: RunSummary) -> str | None:
    """The word about the law with its reason, where there is one."""
    return ": ".join(text for text in (row.law, row.why, row.refusal) if text) or None
