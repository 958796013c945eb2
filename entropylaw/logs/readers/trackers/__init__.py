"""What readers of trackers' logs share: protocol buffers, damage, and values that come one by one."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from entropylaw.errors import InputError
from entropylaw.escaping import counted, quoted_path
from entropylaw.logs.runs import Table, unique_names
from entropylaw.logs.runs.number_parsing import Column, classify
from entropylaw.logs.runs.splitting import OVERWRITTEN
from entropylaw.logs.sources.gather import Records

#: No record of metrics goes beyond this. It bounds what a hostile file can make of its bytes in memory.
MOST_VALUES = 1 << 16
#: Trackers' keys and names of runs are shorter.
LONGEST_NAME = 500

UNREADABLE = "unreadable record"
DAMAGED = "damaged or cut-off place"
CUT_OFF = "last row cut off"


class Damage:
    """Counts the bytes of a log that belong to no complete record."""

    def __init__(self) -> None:
        #: How many bytes there are in all.
        self.size = 0
        self._first = self._places = self._end = 0

    def add(self, start: int, end: int) -> None:
        """Count the bytes from ``start`` to ``end``; without a gap, they belong to the place before."""
        self._first = self._first if self._places else start
        self._places += start != self._end or not self._places
        self.size += end - start
        self._end = end

    @property
    def dropped(self) -> dict[str, int]:
        """Count the places, so that a fit reports that something is missing; empty for an undamaged file."""
        return {DAMAGED: self._places} if self._places else {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Report where the damage is and its size; nothing for an undamaged file."""
        if not self._places:
            return ()
        places = f"byte {self._first}"
        if self._places > 1:
            places += f" and in {counted(self._places - 1, 'place')} after it"
        return (f"damaged or cut off at {places}: {counted(self.size, 'byte')} skipped",)

    def none_complete(self, path: str, what: str) -> InputError:
        """Make the error for a file without a complete record; ``what`` says of which kind."""
        return InputError(
            "no-records",
            "; ".join((f"{quoted_path(path)} holds no complete record {what}", *self.notes)),
            "check that the run has logged something, and copy the file again where it was cut off",
        )


def run_label(name: str) -> str:
    """Make a name that cannot be read as a metric's value, or as a missing one."""
    return name if classify(name)[1] else f"run {name}"


class StepRows:
    """Puts values that come one by one, each with its step, into rows, for one run after the other.

    A step gets a further row where the step of a metric decreases, for then the run was resumed, and where
    one comes twice in the newest row: assembly decides on either. ``label`` is the first run's name, for a
    column ``run``; without that column where it is None.
    """

    def __init__(self, label: str | None = None) -> None:
        self.steps = array("q")
        self.overwritten = 0
        self._records = Records()
        #: Of each metric the row and the value that came last.
        self._last: dict[str, tuple[int, float]] = {}
        self._labels: list[str] = []
        self._label = label
        self._row_of: dict[int, int] = {}
        self._resumed_at = 0

    def begin(self, label: str) -> None:
        """Begin another run."""
        self._label = label
        self._resume()

    def _resume(self) -> None:
        """Give each step that follows a row of its own."""
        self._row_of = {}
        self._resumed_at = len(self.steps)

    def take(self, step: int, name: str, value: float) -> None:
        """Take one value, in the order in which they were logged."""
        before, last = self._last.get(name, (-1, math.nan))
        if before >= self._resumed_at and step < self.steps[before]:
            self._resume()
        row = self._row_of.get(step, -1)
        if row < 0 or row == before == len(self.steps) - 1:
            row = self._row_of[step] = len(self.steps)
            self.steps.append(step)
            if self._label is not None:
                self._labels.append(self._label)
        elif row == before:
            # A second row here, behind those of later steps, would pass for a resume and discard them.
            if math.isnan(value):
                return
            self.overwritten += not math.isnan(last) and value != last
        self._last[name] = row, value
        self._records.put(name, value, row)

    def table(self, size: int, dropped: Counter[str], notes: tuple[str, ...], **more: Any) -> Table:
        """Make the table of ``size`` bytes; ``dropped`` counts lost records, ``more`` are fields."""
        self._records.rows = len(self.steps)
        metrics, filled = self._records.columns(size)
        axes: dict[str, Column] = {"step": np.array(self.steps, dtype=np.float64)}
        if self._label is not None:
            axes["run"] = self._labels
        names, renamed = unique_names((*axes, *metrics))
        return Table(
            columns=dict(zip(names, (*axes.values(), *metrics.values()), strict=True)),
            rows=len(self.steps) + dropped.total(),
            dropped=dict(dropped + Counter({OVERWRITTEN: self.overwritten})),
            notes=(*notes, *filled, *renamed),
            **more,
        )


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield a protocol buffer's fields: field number × 8 + wire type, and an int (wire type 0) or bytes.

    As in https://protobuf.dev/programming-guides/encoding, without groups, which are out of use. Raises
    ``ValueError`` where the bytes are no protocol buffer.
    """
    at = 0
    end = len(message)
    while at < end:
        key, at = (message[at], at + 1) if message[at] < 0x80 else varint(message, at)
        kind = key & 7
        if kind == 2 and at < end and message[at] < 0x80:  # most fields, without a call
            size = message[at]
            at += 1
        elif kind == 2:
            size, at = varint(message, at)
        elif kind == 0:
            value, at = varint(message, at)
            yield key, value
            continue
        else:
            size = {1: 8, 5: 4}.get(kind, end)
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
