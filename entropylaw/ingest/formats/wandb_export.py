"""What is exported from W&B beside charts: histories that may be sampled, and tables of last values only.

``Run.history`` in ``wandb/apis/public/runs.py`` (wandb 0.31) returns 500 sampled rows unless told otherwise,
and users have got up to 524 (wandb/wandb issues 3680 and 5014); ``Run.scan_history`` returns all, or with
``keys`` those that have every key. The run table's columns, ``Name,Agent,State,Notes,User,Tags,Created,
Runtime,Sweep`` and then configuration and last values, are those of exports in public repositories; users
hide and add columns. The summary is a run's ``files/wandb-summary.json``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from itertools import islice

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import Column, FloatArray, parse_column
from entropylaw.ingest.wording import counted, shown_path

#: How every row of a run's history gets into a file.
COMPLETE_HISTORY = "pandas.DataFrame(wandb.Api().run(PATH).scan_history()).to_csv(FILE)"

_CLOCKS = ("_runtime", "_timestamp")
_SAMPLED = range(500, 526)

# W&B writes these itself, with capitals; a user's configuration and metrics follow.
_RUN_COLUMNS = frozenset(
    (
        *("Name", "ID", "Agent", "State", "Notes", "User", "Tags", "Created", "Updated", "Runtime"),
        *("Sweep", "Group", "Job Type", "Hostname", "GPU Type"),
    )
)
_FEWEST_RUN_COLUMNS = 4
# While a run lives, these change; the others are the same in each of its rows.
_CHANGING = frozenset(("Runtime", "Updated"))
_STATES = frozenset(
    (
        *("finished", "crashed", "failed", "killed", "running"),
        *("pending", "preempting", "preempted", "stopped", "stopping"),
    )
)
_API_TABLE = frozenset(("summary", "config", "name"))
_SAMPLE = 50
_SAMPLE_LINES = 1000
_MOST_COLUMNS = 1 << 16
_LONGEST_SAMPLE = 1 << 22
_LONGEST_SUMMARY = 1 << 25
_HEAD = 1 << 16

# int() refuses more than 4300 digits.
_DECODER = json.JSONDecoder(parse_int=float)


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
    if "_step" not in names or names.isdisjoint(_CLOCKS):
        return ()
    if step_values is None:
        return (f"a W&B history, maybe sampled, as run.history() does; every row: {COMPLETE_HISTORY}",)
    steps = parse_column(step_values).values
    rises, sizes = _rises(steps[np.isfinite(steps)])
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


def _rises(steps: FloatArray) -> tuple[FloatArray, list[int]]:
    """Return by how much the step rises from row to row, and the lengths of stretches without a fall.

    Runs may stand one below the other, and some tables have their last step first.
    """
    with np.errstate(over="ignore"):
        change = np.diff(steps)
    if (change < 0).sum() * 2 > change.size:
        change = -change[::-1]
    falls = np.flatnonzero(change <= 0) + 1
    sizes = np.diff(np.concatenate(([0], falls, [steps.size])))
    return change[change > 0], sizes.tolist()


class WandbRunTableReader:
    """Recognises the table of runs, one row each, and refuses it: it has no curves."""

    name = "wandb-run-table"
    title = "W&B's table of runs, as CSV"
    why = "one value of each metric a run; the law needs their course"
    hint = "export the charts of entropy and reward, or the history"
    suffixes = (".csv",)
    refuses = True

    def recognises(self, content: Content) -> bool:
        """Whether the columns are W&B's own, and hardly two rows are of the same run."""
        if not content.is_text:
            return False
        first = next((line for line in content.lines() if line.strip()), "")
        if not ("Name" in first or ("summary" in first and "config" in first)):
            return False
        header, *rows = _sample(content, first)
        if frozenset(header) - {""} == _API_TABLE:
            at = header.index("summary")
            return bool(rows) and all(len(row) > at and row[at].startswith("{") for row in rows)
        return _is_run_table(header, rows)

    def read(self, content: Content) -> Table:
        """Refuse.

        Raises
        ------
        InputError
            ``last-values-only``, always.

        """
        raise InputError(
            "last-values-only",
            f"{shown_path(content.path)} is W&B's table of runs: a row a run, with the last value of each "
            "metric; the law needs entropy and reward over the course of a run",
            "export the charts of entropy and reward as CSV from the W&B page, or a run's history: "
            f"{COMPLETE_HISTORY}",
        )


def _sample(content: Content, first: str) -> list[list[str]]:
    """Split the first rows, as far as they can be; quoted cells may hold line ends."""
    marks = [mark for mark in ",;\t" if first.count(mark) < _MOST_COLUMNS]
    delimiter = max(marks, key=first.count, default=",")
    lines: list[str] = []
    size = 0
    for line in islice(content.lines(), _SAMPLE_LINES):
        size += len(line)
        if size > _LONGEST_SAMPLE or line.count(delimiter) >= _MOST_COLUMNS:
            break
        lines.append(line + "\n")
    found: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            if row:
                found.append(row)
            if len(found) > _SAMPLE:
                break
    except csv.Error:
        pass
    return found or [[]]


def _is_run_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    at = {name: index for index, name in reversed(list(enumerate(header))) if name in _RUN_COLUMNS}
    whole = [row for row in rows if len(row) == len(header)]
    if "Name" not in at or len(at) < _FEWEST_RUN_COLUMNS or not whole:
        return False
    states = [row[at["State"]].casefold() for row in whole] if "State" in at else []
    if sum(state in _STATES for state in states) * 2 < len(states):
        return False
    telling = [index for name, index in at.items() if name not in _CHANGING]
    return len({tuple(row[index] for index in telling) for row in whole}) * 2 > len(whole)


class WandbSummaryReader:
    """Recognises a run's ``wandb-summary.json`` and refuses it: it has the last values only."""

    name = "wandb-summary"
    title = "`wandb-summary.json`"
    why = "one value of each metric; the law needs their course"
    hint = "read the run's `.wandb` file, or export the history"
    suffixes = (".json",)
    refuses = True

    def recognises(self, content: Content) -> bool:
        """Whether it is a single JSON object with W&B's own keys, whose step is one number."""
        return content.is_text and content.extent <= _LONGEST_SUMMARY and _is_summary(_only_value(content))

    def read(self, content: Content) -> Table:
        """Refuse.

        Raises
        ------
        InputError
            ``last-values-only``, always.

        """
        raise InputError(
            "last-values-only",
            f"{shown_path(content.path)} is a run's summary from W&B: the last value of each metric; the law "
            "needs entropy and reward over the course of the run",
            f"read the run's .wandb file, one folder up, or export its history: {COMPLETE_HISTORY}",
        )


def _only_value(content: Content) -> object:
    """Return the JSON value that the file consists of; None where it is none, or several."""
    text = content.opening
    if not text.lstrip().startswith("{"):
        return None
    # Of records, a line each, the first few are enough to tell.
    value, rest = _decoded(text[:_HEAD])
    if rest.strip():
        return None
    if len(text) > _HEAD and ('"_wandb"' in text or '"_step"' in text):
        value, rest = _decoded(text)
    return None if rest.strip() else value


def _decoded(text: str) -> tuple[object, str]:
    text = text.lstrip()
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None, ""
    return value, text[end:]


def _is_summary(value: object) -> bool:
    if not isinstance(value, dict) or isinstance(value.get("_step"), (list, dict)):
        return False
    own = value.get("_wandb")
    clocks = any(isinstance(value.get(clock), float) for clock in _CLOCKS)
    if isinstance(own, dict):
        return clocks or "runtime" in own
    return clocks and isinstance(value.get("_step"), float)
