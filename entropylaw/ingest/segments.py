"""What a step that repeats or falls means: a row merged, a run resumed, a run started again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropylaw.ingest.steps import COUNTERS, STEP_NAMES, folded
from entropylaw.ingest.values import BoolArray, FloatArray

IntArray = NDArray[np.intp]

SUPERSEDED = "superseded after a resume"
OVERWRITTEN = "earlier value of a step that was logged again"

# Written on every row, whatever it reports: these do not tell which values a row logs again.
BOOKKEEPING = ("epoch", "training/epoch", "train/epoch", "_runtime", "_timestamp", "time", "timestamp")
_QUIET = frozenset(folded(name) for name in (*BOOKKEEPING, *STEP_NAMES, *COUNTERS))


def is_bookkeeping(name: str) -> bool:
    """Whether the column is a clock or a counter that stands on every record."""
    return folded(name) in _QUIET


class Life(NamedTuple):
    """One start of a run: the records that belong to it, in file order, and what happened to the others.

    ``rows`` index the records that were passed in; several may share a step.
    """

    rows: IntArray
    superseded: int = 0
    resumed_at: frozenset[float] = frozenset()
    notes: tuple[str, ...] = ()


def lives(step: FloatArray, values: Sequence[FloatArray]) -> list[Life]:
    """Tell one run's life from the next, and what a resume superseded.

    ``step`` has shape (m,), finite, in file order; ``values`` are the columns, each of shape (m,), nan where
    a record has none, bookkeeping left out. A record that falls back to an earlier step and logs only columns
    that no later step has was merely written late.
    """
    falls, rows = int((np.diff(step) < 0).sum()), np.arange(len(step))
    if not falls:
        return [Life(rows)]
    if _out_of_order(step, values, often=falls * 4 > len(step)):
        return [Life(rows, notes=("the records are not in the order of their steps; sorted",))]
    present = ~np.isnan(np.column_stack(values)) if values else np.ones((len(step), 1), dtype=bool)
    return _walked(step, present)


def _out_of_order(step: FloatArray, values: Sequence[FloatArray], *, often: bool) -> bool:
    """Whether the records are one life's, in another order or written again.

    No two of them contradict each other, and either their steps fall ``often``, as no resumes do, or
    those that fall back only say what was said before.
    """
    unique, slot = np.unique(step, return_inverse=True)
    said_before = np.ones(len(step), dtype=bool)
    for column in values:
        there = np.flatnonzero(~np.isnan(column))
        at, first = slot[there], np.zeros(len(unique), dtype=np.intp)
        first[at[::-1]] = there[::-1]  # of repeated indices, the last assignment stands
        if (column[first[at]] != column[there]).any():
            return False
        said_before[there[first[at] == there]] = False
    behind = step < np.maximum.accumulate(step)
    # A log that begins anew is a restart, whatever it says.
    return often or (bool(said_before[behind].all()) and float(step[behind].min()) > step[0])


def _walked(step: FloatArray, present: BoolArray) -> list[Life]:
    """Go through the records once, ``present`` says which columns each has; a restart begins another life."""
    done: list[Life] = []
    # The rows of the current life: those in ``kept`` have rising steps, so that a resume pops from its end.
    kept, late, resumed, notes = list[int](), list[int](), list[float](), list[str]()
    superseded, first, top = 0, 0.0, np.empty(0)

    def close() -> None:
        rows = np.array(sorted(kept + late), dtype=np.intp)
        done.append(Life(rows, superseded, frozenset(resumed), tuple(notes)))

    for row, columns in enumerate(present):
        now = float(step[row])
        if kept and now < step[kept[-1]]:
            if not bool((top[columns] >= now).any()):
                late.append(row)
                top[columns] = np.maximum(top[columns], now)
                continue
            fall = f"steps fall from {step[kept[-1]]:g} to {now:g} at record {row + 1}"
            if now <= first:
                fall += ": the run was started again in the same file, and each start is a run of its own"
                notes.append(fall)
                close()
                kept, late, resumed, notes, superseded = [], [], [], [fall], 0
            else:
                before = len(kept) + len(late)
                while step[kept[-1]] > now:
                    kept.pop()
                late = [other for other in late if step[other] <= now]
                superseded += before - len(kept) - len(late)
                resumed.append(now)
                top = np.minimum(top, now)
                notes.append(f"{fall}: resumed run, later values are kept")
        if not kept:
            first, top = now, np.full(len(columns), -np.inf)
        kept.append(row)
        top[columns] = np.maximum(top[columns], now)
    close()
    return done


class Merged(NamedTuple):
    """One row a step, and how many records had a value overwritten.

    ``redone`` are those at a step where the run was resumed, ``overwritten`` the others, ``conflicts``
    those of either with a value of a watched column.
    """

    step: FloatArray
    columns: Mapping[str, FloatArray]
    overwritten: int = 0
    redone: int = 0
    conflicts: int = 0


def merge(life: Life, step: FloatArray, columns: Mapping[str, FloatArray], watched: frozenset[str]) -> Merged:
    """Merge the records of each step, column by column: the last value that is there stands.

    A record counts as overwritten where a later one gives another value; the same value again is no loss.
    """
    rows = life.rows
    unique, slot = np.unique(step[rows], return_inverse=True)
    if len(unique) == len(rows):
        order = rows[np.argsort(step[rows], kind="stable")]
        return Merged(unique, {name: values[order] for name, values in columns.items()})
    changed, conflicts = np.zeros((2, len(rows)), dtype=bool)
    table = {}
    for name, values in columns.items():
        some = values[rows]
        there = ~np.isnan(some)
        table[name] = merged = np.full(len(unique), np.nan)
        merged[slot[there]] = some[there]  # of repeated indices, the last assignment stands
        other = there & (merged[slot] != some)
        changed |= other & (not is_bookkeeping(name))
        conflicts |= other & (name in watched)
    redone = int((changed & np.isin(unique[slot], list(life.resumed_at))).sum())
    return Merged(unique, table, int(changed.sum()) - redone, redone, int(conflicts.sum()))
