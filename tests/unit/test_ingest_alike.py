"""Records that are read many at once, since they are alike: each value is the one that its text says."""

import json
import math

import numpy as np
import pytest

from entropylaw import read_runs

#: What a line of verl's console has as its entropy, and what that is; None where the pair is left out.
VALUES = {
    "0.5": 0.5,
    "1e-06": 1e-6,
    "-2.5E1": -25.0,
    "+.25": 0.25,
    "np.float64(0.125)": 0.125,
    "np.float64(0.1)": 0.1,
    "0.30000000000000004": 0.30000000000000004,
    "1-2": None,
    "1.2.3": None,
    "np.float64(0.7": None,
    "0.7)": None,
    "nan": math.nan,
    "7": 7.0,
}


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain lines before", "wrapped lines before"])
def test_a_line_of_verl_is_read_like_the_line_before_only_where_it_is_alike(tmp_path, wrapped):
    path = tmp_path / "run.log"
    before = "np.float64(0.75)" if wrapped else "0.75"
    texts = [text for value in VALUES for text in (before, value)]
    lines = [
        f"step:{step} - actor/entropy:{text} - critic/score/mean:{step / 100}"
        for step, text in enumerate(texts, 1)
    ]
    path.write_text("\n".join(lines) + "\n")
    (run,) = read_runs(path)
    read = [math.nan if value is None else value for value in VALUES.values()]
    expected = [number for value in read for number in (0.75, value)]
    np.testing.assert_array_equal(run.columns["actor/entropy"], expected)
    np.testing.assert_array_equal(run.columns["critic/score/mean"], np.arange(1, len(texts) + 1) / 100)
    assert run.dropped == {"unreadable key:value pair": list(VALUES.values()).count(None)}


def test_records_with_cells_of_other_types_among_numbers_keep_each_value(tmp_path):
    path = tmp_path / "run.jsonl"
    cells = [0.5, 1, None, 2**53 + 1, 10**400, "0.25", -0.0, 3e-5, 7.0, True, math.nan] * 3
    rows = [{"step": s, "entropy": cell, "reward": s / 50} for s, cell in enumerate(cells, 1)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run,) = read_runs(path)
    nan = math.nan
    expected = [0.5, 1.0, nan, float(2**53 + 1), math.inf, 0.25, -0.0, 3e-5, 7.0, nan, nan] * 3
    np.testing.assert_array_equal(run.columns["entropy"], expected)
    np.testing.assert_array_equal(run.spoiled["entropy"]["not a number"], [11.0, 22.0, 33.0])
    np.testing.assert_array_equal(run.spoiled["entropy"]["text in place of a number"], [10.0, 21.0, 32.0])


def test_a_large_csv_is_read_to_the_last_bit_also_where_its_blocks_are_not_plain_numbers(tmp_path):
    path = tmp_path / "run.csv"
    steps = 40_000
    values = np.random.default_rng(1).standard_normal((3, steps)) * 10.0 ** np.arange(-3, 6, 3)[:, None]
    rows = [
        f"{step},{entropy!r},{reward!r},{'' if step % 3 else repr(other)},{'a b' if step % 2 else ''}"
        for step, (entropy, reward, other) in enumerate(values.T.tolist(), 1)
    ]
    header = "step,entropy,reward,val_acc,host"
    # Each of these falls into another block of the file.
    rows[12_000] = "12001,nan,0x1F,-0.0,1"
    rows[20_000:20_000] = [header]
    rows[30_000:30_000] = [""]
    rows[-1] = "40000,0.1,0.2"
    path.write_text("\n".join([header, *rows]) + "\n")
    assert path.stat().st_size > 2_000_000
    (run,) = read_runs(path)
    entropy, reward, other = values
    other[np.arange(1, steps + 1) % 3 > 0] = math.nan
    entropy[12_000], reward[12_000], other[12_000] = math.nan, math.nan, -0.0
    entropy[-1], reward[-1], other[-1] = 0.1, 0.2, math.nan
    np.testing.assert_array_equal(run.step, np.arange(1.0, steps + 1))
    for name, expected in zip(("entropy", "reward", "val_acc"), values, strict=True):
        np.testing.assert_array_equal(run.columns[name].view(np.int64), expected.view(np.int64), name)
    assert run.spoiled["entropy"]["not a number"].tolist() == [12_001.0]
    assert run.spoiled["reward"]["text in place of a number"].tolist() == [12_001.0]
    assert run.source.rows == steps
    assert "the header is written again below row 20000; the rows below are read by it" in run.notes
