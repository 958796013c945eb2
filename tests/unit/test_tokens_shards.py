"""Files that are copies, missing, or written by us; and shards that join as if read at once."""

import json
import math
import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw.errors import OutputError
from entropylaw.tokens import sums
from entropylaw.tokens.files import METADATA, copies, histogram_of
from entropylaw.tokens.run import write_together
from tests.token_tables import data, made, noted, refused, rows, summary, summary_of, written
from tests.typed import assert_error


@pytest.fixture
def tokens(tmp_path):
    """A file of tokens; returns its path."""
    return written(tmp_path / "tokens.parquet", made(2000))


def summed(table, path, **options):
    """Write a shard's sums to ``path``; returns it."""
    raw = written(path.with_suffix(".raw.parquet"), table)
    written(path, summary(raw, **options).histogram)
    raw.unlink()
    return path


@pytest.mark.parametrize(
    ("given", "output"),
    [
        ("tokens.parquet", "tokens.parquet"),
        ("tokens.parquet", "./link.parquet"),
        ("link.parquet", "tokens.parquet"),
        (".", "tokens.parquet"),
        ("tokens.parquet", "hard.parquet"),
        ("a.hist.parquet", "a.csv"),
    ],
)
def test_a_summary_does_not_replace_its_input(run, tokens, tmp_path, given, output):
    (tmp_path / "link.parquet").symlink_to(tokens)
    (tmp_path / "hard.parquet").hardlink_to(tokens)
    summed(made(500), tmp_path / "a.hist.parquet")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert_error(run("tokens", given, "-o", output), "output-is-input", 2)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_our_own_files_are_not_read_as_tokens(run, tokens, tmp_path):
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
def test_responses_in_two_shards_join_exactly(tmp_path, share, kind):
    """Rows are split anywhere: the bytes are those of all rows read at once."""
    table = made(3000)
    options = {"top_quantile": share, "columns": {"planning": ""}}
    prompt = {
        "numbers": table.column("prompt"),
        "floats": table.column("prompt").cast(pa.float64()),
        "names": pa.array([f"prompt {i} \u00e9" if i else None for i in table.column("prompt").to_pylist()]),
    }[kind]
    shards = table.set_column(1, "prompt", prompt)
    whole = summary_of(tmp_path, shards if kind == "names" else table, **options)
    order = np.random.default_rng(3).permutation(3000)
    parts = [
        summed(shards.take(order[start::3]), tmp_path / f"{start}.hist.parquet", **options)
        for start in range(3)
    ]
    joined = summary(*parts, top_quantile=share)
    assert data(joined.steps) == data(whole.steps)
    assert data(joined.histogram) == data(whole.histogram)
    assert noted(joined, "a response has tokens in another shard")
    two = written(tmp_path / "two.hist.parquet", summary(*parts[:2], top_quantile=share).histogram)
    assert data(summary(two, parts[2], top_quantile=share).steps) == data(whole.steps)


def test_shards_of_an_earlier_version_join_to_the_same_bytes(tmp_path):
    """They hold sums of the halves of each token's square, whose lower one is beyond 31 bits."""
    new = summary_of(tmp_path, made(3000)).histogram
    high, low = (new[name].to_numpy().copy() for name in ("square_high", "square_low"))
    assert low.max() < 1 << 31
    carried = high > 0
    high[carried], low[carried] = high[carried] - 1, low[carried] + (1 << 31)
    old = new
    for name, values in (("square_high", high), ("square_low", low)):
        old = old.set_column(old.column_names.index(name), name, pa.array(values))
    joined = summary(written(tmp_path / "old.hist.parquet", old))
    assert data(joined.histogram) == data(new) != data(old)


def test_too_many_responses_are_unknown_where_shards_share_a_step(tmp_path, monkeypatch):
    table = made(3000)
    expected = summary_of(tmp_path, table).steps
    monkeypatch.setattr(sums, "MOST", 10)
    assert data(summary_of(tmp_path, table).steps) == data(expected)
    step = table.column("step").to_numpy()
    first = (step < 10) | ((step == 10) & (np.arange(3000) % 2 == 0))
    parts = [
        summed(table.filter(pa.array(mask)), tmp_path / f"{n}.hist.parquet")
        for n, mask in enumerate((first, ~first))
    ]
    joined = summary(*parts)
    assert noted(joined, "1 step in several shards")
    unknown = ("responses", "response_length", "entropy_response_mean", "entropy_se_responses", "prompts")
    assert {rows(joined)[10][name] for name in unknown} == {None}
    for row, known in zip(joined.steps.to_pylist(), expected.to_pylist(), strict=True):
        assert row["step"] == 10 or row == known
        assert row["entropy"] == known["entropy"]


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


def test_shards_of_one_file_are_noted(tmp_path):
    one = summed(made(500), tmp_path / "a.hist.parquet")
    table = pq.read_table(one)
    about = json.loads(table.schema.metadata[METADATA])
    about["read"]["files"].append({"name": "other.parquet", "bytes": 1, "rows": 1})
    again = table.replace_schema_metadata({METADATA: json.dumps(about)})
    two = written(tmp_path / "c.hist.parquet", again)
    assert noted(summary(one, two), "both made from a file 'a.hist.raw.parquet'")


def test_a_copy_of_a_token_file_is_noted(tmp_path):
    content = bytearray(b"x" * 300_000)
    for name, at in (("d", 10), ("e", 150_000)):
        content[at] ^= 1
        (tmp_path / f"{name}.bin").write_bytes(content)
    (tmp_path / "f.bin").write_bytes(content)
    assert copies([(name, tmp_path / f"{name}.bin") for name in "def"]) == [("f", "e")]
    written(tmp_path / "a.parquet", made(500))
    written(tmp_path / "c.parquet", made(500, seed=1))
    shutil.copy(tmp_path / "a.parquet", tmp_path / "b.parquet")
    notes = summary(tmp_path).result.notes
    assert [note for note in notes if "same bytes" in note] == [
        "'b.parquet' holds the same bytes as 'a.parquet': if it is a copy, its tokens count twice"
    ]


def test_grams_that_sums_do_not_hold_are_noted(tmp_path):
    columns = {"step": [0] * 8, "sequence": [0] * 4 + [1] * 4, "position": [*range(4)] * 2}
    columns |= {"token": [" so", " we", " try", " again"] * 2, "entropy": [0.5] * 8}
    (tmp_path / "grams.txt").write_text("so\nwe try again\n", encoding="utf-8")
    part = summed(pa.table(columns), tmp_path / "a.hist.parquet", grams=str(tmp_path / "grams.txt"))
    joined = summary(part)
    assert noted(joined, "do not hold n-grams: grams, entropy_semantic")
    assert "entropy_planning_long" not in joined.steps.column_names
    assert rows(joined)[0]["responses"] == 2


def test_prompts_are_the_clusters_of_their_responses(tmp_path):
    """Responses to a prompt share its level: responses are not independent, and prompts are."""
    rng = np.random.default_rng(2)
    repetitions, prompts, samples = 200, 20, 8
    step, prompt, sample, _ = np.indices((repetitions, prompts, samples, 5)).reshape(4, -1)
    level = rng.uniform(0.2, 1.0, (repetitions, prompts))[step, prompt]
    entropy = level * rng.uniform(0.8, 1.2, len(level))
    columns = pa.table({"step": step, "prompt": prompt, "sample": sample, "entropy": entropy})
    result = summary_of(tmp_path, columns)
    frame = result.steps.to_pandas()
    assert frame.entropy_se_prompts.mean() == pytest.approx(frame.entropy.std(), rel=0.12)
    assert frame.entropy_se_responses.mean() < 0.5 * frame.entropy.std()
    assert result.result.about["columns"]["prompt"] == "prompt"
    for at, part in columns.to_pandas().groupby("step"):
        each = part.groupby("prompt").entropy.agg(["sum", "count"])
        n, s = each["count"], each["sum"]
        error = math.sqrt(prompts / (prompts - 1) * ((s - s.sum() / n.sum() * n) ** 2).sum()) / n.sum()
        assert frame.entropy_se_prompts[at] == pytest.approx(error, rel=1e-3)
        assert frame.prompts[at] == prompts
    without = summary_of(tmp_path, columns, columns={"prompt": ""}).steps
    assert "entropy_se_prompts" not in without.column_names
    by_sample = summary_of(tmp_path, columns, columns={"prompt": "sample"}, response=("prompt",)).steps
    assert by_sample.column("prompts").to_pylist() == [samples] * repetitions


@pytest.mark.parametrize(
    ("names", "absent"),
    [
        (
            ["part-00000", "part-00001", "part-00002", "part-00005"],
            "'part-00003.parquet', 'part-00004.parquet' would come between files that are there",
        ),
        (["rank_1", "rank_2"], None),
        (["part-0", "part-1", "part-2"], None),
        (["run-17", "run-99"], None),
        (
            [f"step_{step}/tokens" for step in (0, 10, 20, 40, 50)],
            "no folder 'step_30', and the others are 10 apart",
        ),
        ([f"step_{step}/tokens" for step in (0, 10, 20, 30)], None),
        ([f"step_{step}/tokens" for step in (1, 2, 4, 8, 16)], None),
        ([f"step_{step}/tokens" for step in (3, 9)], None),
    ],
)
def test_gaps_in_numbers_and_steps_are_noted(tmp_path, names, absent):
    for seed, name in enumerate(names):
        written(tmp_path / f"{name}.parquet", made(100, seed=seed))
    notes = [note for note in summary(tmp_path).result.notes if "not copied" in note]
    assert notes == ([] if absent is None else [f"{absent}: were they written, and not copied?"])


def test_both_files_or_neither(run, tokens, tmp_path):
    (tmp_path / "steps.parquet").mkdir()
    assert_error(run("tokens", tokens.name, "-o", "steps.parquet"), "cannot-write", 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["steps.parquet", "tokens.parquet"]


def test_the_first_file_is_put_back_if_the_second_fails(tmp_path, monkeypatch):
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
    warning = "one.hist.parquet is of other tokens than one.parquet: it is not drawn"
    assert histogram_of(tmp_path / "one.parquet") == (None, warning)
