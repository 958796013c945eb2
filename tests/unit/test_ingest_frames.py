"""Logs of framed records, W&B's and TensorBoard's: cut off, damaged, of any bytes, and of any columns."""

import contextlib
import random
import tracemalloc

import pytest

from entropylaw import InputError
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from tests.conftest import NIGHTLY
from tests.fuzz.binary import WANDB_HEADER
from tests.hostile import field, refused, varint
from tests.unit import test_ingest_tensorboard as tensorboard
from tests.unit import test_ingest_wandb as wandb


class Wandb:
    """80 rows in about 100 KiB, of which some go over a block's end."""

    step, log, row = "_step", staticmethod(wandb.log), staticmethod(wandb.row)
    name, header, shortest = "run-ab12.wandb", WANDB_HEADER, 7
    parts = (wandb.about(), wandb.row(1, x=1.0, y=2.0))
    most, note = 4e7, "far more columns than values: only the 524 columns with most values are read"

    def long(self):
        return wandb.long_log()

    def random_record(self, chance):
        return field(2, chance.randbytes(30))


class Tensorboard:
    """60 events."""

    step, log, name = "step", staticmethod(tensorboard.log), tensorboard.NAME
    header, shortest = b"", 0
    parts = (
        tensorboard.event(
            1,
            tensorboard.scalar("x", 1),
            tensorboard.tensor("y", tensorboard.INT64, field(10, varint(3)), 1, 1),
        ),
    )
    most, note = 5e7, "far more columns than values: only the 699 columns with most values are read"

    def row(self, step, **values):
        return tensorboard.event(step, *(tensorboard.scalar(*value) for value in values.items()))

    def long(self):
        return tensorboard.LONG

    def random_record(self, chance):
        return chance.choice((tensorboard.event(1, chance.randbytes(30)), chance.randbytes(20)))


@pytest.fixture(params=[Wandb(), Tensorboard()], ids=["wandb", "tfevents"])
def form(request):
    return request.param


def read(form, data):
    return reader_of("wandb" if form.step == "_step" else "tfevents").read(Content(form.name, data))


def values(table, name):
    return [None if value != value else value for value in table.columns[name]]


def test_a_log_cut_anywhere_gives_its_whole_records(form):
    data, ends = form.long()
    for part in range(65):
        cut = len(data) * part // 64
        whole = sum(end <= cut for end in ends)
        if not whole:
            refused("no-records", read, form, data[:cut])
            continue
        table = read(form, data[:cut])
        assert values(table, "x") == [step / 8 for step in range(whole)]
        left = cut - ends[whole - 1]
        if left > form.shortest or not left:
            note = f"damaged or cut off at byte {cut - left}: {left} byte{'s' * (left > 1)} skipped"
            assert table.notes == (note,) * (left > 0)


def test_a_flipped_byte_costs_no_record_before_it(form):
    data, ends = form.long()
    chance = random.Random(7)
    for _ in range(300 if NIGHTLY else 100):
        at = chance.randrange(len(data))
        before = sum(end <= at for end in ends)
        broken = data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :]
        try:
            table = read(form, broken)
        except InputError:
            assert before == 0
            continue
        steps = values(table, form.step)
        assert steps[:before] == list(range(before))
        assert steps == sorted(set(steps))
        assert values(table, "x") == [step / 8 for step in steps]
        dropped = {"damaged or cut-off place": 1} if table.notes else {}
        assert table.dropped == dropped or form.step == "step"


def test_any_bytes_in_whole_frames_raise_nothing_else(form):
    chance = random.Random(6)
    for _ in range(1000 if NIGHTLY else 200):
        record = bytearray(chance.choice([*form.parts, form.random_record(chance)]))
        for _ in range(chance.randrange(4)):
            record[chance.randrange(len(record))] = chance.randrange(256)
        assert 1 <= read(form, form.log([bytes(record), form.row(2, x=3.0)])[0]).rows <= 4


def test_many_flips_and_any_bytes_raise_nothing_else(form):
    data, _ = form.long()
    chance = random.Random(5)
    for size in [*range(40), 100, 1000, 70000] * 2:
        broken = bytearray(data if size % 2 else form.header + chance.randbytes(size))
        for _ in range(size if size % 2 else 0):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        with contextlib.suppress(InputError):
            assert read(form, bytes(broken)).rows


def test_columns_without_end_do_not_fill_the_memory(form):
    rows = 4000 if form.step == "_step" else 3000
    data, _ = form.log([form.row(step, **{f"m{step}": 1.0, "x": step}) for step in range(rows)])
    tracemalloc.start()
    try:
        table = read(form, data)
        assert tracemalloc.get_traced_memory()[1] < form.most
    finally:
        tracemalloc.stop()
    assert list(table.columns["x"]) == list(range(rows))
    assert table.notes == (form.note,)


def test_after_damage_wandb_goes_on_with_the_next_block():
    form = Wandb()
    data, ends = form.long()
    at = ends[9] + 40
    table = read(form, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    again = next(i for i, end in enumerate(ends) if end > wandb.BLOCK) + 1
    assert values(table, "_step") == [*range(10), *range(again, 80)]
    skipped = ends[again - 1] - ends[9]
    assert table.notes == (f"damaged or cut off at byte {ends[9]}: {skipped} bytes skipped",)


def test_the_bytes_are_recognised_and_not_the_name_alone():
    events, _ = tensorboard.log([])
    other = tensorboard.frame(tensorboard.event(1, tensorboard.scalar("x", 1)))
    for reader, name, data, known in (
        ("wandb", "x.bin", WANDB_HEADER, True),
        ("wandb", "x.wandb", b"step,entropy\n", False),
        ("tfevents", "x.bin", events, True),
        ("tfevents", f"/logs/{tensorboard.NAME}", other, True),
        ("tfevents", "/tfevents/x.bin", other, False),
        ("tfevents", tensorboard.NAME, b"step,entropy\n1,0.5\n", False),
        ("tfevents", tensorboard.NAME, b"x", False),
    ):
        assert reader_of(reader).recognises(Content(name, data)) is known
