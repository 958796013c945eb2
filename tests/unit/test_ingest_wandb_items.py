"""Items of W&B's history as most of them look, which are read in a shorter way, beside all others."""

import random
import re

import pytest

from entropylaw.logs.readers.trackers import wandb as wandb_log
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from tests.fuzz.binary import wandb_frames
from tests.hostile import field

NAMES = (
    *("x", "actor/entropy", "_step", "_runtime", "_timestamp", "_wandb.x", "a.b", "\x82\x01", "k" * 121, ""),
)
TEXTS = (
    *("0.5", "-3", "1e-7", "NaN", "Infinity", "-Infinity", "null", "true", '"0.25"', '"text"', "", " 7 "),
    *("+5", "1.5.2", "nan", "inf", "1_0", ".5", "-", "[1]", '{"b": 2, "c": 3}', '{"_type": "histogram"}'),
    "9" * 150,
)


def an_item(chance):
    """An item: a name, nested or not, and a text, in either order, and now and then something besides."""
    name, text = chance.choice(NAMES), field(16, chance.choice(TEXTS[:3] if chance.random() < 0.7 else TEXTS))
    keys = [field(chance.choice((2, 2, 2, 1)), name)]
    if chance.random() < 0.1:
        keys.append(field(2, chance.choice(NAMES)))
    parts = [*keys, text]
    if chance.random() < 0.1:
        parts.append(chance.choice((field(16, "4"), field(6, 2.5), field(9, 1), b"\x00")))
    if chance.random() < 0.1:
        chance.shuffle(parts)
    return field(1, b"".join(parts))


def a_record(chance):
    items = [an_item(chance) for _ in range(chance.randrange(8))]
    items += [field(2, field(1, chance.randrange(9)))] * chance.randrange(2)
    if chance.random() < 0.1:
        chance.shuffle(items)
    history = bytearray(b"".join(items))
    for _ in range(chance.choice((0, 0, 0, 1, 3)) if history else 0):
        history[chance.randrange(len(history))] = chance.randrange(256)
    return field(2, bytes(history))


def table_of(records):
    table = reader_of("wandb").read(Content("run-ab12.wandb", wandb_frames(records)[0]))
    columns = {name: [repr(float(cell)) for cell in cells] for name, cells in table.columns.items()}
    return columns, list(columns), table.rows, table.dropped, table.notes


@pytest.mark.parametrize("seed", range(5))
def test_the_shorter_way_reads_what_the_general_one_reads(seed, monkeypatch):
    chance = random.Random(seed)
    logs = [[a_record(chance) for _ in range(30)] + [field(2, b"")] for _ in range(40)]
    found = [table_of(records) for records in logs]
    monkeypatch.setattr(wandb_log, "_USUAL_ITEM", re.compile(b"never"))
    assert found == [table_of(records) for records in logs]


def test_the_shorter_way_is_taken(monkeypatch):
    one = field(1, field(2, "x") + field(16, "0.5")) + field(1, field(1, "old") + field(16, "2"))
    clock = field(1, field(2, "_timestamp") + field(16, "1.7e9"))
    general, parts = [], wandb_log._parts
    monkeypatch.setattr(wandb_log, "_parts", lambda item: general.append(item) or parts(item))
    columns, *_ = table_of([field(2, one + clock)] * 50)
    assert columns == {"x": ["0.5"] * 50, "old": ["2.0"] * 50}
    assert len(general) == 50
    assert all(b"_timestamp" in item for item in general)


@pytest.mark.parametrize("before", [b"", field(9, 1)], ids=["items first", "items behind another field"])
@pytest.mark.parametrize("text", ["1", " 1"], ids=["usual items", "others"])
def test_a_record_with_more_values_than_metrics_have_is_left_out(monkeypatch, before, text):
    monkeypatch.setattr(wandb_log, "MOST_VALUES", 4)
    items = [field(1, field(2, f"m{number}") + field(16, text)) for number in range(5)]
    records = [field(2, before + b"".join(items[:count])) for count in (4, 5)]
    columns, _, _, dropped, _ = table_of(records)
    assert columns == {f"m{number}": ["1.0"] for number in range(4)}
    assert dropped == {wandb_log.UNREADABLE: 1}
