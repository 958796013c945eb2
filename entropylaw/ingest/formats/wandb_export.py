"""A run's history from W&B's API, in which rows may be missing.

``Run.history`` in ``wandb/apis/public/runs.py`` (wandb 0.31) returns 500 sampled rows unless told otherwise,
and users have got up to 524 (wandb/wandb issues 3680 and 5014); ``Run.scan_history`` returns all, or with
``keys`` those that have every key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entropylaw.ingest.values import Column, parse_column
from entropylaw.ingest.wording import counted

#: How every row of a run's history gets into a file.
COMPLETE_HISTORY = "pandas.DataFrame(wandb.Api().run(PATH).scan_history()).to_csv(FILE)"

#: The names of W&B's own clocks in a history and in a summary.
CLOCKS = ("_runtime", "_timestamp")
_SAMPLED = range(500, 526)


def history_notes(columns: Sequence[str], step_values: Column | None, rows: int) -> tuple[str, ...]:
    """Say whether a table is a W&B history from which rows seem to be missing.

    A table whose ``_step`` has no gaps, or gaps of one length, as where a trainer logs every tenth step,
    gets no note.

    Parameters
    ----------
    columns
        The table's column names.
    step_values
        The cells of ``_step``; None where they were not kept.
    rows
        Number of records of the table.
    """
    names = frozenset(columns)
    if "_step" not in names or names.isdisjoint(CLOCKS):
        return ()
    if step_values is None:
        return (f"a W&B history, maybe sampled, as run.history() does; every row: {COMPLETE_HISTORY}",)
    steps = parse_column(step_values).values
    with np.errstate(over="ignore"):
        change = np.diff(steps[np.isfinite(steps)])
    # Some tables have their last step first.
    if (change < 0).sum() * 2 > change.size:
        change = -change[::-1]
    rises = change[change > 0]
    # Runs may stand one below the other: the lengths of stretches without a fall.
    ends = (0, *np.flatnonzero(change <= 0) + 1, np.isfinite(steps).sum())
    sizes = np.diff(ends).tolist()
    jumps = int((rises > 1).sum())
    if not jumps:
        return ()
    where = f"'_step' jumps in {jumps} of {counted(len(rises), 'place')}"
    size = next((size for size in (sizes if len(sizes) > 1 else [rows]) if size in _SAMPLED), None)
    if size is not None:
        return (
            f"a W&B history with {size} rows of a run, in which {where}: run.history() returns about 500 "
            "sampled rows unless told otherwise, so others are missing unless the run logged just these; "
            f"every row: {COMPLETE_HISTORY}",
        )
    if rises.min() == rises.max():
        return ()
    return (
        f"a W&B history in which {where}: it was sampled, as run.history() does, or only rows with certain "
        f"keys were asked for, which would be no loss; every row: {COMPLETE_HISTORY}",
    )
