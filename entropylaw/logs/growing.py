"""A log that is being written: read again and again, each time only what is new, up to its last whole record.

A file that shrank, was written anew or was moved away, as logs are rotated, keeps the records that were read
of it, as if all were one file; nothing is read twice. Lines of JSON, CSV, TensorBoard's and W&B's files are
read in parts; other formats, and folders, as a whole whenever they have changed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import msgspec

from entropylaw.errors import EntropyLawError, InputError
from entropylaw.escaping import quoted_path
from entropylaw.logs import catalog
from entropylaw.logs.load import read_runs
from entropylaw.logs.runs import Run, Table
from entropylaw.logs.source import Source
from entropylaw.logs.sources.assemble import assemble, display_name
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import find_reader, reader_of, split_format
from entropylaw.logs.suggest import measured
from entropylaw.paths import is_folder

HEAD = 4096
"""Bytes at the start and before the end of what was read by which a file is known again."""

BLOCK = 1 << 15
"""Bytes of a block of W&B's files."""

SURE = 1 << 16
"""Bytes of a file up to which its format is looked for at every reading; later whenever it has doubled."""

_FRAME = struct.Struct("<IHB")
_FULL, _LAST = 1, 4


def whole_lines(data: bytes, at: int) -> int:
    """The end of the last whole line."""
    return max(data.rfind(b"\n") + 1, at)


def whole_events(data: bytes, at: int) -> int:
    """The end of the last whole record of TensorBoard's: length, checksum, content, checksum."""
    while at + 12 <= len(data):
        end = at + 16 + int.from_bytes(data[at : at + 8], "little")
        if end > len(data):
            break
        at = end
    return at


def whole_records(data: bytes, at: int) -> int:
    """The end of the last whole record of W&B's, the frames of which fill blocks.

    Behind a damaged frame, as a killed job leaves one, records begin with the next block.
    """
    place = max(at, 7)
    while place + _FRAME.size <= len(data):
        room = BLOCK - place % BLOCK
        if room < _FRAME.size:
            place += room
            continue
        checksum, size, kind = _FRAME.unpack_from(data, place)
        begin = place + _FRAME.size
        end = begin + size
        if size + _FRAME.size > room or (end <= len(data) and crc32(data[begin - 1 : end]) != checksum):
            place += room
            at = place if place <= len(data) else at
            continue
        if end > len(data):
            break
        place = end
        if kind in (_FULL, _LAST):
            at = end
    return at


def a_line(data: bytes, _: int) -> bytes:
    """The header of a table."""
    return data[: data.find(b"\n") + 1]


def an_event(data: bytes, _: int) -> bytes:
    """The first record of TensorBoard's, which names the version."""
    return data[: 16 + int.from_bytes(data[:8], "little")]


def a_block(data: bytes, done: int) -> bytes:
    """The head of a file of W&B's, and records without content up to that place in a block."""
    frames = []
    for size in filter(None, (BLOCK - 7, done % BLOCK)):
        content = bytes(size - _FRAME.size)
        frames.append(_FRAME.pack(crc32(bytes([_FULL]) + content), len(content), _FULL) + content)
    return data[:7] + b"".join(frames)


@dataclass(frozen=True, slots=True)
class Parts:
    """How a format is read in parts: where its last whole record ends, and what precedes each later part."""

    end: Callable[[bytes, int], int]
    before: Callable[[bytes, int], bytes] = lambda *_: b""


PARTS = {
    "jsonl": Parts(whole_lines),
    "csv": Parts(whole_lines, a_line),
    "tfevents": Parts(whole_events, an_event),
    "verl": Parts(whole_lines),
    "wandb": Parts(whole_records, a_block),
}
"""Format → how it is read in parts."""


@dataclass(slots=True)
class Rows:
    """Rows of a log in the order of the file: name → cells, None where there is no value."""

    columns: dict[str, list[Any]] = field(default_factory=dict)
    count: int = 0
    settings: dict[str, object] = field(default_factory=dict)

    def add(self, columns: Mapping[str, Any], settings: Mapping[str, object] | None = None) -> None:
        """Add the rows of a table, without columns that no analysis uses."""
        added = len(next(iter(columns.values()), ()))
        for name, cells in columns.items():
            if name not in self.columns and (catalog.is_useful(name) or measured([name])):
                self.columns[name] = [None] * self.count
            if name in self.columns:
                self.columns[name] += list(cells)
        self.count += added
        for cells in self.columns.values():
            cells += [None] * (self.count - len(cells))
        self.settings |= settings or {}

    def with_rows(self, other: Rows) -> Rows:
        """These rows, and others after them."""
        rows = Rows({name: [*cells] for name, cells in self.columns.items()}, self.count, {**self.settings})
        rows.add(other.columns, other.settings)
        return rows

    def run(self, path: str, format: str) -> Run:
        """The run in these rows, the last one of several.

        Raises InputError where there is none.
        """
        if not self.count:
            message = f"{quoted_path(path)} holds no whole record"
            raise InputError("no-records", message, "wait for its first record")
        table = Table(columns=self.columns, rows=self.count, settings=self.settings)
        source = Source(path=path, format=format, sha256="", rows=self.count)
        runs, lost = assemble(table, source, display_name(path))
        if not runs:
            raise lost[0][1]
        return runs[-1]


class GrowingLog:
    """A log at a path, which may end in ``:FORMAT``, as for :func:`entropylaw.read_runs`.

    ``said`` is what happened to the file since the last reading: sentences, to be emptied by the caller.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._stream: IO[bytes] | None = None
        self.path, self._forced = split_format(os.fspath(path))
        self.said: list[str] = []
        self._parts: Parts | None = None
        self._earlier, self._rows = Rows(), Rows()
        self._start()

    def close(self) -> None:
        """Close the file, which is kept open so that its end can be read after it was moved away."""
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    def __del__(self) -> None:
        """Close the file."""
        self.close()

    def _start(self) -> None:
        """Begin to read a file from its start."""
        self._format, self._parts, self._recognised = "", None, 0
        self._done, self._head, self._end, self._before = 0, b"", b"", b""
        self._rows = Rows()

    def read(self) -> Run:
        """The run so far, the last one of a log of several.

        Raises EntropyLawError where there is nothing yet.
        """
        if is_folder(self.path):
            return read_runs(self.path)[-1]
        try:
            self._follow()
        except InputError:
            # Of a file in the place of another one there may be too little yet.
            if not self._earlier.count:
                raise
        return self._earlier.with_rows(self._rows).run(self.path, self._format)

    def _follow(self) -> None:
        """Read what is new in the file, and in the one that was moved away from its path."""
        try:
            stream = Path(self.path).open("rb")  # noqa: SIM115  open until the file is moved away
        except OSError:
            self.said.append(f"{quoted_path(self.path)} cannot be read at the moment")
            return
        known, head = self._stream, stream.read(HEAD)
        if known is None or not self._head:
            self.close()
            self._stream = stream
        elif not os.path.sameopenfile(known.fileno(), stream.fileno()) or not self._is_same(stream):
            if not head:
                stream.close()
                return
            # Records of a file that are read again have the steps of earlier ones, which they replace.
            if head[: len(self._head)] == self._head:
                self.said.append(f"{quoted_path(self.path)} was written anew; it is read from its start")
            elif self._format_appends():
                with suppress(EntropyLawError):
                    self._take(known)
                self.said.append(f"{quoted_path(self.path)} was replaced; its earlier records are kept")
                self._earlier = self._earlier.with_rows(self._rows)
            self.close()
            self._stream = stream
            self._start()
        else:
            stream.close()
        assert self._stream is not None
        self._take(self._stream)

    def _is_same(self, stream: IO[bytes]) -> bool:
        """Whether a file still has what was read of it, by its beginning and its end."""
        stream.seek(0)
        if stream.read(len(self._head)) != self._head:
            return False
        stream.seek(self._done - len(self._end))
        return stream.read(len(self._end)) == self._end

    def _take(self, stream: IO[bytes]) -> None:
        """Take the whole records that are new in a file."""
        size = os.fstat(stream.fileno()).st_size
        # A job may print much before its first record, by which its format is known.
        if size < SURE or size > 2 * self._recognised:
            self._recognise(stream, size)
        if self._parts is not None:
            stream.seek(self._done)
            start, data = len(self._before), self._before + stream.read()
            end = self._parts.end(data, start)
            if end > start and not self._add(self._rows, data[:end]):
                self._parts = None
            elif end > start:
                self._done += end - start
                self._end = data[max(end - HEAD, start) : end]
                self._before = self._parts.before(data, self._done)
        if self._parts is None:
            self._done, self._before, self._end, self._rows = 0, b"", b"", Rows()
            stream.seek(0)
            data = stream.read()
            if self._format_appends():
                data = data[: whole_lines(data, 0)]
            self._add(self._rows, data)
        if len(self._head) < HEAD:
            stream.seek(0)
            self._head = stream.read(min(HEAD, self._done or len(data)))

    def _format_appends(self) -> bool:
        """Whether files of the format get longer, and are not written as a whole again and again."""
        return self._format in PARTS or (self._format != "" and ".log" in reader_of(self._format).suffixes)

    def _recognise(self, stream: IO[bytes], size: int) -> None:
        """Find the format of a file, and whether it can be read in parts; start again where it is another."""
        stream.seek(0)
        data = stream.read()
        format, _ = find_reader(Content(self.path, data), self._forced)
        if format.name != self._format:
            self._start()
            self._format = format.name
            # A line of objects over several lines is no object.
            with suppress(ValueError, msgspec.DecodeError):
                first = msgspec.json.decode(data.split(b"\n", 1)[0]) if format.name == "jsonl" else {}
                self._parts = PARTS.get(format.name) if isinstance(first, dict) else None
        self._recognised = size

    def _add(self, rows: Rows, data: bytes) -> bool:
        """Add the rows of a part of a file, if it has any; whether the next part can be read alone."""
        try:
            table = reader_of(self._format).read(Content(self.path, data))
        except InputError:
            return True
        rows.add({name: cells for name, cells in table.columns.items() if name != "run"}, table.settings)
        return self._format != "csv" or not any("header" in note for note in table.notes)
