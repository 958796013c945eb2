"""What a reader hands over: columns as they stand in a file, or in a table that is in memory already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entropylaw.errors import InputError, UsageError
from entropylaw.ingest.values import BoolArray, Column, parse_column
from entropylaw.ingest.wording import shown


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Raw columns in file order.

    Attributes
    ----------
    columns
        Name as in the file → cells of any type, all columns of one length; None where there is no value.
    rows
        Number of records that the file holds, those included that could not be read.
    dropped
        Reason → number of records (for a console line: pairs) that could not be read.
    notes
        Sentences on what was decided while reading.
    labelled
        Whether the reader itself wrote the column ``run``, so that it tells runs apart whatever is in it.
    partial
        Whether the file is by its format only a part of a log, such as one metric of several, and is joined
        with its like.
    settings
        The run's configuration as the log itself holds it, flat, with ``/`` between names.
    unread
        Names of columns that were left out of a large file, because nothing would be made of them.
    unreadable
        Shape (rows of the columns,): True for a record that could not be read and is counted in ``dropped``.
        Its row holds at most the label of its run, so that a run of which nothing else is left has a name.
        None where every row was read.
    lost
        Names of runs of which the file has records, and none that could be read.
    lost_bytes
        How many bytes of a binary log belong to no whole record.

    """

    columns: Mapping[str, Column]
    rows: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    labelled: bool = False
    partial: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    unreadable: BoolArray | None = None
    lost: tuple[str, ...] = ()
    lost_bytes: int = 0


# A header that repeats itself more often is beyond description.
_MOST_NOTES = 20


def from_records(records: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """Turn records into columns, in order of first appearance, None where a record lacks the key."""
    columns: dict[str, list[object]] = {}
    for row, record in enumerate(records):
        for name, cell in record.items():
            if name not in columns:
                columns[name] = [None] * len(records)
            columns[name][row] = cell
    return columns


def unique_names(names: Iterable[object]) -> tuple[list[str], tuple[str, ...]]:
    """Give every column a name of its own, and say which were renamed.

    An empty name becomes ``column 1`` (its position), a name's second occurrence ``name#2``.
    """
    taken: set[str] = set()
    occurrences: dict[str, int] = {}
    unique: list[str] = []
    notes: list[str] = []
    for position, raw in enumerate(names, start=1):
        wanted = str(raw).strip() or f"column {position}"
        name, occurrence = wanted, occurrences.get(wanted, 1)
        while name in taken:
            occurrence += 1
            name = f"{wanted}#{occurrence}"
        occurrences[wanted] = occurrence
        if occurrence > 1 and len(notes) < _MOST_NOTES:
            notes.append(f"column {shown(wanted)} occurs again; its next occurrence is called {shown(name)}")
        taken.add(name)
        unique.append(name)
    return unique, tuple(notes)


FRAME = "<frame>"
"""The path of a table that has no file: a pandas or other frame, an Arrow table, a mapping of columns."""


def is_frame(value: object) -> bool:
    """Whether it has columns: an Arrow table, a pandas-like frame or a mapping."""
    return isinstance(value, Mapping) or hasattr(value, "columns")


def from_frame(frame: Any) -> Table:
    """Turn it into a table; a named index becomes a column.

    Raises
    ------
    UsageError
        ``frame-not-understood`` where the columns differ in length or cannot be taken out.
    InputError
        ``no-records`` where there are no rows.

    """
    if hasattr(frame, "column_names") and hasattr(frame, "schema"):
        from entropylaw.ingest.formats.parquet import from_arrow

        return from_arrow(frame, FRAME)
    try:
        pairs = _columns(frame)
    except (TypeError, ValueError, KeyError, AttributeError) as problem:
        reason = f"its columns cannot be taken out ({type(problem).__name__})"
    else:
        lengths = {len(column) for _, column in pairs}
        if lengths <= {0}:
            raise InputError("no-records", "the table has no rows", "pass a table with one row a step")
        if len(lengths) == 1:
            names, notes = unique_names(name for name, _ in pairs)
            columns = dict(zip(names, (column for _, column in pairs), strict=True))
            return Table(columns=columns, rows=lengths.pop(), notes=notes)
        reason = f"its columns have {min(lengths)} to {max(lengths)} rows"
    raise UsageError(
        "frame-not-understood",
        f"the table that was passed cannot be read: {reason}",
        "pass a pandas DataFrame, a pyarrow Table, or a mapping from column names to sequences",
    )


def fingerprint(table: Table) -> str:
    """SHA-256 over the names and the values as float64, for a table that has no file."""
    digest = hashlib.sha256()
    for name, column in table.columns.items():
        digest.update(name.encode("utf-8", "backslashreplace") + b"\0")
        parsed = parse_column(column)
        digest.update(parsed.values.astype("<f8").tobytes())
        if parsed.texts:
            digest.update("\0".join(map(str, column)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _columns(frame: Any) -> list[tuple[str, Column]]:
    if isinstance(frame, Mapping):
        return [(str(name), _cells(cells)) for name, cells in frame.items()]
    pairs: list[tuple[str, Column]] = []
    index: Any = getattr(frame, "index", None)
    if getattr(index, "name", None) is not None:
        pairs.append((str(index.name), _cells(index)))
    by_position = getattr(frame, "iloc", None)  # two columns may share a name
    for position, name in enumerate(frame.columns):
        cells = frame[name] if by_position is None else by_position[:, position]
        label = "/".join(str(part) for part in name if str(part)) if isinstance(name, tuple) else str(name)
        pairs.append((label, _cells(cells)))
    return pairs


def _cells(cells: Any) -> Column:
    values = cells.to_numpy() if hasattr(cells, "to_numpy") else cells
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError("a column has one dimension")
        return values
    return list(values)
