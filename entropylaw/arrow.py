"""NumPy to Arrow and back, without pandas and ``pyarrow.compute``.

PyArrow's own conversions import pandas where it is installed, which takes longer than to sum a few million
tokens; the import of ``pyarrow.compute`` takes as long as that of duckdb.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
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


def from_values(values: Sequence[float | None], kind: type[np.int64 | np.float64]) -> pa.Array:
    """Numbers of one ``kind`` as a column, with null for None."""
    data = np.array([0 if value is None else value for value in values], dtype=kind)
    valid = np.packbits([value is not None for value in values], bitorder="little")
    buffers = [pa.py_buffer(valid), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(kind), len(values), buffers)


METADATA = b"entropylaw"
"""Key of our metadata in the Parquet files that we write: what was read for them, and what was not."""


def metadata_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Our metadata in a Parquet schema's; empty for a file that is not ours."""
    ours = None
    with suppress(ValueError, RecursionError):
        ours = json.loads((metadata or {}).get(METADATA, b"null"))
    return ours if isinstance(ours, dict) else {}


def incomplete(metadata: Mapping[bytes, bytes] | None) -> str:
    """Which files were not read when we wrote a table with such metadata; empty where all were."""
    read = metadata_of(metadata).get("read")
    unread = read.get("unread") if isinstance(read, dict) else None
    files = [file for file in unread if isinstance(file, dict)] if isinstance(unread, list) else []
    reasons = [str(file.get("why")) for file in files if file.get("fate") == "refused"]
    return "; ".join(reasons[:3])
