"""Compressed files: gzip, Zstandard, bzip2 and xz, unpacked piece by piece."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any

_SIGNATURES = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
LONGEST_SIGNATURE = max(map(len, _SIGNATURES))
SUFFIXES = (".gz", ".zst", ".bz2", ".xz")
_PIECE, _INPUT = 1 << 20, 1 << 16


class DamagedError(Exception):
    """The compressed bytes break off or are no such bytes; what came before was handed out."""


Read = Callable[[int], bytes]
"""Returns so many of the compressed bytes, or what is left of them."""


def plain_name(path: str) -> PurePath:
    """Return a path without the suffixes of compressions."""
    pure = PurePath(path)
    while pure.suffix.lower() in SUFFIXES:
        pure = pure.with_suffix("")
    return pure


def compression(head: bytes) -> str | None:
    """Name the compression that the first bytes show; None for none."""
    return next((name for signature, name in _SIGNATURES.items() if head.startswith(signature)), None)


def unpacked(read: Read, how: str) -> Iterator[bytes]:
    """Yield the unpacked bytes; raises :class:`DamagedError` where they break off."""
    try:
        yield from _UNPACKERS[how](read)
    except (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as problem:
        raise DamagedError(str(problem).splitlines()[0][:200] or type(problem).__name__) from None


def _blocks(make: Callable[[], Any]) -> Callable[[Read], Iterator[bytes]]:
    """Unpack with ``bz2`` or ``lzma``, which keep what is left over, or ``zlib``, which hands it back."""

    def unpack(read: Read) -> Iterator[bytes]:
        unit, data, inside = make(), b"", False
        while data := data or read(_INPUT):
            inside = True
            while (data or not getattr(unit, "needs_input", True)) and not unit.eof:
                if piece := unit.decompress(data, _PIECE):
                    yield piece
                data = getattr(unit, "unconsumed_tail", b"")
            if unit.eof:  # a further member may follow
                data, inside = unit.unused_data.lstrip(b"\0"), False
                unit = make()
        if inside:
            yield unit.flush() if hasattr(unit, "flush") else b""
            raise EOFError("it ends early")

    return unpack


def _zstd(read: Read) -> Iterator[bytes]:
    import pyarrow as pa

    # What pyarrow needs of a Python file; closing is left to whoever opened it.
    file = SimpleNamespace(read=read, closed=False, close=lambda: None)
    source = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
    while piece := source.read(_INPUT):
        yield piece


_UNPACKERS: dict[str, Callable[[Read], Iterator[bytes]]] = {
    "gzip": _blocks(partial(zlib.decompressobj, 31)),
    "bzip2": _blocks(bz2.BZ2Decompressor),
    "xz": _blocks(lzma.LZMADecompressor),
    "zstd": _zstd,
}
