"""NumPy to Arrow without PyArrow's own conversions, against them and against Python's integers."""

import numpy as np
import pyarrow as pa
import pytest

from entropylaw.arrow import from_codes


@pytest.mark.parametrize("codes", [[], [0], [-1], [1, 0, -1, -2, 1, 1, 0]])
def test_codes_as_their_names(codes):
    names = ("execution", "\u00e9")
    column = from_codes(np.array(codes, dtype=np.int8), names)
    column.validate(full=True)
    assert column.type == pa.string()
    assert column.to_pylist() == [names[code] if code >= 0 else None for code in codes]
