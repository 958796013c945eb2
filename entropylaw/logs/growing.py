"""A log that is being written: read again and again, each time only what is new, up to its last whole record.

A file that shrank, was written anew or was moved away, as logs are rotated, keeps the records that were read
of it, as if all were one file. Lines of JSON, verl's console and TensorBoard's files are read in parts, after
a comparison of what was read before; other formats, and folders, as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import IO

from entropylaw.errors import EntropyLawError, InputError
from entropylaw.escaping import quoted_path
from entropylaw.logs.load import is_useful, read_runs
from entropylaw.logs.readers.trackers.tfevents import frames
from entropylaw.logs.runs import Run, Table
from entropylaw.logs.source import Source
from entropylaw.logs.sources.assemble import assemble, display_name
from entropylaw.logs.sources.bundles import stacked
from entropylaw.logs.sources.content import Content, encoding_of
from entropylaw.logs.sources.registry import find_reader, reader_of, split_format
from entropylaw.paths import is_folder

# Bytes at its start by which a file that was written anew is known from another one.
_HEAD = 4096

# Bytes that are compared at once.
_CHUNK = 1 << 20

# Bytes of a file up to which its format is looked for at every reading; later whenever it has doubled.
_SURE = 1 << 16

_NOTHING = Table(columns={}, rows=0)


def _whole_lines(data: bytes) -> int:
    """The end of the last whole line; later parts of a file are of UTF-8."""
    line_end = "\n".encode(encoding_of(data))
    last = data.rfind(line_end)
    return 0 if last < 0 else last + len(line_end)


def _whole_events(data: bytes) -> int:
    """The end of the last whole record of TensorBoard's, which has a checksum of four bytes behind it."""
    return max((last + 4 for _, last in frames(data, 0, len(data))), default=0)


# Format that is read in parts → where its last whole record ends.
_ENDS = {"jsonl": _whole_lines, "verl": _whole_lines, "tfevents": _whole_events}
# Further formats whose files get longer; the readers of the others' consoles are known by their suffixes.
_GET_LONGER = frozenset((*_ENDS, "csv", "wandb"))


def _joined(earlier: Table, later: Table) -> Table:
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
    runs, lost = assemble(
        table, Source(path=path, format=format, sha256="", rows=table.rows), display_name(path)
    )
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
        self._earlier = _NOTHING
        self._start()

    def __del__(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def _start(self) -> None:
        """Begin to read a file from its start."""
        self._format = ""
        self._recognised = 0
        self._in_parts = False
        self._head = b""
        self._done = 0
        self._content = sha256()
        self._table = _NOTHING

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
        return run_in(_joined(self._earlier, self._table), self.path, self._format)

    def _follow(self) -> None:
        """Read what is new in the file, and in the one that was moved away from its path."""
        try:
            stream = Path(self.path).open("rb")  # noqa: SIM115  open until the file is moved away
        except OSError:
            self._say(f"{quoted_path(self.path)} cannot be read at the moment")
            return
        previous = self._stream
        head = stream.read(_HEAD)
        if previous is not None and self._head:
            moved = not os.path.sameopenfile(previous.fileno(), stream.fileno())
            if moved or not self._goes_on(stream):
                if not head:
                    stream.close()
                    return
                # Records of a file that are read again have the steps of earlier ones, which they replace.
                if head.startswith(self._head):
                    self._say(f"{quoted_path(self.path)} was written anew; it is read from its start")
                elif self._gets_longer():
                    if moved:
                        # The rest of the file that was moved away.
                        with suppress(EntropyLawError):
                            self._take(previous)
                    self._say(f"{quoted_path(self.path)} was replaced; its earlier records are kept")
                    self._earlier = _joined(self._earlier, self._table)
                self._start()
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
        missing = self._done
        while missing and (chunk := stream.read(min(missing, _CHUNK))):
            content.update(chunk)
            missing -= len(chunk)
        return not missing and content.digest() == self._content.digest()

    def _take(self, stream: IO[bytes]) -> None:
        """Take the whole records that are new in a file."""
        size = os.fstat(stream.fileno()).st_size
        # A job may print much before its first record, by which its format is known.
        if size < _SURE or size > 2 * self._recognised:
            self._recognise(stream, size)
        if not self._in_parts:
            self._done = 0
            self._table = _NOTHING
        stream.seek(self._done)
        data = stream.read()
        if self._gets_longer() and self._format != "wandb":
            data = data[: _ENDS.get(self._format, _whole_lines)(data)]
        if not data:
            return
        self._add(data)
        self._done += len(data)
        if self._in_parts:
            self._content.update(data)
        if len(self._head) < _HEAD:
            stream.seek(0)
            self._head = stream.read(min(_HEAD, self._done))

    def _gets_longer(self) -> bool:
        """Whether files of the format get longer, and are not written as a whole again and again."""
        return self._format in _GET_LONGER or (
            self._format != "" and ".log" in reader_of(self._format).suffixes
        )

    def _recognise(self, stream: IO[bytes], size: int) -> None:
        """Find the format of a file, and whether it can be read in parts; start again where it is another."""
        stream.seek(0)
        data = stream.read()
        content = Content(self.path, data)
        format, _ = find_reader(content, self._forced)
        if format.name != self._format:
            self._start()
            self._format = format.name
            line = data.partition(b"\n")[0].strip()
            # An object or an array over several lines is read as a whole.
            is_object = line.startswith(b"{") and line.endswith(b"}")
            # Only the first part of a wider text has its byte order mark.
            in_parts = format.name in _ENDS and content.encoding == "utf-8"
            self._in_parts = in_parts and (format.name != "jsonl" or is_object)
        self._recognised = size

    def _add(self, data: bytes) -> None:
        """Add the rows of a part of a file, if it has any."""
        try:
            table = reader_of(self._format).read(Content(self.path, data))
        except InputError:
            return
        columns = {name: cells for name, cells in table.columns.items() if is_useful(name) and name != "run"}
        self._table = _joined(self._table, Table(columns=columns, rows=table.rows, settings=table.settings))
