"""A log that is being written: read again and again, each time as a whole, up to its last whole record.

A file that shrank, was written anew or was moved away, as logs are rotated, keeps the records that were read
of it, as if all were one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from entropylaw.errors import EntropyLawError, InputError
from entropylaw.escaping import quoted_path
from entropylaw.logs.load import is_useful, read_runs
from entropylaw.logs.runs import Run, Table
from entropylaw.logs.source import Source
from entropylaw.logs.sources.assemble import assemble, display_name
from entropylaw.logs.sources.bundles import stacked
from entropylaw.logs.sources.content import Content, encoding_of
from entropylaw.logs.sources.registry import find_reader, reader_of, split_format
from entropylaw.paths import is_folder

# Bytes at its start by which a file that was written anew is known from another one.
_HEAD = 4096

_NOTHING = Table(columns={}, rows=0)
# Formats whose records are binary, and those whose files get longer, beside the consoles.
_BINARY = frozenset(("tfevents", "wandb"))
_GET_LONGER = _BINARY | {"jsonl", "csv", "verl"}


def _whole_lines(data: bytes) -> bytes:
    """The data up to the end of the last whole line."""
    line_end = "\n".encode(encoding_of(data))
    last = data.rfind(line_end)
    return b"" if last < 0 else data[: last + len(line_end)]


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
        self._format = ""
        self._head = b""
        #: Bytes of the whole records of the file.
        self._size = 0
        self._table = _NOTHING
        self._earlier = _NOTHING

    def __del__(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

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
        """Read the file, and before it the rest of one that was moved away from its path."""
        try:
            stream = Path(self.path).open("rb")  # noqa: SIM115  open until the file is moved away
        except OSError:
            self._say(f"{quoted_path(self.path)} cannot be read at the moment")
            return
        previous = self._stream
        data = stream.read()
        if previous is not None and self._head:
            if not data:
                stream.close()
                return
            moved = not os.path.sameopenfile(previous.fileno(), stream.fileno())
            begins_alike = data.startswith(self._head)
            # Records of a file that are read again have the steps of earlier ones, which they replace.
            if begins_alike and (moved or len(data) < self._size):
                self._say(f"{quoted_path(self.path)} was written anew; it is read from its start")
            elif not begins_alike and self._gets_longer():
                if moved:
                    # The rest of the file that was moved away.
                    previous.seek(0)
                    with suppress(EntropyLawError):
                        self._take(previous.read())
                self._say(f"{quoted_path(self.path)} was replaced; its earlier records are kept")
                self._earlier = _joined(self._earlier, self._table)
                self._table = _NOTHING
        if previous is not None:
            previous.close()
        self._stream = stream
        self._take(data)

    def _take(self, data: bytes) -> None:
        """Take the whole records of a file; raises InputError where it has no format yet."""
        format, _ = find_reader(Content(self.path, data), self._forced)
        self._format = format.name
        if self._gets_longer() and self._format not in _BINARY:
            data = _whole_lines(data)
        self._size = len(data)
        self._head = data[:_HEAD]
        self._table = _NOTHING
        with suppress(InputError):
            table = format.read(Content(self.path, data))
            columns = {
                name: cells for name, cells in table.columns.items() if is_useful(name) and name != "run"
            }
            self._table = Table(columns=columns, rows=table.rows, settings=table.settings)

    def _gets_longer(self) -> bool:
        """Whether files of the format get longer, and are not written as a whole again and again."""
        return self._format in _GET_LONGER or (
            self._format != "" and ".log" in reader_of(self._format).suffixes
        )
