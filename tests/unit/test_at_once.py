"""Blocks and lines that are read at once give what reading them one by one gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropylaw.errors import InputError
from entropylaw.ingest.readers import at_once, delimited
from entropylaw.ingest.readers.console import Printout, one_line
from entropylaw.ingest.runs.number_parsing import parse_column, plain_numbers
from entropylaw.ingest.sources import content
from entropylaw.ingest.sources.content import Content

HEADER = "step,entropy,reward,run"
CELLS = [
    *("0.5", "-1e-3", "1.", ".5", "+2", " 7", "1_000", "1e400", "1e-400", "007", "-0", "0x10", "1e5 ", "٣"),
    *("", "nan", "NaN", "-nan", "nan(ind)", "nan(x)", "NA", "None", "null", "inf", "-Infinity", "text"),
    *("True", "12345678901234567890123", "0.1000000000000000055511151231257827", "1d5", "5%", "-", "--"),
]
LINES = [
    *("7,0.5", "", "8,0.5,0.1,a,9", "9,0.5,0.1,a,", HEADER, "reward,entropy,step,other", '10,"0.5",0.1,a'),
    *('11,0.5,0.1,"a\n12,0.4,0.2,b"', "13,0.5,0.1,a\r", "\r14,0.5,0.1,b", " ", "step,entropy,x,y"),
]
ENDS = ["\n", "\r\n", "", "\n5,0.4", "\n\n"]

rows = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 99).map(str), *[st.sampled_from(CELLS)] * 3).map(",".join),
        st.tuples(*[st.sampled_from(CELLS)] * 4).map(",".join),
        st.integers(0, 99).map(lambda step: f"{step},{step / 7},{step / 3},a"),
        st.sampled_from(LINES),
    ),
    min_size=1,
    max_size=40,
)


def table_of(text, large):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_LARGE", large)
        patch.setattr(at_once, "_FEWEST_LINES", 1)
        patch.setattr(content, "_PIECE", 64)
        try:
            table = delimited.read(Content("a.csv", text.encode()))
        except InputError as error:
            return {}, str(error)
    columns = {name: parse_column(cells) for name, cells in table.columns.items()}
    values = {name: parsed.values.tolist() for name, parsed in columns.items()}
    texts = {name: (parsed.texts, list(parsed.where), parsed.example) for name, parsed in columns.items()}
    cells = {name: [cell for cell in table.columns[name] if isinstance(cell, str)] for name in table.columns}
    unreadable = None if table.unreadable is None else table.unreadable.tolist()
    rest = (table.rows, dict(table.dropped), table.notes, unreadable, table.first_line, table.unread)
    return values, (texts, cells, rest)


@settings(deadline=None, max_examples=200)
@given(rows, st.sampled_from(ENDS), st.sampled_from(["\n", "\r\n"]))
def test_a_block_at_once_is_its_lines_one_by_one(lines, last, end):
    text = end.join((HEADER, *lines)) + last
    (values, rest), (expected, others) = table_of(text, 0), table_of(text, 1 << 60)
    assert values.keys() == expected.keys()
    for name in values:
        np.testing.assert_array_equal(values[name], expected[name])
    assert rest == others


def test_a_plain_block_is_read_at_once(monkeypatch):
    text = "step,entropy,note\n" + "".join(f"{step},{step / 7!r},word\n" for step in range(200))
    monkeypatch.setattr(delimited, "_LARGE", 0)
    one_by_one, add = [], delimited._Rectangle.add
    monkeypatch.setattr(
        delimited._Rectangle, "add", lambda shape, row: add(shape, one_by_one.append(row) or row)
    )
    table = delimited.read(Content("a.csv", text.encode()))
    assert table.columns["entropy"].tolist() == [step / 7 for step in range(200)]
    assert set(table.columns["note"]) == {"word"}
    # The last line is a block of its own.
    assert [row[0] for row in one_by_one] == ["199"]


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
