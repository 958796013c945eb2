"""What the engines that run the queries have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

import pyarrow as pa

from entropylaw.paths import is_file
from entropylaw.tokens.files import TableFile, element_type
from entropylaw.tokens.query import TokenColumns

FILE = "entropylaw_file"
"""Column of a scan with the file that a row is of."""


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
