"""Telling runs apart: in one table by the columns that label them, in several files by their paths."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from entropylaw.ingest.segments import IntArray
from entropylaw.ingest.steps import by_folded_name, folded, require_column
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import FloatArray, classify
from entropylaw.ingest.wording import counted, shown
from entropylaw.paths import hostless

# These say "run"; the others may say anything, and count where splitting by them stops steps from repeating.
_RUN_NAMES = ("run", "run_name", "run_id", "arm", "experiment", "exp_name", "experiment_name")
#: Columns that may tell runs apart.
RUN_NAMES = (*_RUN_NAMES, "name", "seed")


class Group(NamedTuple):
    """Records of one label, in file order; the label is empty where the table has none."""

    label: str
    rows: IntArray


class Split(NamedTuple):
    """A table's groups, the columns that tell them apart, and what was decided.

    ``lost`` are runs of which no record has a step, ``unowned`` the records without a step that name no run.
    """

    groups: tuple[Group, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    lost: tuple[Group, ...]
    unowned: IntArray


def split_runs(table: Table, step: FloatArray, path: str, wanted: str | None = None) -> Split:
    """Group the records that have a step by run: by the ``wanted`` column, or raise ``column-not-found``."""
    rows = np.flatnonzero(np.isfinite(step))
    if wanted is None:
        labels, notes = _choose_labels(table, step, rows)
    else:
        name = require_column(wanted, tuple(table.columns), path, "--run")
        labels, notes = {name: _labels(table, name)}, [f"runs are told apart by column {shown(name)}"]
    cells = list(labels.values())
    groups = _grouped(rows, cells)
    if len(groups) > 1:
        notes.append(f"{counted(len(groups), 'run')} in one table")
    # Of the records without a step those that name no run, and those of runs that no other record names.
    lost = _grouped(np.flatnonzero(~np.isfinite(step)), cells)
    unowned = [row for key, members in lost.items() if not any(key) for row in members]
    for key in list(lost):
        names = (zip(key, known, strict=True) for known in groups)
        if any(all(one in ("", other) for one, other in pairs) for pairs in names):
            del lost[key]
    nobodys = np.array(unowned, dtype=np.intp)
    return Split(_named(groups), tuple(labels), tuple(notes), _named(lost), nobodys)


def _choose_labels(table: Table, step: FloatArray, rows: IntArray) -> tuple[dict[str, list[str]], list[str]]:
    """Choose the columns that tell runs apart, by their names and by how often steps repeat without them."""
    labels, notes = dict[str, list[str]](), list[str]()
    by_fold = by_folded_name(table.columns)
    for name in (by_fold[wished] for wished in RUN_NAMES if wished in by_fold):
        cells = _labels(table, name)
        certain = folded(name) in _RUN_NAMES and not labels
        distinct = {cells[row] for row in rows} - {""}
        if len(distinct) > 1:
            before = list(labels.values())
            apart = certain and (table.labelled or table.partial)
            # A column with nearly as many labels as records labels something else.
            if not apart and len(distinct) * 2 <= len(rows):
                apart = certain or _repeats(step, rows, [*before, cells]) < _repeats(step, rows, before)
            if apart:
                labels[name] = cells
                notes.append(f"runs are told apart by column {shown(name)}")
            else:
                notes.append(f"column {shown(name)} has several values and was not taken for a run's label")
        # A run that has lost all of its steps is seen among the other records only.
        elif distinct and (
            set(cells) - distinct - {""} or (certain and not distinct.pop().startswith(f"{name}="))
        ):
            labels[name] = cells
    return labels, notes


def _repeats(step: FloatArray, rows: IntArray, labels: list[list[str]]) -> int:
    """Count how often a step repeats or falls within a label."""
    return sum(int((np.diff(step[members]) <= 0).sum()) for members in _grouped(rows, labels).values())


def _grouped(rows: IntArray, labels: list[list[str]]) -> dict[tuple[str, ...], list[int]]:
    """Put rows together that have the same labels, in the order of their first."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row in rows.tolist():
        found.setdefault(tuple(column[row] for column in labels), []).append(row)
    return found


def _named(groups: dict[tuple[str, ...], list[int]]) -> tuple[Group, ...]:
    named = ((", ".join(filter(None, key)), members) for key, members in groups.items())
    return tuple(Group(label, np.array(members, dtype=np.intp)) for label, members in named)


def _labels(table: Table, name: str) -> list[str]:
    """Label every record: text as logged, a number with the column's name before it, empty where missing."""
    labels = []
    for cell in list(table.columns[name]):
        number, is_text = classify(cell)
        exact = cell.strip() if isinstance(cell, str) else f"{number:.17g}"
        labels.append(str(cell) if is_text else "" if math.isnan(number) else f"{name}={exact}")
    return labels


def told_apart(names: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Give every run a name of its own: the part of the paths that differs is added, or else a number."""
    pairs = [(name, hostless(path)) for name, path in zip(names, paths, strict=True)]
    shared: dict[str, set[str]] = {}
    for name, path in pairs:
        shared.setdefault(name, set()).add(path)
    seen, unique = Counter[str](), list[str]()
    for name, path in pairs:
        own = f"{name} ({_difference(path, shared[name])})" if len(shared[name]) > 1 else name
        seen[own] += 1
        unique.append(own if seen[own] == 1 else f"{own} ({seen[own]})")
    return unique


def _difference(path: str, others: set[str]) -> str:
    """Return the parts of a path from the first to the last in which the others differ."""
    # Of a run that was joined from several files, the first one stands for all.
    split = {other: PurePath(other.split(" + ")[0]).parts for other in others}
    parts, rows = split[path], split.values()
    # How many parts all of them have in common at the start, and at the end.
    start, end = (
        [*(len(set(places)) == 1 for places in zip(*listed, strict=False)), False].index(False)
        for listed in (rows, [row[::-1] for row in rows])
    )
    return "/".join(parts[start : len(parts) - end]) or parts[-1]
