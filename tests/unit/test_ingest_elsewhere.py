"""Compressed files, files elsewhere, and large files read in part."""

import bz2
import gzip
import hashlib
import lzma
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw import InputError, read_runs
from entropylaw.logs.sources import content as contents
from entropylaw.roles.select import select
from tests.hostile import refused

ROOT = Path(__file__).parents[2]
CSV = "step,entropy,reward,prose\n" + "".join(f"{s},{1 / s},{s / 50},word {s}\n" for s in range(1, 41))
VERL = "".join(f"step:{s} - actor/entropy:{1 / s} - critic/score/mean:{s / 50}\n" for s in range(1, 41))
JSONL = "".join(f'{{"step": {s}, "entropy": {1 / s}, "reward": {s / 50}, "x": "y"}}\n' for s in range(1, 41))


PACKED = {
    ".gz": gzip.compress,
    ".zst": partial(pa.compress, codec="zstd", asbytes=True),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_files_are_read_as_what_is_in_them(tmp_path, suffix):
    table = pa.table({"step": range(1, 41), "entropy": [1 / s for s in range(1, 41)], "reward": range(40)})
    pq.write_table(table, tmp_path / "plain")
    files = {"x.csv": CSV.encode(), "x.log": VERL.encode(), "x.parquet": (tmp_path / "plain").read_bytes()}
    for name, data in files.items():
        (tmp_path / (name + suffix)).write_bytes(PACKED[suffix](data))
        (run,) = read_runs(tmp_path / (name + suffix))
        assert select(run).entropy.tolist() == [1 / s for s in range(1, 41)]
        assert not any("the name ends in" in note for note in run.notes)


@pytest.mark.parametrize("suffix", PACKED)
def test_a_compressed_file_that_breaks_off_gives_what_came_before(tmp_path, suffix):
    # A block of bzip2 has 900 kB, and is whole or nothing.
    last = 60_000 if suffix == ".bz2" else 8_000
    rows = "".join(f"{s},{np.sin(s)},{np.cos(s)}\n" for s in range(1, last))
    whole = PACKED[suffix](("step,entropy,reward\n" + rows).encode())
    path = tmp_path / f"x.csv{suffix}"
    path.write_bytes(whole[: len(whole) // 2])
    (run,) = read_runs(path)
    assert run.source.unread is None
    assert 0 < len(run.step) < last - 1
    assert run.columns["reward"][5] == np.cos(6)
    assert any("breaks off or is damaged" in note for note in run.notes)
    path.write_bytes(whole[:9])
    refused("file-corrupt", read_runs, path)


def test_of_a_file_elsewhere_the_hint_says_how_it_is_read():
    error = refused("file-not-found", read_runs, "s3://bucket/x.csv")
    assert (
        error.hint == "nothing is read from elsewhere: copy it here first, or pipe it into `entropylaw fit -`"
    )


@pytest.mark.parametrize(("name", "text"), [("x.csv", CSV), ("x.jsonl", JSONL), ("x.log", VERL)])
def test_of_a_large_file_only_useful_columns_are_kept(tmp_path, monkeypatch, name, text):
    path = tmp_path / name
    path.write_text(text.replace("reward", "reward_std"))
    whole = read_runs(path)[0]
    monkeypatch.setattr(contents, "_LARGE", 100)
    part = read_runs(path)[0]
    assert set(part.columns) <= set(whole.columns)
    assert select(part, reward=None).entropy.tolist() if name == "x.log" else "reward_std" in part.unread
    if name != "x.log":
        assert any("columns were not read" in note for note in part.notes)
        with pytest.raises(InputError, match="'reward_std'"):
            select(part)
        named = read_runs(path, columns=["reward_std"])[0]
        assert select(named, reward="reward_std").reward.tolist() == [s / 50 for s in range(1, 41)]


def test_of_a_wide_parquet_file_only_useful_columns_are_read(tmp_path):
    steps = np.arange(1, 41)
    columns = {"step": steps, "actor/entropy": 1 / steps, "critic/score/mean": steps / 50, "mine": steps / 7}
    columns |= {f"layer/{i}/norm": steps * 1.0 for i in range(400)}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    (run,) = read_runs(tmp_path / "x.parquet")
    assert set(run.columns) == {"actor/entropy", "critic/score/mean"}
    assert len(run.unread) == 401
    assert select(run).reward.tolist() == [s / 50 for s in range(1, 41)]
    (run,) = read_runs(tmp_path / "x.parquet", columns=["mine"])
    assert select(run, reward="mine").reward.tolist() == [s / 7 for s in range(1, 41)]


def test_text_is_read_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "_PIECE", 64)
    for name, text in {"x.csv": CSV, "x.log": VERL, "x.jsonl": JSONL}.items():
        path = tmp_path / name
        path.write_text(text.replace("word", "wörd\r"), encoding="utf-8", newline="")
        (run,) = read_runs(path)
        assert select(run).entropy.tolist() == [1 / s for s in range(1, 41)]
        assert run.source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["x.json", "x.csv", "x.log"])
def test_what_has_to_be_in_memory_has_a_limit(tmp_path, monkeypatch, name):
    monkeypatch.setattr(contents, "MOST_AT_ONCE", 1000)
    path = tmp_path / name
    texts = {"x.csv": CSV, "x.log": VERL}
    path.write_text(texts.get(name, "[\n" + ",\n".join(JSONL.splitlines()) + "\n]"))
    refused("file-too-large", read_runs, path)
