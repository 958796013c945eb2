"""What readers of SQLite databases share: opening a stranger's without a trace, and its real tables."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from entropylaw.ingest.content import Content


@contextmanager
def opened(content: Content, *, rolls_back: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a database, and leave nothing behind, neither in the file nor beside it.

    SQLite itself would take locks. Where the last rows still are in a write-ahead log, they are read: by
    SQLite's rules while a run writes, and otherwise from copies, for SQLite has to write to play them back.
    ``rolls_back`` says whether a journal is played back as well.
    """
    path = content.local_file()
    with ExitStack() as stack:
        address = ":memory:"
        if path:
            log, journal = beside(path, "-wal"), rolls_back and beside(path, "-journal")
            address = Path(path).absolute().as_uri() + ("?mode=ro" if log else "?mode=ro&immutable=1")
            if journal or (log and not beside(path, "-shm")):
                copy = Path(stack.enter_context(tempfile.TemporaryDirectory()), "copy.db")
                for end, there in (("", True), ("-wal", log), ("-journal", journal)):
                    if there:
                        shutil.copyfile(path + end, f"{copy}{end}")
                address = copy.as_uri()
        connection = stack.enter_context(closing(sqlite3.connect(address, uri=True)))
        if path is None:
            data = bytearray(content.data)
            # The format's versions: 2 where a write-ahead log stands beside it, which memory has not.
            data[18:20] = b"\1\1"
            connection.deserialize(bytes(data))
        # A stranger's file is to do nothing but hold data.
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        yield connection


def beside(path: str, end: str) -> bool:
    """Whether the file with that ending holds something."""
    with suppress(OSError):
        return Path(path + end).stat().st_size > 0
    return False


def plain_columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Name the columns of an ordinary table, which hold data and compute nothing; none of a view."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND sql LIKE 'CREATE TABLE%'"
    if connection.execute(query, (table,)).fetchone() is None:
        return frozenset()
    described = connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,))
    return frozenset(str(name) for name, hidden in described if not hidden)
