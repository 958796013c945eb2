"""What W&B's API and page give of a run: a history, in which rows may be missing, or last values only.

``Run.history`` in ``wandb/apis/public/runs.py`` (wandb 0.31) returns 500 sampled rows by default,
and users have got up to 524 (wandb/wandb issues 3680 and 5014); ``Run.scan_history`` returns all, or with
``keys`` those that have every key.

Last values are in a run's ``files/wandb-summary.json``, and in the table of runs, exported as CSV. These are
recognised and refused, for they have no curves. The table's columns,
``Name,Agent,State,Notes,User,Tags,Created,Runtime,Sweep`` and then configuration and last values, are those
of exports in public repositories; users hide and add columns. ``summary``, ``config`` and ``name`` are the
columns of the table that W&B's documentation makes with its API.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entropylaw.escaping import counted
from entropylaw.ingest.readers.delimited import sample
from entropylaw.ingest.runs.number_parsing import Column, json_at, parse_column
from entropylaw.ingest.sources.content import Content

#: How every row of a run's history gets into a file.
COMPLETE_HISTORY = "pandas.DataFrame(wandb.Api().run(PATH).scan_history()).to_csv(FILE)"

# W&B's own clocks in a history and in a summary.
_CLOCKS = ("_runtime", "_timestamp")

# W&B writes these itself, with capitals; a user's configuration and metrics follow.
_RUN_COLUMNS = (
    *("Name", "ID", "Agent", "State", "Notes", "User", "Tags", "Created", "Updated", "Runtime"),
    *("Sweep", "Group", "Job Type", "Hostname", "GPU Type"),
)
_STATES = (
    *("finished", "crashed", "failed", "killed", "running"),
    *("pending", "preempting", "preempted", "stopped", "stopping"),
)
_HEAD = 1 << 16


def history_notes(columns: Sequence[str], step_values: Column | None, rows: int) -> tuple[str, ...]:
    """Note where a table with so many ``rows`` is a W&B history from which some seem to be missing.

    ``step_values`` are the cells of ``_step``, None where they were not kept. Where it has no gaps, or gaps
    of one length, as where a trainer logs every tenth step, there is no note.
    """
    names = frozenset(columns)
    if "_step" not in names or names.isdisjoint(_CLOCKS):
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
    # Runs may follow one another: the lengths of stretches in which the step rises.
    sizes = np.diff((0, *np.flatnonzero(change <= 0) + 1, np.isfinite(steps).sum())).tolist()
    jumps = int((rises > 1).sum())
    if not jumps:
        return ()
    where = f"'_step' jumps in {jumps} of {counted(len(rises), 'place')}"
    size = next((size for size in (sizes if len(sizes) > 1 else [rows]) if 500 <= size < 526), None)
    if size is not None:
        sampled = "run.history() returns about 500 sampled rows by default, so others are missing"
        note = f"a W&B history with {size} rows of a run, in which {where}: {sampled} unless the run logged "
        return (f"{note}just these; every row: {COMPLETE_HISTORY}",)
    if rises.min() == rises.max():
        return ()
    why = "it was sampled, as run.history() does, or only rows with certain keys were requested, which would"
    return (f"a W&B history in which {where}: {why} be no loss; every row: {COMPLETE_HISTORY}",)


def is_run_table(content: Content) -> bool:
    """Whether the columns are W&B's own, and hardly two rows are of the same run."""
    first = next(filter(str.strip, content.lines()), "") if content.is_text else ""
    if not ("Name" in first or ("summary" in first and "config" in first)):
        return False
    header, *rows = sample(content, 51, 1 << 22)
    if frozenset(header) - {""} == {"summary", "config", "name"}:
        place = header.index("summary")
        return bool(rows) and all(len(row) > place and row[place].startswith("{") for row in rows)
    at = {name: index for index, name in reversed(list(enumerate(header))) if name in _RUN_COLUMNS}
    complete = [row for row in rows if len(row) == len(header)]
    if "Name" not in at or len(at) < 4 or not complete:
        return False
    states = [row[at["State"]].casefold() for row in complete] if "State" in at else []
    # While a run is active, its running time changes; the others are the same in each of its rows.
    stable = [index for name, index in at.items() if name not in ("Runtime", "Updated")]
    distinct = {tuple(row[index] for index in stable) for row in complete}
    known = sum(state in _STATES for state in states) * 2 >= len(states)
    return known and len(distinct) * 2 > len(complete)


def is_summary(content: Content) -> bool:
    """Whether it is a single JSON object with W&B's own keys, whose step is one number."""
    text = content.opening.lstrip() if content.is_text and content.extent <= 1 << 25 else ""
    if not text.startswith("{"):
        return False
    # Of records, a line each, the first few are enough to find out.
    value, end = json_at(text[:_HEAD])
    if len(text) > _HEAD and not text[end:_HEAD].strip() and ('"_wandb"' in text or '"_step"' in text):
        value, end = json_at(text)
    if not isinstance(value, dict) or text[end:].strip() or isinstance(value.get("_step"), (list, dict)):
        return False
    clocks = any(isinstance(value.get(clock), float) for clock in _CLOCKS)
    if isinstance(own := value.get("_wandb"), dict):
        return clocks or "runtime" in own
    return clocks and isinstance(value.get("_step"), float)
