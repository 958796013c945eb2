"""Which column counts the steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import Column, FloatArray, is_missing, parse_column, parse_step
from entropylaw.ingest.wording import counted, listing, nearest, shown, shown_cell, shown_path

# In order of preference among columns that are there on equally many rows.
STEP_NAMES = (
    *("training/global_step", "train/global_step", "trainer/global_step", "global_step", "step"),
    *("training_step", "train/step", "rollout/step", "global_step/max_steps", "progress/batch"),
    *("iteration", "iter", "current_steps"),
)
# A count of log calls: several of them make one step of the trainer, so that it is the last resort.
COUNTERS = ("_step",)

# A float beyond this is no count, and the difference of two may be none either.
_LARGEST_STEP = 1e18

NO_STEP = "no step in the record"


_PLAIN_NAME = re.compile(r"[A-Za-z_/.]{1,30}\d{0,2}")
_FLAT = str.maketrans("/.", "__")


@lru_cache(maxsize=1 << 14)
def folded(name: str) -> str:
    """Return the name with ``/`` and ``.`` as ``_``, in lower case: equal names differ in flattening only."""
    return name.strip().translate(_FLAT).casefold()


def by_folded_name(names: Iterable[str]) -> dict[str, str]:
    """Map folded names to names; of several that fold to one, the first counts."""
    return {folded(name): name for name in reversed(tuple(names))}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepColumn:
    """The step of every record, nan where it has none, and why this column."""

    name: str
    values: FloatArray
    why: str


def find_step(table: Table, path: str, wanted: str | None = None) -> StepColumn:
    """Choose the step column.

    Raises
    ------
    InputError
        ``column-not-found`` (a wanted one that is absent), ``no-step-column`` or ``step-not-numeric``.

    """
    if wanted is not None:
        name = require_column(wanted, tuple(table.columns), path, "--step")
        return StepColumn(name=name, values=_steps(name, table.columns[name], path), why="named by the user")
    by_fold = by_folded_name(table.columns)
    found = [by_fold[folded(name)] for name in STEP_NAMES if folded(name) in by_fold]
    read: dict[str, FloatArray] = {}
    problem: InputError | None = None
    for name in found or [by_fold[name] for name in COUNTERS if name in by_fold]:
        try:
            read[name] = _steps(name, table.columns[name], path)
        except InputError as unreadable:
            problem = problem or unreadable
    if not read:
        raise problem or _no_step(table, path)
    filled = {name: int(np.isfinite(values).sum()) for name, values in read.items()}
    best, *others = sorted(read, key=lambda name: -filled[name])
    why = f"on {filled[best]} of {len(read[best])} records"
    if not found:
        why += "; a count of log calls, used because no column holds the trainer's own step"
    elif others:
        why += f", first among {listing([best, *others], 4)}"
    return StepColumn(name=best, values=read[best], why=why)


def require_column(wanted: str, names: Sequence[str], path: str, option: str) -> str:
    """Return the column of that name, exactly or with ``/``, ``.`` and ``_`` taken as equal.

    Raises
    ------
    InputError
        ``column-not-found``, with the nearest names.

    """
    if wanted in names:
        return wanted
    alike = [name for name in names if folded(name) == folded(wanted)]
    if len(alike) == 1:
        return alike[0]
    close = alike or nearest([wanted], names, most=5)
    raise InputError(
        "column-not-found",
        f"{shown_path(path)} has no column {shown(wanted)}, which {option} names, among its "
        f"{counted(len(names), 'column')}",
        f"did you mean {listing(close)}?"
        if close
        else f"its columns: {listing(sorted(names))}; `entropylaw columns LOG` lists those that matter",
    )


def _steps(name: str, cells: Column, path: str) -> FloatArray:
    parsed = parse_column(cells)
    values = parsed.values
    if parsed.texts:
        values = np.array([parse_step(cell) for cell in cells], dtype=np.float64)
    counts = np.abs(values) <= _LARGEST_STEP
    if not counts.any():
        texts = [cell for cell in cells if not is_missing(cell)]
        what = f"its first value is {shown_cell(texts[0])}" if texts else "every value is missing"
        raise InputError(
            "step-not-numeric",
            f"the step column {shown(name)} of {shown_path(path)} holds no number: {what}",
            "name another column with --step; 12, 12.0, '12' and '12/438' are read as step 12",
        )
    return np.where(counts, values, np.nan)


def _no_step(table: Table, path: str) -> InputError:
    names = tuple(table.columns)
    # Without a step, the header may be none, but a command line with keys: only plain names are quoted.
    close = nearest(STEP_NAMES, names) or sorted(filter(_PLAIN_NAME.fullmatch, names))
    near = f"among them {listing(close)}" if close else "none is near"
    return InputError(
        "no-step-column",
        f"{shown_path(path)} has no step column among its {counted(len(names), 'column')}; {near}",
        "name it with --step COLUMN; 'step' and 'global_step' are among the names that need no option",
    )
