"""Where the query runs: DuckDB in this process, or a Spark cluster. Both take the same Ibis expression."""

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

from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.ingest.wording import shown
from entropylaw.paths import is_file
from entropylaw.tokens.files import TokenFile
from entropylaw.tokens.query import ROW, TokenColumns

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

MEMORY = "256MB"
"""What DuckDB may hold; it spills to disk beyond. Python, the libraries and the result come on top."""
_SETTINGS = (
    f"SET memory_limit = '{MEMORY}'",
    "SET preserve_insertion_order = false",
    # Parquet's least and greatest leave nan out, and DuckDB would decide isnan(x) and x < 13 by them for the
    # whole file: a nan would count as an entropy.
    "SET disabled_optimizers = 'statistics_propagation'",
    "SET enable_progress_bar = true",
    "SET enable_progress_bar_print = false",
)

Progress = Callable[[float], None]
"""Called with how much of a query is done, from 0 to 1."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder in the system's place for such, which no interrupt leaves behind."""
    # TemporaryDirectory makes the folder before it knows how to remove it.
    folder = Path(tempfile.gettempdir()) / f"entropylaw-tokens-{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def duckdb_backend(progress: Progress | None = None) -> Iterator[DuckDB]:
    """DuckDB in this process, out of core, its spilled data in the system's folder for such."""
    import ibis

    with temporary_folder() as folder:
        connection = ibis.duckdb.connect()
        try:
            connection.con.execute(";".join(_SETTINGS))
            connection.con.execute(f"SET threads = {min(os.cpu_count() or 1, 8)}")
            connection.con.execute("SET temp_directory = $folder", {"folder": str(folder)})
            with warnings.catch_warnings():
                # ibis 12 calls what DuckDB 2 has renamed.
                warnings.filterwarnings("ignore", message=r"fetch_\w+\(\) is deprecated")
                yield DuckDB(connection, progress)
        finally:
            connection.disconnect()


class DuckDB:
    """See :func:`duckdb_backend`. It can also write a large result and read it again."""

    def __init__(self, connection: Any, progress: Progress | None) -> None:
        self._connection, self._progress = connection, progress

    def table(self, files: Sequence[TokenFile], columns: TokenColumns) -> ir.Table:
        """The files as one table, with a number of every row where that tells responses apart."""
        import ibis

        paths = [str(file.path) for file in files]
        with _explained():
            if files[0].kind == "jsonl":
                # Each thread that reads JSON keeps two buffers of the longest line, 32 MiB by default.
                self._connection.con.execute(f"SET threads = {min(os.cpu_count() or 1, 2)}")
                types = json_types(files, columns, "{}[]", other="json")
                rows = self._connection.read_json(paths, columns=types, format="newline_delimited")
            else:
                rows = self._connection.read_parquet(paths, hive_partitioning=bool(files[0].hive))
            # Any different numbers do: no result depends on which they are.
            return rows.mutate(**{ROW: ibis.uuid()}) if ROW in columns.response else rows

    def parquet(self, path: Path) -> ir.Table:
        """One Parquet file."""
        return self._connection.read_parquet(str(path))

    def write(self, expression: ir.Table, path: Path) -> None:
        """Write a large result to a Parquet file, in its order."""
        execute = self._connection.con.execute
        # What has an order keeps it only so.
        execute("SET preserve_insertion_order = true")
        # Less while a table is put in order: what sorting took stays taken while the text is searched.
        execute("SET memory_limit = '160MB'")
        self._watched(lambda: self._connection.to_parquet(expression, path))
        execute(";".join(_SETTINGS[:2]))

    def run(self, expression: ir.Table) -> pa.Table:
        """The rows of a small result."""
        return self._watched(lambda: self._connection.to_pyarrow(expression))

    def _watched(self, call: Callable[[], Any]) -> Any:
        """Call here, where DuckDB hears Ctrl-C, and tell the progress from another thread."""
        done, progress = threading.Event(), self._progress

        def tell() -> None:
            while progress is not None and not done.wait(0.1):
                progress(max(0.0, self._connection.con.query_progress()) / 100)

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            with _explained():
                return call()
        finally:
            done.set()
            teller.join()


@contextmanager
def _explained() -> Iterator[None]:
    """DuckDB's errors as ours."""
    import duckdb

    try:
        yield
    except RuntimeError as error:
        # So DuckDB passes on Ctrl-C; its own errors are no RuntimeErrors.
        if "interrupted" in str(error).lower() and not isinstance(error, duckdb.Error):
            raise KeyboardInterrupt from None
        raise
    except duckdb.OutOfMemoryException as error:
        message = f"DuckDB ran out of its {MEMORY}: {shown(_cause(error))}"
        hint = "free space in the folder for temporary files, or use --backend spark"
        raise EntropyLawError("out-of-memory", message, hint) from None
    except duckdb.Error as error:
        message = f"the table cannot be read: {shown(_cause(error), 300)}"
        hint = "copy or write the file again that the message names"
        raise InputError("file-corrupt", message, hint) from None


def _cause(error: BaseException) -> str:
    """What went wrong without what the message quotes, such as a cell; the names of files stay."""
    quoted = r"'[^']*'|\"[^\"]*\""
    return re.sub(quoted, lambda found: found[0] if is_file(found[0][1:-1]) else "…", _first_line(error))


@contextmanager
def spark_backend(master: str | None, *, console: bool = False) -> Iterator[Spark]:
    """Spark on ``master`` or as it is configured; UsageErrors ``spark-not-installed``, ``spark-failed``."""
    known = r"(local(\[.+\]|-cluster\[.+\])?|yarn|(spark|k8s)://.+)$"
    if master is not None and not re.match(known, master):
        message = f"--master {shown(master)} is no Spark master"
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
        # What goes wrong comes back as an exception, and is reported once.
        .config("spark.log.level", "WARN" if os.environ.get("ENTROPYLAW_DEBUG") else "OFF")
        # Sums that do not fit are an error, never another number.
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "true" if console else "false")
    )
    if master is not None:
        builder = builder.master(master)
    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")
        # What is raised anyway needs no traceback: py4j logs it to the root logger, which prints by default.
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
            # Spark's own handler asks Java while Java is being called, and fails.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield Spark(ibis.pyspark.connect(session), session)


def _first_line(error: BaseException) -> str:
    """The first line of what went wrong, in Java at the bottom where Python only says that something did."""
    java, lines = getattr(error, "java_exception", None) or getattr(error, "_origin", None), ""
    with suppress(Exception):  # Java may be gone by now
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

    def table(self, files: Sequence[TokenFile], columns: TokenColumns) -> ir.Table:
        """The files as one table, with a number of every row where that tells responses apart."""
        # Hadoop reads no URI's escapes, and would take these characters for a pattern.
        escaped = (re.sub(r"([\[\]{}*?\\])", r"\\\1", file.path.absolute().as_posix()) for file in files)
        paths = [f"file:{path}" for path in escaped]
        reader = self._session.read
        with self._explained():
            if files[0].kind == "jsonl":
                kinds = json_types(files, columns, "array<{}>", other="string").items()
                schema = ", ".join(f"`{name}` {kind}" for name, kind in kinds)
                frame = reader.schema(schema).option("mode", "FAILFAST").json(paths)
            else:
                if files[0].hive:
                    # The folders name columns only below the base: the folder that the shortest name is in.
                    base = files[0].path.absolute().parents[files[0].name.count("/")]
                    reader = reader.option("basePath", f"file:{base.as_posix()}")
                frame = reader.parquet(*paths)
            if ROW in columns.response:
                from pyspark.sql.functions import monotonically_increasing_id

                frame = frame.withColumn(ROW, monotonically_increasing_id())
            frame.createOrReplaceTempView("entropylaw_tokens")
            return self._connection.table("entropylaw_tokens")

    def run(self, expression: ir.Table) -> pa.Table:
        """Run on the cluster; Ctrl-C cancels the jobs."""
        try:
            with self._explained():
                return self._connection.to_pyarrow(expression)
        except KeyboardInterrupt:
            # An interrupted connection may not take it; stopping ends the jobs, too.
            with suppress(Exception):
                self._session.sparkContext.cancelAllJobs()
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Spark's errors as ours."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (Py4JError, PySparkException) as error:
            message = f"Spark could not finish the query: {shown(_cause(error), 300)}"
            hint = "every worker must see the files at the same path; "
            hint += "ENTROPYLAW_DEBUG=1 shows Spark's own log"
            raise InputError("spark-failed", message, hint) from None


def json_types(
    files: Sequence[TokenFile], columns: TokenColumns, array: str, *, other: str
) -> dict[str, str]:
    """SQL types of the columns that are used, for engines that would otherwise each guess their own.

    Numbers that are measured are ``double``, whatever the first records show; flags are text, because a later
    0.5 would be rounded to a flag. ``array`` is how the engine writes a list's type, ``other`` the type of
    what is neither number, flag nor text.
    """
    sql = {"bool": "boolean", "int64": "bigint", "double": "double", "string": "string"}
    flags, numbers = (columns.planning, columns.mask, columns.correct), {"int64", "double"}
    types = {}
    for name in columns.stored:
        seen = {file.types[name].removeprefix("list of ") for file in files} - {"null"}
        measured = name in (columns.entropy, columns.logprob, columns.position)
        kind = "string" if name in flags else min(seen, default="string")
        if name not in flags and (measured or seen == numbers or (name == columns.step and seen <= numbers)):
            kind = "double"
        types[name] = (array if name in columns.lists else "{}").format(sql.get(kind, other))
    return types


Backend = DuckDB | Spark
"""An engine that opens a token table and runs expressions on it."""
