"""Evaluations of a run in records without a step: nested, behind a prefix, in a list or in a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

import numpy as np

from entropylaw.arrays import BoolArray
from entropylaw.logs.runs import NO_ROW, Table
from entropylaw.logs.runs.number_parsing import Column, parse_column
from entropylaw.logs.suggest import measured, measured_numbers

#: Fewer evaluations cannot be fitted, and no gate could pass on them.
FEWEST_EVALUATIONS = 5
# So many records are searched for text.
_MOST_SEARCHED = 10_000
_STEP_IN_NAME = re.compile(r"(?<![^/._-])\d+(?![^/._-])")


def evaluations(table: Table, stepless: BoolArray, without: Collection[str] = ()) -> int:
    """How many evaluations some records, those that are ``stepless``, may hold.

    Numbers count by the names of their columns, also where a run's name or a step is in these, and so do
    texts and parts of records that are not read. Columns ``without`` which are left out.
    """
    hidden = sum(number for row, number in table.hidden.items() if row == NO_ROW or stepless[row])
    if not stepless.any():
        return hidden
    numbers, texts = dict[str, BoolArray](), list[Column]()
    for name, cells in table.columns.items():
        parsed = parse_column(cells)
        filled = np.isfinite(parsed.values) & stepless
        if name not in without and filled.any():
            numbers[name] = filled
        if parsed.texts:
            texts.append(cells)
    metrics, none = measured(numbers), np.zeros_like(stepless)
    evaluated, valued = (
        np.any([none, *(numbers[name] for name in names)], axis=0) for names in (metrics, numbers)
    )
    # {"B": {"1": {"reward": 0.2}, "2": …}} is one record and many evaluations.
    kinds = Counter[str]()
    for name in metrics:
        kinds[_STEP_IN_NAME.sub("#", name)] += int(numbers[name].sum())
    held = 0
    for row in np.flatnonzero(stepless & ~evaluated)[:_MOST_SEARCHED].tolist() if texts else ():
        held += max(held_in_text(str(cells[row]), valued=bool(valued[row])) for cells in texts)
    return hidden + max(int(evaluated.sum()), *kinds.values(), 0) + held


def held_in_text(text: str, *, valued: bool) -> int:
    """How many evaluations a cell of text may hold, in a record with a number if it is ``valued``.

    As "entropy: 0.5", {"key": "entropy", "value": 0.5} and a row of a table within quotes; in a history in
    one cell, as of JSON, each of its entropies is one.
    """
    cells, entropies = re.split("[,;\t]", text), text.casefold().count("entrop")
    if len(cells) > 1 and np.isfinite(parse_column(cells).values).all():
        return max(entropies, 1)
    named = (valued and len(text.split()) == 1) or measured_numbers(text)
    return entropies if named else 0
