"""Tables of samples and tokens under hostile names: no engine takes a name for a pattern or for columns."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from tests.conftest import drawn

NAMES = {
    "exp[1]": "exp1",
    "exp[a-z]": "expb",
    "exp[!x]": "expy",
    "*": "star",
    "a*": "ab",
    "**": "deep",
    "?": "q",
    "a?c": "abc",
    "{a,b}": "a",
    "x{1..3}": "x1",
    "it's": "its",
    'a"b': "ab",
    "a`b": "ab",
    "a b": "ab",
    " leading": "leading",
    "trailing ": "trailing",
    "100%": "100",
    "%41": "A",
    "a%20b": "a b",
    "$HOME": "home",
    "${x}": "x",
    "#1": "1",
    "a#b": "a",
    "a\nb": "ab",
    "a\tb": "ab",
    "-rf": "rf",
    "--right": "right",
    "é日本": "e",
    "e\u0301": "\u00e9",
    "a=b": "ab",
    "right=true": "right",
    "problem=p0": "problem",
    "entropy=2.5": "entropy",
    "..a": "a",
    "...": "dots",
    "a..": "a",
    "a.": "a",
    "~": "home",
    "~root": "root",
    "a\\b": "ab",
    "a;b": "ab",
    "a|b": "ab",
    "a&b": "ab",
    "a:b": "ab",
    "a::b": "ab",
    "file:x": "x",
    "s3:x": "x",
    "!": "bang",
    "n" * 200: "n",
    "null": "none",
}
"""The name of a file and of its folder, and that of a decoy, which a pattern of that name could match."""


def sampled(right: int) -> list[dict[str, Any]]:
    """Samples of which every third or every one is right, whose answers are of one kind or of two."""
    return [
        {"problem": f"p{i}", "right": int((i + j) % right == 0), "answer": f"a{j % right}"}
        for i in range(6)
        for j in range(4)
    ]


def tokens(entropy: float) -> list[dict[str, Any]]:
    return [
        {"step": step, "response": response, "entropy": entropy + step / 10}
        for step in range(2)
        for response in range(3)
        for _ in range(4)
    ]


ROWS = {"samples": (sampled(3), sampled(1)), "tokens": (tokens(0.3), tokens(2.0))}


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Rows in the format of the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        with path.open("wb") as file:
            pq.write_table(pa.Table.from_pylist(rows), file)
    elif path.suffix == ".feather":
        with path.open("wb") as file:
            feather.write_feather(pa.Table.from_pylist(rows), file)
    elif path.suffix == ".csv":
        table = io.StringIO()
        columns = csv.DictWriter(table, [*rows[0]], lineterminator="\n")
        columns.writeheader()
        columns.writerows(rows)
        path.write_text(table.getvalue(), encoding="utf-8")
    else:
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(pa.compress(data, codec="zstd", asbytes=True) if path.suffix == ".zst" else data)
    return path


def numbers(run: Any, command: str, *arguments: Any) -> Any:
    """The rows that a command makes of some files."""
    done = run(command, "--format", "json", "-q", "--", *arguments, code=0)
    document = json.loads(done.stdout)
    return document["rows"] if command == "samples" else document["steps"]


FORMS = [
    (command, suffix)
    for command in ("samples", "tokens")
    for suffix in ("parquet", "jsonl", "csv", "feather", "jsonl.zst")
    if (command, suffix) != ("tokens", "csv")
]


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_the_file_with_that_name_is_read(run: Any, tmp_path: Path, form: tuple[str, str]) -> None:
    """As a file, as a folder and of both, with decoys beside them that a pattern would match."""
    command, suffix = form
    rows, others = ROWS[command]
    plain = written(tmp_path / f"plain.{suffix}", rows)
    expected = numbers(run, command, plain)
    for number, name in enumerate(sorted({"exp[1]", *drawn(NAMES, 2)})):
        place = tmp_path / str(number)
        file = written(place / name / f"{name}.{suffix}", rows)
        written(place / NAMES[name] / f"{NAMES[name]}.{suffix}", others)
        assert numbers(run, command, file) == expected, name
        if name.startswith("."):
            # A hidden file is none of its folder.
            assert run(command, file.parent).returncode == 3
            continue
        assert numbers(run, command, file.parent) == expected, name
        relative = f"./{name}" if name.startswith("-") else name
        done = run(command, "--format", "json", "-q", relative, cwd=place, code=0)
        document = json.loads(done.stdout)
        files = document["tables"] if command == "samples" else document["read"]["files"]
        assert [entry["name"] for entry in files] == [f"{name}.{suffix}"]
        assert document["rows" if command == "samples" else "steps"] == expected, name


def test_a_step_that_a_folder_says_is_that_of_its_file(run: Any, tmp_path: Path) -> None:
    """Of several files in one call each has its own step, also where their names are patterns."""
    for step, right in ((1, 3), (2, 1)):
        written(tmp_path / "runs" / f"step_{step}" / "s[12].jsonl", sampled(right))
    rows = {row["step"]: row["pass@1"] for row in numbers(run, "samples", tmp_path / "runs")}
    assert rows == {1: pytest.approx(1 / 3), 2: 1.0}
    files = sorted((tmp_path / "runs").glob("*/*.jsonl"))
    assert {row["step"]: row["pass@1"] for row in numbers(run, "samples", *files)} == rows


@pytest.mark.parametrize("folder", ["a[1]", "a*", "a{b,c}", "it's", "a?", "a**", "right=0", "entropy=9"])
def test_the_folder_for_temporary_files_may_have_any_name(run: Any, tmp_path: Path, folder: str) -> None:
    (tmp_path / "a1").mkdir()
    place = tmp_path / folder
    place.mkdir()
    one = written(tmp_path / "step_1.parquet", sampled(3))
    two = written(tmp_path / "step_2.parquet", sampled(1))
    expected = numbers(run, "samples", one, two)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(place))
        assert numbers(run, "samples", one, two) == expected
        table = written(tmp_path / "t.parquet", tokens(0.3))
        first, _ = numbers(run, "tokens", table)
        assert first["entropy"] == pytest.approx(0.3, abs=1e-8)
    assert not list(place.iterdir())


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_no_folder_replaces_a_column_and_by_takes_its_key(run: Any, tmp_path: Path, suffix: str) -> None:
    one = written(tmp_path / "a" / "right=true" / "model=m%201" / f"s.{suffix}", sampled(3))
    (row,) = numbers(run, "samples", tmp_path / "a")
    assert row["pass@1"] == pytest.approx(1 / 3)
    assert "model" not in row
    written(tmp_path / "a" / "right=false" / "model=m2" / f"s.{suffix}", sampled(1))
    done = run("samples", "a")
    assert "note: every problem has each of 'model' ('m 1', 'm2'): a row for each" in done.stderr
    done = run("samples", "a", "--format", "json", "-q")
    rows = {row["model"]: row["pass@1"] for row in json.loads(done.stdout)["rows"]}
    assert rows == {"m 1": pytest.approx(1 / 3), "m2": 1.0}
    # The key of an argument's own folder, too.
    done = run("samples", str(one), "--by", "model", "--format", "json", "-q")
    assert [row["model"] for row in json.loads(done.stdout)["rows"]] == ["m 1"]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_tokens_take_the_step_of_a_folder_alone(run: Any, tmp_path: Path, suffix: str) -> None:
    for step in (3, 4):
        without = [{"response": i, "entropy": 0.1 * step} for i in range(4)]
        written(tmp_path / "a" / f"step={step}" / "entropy=9" / "correct=1" / f"t.{suffix}", without)
    done = run("tokens", "a", "--format", "json")
    assert "note: column 'step' is that of the folders' names" in done.stderr
    document = json.loads(done.stdout)
    assert [row["step"] for row in document["steps"]] == [3, 4]
    assert document["steps"][0]["entropy"] == pytest.approx(0.3, abs=1e-8)
    assert "correct" not in document["columns"]
    done = run("tokens", "a", "--correct", "correct", "--format", "json", "-q")
    assert json.loads(done.stdout)["columns"]["correct"] == "correct"
    # A column of the file comes before a folder's key.
    written(tmp_path / "b" / "step=9" / f"t.{suffix}", tokens(0.3))
    assert [row["step"] for row in numbers(run, "tokens", tmp_path / "b")] == [0, 1]
