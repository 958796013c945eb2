"""Runs the queries on a Spark cluster, by SQL that ibis translates; importing this module imports both."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import input_file_name

from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import shown
from entropylaw.tokens.files import TableFile, distinct_names, plain_type
from entropylaw.tokens.on_duckdb import without_quotations
from entropylaw.tokens.query import FILE, WIDE, Table, TokenColumns, text


@contextmanager
def spark_backend(master: str | None, *, console: bool = False) -> Iterator[Spark]:
    """Spark on ``master`` or as it is configured; UsageError ``spark-failed``."""
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
            raise UsageError(
                "spark-failed",
                f"Spark could not be started at {shown(master or 'its configured master')}: "
                f"{shown(first_line(error), 200)}",
                "check --master, and that JAVA_HOME is a Java 17 or later",
            ) from None
        stack.callback(session.stop)
        if threading.current_thread() is threading.main_thread():
            # Spark's own handler calls Java during a call of Java, and fails.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield Spark(ibis.pyspark.connect(session), session)


class Spark:
    """What runs the queries on Spark, as :class:`entropylaw.tokens.on_duckdb.DuckDB` on one machine.

    ``connection`` is that of ibis, ``session`` that of Spark. Made by :func:`spark_backend`.
    """

    def __init__(self, connection: Any, session: Any) -> None:
        self._connection = connection
        self._session = session
        self._scans = 0
        # Path of a file here → where the workers find it, and → its name in messages.
        self._places: dict[Path, Path] = {}
        self._names: dict[str, str] = {}

    def unrolled(self, table: Table, columns: TokenColumns) -> Table:
        """As :meth:`DuckDB.unrolled`; Spark goes through all lists of a row together as structs."""
        # A null list among others would make the row's structs null.
        lists = ", ".join(f"COALESCE({_quoted(name)}, ARRAY())" for name in columns.lists)
        fields = ", ".join(_quoted(name) for name in columns.lists)
        selected = [_quoted(name) for name in columns.single]
        selected.append(f"INLINE(ARRAYS_ZIP({lists})) AS ({fields})")
        with self._explained():
            frame = self._session.sql(f"SELECT {', '.join(selected)} FROM {table.name}")
            frame.createOrReplaceTempView("entropylaw_unrolled")
        return self._table("entropylaw_unrolled")

    def scan(self, files: Sequence[TableFile], types: Mapping[str, str]) -> str:
        """As :meth:`DuckDB.scan`, also the types."""
        leader = files[0]
        reader = self._session.read
        paths: list[str] = []
        for file in files:
            self._places[file.path] = self._place(file)
            self._names[str(file.path)] = file.name
            # As Hadoop names a file: it decodes no URI, and takes some characters for a pattern.
            path = re.sub(r"([\[\]{}*?\\])", r"\\\1", self._places[file.path].absolute().as_posix())
            paths.append(f"file:{path}")
        with self._explained():
            if leader.kind == "parquet":
                frame = reader.option("mergeSchema", "true").parquet(*paths)
            elif leader.kind == "csv":
                header = ", ".join(f"{_quoted(name)} string" for name in distinct_names(leader))
                reader = reader.schema(header).option("mode", "FAILFAST").option("enforceSchema", "true")
                frame = reader.csv(paths, sep=leader.mark, header=True, multiLine=True, escape='"')
            else:
                fields: list[str] = []
                for name, kind in types.items():
                    # Spark's types have other names than DuckDB's.
                    spark_type = f"array<{kind.removesuffix('[]')}>" if kind.endswith("[]") else kind
                    fields.append(f"{_quoted(name)} {spark_type}")
                frame = reader.schema(", ".join(fields)).option("mode", "FAILFAST").json(paths)
            self._scans += 1
            name = f"entropylaw_scan_{self._scans}"
            frame.withColumn(FILE, input_file_name()).createOrReplaceTempView(name)
        return name

    def _place(self, file: TableFile) -> Path:
        """Where a file is for this session: workers on other machines do not see links in our folder.

        Raises InputError ``name-hidden-from-spark``.
        """
        if self._session.sparkContext.master.startswith("local") or not file.path.is_symlink():
            return file.path
        if file.source.name.startswith(("_", ".")):
            raise InputError(
                "name-hidden-from-spark",
                f"Spark leaves out files such as {shown(file.name)}, whose name begins so",
                "rename the file, or use --backend duckdb",
            )
        return file.source

    def by_file(self, values: Mapping[Path, object]) -> str:
        """As :meth:`DuckDB.by_file`."""
        if len(values) < 2:
            # A constant needs no column of files.
            return str(next(iter(values.values()), "NULL"))
        cases = " ".join(
            f"WHEN {text(self._places[path].absolute().as_uri())} THEN {value}"
            for path, value in values.items()
        )
        return f"CASE {FILE} {cases} ELSE RAISE_ERROR('a file without a value') END"

    def keep_order(self) -> None:
        """Raise UsageError ``spark-has-no-order``: Spark numbers no rows, as it has no order of them."""
        raise UsageError(
            "spark-has-no-order",
            "--backend spark cannot number the rows of a file",
            "name the columns, or use --backend duckdb",
        )

    def view(self, name: str, query: str) -> Table:
        """As :meth:`DuckDB.view`."""
        with self._explained():
            sql = self._connection.sql(query, dialect="duckdb")
            self._connection.create_view(f"entropylaw_{name}", sql, overwrite=True)
        return self._table(f"entropylaw_{name}")

    def keep(self, name: str, query: str) -> Table:
        """As :meth:`DuckDB.keep`; Spark computes it for each query, on the cluster."""
        return self.view(name, query)

    def _table(self, name: str) -> Table:
        """A view as a table."""
        schema = self._connection.table(name).schema().to_pyarrow()
        return Table(name, {field.name: plain_type(field.type) for field in schema})

    def peek(self, query: str, rows: int) -> pa.Table:
        """The first rows of a query, of the first parts of the files."""
        return self.run(f"{query} LIMIT {rows}")

    def run(self, query: str) -> pa.Table:
        """Run on the cluster; Ctrl-C cancels the jobs."""
        try:
            with self._explained():
                # Spark has no integers of 128 bits.
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
        try:
            yield
        except (Py4JError, PySparkException) as error:
            line = without_quotations(first_line(error), self._names)
            raise InputError(
                "spark-failed",
                f"Spark could not finish the query: {shown(line, 300)}",
                "every worker needs the files at the same path; ENTROPYLAW_DEBUG=1 shows Spark's log",
            ) from None


def _quoted(name: str) -> str:
    """A column's name in Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def first_line(error: BaseException) -> str:
    """The first line of an error's message, that of the innermost Java exception if there is one."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    lines = ""
    with suppress(Exception):  # Java may have stopped
        while java is not None and java.getCause() is not None:
            java = java.getCause()
        lines = "" if java is None else str(java.toString())
    kind, _, message = (lines.strip().splitlines() or [""])[0].partition(": ")
    summary = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return message or kind.rpartition(".")[2] or summary
