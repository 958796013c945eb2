"""The table of runs: the columns of a CSV, and those of tables for people.

The former are the fields of :class:`~entropylaw.documents.summary.RunRow`. Those that have a title there are
also the last columns for people; the others, whose cells are made of several numbers, are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args, get_type_hints

from entropylaw.documents.summary import RunRow, RunSummary
from entropylaw.escaping import one_line
from entropylaw.report import words
from entropylaw.report.blocks import PEOPLE, Cell, Column, Table, columns, table_of
from entropylaw.report.numbers import cell_text
from entropylaw.results import Estimate
from entropylaw.results.forecast import STANDS_OUT
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
    """
    rewards = _rewards_of(rows)
    percent = ""
    heads = [head]
    units = {unit for _, unit in rewards}
    if head.key == "label" and len(units) > 1:
        heads.append(Column("measured", "unit", _unit_words))
    elif head.key != "label" and len(rewards) > 1:
        heads.append(Column("measured", "reward", _reward_and_unit))
    elif units == {"percent"}:
        percent = ", %"
    heads.append(Column("now", f"now{percent}"))
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
        Column("forecast", f"{forecast}{percent}", _forecast),
        Column(
            "p_gain",
            gain,
            lambda row: None if row.lost or row.not_ahead else row.p_gain,
            unit="probability",
        ),
        Column("best", "best step, P(better)", _best),
        Column("ceiling", f"ceiling at H = 0{percent}", lambda row: row.no_ceiling or row.ceiling),
        Column("law", "entropy law", _law, shown_in=(PEOPLE,)),
        Column(
            "headroom",
            f"left on the curve{percent}",
            lambda row: None if row.no_ceiling else row.headroom,
        ),
        Column(
            "p_headroom",
            "P(left)",
            lambda row: None if row.no_ceiling else row.p_headroom,
            unit="probability",
            shown_in=(PEOPLE,),
        ),
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


def _forecast(row: RunSummary) -> Cell:
    """The forecast, or why there is no number; nothing for a run that lost its reward."""
    if row.lost:
        return None
    return row.not_ahead or row.forecast


def _best(row: RunSummary) -> str | None:
    """The best step so far, and whether it is better than the last one."""
    if row.best_step is None or row.p_better is None:
        return None
    step = cell_text(row.best_step, "step")
    # The last step of the law may be an earlier one, where the last evaluation has no entropy.
    if row.p_better == 0.0:
        return f"{step} (last)"
    if row.p_better < STANDS_OUT:
        return "like now"
    return f"{step} ({words.p_words(row.p_better)})"


def _law(row: RunSummary) -> str:
    """The verdict in words."""
    return ": ".join(text for text in (row.verdict, row.why, row.refusal) if text)
