"""What W&B keeps of a run's last values: recognised and refused, for it has no curves.

That is a run's ``files/wandb-summary.json``, and the table of runs, exported as CSV. The table's columns,
``Name,Agent,State,Notes,User,Tags,Created,Runtime,Sweep`` and then configuration and last values, are those
of exports in public repositories; users hide and add columns. ``summary``, ``config`` and ``name`` are the
columns of the table that W&B's documentation makes with its API.
"""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from itertools import islice

from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.wandb_export import CLOCKS

# W&B writes these itself, with capitals; a user's configuration and metrics follow.
_RUN_COLUMNS = (
    *("Name", "ID", "Agent", "State", "Notes", "User", "Tags", "Created", "Updated", "Runtime"),
    *("Sweep", "Group", "Job Type", "Hostname", "GPU Type"),
)
_STATES = (
    *("finished", "crashed", "failed", "killed", "running"),
    *("pending", "preempting", "preempted", "stopped", "stopping"),
)
_SAMPLE = 50
_SAMPLE_LINES = 1000
_MOST_COLUMNS = 1 << 16
_LONGEST_SAMPLE = 1 << 22

_LONGEST_SUMMARY = 1 << 25
_HEAD = 1 << 16
# int() refuses more than 4300 digits.
_DECODER = json.JSONDecoder(parse_int=float)


def is_run_table(content: Content) -> bool:
    """Whether the columns are W&B's own, and hardly two rows are of the same run."""
    if not content.is_text:
        return False
    first = next((line for line in content.lines() if line.strip()), "")
    if not ("Name" in first or ("summary" in first and "config" in first)):
        return False
    header, *rows = _sample(content, first)
    if frozenset(header) - {""} == {"summary", "config", "name"}:
        place = header.index("summary")
        return bool(rows) and all(len(row) > place and row[place].startswith("{") for row in rows)
    at = {name: index for index, name in reversed(list(enumerate(header))) if name in _RUN_COLUMNS}
    whole = [row for row in rows if len(row) == len(header)]
    if "Name" not in at or len(at) < 4 or not whole:
        return False
    states = [row[at["State"]].casefold() for row in whole] if "State" in at else []
    # While a run lives, its running time changes; the others are the same in each of its rows.
    telling = [index for name, index in at.items() if name not in ("Runtime", "Updated")]
    distinct = {tuple(row[index] for index in telling) for row in whole}
    known = sum(state in _STATES for state in states) * 2 >= len(states)
    return known and len(distinct) * 2 > len(whole)


def _sample(content: Content, first: str) -> list[list[str]]:
    """Split the first rows, as far as they can be; quoted cells may hold line ends."""
    marks = [mark for mark in ",;\t" if first.count(mark) < _MOST_COLUMNS]
    delimiter = max(marks, key=first.count, default=",")
    lines, size = list[str](), 0
    for line in islice(content.lines(), _SAMPLE_LINES):
        size += len(line)
        if size > _LONGEST_SAMPLE or line.count(delimiter) >= _MOST_COLUMNS:
            break
        lines.append(line + "\n")
    found: list[list[str]] = []
    with suppress(csv.Error):
        found.extend(islice(filter(None, csv.reader(lines, delimiter=delimiter)), _SAMPLE + 1))
    return found or [[]]


def is_summary(content: Content) -> bool:
    """Whether it is a single JSON object with W&B's own keys, whose step is one number."""
    text = content.opening.lstrip() if content.is_text and content.extent <= _LONGEST_SUMMARY else ""
    if not text.startswith("{"):
        return False
    # Of records, a line each, the first few are enough to find out.
    value, rest = _decoded(text[:_HEAD])
    if len(text) > _HEAD and not rest.strip() and ('"_wandb"' in text or '"_step"' in text):
        value, rest = _decoded(text)
    if rest.strip() or not isinstance(value, dict) or isinstance(value.get("_step"), (list, dict)):
        return False
    clocks = any(isinstance(value.get(clock), float) for clock in CLOCKS)
    if isinstance(own := value.get("_wandb"), dict):
        return clocks or "runtime" in own
    return clocks and isinstance(value.get("_step"), float)


def _decoded(text: str) -> tuple[object, str]:
    """Return the first JSON value of a text, None where there is none, and what is behind it."""
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None, ""
    return value, text[end:]
