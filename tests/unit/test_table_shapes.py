"""Values and headers of samples and tokens that are not what they seem: right, or refused by name."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import drawn, processor_time
from tests.unit.test_table_names import sampled, tokens, written

NAN, INFINITY = float("nan"), float("inf")


def rows_of(run: Any, command: str, *arguments: Any) -> tuple[list[dict[str, Any]], str]:
    """The rows that a command makes, and what it says."""
    done = run(command, "--format", "json", *arguments, code=0)
    return json.loads(done.stdout)["rows" if command == "samples" else "steps"], done.stderr


def assert_refused(run: Any, slug: str, *arguments: Any) -> str:
    """The error of a command, which has this slug."""
    done = run(*arguments, code=3)
    assert f"error[{slug}]" in done.stderr, (arguments, done.stdout[:300], done.stderr)
    return str(done.stderr)


def delimited(
    path: Path, rows: list[dict[str, Any]], mark: str = ",", header: Any = None, **how: Any
) -> Path:
    """CSV with any header."""
    text = io.StringIO()
    table = csv.writer(text, delimiter=mark, lineterminator=how.pop("end", "\n"), **how)
    table.writerow(header or [*rows[0]])
    table.writerows([row.values() for row in rows])
    path.write_bytes(text.getvalue().encode())
    return path


NO_STEPS = {"nan": NAN, "inf": INFINITY, "-inf": -INFINITY, "null": None}


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("what", NO_STEPS)
def test_a_step_that_some_rows_lack(run: Any, tmp_path: Path, what: str, suffix: str) -> None:
    steps = [3.0, NO_STEPS[what]]
    half = [{**row, "step": steps[i % 2]} for i, row in enumerate(sampled(3))]
    error = assert_refused(run, "step-missing", "samples", written(tmp_path / f"a.{suffix}", half))
    assert "12 rows have no step in 'step'" in error
    if suffix != "csv":
        half = [{**row, "step": steps[i % 2]} for i, row in enumerate(tokens(0.3))]
        assert_refused(run, "step-missing", "tokens", written(tmp_path / f"b.{suffix}", half))


@pytest.mark.parametrize("what", NO_STEPS)
def test_a_step_that_all_rows_lack(run: Any, tmp_path: Path, what: str) -> None:
    expected, _ = rows_of(run, "samples", written(tmp_path / "a.jsonl", sampled(3)))
    without = [{**row, "step": NO_STEPS[what]} for row in sampled(3)]
    rows, said = rows_of(run, "samples", written(tmp_path / "b.jsonl", without))
    assert rows == expected
    assert "note: 'step' has no number: all rows count as one step" in said


def test_steps_are_exact(run: Any, tmp_path: Path) -> None:
    big = [{**row, "step": 2**53 + i % 2} for i, row in enumerate(sampled(3))]
    assert_refused(run, "step-not-whole", "samples", written(tmp_path / "a.jsonl", big))
    by_name = written(tmp_path / "20240101120000123456.jsonl", sampled(3))
    assert_refused(run, "step-not-whole", "samples", by_name)
    text = [{**row, "step": "5 "} for row in sampled(3)]
    rows, _ = rows_of(run, "samples", written(tmp_path / "b.jsonl", text))
    assert [row["step"] for row in rows] == [5]
    words = [{**row, "step": f"step {i % 2}" if i else "3"} for i, row in enumerate(sampled(3))]
    assert_refused(run, "step-missing", "samples", written(tmp_path / "c.jsonl", words))


COUNTS: dict[str, tuple[Any, Any, str]] = {
    "a half": (4.5, 2, "bad-count"),
    "half a right one": (4, 2.5, "bad-count"),
    "below 0": (-4, -2, "bad-count"),
    "right ones below 0": (4, -1, "bad-count"),
    "more right than there are": (4, 5, "bad-count"),
    "none": (None, 2, "bad-count"),
    "no right ones": (4, None, "bad-count"),
    "not a number": (NAN, 2, "bad-count"),
    "right ones not a number": (4, NAN, "bad-count"),
    "without end": (INFINITY, 2, "bad-count"),
    "a million millions": (10**12, 10**11, "too-many-samples"),
    "of eighteen digits": (10**18, 1, "too-many-samples"),
    "one too many": (2**16 + 1, 5, "too-many-samples"),
}


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("what", sorted({*drawn(COUNTS, 4), "a half", "a million millions"}))
def test_counts_that_are_none_are_refused(run: Any, tmp_path: Path, what: str, suffix: str) -> None:
    n, c, slug = COUNTS[what]
    counts = [{"problem": f"p{i}", "n": 4, "c": 2} for i in range(4)]
    counts.append({"problem": "p4", "n": n, "c": c})
    with processor_time(20):
        assert_refused(run, slug, "samples", written(tmp_path / f"a.{suffix}", counts))


def test_counts_in_any_notation(run: Any, tmp_path: Path) -> None:
    plain = [{"problem": f"p{i}", "n": 4, "c": 1 + i % 2} for i in range(4)]
    expected, _ = rows_of(run, "samples", written(tmp_path / "a.jsonl", plain))
    for number in (float, str, lambda count: f" {count}.0"):
        others = [{**row, "n": number(row["n"]), "c": number(row["c"])} for row in plain]
        assert rows_of(run, "samples", written(tmp_path / "b.jsonl", others))[0] == expected
    answers = [{"problem": "p", "answer": "x", "right": True, "n": 10**9}]
    assert_refused(run, "too-many-samples", "samples", written(tmp_path / "c.jsonl", answers))


@pytest.mark.parametrize("second", ["right", "Right"])
def test_two_columns_of_one_name_are_refused(run: Any, tmp_path: Path, second: str) -> None:
    """Engines do not distinguish the case of letters: they would read one of them under either name."""
    header = ["problem", "right", "answer", second]
    rows = [{**row, "x": 1 - row["right"]} for row in sampled(3)]
    delimited(tmp_path / "a.csv", rows, header=header)
    columns = list(pa.Table.from_pylist(rows).columns)
    pq.write_table(pa.Table.from_arrays(columns, names=header), tmp_path / "a.parquet")
    lines = [json.dumps(row).replace('"x"', f'"{second}"') for row in rows]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        slug = "file-corrupt" if (name, second) == ("a.jsonl", "right") else "columns-repeat"
        assert_refused(run, slug, "samples", name)
        assert_refused(run, slug, "samples", name, "--right", second)
    entropies = [{**row, "x": 1.0} for row in tokens(0.3)]
    names = ["step", "response", "entropy", second.replace("right", "entropy").replace("Right", "Entropy")]
    columns = list(pa.Table.from_pylist(entropies).columns)
    pq.write_table(pa.Table.from_arrays(columns, names=names), tmp_path / "t.parquet")
    assert_refused(run, "columns-repeat", "tokens", "t.parquet")


def test_names_that_are_not_used_may_repeat_or_be_empty(run: Any, tmp_path: Path) -> None:
    expected, _ = rows_of(run, "samples", written(tmp_path / "a.jsonl", sampled(3)))
    rows = [{**row, "x": 1, "y": 2} for row in sampled(3)]
    for last in (["x", "x"], ["", ""], ["X", "x"]):
        header = ["problem", "right", "answer", *last]
        assert rows_of(run, "samples", delimited(tmp_path / "b.csv", rows, header=header))[0] == expected


FORMS: dict[str, dict[str, Any]] = {
    "semicolons": {"mark": ";"},
    "bars": {"mark": "|"},
    "tabs": {"mark": "\t"},
    "quotes": {"mark": ";", "quoting": csv.QUOTE_ALL},
    "other ends": {"end": "\r\n"},
    "old ends": {"end": "\r"},
    "blanks in the header": {"header": [" problem", "right ", "\tanswer"]},
}


@pytest.mark.parametrize("form", FORMS)
def test_csv_in_any_form(run: Any, tmp_path: Path, form: str) -> None:
    rows = [{**row, "answer": f'{row["answer"]}, "{row["problem"]}"'} for row in sampled(3)]
    expected, _ = rows_of(run, "samples", written(tmp_path / "a.jsonl", rows))
    path = delimited(tmp_path / "b.csv", rows, **FORMS[form])
    assert rows_of(run, "samples", path)[0] == expected
    content = path.read_bytes()
    for name, changed in {"bom.csv": b"\xef\xbb\xbf" + content, "blank.csv": b"\n\n" + content}.items():
        (tmp_path / name).write_bytes(changed)
        assert rows_of(run, "samples", tmp_path / name)[0] == expected, name
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(content))
    assert rows_of(run, "samples", tmp_path / "c.csv.gz")[0] == expected


@pytest.mark.parametrize("content", [
    b"problem,right,answer\np0,1\np1,0,a\n",
    b"problem,right,answer\np0,1,a,b\np1,0,a\n",
    b'problem,right,answer\np0,1,"a\np1,0,a\n',
    "problem,right,answer\np0,1,é\n".encode("latin-1"),
    "problem,right,answer\np0,1,a\n".encode("utf-16"),
    b"problem,right,answer\n",
    b'"' + b"x" * (1 << 18),
    b"problem,right\x00,answer\np0,1,a\n",
])  # fmt: skip
def test_csv_that_is_damaged_is_refused(run: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    done = run("samples", "a.csv")
    assert (done.returncode, "error[bug]" in done.stderr, "error[" in done.stderr) == (3, False, True)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_white_space_at_the_ends_of_an_id_is_left_out(run: Any, tmp_path: Path, suffix: str) -> None:
    expected, _ = rows_of(run, "samples", written(tmp_path / f"a.{suffix}", sampled(3)))
    ends = ("", " ", "\t")
    padded = [{**row, "problem": row["problem"] + ends[i % 3]} for i, row in enumerate(sampled(3))]
    rows, said = rows_of(run, "samples", written(tmp_path / f"b.{suffix}", padded))
    assert rows == expected
    assert "note: 16 rows with white space at the ends of 'problem', which is left out" in said
    blank = [{**row, "problem": " "} for row in sampled(3)]
    assert_refused(run, "no-problem", "samples", written(tmp_path / f"c.{suffix}", blank))


def test_numbers_of_tokens_that_are_not_finite_are_unknown(run: Any, tmp_path: Path) -> None:
    lengths = [10.0, INFINITY, NAN, 20.0]
    rows = [{**row, "tokens": lengths[i % 4]} for i, row in enumerate(sampled(3))]
    (row,), said = rows_of(run, "samples", written(tmp_path / "a.jsonl", rows))
    assert row["tokens"] == 15.0
    assert "note: 12 samples without a number of tokens, left out of their mean" in said


def test_a_column_of_any_name_does_not_replace_ours(run: Any, tmp_path: Path) -> None:
    """Prompts are read in a query of its own, which adds columns."""
    question = "How many primes are there below one hundred and one? " * 2
    rows = [{"prompt": question + row["problem"], "right": row["right"]} for row in sampled(3)]
    expected, _ = rows_of(run, "samples", written(tmp_path / "a.parquet", rows))
    others = [{**row, "prompt_text": "x", "place": 0} for row in rows]
    assert rows_of(run, "samples", written(tmp_path / "b.parquet", others))[0] == expected


def test_an_error_of_the_engine_names_the_file(run: Any, tmp_path: Path) -> None:
    rows = [{"step": 1, "entropy": [0.1]}] * 1001
    late = written(tmp_path / "[1].jsonl", [*rows, {"step": "soon", "entropy": [0.1]}])
    error = assert_refused(run, "file-corrupt", "tokens", late)
    assert '"[1].jsonl"' in error or "[1].jsonl" in error
    assert "entropylaw-tokens" not in error
