"""What W&B writes of a run: its transaction log, the history that its API gives, and last values.

The ``.wandb`` file is a LevelDB log of protocol buffers, read without ``wandb``: frames are as in
google/leveldb's doc/log_format.md, with the file header and CRC-32 of wandb 0.29's
wandb/sdk/internal/datastore.py; messages as in wandb/proto/wandb_internal.proto (0.31). Only the history, the
run's name, its group and its configuration are decoded: a log also holds its user's e-mail, machine, command
line and git remote.

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

import json
import math
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np

from entropylaw.escaping import counted
from entropylaw.logs.configuration import WANDB_GROUP, flat_settings, relevant
from entropylaw.logs.readers.delimited import sample
from entropylaw.logs.readers.jsonl import leaves
from entropylaw.logs.readers.trackers import LONGEST_NAME, MOST_VALUES, UNREADABLE, Damage, fields, signed
from entropylaw.logs.runs import Table, added
from entropylaw.logs.runs.number_parsing import Column, classify, json_at, parse_column, parse_number
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.gather import Records

#: How every row of a run's history gets into a file.
COMPLETE_HISTORY = "pandas.DataFrame(wandb.Api().run(PATH).scan_history()).to_csv(FILE)"

# W&B's own clocks in a history and in a summary.
_RUN_CLOCKS = ("_runtime", "_timestamp")

# W&B writes these itself, with capitals; a user's configuration and metrics follow.
_RUN_COLUMNS = frozenset(
    ("Name", "ID", "Agent", "State", "Notes", "User", "Tags", "Created", "Updated", "Runtime")
).union(("Sweep", "Group", "Job Type", "Hostname", "GPU Type"))
_STATES = frozenset(("finished", "crashed", "failed", "killed", "running")).union(
    ("pending", "preempting", "preempted", "stopped", "stopping")
)

_FRAME = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4

# Keys as fields() yields them: field number × 8 + wire type.
_RECORD_HISTORY, _RECORD_CONFIG, _RECORD_RUN = 2 << 3 | 2, 5 << 3 | 2, 17 << 3 | 2
_RECORDS = frozenset((_RECORD_HISTORY, _RECORD_CONFIG, _RECORD_RUN))
_RUN_ID, _RUN_CONFIG, _RUN_GROUP, _RUN_DISPLAY_NAME = 1 << 3 | 2, 4 << 3 | 2, 6 << 3 | 2, 8 << 3 | 2
_CONFIG_UPDATE = 1 << 3 | 2
_HISTORY_ITEM, _HISTORY_STEP, _STEP_NUM = 1 << 3 | 2, 2 << 3 | 2, 1 << 3
_ITEM_KEY, _ITEM_NESTED_KEY, _ITEM_VALUE_JSON = 1 << 3 | 2, 2 << 3 | 2, 16 << 3 | 2
# In the schema since wandb 0.31, which itself still writes value_json.
_ITEM_INTEGER, _ITEM_NUMBER, _ITEM_JSON = 5 << 3, 6 << 3 | 1, 8 << 3 | 2

_DIGITS = frozenset(b"-0123456789")
_CLOCKS = ("_timestamp", "_runtime", "_wandb")

UNREADABLE_VALUE = "unreadable value"


def read(content: Content) -> Table:
    """Read a ``.wandb`` file; raises InputError ``no-records`` if no record of the history is complete."""
    damage = Damage()
    history = _History()
    for record in leveldb_records(content.data, damage):
        history.take(record)
    if not history.records.rows:
        raise damage.none_complete(content.path, "of a history")
    return history.table(len(content.data), damage)


def leveldb_records(data: bytes, damage: Damage) -> Iterator[bytes]:
    """Yield the complete records; after a damaged frame, go on with the next block as LevelDB does."""
    at = 7  # behind the file's header
    start = 0
    parts: list[bytes] = []
    while at < len(data):
        room = (1 << 15) - at % (1 << 15)  # of the block
        if room < _FRAME.size:  # too small for a frame, filled up with zeros
            at += room
            continue
        begin = at + _FRAME.size
        checksum, size, kind = _FRAME.unpack(data[at:begin].ljust(_FRAME.size, b"\0"))
        end = begin + size
        # The checksum is over the kind, which is the byte before the content, and the content.
        intact = end <= min(at + room, len(data)) and zlib.crc32(data[begin - 1 : end]) == checksum
        if not intact or kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
            kind = 0
            end = at + room
        following = min(end, len(data))
        if parts and kind not in (_MIDDLE, _LAST):
            damage.add(start, at)
            parts = []
        if parts or kind in (_FULL, _FIRST):
            start = start if parts else at
            parts.append(data[begin:end])
        else:
            damage.add(at, following)
        at = following
        if parts and kind in (_FULL, _LAST):
            yield b"".join(parts)
            parts = []
    if parts:
        damage.add(start, len(data))


class _History:
    """Collects the rows of the history, the run's names and its settings."""

    def __init__(self) -> None:
        self._lost = Counter({UNREADABLE: 0, UNREADABLE_VALUE: 0})
        self.records = Records()
        self._names: dict[int, str] = {}
        self._settings: dict[str, object] = {}

    def take(self, record: bytes) -> None:
        """Take one record of the log."""
        try:
            contents = {key: content for key, content in fields(record) if key in _RECORDS}
            if _RECORD_HISTORY in contents:
                self._row(contents[_RECORD_HISTORY])
            if _RECORD_CONFIG in contents:
                self._settings |= _settings(contents[_RECORD_CONFIG])
            for key, value in fields(contents.get(_RECORD_RUN, b"")):
                if key in (_RUN_ID, _RUN_DISPLAY_NAME):
                    self._names[key] = value.decode(errors="replace")[:LONGEST_NAME]
                elif key == _RUN_CONFIG:
                    self._settings |= _settings(value)
                elif key == _RUN_GROUP and value:
                    self._settings[WANDB_GROUP] = value.decode(errors="replace")[:LONGEST_NAME]
        except ValueError:
            self._lost[UNREADABLE] += 1

    def table(self, size: int, damage: Damage) -> Table:
        """Return the columns, and the run's name as column ``run``, from which assembly takes a label."""
        rows = self.records.rows
        columns, column_notes = self.records.columns(size)
        label = self._names.get(_RUN_DISPLAY_NAME) or self._names.get(_RUN_ID) or ""
        if label and math.isnan(parse_number(label)):  # a number would pass for a metric
            columns.setdefault("run", [label] * rows)
        return Table(
            columns=columns,
            rows=rows + self._lost[UNREADABLE],
            dropped=added(self._lost, damage.dropped),
            broken=self._lost[UNREADABLE],
            notes=(*damage.notes, *column_notes),
            settings=relevant(self._settings),
            config=self._settings,
        )

    def _row(self, message: bytes) -> None:
        values: dict[str, float] = {}
        for key, value in fields(message):
            if key == _HISTORY_ITEM:
                self._item(value, values)
            elif key == _HISTORY_STEP:
                step = next((number for key, number in fields(value) if key == _STEP_NUM), 0)
                values.setdefault("_step", signed(step))
            if len(values) > MOST_VALUES:
                raise ValueError("more values than a record of metrics has")
        self.records.add(values)

    def _item(self, message: bytes, values: dict[str, float]) -> None:
        keys, text = _parts(message)
        path = b".".join(keys).decode(errors="replace")
        clock = path.split(".")[0] in _CLOCKS
        if clock or len(path) > LONGEST_NAME or not 0 < len(text) <= 1 << 16:
            return
        try:
            if text[0] in _DIGITS:
                values[path] = float(text)
            else:
                # Named with "." as on W&B's pages; texts are no metrics.
                for name, cell in leaves({path: json.loads(text)}, LONGEST_NAME, "."):
                    number, is_text = classify(cell)
                    if len(str(cell)) <= LONGEST_NAME and not is_text:
                        values[name] = number
        except (ValueError, RecursionError):
            self._lost[UNREADABLE_VALUE] += 1


def _parts(item: bytes) -> tuple[list[bytes], bytes]:
    """Return an item's key, or its several keys below one another, and the JSON of its value."""
    name = text = b""
    nested: list[bytes] = []
    for kind, value in fields(item):
        if kind == _ITEM_NESTED_KEY:
            nested.append(value)
        elif kind == _ITEM_KEY:
            name = value
        elif kind in (_ITEM_VALUE_JSON, _ITEM_JSON):
            text = value
        elif kind == _ITEM_NUMBER:
            text = json.dumps(*struct.unpack("<d", value)).encode()
        elif kind == _ITEM_INTEGER:  # zigzag encoding (sint64)
            text = b"%d" % (value >> 1 ^ -(value & 1))
    return nested if any(nested) else [name], text


def _settings(message: bytes) -> dict[str, object]:
    """Return the settings of one record of the configuration, flat; what is no JSON is left out."""
    settings: dict[str, object] = {}
    updates = [value for key, value in fields(message) if key == _CONFIG_UPDATE]
    for item in updates[: 1 << 14]:
        keys, text = _parts(item)
        path = b"/".join(keys).decode(errors="replace")
        if 0 < len(path) <= LONGEST_NAME and len(text) <= 1 << 20:
            with suppress(ValueError, RecursionError):
                settings |= flat_settings({path: json.loads(text)})
    return settings


# --- Exports of a run ---


def history_notes(columns: Sequence[str], step_values: Column | None, rows: int) -> tuple[str, ...]:
    """Note where a table with so many ``rows`` is a W&B history from which some seem to be missing.

    ``step_values`` are the cells of ``_step``, None where they were not kept. Where it has no gaps, or gaps
    of one length, as where a trainer logs every tenth step, there is no note.
    """
    names = frozenset(columns)
    if "_step" not in names or names.isdisjoint(_RUN_CLOCKS):
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
        return (
            f"a W&B history with {size} rows of a run, in which {where}: run.history() returns about "
            f"500 sampled rows; every row: "
            f"{COMPLETE_HISTORY}",
        )
    if rises.min() == rises.max():
        return ()
    return (
        f"a W&B history in which {where}: it was sampled, as run.history() does, or only rows with certain "
        f"keys were requested, which would be no loss; every row: {COMPLETE_HISTORY}",
    )


def is_run_table(content: Content) -> bool:
    """Whether the columns are W&B's own, and hardly two rows are of the same run."""
    line = next(filter(str.strip, content.lines()), "") if content.is_text else ""
    if not ("Name" in line or ("summary" in line and "config" in line)):
        return False
    header, *rows = sample(content, 51, 1 << 22)
    if frozenset(header) - {""} == {"summary", "config", "name"}:
        summaries = [row[header.index("summary") :][:1] for row in rows]
        return bool(rows) and all(cells and cells[0].startswith("{") for cells in summaries)
    at = {name: index for index, name in reversed(list(enumerate(header))) if name in _RUN_COLUMNS}
    complete = [row for row in rows if len(row) == len(header)]
    return "Name" in at and len(at) >= 4 and _are_of_runs(complete, at)


def _are_of_runs(rows: Sequence[Sequence[str]], at: Mapping[str, int]) -> bool:
    """Whether hardly two rows are of the same run, by the places of W&B's own columns."""
    states = [row[at["State"]].casefold() for row in rows] if "State" in at else []
    # While a run is active, its running time changes; the others are the same in each of its rows.
    stable = [index for name, index in at.items() if name not in ("Runtime", "Updated")]
    distinct = {tuple(row[index] for index in stable) for row in rows}
    states_fit = sum(state in _STATES for state in states) * 2 >= len(states)
    return states_fit and len(distinct) * 2 > len(rows)


def is_summary(content: Content) -> bool:
    """Whether it is a single JSON object with W&B's own keys, whose step is one number."""
    text = content.opening.lstrip() if content.is_text and content.extent <= 1 << 25 else ""
    if not text.startswith("{") or not ('"_wandb"' in text or '"_step"' in text):
        return False
    summary, end = json_at(text)
    if not isinstance(summary, dict) or text[end:].strip():
        return False
    step = summary.get("_step")
    if isinstance(step, (list, dict)):
        return False
    clocks = any(isinstance(summary.get(clock), float) for clock in _RUN_CLOCKS)
    internal = summary.get("_wandb")
    if isinstance(internal, dict):
        return clocks or "runtime" in internal
    return clocks and isinstance(step, float)
