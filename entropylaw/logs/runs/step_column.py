"""Which column counts the steps, also where several do.

slime's logs count in several ways at once: rollouts, updates, evaluations. Each record has one counter
(THUDM/slime v0.3.1, slime/utils/tracking_utils.py and slime/backends/megatron_utils/model.py):
``rollout/step``, ``eval/step`` with the rollout's number, and ``train/step`` with
``rollout · updates per rollout + update``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.errors import InputError
from entropylaw.escaping import counted, in_shell, listing, nearest, quoted_path, shown, shown_cell
from entropylaw.logs.runs import Table, added
from entropylaw.logs.runs.number_parsing import Column, is_missing, parse_column, parse_step

# In order of preference among columns that have a value on equally many rows.
STEP_NAMES = (
    "training/global_step",
    "train/global_step",
    "trainer/global_step",
    "global_step",
    "step",
    "training_step",
    "train/step",
    "rollout/step",
    "global_step/max_steps",
    "progress/batch",
    "iteration",
    "iter",
    "current_steps",
    "train_step",
    "grpo_step",
    "optimizer_step",
    "opt_step",
    "train/iteration",
    "train/iter",
    "training/iteration",
    "train/update",
    "training/step",
    "update",
    "updates",
    "num_updates",
    "n_updates",
    "rl_step",
    "ppo_step",
    "policy_step",
    "update_step",
    "train/batch",
    "batch",
    "train/episode",
    "episode",
    "rollout",
    "entry",
)
# A count of log calls: several of them make one step of the trainer, so that it is the last resort.
COUNTERS = ("_step",)

#: Named as the step column, it counts the rows of a table that has no column of this name.
ROW = "row"
BY_THE_USER = "named by the user"

# Words of a name that counts steps, and words with which it is something else.
_STEP_WORD = re.compile("steps?|iterations?|iters?|it|update|batch|episode|schritt|paso")
_LAST_STEP_WORD = re.compile("epochs?|rounds?|rollout")
_NO_STEP_WORD = re.compile(
    "time|per|size|length|len|reward|entropy|score|acc|loss|sec|max|min|mean|lr|rate|eval|val|test|number|tokens"
    "|seconds|runtime"
)

NO_STEP = "no step in the record"
LATER_UPDATE = "later update of a rollout"

_ROLLOUT = "rollout/step"
ROLLOUT_AXES = (_ROLLOUT, "train/step", "eval/step")


@lru_cache(maxsize=1 << 14)
def folded(name: str) -> str:
    """Return the name with ``/``, ``.`` and blanks as ``_``, in lower case."""
    return name.strip().replace("/", "_").replace(".", "_").replace(" ", "_").casefold()


def by_folded_name(names: Iterable[str]) -> dict[str, str]:
    """Map folded names to names; of several that fold to one, the first is used."""
    return {folded(name): name for name in reversed(tuple(names))}


class StepColumn(NamedTuple):
    """The step of every record, nan where it has none, and the reason for this column."""

    name: str
    values: FloatArray
    why: str


def find_step(
    table: Table,
    path: str,
    column: str | None = None,
    measured: Callable[[], tuple[BoolArray, BoolArray]] | None = None,
) -> StepColumn | None:
    """Choose the step column, or use the user's ``column``; None where there is none.

    Of several, the one with most pairs is chosen, and of these the one on most records. ``measured`` gives
    the records (m,) that have an entropy, and those that have a reward.

    Raises ``column-not-found`` or ``step-not-numeric``.
    """
    if column is not None:
        name = require_column(column, tuple(table.columns), path, "--step")
        return StepColumn(name, _steps(name, table.columns[name], path), BY_THE_USER)
    by_fold = by_folded_name(table.columns)
    named = _named_as_steps(table, by_fold)
    read: dict[str, FloatArray] = {}
    problems: list[InputError] = []
    for name in named or filter(None, map(by_fold.get, COUNTERS)):
        try:
            read[name] = _steps(name, table.columns[name], path)
        except InputError as unreadable:
            problems.append(unreadable)
    if not read:
        if problems:
            raise problems[0]
        return None
    filled = {name: int(np.isfinite(values).sum()) for name, values in read.items()}
    pairs = dict.fromkeys(read, 0)
    if len(read) > 1 and measured is not None:
        entropies, rewards = measured()
        for name, values in read.items():
            pairs[name] = np.intersect1d(values[entropies], values[rewards]).size
    best, *others = sorted(read, key=lambda name: (-pairs[name], -filled[name]))
    reason = f"on {filled[best]} of {len(read[best])} records"
    if not named:
        reason += "; a count of log calls, used because no column holds the trainer's own step"
    elif others:
        reason += f", first among {listing([best, *others], 4)}"
    return StepColumn(best, read[best], reason)


def _named_as_steps(table: Table, by_fold: Mapping[str, str]) -> list[str]:
    """The columns that are called as a trainer's step, or else those that count steps."""
    named = [by_fold[fold] for fold in map(folded, STEP_NAMES) if fold in by_fold]
    for word in (_STEP_WORD, _LAST_STEP_WORD):
        named = named or [name for name in by_fold.values() if _counts_steps(name, table.columns[name], word)]
    return named


def _counts_steps(name: str, cells: Column, step_word: re.Pattern[str]) -> bool:
    """Whether a column counts steps, by a word of its name and by its values: whole, hardly ever falling."""
    words = re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", name[:200]).casefold())
    if not any(map(step_word.fullmatch, words)) or any(map(_NO_STEP_WORD.fullmatch, words)):
        return False
    values = parse_column(cells).values
    numbers = values[np.isfinite(values)]
    if numbers.size < 3 or (numbers != np.floor(numbers)).any() or numbers.min() == numbers.max():
        return False
    rises = np.diff(numbers) > 0 if step_word is _LAST_STEP_WORD else np.diff(numbers) >= 0
    return bool(rises.mean() >= 0.9)


def require_column(
    column: str, names: Sequence[str], path: str, option: str, *, width: int | None = None
) -> str:
    """Return the column of that name, ``/``, ``.`` and ``_`` being equal, or raise ``column-not-found``.

    ``width`` is the number of all columns, where only those of some ``names`` can be taken.
    """
    if column in names:
        return column
    same = [name for name in names if folded(name) == folded(column)]
    if len(same) == 1:
        return same[0]
    hint = f"its columns: {listing(sorted(names))}; `entropylaw columns LOG` says what each could be"
    if close := same or nearest([column], names, most=5):
        hint = f"did you mean {listing(close)}? Type {option} {in_shell(close[0])}"
    raise InputError(
        "column-not-found",
        f"{quoted_path(path)} has no column {shown(column)}, which {option} names, among its "
        f"{counted(width or len(names), 'column')}",
        hint,
    )


def _steps(name: str, cells: Column, path: str) -> FloatArray:
    parsed = parse_column(cells)
    values = parsed.values
    if parsed.texts:
        values = np.array([parse_step(cell) for cell in cells], dtype=np.float64)
    # A float beyond this is no count, and the difference of two may be 0 or infinite.
    counts = np.abs(values) <= 1e18
    if not counts.any():
        texts = [cell for cell in cells if not is_missing(cell)]
        reason = f"its first value is {shown_cell(texts[0])}" if texts else "every value is missing"
        raise InputError(
            "step-not-numeric",
            f"the step column {shown(name)} of {quoted_path(path)} holds no number: {reason}",
            "name another column with --step; 12, 12.0, '12' and '12/438' are read as step 12",
        )
    return np.where(counts, values, np.nan)


def on_one_axis(table: Table, path: str) -> Table:
    """Convert the steps of all records to the rollout's number.

    Of several updates of a rollout the first is kept: its entropy is that of the policy which made the
    rollout. Tables without these counters, or with two of them on one record, are returned as they are.

    Raises ``two-step-axes`` where the counters were not logged, and the columns show that they differ.
    """
    names = _axes_of(table, path)
    if len(names) < 2 or _ROLLOUT not in names:
        return table
    read = {axis: parse_column(table.columns[name]).values for axis, name in names.items()}
    absent = np.full(len(read[_ROLLOUT]), np.nan)
    rollout, train, evaluation = (read.get(axis, absent) for axis in ROLLOUT_AXES)
    if ((~np.isnan([rollout, train, evaluation])).sum(axis=0) > 1).any():
        return table
    updates = _updates_per_rollout(rollout, train)
    later = ~np.isnan(train) & (train % updates != 0)
    step = np.where(np.isnan(rollout), train // updates, rollout)
    step = np.where(np.isnan(step), evaluation, step)
    note = "updates and evaluations are converted to the number of their rollout"
    if updates > 1:
        note += f"; of {updates} updates per rollout, the first is kept"
    table = table.of_rows(~later, note)
    columns = {name: cells for name, cells in table.columns.items() if name not in names.values()}
    columns[names[_ROLLOUT]] = step[~later]
    dropped = added(table.dropped, {LATER_UPDATE: int(later.sum())})
    return replace(table, columns=columns, dropped=dropped)


def _axes_of(table: Table, path: str) -> dict[str, str]:
    """The counters of slime and their columns; raises ``two-step-axes`` as :func:`on_one_axis`."""
    by_fold = by_folded_name(table.columns)
    names = {axis: by_fold[folded(axis)] for axis in ROLLOUT_AXES if folded(axis) in by_fold}
    entropy, reward = (by_fold.get(folded(name)) for name in ("train/entropy_loss", "rollout/raw_reward"))
    if names or entropy is None or reward is None:
        return names
    # Entropies that are logged per update and rewards per rollout have one name of a step here.
    measured = (parse_column(table.columns[name]).values for name in (entropy, reward))
    updates, rollouts = (int(np.isfinite(values).sum()) for values in measured)
    if rollouts >= 4 and updates >= 1.5 * rollouts:
        raise InputError(
            "two-step-axes",
            f"{quoted_path(path)} has the entropy at {counted(updates, 'update')} and the reward at "
            f"{counted(rollouts, 'rollout')}, both under the one name of steps",
            "read slime's W&B log or its console, which hold both counters, or log with "
            "--wandb-always-use-train-step",
        )
    return names


def _updates_per_rollout(rollout: FloatArray, train: FloatArray) -> int:
    """Updates per rollout; 1 where rollouts are numbered by updates already."""
    numbers = np.unique(rollout[np.isfinite(rollout)])
    if numbers.size < 2:
        return 1
    ratio = round(np.unique(train[np.isfinite(train)]).size / numbers.size)
    return max(ratio, 1) if np.median(np.diff(numbers)) < ratio else 1
