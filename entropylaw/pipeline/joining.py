"""A table with a row per step, such as samples per problem, joined to the runs of logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import counted, listing
from entropylaw.logs.load import read_all
from entropylaw.paths import note_input, shown_path
from entropylaw.results.result import replace

if TYPE_CHECKING:
    from entropylaw.logs.runs import Run
    from entropylaw.options import Joined

_OF_ROWS = ("step", "run", "arm")
"""Columns of a joined table that are of its rows, and not joined."""


def table_of(options: Joined) -> dict[str, Run]:
    """The table that is joined: the name of a run → its rows, of one without runs an empty name.

    Raises InputError: it cannot be read, ``table-incomplete``, or ``join-repeats-steps``.
    """
    path = str(options.join)
    note_input(path)
    reading = read_all([path], any_table=True)
    if reading.failures:
        raise reading.failures[0].error
    repeated = [f"{count} rows: {reason}" for run in reading.runs for reason, count in run.dropped.items()]
    message = f"{shown_path(path)} has several rows of a step"
    hint = "name what divides them `run`, or take one group: entropylaw samples --only COLUMN=VALUE"
    if repeated:
        raise InputError("join-repeats-steps", f"{message} ({', '.join(repeated[:3])})", hint)
    if any(run.labels for run in reading.runs):
        return {run.name: run for run in reading.runs}
    if len(reading.runs) > 1:
        raise InputError("join-repeats-steps", message, hint)
    return {"": reading.runs[0]}


def joined(runs: Sequence[Run], table: dict[str, Run], options: Joined) -> list[Run]:
    """The runs with the columns of the table: at equal steps, or at the next step of the log.

    Raises UsageError ``join-needs-runs``: the table does not say of which of several runs it is;
    InputError ``join-no-steps``: it has no step of the only one.
    """
    if "" in table and len(runs) > 1:
        raise UsageError(
            "join-needs-runs",
            f"{shown_path(str(options.join))} has no column `run`, and there are {len(runs)} runs",
            "entropylaw samples --by run names the run by the folder of its file",
        )
    return [_with_rows(run, table.get("", table.get(run.name)), table, options) for run in runs]


def _with_rows(run: Run, rows: Run | None, table: dict[str, Run], options: Joined) -> Run:
    """One run with the columns of its rows; a note says how many found a step."""
    name = PurePath(str(options.join)).name
    if rows is None:
        note = f"{name} has no rows of this run, only of {listing([*table], 3)}"
        return replace(run, notes=(*run.notes, note))
    # A row counts once, at the first step that it is for: repeated, it would be further evaluations.
    at = np.searchsorted(run.step, rows.step)
    matched = at < len(run.step)
    if not options.join_nearest:
        matched &= np.isin(rows.step, run.step)
    # Of several rows for one step the last counts.
    matched &= np.append(at[1:] != at[:-1], True)
    left_out = rows.step[~matched]
    if not matched.any() and "" in table:
        steps = counted(len(rows.step), "step")
        raise InputError(
            "join-no-steps",
            f"the log has none of the {steps} of {shown_path(str(options.join))} ({_steps(left_out)})",
            "--join-nearest joins each row with the next step of the log",
        )
    columns = dict(run.columns)
    for column, values in rows.columns.items():
        if column in _OF_ROWS:
            continue
        label = column if column not in run.names else f"{PurePath(name).stem}.{column}"
        columns[label] = np.full(len(run.step), np.nan)
        columns[label][at[matched]] = values[matched]
    rule = "the next step" if options.join_nearest else "equal step"
    note = f"{name}: {matched.sum()} of {counted(len(rows.step), 'row')} joined by {rule}"
    if len(left_out):
        note += f"; {counted(len(left_out), 'step')} of the table without one in the log: {_steps(left_out)}"
    of_table = (f"{name}: {line}" for line in rows.notes)
    return replace(run, columns=columns, notes=(*run.notes, *of_table, note))


def _steps(steps: FloatArray) -> str:
    """The first of some steps in words."""
    return listing([f"{step:g}" for step in steps], 4)
