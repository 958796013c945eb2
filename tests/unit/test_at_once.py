"""Lines of a console that are read at once give what reading them one by one gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropylaw.logs.readers.console import Printout, one_line
from entropylaw.logs.runs.number_parsing import plain_numbers
from entropylaw.logs.sources.content import Content

PAIRS = [
    "a:1",
    "b:0.25",
    "b:2e-3",
    "b:nan",
    "b:",
    "b",
    "a - c:3",
    "c:d:4",
    ":5",
    "c:np.float64(0.5)",
    "c:1_0",
]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.lists(st.sampled_from(PAIRS), max_size=4), min_size=1, max_size=12))
def test_a_line_of_verl_at_once_is_its_pairs_one_by_one(lines):
    texts = [f"step:{step} - {' - '.join(pairs)}" for step, pairs in enumerate(lines)]
    found = []
    for most in (8, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(one_line, "_MOST_SHAPES", most)
            printout = Printout(Content("a.log", b""))
            found.append(
                [[list(row.items()) for row in one_line.verl.rows(texts, printout)], printout.dropped]
            )
    np.testing.assert_equal(found[0], found[1])


@settings(deadline=None, max_examples=300)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_plain_numbers_are_those_of_float(values):
    assert plain_numbers(list(map(repr, values))) == values


@pytest.mark.parametrize(
    "cells", [["1", ""], ["1,2", "3"], ["1_0"], ["nan"], ["[1]"], ["null"], ["1", "true"]]
)
def test_what_is_no_plain_number_is_left_to_others(cells):
    assert plain_numbers(cells) is None
