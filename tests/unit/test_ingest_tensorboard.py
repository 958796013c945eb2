"""TensorBoard's event files: written byte by byte, written by tensorboard, damaged, and hostile."""

import math
import struct

import numpy as np

from entropylaw import read_runs
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from tests import hostile
from tests.fuzz.binary import event_frame as frame
from tests.fuzz.binary import masked_crc32c as masked
from tests.hostile import varint

NAME = "events.out.tfevents.1.host"
FLOAT, DOUBLE, INT32, TEXT, INT64, HALF = 1, 2, 3, 7, 9, 19


def field(number, value):
    """As in TensorBoard's messages, whose numbers are float32."""
    return hostile.field(number, value, double=False)


def event(step, *values, at=1.7e9):
    summary = field(5, b"".join(field(1, value) for value in values)) if values else b""
    return b"\x09" + struct.pack("<d", at) + field(2, step) + summary


def scalar(tag, value):
    return field(1, tag) + field(2, float(value))


def tensor(tag, kind, body, *dims):
    shape = field(2, b"".join(field(2, field(1, dim)) for dim in dims))
    plugin = field(9, field(1, field(1, "scalars")))
    return field(1, tag) + field(8, field(1, kind) + shape + body) + plugin


def log(events):
    """Frame events after the one with the version; return the file and where each event ends in it."""
    data, ends = frame(b"\x09" + bytes(8) + field(3, "brain.Event:2")), []
    for one in events:
        data += frame(one)
        ends.append(len(data))
    return data, ends


def read(data, path=NAME):
    return reader_of("tfevents").read(Content(path, data))


def table_of(*events):
    return read(log(events)[0])


def values(table, name):
    return [None if math.isnan(value) else value for value in table.columns[name]]


LONG = log(
    [
        event(step, scalar("x", step / 8), field(1, "t" * (37 * step % 90)) + field(8, b""))
        for step in range(60)
    ]
)
"""60 events, and where they end."""


def start(steps, shift=0.0):
    """One start of a run: entropy and reward at these steps."""
    values = [(s, scalar("train/entropy", 1 / s + shift), scalar("train/reward", s / 64)) for s in steps]
    return log([event(*one) for one in values])[0]


def test_the_files_of_a_resumed_run_are_one_run(tmp_path):
    folder = tmp_path / "my-run"
    folder.mkdir()
    # By their names, 9 comes before 10; by their time stamps, too.
    (folder / "events.out.tfevents.9.host.1.0").write_bytes(start(range(1, 31)))
    (folder / "events.out.tfevents.10.host.2.0").write_bytes(start(range(21, 41), shift=1))
    (run,) = read_runs(tmp_path)
    assert run.name == "my-run"
    assert run.step.tolist() == list(range(1, 41))
    assert run.columns["train/entropy"][19:21].tolist() == [np.float32(1 / 20), np.float32(1 / 21 + 1)]
    assert run.dropped == {"superseded after a resume": 10}
    assert len(run.source.parts) == 2
    assert run.notes[0] == "2 event files of one folder, read in the order of their making"


def test_files_that_start_anew_are_runs_of_their_own(tmp_path):
    for stamp in (1, 2, 3):
        (tmp_path / f"events.out.tfevents.{stamp}.host").write_bytes(start(range(1, 20 + stamp)))
    (tmp_path / "events.out.tfevents.4.host").write_bytes(log([])[0])
    runs = read_runs(tmp_path)
    assert [len(run.step) for run in runs] == [20, 21, 22]
    assert "1 event file without a whole scalar left out" in runs[0].notes


def test_files_with_other_tags_of_the_same_steps_are_one_run(tmp_path):
    for stamp, tag in ((1, "train/entropy"), (2, "train/reward")):
        data, _ = log([event(s, scalar(tag, 1 / s)) for s in range(1, 21)])
        (tmp_path / f"events.out.tfevents.{stamp}.host").write_bytes(data)
    (run,) = read_runs(tmp_path)
    assert len(run.step) == 20
    assert np.array_equal(run.columns["train/entropy"], run.columns["train/reward"])


def test_folders_below_one_another_are_runs_of_their_own(tmp_path):
    for shift, name in enumerate(("a", "b", "b/c")):
        (tmp_path / name).mkdir()
        (tmp_path / name / NAME).write_bytes(start(range(1, 21), shift))
    assert [run.name for run in read_runs(tmp_path)] == ["a", "b", "c"]


def test_files_that_are_written_at_the_same_time_are_different_runs(tmp_path):
    def written(steps, begin, shift):
        scalars = [(s, scalar("train/entropy", 1 / s + shift), scalar("train/reward", s / 64)) for s in steps]
        return b"".join(frame(event(*one, at=begin + index)) for index, one in enumerate(scalars))

    for stamp, (steps, begin) in enumerate(
        ((range(1, 61), 100), (range(5, 60, 5), 130), (range(61, 80), 170))
    ):
        (tmp_path / f"events.out.tfevents.{stamp}.host").write_bytes(written(steps, begin, shift=stamp == 1))
    first, second = read_runs(tmp_path)
    # The third began when both had ended: it goes on with the first.
    assert (len(first.step), len(second.step)) == (79, 11)
    assert first.dropped == second.dropped == {}
    assert any("written at the same time" in note for note in first.notes)


def pairs(*found):
    """Events of one pair of tag and step each, whose value is its place."""
    return [event(step, scalar(tag, place)) for place, (tag, step) in enumerate(found)]


def turned(at):
    """The long log with one bit turned over, so many bytes behind its tenth event."""
    data, ends = LONG
    return data[: ends[9] + at] + bytes([data[ends[9] + at] ^ 1]) + data[ends[9] + at + 1 :]


def hostile_events():
    nested = b""
    for _ in range(3000):
        nested = field(1, nested)
    huge = varint(5 << 3 | 2) + varint(1 << 62) + b"x"
    dims = tensor("x", FLOAT, field(5, 1.0), *[1 << 62] * 5000)
    many = event(1, *(scalar(f"{i}", 1) for i in range(70000)))
    return [huge, b"\x10" + b"\xff" * 20, b"\x0b", field(5, nested), event(1, dims), many, b""]


NUMBERS = {
    "float": (FLOAT, [field(4, struct.pack("<f", 0.3)), field(5, struct.pack("<f", 0.3)), field(5, 0.3)]),
    "double": (
        DOUBLE,
        [field(n, struct.pack("<d", 0.3)) for n in (4, 6)] + [b"\x31" + struct.pack("<d", 0.3)],
    ),
    "int32": (INT32, [field(4, struct.pack("<i", -5)), field(7, varint(-5))]),
    "int64": (INT64, [field(4, struct.pack("<q", 2**40)), field(10, varint(2**40))]),
    "half": (
        HALF,
        [field(4, struct.pack("<e", 0.3)), field(13, varint(int(np.float16(0.3).view(np.uint16))))],
    ),
}
NO_SCALARS = [
    tensor("x", FLOAT, field(5, struct.pack("<2f", 1, 2)), 2),
    tensor("x", FLOAT, field(5, struct.pack("<f", 1)), 3),
    tensor("x", FLOAT, field(4, struct.pack("<2f", 1, 2))),
    tensor("x", FLOAT, b"", 0),
    tensor("x", FLOAT, b""),
    tensor("x", INT64, field(10, varint(3) + varint(4)), 2),
    tensor("x", INT64, field(10, varint(3) + varint(4))),
    tensor("x", TEXT, field(8, "secret words")),
    tensor("x", 0, field(4, b"")),
    field(1, "x") + field(4, field(1, 20) + field(4, b"png")),
    field(1, "x") + field(5, bytes(40)),
    field(1, "x"),
    field(1, "x" * 501) + field(2, 0.5),
]
FALLING = [(tag, step) for step in (1, 2, 3, 4, 3, 4, 5) for tag in "ab"]
LATE = pairs(("a", 1), ("a", 2), ("b", 1))
RESUMED = [event(s, scalar(t, i)) for i, s in enumerate([0, 1, 2, 3, 2, 3, 4]) for t in ("entropy", "reward")]
EVENTS = {
    "events of a step": [
        *pairs(("entropy", 0), ("reward", 0)),
        event(5, scalar("entropy", 0.5), scalar("reward", 1)),
    ],
    "nan and infinite": [
        event(-3, scalar("x", math.nan), scalar("y", math.inf)),
        event(2**40, scalar("x", 1)),
    ],
    **{
        f"tensors of one {name}": [
            event(step, tensor("x", kind, body, *dims))
            for step, (body, dims) in enumerate([(body, dims) for body in bodies for dims in ((), (1, 1))])
        ]
        for name, (kind, bodies) in NUMBERS.items()
    },
    "what is not a scalar": [*(event(1, value) for value in NO_SCALARS), event(2, scalar("y", 1))],
    "no scalar at all": [event(1, tensor("config", TEXT, field(8, "secret words")))],
    "tags one after the other": pairs(("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 3), ("b", 4)),
    "tags that fall back": pairs(*FALLING),
    "a tag that comes twice": pairs(("a", 1), ("b", 1), ("a", 1), ("a", 2)),
    "a late repetition": pairs(("a", 1), ("a", 2), ("b", 1), ("b", 1)),
    "a late repetition of nothing": [*LATE, event(1, scalar("b", math.nan)), event(1, scalar("b", 2))],
    "a tag called step": [event(3, scalar("step", 7))],
    "hostile messages": [*hostile_events(), event(2, scalar("x", 1))],
    "a resume": [*RESUMED, event(1, scalar("eval/reward", 9))],
}
ENDLESS = struct.pack("<Q", (1 << 64) - 1)
SAMPLES = {
    **{title: ("tfevents", NAME, log(events)[0]) for title, events in EVENTS.items()},
    "a bad checksum": ("tfevents", NAME, turned(20)),
    **{f"a bad length at {at}": ("tfevents", NAME, turned(at)) for at in (0, 6, 8, 11)},
    "a length without an end": (
        "tfevents",
        NAME,
        log(pairs(("x", 1)))[0] + ENDLESS + masked(ENDLESS) + b"x" * 50,
    ),
}
