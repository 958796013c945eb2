"""Readers on files that are cut off, damaged, otherwise encoded, empty, or another program's."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from entropylaw.logs.runs.number_parsing import parse_column
from entropylaw.logs.sources.content import Content, load
from entropylaw.logs.sources.registry import READERS, find_reader, reader_of
from tests.conftest import NIGHTLY, drawn
from tests.hostile import flipped, refused, rows_or_refusal
from tests.unit import test_ingest_consoles_a as consoles_a
from tests.unit import test_ingest_consoles_b as consoles_b
from tests.unit import test_ingest_forks as forks
from tests.unit import test_ingest_mlflow as mlflow
from tests.unit import test_ingest_notebook as notebooks
from tests.unit import test_ingest_tensorboard_csv as tensorboard
from tests.unit import test_ingest_trackio as trackio
from tests.unit import test_ingest_trainer_state as trainer_state
from tests.unit import test_ingest_trl_console as trl
from tests.unit import test_ingest_wandb_exports as wandb

VERL = forks.verl(1, {"actor/entropy": 0.3, "critic/score/mean": 0.1})
CONSOLES = [
    ("verl", VERL * 3),
    *((consoles_a.reader_of(name), text) for name, text in consoles_a.WHOLE.items()),
    *((consoles_a.reader_of(name), text) for name, texts in consoles_b.TEXTS.items() for text in texts),
    (
        "trl",
        trl.buffered(trl.terminal(every=2, evaluations=(4, 8)) + trl.wiped(20) + trl.SUMMARY, 3)[0]
        + "\n"
        + trl.bar(20),
    ),
]
#: Reader, name of the file, content.
SAMPLES = [
    *((name, "train.log", text) for name, text in CONSOLES),
    ("trainer-state", "trainer_state.json", trainer_state.SMALL),
    ("tensorboard-csv", tensorboard.NAME, tensorboard.CSV),
    ("tensorboard-csv", tensorboard.NAME, tensorboard.JSON),
    ("wandb-chart", "x.csv", wandb.hostile_chart()),
    ("ipynb", "n.ipynb", notebooks.small([1, 2, 3]).decode()),
]
# In these formats, the last number of a file has no mark at its end: one that was cut off may be half of it.
UNMARKED = {"verl", "prime-rl", "easyr1", "tensorboard-csv"}


def each_sample(samples):
    return pytest.mark.parametrize(("reader", "name", "text"), samples, ids=[one[0] for one in samples])


def read(reader, name, data):
    return reader_of(reader).read(Content(name, data if isinstance(data, bytes) else data.encode()))


def numbers(table):
    return {name: parse_column(cells).values for name, cells in table.columns.items()}


@each_sample(SAMPLES[:-1])
def test_no_console_reads_the_file_of_another(reader, name, text):
    content = Content(name, b"loading\r\n" * (name == "train.log") + text.replace("\n", "\r\n").encode())
    found_reader, notes = find_reader(content)
    assert found_reader.name == reader
    if reader in consoles_b.TEXTS:
        assert notes == ()
    # Any text with names and numbers is read, after all others.
    consoles = {one for one, _ in CONSOLES} - {"text"}
    found = [one.name for one in READERS if one.name in consoles and one.recognises(content)]
    assert found == [reader] * (reader in consoles)


def written(text):
    """A text with the line ends of Windows, and in every wider encoding, with its mark."""
    yield text.replace("\r\n", "\n").replace("\n", "\r\n").encode()
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        yield ("\ufeff" + text).encode(encoding)


@each_sample(SAMPLES)
def test_line_ends_and_encodings_change_nothing(reader, name, text):
    expected = numbers(read(reader, name, text))
    for data in written(text):
        content = Content(name, data)
        assert reader_of(reader).recognises(content)
        assert find_reader(content)[0].name == reader
        np.testing.assert_equal(numbers(read(reader, name, data)), expected)


@pytest.mark.parametrize("letter", ["a", "é", "中"])
def test_a_note_names_an_encoding_that_is_not_utf8(letter):
    text = f"step,entropy,reward,{letter}\n" + "".join(f"{step},0.{step},0.5,1\n" for step in range(10, 40))
    for name, wide in (("UTF-16", "utf-16"), ("UTF-32", "utf-32")):
        marked = read("csv", "x.csv", text.encode(wide))
        assert marked.notes == (f"the file is {name}",)
        assert list(marked.columns) == ["step", "entropy", "reward", letter]


def test_what_cannot_be_decoded_is_said():
    data = "step,entropy,reward\n1,0.5,0.1\n2,0.4,0.2\n".encode("utf-32") + b"\xff\xff\xff\xff"
    assert "1 line with bytes that are not UTF-32; these were replaced" in read("csv", "x.csv", data).notes


@each_sample(SAMPLES)
def test_a_file_cut_anywhere_gives_complete_values_only(reader, name, text):
    data = text.encode()
    known = {column: set(cells) for column, cells in numbers(read(reader, name, data)).items()}
    rows = []
    ends = range(len(data) + 1) if len(data) < 2000 else [len(data) * part // 100 for part in range(101)]
    for end in sorted({0, len(data), *drawn(ends, 40)}):
        rows.append(rows_or_refusal(lambda part: read(reader, name, part), data[:end]))
        for column, cells in numbers(read(reader, name, data[:end])).items() if rows[-1] else ():
            odd = [cell for cell in cells[~np.isnan(cells)] if cell not in known.get(column, ())]
            assert len(odd) <= (reader in UNMARKED) or column == "step"
    assert rows == sorted(rows)
    assert rows[0] == 0 < rows[-1]


def databases():
    """Of small pages and several runs, so that damage meets trees of pages, indexes and the schema."""
    runs = {(letter * 32, f"run {letter}", "active"): mlflow.values(range(1, 30)) for letter in "abc"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        mlflow.write_database(path, runs, schema="PRAGMA page_size = 512;" + mlflow.SCHEMA)
        return [("mlflow-db", "a.db", path.read_bytes()), ("trackio", "a.db", trackio.DATABASES["a run"])]


@each_sample([*SAMPLES, *databases()])
def test_flipped_bits_and_a_database_cut_anywhere_give_rows_or_a_refusal(reader, name, text, tmp_path):
    data, found = text if isinstance(text, bytes) else text.encode(), []
    whole = rows_or_refusal(lambda part: read(reader, name, part), data)
    flips = drawn(flipped(data), 30)
    copies = [*flips]
    if name.endswith(".db"):
        # The schema is on the first pages.
        copies += [head + data[2048:] for head in drawn(flipped(data[:2048]), 30)]
        copies += [data[: len(data) * part // 100] for part in drawn(range(100), 30)]
    for copy in copies:
        reader_of(reader).recognises(Content(name, copy))
        found.append(rows_or_refusal(lambda part: read(reader, name, part), copy))
        if copy.startswith(b"SQLite format 3\0") and copy in flips:
            # SQLite itself reads a file.
            (tmp_path / name).write_bytes(copy)
            content = load(str(tmp_path / name))
            assert rows_or_refusal(reader_of(reader).read, content) == found[-1]
    assert whole in found
    if NIGHTLY and reader in consoles_a.WHOLE:
        assert sum(rows > 0 for rows in found) > 2 * len(found) / 3


@pytest.mark.parametrize("reader", sorted({name for name, _ in CONSOLES}))
@pytest.mark.parametrize("data", [b"", b"\0" * 9, b"nothing of the kind\n", b"Step 3: \n{'", b"\xff\xfe"])
def test_a_console_without_a_record_is_refused(reader, data):
    refused("no-records", read, reader, "x.log", data)


def test_a_dict_with_more_pairs_than_metrics_have_is_left_out():
    pairs = "".join(f", 'k{number}': 1" for number in range(9_000))
    table = read("trl", "x.log", f"{trl.entry(1)[:-1]}{pairs}}}\n{trl.entry(2)}\n")
    assert (table.rows, len(table.columns)) == (1, 6)
