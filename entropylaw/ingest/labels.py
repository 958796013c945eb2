"""Telling the runs of one long table apart by the columns that label them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from entropylaw.ingest.segments import IntArray
from entropylaw.ingest.steps import by_folded_name, folded, require_column
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import FloatArray, is_missing, parse_number
from entropylaw.ingest.wording import counted, shown

# These say "run"; the others may say anything, and count where splitting by them stops steps from repeating.
_RUN_NAMES = ("run", "run_name", "run_id", "arm", "experiment", "exp_name", "experiment_name")
_PERHAPS = ("name", "seed")
#: Columns that may tell runs apart.
RUN_NAMES = (*_RUN_NAMES, *_PERHAPS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Records of one label, in file order; the label is empty where the table has none."""

    label: str
    rows: IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """A table's groups, the columns that tell them apart, and what was decided.

    ``lost`` are runs of which no record has a step, ``unowned`` the records without a step that name no run.
    """

    groups: tuple[Group, ...]
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lost: tuple[Group, ...] = ()
    unowned: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))


def split_runs(table: Table, step: FloatArray, path: str, wanted: str | None = None) -> Split:
    """Group the records that have a step by run.

    Parameters
    ----------
    table, step
        The table, and the step of each of its records.
    path
        For the error.
    wanted
        The run column that the user names; no other is looked at then.

    Raises
    ------
    InputError
        ``column-not-found``.

    """
    rows = np.flatnonzero(np.isfinite(step))
    if wanted is not None:
        name = require_column(wanted, tuple(table.columns), path, "--run")
        labels = {name: _labels(table, name)}
        notes = [f"runs are told apart by column {shown(name)}"]
    else:
        labels, notes = _choose_labels(table, step, rows)
    split = _grouped(rows, labels, tuple(notes))
    return _with_lost(split, np.flatnonzero(~np.isfinite(step)), list(labels.values()))


def _choose_labels(table: Table, step: FloatArray, rows: IntArray) -> tuple[dict[str, list[str]], list[str]]:
    """Choose the columns that tell runs apart, by their names and by how often steps repeat without them."""
    labels: dict[str, list[str]] = {}
    notes: list[str] = []
    by_fold = by_folded_name(table.columns)
    for name in (by_fold[wished] for wished in (*_RUN_NAMES, *_PERHAPS) if wished in by_fold):
        cells = _labels(table, name)
        certain = folded(name) in _RUN_NAMES and not labels
        sure = certain and (table.labelled or table.partial)
        distinct = {cells[row] for row in rows} - {""}
        # A run that has lost all of its steps is seen among the other records only.
        lost = set(cells) - distinct - {""}
        if len(distinct) > 1 and _tells_apart(
            cells, len(distinct), step, rows, labels, certain=certain, sure=sure
        ):
            labels[name] = cells
            notes.append(f"runs are told apart by column {shown(name)}")
        elif len(distinct) > 1:
            notes.append(f"column {shown(name)} has several values and was not taken for a run's label")
        elif distinct and (lost or (certain and not distinct.pop().startswith(f"{name}="))):
            labels[name] = cells
    return labels, notes


def _with_lost(split: Split, rows: IntArray, labels: list[list[str]]) -> Split:
    """Find the runs and the records that are in no group: those ``rows`` have no step."""
    if not labels:
        return replace(split, unowned=rows)
    kept = {tuple(column[group.rows[0]] for column in labels) for group in split.groups}
    lost: dict[tuple[str, ...], list[int]] = {}
    unowned = []
    for row in rows.tolist():
        key = tuple(column[row] for column in labels)
        if not any(key):
            unowned.append(row)
        elif not any(_fits(key, known) for known in kept):
            lost.setdefault(key, []).append(row)
    return replace(
        split,
        lost=tuple(
            Group(label=", ".join(part for part in key if part), rows=np.array(members, dtype=np.intp))
            for key, members in lost.items()
        ),
        unowned=np.array(unowned, dtype=np.intp),
    )


def _fits(key: tuple[str, ...], known: tuple[str, ...]) -> bool:
    """Whether the labels that a record has are those of a known run."""
    return all(one in ("", other) for one, other in zip(key, known, strict=True))


def _tells_apart(
    cells: list[str],
    distinct: int,
    step: FloatArray,
    rows: IntArray,
    before: dict[str, list[str]],
    *,
    certain: bool,
    sure: bool,
) -> bool:
    """Whether a column with several values labels runs: by its name, or because steps repeat less then."""
    if sure or distinct * 2 > len(rows):
        return sure
    others = list(before.values())
    return certain or _repeats(step, rows, [*others, cells]) < _repeats(step, rows, others)


def _repeats(step: FloatArray, rows: IntArray, labels: Iterable[list[str]]) -> int:
    """Count how often a step repeats or falls within a label."""
    groups = _grouped(rows, {str(i): cells for i, cells in enumerate(labels)}, ()).groups
    return sum(int((np.diff(step[group.rows]) <= 0).sum()) for group in groups)


def _grouped(rows: IntArray, labels: dict[str, list[str]], notes: tuple[str, ...]) -> Split:
    if not labels:
        return Split(groups=(Group(label="", rows=rows),), notes=notes)
    found: dict[tuple[str, ...], list[int]] = {}
    cells = list(labels.values())
    for row in rows.tolist():
        found.setdefault(tuple(column[row] for column in cells), []).append(row)
    groups = tuple(
        Group(label=", ".join(part for part in key if part), rows=np.array(members, dtype=np.intp))
        for key, members in found.items()
    )
    note = f"{counted(len(groups), 'run')} in one table"
    return Split(groups=groups, columns=tuple(labels), notes=(*notes, note) if len(groups) > 1 else notes)


def _labels(table: Table, name: str) -> list[str]:
    """Label every record: text as logged, a number with the column's name before it, empty where missing."""
    return [_label(name, cell) for cell in list(table.columns[name])]


def _label(name: str, cell: object) -> str:
    number = parse_number(cell)
    if not math.isnan(number):
        return f"{name}={cell.strip()}" if isinstance(cell, str) else f"{name}={number:.17g}"
    return "" if is_missing(cell) else str(cell)
