"""Tables in memory: mappings and frames of any library. Only those of Arrow import it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from entropylaw.errors import InputError, UsageError
from entropylaw.logs.runs import FRAME, Table, unique_names
from entropylaw.logs.runs.number_parsing import Column, parse_column


def from_frame(frame: Any) -> Table:
    """Turn it into a table; a named index becomes a column.

    Raises ``frame-not-understood`` where the columns differ in length or cannot be taken out, and
    ``no-records`` where there are no rows.
    """
    if hasattr(frame, "column_names") and hasattr(frame, "schema"):
        from entropylaw.logs.readers.parquet import from_arrow

        return from_arrow(frame, FRAME)
    try:
        pairs = _frame_columns(frame)
    except (TypeError, ValueError, KeyError, AttributeError) as problem:
        reason = f"its columns cannot be taken out ({type(problem).__name__})"
    else:
        lengths = {len(column) for _, column in pairs}
        if lengths <= {0}:
            raise InputError("no-records", "the table has no rows", "pass a table with one row per step")
        if len(lengths) == 1:
            names, notes = unique_names(name for name, _ in pairs)
            columns = dict(zip(names, (column for _, column in pairs), strict=True))
            return Table(columns=columns, rows=lengths.pop(), notes=notes)
        reason = f"its columns have {min(lengths)} to {max(lengths)} rows"
    message = f"the table that was passed cannot be read: {reason}"
    hint = "pass a pandas DataFrame, a pyarrow Table, or a mapping from column names to sequences"
    raise UsageError("frame-not-understood", message, hint)


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


def _frame_columns(frame: Any) -> list[tuple[str, Column]]:
    if isinstance(frame, Mapping):
        return [(str(name), _cells(cells)) for name, cells in frame.items()]
    index: Any = getattr(frame, "index", None)
    pairs = [] if getattr(index, "name", None) is None else [(str(index.name), _cells(index))]
    by_position = getattr(frame, "iloc", None)  # two columns may share a name
    for position, name in enumerate(frame.columns):
        cells = frame[name] if by_position is None else by_position[:, position]
        label = "/".join(str(level) for level in name if str(level)) if isinstance(name, tuple) else str(name)
        pairs.append((label, _cells(cells)))
    return pairs


def _cells(cells: Any) -> Column:
    values = cells.to_numpy() if hasattr(cells, "to_numpy") else cells
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError("a column has one dimension")
    return values if isinstance(values, np.ndarray) else list(values)
