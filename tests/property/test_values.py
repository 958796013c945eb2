"""Properties: a number survives every spelling, and a log every resume and restart."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from entropylaw import read_runs
from entropylaw.logs.runs.number_parsing import is_missing, parse_column, parse_number, parse_step

SPELLINGS = [
    *("{}", " {} ", "'{}'", '"{}"', "\"'{}'\"", "np.float64({})", "numpy.float32({})", "np.int64({})"),
    *("tensor({})", "tensor({}, device='cuda:0')", "tensor([{}], dtype=torch.float64)", "torch.tensor({})"),
    *("array({}, dtype=float32)", "'np.float64({})'"),
]
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(value=finite, spelling=st.sampled_from(SPELLINGS))
def test_a_finite_number_in_any_spelling(value, spelling):
    text = spelling.format(repr(value))
    assert parse_number(text) == value
    assert parse_column([text]).values[0] == value
    assert not is_missing(text)


@given(value=finite)
def test_a_number_as_it_is(value):
    assert parse_number(value) == value
    assert parse_number(np.float64(value)) == value
    assert parse_step(value) == value


@given(value=st.integers())
@example(value=10**350)
@example(value=-(10**350))
def test_any_integer(value):
    try:
        expected = float(value)
    except OverflowError:
        expected = math.inf if value > 0 else -math.inf
    assert parse_number(value) == parse_number(str(value)) == expected


@pytest.mark.parametrize("text", ["inf", "Infinity", "+inf", "INF", "np.float64(inf)", "'Infinity'"])
def test_infinity(text):
    assert parse_number(text) == math.inf
    assert parse_number(f"-{text}" if text[0] in "iI" else "-inf") == -math.inf


@pytest.mark.parametrize(
    "cell",
    [
        *(None, "", " ", "NaN", "nan", "-nan", "None", "null", "N/A", "#N/A", "<NA>", "'nan'"),
        *("np.float64(nan)", math.nan),
    ],
)
def test_missing(cell):
    assert math.isnan(parse_number(cell))
    assert is_missing(cell)


@pytest.mark.parametrize(
    "cell", ["2.28%", "1_000", "1,000", "0x10", "١", "abc", True, np.False_, "True", "10/438", "()"]
)
def test_text_is_neither_a_number_nor_missing(cell):
    assert math.isnan(parse_number(cell))
    assert not is_missing(cell)


@given(done=st.integers(0, 10**9), all_=st.integers(1, 10**9))
def test_steps_as_fractions(done, all_):
    assert parse_step(f"{done}/{all_}") == done


# Of text without digits nothing is a number that is written in another way, such as 0,5.
words = st.text(st.characters(exclude_categories=["Nd", "Cs"]), max_size=5)
cells = st.one_of(finite.map(repr), st.sampled_from(["", "NaN", "inf", "None", "x", "1_0", "2%"]), words)


@given(column=st.lists(cells, max_size=20))
def test_a_column_is_its_cells(column):
    """The fast path for whole columns and the careful one give the same; percentages alone are hundredths."""
    parsed = parse_column(column)
    hundredths = [0.02 if cell == "2%" else math.nan for cell in column]
    cell_by_cell = [parse_number(cell) for cell in column]
    np.testing.assert_array_equal(parsed.values, hundredths if parsed.written else cell_by_cell)


@given(column=st.lists(st.one_of(finite, st.none(), st.integers(-(2**70), 2**70)), max_size=20))
def test_a_column_of_numbers_is_its_cells(column):
    np.testing.assert_array_equal(parse_column(column).values, [parse_number(cell) for cell in column])


@st.composite
def resumed(draw):
    """A run from step 1 with resumes: the records, and the value that should remain at each step."""
    written, standing, lost = [], {}, 0
    start = 1
    for life in range(draw(st.integers(1, 4))):
        stop = start + draw(st.integers(3, 12))
        lost += sum(step >= start for step in standing)
        standing = {step: value for step, value in standing.items() if step < start}
        for step in range(start, stop):
            written.append((step, life + step / 1000))
            standing[step] = life + step / 1000
        start = draw(st.integers(2, stop))
    return written, standing, lost


@given(log=resumed())
def test_a_resume_keeps_the_last_values(log):
    written, standing, lost = log
    steps, values = zip(*written, strict=True)
    (run,) = read_runs({"step": list(steps), "entropy": list(values)})
    assert run.step.tolist() == list(standing)
    assert run.columns["entropy"].tolist() == list(standing.values())
    assert sum(run.dropped.values()) == lost


@given(first=st.integers(0, 5), lengths=st.lists(st.integers(3, 15), min_size=1, max_size=4))
def test_every_restart_is_a_run(first, lengths):
    steps = [first + i for length in lengths for i in range(length)]
    values = [life + i / 100 for life, length in enumerate(lengths) for i in range(length)]
    runs = read_runs({"step": steps, "entropy": values})
    assert [len(run.step) for run in runs] == lengths
    assert [run.columns["entropy"][0] for run in runs] == list(range(len(lengths)))
    assert all(run.dropped == {} for run in runs)


@given(every=st.integers(1, 5), length=st.integers(5, 30))
def test_evaluation_rows_never_cost_anything(every, length):
    rows = [(step, float(step), math.nan) for step in range(length)]
    rows += [(step, math.nan, step / 100) for step in range(0, length, every)]
    steps, entropy, accuracy = zip(*sorted(rows, key=lambda row: row[0]), strict=True)
    (run,) = read_runs({"step": steps, "entropy": entropy, "val_acc": accuracy})
    assert run.columns["entropy"].tolist() == list(range(length))
    assert np.isfinite(run.columns["val_acc"]).sum() == len(range(0, length, every))
    assert run.dropped == {}
