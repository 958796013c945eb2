"""Folders of samples and tokens: every file is read once, or named with the reason, and gates know it."""

import bz2
import gzip
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from tests.conftest import drawn
from tests.typed import assert_says
from tests.unit.test_table_names import sampled, tokens, written

ROWS = {"samples": sampled(3), "tokens": tokens(0.3)}
READ = {"samples": "rows", "tokens": "steps"}


def document(run: Any, command: str, *arguments: Any) -> tuple[dict[str, Any], str]:
    """The document of a command, and what it says."""
    done = run(command, "--format", "json", *arguments, code=0)
    return json.loads(done.stdout), done.stderr


def unread(document: dict[str, Any]) -> dict[str, str]:
    """What was not read → its fate."""
    files = document.get("unread") or document.get("read", {}).get("unread", ())
    return {file["name"]: file["fate"] for file in files}


def cut_at_a_line(path: Path, rows: list[dict[str, Any]]) -> None:
    """JSON lines in Zstandard that break off where a block ends, and so perhaps a line."""
    data = "".join(json.dumps(row) + "\n" for row in rows * 3000).encode()
    path.write_bytes(pa.compress(data, codec="zstd", asbytes=True)[:-20])


def arrow_cut(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("wb") as file:
        feather.write_feather(pa.Table.from_pylist(rows), file)
    os.truncate(path, 300)


def compressed(path: Path, rows: list[dict[str, Any]]) -> None:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(bz2.compress(data) if path.suffix == ".bz2" else gzip.compress(data)[:-9])


REFUSED: dict[str, tuple[str, Callable[[Path, list[dict[str, Any]]], Any], str]] = {
    "an empty file": ("b.jsonl", lambda path, rows: path.touch(), "file-empty"),
    "a link to nothing": ("b.jsonl", lambda path, rows: path.symlink_to("nowhere"), "file-not-found"),
    "a folder's link to nothing": ("b", lambda path, rows: path.symlink_to("nowhere"), "file-not-found"),
    "a pipe": ("b.jsonl", lambda path, rows: os.mkfifo(path), "file-unreadable"),
    "a pickle": ("b.pkl", lambda path, rows: path.write_bytes(pickle.dumps(rows)), "pickle-not-opened"),
    "weights or rows": ("b.pt", lambda path, rows: path.write_bytes(b"x"), "pickle-not-opened"),
    "another compression": ("b.jsonl.bz2", compressed, "format-not-read"),
    "another format": ("b.orc", lambda path, rows: path.write_bytes(b"ORC"), "format-not-read"),
    "a copy set aside": ("b.jsonl.bak", lambda path, rows: path.write_bytes(b"x"), "format-not-read"),
    "a file without suffix": ("part-0", lambda path, rows: path.write_bytes(b'{"x": 1}'), "format-not-read"),
    "a part of text": (
        "part-00000",
        lambda path, rows: path.write_text("problem,right\n"),
        "format-not-read",
    ),
    "lines of JSON with another suffix": ("b.jsonlines", written, "format-not-read"),
    "lines of JSON called a text": ("b.txt", written, "format-not-read"),
    "a table of tabs": ("b.tab", lambda path, rows: path.write_text("problem\tright\n"), "format-not-read"),
    "an underscore": ("_b.jsonl", written, "file-set-aside"),
    "Parquet without its end": ("b.parquet", lambda path, rows: path.write_bytes(b"PAR1x"), "file-corrupt"),
    "a pointer of Git LFS": ("b.jsonl", lambda path, rows: path.write_bytes(b"version"), "file-corrupt"),
    "gzip that breaks off": ("b.csv.gz", compressed, "file-corrupt"),
    "Zstandard that breaks off": ("b.jsonl.zst", cut_at_a_line, "file-corrupt"),
    "Arrow that breaks off": ("b.feather", arrow_cut, "file-corrupt"),
}
"""What a folder may hold → its name, what writes it, and the slug of its error."""

ALWAYS = {"a link to nothing", "Zstandard that breaks off", "an empty file", "lines of JSON called a text"}


@pytest.mark.parametrize("command", READ)
@pytest.mark.parametrize("what", sorted({*drawn(REFUSED, 4), *ALWAYS}))
def test_what_cannot_be_read_is_named(run: Any, tmp_path: Path, what: str, command: str) -> None:
    name, make, slug = REFUSED[what]
    rows = ROWS[command]
    written(tmp_path / "runs" / "a.jsonl", rows)
    expected, _ = document(run, command, "runs")
    make(tmp_path / "runs" / name, [{**row, "response": 99, "problem": "q"} for row in rows])
    found, said = document(run, command, "runs")
    assert found[READ[command]] == expected[READ[command]]
    assert unread(found) == {name: "refused"}
    # Tokens are read of no CSV.
    expected_slug = "format-not-read" if (command, name) == ("tokens", "b.csv.gz") else slug
    assert_says(said, f"error[{expected_slug}]: ", f"'{name}'")


def test_copies_of_one_name_are_named_by_their_paths(run: Any, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        written(tmp_path / folder / "a.jsonl", sampled(1))
    done = run("samples", "one/a.jsonl", "two/a.jsonl", "-o", "s.json")
    assert "two/a.jsonl has the same content as one/a.jsonl, which is read once" in done.stderr


@pytest.mark.parametrize("command", READ)
def test_what_cannot_be_read_makes_gates_unknown(run: Any, tmp_path: Path, command: str) -> None:
    """On a document, on a table that is joined, and on a table as a log."""
    folder = tmp_path / "runs"
    rows = [{**row, "step": step} for step in range(8) for row in ROWS[command] if not row.get("step")]
    written(folder / "a.jsonl", rows)
    log = written(tmp_path / "log.csv", [{"step": s, "entropy": 1 / (s + 1), "acc": s} for s in range(8)])
    for name in ("whole", "part"):
        outputs = [word for suffix in ("json", "parquet") for word in ("-o", f"{name}.{suffix}")]
        for output in (outputs[:2], outputs[2:]):
            assert run(command, "runs", *output).returncode == 0
        (folder / "b.jsonl").touch()
    if command == "samples":
        run("check", "whole.json", "--fail-if", "pass@1>0.99", code=0)
        for gate in ("pass@1>0.99", "none_right>0.9"):
            failed = run("check", "part.json", "--fail-if", gate, code=5)
            assert "1 file was not read: 'b.jsonl' has 0 bytes" in failed.stdout
    else:
        failed = run("check", "part.parquet", "--reward", "tokens", "--fail-if", "n<9")
        assert "was written by entropylaw without all of its files: 'b.jsonl' has 0 bytes" in failed.stdout
    column = "pass@1" if command == "samples" else "entropy_sd"
    joined = {
        name: run("fit", log, "--join", f"{name}.parquet", "--reward", column) for name in ("whole", "part")
    }
    assert "table-incomplete" not in joined["whole"].stderr
    assert (joined["part"].returncode, "error[table-incomplete]" in joined["part"].stderr) == (3, True)


def test_what_the_other_table_lacks_makes_gates_unknown(run: Any, tmp_path: Path) -> None:
    written(tmp_path / "now.jsonl", sampled(1))
    written(tmp_path / "base" / "a.jsonl", sampled(3))
    (tmp_path / "base" / "b.jsonl").touch()
    assert run("samples", "now.jsonl", "--against", "base", "-o", "x.json").returncode == 0
    failed = run("check", "x.json", "--fail-if", "pass@1.difference<-0.9")
    assert (failed.returncode, "'b.jsonl' has 0 bytes" in failed.stdout) == (5, True)


COPIES: dict[str, Callable[[Path], Any]] = {
    "copy.jsonl": lambda path: shutil.copy(path.parent / "a.jsonl", path),
    "hard.jsonl": lambda path: os.link(path.parent / "a.jsonl", path),
    "soft.jsonl": lambda path: path.symlink_to("a.jsonl"),
    "a.jsonl.gz": lambda path: path.write_bytes(gzip.compress((path.parent / "a.jsonl").read_bytes())),
    "below/a.jsonl": lambda path: (path.parent.mkdir(), shutil.copy(path.parents[1] / "a.jsonl", path)),
}


@pytest.mark.parametrize("command", READ)
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_read_once(run: Any, tmp_path: Path, command: str, name: str) -> None:
    written(tmp_path / "runs" / "a.jsonl", ROWS[command])
    expected, _ = document(run, command, "runs")
    COPIES[name](tmp_path / "runs" / name)
    found, said = document(run, command, "runs")
    assert found[READ[command]] == expected[READ[command]]
    assert unread(found) == {name: "copy"}
    assert f"note: '{name}' has the same content as 'a.jsonl', which is read once" in said


def test_the_same_content_of_another_step_or_group_is_no_copy(run: Any, tmp_path: Path) -> None:
    for place in ("r0/step_1", "r0/step_2", "r1/step_1"):
        written(tmp_path / "runs" / place / "a.jsonl", sampled(3))
    found, said = document(run, "samples", "runs")
    assert [(row["step"], row["samples"]) for row in found["rows"]] == [(1, 24), (2, 24)]
    assert "has the same content as 'r0/step_1/a.jsonl', of another step or group: both are read" in said
    found, _ = document(run, "samples", "runs", "--by", "run")
    assert not unread(found)
    written(tmp_path / "t" / "step=1" / "a.jsonl", [{"entropy": 0.1}] * 3)
    written(tmp_path / "t" / "step=2" / "a.jsonl", [{"entropy": 0.1}] * 3)
    found, _ = document(run, "tokens", "t")
    assert [row["tokens"] for row in found["steps"]] == [3, 3]


NO_TABLES = ("README.md", "curve.png", "config.yaml", ".b.jsonl", "_SUCCESS", "model.safetensors", "x.log")


@pytest.mark.parametrize("command", READ)
def test_what_is_plainly_no_table_is_not_named(run: Any, tmp_path: Path, command: str) -> None:
    folder = written(tmp_path / "runs" / "a.jsonl", ROWS[command]).parent
    for name in NO_TABLES:
        (folder / name).write_bytes(b"\x00 step 1")
    texts = {
        "config.json": '{"model": "x"}',
        "b.toml": "[section]\n",
        "README.md": "# Samples, of a run\n",
        "c.ipynb": '{"cells": []}',
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    found, _ = document(run, command, "runs")
    assert unread(found) == {"config.json": "skipped"}


@pytest.mark.parametrize("command", READ)
def test_further_formats_are_read(run: Any, tmp_path: Path, command: str) -> None:
    """Zstandard of several frames, Feather, Arrow's files and streams; and what of them is too large."""
    rows = ROWS[command]
    expected, _ = document(run, command, written(tmp_path / "plain.jsonl", rows))
    lines = ["".join(json.dumps(row) + "\n" for row in part).encode() for part in (rows[:5], rows[5:])]
    frames = b"".join(pa.compress(part, codec="zstd", asbytes=True) for part in lines)
    (tmp_path / "frames.jsonl.zst").write_bytes(frames)
    written(tmp_path / "one.feather", rows)
    table = pa.Table.from_pylist(rows)
    with (
        (tmp_path / "stream.arrow").open("wb") as file,
        pa.ipc.new_stream(file, table.schema) as stream,
    ):
        stream.write_table(table, max_chunksize=7)
    for name in ("frames.jsonl.zst", "one.feather", "stream.arrow"):
        assert document(run, command, name)[0][READ[command]] == expected[READ[command]], name
    (tmp_path / "bomb.jsonl.zst").write_bytes(pa.compress(b" " * (1 << 25), codec="zstd", asbytes=True))
    assert "error[archive-too-large]" in run(command, "bomb.jsonl.zst").stderr


@pytest.mark.parametrize("command", READ)
def test_what_we_wrote_is_no_table_and_no_input_is_replaced(run: Any, tmp_path: Path, command: str) -> None:
    written(tmp_path / "runs" / "a.parquet", ROWS[command])
    expected, _ = document(run, command, "runs")
    assert run(command, "runs", "-o", "runs/steps.parquet").returncode == 0
    found, said = document(run, command, "runs")
    assert found[READ[command]] == expected[READ[command]]
    assert unread(found) == {"steps.parquet": "skipped"}
    assert "note: 'steps.parquet' was written by entropylaw" in said
    replaced = run(command, "runs", "-o", "runs/a.parquet")
    assert (replaced.returncode, "error[output-is-input]" in replaced.stderr) == (2, True)
    assert run(command, "runs/steps.parquet").returncode == 3


def test_a_name_that_is_not_utf_8_is_refused_by_name(run: Any, tmp_path: Path) -> None:
    written(tmp_path / "runs" / "a.jsonl", sampled(3))
    hostile = os.fsencode(tmp_path / "runs") + b"/b\xff.jsonl"
    with open(hostile, "wb") as file:  # noqa: PTH123  pathlib has no names of bytes
        file.write(b'{"problem": 1, "right": true}\n')
    done = run("samples", "runs", "-o", "x.json")
    assert (done.returncode, "error[name-not-utf8]" in done.stderr) == (0, True)
    assert run("check", "x.json", "--fail-if", "pass@1<0.1").returncode == 5


def test_arguments_are_gathered_too(run: Any, tmp_path: Path) -> None:
    """One that is not there is named, and does not stop the others; a pattern matches folders."""
    written(tmp_path / "runs" / "a.jsonl", sampled(3))
    found, said = document(run, "samples", "r*", "nowhere.jsonl")
    assert [table["name"] for table in found["tables"]] == ["a.jsonl"]
    assert unread(found) == {"nowhere.jsonl": "refused"}
    assert "error[file-not-found]: there is no file or folder nowhere.jsonl" in said
    assert run("samples", "nowhere.jsonl").returncode == 3
    (tmp_path / "empty").mkdir()
    found, _ = document(run, "samples", "runs", "empty")
    assert unread(found) == {"empty": "refused"}
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert "error[file-unreadable]" in run("samples", "pipe.jsonl").stderr


def test_a_file_without_verdicts_is_named_where_others_have_them(run: Any, tmp_path: Path) -> None:
    written(tmp_path / "runs" / "a.jsonl", sampled(3))
    written(tmp_path / "runs" / "b.jsonl", [{"problem": "x", "text": "y"}] * 2)
    found, said = document(run, "samples", "runs")
    assert unread(found) == {"b.jsonl": "refused"}
    assert "error[no-verdict-column]: 'b.jsonl' has no column with verdicts" in said


def test_details_and_pages_have_every_file(run: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "runs" / "a.jsonl", sampled(3))
    shutil.copy(path, tmp_path / "runs" / "b.jsonl")
    (tmp_path / "runs" / "c.jsonl").touch()
    size = f"{path.stat().st_size:,}"
    details = run("samples", "runs", "--details").stdout
    assert [line.split() for line in details.splitlines() if ".jsonl " in line][-3:] == [
        ["a.jsonl", size],
        ["b.jsonl", "copy"],
        ["c.jsonl", "refused"],
    ]
    assert run("samples", "runs", "-o", "x.md", "-o", "x.html").returncode == 0
    for name in ("x.md", "x.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert_says(text, "has 0 bytes", "which is read once")
    columns = run("samples", "columns", "runs").stdout
    assert "not read          'c.jsonl' has 0 bytes" in columns


def test_the_parquet_of_samples_says_what_was_read(run: Any, tmp_path: Path) -> None:
    written(tmp_path / "runs" / "a.jsonl", sampled(3))
    (tmp_path / "runs" / "b.jsonl").touch()
    assert run("samples", "runs", "-o", "x.parquet").returncode == 0
    about = json.loads(pq.read_schema(tmp_path / "x.parquet").metadata[b"entropylaw"])
    assert [file["name"] for file in about["read"]["files"]] == ["a.jsonl"]
    assert [file["name"] for file in about["read"]["unread"]] == ["b.jsonl"]
