"""TensorBoard's event files: TFRecords of protocol buffers, read without ``tensorboard``.

Frames are as in tensorflow's tensorflow/core/lib/io/record_writer.h; messages as in tensorboard's
compat/proto/event.proto, summary.proto and tensor.proto. A scalar is a ``simple_value``, or a tensor with one
number. Values are mostly float32, and become the float64 of the same value.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from entropylaw.logs.readers.trackers import (
    LONGEST_NAME,
    MOST_VALUES,
    UNREADABLE,
    Damage,
    StepRows,
    fields,
    signed,
    varint,
)
from entropylaw.logs.runs import Table
from entropylaw.logs.sources.content import Content

_EVENT_FILE = re.compile(rb".{12}.{0,20}brain\.Event:", re.DOTALL)

# Length and its checksum before the content, the content's checksum after it.
_HEAD = 12
_TAIL = 4

# Keys as fields() yields them: field number × 8 + wire type.
_EVENT_STEP, _EVENT_SUMMARY, _SUMMARY_VALUE = 2 << 3, 5 << 3 | 2, 1 << 3 | 2
_VALUE_TAG, _VALUE_SIMPLE, _VALUE_TENSOR = 1 << 3 | 2, 2 << 3 | 5, 8 << 3 | 2
_TENSOR_SHAPE, _TENSOR_TYPE, _TENSOR_CONTENT = 2 << 3 | 2, 1, 4  # the latter two by field number alone
_SHAPE_DIM, _DIM_SIZE = 2 << 3 | 2, 1 << 3
# DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64, DT_HALF → how struct calls such numbers, and the field that lists
# them where a tensor has no content; those of _VARINTS as varints, a half by its bits.
_NUMBERS = {1: ("<f", 5), 2: ("<d", 6), 3: ("<i", 7), 9: ("<q", 10), 19: ("<e", 13)}
_VARINTS = frozenset(("<i", "<q", "<e"))

BAD_CHECKSUM = "record with a bad checksum"


def recognises(content: Content) -> bool:
    """Whether it opens with the event that names the version, or has such a name and a complete frame."""
    if _EVENT_FILE.match(content.head):
        return True
    head = content.head[:_HEAD] if "tfevents" in PurePath(content.path).name else b""
    return len(head) == _HEAD and _intact(head, 0, 8)


def read(content: Content) -> Table:
    """Read it; raises ``no-records`` or ``no-scalars`` where no complete record holds a scalar."""
    damage = Damage()
    rows = StepRows()
    dropped = Counter({BAD_CHECKSUM: 0, UNREADABLE: 0})
    without_scalar = 0
    for event in _events(content.data, damage, dropped):
        try:
            step, scalars = _event_scalars(event)
        except ValueError:
            dropped[UNREADABLE] += 1
            continue
        without_scalar += not scalars
        for tag, value in scalars:
            rows.take(step, tag, value)
    if not rows.steps:
        # The first event names the version only.
        if without_scalar > 1 and not (dropped.total() or damage.dropped):
            raise content.error(
                "no-scalars",
                f"holds {without_scalar - 1} records of other kinds and no scalar",
                "name the event file of the run; hyperparameters have one of their own",
            )
        raise damage.none_complete(content.path, "with a scalar")
    table = rows.table(
        len(content.data), dropped, damage.notes, lost_bytes=damage.size, broken=dropped[UNREADABLE]
    )
    # A record with a bad checksum is a damaged place, and counted already.
    return table if dropped[BAD_CHECKSUM] else replace(table, dropped={**table.dropped, **damage.dropped})


def wall_times(data: bytes) -> tuple[float, float]:
    """Return when the first and the last complete event were written, in seconds; nan where there is none."""
    first = last = math.nan
    for begin, end in frames(data, 0, len(data)):
        # The time is the first field of an event that TensorBoard writes, of wire type 1.
        if data[begin : begin + 1] == b"\t" and end - begin >= 9:
            now = struct.unpack_from("<d", data, begin + 1)[0]
            last = now if now > 0 else last
            first = last if math.isnan(first) else first
    return first, last


def _event_scalars(event: bytes) -> tuple[int, list[tuple[str, float]]]:
    """Return an event's step and its scalars: tags and numbers, without text, images and histograms."""
    step, scalars = 0, list[tuple[str, float]]()
    for key, content in fields(event):
        step = signed(content) if key == _EVENT_STEP else step
        for inner, message in fields(content) if key == _EVENT_SUMMARY else ():
            value = dict(fields(message)) if inner == _SUMMARY_VALUE else {}
            tag = value.get(_VALUE_TAG, b"")
            if _VALUE_SIMPLE in value:
                number = struct.unpack("<f", value[_VALUE_SIMPLE])[0]
            else:
                number = _only_number(value.get(_VALUE_TENSOR, b""))
            if number is not None and len(tag) <= LONGEST_NAME:
                scalars.append((tag.decode(errors="replace"), number))
            if len(scalars) > MOST_VALUES:
                raise ValueError("more scalars than an event has")
    return step, scalars


def _only_number(tensor: bytes) -> float | None:
    """Return the number that a tensor holds; None where it holds several, none, or something else."""
    parts: dict[int, Any] = {}
    for key, value in fields(tensor):
        if key == _TENSOR_SHAPE:
            # A single number has no dimension, or only such of size 1.
            dimensions = [dict(fields(content)) for part, content in fields(value) if part == _SHAPE_DIM]
            if any(dimension.get(_DIM_SIZE) != 1 for dimension in dimensions):
                return None
        parts[key >> 3] = value
    form, field = _NUMBERS.get(parts.get(_TENSOR_TYPE, 0), ("", 0))
    content = parts.get(_TENSOR_CONTENT, b"")
    raw = content or parts.get(field, b"")
    if not form or not isinstance(raw, bytes):
        return None
    size = struct.calcsize(form)
    if raw and not content and form in _VARINTS:
        number, end = varint(raw, 0)
        raw = number.to_bytes(8, "little")[:size] + raw[end:]
    return float(*struct.unpack(form, raw)) if len(raw) == size else None


def _events(data: bytes, damage: Damage, dropped: Counter[str]) -> Iterator[bytes]:
    """Yield the content of each frame, and count those with a bad checksum; a bad length ends the file."""
    at = 0
    for begin, end in frames(data, 0, len(data)):
        if not _intact(data, at, begin - _TAIL):
            break
        at = end + _TAIL
        if _intact(data, begin, end):
            yield data[begin:end]
        else:
            damage.add(begin - _HEAD, at)
            dropped[BAD_CHECKSUM] += 1
    if at < len(data):
        damage.add(at, len(data))


def frames(data: bytes, at: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield where the contents of frames before ``stop`` begin and end, if their lengths are right."""
    while at < stop and at + _HEAD + _TAIL <= len(data):
        begin = at + _HEAD
        end = begin + int.from_bytes(data[at : at + 8], "little")
        at = end + _TAIL
        if at > len(data):
            return
        yield begin, end


def _intact(data: bytes, begin: int, end: int) -> bool:
    """Whether a checksum follows, a CRC-32C that is masked as TensorFlow masks it."""
    crc = 0xFFFF_FFFF
    for byte in data[begin:end]:
        crc = _CRC[crc & 0xFF ^ byte] ^ crc >> 8
    crc ^= 0xFFFF_FFFF
    masked = (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFF_FFFF
    return data[end : end + _TAIL] == masked.to_bytes(4, "little")


_states = np.arange(256, dtype=np.uint32)
for _ in range(8):
    _states = _states >> np.uint32(1) ^ (_states & np.uint32(1)) * np.uint32(0x82F63B78)
# What a CRC-32C becomes by its lowest byte.
_CRC: tuple[int, ...] = tuple(_states.tolist())
