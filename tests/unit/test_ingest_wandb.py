"""W&B's transaction log: written byte by byte, written by wandb, damaged, and hostile."""

import contextlib
import json
import math
import random
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from entropylaw.errors import InputError
from entropylaw.ingest import read_runs
from entropylaw.ingest.readers.trackers import DAMAGED, UNREADABLE
from entropylaw.ingest.readers.trackers.wandb import UNREADABLE_VALUE
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.registry import reader_of
from tests.conftest import PUBLIC_LOGS
from tests.fuzz.binary import WANDB_BLOCK as BLOCK
from tests.fuzz.binary import WANDB_HEADER as HEADER
from tests.fuzz.binary import wandb_frame as frame
from tests.fuzz.binary import wandb_frames as log
from tests.hostile import field, refused, varint

REAL = sorted(PUBLIC_LOGS.glob("*/*.wandb"))


def item(*path, value):
    return field(1, b"".join(field(2, part) for part in path) + field(16, json.dumps(value)))


def history(*items, step=None):
    number = b"" if step is None else field(2, field(1, step))
    return field(1, 7) + field(2, b"".join(items) + number)


def row(step, **metrics):
    clocks = {"_step": step, "_runtime": 1.5, "_timestamp": 1.7e9}
    return history(*(item(name, value=value) for name, value in (metrics | clocks).items()), step=step)


def about(run_id="ab12", display_name="a run", **others):
    numbers = {"entity": 2, "config": 4, "group": 6, "notes": 9, "settings": 11, "host": 13, "git": 21}
    more = b"".join(field(numbers[name], value) for name, value in others.items())
    return field(17, field(1, run_id) + field(8, display_name) + more)


def read(data, path="run-ab12.wandb"):
    return reader_of("wandb").read(Content(path, data))


def table_of(*records):
    return read(log(records)[0])


def values(table, name):
    return [None if math.isnan(value) else value for value in table.columns[name]]


def test_a_history_becomes_a_table():
    rows = [row(0, **{"actor/entropy": 0.7}), row(1, **{"actor/entropy": 0.5, "r": 1})]
    table = table_of(about(), rows[0], field(4, b"console"), rows[1])
    assert set(table.columns) == {"actor/entropy", "r", "_step", "run"}
    assert values(table, "actor/entropy") == [0.7, 0.5]
    assert values(table, "r") == [None, 1]
    assert values(table, "_step") == [0, 1]
    assert table.columns["run"] == ["a run", "a run"]
    assert (table.rows, table.dropped, table.notes) == (2, {}, ())


def test_nested_keys_are_joined_with_a_dot_and_slashes_stay():
    deep = {"a": {"b": 2, "c": {"_type": "histogram", "bins": [1]}}, "d": 3}
    table = table_of(history(item("train", "reward/mean", value=0.5), item("deep", value=deep), step=4))
    found = {name: cells[0] for name, cells in table.columns.items()}
    assert found == {"train.reward/mean": 0.5, "deep.a.b": 2, "deep.d": 3, "_step": 4}


@pytest.mark.parametrize(
    "value",
    [
        {"_type": "histogram", "values": [1, 2], "bins": [0, 1]},
        {"_type": "table-file", "path": "media/table/x.json", "nrows": 3},
        [1, 2],
        "rl+free",
        True,
        {},
        "9" * 600,
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_number_is_left_out(value):
    table = table_of(history(item("x", value=value), step=3))
    assert {name: list(cells) for name, cells in table.columns.items()} == {"_step": [3]}
    assert table.dropped == {}


def test_numbers_as_json_has_them():
    numbers = {"0.25": 0.25, "-3": -3, "1e-7": 1e-7, " 7 ": 7, '"0.5"': 0.5, "1" + "0" * 400: math.inf}
    missing = {"NaN": None, "null": None, '"NaN"': None}
    infinite = {"Infinity": math.inf, "-Infinity": -math.inf, '"Infinity"': math.inf}
    for text, number in (numbers | missing | infinite).items():
        table = table_of(history(field(1, field(2, "x") + field(16, text)), step=0))
        assert values(table, "x") == [number]
        assert table.dropped == {}


def test_values_and_records_that_cannot_be_read_are_counted():
    broken = history(item("x", value=1), field(1, field(2, "y") + field(16, "{0.5")), step=0)
    table = table_of(broken, row(1, x=2), field(2, b"\x0a\x09short"), row(2, x=3))
    assert values(table, "x") == [1, 2, 3]
    assert table.dropped == {UNREADABLE: 1, UNREADABLE_VALUE: 1}
    assert table.rows == 4


def test_typed_values_and_the_keys_of_old_logs():
    parts = {
        "double": field(6, 0.125),
        "nan": field(6, math.nan),
        "integer": field(5, 7),  # zigzag for -4
        "flag": field(4, 1),
        "text": field(7, "words"),
        "json": field(8, '{"a": 2}'),
        "old": field(16, "3"),
    }
    table = table_of(history(*(field(1, field(1, name) + value) for name, value in parts.items())))
    found = {name: values(table, name)[0] for name in table.columns}
    assert found == {"double": 0.125, "nan": None, "integer": -4, "json.a": 2, "old": 3}


def test_the_step_is_the_item_or_else_the_records_own():
    table = table_of(
        history(item("_step", value=5), step=9), history(item("x", value=1), step=-3), history(step=0)
    )
    assert values(table, "_step") == [5, -3, 0]


@pytest.mark.parametrize(
    ("runs", "label"),
    [
        ([about()], "a run"),
        ([about(display_name="")], "ab12"),
        ([about(), about(display_name="renamed")], "renamed"),
        ([about(display_name="0.5")], None),
        ([about("77", "")], None),
        ([], None),
    ],
)
def test_the_runs_own_name_is_its_label(runs, label):
    table = table_of(*runs, row(1, x=2.0))
    assert table.columns.get("run") == (label and [label])


def test_a_metric_called_run_stays():
    assert list(table_of(about(), row(1, run=2.0)).columns["run"]) == [2.0]


def test_nothing_of_the_machine_is_in_the_table():
    secrets = {
        "entity": "secret-entity",
        "host": "secret-host",
        "notes": "mail secret@example.org",
        "config": field(1, field(2, "secret-config") + field(16, '"x"')),
        "settings": field(1, field(1, "secret-setting")),
        "git": field(1, "https://secret-remote"),
    }
    environment = field(26, field(3, "secret-program") + field(7, "secret-host") + field(10, "secret@mail"))
    console = field(13, field(3, "secret-console"))
    metric = item("note", value="secret-text")
    data, _ = log([about(**secrets), environment, console, history(metric, step=1), row(2, x=1.0)])
    assert data.count(b"secret") == 11
    table = read(data[:-3] + b"abc")
    assert "secret" not in repr(table).casefold()
    assert all("secret" not in repr(list(cells)) + name for name, cells in table.columns.items())
    with pytest.raises(InputError) as caught:
        read(log([about(**secrets), environment, console])[0])
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_records_go_over_blocks():
    long = "x" * 3 * BLOCK
    table = table_of(
        row(0, x=1.0), history(item("y", value=2), item("text", value=long), step=1), row(2, x=3.0), about()
    )
    assert values(table, "x") == [1, None, 3]
    assert values(table, "y") == [None, 2, None]
    assert table.notes == ()


@pytest.mark.parametrize("left", range(13))
def test_the_end_of_a_block_is_filled_up(left):
    start = row(0, x=1.0)
    used = len(log([start])[0])
    filler = field(4, b"x" * (BLOCK - left - used - 7 - 4))
    data, ends = log([start, filler, row(1, x=2.0), row(2, x=3.0)])
    assert ends[1] == BLOCK - left
    table = read(data)
    assert values(table, "x") == [1, 2, 3]
    assert table.notes == ()


def long_log():
    """About 100 KiB: 80 rows, of which some go over a block's end."""
    text = random.Random(1)
    records = [about()]
    for step in range(80):
        noise = item("text", value="".join(text.choices("abcdef", k=1200)))
        records.append(history(item("_step", value=step), item("x", value=step / 8), noise, step=step))
    data, ends = log(records)
    return data, ends[1:]


def test_after_damage_reading_goes_on_with_the_next_block():
    data, ends = long_log()
    at = ends[9] + 40
    table = read(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    steps = values(table, "_step")
    again = next(i for i, end in enumerate(ends) if end > BLOCK) + 1
    assert steps == [*range(10), *range(again, 80)]
    skipped = ends[again - 1] - ends[9]
    assert table.notes == (f"damaged or cut off at byte {ends[9]}: {skipped} bytes skipped",)
    assert values(table, "x") == [step / 8 for step in steps]


def test_several_damaged_places_make_one_note():
    data, ends = long_log()
    broken = bytearray(data)
    for record in (3, 30, 60):
        broken[ends[record] + 20] ^= 0x55
    (note,) = read(bytes(broken)).notes
    assert note.startswith(f"damaged or cut off at byte {ends[3]} and in 2 places after it: ")


def test_a_tail_of_nul_bytes_is_skipped():
    data, _ = log([row(0, x=1.0), row(1, x=2.0)])
    table = read(data + bytes(5000))
    assert values(table, "x") == [1, 2]
    assert table.notes == (f"damaged or cut off at byte {len(data)}: 5000 bytes skipped",)


def test_parts_of_a_record_without_its_start_are_skipped():
    data = HEADER + frame(3, b"mid") + frame(4, b"end") + frame(1, row(0, x=1.0)) + frame(2, b"open")
    data += frame(1, row(1, x=2.0)) + frame(2, b"open")
    table = read(data)
    assert values(table, "x") == [1, 2]
    assert table.notes == ("damaged or cut off at byte 7 and in 2 places after it: 42 bytes skipped",)


def test_a_log_cut_anywhere_gives_its_whole_records():
    data, ends = long_log()
    for part in range(65):
        cut = len(data) * part // 64
        whole = sum(end <= cut for end in ends)
        if not whole:
            refused("no-records", read, data[:cut])
            continue
        table = read(data[:cut])
        assert values(table, "x") == [step / 8 for step in range(whole)]
        at = ([7, *ends])[whole]
        if cut > at + 7:
            assert table.notes == (f"damaged or cut off at byte {at}: {cut - at} bytes skipped",)


def test_a_flipped_byte_costs_no_record_before_it():
    data, ends = long_log()
    chance = random.Random(7)
    for _ in range(300):
        at = chance.randrange(len(data))
        table = read(data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :])
        before = sum(end <= at for end in ends)
        steps = values(table, "_step")
        assert steps[:before] == list(range(before))
        assert steps == sorted(set(steps))
        assert values(table, "x") == [step / 8 for step in steps]
        assert table.dropped == ({DAMAGED: 1} if table.notes else {})


def test_any_bytes_in_whole_frames_raise_nothing_else():
    chance = random.Random(6)
    whole = row(1, x=1.0, y=2.0)
    for _ in range(2000):
        record = bytearray(chance.choice([whole, about(), field(2, chance.randbytes(30))]))
        for _ in range(chance.randrange(4)):
            record[chance.randrange(len(record))] = chance.randrange(256)
        table = table_of(bytes(record), row(2, x=3.0))
        assert 1 <= table.rows <= 2


@pytest.mark.parametrize(
    "text",
    [
        "[" * 60000,
        '{"a":' * 10000,
        "1" * 60000 + "x",
        '"' + "1" * 60000 + 'x"',
        '{"a":"' + "1" * 60000 + 'x"}',
        json.dumps({"k" * 450: {str(i): i for i in range(5000)}}),
        json.dumps("x" * 10**6),
        "\xff\x00",
    ],
    ids=lambda text: text[:6],
)
def test_hostile_json_costs_little(text):
    tracemalloc.start()
    try:
        table = table_of(history(field(1, field(2, "x") + field(16, text)), step=0), row(1, y=1.0))
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()
    assert values(table, "y")[1] == 1


def test_hostile_fields():
    huge = varint(1 << 3 | 2) + varint(1 << 62) + b"x"
    endless = b"\x08" + b"\xff" * 30
    group = varint(1 << 3 | 3)
    nested = b""
    for _ in range(3000):
        nested = field(2, nested)
    deep = history(item(*["a"] * 5000, value=1), step=0)
    many = history(*(item(f"{i}", value=1) for i in range(70000)), step=0)
    table = table_of(
        *(field(2, bad) for bad in (huge, endless, group)), nested, deep, many, row(1, y=1.0), huge, b"\x07"
    )
    assert table.dropped == {UNREADABLE: 6}
    assert table.columns["y"][-1] == 1


def test_columns_without_end_do_not_fill_the_memory():
    records = [row(step, **{f"m{step}": 1.0, "x": step}) for step in range(4000)]
    data, _ = log(records)
    tracemalloc.start()
    try:
        table = read(data)
        assert tracemalloc.get_traced_memory()[1] < 4e7
    finally:
        tracemalloc.stop()
    assert list(table.columns["x"]) == list(range(4000))
    assert table.notes == ("far more columns than values: only the 524 columns with most values are read",)


def test_a_file_without_history_says_so():
    error = refused("no-records", read, log([about()])[0][:-1])
    text = (
        "'run-ab12.wandb' holds no complete record of a history; "
        "damaged or cut off at byte 7: 22 bytes skipped"
    )
    assert error.message == text


def test_the_bytes_are_recognised_and_not_the_name():
    reader = reader_of("wandb")
    assert reader.recognises(Content("x.bin", HEADER))
    assert not reader.recognises(Content("x.wandb", b"step,entropy\n"))


def test_from_file_to_run(tmp_path):
    path = tmp_path / "run-ab12.wandb"
    path.write_bytes(
        log([about()] + [row(step, entropy=0.5 - step / 10, reward=step / 5) for step in range(4)])[0]
    )
    (run,) = read_runs(path)
    assert (run.name, run.source.format, run.source.rows) == ("a run", "wandb", 4)
    assert run.step.tolist() == [0, 1, 2, 3]
    assert run.step_column == "_step"
    assert set(run.columns) == {"entropy", "reward"}
    assert run.texts == {}


def test_the_trainers_step_goes_before_the_count_of_log_calls(tmp_path):
    path = tmp_path / "run-ab12.wandb"
    rows = [row(i, **{"train/global_step": i // 2, ("entropy", "reward")[i % 2]: i / 8}) for i in range(8)]
    path.write_bytes(log(rows)[0])
    (run,) = read_runs(path)
    assert (run.name, run.step_column) == ("run-ab12", "train/global_step")
    assert run.step.tolist() == [0, 1, 2, 3]
    assert run.columns["entropy"].tolist() == [0, 0.25, 0.5, 0.75]
    assert run.dropped == {}


def assert_same(table, path):
    """The table holds the numbers in the records as wandb's own messages have them."""
    from tests.unit.test_lab_formats import wandb_records

    rows = []
    for record in wandb_records(path):
        if record.HasField("history"):
            named = {one.key or ".".join(one.nested_key): one.value_json for one in record.history.item}
            logged = {name: json.loads(text) for name, text in named.items()}
            rows.append({name: value for name, value in logged.items() if isinstance(value, (int, float))})
    found = {name: values(table, name) for name in table.columns if name != "run"}
    assert set(found) == {name for row in rows for name in row} - {"_runtime", "_timestamp", "_wandb"}
    for name, cells in found.items():
        assert cells == [row.get(name) for row in rows]
    assert (table.rows, table.dropped, table.notes) == (len(rows), {}, ())


def test_a_run_written_by_wandb(tmp_path):
    pytest.importorskip("wandb")
    formats = pytest.importorskip("lab.formats")
    steps = range(300)
    columns = {
        "step": list(steps),
        "entropy": [0.7 * math.exp(-step / 90) for step in steps],
        "val_acc": [0.9 - step / 1e3 if step % 10 == 0 else None for step in steps],
        "stage": ["rl"] * 300,
        "tokens": [9000 + step for step in steps],
    }
    path = tmp_path / "run-lab7.wandb"
    formats.write_wandb(pa.table(columns), path)
    data = path.read_bytes()
    assert len(data) > 3 * BLOCK
    table = read(data)
    assert_same(table, path)
    assert list(table.columns["_step"]) == columns["step"]
    assert list(table.columns["entropy"]) == columns["entropy"]
    (run,) = read_runs(path)
    assert run.name == "lab7"
    accuracies = [value for value in columns["val_acc"] if value is not None]
    assert run.columns["val_acc"][::10].tolist() == accuracies
    assert np.isnan(run.columns["val_acc"][1])


@pytest.mark.skipif(not REAL, reason="the public logs are not here")
def test_real_logs_are_what_wandb_reads():
    pytest.importorskip("wandb")
    tables = [read(path.read_bytes()) for path in REAL]
    for table, path in zip(tables, REAL, strict=True):
        assert_same(table, path)
    labels = {"vsr-50steps-30ep", "lambda0.5_alpha0.0_G4"}
    assert {label for table in tables for label in table.columns["run"]} == labels


def test_many_flips_and_any_bytes_raise_nothing_else():
    data, _ = long_log()
    chance = random.Random(5)
    for size in [*range(40), 100, 1000, 70000] * 3:
        broken = bytearray(data if size % 2 else HEADER + chance.randbytes(size))
        for _ in range(size if size % 2 else 0):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        with contextlib.suppress(InputError):
            assert read(bytes(broken)).rows
