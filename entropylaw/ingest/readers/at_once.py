"""Blocks of delimited text whose lines are all alike, read at once by Arrow."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.csv

from entropylaw.arrow import to_numpy
from entropylaw.ingest.runs.number_parsing import MISSING, NANS
from entropylaw.results.arrays import FloatArray

_FEWEST_LINES = 32
_MISSING = sorted({"None", "Null", *(MISSING - NANS), *map(str.upper, MISSING - NANS)})

Cells = FloatArray | list[str]
"""Cells of a column in a block: numbers, nan where one is missing, or text where some are not numbers."""


def read_block(
    block: str, delimiter: str, width: int, used: Collection[int], text: Collection[int]
) -> dict[int, Cells] | None:
    """Read the ``used`` columns of a block of whole lines, those in ``text`` as text.

    Returns None, and the lines have to be read one by one, where a line has not exactly ``width`` cells, a
    cell is in quotes, or not one of the used columns is a number in every line: then a line may be a header.
    """
    if not used or width < 2 or '"' in block or "\0" in block or block.count("\n") < _FEWEST_LINES:
        return None
    if "\r" in block and block.count("\r") != block.count("\r\n"):
        return None
    data = pa.py_buffer(block.encode())
    # Where one conversion fails, Arrow does not say which column it was.
    for kind in (pa.float64(), pa.string()):
        kinds = {place: pa.string() if place in text else kind for place in used}
        try:
            table = _table(data, delimiter, width, kinds)
            columns = {place: _cells(table.column(str(place)), place in text) for place in used}
        except pa.ArrowInvalid:
            continue
        numeric = (cells for cells in columns.values() if isinstance(cells, np.ndarray))
        return columns if any(not np.isnan(cells).any() for cells in numeric) else None
    return None


def _table(data: pa.Buffer, delimiter: str, width: int, kinds: dict[int, pa.DataType]) -> pa.Table:
    names = [str(place) for place in range(width)]
    return pa.csv.read_csv(
        pa.BufferReader(data),
        read_options=pa.csv.ReadOptions(column_names=names, block_size=data.size + 1, use_threads=False),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False),
        convert_options=pa.csv.ConvertOptions(
            column_types={str(place): kind for place, kind in kinds.items()},
            include_columns=[str(place) for place in kinds],
            null_values=_MISSING,
            strings_can_be_null=True,
        ),
    )


def _cells(column: pa.ChunkedArray, as_text: bool) -> Cells:
    if not as_text:
        with suppress(pa.ArrowInvalid):
            numbers = column.cast(pa.float64())
            values = to_numpy(numbers)
            # Arrow reads nan, and nan(text), as a number.
            if int(np.isnan(values).sum()) == numbers.null_count:
                return values
        if pa.types.is_floating(column.type):
            raise pa.ArrowInvalid("nan(text)")
    return [cell or "" for cell in column.to_pylist()]
