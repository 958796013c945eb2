"""Cells that are read at once give what reading them one by one gives."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropylaw.logs.runs.number_parsing import plain_numbers


@settings(deadline=None, max_examples=300)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_plain_numbers_are_those_of_float(values):
    assert plain_numbers(list(map(repr, values))) == values


@pytest.mark.parametrize(
    "cells", [["1", ""], ["1,2", "3"], ["1_0"], ["nan"], ["[1]"], ["null"], ["1", "true"]]
)
def test_what_is_no_plain_number_is_left_to_others(cells):
    assert plain_numbers(cells) is None
