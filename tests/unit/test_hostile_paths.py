"""Hostile paths, addresses, sizes and settings: an error with a slug, or a note, soon, in little memory."""

import contextlib
import io
import os
import socket
import sys
import zlib
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from entropylaw import EntropyLawError, read_runs
from entropylaw.logs.configuration import settings_beside
from entropylaw.logs.load import read_all
from entropylaw.logs.sources import content
from entropylaw.logs.sources.content import load
from entropylaw.paths import hostless, shown_path
from tests.conftest import processor_time
from tests.hostile import refused
from tests.typed import typed

pytestmark = pytest.mark.usefixtures("undrawn")

CSV = b"step,entropy,reward\n" + b"".join(b"%d,%f,%f\n" % (s, 1 / s, 1 - 1 / s) for s in range(1, 30))
GIB = 1 << 30


def sparse(path, size, head=b"", middle=b"", tail=b""):
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)
        for place, data in ((size // 2, middle), (size - len(tail), tail)):
            file.seek(place)
            file.write(data)
    return path


def slug(path):
    with pytest.raises(EntropyLawError) as caught, processor_time(10):
        read_runs(str(path))
    return caught.value.slug


ADDRESSES = (
    *("ftp://127.0.0.1:1/x.csv", "zip://x.csv", "tar://x.csv", "generic://x", "hdfs://x/y.csv"),
    *("github://x/y", "file:///nowhere.csv", "foo://x", "dir://x", "reference://x", "data://,abc"),
    *("zip://x.csv::nowhere.zip", "simplecache::nowhere://x", "jupyter://x", "asyncwrapper://x"),
    *("dbfs://x", "http://[::1", "http://", "s3://", "://", "memory://x.csv"),
    *("x" * 5000, "a/" * 3000, "nul\0.csv", ""),
)
COMMANDS = ("columns", "fit", "check --fail-if now<0", "report", "phases", "predict")


# All commands read alike: each of these addresses is given to one of them.
@pytest.mark.parametrize(("address", "command"), [*zip(ADDRESSES, cycle(COMMANDS), strict=False)])
def test_addresses_that_cannot_be_read(tmp_path, address, command):
    (tmp_path / "x").mkdir()
    name, *options = command.split()
    done = typed(name, address, *options, cwd=tmp_path / "x")
    assert done.returncode in (2, 3, 5)
    assert "error[bug]" not in done.stderr
    assert done.stderr or done.stdout


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/urandom", "/dev/null", "/dev/tty"])
def test_devices_are_no_files(place):
    assert slug(place) == "file-unreadable"


def test_what_is_no_file_in_a_folder_is_not_waited_for(tmp_path):
    (tmp_path / "a.csv").write_bytes(CSV)
    (tmp_path / "b.csv").mkdir()
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.csv")
    # The system allows no long address: this one has no folder.
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(tmp_path):
        listener.bind("socket.csv")
        assert len(read_all([str(tmp_path)]).runs) == 1


def test_a_file_that_is_gone_when_it_is_opened(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    found = load(str(path))
    path.unlink()
    for part in ("data", "text"):
        refused("file-not-found", getattr, found, part, kind=EntropyLawError)


def test_standard_input_that_is_closed_or_has_no_end(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert slug("-") == "file-unreadable"
    monkeypatch.setattr(content, "MOST_AT_ONCE", 1 << 12)
    for data, expected in ((bytes(1 << 16), "file-empty"), (CSV * 20, "file-too-large")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert slug("-") == expected


@pytest.mark.parametrize(
    ("name", "parts", "expected"),
    [
        ("x.csv", {}, "file-empty"),
        ("x.csv", {"head": CSV}, "file-too-large"),
        ("x.jsonl", {"middle": b'{"step": 1}\n'}, "file-empty"),
        ("x.json", {"head": b'{"a": ['}, "file-too-large"),
        ("x.parquet", {"head": b"PAR1", "tail": b"PAR1"}, "file-corrupt"),
        ("x.wandb", {"head": b":W&B\xe1\xbe\x00"}, "file-too-large"),
        ("x.fit.json", {"head": b"{"}, "file-too-large"),
    ],
)
def test_files_of_100_gib_are_not_read_whole(tmp_path, name, parts, expected):
    assert slug(sparse(tmp_path / name, 100 * GIB, **parts)) == expected


def bomb(data, times):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(data) for _ in range(times)), packer.flush()])


@pytest.mark.parametrize(
    ("data", "expected"),
    [(bytes(1 << 20), "file-empty"), (CSV * 1000, "file-too-large"), (b"1," * (1 << 19), "file-too-large")],
)
def test_bombs(tmp_path, monkeypatch, data, expected):
    monkeypatch.setattr(content, "_OPENING", 1 << 19)
    (tmp_path / "a.csv.gz").write_bytes(bomb(data, 40))
    assert slug(tmp_path / "a.csv.gz") == expected


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.csv", ",".join(f"c{i}" for i in range(200_000)).encode() + b"\n1,2\n", "file-corrupt"),
        ("a.csv", b"step,entropy,reward\n" + b"1," * (1 << 24), "file-corrupt"),
        ("a.json", b'{"a":' * 500_000, "no-records"),
        ("a.json", b"[" * 500_000, "no-records"),
        ("a.jsonl", (b'{"' + b"k" * 5000 + b'":') * 300 + b"1" + b"}" * 300, "no-step-column"),
    ],
)
def test_wide_long_and_deep(tmp_path, monkeypatch, name, data, expected):
    monkeypatch.setattr("entropylaw.logs.readers.delimited._LONGEST_ROW", 1 << 22)
    (tmp_path / name).write_bytes(data)
    assert slug(tmp_path / name) == expected


def test_what_addresses_show():
    assert hostless("https://user:key@host:1/a/b.csv?token=key#key") == "https://host:1/a/b.csv"
    assert hostless("zip://x.csv::https://key@host/a.zip?k=key") == "zip://x.csv::https://host/a.zip"
    assert hostless("logs/what?/a@b.csv") == "logs/what?/a@b.csv"
    assert shown_path("/nowhere/else/a.csv") == "else/a.csv"


def test_paths_in_a_working_folder_that_was_deleted(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert shown_path("/nowhere/else/a.csv") == "else/a.csv"
    monkeypatch.chdir(tmp_path)


def test_a_text_that_parquet_repeats_is_held_once(tmp_path):
    rows = 20_000
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * 100_000]))
    steps = np.arange(float(rows))
    entropy = np.exp(-steps / 9e3)
    columns = {"step": steps, "entropy": entropy, "reward": 1 - entropy, "prompt": text}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    (run,) = read_runs(str(tmp_path / "a.parquet"))
    assert run.step.size == rows
    assert len(run.texts["prompt"]) == 1000


def test_a_table_of_very_many_equal_rows_is_refused(tmp_path):
    zeros = pa.chunked_array([pa.array(np.zeros(1 << 20))] * 20)
    pq.write_table(pa.table({"step": zeros, "entropy": zeros}), tmp_path / "a.parquet", compression="zstd")
    assert slug(tmp_path / "a.parquet") == "file-too-large"


LOG = "step,entropy,reward\n1,0.5,0.1\n2,0.4,0.2\n"
MERGES = "a0: &a0 {x: 1, y: 2}\n" + "".join(
    f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 9)}]\n  k{i}: 1\n" for i in range(1, 12)
)
UNREADABLE = {
    "cut off": "a: [",
    "nested": "[" * 100_000,
    "alias alone": "a: *b",
    "binary": "\x00",
    "many": "a: [" + "1," * 200_000 + "1]",
    "long": "a: " + "x" * (1 << 20),
    "contains itself": f"a: &a {{{', '.join(f'k{i}: *a' for i in range(2000))}}}",
    "merges itself": "a: &a\n  <<: *a\n  b: 1",
    "key": "? {a: b}\n: c",
}
READABLE = {
    "merges": MERGES,
    "bool": "a: !!bool foo",
    "int": 'a: !!int ""',
    "float": 'a: !!float ""',
    "timestamp": "a: !!timestamp foo",
    "bytes": "a: !!binary é",
    "object": "a: !!python/object/apply:os.system [exit]",
    "set": "a: !!set {b, c}",
    "huge": f"a: {'9' * 5000}",
}


@pytest.fixture(params=["libyaml", "python"])
def parser(request, monkeypatch):
    if request.param == "python":
        monkeypatch.delattr(yaml, "CBaseLoader", raising=False)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("name", [*UNREADABLE, *READABLE])
def test_the_log_is_read_and_a_note_says_what_was_not(tmp_path, name):
    (tmp_path / "metrics.csv").write_text(LOG)
    (tmp_path / "config.yaml").write_text((UNREADABLE | READABLE)[name])
    (run,) = read_runs(tmp_path)
    assert run.settings == {}
    assert sum("was not read" in note for note in run.notes) == (name in UNREADABLE)
    assert not any("xxx" in note for note in run.notes)


@pytest.mark.usefixtures("parser")
def test_plain_scalars_and_references_are_read(tmp_path):
    text = """
defaults: &base {temperature: 0.6, use_kl_loss: no, steps: 1_000, path: ~}
actor: {temperature: 1.0, coefficient: 1e-3, name: "0.5"}
critic: {other: *base}
list: [1, two]
"""
    (tmp_path / "config.yaml").write_text(text)
    settings, _ = settings_beside(str(tmp_path / "metrics.csv"))
    base = {"temperature": 0.6, "use_kl_loss": False, "steps": 1000}
    assert settings == {
        **{f"defaults/{name}": value for name, value in base.items()},
        **{f"critic/other/{name}": value for name, value in base.items()},
        "actor/temperature": 1.0,
        "actor/coefficient": 0.001,
        "actor/name": 0.5,
        "list/0": 1,
        "list/1": "two",
    }


def test_a_configuration_that_may_not_be_read_is_noted(tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_text("temperature: 0.6\n")

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    settings, (note,) = settings_beside(str(tmp_path / "metrics.csv"))
    assert settings == {}
    assert "Permission denied" in note


def test_a_long_honest_configuration_is_read(tmp_path):
    lines = [
        f"group{i}: {{{', '.join(f'option_{j}: {{value: 0.{j}}}' for j in range(20))}}}" for i in range(900)
    ]
    (tmp_path / "config.yaml").write_text("\n".join([*lines, "temperature: {value: 0.6}", ""]))
    settings, _ = settings_beside(str(tmp_path / "metrics.csv"))
    assert len(settings) == 18_001
    assert settings["temperature"] == 0.6
