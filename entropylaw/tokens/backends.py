"""The engines that run the queries: DuckDB in this process, or a Spark cluster."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.escaping import shown
from entropylaw.paths import is_file
from entropylaw.tokens.files import TokenFile, element_type, plain_type
from entropylaw.tokens.query import ROW, WIDE, Table, TokenColumns, quoted

if TYPE_CHECKING:
    import duckdb

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
def duckdb_backend(progress: Progress | None = None) -> Iterator[DuckDB]:
    """DuckDB in this process, out of core, with a temporary folder for spilled data."""
    import duckdb

    with temporary_folder() as folder, duckdb.connect() as connection:
        connection.execute(";".join(_SETTINGS))
        connection.execute(f"SET threads = {min(os.cpu_count() or 1, 8)}")
        connection.execute("SET temp_directory = $folder", {"folder": str(folder)})
        yield DuckDB(connection, progress)


class DuckDB:
    """See :func:`duckdb_backend`. It can also write a large result and read it again."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> None:
        self._connection, self._progress = connection, progress

    def table(self, files: Sequence[TokenFile], columns: TokenColumns) -> Table:
        """The files as one table, with a row number if that identifies responses."""
        paths = f"[{', '.join(_text(str(file.path)) for file in files)}]"
        if files[0].kind == "jsonl":
            # Each thread that reads JSON has two buffers of the longest line, 32 MiB by default.
            self._connection.execute(f"SET threads = {min(os.cpu_count() or 1, 2)}")
            types = json_types(files, columns, "{}[]")
            named = ", ".join(f"{_text(name)}: {_text(kind)}" for name, kind in types.items())
            source = f"read_json({paths}, columns = {{{named}}}, format = 'newline_delimited')"
        else:
            source = f"read_parquet({paths}, hive_partitioning = {bool(files[0].hive)})"
        # The numbers only have to differ: no result depends on their values.
        row = f", uuid() AS {ROW}" if ROW in columns.response else ""
        return self._view("tokens", f"SELECT *{row} FROM {source}")

    def unrolled(self, table: Table, columns: TokenColumns) -> Table:
        """A row per token from a row per sequence: lists unnested (null as empty), single values repeated."""
        # DuckDB goes through all lists of a row together.
        parts = (f"UNNEST({quoted(name)}) AS {quoted(name)}" for name in columns.lists)
        single = map(quoted, columns.single)
        return self._view("unrolled", f"SELECT {', '.join((*single, *parts))} FROM {table.name}")

    def parquet(self, path: Path) -> Table:
        """One Parquet file."""
        return self._view("stored", f"SELECT * FROM read_parquet({_text(str(path))})")

    def write(self, query: str, path: Path) -> None:
        """Write a large result to a Parquet file, in its order."""
        execute = self._connection.execute
        # Without this, the order of the rows is lost.
        execute("SET preserve_insertion_order = true")
        # Less while sorting: this memory is not freed before the text is searched.
        execute("SET memory_limit = '160MB'")
        self._watched(lambda: execute(f"COPY ({query}) TO {_text(str(path))} (FORMAT parquet)"))
        execute(";".join(_SETTINGS[:2]))

    def run(self, query: str) -> pa.Table:
        """The rows of a small result."""
        return self._watched(lambda: self._connection.sql(query).to_arrow_table())

    def _view(self, name: str, query: str) -> Table:
        """A query as a table."""
        with _explained():
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")
            schema = self._connection.sql(f"FROM {name} LIMIT 0").to_arrow_table().schema
        return Table(name, {field.name: plain_type(field.type) for field in schema})

    def _watched(self, call: Callable[[], Any]) -> Any:
        """Call in this thread, which receives Ctrl-C, and report the progress from another one."""
        done, progress = threading.Event(), self._progress

        def report() -> None:
            while progress is not None and not done.wait(0.1):
                progress(max(0.0, self._connection.query_progress()) / 100)

        reporter = threading.Thread(target=report, daemon=True)
        reporter.start()
        try:
            with _explained():
                return call()
        finally:
            done.set()
            reporter.join()


def _text(value: str) -> str:
    """Text in SQL."""
    return "'" + value.replace("'", "''") + "'"


@contextmanager
def _explained() -> Iterator[None]:
    """Raise DuckDB's errors as errors of this package."""
    import duckdb

    try:
        yield
    except RuntimeError as error:
        # DuckDB raises this for Ctrl-C; its other errors are not RuntimeErrors.
        if "interrupted" in str(error).lower() and not isinstance(error, duckdb.Error):
            raise KeyboardInterrupt from None
        raise
    except duckdb.OutOfMemoryException as error:
        message = f"DuckDB ran out of its {MEMORY}: {shown(_cause(error))}"
        hint = "free space in the folder for temporary files, or use --backend spark"
        raise EntropyLawError("out-of-memory", message, hint) from None
    except duckdb.Error as error:
        message = f"the table cannot be read: {shown(_cause(error), 300)}"
        hint = "copy or write the file again"
        raise InputError("file-corrupt", message, hint) from None


def _cause(error: BaseException) -> str:
    """An error's message without quotations, such as of a cell; names of files stay."""
    quoted = r"'[^']*'|\"[^\"]*\""
    return re.sub(quoted, lambda match: match[0] if is_file(match[0][1:-1]) else "…", _first_line(error))


@contextmanager
def spark_backend(master: str | None, *, console: bool = False) -> Iterator[Spark]:
    """Spark on ``master`` or as it is configured; UsageErrors ``spark-not-installed``, ``spark-failed``."""
    known = r"(local(\[.+\]|-cluster\[.+\])?|yarn|(spark|k8s)://.+)$"
    if master is not None and not re.match(known, master):
        message = f"--master {shown(master)} is not a Spark master"
        raise UsageError("spark-failed", message, "spark://HOST:7077, yarn, k8s://HOST, local or local[4]")
    try:
        # ibis and pyspark warn about the newest pandas, which nothing here uses.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ibis
            from pyspark.sql import SparkSession
    except ImportError as error:
        message = f"--backend spark needs pyspark, which cannot be imported ({error})"
        hint = "pip install 'entropylaw[spark]', and Java 17 or later"
        raise UsageError("spark-not-installed", message, hint) from None

    builder = (
        SparkSession.builder.appName("entropylaw tokens")
        # Errors are raised as exceptions, and reported once.
        .config("spark.log.level", "WARN" if os.environ.get("ENTROPYLAW_DEBUG") else "OFF")
        # An overflow of a sum is an error, and does not wrap.
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "true" if console else "false")
    )
    if master is not None:
        builder = builder.master(master)
    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")
        # py4j logs the traceback of every error to the root logger, which prints it by default.
        silent = logging.NullHandler()
        logging.getLogger().addHandler(silent)
        stack.callback(logging.getLogger().removeHandler, silent)
        try:
            session = builder.getOrCreate()
        except Exception as error:
            where = f"Spark could not be started at {shown(master or 'its configured master')}"
            hint = "check --master, and that JAVA_HOME is a Java 17 or later"
            raise UsageError("spark-failed", f"{where}: {shown(_first_line(error), 200)}", hint) from None
        stack.callback(session.stop)
        if threading.current_thread() is threading.main_thread():
            # Spark's own handler calls Java during a call of Java, and fails.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield Spark(ibis.pyspark.connect(session), session)


def _first_line(error: BaseException) -> str:
    """The first line of an error's message, in Spark that of the innermost Java exception."""
    java, lines = getattr(error, "java_exception", None) or getattr(error, "_origin", None), ""
    with suppress(Exception):  # Java may have stopped
        while java is not None and java.getCause() is not None:
            java = java.getCause()
        lines = "" if java is None else str(java.toString())
    kind, _, message = (lines.strip().splitlines() or [""])[0].partition(": ")
    own = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return message or kind.rpartition(".")[2] or own


class Spark:
    """See :func:`spark_backend`."""

    def __init__(self, connection: Any, session: Any) -> None:
        self._connection, self._session = connection, session

    def table(self, files: Sequence[TokenFile], columns: TokenColumns) -> Table:
        """The files as one table, with a row number if that identifies responses."""
        # Hadoop does not decode a URI, and would take these characters for a pattern.
        escaped = (re.sub(r"([\[\]{}*?\\])", r"\\\1", file.path.absolute().as_posix()) for file in files)
        paths = [f"file:{path}" for path in escaped]
        reader = self._session.read
        with self._explained():
            if files[0].kind == "jsonl":
                types = json_types(files, columns, "array<{}>")
                schema = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
                frame = reader.schema(schema).option("mode", "FAILFAST").json(paths)
            else:
                if files[0].hive:
                    # Only folders below the base name columns.
                    base = files[0].path.absolute().parents[files[0].name.count("/")]
                    reader = reader.option("basePath", f"file:{base.as_posix()}")
                frame = reader.parquet(*paths)
            if ROW in columns.response:
                from pyspark.sql.functions import monotonically_increasing_id

                frame = frame.withColumn(ROW, monotonically_increasing_id())
            return self._view("entropylaw_tokens", frame)

    def unrolled(self, table: Table, columns: TokenColumns) -> Table:
        """As :meth:`DuckDB.unrolled`; Spark goes through all lists of a row together as structs."""
        names = {name: "`" + name.replace("`", "``") + "`" for name in columns.all}
        # A null list among others would make the row's structs null.
        lists = ", ".join(f"COALESCE({names[name]}, ARRAY())" for name in columns.lists)
        fields = ", ".join(names[name] for name in columns.lists)
        unrolled = f"INLINE(ARRAYS_ZIP({lists})) AS ({fields})"
        single = (names[name] for name in columns.single)
        with self._explained():
            frame = self._session.sql(f"SELECT {', '.join((*single, unrolled))} FROM {table.name}")
            return self._view("entropylaw_unrolled", frame)

    def _view(self, name: str, frame: Any) -> Table:
        """A frame as a table."""
        frame.createOrReplaceTempView(name)
        schema = self._connection.table(name).schema().to_pyarrow()
        return Table(name, {field.name: plain_type(field.type) for field in schema})

    def run(self, query: str) -> pa.Table:
        """Run on the cluster; Ctrl-C cancels the jobs."""
        try:
            with self._explained():
                query = query.replace(f" AS {WIDE})", " AS DECIMAL(38, 0))")
                return self._connection.sql(query, dialect="duckdb").to_pyarrow()
        except KeyboardInterrupt:
            # This may fail on an interrupted connection; stopping Spark then ends the jobs.
            with suppress(Exception):
                self._session.sparkContext.cancelAllJobs()
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise Spark's errors as errors of this package."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (Py4JError, PySparkException) as error:
            message = f"Spark could not finish the query: {shown(_cause(error), 300)}"
            hint = "every worker must see the files at the same path; "
            hint += "ENTROPYLAW_DEBUG=1 shows Spark's own log"
            raise InputError("spark-failed", message, hint) from None


def json_types(files: Sequence[TokenFile], columns: TokenColumns, array: str) -> dict[str, str]:
    """SQL types of the used columns of JSON lines, which each engine would otherwise infer in its own way.

    Measured numbers are ``double``, whatever the first records hold; flags are text, because 0.5 would be
    rounded to a flag. ``array`` is the engine's pattern for the type of a list.
    """
    sql = {pa.bool_(): "boolean", pa.int64(): "bigint", pa.float64(): "double"}
    flags, numbers = (columns.planning, columns.mask, columns.correct), {pa.int64(), pa.float64()}
    measured = (columns.entropy, columns.logprob, columns.position)
    types = {}
    for name in columns.stored:
        kinds = {element_type(file.types[name]) for file in files} - {pa.null()}
        kind = sql.get(next(iter(kinds), pa.string()), "string")
        if name in measured or kinds == numbers or (name == columns.step and kinds <= numbers):
            kind = "double"
        types[name] = (array if name in columns.lists else "{}").format("string" if name in flags else kind)
    return types


Backend = DuckDB | Spark
"""An engine that opens a token table and runs expressions on it."""
