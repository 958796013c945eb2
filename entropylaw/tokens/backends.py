"""The engines that run the queries: what they have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from entropylaw.paths import is_file
from entropylaw.tokens.files import TableFile, element_type
from entropylaw.tokens.query import Table, TokenColumns

FILE = "entropylaw_file"
"""Column of a scan with the file that a row is of."""


class Backend(Protocol):
    """An engine that opens tables of tokens or samples, and runs queries on them."""

    def scan(self, files: Sequence[TableFile], types: Mapping[str, str]) -> str:
        """Files of one kind in SQL, with the column :data:`FILE`.

        Of JSON lines the columns in ``types`` are read, as these types of DuckDB; those of CSV are text.
        """

    def by_file(self, values: Mapping[Path, object]) -> str:
        """A value in SQL for each file of a scan."""

    def view(self, name: str, query: str) -> Table:
        """A query as a table."""

    def keep_order(self) -> None:
        """Number rows in the order of the files; UsageError where the engine cannot."""

    def unrolled(self, table: Table, columns: TokenColumns) -> Table:
        """A row per token from a row per sequence: lists unnested (null as empty), single values repeated."""

    def run(self, query: str) -> pa.Table:
        """The rows of a small result."""


def json_types(files: Sequence[TableFile], columns: TokenColumns) -> dict[str, str]:
    """SQL types of the used columns of JSON lines, which each engine would otherwise infer in its own way.

    Measured numbers are ``double``, whatever the first records hold; flags are text, because 0.5 would be
    rounded to a flag.
    """
    sql = {pa.bool_(): "boolean", pa.int64(): "bigint", pa.float64(): "double"}
    flags, numbers = (columns.planning, columns.mask, columns.correct), {pa.int64(), pa.float64()}
    measured = (columns.entropy, columns.logprob, columns.advantage, columns.position)
    types = {}
    for name in columns.stored:
        kinds = {element_type(file.types[name]) for file in files} - {pa.null()}
        kind = sql.get(next(iter(kinds), pa.string()), "string")
        if name in measured or kinds == numbers or (name == columns.step and kinds <= numbers):
            kind = "double"
        types[name] = ("string" if name in flags else kind) + ("[]" if name in columns.lists else "")
    return types


def cause_of(error: BaseException) -> str:
    """An error's message without quotations, such as of a cell; names of files stay."""
    quoted = r"'[^']*'|\"[^\"]*\""
    return re.sub(quoted, lambda match: match[0] if is_file(match[0][1:-1]) else "…", first_line(error))


def first_line(error: BaseException) -> str:
    """The first line of an error's message, in Spark that of the innermost Java exception."""
    java, lines = getattr(error, "java_exception", None) or getattr(error, "_origin", None), ""
    with suppress(Exception):  # Java may have stopped
        while java is not None and java.getCause() is not None:
            java = java.getCause()
        lines = "" if java is None else str(java.toString())
    kind, _, message = (lines.strip().splitlines() or [""])[0].partition(": ")
    summary = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return message or kind.rpartition(".")[2] or summary
