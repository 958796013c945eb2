"""NumPy to Arrow and back, without pandas and ``pyarrow.compute``.

PyArrow's own conversions import pandas where it is installed, which takes longer than to sum a few million
tokens; the import of ``pyarrow.compute`` takes as long as that of duckdb.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def to_numpy(column: pa.ChunkedArray | pa.Array) -> NDArray[Any]:
    """The values (n,) of a column of numbers; of floats where some are null, with nan there."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not array.null_count:
        return np.from_dlpack(array)
    valid, data = array.buffers()
    rows = slice(array.offset, array.offset + len(array))
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[rows]
    return np.where(bits, np.frombuffer(data, array.type.to_pandas_dtype())[rows], np.nan)


def halves(column: pa.ChunkedArray, bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Whole decimals (n,) of 128 bits without nulls: all but the last ``bits``, and the last ``bits``."""
    array = column.combine_chunks()
    if not len(array):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    words = np.frombuffer(array.buffers()[1], "<u8").reshape(-1, 2)[array.offset :][: len(array)]
    upper = words[:, 1] << np.uint64(64 - bits) | words[:, 0] >> np.uint64(bits)
    return upper.astype(np.int64), (words[:, 0] & np.uint64((1 << bits) - 1)).astype(np.int64)


def to_arrow(values: NDArray[Any], absent: NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers or flags (n,) as a column, with null where ``absent`` (n,)."""
    valid = None if absent is None or not absent.any() else _bits(~absent)
    data = _bits(values) if values.dtype == bool else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, data])


def from_values(values: Sequence[float | None], kind: type[np.int64 | np.float64]) -> pa.Array:
    """Numbers of one ``kind`` as a column, with null for None."""
    absent = np.array([value is None for value in values], dtype=bool)
    return to_arrow(np.array([0 if value is None else value for value in values], dtype=kind), absent)


def from_codes(codes: NDArray[np.integer[Any]], names: Sequence[str]) -> pa.Array:
    """Text as a column: ``names[code]`` in each row (n,), null where the code is negative."""
    encoded = [name.encode() for name in names]
    lengths = np.array([*map(len, encoded)])[codes] * (codes >= 0)
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int32)
    first = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else np.arange(0)
    runs = zip(codes[first].tolist(), np.diff(first, append=len(codes)).tolist(), strict=True)
    # A piece per run of a code.
    data = b"".join(encoded[code] * count for code, count in runs if code >= 0)
    buffers = (pa.py_buffer(offsets), pa.py_buffer(data), _bits(codes >= 0))
    return pa.StringArray.from_buffers(len(codes), *buffers)


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
