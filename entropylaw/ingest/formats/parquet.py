"""Parquet files, and the Arrow tables in them: numbers as numbers, structs flattened with ``.``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.samples import refuse_samples, sample_columns
from entropylaw.ingest.table import Table, unique_names
from entropylaw.ingest.values import Column
from entropylaw.ingest.wording import shown, shown_path

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"PAR1"


class ParquetReader:
    """Reads a Parquet file."""

    name = "parquet"
    suffixes = (".parquet", ".pq")

    def recognises(self, content: Content) -> bool:
        """Whether it opens with Parquet's magic."""
        return content.data.startswith(_MAGIC)

    def read(self, content: Content) -> Table:
        """Read it.

        Raises
        ------
        InputError
            ``file-corrupt`` where Arrow cannot read it; ``token-level-table``, found out before the long
            text columns of such a table are read.

        """
        return read_parts(content.path, [content.data])


def read_parts(path: str, parts: Sequence[bytes]) -> Table:
    """Read one Parquet file, or the parts of one data set in their order.

    Raises
    ------
    InputError
        ``file-corrupt``, ``token-level-table`` or ``no-records``.

    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        files = [pq.ParquetFile(pa.BufferReader(part)) for part in parts]
        names = files[0].schema_arrow.names
        if sample_columns(names):
            steps = [name for name in names if name.casefold() in ("step", "global_step")]
            for name in steps[:1]:
                some = pa.concat_tables([file.read(columns=[name]) for file in files])
                refuse_samples(path, names, arrow_column(some.column(0)))
        table = pa.concat_tables([file.read() for file in files], promote_options="permissive")
        return from_arrow(table, path)
    except (pa.ArrowException, OSError, ValueError) as problem:  # the last for text that is not UTF-8
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InputError(
            "file-corrupt",
            f"{shown_path(path)} opens like Parquet and cannot be read: {shown(reason)}",
            "copy the file again, or write it again: a killed job leaves Parquet without its footer",
        ) from None


def from_arrow(table: pa.Table, path: str) -> Table:
    """Turn an Arrow table into ours.

    Raises
    ------
    InputError
        ``no-records`` where it has no rows.

    """
    import pyarrow as pa

    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    if not table.num_rows:
        raise InputError(
            "no-records",
            f"{shown_path(path)} has {table.num_columns} columns and no rows",
            "check that the run has logged something",
        )
    names, notes = unique_names(table.column_names)
    columns = {
        name: arrow_column(column)
        for name, column in zip(names, table.columns, strict=True)
        if not pa.types.is_nested(column.type)
    }
    return Table(columns=columns, rows=table.num_rows, notes=notes)


def arrow_column(column: pa.ChunkedArray) -> Column:
    """Floats where the column holds numbers (nan for null), Python objects where it does not."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
        kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        values: Any = column.to_numpy()
        return np.asarray(values, dtype=np.float64)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    cells: list[object] = column.to_pylist()
    return cells
