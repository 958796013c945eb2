"""Splitting a table into runs: by the columns that label them, and where steps fall or repeat.

A step that falls is a row that was written late, a run that was resumed, or a run that was started again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.escaping import counted, places, shown
from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import classify
from entropylaw.logs.runs.step_column import COUNTERS, STEP_NAMES, by_folded_name, folded, require_column
from entropylaw.paths import hostless

# These mean "run"; the others may mean anything, and are used where splitting by them stops steps from
# repeating.
_CERTAIN_NAMES = ("run", "run_name", "run_id", "arm", "experiment", "exp_name", "experiment_name")
#: Columns that may label runs.
RUN_NAMES = (*_CERTAIN_NAMES, "name", "seed")
#: Columns of a table that has a row for each metric of a step: its name and its value.
METRIC_NAMES = ("metric", "metric_name", "metrics", "key", "tag", "variable", "measure", "scalar", "name")
#: Name of a column → that of another one with the second part of a metric's name, in ClearML's scalars.
SECOND_NAMES = {"metric": "variant", "title": "series"}
VALUE_NAMES = ("value", "metric_value", "val", "values", "scalar_value")

SUPERSEDED = "superseded after a resume"
OVERWRITTEN = "earlier value of a step that was logged again"

# Written on every row, whatever it reports: these do not show which values a row logs again.
BOOKKEEPING = ("epoch", "training/epoch", "train/epoch", "_runtime", "_timestamp", "time", "timestamp")
_QUIET = frozenset(folded(name) for name in (*BOOKKEEPING, *STEP_NAMES, *COUNTERS))


class Group(NamedTuple):
    """Records of one label, in file order; the label is empty where the table has none."""

    label: str
    rows: IntArray


class Split(NamedTuple):
    """A table's groups, the columns that label them, and what was decided.

    ``lost`` are runs of which no record has a step.
    """

    groups: tuple[Group, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    lost: tuple[Group, ...]


def split_runs(table: Table, step: FloatArray, path: str, column: str | None = None) -> Split:
    """Group the records that have a step by run.

    ``column`` is the user's label column; raises ``column-not-found``.
    """
    rows = np.flatnonzero(np.isfinite(step))
    if column is None:
        labels, notes = _chosen_labels(table, step, rows)
    else:
        name = require_column(column, tuple(table.columns), path, "--run")
        labels = {name: _labels(table, name)}
        notes = [f"runs are separated by column {shown(name)}"]
    columns = list(labels.values())
    groups = _grouped(rows, columns)
    if len(groups) > 1:
        notes.append(f"{counted(len(groups), 'run')} in one table")
    # Of the records without a step those whose label no other record has.
    lost: dict[tuple[str, ...], IntArray] = {}
    for key, members in _grouped(np.flatnonzero(~np.isfinite(step)), columns).items():
        # A record may lack some of its run's labels.
        if not any(all(own in ("", label) for own, label in zip(key, used, strict=True)) for used in groups):
            lost[key] = members
    return Split(
        groups=tuple(Group(_joined(key), members) for key, members in groups.items()),
        columns=tuple(labels),
        notes=tuple(notes),
        lost=tuple(Group(_joined(key), members) for key, members in lost.items()),
    )


def run_labels(table: Table) -> dict[str, list[str]]:
    """The labels of all records in each column that may name runs; seeds do not."""
    by_fold = by_folded_name(table.columns)
    return {name: _labels(table, name) for name in filter(None, map(by_fold.get, (*_CERTAIN_NAMES, "name")))}


def _chosen_labels(table: Table, step: FloatArray, rows: IntArray) -> tuple[dict[str, list[str]], list[str]]:
    """Choose label columns by their names and by how often steps repeat without them; with notes."""
    labels: dict[str, list[str]] = {}
    notes: list[str] = []
    by_fold = by_folded_name(table.columns)
    for name in filter(None, map(by_fold.get, RUN_NAMES)):
        cells = _labels(table, name)
        certain = folded(name) in _CERTAIN_NAMES and not labels
        distinct = {cells[row] for row in rows} - {""}
        if len(distinct) > 1:
            # A column with nearly as many labels as records labels something else.
            possible = len(distinct) * 2 <= len(rows) or (certain and (table.labelled or table.partial))
            earlier = list(labels.values())
            if possible and (
                certain or _repeats(step, rows, [*earlier, cells]) < _repeats(step, rows, earlier)
            ):
                labels[name] = cells
                notes.append(f"runs are separated by column {shown(name)}")
            else:
                notes.append(f"column {shown(name)} has several values and was not taken for a run's label")
        elif distinct:
            # The label of a run that has lost all of its steps is only on the other records.
            (label,) = distinct
            if set(cells) - {label, ""} or (certain and not label.startswith(f"{name}=")):
                labels[name] = cells
    return labels, notes


def _repeats(step: FloatArray, rows: IntArray, labels: list[list[str]]) -> int:
    """How often steps repeat or fall within some labels."""
    return sum(int((np.diff(step[group]) <= 0).sum()) for group in _grouped(rows, labels).values())


def _grouped(rows: IntArray, labels: list[list[str]]) -> dict[tuple[str, ...], IntArray]:
    """Group rows that have the same labels, in the order of their first."""
    if not labels:
        return {(): rows} if len(rows) else {}
    groups: dict[tuple[str, ...], list[int]] = {}
    for row in rows.tolist():
        groups.setdefault(tuple(column[row] for column in labels), []).append(row)
    return {key: np.array(members, dtype=np.intp) for key, members in groups.items()}


def _joined(labels: Iterable[str]) -> str:
    """One label of several columns'."""
    return ", ".join(filter(None, labels))


def _labels(table: Table, name: str) -> list[str]:
    """Label every record: text as logged, a number with the column's name before it, empty where missing."""
    labels = []
    for cell in list(table.columns[name]):
        number, is_text = classify(cell)
        if is_text:
            labels.append(str(cell))
        elif math.isnan(number):
            labels.append("")
        else:
            exact = cell.strip() if isinstance(cell, str) else f"{number:.17g}"
            labels.append(f"{name}={exact}")
    return labels


def distinct_names(names: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Make the names of runs unique: add the part of the paths that differs, or else a number."""
    pairs = [(name, hostless(path)) for name, path in zip(names, paths, strict=True)]
    shared: dict[str, set[str]] = {}
    for name, path in pairs:
        shared.setdefault(name, set()).add(path)
    seen, unique = Counter[str](), list[str]()
    for name, path in pairs:
        distinct = name
        if len(shared[name]) > 1:
            # A run that was joined from several files is represented by the first one.
            rows = [PurePath(other.split(" + ")[0]).parts for other in shared[name]]
            parts = PurePath(path.split(" + ")[0]).parts
            # How many parts all of them have in common at the start, and at the end.
            start, end = (
                len([*takewhile(lambda places: len(set(places)) == 1, zip(*listed, strict=False))])
                for listed in (rows, [row[::-1] for row in rows])
            )
            distinct = f"{name} ({'/'.join(parts[start : len(parts) - end]) or parts[-1]})"
        seen[distinct] += 1
        unique.append(distinct if seen[distinct] == 1 else f"{distinct} ({seen[distinct]})")
    return unique


def is_bookkeeping(name: str) -> bool:
    """Whether the column is a clock or a counter that is on every record."""
    return folded(name) in _QUIET


@dataclass(slots=True)
class Life:
    """One start of a run: its records in file order, and what happened to the others.

    ``rows`` are indices of the records that were passed in; several may share a step.
    """

    rows: IntArray | list[int]
    superseded: int = 0
    resumed_at: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def lives(step: FloatArray, values: Sequence[FloatArray]) -> list[Life]:
    """Separate the starts of a run, and count what a resume superseded.

    ``step`` has shape (m,), finite, in file order; ``values`` are the columns, each of shape (m,), nan where
    a record has none, without bookkeeping. A record that falls back to an earlier step and logs only columns
    that no later step has was merely written late.
    """
    # Compared, and not subtracted: a difference is one more array as large as the steps.
    falls, rows = int((step[1:] < step[:-1]).sum()), np.arange(len(step))
    if not falls:
        return [Life(rows)]
    # Records of one start, in another order or written again: no two of them contradict each other, and
    # either their steps fall often, as with no resume, or those that fall back only repeat earlier values.
    unique, slot = np.unique(step, return_inverse=True)
    repeated = np.ones(len(step), dtype=bool)
    for column in values:
        there = np.flatnonzero(~np.isnan(column))
        at, first = slot[there], np.zeros(len(unique), dtype=np.intp)
        first[at[::-1]] = there[::-1]  # of repeated indices, the last assignment wins
        if (column[first[at]] != column[there]).any():
            break
        repeated[there[first[at] == there]] = False
    else:
        behind = step < np.maximum.accumulate(step)
        # A log that begins again at its first step is a restart, whatever its values.
        only_repeated = bool(repeated[behind].all()) and float(step[behind].min()) > step[0]
        if falls * 4 > len(step) or only_repeated:
            return [Life(rows, notes=["the records are not in the order of their steps; sorted"])]
    present = ~np.isnan(np.column_stack(values)) if values else np.ones((len(step), 1), dtype=bool)
    return _split_at_falls(step, present)


def _split_at_falls(step: FloatArray, present: BoolArray) -> list[Life]:
    """Go through the records once; a restart begins another life. ``present``: columns of each record."""
    kept: list[int] = []
    life = Life(kept)
    done = [life]
    start = highest = -np.inf
    # The last step at which each column was logged.
    top = np.full(present.shape[1], -np.inf)
    for row, columns in enumerate(present):
        now = float(step[row])
        late = now < highest and not bool((top[columns] >= now).any())
        if now < highest and not late:
            fall = f"steps fall from {highest:g} to {now:g} at record {row + 1}"
            if now <= start:
                fall += ": the run was started again in the same file, and each start is a run of its own"
                life.notes.append(fall)
                kept = []
                life = Life(kept, notes=[fall])
                done.append(life)
                top[:] = -np.inf
            else:
                life.notes.append(f"{fall}: resumed run, later values are kept")
                life.resumed_at.append(now)
                life.superseded += len(kept)
                kept[:] = [other for other in kept if step[other] <= now]
                life.superseded -= len(kept)
                top = np.minimum(top, now)
        if not kept:
            start = now
        kept.append(row)
        top[columns] = np.maximum(top[columns], now)
        highest = highest if late else now
    return done


class Merged(NamedTuple):
    """One row per step, and how many records had a value overwritten.

    ``redone`` are those at a step where the run was resumed, ``overwritten`` the others, ``conflicts``
    those of either with a value of a watched column, and ``contested`` is the number of their steps.
    ``notes`` say which steps were logged again.
    """

    step: FloatArray
    columns: Mapping[str, FloatArray]
    overwritten: int = 0
    redone: int = 0
    conflicts: int = 0
    contested: int = 0
    notes: tuple[str, ...] = ()


def merge(life: Life, step: FloatArray, columns: Mapping[str, FloatArray], watched: frozenset[str]) -> Merged:
    """Merge the records of each step, column by column: the last value that is not missing is kept.

    A record counts as overwritten where a later one gives another value; the same value again is no loss.
    """
    rows = np.asarray(life.rows)
    if len(rows) == len(step) and bool((step[1:] > step[:-1]).all()):
        return Merged(step, columns)
    unique, slot = np.unique(step[rows], return_inverse=True)
    if len(unique) == len(rows):
        order = rows[np.argsort(step[rows], kind="stable")]
        return Merged(unique, {name: values[order] for name, values in columns.items()})
    changed, conflicts, has_value, last_of_step = np.zeros((4, len(rows)), dtype=bool)
    table = {}
    for name, values in columns.items():
        cells = values[rows]
        filled = ~np.isnan(cells)
        table[name] = merged = np.full(len(unique), np.nan)
        merged[slot[filled]] = cells[filled]  # of repeated indices, the last assignment wins
        differs = filled & (merged[slot] != cells)
        conflicts |= differs & (name in watched)
        if not is_bookkeeping(name):
            has_value |= filled
            last = np.zeros(len(unique), dtype=np.intp)
            last[slot[filled]] = np.flatnonzero(filled)
            last_of_step[last[slot[filled]]] = True
            changed |= differs
    at_resume = np.isin(unique[slot], life.resumed_at)
    again = unique[slot[changed & ~at_resume]]
    twice = unique[slot[has_value & ~last_of_step & ~changed]]
    notes = []
    if twice.size:
        notes.append(
            f"{counted(twice.size, 'row')} that only repeat{'s' * (twice.size == 1)} another one: "
            f"{places('step', np.unique(twice).tolist())}"
        )
    if again.size:
        notes.append(
            f"{counted(again.size, 'row')} of a step that was logged again with other values: "
            f"{places('step', np.unique(again).tolist())}; the last value is kept"
        )
    return Merged(
        step=unique,
        columns=table,
        overwritten=again.size,
        redone=int((changed & at_resume).sum()),
        conflicts=int(conflicts.sum()),
        contested=len(np.unique(slot[conflicts])),
        notes=tuple(notes),
    )


def averaged(life: Life, step: FloatArray, columns: Mapping[str, FloatArray]) -> Merged:
    """Average the records of each step, column by column: the updates of one rollout."""
    unique, slot = np.unique(step[life.rows], return_inverse=True)
    table = {}
    for name, values in columns.items():
        cells = values[life.rows]
        filled = ~np.isnan(cells)
        number = np.bincount(slot[filled], minlength=len(unique))
        total = np.bincount(slot[filled], cells[filled], len(unique))
        table[name] = np.where(number, total / np.maximum(number, 1), np.nan)
    note = (
        f"{counted(len(life.rows), 'row')} for {counted(len(unique), 'step')}, with different values, "
        "such as the updates of a rollout: the mean per step is taken"
    )
    return Merged(unique, table, notes=(note,))
