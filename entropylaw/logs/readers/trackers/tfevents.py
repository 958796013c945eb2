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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

Words = NDArray[np.uint32]

_EVENT_FILE = re.compile(rb".{12}.{0,20}brain\.Event:", re.DOTALL)

_HEAD, _TAIL = 12, 4  # length and its checksum before the content, the content's checksum after it
_START = b"Td\x1fd"

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
    return len(head) == _HEAD and bool(_intact([head[:8]], [head[8:]])[0])


def read(content: Content) -> Table:
    """Read it; raises ``no-records`` or ``no-scalars`` where no complete record holds a scalar."""
    damage, rows = Damage(), StepRows()
    dropped, others = Counter({BAD_CHECKSUM: 0, UNREADABLE: 0}), 0
    for event in _events(content.data, damage, dropped):
        try:
            step, scalars = event_scalars(event)
        except ValueError:
            dropped[UNREADABLE] += 1
            continue
        others += not scalars
        for tag, value in scalars:
            rows.take(step, tag, value)
    if not rows.steps:
        # The first event names the version only.
        if others > 1 and not (dropped.total() or damage.dropped):
            message = f"holds {others - 1} records of other kinds and no scalar"
            hint = "name the event file of the run; hyperparameters have one of their own"
            raise content.error("no-scalars", message, hint)
        raise damage.none_complete(content.path, "with a scalar")
    table = rows.table(len(content.data), dropped, damage.notes, lost_bytes=damage.size)
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


def event_scalars(event: bytes) -> tuple[int, list[tuple[str, float]]]:
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
        if key == _TENSOR_SHAPE and not is_single(value):
            return None
        parts[key >> 3] = value
    form, field = _NUMBERS.get(parts.get(_TENSOR_TYPE, 0), ("", 0))
    content = parts.get(_TENSOR_CONTENT, b"")
    raw = content or parts.get(field, b"")
    if not form or not isinstance(raw, bytes):
        return None
    if not content and form in _VARINTS:
        raw = from_varint(raw, form)
    return float(*struct.unpack(form, raw)) if len(raw) == struct.calcsize(form) else None


def from_varint(raw: bytes, form: str) -> bytes:
    """The bytes of the only number in a list of varints; empty where there are more, or none."""
    number, end = varint(raw, 0) if raw else (0, -1)
    return number.to_bytes(8, "little")[: struct.calcsize(form)] if end == len(raw) else b""


def is_single(shape: bytes) -> bool:
    """Whether a tensor has a single number: no dimension, or only such of size 1."""
    sizes = (dict(fields(content)).get(_DIM_SIZE) for key, content in fields(shape) if key == _SHAPE_DIM)
    return all(size == 1 for size in sizes)


def _events(data: bytes, damage: Damage, dropped: Counter[str]) -> Iterator[bytes]:
    """Yield the content of each frame, and count those with a bad checksum; a bad length ends the file."""
    at = 0
    while at < len(data):
        # So many bytes, or frames in them, have their checksums tested at once.
        spans = list(islice(frames(data, at, at + (1 << 20)), 1 << 14))
        good = _intact([data[a - _HEAD : a - 4] for a, _ in spans], [data[a - 4 : a] for a, _ in spans])
        spans = spans[: int(np.argmin([*good, False]))]
        if not spans:
            damage.add(at, len(data))
            return
        events = [data[a:b] for a, b in spans]
        good = _intact(events, [data[b : b + _TAIL] for _, b in spans])
        for intact, event, (begin, end) in zip(good, events, spans, strict=True):
            if intact:
                yield event
            else:
                damage.add(begin - _HEAD, end + _TAIL)
                dropped[BAD_CHECKSUM] += 1
        at = spans[-1][1] + _TAIL


def frames(data: bytes, at: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield where the contents of frames before ``stop`` begin and end, if their lengths are right."""
    while at < stop and at + _HEAD + _TAIL <= len(data):
        begin = at + _HEAD
        end = begin + int.from_bytes(data[at : at + 8], "little")
        at = end + _TAIL
        if at > len(data):
            return
        yield begin, end


def _intact(parts: Sequence[bytes], checksums: Sequence[bytes]) -> list[bool]:
    """Whether each part has its checksum, a CRC-32C that is masked as TensorFlow masks it; many at once.

    A CRC is linear: that of two words is that of the first one, moved on by the second's length, xor that
    of the second. So pairs of words are joined, then pairs of pairs, in all parts of about the same length.
    Zeros before the start change nothing, and _START makes of the state 0 the one in which a CRC starts.
    """
    crc = np.empty(len(parts), dtype=np.uint32)
    of_level: dict[int, list[int]] = {}
    for index, content in enumerate(parts):
        more_words = (len(_START) + len(content) - 1) // 4
        of_level.setdefault(more_words.bit_length(), []).append(index)
    for level, indices in of_level.items():
        padded = b"".join([(_START + parts[index]).rjust(4 << level, b"\0") for index in indices])
        state = np.frombuffer(padded, dtype="<u4").reshape(len(indices), -1)
        for done in range(level):
            state = _moved(state[:, 0::2], done) ^ state[:, 1::2]
        crc[indices] = ~_moved(state[:, 0], 0)
    masked = (crc >> 15 | crc << 17) + np.uint32(0xA282EAD8)
    return list(masked == np.frombuffer(b"".join(checksums), dtype="<u4"))


def _moved(state: Words, level: int) -> Words:
    """Return states after 4 · 2^level bytes of zero more."""
    low, high = _moves(level)
    moved: Words = np.take(low, state & 0xFFFF) ^ np.take(high, state >> 16)
    return moved


@cache
def _moves(level: int) -> Words:
    """Return what a state's lower and upper half become, for all their values."""
    half = np.arange(1 << 16, dtype=np.uint32)
    states: Words = np.stack([half, half << np.uint32(16)])
    if level:
        return _moved(_moved(states, level - 1), level - 1)
    for _ in range(32):
        states = states >> np.uint32(1) ^ (states & np.uint32(1)) * np.uint32(0x82F63B78)
    return states
