"""NumPy to Arrow without PyArrow's own conversions, against them and against Python's integers."""

import numpy as np
import pyarrow as pa
import pytest

from entropylaw.arrow import from_codes, halves


@pytest.mark.parametrize("codes", [[], [0], [-1], [1, 0, -1, -2, 1, 1, 0]])
def test_codes_as_their_names(codes):
    names = ("execution", "\u00e9")
    column = from_codes(np.array(codes, dtype=np.int8), names)
    column.validate(full=True)
    assert column.type == pa.string()
    assert column.to_pylist() == [names[code] if code >= 0 else None for code in codes]


@pytest.mark.parametrize("bits", [17, 31])
def test_halves_of_128_bits(bits):
    rng = np.random.default_rng(0)
    numbers = [0, 1, (1 << bits) - 1, 1 << bits, (1 << 63 + bits) - 1]
    numbers += [int(a) << 31 | int(b) for a, b in rng.integers(0, 1 << 30, (100, 2))]
    column = pa.chunked_array([pa.array(part, pa.decimal128(38)) for part in (numbers[:7], numbers[7:])])
    for skipped in (0, 3):
        high, low = halves(column[skipped:], bits)
        assert low.max() < 1 << bits
        pairs = zip(high.tolist(), low.tolist(), strict=True)
        assert [(a << bits) + b for a, b in pairs] == numbers[skipped:]
    empty = halves(column[:0], bits)
    assert [len(half) for half in empty] == [0, 0]
