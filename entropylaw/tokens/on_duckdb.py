"""Runs the queries with DuckDB in this process, out of core."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.escaping import shown
from entropylaw.tokens.files import TableFile, distinct_names, plain_type
from entropylaw.tokens.query import FILE, Table, TokenColumns, quoted, text

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

MEMORY = "256MB"
"""Memory limit of DuckDB, which then spills to disk; Python, the libraries and the result are extra."""
_SETTINGS = (
    f"SET memory_limit = '{MEMORY}'",
    "SET preserve_insertion_order = false",
    # Parquet's minima and maxima ignore nan, and DuckDB would evaluate isnan(x) and x < 13 by them for the
    # whole file: a nan would count as an entropy.
    "SET disabled_optimizers = 'statistics_propagation'",
    "SET enable_progress_bar = true",
    "SET enable_progress_bar_print = false",
    "SET TimeZone = 'UTC'",
    # The names of tables are not those of Python's variables.
    "SET python_enable_replacements = false",
)

Progress = Callable[[float], None]
"""Called with the share of a query that is done, from 0 to 1."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A temporary folder that is removed after an interrupt, too."""
    # An interrupt of TemporaryDirectory between creation and return would leave its folder.
    folder = Path(tempfile.gettempdir()) / f"entropylaw-tokens-{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _without_interrupt() -> Iterator[None]:
    """Hold Ctrl-C back until the end: while DuckDB's module is made it aborts the process, or is lost."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def duckdb_backend(progress: Progress | None = None, memory: str = MEMORY) -> Iterator[DuckDB]:
    """DuckDB in this process with so much memory, and a temporary folder for spilled data.

    Raises UsageError ``duckdb-not-installed``.
    """
    try:
        with _without_interrupt():
            import duckdb
    except ImportError as error:
        raise UsageError(
            "duckdb-not-installed",
            f"tables of tokens and samples need duckdb, which cannot be imported ({error})",
            "pip install 'entropylaw[tokens]'",
        ) from None
    with temporary_folder() as folder, duckdb.connect() as connection:
        connection.execute(";".join((*_SETTINGS, f"SET memory_limit = '{memory}'")))
        connection.execute(f"SET threads = {min(os.cpu_count() or 1, 8)}")
        connection.execute("SET temp_directory = $folder", {"folder": str(folder)})
        yield DuckDB(connection, progress)


class DuckDB:
    """See :func:`duckdb_backend`. It can also write a large result and read it again."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> None:
        self._connection = connection
        self._progress = progress
        self._names: dict[str, str] = {}

    def unrolled(self, table: Table, columns: TokenColumns) -> Table:
        """A row per token from a row per sequence: lists unnested (null as empty), single values repeated."""
        # DuckDB goes through all lists of a row together.
        parts = (f"UNNEST({quoted(name)}) AS {quoted(name)}" for name in columns.lists)
        single = map(quoted, columns.single)
        return self.view("unrolled", f"SELECT {', '.join((*single, *parts))} FROM {table.name}")

    def write(self, query: str, path: Path) -> None:
        """Write a large result to a Parquet file, in its order."""
        execute = self._connection.execute
        # Without this, the order of the rows is lost.
        execute("SET preserve_insertion_order = true")
        # Less while sorting: this memory is not freed before the text is searched.
        execute("SET memory_limit = '160MB'")
        self._watched(lambda: execute(f"COPY ({query}) TO {text(str(path))} (FORMAT parquet)"))
        execute(";".join(_SETTINGS[:2]))

    def scan(self, files: Sequence[TableFile], types: Mapping[str, str]) -> str:
        """Files of one kind in SQL, with the column :data:`FILE`.

        Of JSON lines the columns in ``types`` are read, as these types; those of CSV are text, and files of
        CSV have the same header. No name of a folder becomes a column.
        """
        self._names |= {str(file.path): file.name for file in files}
        # The folder for temporary files may be a partition by its name. As a pattern its name does no harm:
        # nothing else has a path with the random name of the folder in it.
        paths = ", ".join(text(str(file.path)) for file in files)
        source = f"[{paths}], filename = '{FILE}', hive_partitioning = false"
        leader = files[0]
        if leader.kind == "parquet":
            return f"read_parquet({source}, union_by_name = true)"
        if leader.kind == "csv":
            # Nothing is left for DuckDB to guess.
            form = f"delim = {text(leader.mark)}, quote = '\"', escape = '\"'"
            named = ", ".join(f"{text(name)}: 'VARCHAR'" for name in distinct_names(leader))
            return f"read_csv({source}, auto_detect = false, header = true, {form}, columns = {{{named}}})"
        # Each thread that reads JSON has two buffers of the longest line, 32 MiB by default.
        self._connection.execute(f"SET threads = {min(os.cpu_count() or 1, 2)}")
        named = ", ".join(f"{text(name)}: {text(kind)}" for name, kind in types.items())
        return f"read_json({source}, columns = {{{named}}}, format = 'newline_delimited')"

    def by_file(self, values: Mapping[Path, object]) -> str:
        """A value in SQL for each file of a scan."""
        if len(values) < 2:
            return str(next(iter(values.values()), "NULL"))
        cases = " ".join(f"WHEN {text(str(path))} THEN {value}" for path, value in values.items())
        return f"CASE {FILE} {cases} ELSE ERROR('a file without a value') END"

    def keep_order(self) -> None:
        """Number rows in the order of the files, which one thread reads."""
        self._connection.execute("SET preserve_insertion_order = true; SET threads = 1")

    def peek(self, query: str, rows: int) -> pa.Table:
        """The first rows of a query, in the order of the files."""
        self._connection.execute("SET preserve_insertion_order = true")
        first = self.run(f"{query} LIMIT {rows}")
        self._connection.execute(_SETTINGS[1])
        return first

    def run(self, query: str) -> pa.Table:
        """The rows of a small result."""
        return self._watched(lambda: self._connection.sql(query).to_arrow_table())

    def view(self, name: str, query: str) -> Table:
        """A query as a table."""
        with _explained(self._names):
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")
            schema = self._connection.sql(f"FROM {name} LIMIT 0").to_arrow_table().schema
        return Table(name, {field.name: plain_type(field.type) for field in schema})

    def keep(self, name: str, query: str) -> Table:
        """The result of a query as a table, which is computed once."""
        self._watched(lambda: self._connection.execute(f"CREATE TEMP TABLE {name}_once AS {query}"))
        return self.view(name, f"FROM {name}_once")

    def _watched(self, call: Callable[[], T]) -> T:
        """Call in this thread, which receives Ctrl-C, and report the progress from another one."""
        done = threading.Event()
        progress = self._progress

        def report() -> None:
            while progress is not None and not done.wait(0.1):
                progress(max(0.0, self._connection.query_progress()) / 100)

        reporter = threading.Thread(target=report, daemon=True)
        reporter.start()
        try:
            with _explained(self._names):
                return call()
        finally:
            done.set()
            reporter.join()


@contextmanager
def _explained(names: Mapping[str, str]) -> Iterator[None]:
    """Raise DuckDB's errors as errors of this package, with the files' own ``names``."""
    import duckdb  # an extra: see duckdb_backend

    try:
        yield
    except RuntimeError as error:
        # DuckDB raises this for Ctrl-C; its other errors are not RuntimeErrors.
        if "interrupted" in str(error).lower() and not isinstance(error, duckdb.Error):
            raise KeyboardInterrupt from None
        raise
    except duckdb.OutOfMemoryException as error:
        raise EntropyLawError(
            "out-of-memory",
            f"DuckDB ran out of its memory: {shown(without_quotations(str(error), names))}",
            "free space in the folder for temporary files, or use --backend spark",
        ) from None
    except duckdb.Error as error:
        raise InputError(
            "file-corrupt",
            f"the table cannot be read: {shown(without_quotations(str(error), names), 300)}",
            "copy or write the file again",
        ) from None


def without_quotations(message: str, names: Mapping[str, str]) -> str:
    """The first line of an error's message without quotations, such as of a cell.

    Paths of files are replaced by their ``names``.
    """
    line = message.strip().partition("\n")[0]
    return re.sub(r"'[^']*'|\"[^\"]*\"", lambda match: names.get(match[0][1:-1], "…"), line)
