"""NumPy to Arrow and back, without pandas.

PyArrow's own conversions import pandas where it is installed, which takes longer than to sum a few million
tokens.
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
    known, data = array.buffers()
    rows = slice(array.offset, array.offset + len(array))
    bits = np.unpackbits(np.frombuffer(known, np.uint8), bitorder="little")[rows]
    return np.where(bits, np.frombuffer(data, array.type.to_pandas_dtype())[rows], np.nan)


def to_arrow(values: NDArray[Any], absent: NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers or flags (n,) as a column, with null where ``absent`` (n,)."""
    known = None if absent is None or not absent.any() else _bits(~absent)
    data = _bits(values) if values.dtype == bool else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [known, data])


def from_values(values: Sequence[float | None], kind: type[np.int64 | np.float64]) -> pa.Array:
    """Numbers of one ``kind`` as a column, with null for None."""
    absent = np.array([value is None for value in values], dtype=bool)
    return to_arrow(np.array([0 if value is None else value for value in values], dtype=kind), absent)


def from_text(values: Sequence[str]) -> pa.Array:
    """Text as a column."""
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)))


def release_memory() -> None:
    """Return memory that Arrow holds and does not use to the system."""
    pa.default_memory_pool().release_unused()


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
