"""What tests of readers share: protocol buffers by hand, damaged copies, and what may come of them."""

import random
import struct
from pathlib import Path

import pytest

from entropylaw import InputError
from entropylaw.logs.runs import Table
from entropylaw.logs.source import Source
from entropylaw.logs.sources.assemble import assemble
from entropylaw.logs.sources.registry import reader_of
from tests.conftest import NIGHTLY


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value, *, double=True):
    """A field: an int as a varint, a float as a double or float32, bytes and text with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        kind, form = (1, "<d") if double else (5, "<f")
        return varint(number << 3 | kind) + struct.pack(form, value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def rows_or_refusal(read, data):
    """The number of rows that a reader makes of some bytes, 0 where it refuses them, and nothing else."""
    try:
        table = read(data)
    except InputError:
        return 0
    assert isinstance(table, Table)
    (rows,) = {len(cells) for cells in table.columns.values()}
    assert rows > 0
    return rows


def flipped(data, times=300 if NIGHTLY else 100):
    """Copies with 1, 5 or 50 bits turned over."""
    chance = random.Random(20)
    for _ in range(times):
        copy = bytearray(data)
        for _ in range(chance.choice((1, 1, 1, 5, 50))):
            copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
        yield bytes(copy)


def refused(slug, call, *arguments, kind=InputError, **options):
    """The error with which a call refuses what it is given: it is of a kind, and has this slug."""
    with pytest.raises(kind) as caught:
        call(*arguments, **options)
    assert caught.value.slug == slug
    return caught.value


def assembled(reader, data, path):
    """The runs in a file of a format, given as content or as a table."""
    table = data if isinstance(data, Table) else reader_of(reader).read(data)
    return assemble(table, Source(path=path, format=reader, sha256="", rows=table.rows), path)[0]


def write(folder, name, data):
    """Write a file and the folders above it; returns its path."""
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path
