"""Which column counts the steps, where several do, and where none can: tables of tokens or samples.

slime's logs count in several ways at once: rollouts, updates, evaluations. Each record has one counter
(THUDM/slime v0.3.1, slime/utils/tracking_utils.py and slime/backends/megatron_utils/model.py):
``rollout/step``, ``eval/step`` with the rollout's number, and ``train/step`` with
``rollout · updates per rollout + update``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import compress
from typing import NamedTuple

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.run import added
from entropylaw.ingest.table import Table
from entropylaw.ingest.trainers import names as trainer_names
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

NO_STEP = "no step in the record"
LATER_UPDATE = "later update of a rollout"

_ROLLOUT, _TRAIN, _EVAL = "rollout/step", "train/step", "eval/step"


@lru_cache(maxsize=1 << 14)
def folded(name: str) -> str:
    """Return the name with ``/`` and ``.`` as ``_``, in lower case: equal names differ in flattening only."""
    return name.strip().replace("/", "_").replace(".", "_").casefold()


def by_folded_name(names: Iterable[str]) -> dict[str, str]:
    """Map folded names to names; of several that fold to one, the first counts."""
    return {folded(name): name for name in reversed(tuple(names))}


class StepColumn(NamedTuple):
    """The step of every record, nan where it has none, and why this column."""

    name: str
    values: FloatArray
    why: str


def find_step(table: Table, path: str, wanted: str | None = None) -> StepColumn:
    """Choose the step column; raises ``column-not-found``, ``no-step-column`` or ``step-not-numeric``."""
    if wanted is not None:
        name = require_column(wanted, tuple(table.columns), path, "--step")
        return StepColumn(name, _steps(name, table.columns[name], path), "named by the user")
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
        if problem is not None:
            raise problem
        names = tuple(table.columns)
        # Without a step, the header may be none, but a command line with keys: only plain names are quoted.
        plain = re.compile(r"[A-Za-z_/.]{1,30}\d{0,2}").fullmatch
        close = nearest(STEP_NAMES, names) or sorted(filter(plain, names))
        near = f"among them {listing(close)}" if close else "none is near"
        what = f"{shown_path(path)} has no step column among its {counted(len(names), 'column')}; {near}"
        hint = "name it with --step COLUMN; 'step' and 'global_step' are among the names that need no option"
        raise InputError("no-step-column", what, hint)
    filled = {name: int(np.isfinite(values).sum()) for name, values in read.items()}
    best, *others = sorted(read, key=lambda name: -filled[name])
    why = f"on {filled[best]} of {len(read[best])} records"
    if not found:
        why += "; a count of log calls, used because no column holds the trainer's own step"
    elif others:
        why += f", first among {listing([best, *others], 4)}"
    return StepColumn(best, read[best], why)


def require_column(wanted: str, names: Sequence[str], path: str, option: str) -> str:
    """Return the column of that name, ``/``, ``.`` and ``_`` being equal, or raise ``column-not-found``."""
    if wanted in names:
        return wanted
    alike = [name for name in names if folded(name) == folded(wanted)]
    if len(alike) == 1:
        return alike[0]
    close = alike or nearest([wanted], names, most=5)
    what = f"{shown_path(path)} has no column {shown(wanted)}, which {option} names, among its "
    hint = f"its columns: {listing(sorted(names))}; `entropylaw columns LOG` lists those that matter"
    hint = f"did you mean {listing(close)}?" if close else hint
    raise InputError("column-not-found", f"{what}{counted(len(names), 'column')}", hint)


def _steps(name: str, cells: Column, path: str) -> FloatArray:
    values = (parsed := parse_column(cells)).values
    if parsed.texts:
        values = np.array([parse_step(cell) for cell in cells], dtype=np.float64)
    # A float beyond this is no count, and the difference of two may be none either.
    counts = np.abs(values) <= 1e18
    if not counts.any():
        texts = [cell for cell in cells if not is_missing(cell)]
        what = f"its first value is {shown_cell(texts[0])}" if texts else "every value is missing"
        what = f"the step column {shown(name)} of {shown_path(path)} holds no number: {what}"
        hint = "name another column with --step; 12, 12.0, '12' and '12/438' are read as step 12"
        raise InputError("step-not-numeric", what, hint)
    return np.where(counts, values, np.nan)


def sample_columns(columns: Iterable[str]) -> list[str]:
    """List those columns that mark a record as one token or one answer."""
    return [column for column in columns if column.casefold() in trainer_names("sample")]


def refuse_samples(path: str, columns: Iterable[str], steps: Column) -> None:
    """Raise ``token-level-table`` where two columns mark tokens or answers, and steps repeat four times."""
    marks = sample_columns(columns)
    if len(marks) < 2:
        return
    values = parse_column(steps).values
    values = values[np.isfinite(values)]
    distinct = len(np.unique(values))
    # A table of tokens or samples is no run: it repeats every step thousands of times.
    if distinct and len(values) >= 4 * distinct:
        rows = f"{counted(len(values), 'row')} for {counted(distinct, 'step')}; columns {listing(marks, 4)}"
        what = f"{shown_path(path)} has one row a token or an answer ({rows}), one row a step is needed"
        hint = "summarise it to one row a step with `entropylaw tokens`, and read that"
        raise InputError("token-level-table", what, hint)


def on_one_axis(table: Table, path: str) -> Table:
    """Bring all records to the rollout's number.

    Of several updates of a rollout the first is kept: its entropy is that of the policy which made the
    rollout. Tables without these counters, or with two of them on one record, are returned as they are.

    Raises ``two-step-axes`` where the counters were not logged, and the columns show that they differ.
    """
    by_fold = by_folded_name(table.columns)
    names = {axis: by_fold[folded(axis)] for axis in (_ROLLOUT, _TRAIN, _EVAL) if folded(axis) in by_fold}
    unnamed = [by_fold.get(folded(name)) for name in ("train/entropy_loss", "rollout/raw_reward")]
    if not names and None not in unnamed:
        cells = (table.columns[name] for name in filter(None, unnamed))
        updates, rollouts = (int(np.isfinite(parse_column(column).values).sum()) for column in cells)
        if rollouts >= 4 and updates >= 1.5 * rollouts:
            what = f"{shown_path(path)} has the entropy at {counted(updates, 'update')} and the reward at "
            what += f"{counted(rollouts, 'rollout')}, both under the one name of steps"
            hint = "read slime's W&B log or its console, which hold both counters, or log with "
            raise InputError("two-step-axes", what, f"{hint}--wandb-always-use-train-step")
    if len(names) < 2 or _ROLLOUT not in names:
        return table
    read = {axis: parse_column(table.columns[name]).values for axis, name in names.items()}
    none = np.full(len(read[_ROLLOUT]), np.nan)
    rollout, train, evaluation = (read.get(axis, none) for axis in (_ROLLOUT, _TRAIN, _EVAL))
    if (np.sum([~np.isnan(step) for step in (rollout, train, evaluation)], axis=0) > 1).any():
        return table
    # Updates of a rollout; 1 where rollouts are numbered by updates already.
    updates, numbers = 1, np.unique(rollout[np.isfinite(rollout)])
    if numbers.size > 1 and _TRAIN in names:
        each = round(np.unique(train[np.isfinite(train)]).size / numbers.size)
        updates = max(each, 1) if np.median(np.diff(numbers)) < each else 1
    later = ~np.isnan(train) & (train % updates != 0)
    step = np.where(np.isnan(rollout), train // updates, rollout)
    step = np.where(np.isnan(step), evaluation, step)
    kept = {
        name: column[~later] if isinstance(column, np.ndarray) else list(compress(column, ~later))
        for name, column in table.columns.items()
        if name not in names.values()
    }
    kept[names[_ROLLOUT]] = step[~later]
    note = "updates and evaluations are brought to the number of their rollout"
    if updates > 1:
        note += f"; of {updates} updates a rollout, the first is kept"
    return replace(
        table,
        columns=kept,
        dropped=added(table.dropped, {LATER_UPDATE: int(later.sum())}),
        notes=(*table.notes, note),
        unreadable=None if table.unreadable is None else table.unreadable[~later],
    )
