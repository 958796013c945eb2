"""The table of runs: the columns of a CSV, and those of tables for people.

The former are the fields of :class:`~entropylaw.documents.summary.RunRow`. Those that have a title there are
also the last columns for people; the others, whose cells are made of several numbers, are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, get_args, get_origin

from msgspec import structs

from entropylaw.documents.summary import Headed, RunRow, RunSummary
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
    for field in structs.fields(RunRow):
        if field.name == "run":
            yield NAME
        else:
            yield from columns(field.name, estimate=Estimate in get_args(_bare(field.type)))


def _columns_under_titles() -> Iterator[Column]:
    """The columns for people that are one number each."""
    for field in structs.fields(RunRow):
        if get_origin(field.type) is not Annotated:
            continue
        headed = next(given for given in field.type.__metadata__ if isinstance(given, Headed))
        column = Column(
            field.name,
            headed.title,
            unit=headed.unit,
            estimate=Estimate in get_args(_bare(field.type)),
        )
        yield column if headed.in_index else replace(column, shown_in=(PEOPLE,))


def _bare(kind: type) -> type:
    """A type without annotations."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


COLUMNS = tuple(_columns_of_data())
"""Those of a CSV, in its order."""


def overview(rows: Sequence[RunSummary], head: Column) -> Table:
    """A row per run, the columns by their rank; a step and a gain that all share are in the heads.

    So is the unit of a reward in percent. Where rewards differ in column or unit, every row names its own.
    """
    rewards = _rewards_of(rows)
    percent = ""
    shown = [head]
    if len(rewards) > 1 and (head.key != "label" or len({unit for _, unit in rewards}) > 1):
        if head.key == "label":
            shown.append(Column("measured", "unit", accessor=_unit_words))
        else:
            shown.append(Column("measured", "reward", accessor=_reward_and_unit))
    elif {unit for _, unit in rewards} == {"percent"}:
        percent = ", %"
    shown.append(Column("now", f"now{percent}"))
    forecast = "forecast"
    steps = {row.forecast_step for row in rows if row.forecast_step is not None}
    if len(steps) == 1:
        forecast = f"by step {cell_text(steps.pop(), 'step')}"
    else:
        shown.append(Column("forecast_step", "by step", unit="step", shown_in=(PEOPLE,)))
    gain = "P(gain)"
    gains = {row.gain for row in rows if row.gain is not None}
    if len(gains) == 1:
        gain = f"P(+{gains.pop():.3g})"
    shown += [
        Column("forecast", f"{forecast}{percent}", _forecast, estimate=True),
        Column("p_gain", gain, _p_gain, unit="probability"),
        Column("best", "best step, P(better)", _best),
        Column("ceiling", f"ceiling at H = 0{percent}", _ceiling, estimate=True),
        Column("law", "entropy law", _law, shown_in=(PEOPLE,)),
        Column("headroom", f"left on the curve{percent}", _headroom, estimate=True),
        Column("p_headroom", "P(left)", _p_headroom, unit="probability", shown_in=(PEOPLE,)),
        *_columns_under_titles(),
    ]
    return replace(table_of(shown, rows), overview=True)


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
    (column, unit), *others = rewards
    unit_words = "in several units" if others else UNIT_WORDS[unit or ""]
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


def _p_gain(row: RunSummary) -> float | None:
    """The probability of a gain, where the forecast is shown."""
    return None if row.lost or row.not_ahead else row.p_gain


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


def _ceiling(row: RunSummary) -> Cell:
    """The ceiling, or why it is not to be used."""
    return row.no_ceiling or row.ceiling


def _headroom(row: RunSummary) -> Estimate | None:
    """What is left on the curve, where the ceiling is to be used."""
    return None if row.no_ceiling else row.headroom


def _p_headroom(row: RunSummary) -> float | None:
    """The probability that a gain is left, where the ceiling is to be used."""
    return None if row.no_ceiling else row.p_headroom


def _law(row: RunSummary) -> str:
    """The verdict in words."""
    return ": ".join(text for text in (row.verdict, row.why, row.refusal) if text)
