"""Files that are there twice, or not at all, or are our own; and shards that join as if read at once."""

import json
import math
import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw.errors import OutputError
from entropylaw.tokens import responses
from entropylaw.tokens.files import histogram_of
from entropylaw.tokens.run import write_together
from entropylaw.tokens.shards import copies
from tests.unit.test_cli import assert_error
from tests.unit.test_tokens import data, made, summary
from tests.unit.test_tokens_input import refused, rows


@pytest.fixture
def tokens(tmp_path):
    """A file of tokens; returns its path."""
    path = tmp_path / "tokens.parquet"
    pq.write_table(made(2000), path)
    return path


def summed(table, path, **asked):
    """Write a shard's sums to ``path`` from its tokens beside it; returns the path."""
    raw = path.with_suffix(".raw.parquet")
    pq.write_table(table, raw)
    pq.write_table(summary(raw, **asked).histogram, path)
    raw.unlink()
    return path


def test_a_summary_is_not_written_over_its_tokens(run, tokens, tmp_path):
    before = tokens.read_bytes()
    (tmp_path / "link.parquet").symlink_to(tokens)
    (tmp_path / "hard.parquet").hardlink_to(tokens)
    for given, output in (
        ("tokens.parquet", "tokens.parquet"),
        ("tokens.parquet", "./link.parquet"),
        ("link.parquet", "tokens.parquet"),
        (".", "tokens.parquet"),
        ("tokens.parquet", "hard.parquet"),
    ):
        assert_error(run("tokens", given, "-o", output), "output-is-input", 2)
        assert tokens.read_bytes() == before
    assert not list(tmp_path.glob("*.hist.parquet"))


def test_joined_sums_are_not_written_over_a_shard(run, tokens, tmp_path):
    sums = summed(made(500), tmp_path / "a.hist.parquet")
    before = sums.read_bytes()
    assert_error(run("tokens", sums.name, "-o", "a.csv"), "output-is-input", 2)
    assert sums.read_bytes() == before


def test_what_was_written_before_is_not_read_as_tokens(run, tokens, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    tokens.rename(folder / "tokens.parquet")
    first = run("tokens", "runs", "-o", "runs/steps.parquet")
    again = run("tokens", "runs", "-o", "runs/steps.parquet")
    assert first.stdout == again.stdout
    assert "2,000 tokens" in again.stdout
    assert "skipped 'steps.parquet'" in again.stderr
    assert_error(run("tokens", "runs/steps.parquet"), "already-summarised", 3)
    shutil.copy(folder / "steps.hist.parquet", folder / "renamed.parquet")
    assert_error(run("tokens", "runs/renamed.parquet"), "already-summarised", 3)
    (folder / "tokens.parquet").unlink()
    assert_error(run("tokens", "runs"), "no-token-files", 3)


@pytest.mark.parametrize("share", [None, 0.2])
@pytest.mark.parametrize("kind", ["numbers", "floats", "names"])
def test_responses_that_lie_in_two_shards_join_exactly(tmp_path, share, kind):
    """Rows split anywhere: what is joined has the bytes of what is read at once."""
    table = made(3000)
    if kind == "names":
        names = pa.array([f"prompt {i} \u00e9" if i else None for i in table.column("prompt").to_pylist()])
        table = table.set_column(1, "prompt", names)
    pq.write_table(table, tmp_path / "whole.parquet")
    whole = summary(tmp_path / "whole.parquet", top_quantile=share, columns={"planning": ""})
    if kind == "floats":
        whole = summary(tmp_path / "whole.parquet", top_quantile=share, columns={"planning": ""})
        table = table.set_column(1, "prompt", table.column("prompt").cast(pa.float64()))
    order = np.random.default_rng(3).permutation(3000)
    asked = {"top_quantile": share, "columns": {"planning": ""}}
    parts = [
        summed(table.take(order[start::3]), tmp_path / f"{start}.hist.parquet", **asked) for start in range(3)
    ]
    joined = summary(*parts, top_quantile=share)
    assert data(joined.steps) == data(whole.steps)
    assert data(joined.histogram) == data(whole.histogram)
    assert any("a response has tokens in another shard" in note for note in joined.result.notes)
    twice = tmp_path / "two.hist.parquet"
    pq.write_table(summary(*parts[:2], top_quantile=share).histogram, twice)
    assert data(summary(twice, parts[2], top_quantile=share).steps) == data(whole.steps)


def test_too_many_responses_are_not_known_where_shards_share_a_step(tmp_path, monkeypatch):
    table = made(3000)
    pq.write_table(table, tmp_path / "whole.parquet")
    want = summary(tmp_path / "whole.parquet").steps
    monkeypatch.setattr(responses, "MOST", 10)
    assert data(summary(tmp_path / "whole.parquet").steps) == data(want)
    step = table.column("step").to_numpy()
    shared = (step == 10) & (np.arange(3000) % 2 == 0)
    first = (step < 10) | shared
    parts = [
        summed(table.filter(pa.array(mask)), tmp_path / f"{n}.hist.parquet")
        for n, mask in enumerate((first, ~first))
    ]
    joined = summary(*parts)
    assert any("1 step in several shards" in note for note in joined.result.notes)
    unknown = {
        name: rows(joined)[10][name]
        for name in (
            "responses",
            "response_length",
            "entropy_response_mean",
            "entropy_se_responses",
            "prompts",
        )
    }
    assert set(unknown.values()) == {None}
    for found, wanted in zip(joined.steps.to_pylist(), want.to_pylist(), strict=True):
        assert found["step"] == 10 or found == wanted
        assert found["entropy"] == wanted["entropy"]


def test_a_shard_counts_once(tmp_path):
    one = summed(made(500, seed=1), tmp_path / "a.hist.parquet")
    two = summed(made(500, seed=2), tmp_path / "b.hist.parquet")
    shutil.copy(one, tmp_path / "copy.hist.parquet")
    assert "holds the same sums as" in refused("shard-twice", one, two, one).message
    refused("shard-twice", one, two, f"{tmp_path}/../{tmp_path.name}/a.hist.parquet")
    refused("shard-twice", one, two, tmp_path / "copy.hist.parquet")
    assert sum(summary(one, two).steps.column("tokens").to_pylist()) == 1000
    assert sum(summary(tmp_path / "[ab].hist.parquet").steps.column("tokens").to_pylist()) == 1000
    refused("file-not-found", tmp_path / "[xy].hist.parquet")


def test_shards_of_one_file_are_a_caution(tmp_path):
    path = tmp_path / "tokens.parquet"
    pq.write_table(made(500), path)
    for name, asked in (("a", {}), ("b", {"columns": {"logprob": ""}})):
        pq.write_table(summary(path, **asked).histogram, tmp_path / f"{name}.hist.parquet")
    found = pq.read_table(tmp_path / "a.hist.parquet")
    about = json.loads(found.schema.metadata[b"entropylaw"])
    about["read"]["files"].append({"name": "other.parquet", "bytes": 1, "rows": 1})
    again = found.replace_schema_metadata({b"entropylaw": json.dumps(about)})
    pq.write_table(again, tmp_path / "c.hist.parquet")
    notes = summary(tmp_path / "a.hist.parquet", tmp_path / "c.hist.parquet").result.notes
    assert any("both made from a file 'tokens.parquet'" in note for note in notes)


def test_a_copy_of_a_token_file_is_said(tmp_path):
    pq.write_table(made(500), tmp_path / "a.parquet")
    pq.write_table(made(500, seed=1), tmp_path / "c.parquet")
    inside = bytearray(b"x" * 300_000)
    for name, at in (("d", 10), ("e", 150_000)):
        inside[at] ^= 1
        (tmp_path / f"{name}.bin").write_bytes(inside)
    (tmp_path / "f.bin").write_bytes(inside)
    files = [(name, tmp_path / f"{name}.bin") for name in "def"]
    assert copies(files) == [("f", "e")]
    shutil.copy(tmp_path / "a.parquet", tmp_path / "b.parquet")
    notes = summary(tmp_path).result.notes
    assert [note for note in notes if "same bytes" in note] == [
        "'b.parquet' holds the same bytes as 'a.parquet': if it is a copy, its tokens count twice"
    ]


def test_what_sums_do_not_hold_of_grams_is_said(tmp_path):
    words = ["so", "we", "try", "again"]
    table = pa.table(
        {
            "step": [0] * 8,
            "sequence": [0] * 4 + [1] * 4,
            "position": [*range(4)] * 2,
            "token": [f" {word}" for word in words] * 2,
            "entropy": [0.5] * 8,
        }
    )
    (tmp_path / "grams.txt").write_text("so\nwe try again\n", encoding="utf-8")
    part = summed(table, tmp_path / "a.hist.parquet", grams=str(tmp_path / "grams.txt"))
    joined = summary(part)
    assert any(
        "n-grams are not in their sums" in note and "entropy_semantic" in note for note in joined.result.notes
    )
    assert "entropy_planning_long" not in joined.steps.column_names
    assert rows(joined)[0]["responses"] == 2


def test_prompts_are_the_clusters_of_their_responses(tmp_path):
    """Responses to a prompt share its level: responses are no independent draws, and prompts are."""
    rng = np.random.default_rng(2)
    repetitions, prompts, samples, tokens = 200, 20, 8, 5
    step, prompt, sample, _ = np.indices((repetitions, prompts, samples, tokens)).reshape(4, -1)
    level = rng.uniform(0.2, 1.0, (repetitions, prompts))[step, prompt]
    entropy = level * rng.uniform(0.8, 1.2, len(level))
    columns = {"step": step, "prompt": prompt, "sample": sample, "entropy": entropy}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = summary(tmp_path / "t.parquet")
    frame = found.steps.to_pandas()
    assert frame.entropy_se_prompts.mean() == pytest.approx(frame.entropy.std(), rel=0.12)
    assert frame.entropy_se_responses.mean() < 0.5 * frame.entropy.std()
    assert found.result.about["columns"]["prompt"] == "prompt"
    for at, part in pa.table(columns).to_pandas().groupby("step"):
        each = part.groupby("prompt").entropy.agg(["sum", "count"])
        n, s = each["count"], each["sum"]
        error = math.sqrt(prompts / (prompts - 1) * ((s - s.sum() / n.sum() * n) ** 2).sum()) / n.sum()
        assert frame.entropy_se_prompts[at] == pytest.approx(error, rel=1e-3)
        assert frame.prompts[at] == prompts
    without = summary(tmp_path / "t.parquet", columns={"prompt": ""}).steps
    assert "entropy_se_prompts" not in without.column_names
    plain = summary(tmp_path / "t.parquet", columns={"prompt": "sample"}, response=("prompt",)).steps
    assert plain.column("prompts").to_pylist() == [samples] * repetitions


def test_gaps_that_are_gone_over_are_noted(tmp_path):
    pq.write_table(made(100), tmp_path / "part-00000-of-00003.parquet")
    pq.write_table(made(100, seed=1), tmp_path / "part-00002-of-00003.parquet")
    refused("shard-missing", tmp_path)
    notes = summary(tmp_path, allow_missing=True).result.notes
    assert any("went on without 1 missing file: 'part-00001-of-00003.parquet'" in note for note in notes)


@pytest.mark.parametrize(
    ("names", "absent"),
    [
        (
            ["part-00000", "part-00001", "part-00002", "part-00005"],
            "'part-00003.parquet', 'part-00004.parquet'",
        ),
        (["rank_1", "rank_2"], None),
        (["part-0", "part-1", "part-2"], None),
        (["run-17", "run-99"], None),
    ],
)
def test_numbers_that_are_left_out_are_noted(tmp_path, names, absent):
    for seed, name in enumerate(names):
        pq.write_table(made(100, seed=seed), tmp_path / f"{name}.parquet")
    found = [note for note in summary(tmp_path).result.notes if "not copied" in note]
    assert found == ([] if absent is None else [f"{absent} would stand between files that are there: "
        "were they written, and not copied?"])  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "absent"),
    [([0, 10, 20, 40, 50], "'step_30'"), ([0, 10, 20, 30], None), ([1, 2, 4, 8, 16], None), ([3, 9], None)],
)
def test_a_step_that_is_left_out_is_noted(tmp_path, steps, absent):
    for step in steps:
        (tmp_path / f"step_{step}").mkdir()
        record = {"step": step, "rank": 0, "export_sequence_idx": 0, "entropy": [0.1 + step / 100]}
        (tmp_path / f"step_{step}" / "rank_0.jsonl").write_text(json.dumps(record) + "\n")
    found = [note for note in summary(tmp_path).result.notes if "not copied" in note]
    assert [absent in note for note in found] == ([] if absent is None else [True])


def test_both_files_or_neither(run, tokens, tmp_path):
    (tmp_path / "steps.parquet").mkdir()
    assert_error(run("tokens", tokens.name, "-o", "steps.parquet"), "cannot-write", 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["steps.parquet", "tokens.parquet"]


def test_what_stood_there_comes_back_where_the_second_file_fails(tmp_path, monkeypatch):
    names = [tmp_path / name for name in ("a", "b")]
    names[0].write_bytes(b"old a")
    replace = os.replace

    def fails(source, target, **more):
        if str(target) == str(names[1]):
            raise OSError(28, "No space left on device")
        return replace(source, target, **more)

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OutputError, match="No space left"):
        write_together({str(name): b"new" for name in names})
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old a"}
    names[1].write_bytes(b"old b")
    write_together({str(name): b"new" for name in names})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new", "b": b"new"}


def test_a_summary_names_its_histograms(run, tokens, tmp_path):
    assert run("tokens", tokens.name, "-o", "one.parquet").returncode == 0
    assert run("tokens", tokens.name, "--top-quantile", "0.2", "-o", "two.parquet").returncode == 0
    one, two = (tmp_path / f"{name}.hist.parquet" for name in ("one", "two"))
    assert histogram_of(tmp_path / "one.parquet") == (one, "")
    assert histogram_of(tmp_path / "three.parquet") == (None, "")
    shutil.copy(one, tokens.with_suffix(".hist.parquet"))
    assert histogram_of(tokens) == (tokens.with_suffix(".hist.parquet"), "")
    shutil.copy(two, one)
    beside, warning = histogram_of(tmp_path / "one.parquet")
    assert beside is None
    assert warning == "one.hist.parquet is of other tokens than one.parquet: it is not drawn"


def test_no_name_is_no_folder(run, tokens):
    assert_error(run("tokens", ""), "file-not-found", 3)


def test_padding_shows_among_other_high_entropies(tmp_path):
    """One value above it, and padding that differs in its last digits, hid it."""
    pad = math.log(151936)
    rng = np.random.default_rng(0)
    entropy = np.where(np.arange(400) % 20 == 0, pad * (1 + rng.normal(0, 1e-6, 400)), rng.random(400))
    entropy[7] = 13.1
    columns = {"step": np.repeat([1, 2], 200), "entropy": entropy, "position": np.arange(400) % 20}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    error = refused("entropy-padding", tmp_path / "t.parquet")
    assert "20 of 400" in error.message
    assert "log(151,936), 20 of them at position 0" in error.message
    columns["entropy"] = np.where(entropy > 8, rng.uniform(8, 12, 400), entropy)
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert summary(tmp_path / "t.parquet").steps.num_rows == 2


def test_what_is_rounded_to_zero_has_its_log_probability(tmp_path):
    columns = {"step": [1, 1], "entropy": [-1e-7, 0.5], "logprob": [-0.25, -0.75]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert rows(summary(tmp_path / "t.parquet"))[1]["logprob"] == -0.5
