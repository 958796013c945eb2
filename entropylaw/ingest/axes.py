"""Logs that count steps in several ways at once, as slime's: rollouts, updates, evaluations.

Each record has one of the counters (THUDM/slime v0.3.1, slime/utils/tracking_utils.py and
slime/backends/megatron_utils/model.py): ``rollout/step``, ``eval/step`` with the rollout's number, and
``train/step`` with ``rollout · updates a rollout + update``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.run import added
from entropylaw.ingest.steps import by_folded_name, folded
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import BoolArray, Column, parse_column
from entropylaw.ingest.wording import counted, shown_path

_ROLLOUT, _TRAIN, _EVAL = "rollout/step", "train/step", "eval/step"
_ENTROPY, _REWARD = "train/entropy_loss", "rollout/raw_reward"
LATER_UPDATE = "later update of a rollout"


def on_one_axis(table: Table, path: str) -> Table:
    """Bring all records to the rollout's number.

    Of several updates of a rollout the first is kept: its entropy is that of the policy which made the
    rollout. Tables without these counters, or with two of them on one record, are returned as they are.

    Raises
    ------
    InputError
        ``two-step-axes`` where the counters were not logged, and the columns show that they differ.

    """
    by_fold = by_folded_name(table.columns)
    names = {axis: by_fold[folded(axis)] for axis in (_ROLLOUT, _TRAIN, _EVAL) if folded(axis) in by_fold}
    if not names:
        _refuse_two_axes(table, by_fold, path)
    if len(names) < 2 or _ROLLOUT not in names:
        return table
    none = np.full(len(table.columns[names[_ROLLOUT]]), np.nan)
    rollout, train, evaluation = (
        parse_column(table.columns[names[axis]]).values if axis in names else none
        for axis in (_ROLLOUT, _TRAIN, _EVAL)
    )
    if (np.sum([~np.isnan(step) for step in (rollout, train, evaluation)], axis=0) > 1).any():
        return table
    # Updates of a rollout; 1 where rollouts are numbered by updates already.
    updates = 1
    rollouts = np.unique(rollout[np.isfinite(rollout)])
    if rollouts.size > 1 and _TRAIN in names:
        number = round(np.unique(train[np.isfinite(train)]).size / rollouts.size)
        updates = max(number, 1) if np.median(np.diff(rollouts)) < number else 1
    later = ~np.isnan(train) & (train % updates != 0)
    step = np.where(np.isnan(rollout), train // updates, rollout)
    step = np.where(np.isnan(step), evaluation, step)
    kept = {
        name: _rows(column, ~later) for name, column in table.columns.items() if name not in names.values()
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


def _rows(column: Column, kept: BoolArray) -> Column:
    if isinstance(column, np.ndarray):
        chosen: Column = column[kept]
        return chosen
    return column if kept.all() else [cell for cell, keep in zip(column, kept.tolist(), strict=True) if keep]


def _refuse_two_axes(table: Table, by_fold: Mapping[str, str], path: str) -> None:
    if folded(_ENTROPY) not in by_fold or folded(_REWARD) not in by_fold:
        return
    updates, rollouts = (
        int(np.isfinite(parse_column(table.columns[by_fold[folded(name)]]).values).sum())
        for name in (_ENTROPY, _REWARD)
    )
    if rollouts >= 4 and updates >= 1.5 * rollouts:
        raise InputError(
            "two-step-axes",
            f"{shown_path(path)} has the entropy at {counted(updates, 'update')} and the reward at "
            f"{counted(rollouts, 'rollout')}, both under the one name of steps",
            "read slime's W&B log or its console, which hold both counters, or log with "
            "--wandb-always-use-train-step",
        )
