"""Tables of tokens or answers, which are no run: they repeat every step thousands of times."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.trainers import names
from entropylaw.ingest.values import Column, parse_column
from entropylaw.ingest.wording import counted, listing, shown_path

_ROWS_A_STEP = 4


def sample_columns(columns: Iterable[str]) -> list[str]:
    """List those columns that mark a record as one token or one answer."""
    return [column for column in columns if column.casefold() in names("sample")]


def refuse_samples(path: str, columns: Iterable[str], steps: Column) -> None:
    """Refuse a table that holds tokens or answers in place of steps.

    Raises
    ------
    InputError
        ``token-level-table`` where two marking columns are there and steps repeat four times on average.

    """
    marks = sample_columns(columns)
    if len(marks) < 2:
        return
    values = parse_column(steps).values
    values = values[np.isfinite(values)]
    distinct = len(np.unique(values))
    if distinct and len(values) >= _ROWS_A_STEP * distinct:
        raise InputError(
            "token-level-table",
            f"{shown_path(path)} has one row a token or an answer ({counted(len(values), 'row')} for "
            f"{counted(distinct, 'step')}; columns {listing(marks, 4)}), one row a step is needed",
            "summarise it to one row a step with `entropylaw tokens`, and read that",
        )
