"""Parquet files and Arrow's tables: numbers as numbers, structs flattened with dots."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import filterfalse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from entropylaw.arrays import FloatArray
from entropylaw.arrow import incomplete, to_numpy
from entropylaw.errors import InputError
from entropylaw.escaping import counted, quoted_path, shown
from entropylaw.logs.catalog import sample_columns
from entropylaw.logs.runs import Table, unique_names
from entropylaw.logs.runs.number_parsing import NO_TEXT, NOT_A_NUMBER, Column, MixedColumn, classify
from entropylaw.logs.sources.assemble import check_samples
from entropylaw.logs.sources.content import Content
from entropylaw.paths import is_utf8

_SMALL_FILE = 1 << 20
"""Bytes up to which a file is read by one thread: starting Arrow's takes longer than reading."""


def read(content: Content) -> Table:
    """Read one Parquet file; raises as :func:`read_parts`."""
    return read_parts(content.path, [content])


def are_alike(paths: Iterable[str]) -> bool:
    """Whether files are Parquet with the same names of columns."""
    try:
        return len({tuple(pq.read_schema(path).names) for path in paths}) == 1
    except (pa.ArrowException, OSError, ValueError):
        return False


def read_parts(path: str, contents: Sequence[Content]) -> Table:
    """Read one Parquet file, or the parts of one data set in their order.

    Raises ``file-corrupt`` where Arrow cannot read it, ``file-too-large``, ``no-records``; and
    ``token-level-table``, found out before the long text columns of such a table are read.
    """
    size = sum(content.size for content in contents)
    threads = size > _SMALL_FILE
    try:
        files = [_open_part(content, threads=threads) for content in contents]
        leaves = _leaves(files[0])
        useful = contents[0].useful
        used_columns: frozenset[str] | None = None
        # Of a table that is wide or large, only the columns that are used are read.
        if useful is not None and (contents[0].column_filter is not None or len(leaves) > 256):
            used_columns = frozenset(filter(useful, leaves))
        _require_bounded(path, size, [file.metadata for file in files], used_columns)
        _check_no_tokens(path, files, threads=threads)
        tables = []
        for file in files:
            columns = None if used_columns is None else list(filter(used_columns.__contains__, _leaves(file)))
            tables.append(file.read(columns=columns, use_threads=threads))
        table = from_arrow(pa.concat_tables(tables, promote_options="permissive"), path)
        unread = () if used_columns is None else filterfalse(used_columns.__contains__, leaves)
        return replace(table, unread=tuple(unread))
    except MemoryError:  # Arrow's own is an ArrowException, too, but is not about the file
        raise
    except (pa.ArrowException, OSError, ValueError) as problem:  # the last for text that is not UTF-8
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InputError(
            "file-corrupt",
            f"{quoted_path(path)} opens like Parquet and cannot be read: {shown(reason)}",
            "copy the file again, or write it again: a killed job leaves Parquet without its footer",
        ) from None


def _check_no_tokens(path: str, files: Sequence[pq.ParquetFile], *, threads: bool) -> None:
    """Raise ``token-level-table`` by the step and the names alone, before long columns of text are read."""
    names = files[0].schema_arrow.names
    step = next((name for name in names if name.casefold() in ("step", "global_step")), None)
    if step is not None and sample_columns(names):
        tables = [file.read(columns=[step], use_threads=threads) for file in files]
        check_samples(path, names, _arrow_column(pa.concat_tables(tables).column(0)))


def _open_part(part: Content, *, threads: bool) -> pq.ParquetFile:
    """Open one Parquet file, each different text of a column held once: a page repeats one at no cost."""
    file = part.local_file()
    source = io.BytesIO(part.data) if file is None or not is_utf8(file) else file
    texts = [field.name for field in pq.read_schema(source) if _is_text(field.type)]
    if not isinstance(source, str):
        source.seek(0)
    return pq.ParquetFile(source, read_dictionary=texts, pre_buffer=threads)


def _require_bounded(
    path: str, size: int, files: Sequence[pq.FileMetaData], read_columns: frozenset[str] | None
) -> None:
    """Refuse tables that unpack to many times their ``size``, before a cell of them is read."""
    rows = sum(file.num_rows for file in files)
    cells = rows * (files[0].num_columns if read_columns is None else len(read_columns))
    groups = (file.row_group(index) for file in files for index in range(file.num_row_groups))
    pages = sum(group.total_byte_size for group in groups) if read_columns is None else 0
    if max(cells * 8, pages) > max(40 * size, 1 << 28):
        raise InputError(
            "file-too-large",
            f"{quoted_path(path)} unpacks {counted(size, 'byte')} to {counted(rows, 'row')} of "
            f"{counted(cells, 'cell')}",
            "write the columns of metrics alone into a file of their own",
        )


def _leaves(file: pq.ParquetFile) -> list[str]:
    """List the columns, those within structs joined with ``.``; a list's elements under the list's name."""
    paths = (file.schema.column(index).path for index in range(len(file.schema)))
    return list(dict.fromkeys(path.removesuffix(".list.element") for path in paths))


def from_arrow(table: pa.Table, path: str) -> Table:
    """Turn an Arrow table into ours; raises ``no-records`` where it has no rows."""
    missing = incomplete(table.schema.metadata)
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    if not table.num_rows:
        raise InputError(
            "no-records",
            f"{quoted_path(path)} has {table.num_columns} columns and no rows",
            "check that the run has logged something",
        )
    names, notes = unique_names(table.column_names)
    pairs = zip(names, table.columns, strict=True)
    columns = {name: _arrow_column(column) for name, column in pairs if not pa.types.is_nested(column.type)}
    return Table(columns=columns, rows=table.num_rows, notes=notes, incomplete=missing)


def _is_text(kind: pa.DataType) -> bool:
    return kind in ("string", "large_string", "binary", "large_binary")


def _text_column(column: pa.ChunkedArray) -> Column:
    """Cells of a column of text, each different one held once, in at most 1000 characters."""
    whole = column.combine_chunks()
    cells = (cell[:1000] for cell in whole.dictionary.to_pylist())
    words = [cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in cells]
    codes = np.nan_to_num(to_numpy(whole.indices), nan=len(words)).astype(np.int64)
    parsed = [*map(classify, words), (np.nan, False)]
    values = np.array([value for value, _ in parsed])[codes]
    is_text = np.array([flag for _, flag in parsed])[codes]
    return MixedColumn(values, np.where(is_text, codes, NO_TEXT).astype(np.int32), words)


def _arrow_column(column: pa.ChunkedArray) -> Column:
    """Floats where the column holds numbers (nan for null), Python objects where it does not.

    Where a nan stands as a value, it is marked.
    """
    kind = column.type
    if pa.types.is_dictionary(kind) and _is_text(kind.value_type):
        return _text_column(column)
    if pa.types.is_dictionary(kind):
        return _arrow_column(column.cast(kind.value_type))
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not any(test(kind) for test in (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal)):
        return list(column.to_pylist())
    if pa.types.is_decimal(kind):
        column = column.cast("float64", safe=False)
    values: FloatArray = to_numpy(column).astype(np.float64)
    unknown = np.isnan(values)
    if np.count_nonzero(unknown) == column.null_count:
        return values
    written = unknown & column.is_valid().to_numpy()
    return MixedColumn(values, np.where(written, NOT_A_NUMBER, NO_TEXT).astype(np.int32), [])
