"""What readers of binary logs share: protocol buffers, damage, and columns that few rows have a value in."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from entropylaw.ingest.values import FloatArray
from entropylaw.ingest.wording import counted

_WIDTHS = {1: 8, 5: 4}
# No log of metrics goes beyond these. They bound what a hostile file can make of its bytes in memory.
MOST_VALUES = 1 << 16
_MOST_COLUMNS = 1 << 16
_FEWEST_CELLS = 1 << 21

UNREADABLE = "unreadable record"
DAMAGED = "damaged or cut-off place"


class Damage:
    """Counts the bytes of a log that belong to no whole record."""

    def __init__(self) -> None:
        self._first = self._places = self._bytes = self._end = 0

    def add(self, start: int, end: int) -> None:
        """Count the bytes from ``start`` to ``end``; without a gap, they belong to the place before."""
        self._first = self._first if self._places else start
        self._places += start != self._end or not self._places
        self._bytes += end - start
        self._end = end

    @property
    def size(self) -> int:
        """How many bytes there are in all."""
        return self._bytes

    @property
    def dropped(self) -> dict[str, int]:
        """Count the places, so that a fit says that something is missing; empty for a file that is whole."""
        return {DAMAGED: self._places} if self._places else {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Say where it is and how much; nothing for a file that is whole."""
        more = f" and in {counted(self._places - 1, 'place')} after it" if self._places > 1 else ""
        note = f"damaged or cut off at byte {self._first}{more}: {counted(self._bytes, 'byte')} skipped"
        return (note,) if self._places else ()


class SparseColumns(dict[str, tuple["array[int]", "array[float]"]]):
    """Column → rows and values, as they come: memory grows with the file, not with rows × columns."""

    def put(self, row: int, name: str, value: float) -> None:
        """Add a value. Where the row has one already, the later one stands."""
        column = self.get(name) or self._new(name)
        if column:
            column[0].append(row)
            column[1].append(value)

    def put_all(self, row: int, values: Mapping[str, float]) -> None:
        """Add the values of a row."""
        for name, value in values.items():
            column = self.get(name) or self._new(name)
            if column:
                column[0].append(row)
                column[1].append(value)

    def _new(self, name: str) -> tuple[array[int], array[float]] | None:
        """Make a column; none where there are too many."""
        return self.setdefault(name, (array("q"), array("d"))) if len(self) < _MOST_COLUMNS else None

    def filled(self, rows: int, size: int) -> tuple[dict[str, FloatArray], tuple[str, ...]]:
        """Return whole columns, nan where a row has no value, in the order of their first.

        Where all of them would need many times the file's ``size``, those with most values, and a note.
        """
        most = min(max(size, _FEWEST_CELLS) // rows, _MOST_COLUMNS - 1)
        kept = frozenset(sorted(self, key=lambda name: -len(self[name][0]))[:most])
        columns = {name: np.full(rows, np.nan) for name in self if name in kept}
        for name, column in columns.items():
            at, values = self[name]
            column[np.frombuffer(at, dtype=np.int64)] = np.frombuffer(values)
        note = f"far more columns than values: only the {len(kept)} columns with most values are read"
        return columns, (note,) if len(kept) < len(self) else ()


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield a protocol buffer's fields: field number × 8 + wire type, and an int (wire type 0) or bytes.

    As in https://protobuf.dev/programming-guides/encoding, without groups, which are out of use. Raises
    ``ValueError`` where the bytes are no protocol buffer.
    """
    at, end = 0, len(message)
    while at < end:
        key, at = (message[at], at + 1) if message[at] < 0x80 else varint(message, at)
        kind = key & 7
        if kind == 2 and at < end and message[at] < 0x80:  # most fields, without a call
            size, at = message[at], at + 1
        elif kind == 2:
            size, at = varint(message, at)
        elif kind == 0:
            value, at = varint(message, at)
            yield key, value
            continue
        else:
            size = _WIDTHS.get(kind, end)
        if size > end - at:
            raise ValueError("no field, or one that is longer than its message")
        yield key, message[at : at + size]
        at += size


def varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins here, and the place after it."""
    value = shift = 0
    for byte in message[at : at + 10]:
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise ValueError("a number without an end")


def signed(number: int) -> int:
    """Return the 64 bits of a varint as an ``int64``."""
    return number - (1 << 64) if number >> 63 else number
