"""Items of W&B's history as most of them look, which are read in a shorter way, beside all others."""

import random

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


UNKNOWN = field(9, 1)
"""A field that no item has: whatever has one is not read in the shorter way."""


def an_item(chance):
    """A name, nested or not, and a text, in either order."""
    keys = [field(chance.choice((2, 2, 2, 1)), chance.choice(NAMES))]
    if chance.random() < 0.1:
        keys.append(field(2, chance.choice(NAMES)))
    parts = [*keys, field(16, chance.choice(TEXTS[:3] if chance.random() < 0.7 else TEXTS))]
    if chance.random() < 0.1:
        chance.shuffle(parts)
    return b"".join(parts)


def table_of(records):
    table = reader_of("wandb").read(Content("run-ab12.wandb", wandb_frames(records)[0]))
    columns = {name: [repr(float(cell)) for cell in cells] for name, cells in table.columns.items()}
    return columns, list(columns), table.rows, table.dropped, table.notes


@pytest.mark.parametrize("seed", range(5))
def test_the_shorter_way_reads_what_the_general_one_reads(seed):
    chance = random.Random(seed)
    for _ in range(40):
        records = [[an_item(chance) for _ in range(chance.randrange(8))] for _ in range(30)]
        tables = []
        for more in (b"", UNKNOWN):
            rows = [field(2, b"".join(field(1, item + more) for item in items)) for items in records]
            tables.append(table_of([*rows, field(2, b"")]))
        assert tables[0] == tables[1]


@pytest.mark.parametrize("before", [b"", field(9, 1)], ids=["items first", "items behind another field"])
@pytest.mark.parametrize("text", ["1", " 1"], ids=["usual items", "others"])
def test_a_record_with_more_values_than_metrics_have_is_left_out(monkeypatch, before, text):
    monkeypatch.setattr(wandb_log, "MOST_VALUES", 4)
    items = [field(1, field(2, f"m{number}") + field(16, text)) for number in range(5)]
    records = [field(2, before + b"".join(items[:count])) for count in (4, 5)]
    columns, _, _, dropped, _ = table_of(records)
    assert columns == {f"m{number}": ["1.0"] for number in range(4)}
    assert dropped == {wandb_log.UNREADABLE: 1}
