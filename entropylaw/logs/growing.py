"""A log that is being written: read again and again, each time only what is new, up to its last whole record.

A file that shrank, was written anew or was moved away, as logs are rotated, keeps the records that were read
of it, as if all were one file. Lines of JSON, CSV, TensorBoard's and W&B's files are read in parts, after a
comparison of what was read before; other formats, and folders, as a whole.
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import IO
from zlib import crc32

from entropylaw.errors import EntropyLawError, InputError
from entropylaw.escaping import quoted_path
from entropylaw.logs import catalog
from entropylaw.logs.load import read_runs
from entropylaw.logs.readers.trackers import Damage
from entropylaw.logs.readers.trackers.tfevents import frames
from entropylaw.logs.readers.trackers.wandb import leveldb_records
from entropylaw.logs.runs import Run, Table
from entropylaw.logs.source import Source
from entropylaw.logs.sources.assemble import assemble, display_name
from entropylaw.logs.sources.bundles import stacked
from entropylaw.logs.sources.content import Content, encoding_of
from entropylaw.logs.sources.registry import find_reader, reader_of, split_format
from entropylaw.logs.suggest import measured
from entropylaw.paths import is_folder

HEAD = 4096
"""Bytes at its start by which a file that was written anew is known from another one."""

CHUNK = 1 << 20
"""Bytes that are compared at once."""

BLOCK = 1 << 15
"""Bytes of a block of W&B's files."""

SURE = 1 << 16
"""Bytes of a file up to which its format is looked for at every reading; later whenever it has doubled."""

NOTHING = Table(columns={}, rows=0)


def whole_lines(data: bytes, start: int) -> int:
    """The end of the last whole line from a start on; later parts of a file are of UTF-8."""
    line_end = "\n".encode(encoding_of(data))
    last = data.rfind(line_end)
    return max(last + len(line_end), start) if last >= 0 else start


def whole_events(data: bytes, start: int) -> int:
    """The end of the last whole record of TensorBoard's, which has a checksum of four bytes behind it."""
    last = deque(frames(data, start, len(data)), maxlen=1)
    return last[0][1] + 4 if last else start


def whole_records(data: bytes, start: int) -> int:
    """The end of the last whole record of W&B's."""
    damage = Damage()
    deque(leveldb_records(data, damage), maxlen=0)
    return max(damage.whole, start)


ENDS = {
    "jsonl": whole_lines,
    "csv": whole_lines,
    "verl": whole_lines,
    "tfevents": whole_events,
    "wandb": whole_records,
}
"""Format that is read in parts → where its last whole record ends."""


def before_part(format: str, data: bytes, done: int) -> bytes:
    """What precedes a later part of a file so that it can be read alone: a header, a place in a block."""
    if format == "csv":
        return data[: data.find(b"\n") + 1]
    if format != "wandb":
        return b""
    size = done % BLOCK
    # A block of no record, and a frame in the middle of none: both are left out as damaged.
    middle = b"\3" + bytes(max(size - 7, 0))
    frame = struct.pack("<IH", crc32(middle), len(middle) - 1) + middle
    return data[:7].ljust(BLOCK, b"\0") + (frame if size else b"")


def useful(column: str) -> bool:
    """Whether an analysis uses a column."""
    return catalog.is_useful(column) or bool(measured([column]))


def joined(earlier: Table, later: Table) -> Table:
    """The rows of two parts of a log, one after the other."""
    if not earlier.columns:
        return later
    if not later.columns:
        return earlier
    return replace(stacked((earlier, later)), notes=(), settings={**earlier.settings, **later.settings})


def run_in(table: Table, path: str, format: str) -> Run:
    """The run in a table, the last one of several; raises InputError where there is none."""
    if not table.columns:
        raise InputError(
            "no-records", f"{quoted_path(path)} holds no whole record", "wait for its first record"
        )
    source = Source(path=path, format=format, sha256="", rows=table.rows)
    runs, lost = assemble(table, source, display_name(path))
    if not runs:
        raise lost[0][1]
    return runs[-1]


class GrowingLog:
    """A log at a path, which may end in ``:FORMAT``, as for :func:`entropylaw.read_runs`.

    ``say`` is called with a sentence for whatever happens to the file.
    """

    def __init__(self, path: str | os.PathLike[str], say: Callable[[str], object]) -> None:
        # It is kept open so that its end can be read after it was moved away.
        self._stream: IO[bytes] | None = None
        self.path, self._forced = split_format(os.fspath(path))
        self._say = say
        self._earlier = NOTHING
        self._start()

    def __del__(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def _start(self) -> None:
        """Begin to read a file from its start."""
        self._format, self._recognised, self._in_parts = "", 0, False
        self._head = b""
        self._done, self._before = 0, b""
        self._content = sha256()
        self._table = NOTHING

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
            if not self._earlier.columns:
                raise
        return run_in(joined(self._earlier, self._table), self.path, self._format)

    def _follow(self) -> None:
        """Read what is new in the file, and in the one that was moved away from its path."""
        try:
            stream = Path(self.path).open("rb")  # noqa: SIM115  open until the file is moved away
        except OSError:
            self._say(f"{quoted_path(self.path)} cannot be read at the moment")
            return
        previous, head = self._stream, stream.read(HEAD)
        if previous is not None and self._head:
            moved = not os.path.sameopenfile(previous.fileno(), stream.fileno())
            if moved or not self._goes_on(stream):
                if not head:
                    stream.close()
                    return
                self._leave(previous if moved else None, head)
        if previous is not None:
            previous.close()
        self._stream = stream
        self._take(stream)

    def _goes_on(self, stream: IO[bytes]) -> bool:
        """Whether a file still begins with what was read of it; a value in the middle may be another.

        Of a file that is read as a whole only the start is compared.
        """
        stream.seek(0)
        if not self._in_parts:
            return stream.read(len(self._head)) == self._head
        content = sha256()
        left = self._done
        while left and (chunk := stream.read(min(left, CHUNK))):
            content.update(chunk)
            left -= len(chunk)
        return not left and content.digest() == self._content.digest()

    def _leave(self, moved: IO[bytes] | None, head: bytes) -> None:
        """Keep the records of a file that another one has replaced, with the rest of one that was moved."""
        # Records of a file that are read again have the steps of earlier ones, which they replace.
        if head.startswith(self._head):
            self._say(f"{quoted_path(self.path)} was written anew; it is read from its start")
        elif self._gets_longer():
            if moved is not None:
                with suppress(EntropyLawError):
                    self._take(moved)
            self._say(f"{quoted_path(self.path)} was replaced; its earlier records are kept")
            self._earlier = joined(self._earlier, self._table)
        self._start()

    def _take(self, stream: IO[bytes]) -> None:
        """Take the whole records that are new in a file."""
        size = os.fstat(stream.fileno()).st_size
        # A job may print much before its first record, by which its format is known.
        if size < SURE or size > 2 * self._recognised:
            self._recognise(stream, size)
        if not self._in_parts:
            self._done, self._before, self._table = 0, b"", NOTHING
        stream.seek(self._done)
        start, data = len(self._before), self._before + stream.read()
        end = ENDS.get(self._format, whole_lines)(data, start) if self._gets_longer() else len(data)
        if end == start:
            return None
        if not self._add(data[:end]) and self._done:
            self._in_parts = False
            return self._take(stream)
        self._done += end - start
        if self._in_parts:
            self._content.update(data[start:end])
            self._before = before_part(self._format, data, self._done)
        if len(self._head) < HEAD:
            stream.seek(0)
            self._head = stream.read(min(HEAD, self._done))
        return None

    def _gets_longer(self) -> bool:
        """Whether files of the format get longer, and are not written as a whole again and again."""
        return self._format in ENDS or (self._format != "" and ".log" in reader_of(self._format).suffixes)

    def _recognise(self, stream: IO[bytes], size: int) -> None:
        """Find the format of a file, and whether it can be read in parts; start again where it is another."""
        stream.seek(0)
        data = stream.read()
        content = Content(self.path, data)
        format, _ = find_reader(content, self._forced)
        if format.name != self._format:
            self._start()
            self._format = format.name
            first = data.partition(b"\n")[0].strip()
            # An object or an array over several lines is read as a whole.
            is_object = first.startswith(b"{") and first.endswith(b"}")
            # Only the first part of a wider text has its byte order mark.
            in_parts = format.name in ENDS and content.encoding == "utf-8"
            self._in_parts = in_parts and (format.name != "jsonl" or is_object)
        self._recognised = size

    def _add(self, data: bytes) -> bool:
        """Add the rows of a part of a file, if it has any; whether the next part can be read alone."""
        try:
            table = reader_of(self._format).read(Content(self.path, data))
        except InputError:
            return True
        columns = {name: cells for name, cells in table.columns.items() if useful(name) and name != "run"}
        self._table = joined(self._table, Table(columns=columns, rows=table.rows, settings=table.settings))
        # A later header names other columns.
        return self._format != "csv" or not any("header" in note for note in table.notes)
