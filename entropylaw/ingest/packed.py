"""Compressed files: gzip, Zstandard, bzip2 and xz, unpacked piece by piece."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from typing import IO, Any, Protocol

_SIGNATURES = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
}
LONGEST_SIGNATURE = max(map(len, _SIGNATURES))
SUFFIXES = (".gz", ".zst", ".bz2", ".xz")
_PIECE = 1 << 20


class DamagedError(Exception):
    """The compressed bytes break off or are no such bytes; what came before was handed out."""


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def compression(head: bytes) -> str | None:
    """Name the compression that the first bytes show; None for none."""
    return next((name for signature, name in _SIGNATURES.items() if head.startswith(signature)), None)


def unpacked(stream: _Readable, how: str) -> Iterator[bytes]:
    """Yield the unpacked bytes.

    Raises
    ------
    DamagedError
        Where they break off.

    """
    source = _opened(stream, how)
    try:
        while piece := source.read(_PIECE):
            yield piece
    except (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as problem:
        raise DamagedError(str(problem).splitlines()[0][:200] or type(problem).__name__) from None


def _opened(stream: Any, how: str) -> IO[bytes] | Any:
    if how == "gzip":
        return gzip.GzipFile(fileobj=stream)
    if how == "bzip2":
        return bz2.BZ2File(stream)
    if how == "xz":
        return lzma.LZMAFile(stream)
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(_Whole(stream), mode="r"), "zstd")


class _Whole:
    """What pyarrow asks of a Python file."""

    closed = False

    def __init__(self, stream: _Readable) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        """Read as a file does."""
        return self._stream.read(size)

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def writable(self) -> bool:
        """Whether it can be written: never."""
        return False

    def seekable(self) -> bool:
        """Whether it can be sought: never."""
        return False

    def close(self) -> None:
        """Leave closing to whoever opened it."""
