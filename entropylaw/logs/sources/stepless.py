"""Evaluations of a run in records without a step: nested, behind a prefix, in a list or in a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from entropylaw.arrays import BoolArray
from entropylaw.logs.runs import NO_ROW, Table
from entropylaw.logs.runs.number_parsing import Column, parse_column
from entropylaw.logs.suggest import measured, measured_in_text

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
    evaluated = np.any([none, *(numbers[name] for name in metrics)], axis=0)
    # {"B": {"1": {"reward": 0.2}, "2": …}} is one record and many evaluations.
    kinds = Counter[str]()
    for name in metrics:
        kinds[_STEP_IN_NAME.sub("#", name)] += int(numbers[name].sum())
    rows = np.flatnonzero(stepless & ~evaluated)[:_MOST_SEARCHED].tolist()
    held = held_by_texts(texts, rows, np.any([none, *numbers.values()], axis=0))
    return hidden + max(int(evaluated.sum()), *kinds.values(), 0) + held


def held_by_texts(texts: Iterable[Column], rows: Sequence[int], valued: BoolArray) -> int:
    """How many evaluations the texts in some rows may hold; ``valued`` are the rows with any number."""
    held: dict[int, int] = {}
    for cells in texts:
        written = {row: str(cells[row]) for row in rows}
        for row in _in_texts(written, valued):
            # A cell may hold a whole history, as JSON does: each of its entropies is one.
            held[row] = max(held.get(row, 1), written[row].casefold().count("entrop"))
    return sum(held.values())


def _in_texts(texts: Mapping[int, str], valued: BoolArray) -> set[int]:
    """The rows whose text in a column holds numbers of metrics, or names the number beside it.

    As in "entropy: 0.5", in {"key": "entropy", "value": 0.5}, and in a row of a table within quotes.
    """
    held, words = set[int](), dict[int, str]()
    for row, text in texts.items():
        if holds_metrics(text):
            held.add(row)
        if valued[row] and len(text.split()) == 1:
            words[row] = text
    named = set(measured(words.values()))
    # A single one that is no entropy may be the stage of the training that a record is about.
    if len(named) > 1 or any("entrop" in name.casefold() for name in named):
        held.update(row for row, word in words.items() if word in named)
    return held


def holds_metrics(text: str) -> bool:
    """Whether a text names an entropy and a number, or is a row of numbers."""
    cells = re.split("[,;\t]", text)
    if len(cells) > 1 and np.isfinite(parse_column(cells).values).all():
        return True
    return "entrop" in text.casefold() and measured_in_text(text)
