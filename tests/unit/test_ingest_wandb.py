"""W&B's transaction log: written byte by byte, written by wandb, damaged, and hostile."""

import json
import math
import random
import tracemalloc

import pytest

from entropylaw.logs.readers.trackers import wandb
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from tests.fuzz.binary import WANDB_BLOCK as BLOCK
from tests.fuzz.binary import WANDB_HEADER as HEADER
from tests.fuzz.binary import wandb_frame as frame
from tests.fuzz.binary import wandb_frames as log
from tests.hostile import field, varint


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


HOSTILE = (
    *("[" * 60000, '{"a":' * 10000, "1" * 60000 + "x", '"' + "1" * 60000 + 'x"', "\xff\x00"),
    *('{"a":"' + "1" * 60000 + 'x"}', json.dumps({"k" * 450: {str(i): i for i in range(5000)}})),
    json.dumps("x" * 10**6),
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_json_costs_little(text):
    tracemalloc.start()
    try:
        table = table_of(history(field(1, field(2, "x") + field(16, text)), step=0), row(1, y=1.0))
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()
    assert values(table, "y")[1] == 1


@pytest.mark.parametrize("before", [b"", field(9, 1)], ids=["items first", "items behind another field"])
@pytest.mark.parametrize("text", ["1", " 1"], ids=["usual items", "others"])
def test_a_record_with_more_values_than_metrics_have_is_left_out(monkeypatch, before, text):
    monkeypatch.setattr(wandb, "MOST_VALUES", 4)
    items = [field(1, field(2, f"m{number}") + field(16, text)) for number in range(5)]
    table = table_of(*(field(2, before + b"".join(items[:count])) for count in (4, 5)))
    assert {name: list(cells) for name, cells in table.columns.items()} == {f"m{n}": [1.0] for n in range(4)}
    assert table.dropped == {"unreadable record": 1}


def hostile_records():
    huge, endless = varint(1 << 3 | 2) + varint(1 << 62) + b"x", b"\x08" + b"\xff" * 30
    nested = b""
    for _ in range(3000):
        nested = field(2, nested)
    deep = history(item(*["a"] * 5000, value=1), step=0)
    bad = [field(2, record) for record in (huge, endless, varint(1 << 3 | 3))]
    return [*bad, nested, deep, row(1, y=1.0), huge, b"\x07"]


def three_broken():
    data, ends = long_log()
    broken = bytearray(data)
    for record in (3, 30, 60):
        broken[ends[record] + 20] ^= 0x55
    return bytes(broken)


DEEP = {"a": {"b": 2, "c": {"_type": "histogram", "bins": [1]}}, "d": 3}
NO_NUMBERS = [
    {"_type": "histogram", "values": [1, 2], "bins": [0, 1]},
    {"_type": "table-file", "path": "media/table/x.json", "nrows": 3},
    *([1, 2], "rl+free", True, {}, "9" * 600),
]
IN_JSON = (
    "0.25",
    "-3",
    "1e-7",
    " 7 ",
    '"0.5"',
    "1" + "0" * 400,
    "NaN",
    "null",
    '"NaN"',
    "Infinity",
    "-Infinity",
)
TYPED = {
    "double": field(6, 0.125),
    "nan": field(6, math.nan),
    "integer": field(5, 7),  # zigzag for -4
    "flag": field(4, 1),
    "text": field(7, "words"),
    "json": field(8, '{"a": 2}'),
    "old": field(16, "3"),
}
BROKEN = history(item("x", value=1), field(1, field(2, "y") + field(16, "{0.5")), step=0)
LABELS = {
    "its name": [about()],
    "no name": [about(display_name="")],
    "another name later": [about(), about(display_name="renamed")],
    "a name that is a number": [about(display_name="0.5")],
    "an identity that is a number": [about("77", "")],
    "nothing about the run": [],
}
CALLS = [row(i, **{"train/global_step": i // 2, ("entropy", "reward")[i % 2]: i / 8}) for i in range(8)]
PARTS = frame(3, b"mid") + frame(4, b"end") + frame(1, row(0, x=1.0)) + frame(2, b"open")
RECORDS = {
    "a history": [about(), row(0, **{"actor/entropy": 0.7}), field(4, b"console"), row(1, reward=1)],
    "nested keys": [history(item("train", "reward/mean", value=0.5), item("deep", value=DEEP), step=4)],
    "what is not a number": [history(item("x", value=value), step=at) for at, value in enumerate(NO_NUMBERS)],
    "numbers in JSON": [
        history(field(1, field(2, "x") + field(16, t)), step=at) for at, t in enumerate(IN_JSON)
    ],
    "values and records that cannot be read": [BROKEN, row(1, x=2), field(2, b"\x0a\x09short"), row(2, x=3)],
    "typed values and old keys": [
        history(*(field(1, field(1, name) + value) for name, value in TYPED.items()), step=0)
    ],
    "the item's step or the record's": [
        *(history(item("_step", value=5), step=9), history(item("x", value=1), step=-3), history(step=0))
    ],
    **{f"the label: {title}": [*records, row(1, x=2.0)] for title, records in LABELS.items()},
    "a metric called run": [about(), row(1, run=2.0)],
    "records over blocks": [
        row(0, x=1.0),
        history(item("text", value="x" * 3 * BLOCK), step=1),
        row(2, x=3.0),
    ],
    "hostile records": hostile_records(),
    "the trainer's step": CALLS,
}
SAMPLES = {
    **{title: ("wandb", "run-ab12.wandb", log(records)[0]) for title, records in RECORDS.items()},
    "no history": ("wandb", "run-ab12.wandb", log([about()])[0][:-1]),
    "zeros at the end": ("wandb", "run-ab12.wandb", log([row(0, x=1.0), row(1, x=2.0)])[0] + bytes(5000)),
    "parts without a start": (
        "wandb",
        "x.wandb",
        HEADER + PARTS + frame(1, row(1, x=2.0)) + frame(2, b"open"),
    ),
    "several damaged places": ("wandb", "run-ab12.wandb", three_broken()),
}
