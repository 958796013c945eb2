"""Tables with a sequence a row, and JSON lines: what lists leave open, types that no first record shows."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.test_tokens import data, summary
from tests.unit.test_tokens_input import refused, rows

LISTS = {
    "step": pa.int64(),
    "response_id": pa.int64(),
    "entropy": pa.list_(pa.float64()),
    "trainer_logprobs": pa.list_(pa.float64()),
    "loss_mask": pa.list_(pa.bool_()),
}


def sequences(seed=1, lengths=(3, 9)):
    """Fifty responses, ten a step, with every list."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(50):
        n = int(rng.integers(*lengths))
        made.append(
            {
                "step": number // 10,
                "response_id": number,
                "entropy": rng.lognormal(-1, 0.6, n).clip(0, 5).tolist(),
                "trainer_logprobs": (-rng.exponential(1, n)).tolist(),
                "loss_mask": (rng.random(n) < 0.8).tolist(),
            }
        )
    return made


@pytest.fixture(params=["parquet", "jsonl"])
def written(request, tmp_path):
    """Write sequences in either format; returns the path."""

    def write(made, name="t"):
        path = tmp_path / f"{name}.{request.param}"
        if request.param == "parquet":
            names = {name: LISTS[name] for name in made[0] if name in LISTS}
            pq.write_table(pa.Table.from_pylist(made, schema=pa.schema(names)), path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
        return path

    return write


def plain(made):
    """One row a token by pandas, with only those that count."""
    frame = pd.DataFrame(made).explode(["entropy", "trainer_logprobs", "loss_mask"])
    frame = frame.astype({"entropy": float, "trainer_logprobs": float, "loss_mask": bool})
    return frame[frame.loss_mask]


def test_a_null_list_of_log_probabilities_takes_no_tokens_away(written):
    made = sequences()
    kept = plain(made).groupby("step")
    known = plain([row for row in made if row["response_id"] % 2]).groupby("step")
    for row in made[::2]:
        row["trainer_logprobs"] = None
    found = summary(written(made))
    for step, row in rows(found).items():
        assert row["tokens"] == kept.get_group(step).shape[0]
        assert row["entropy"] == pytest.approx(kept.get_group(step).entropy.mean(), abs=1e-8)
        assert row["logprob"] == pytest.approx(known.get_group(step).trainer_logprobs.mean(), abs=1e-6)
    assert any("25 of 50 sequences have no list 'trainer_logprobs'" in note for note in found.result.notes)


def test_a_null_mask_leaves_its_tokens_out_and_says_so(written):
    made = sequences()
    kept = plain([row for row in made if row["response_id"] % 10 != 9]).groupby("step")
    lost = sum(len(row["entropy"]) for row in made[9::10])
    for row in made[9::10]:
        row["loss_mask"] = None
    found = summary(written(made))
    assert [row["tokens"] for row in rows(found).values()] == kept.size().tolist()
    assert any("5 of 50 sequences have no list 'loss_mask'" in note for note in found.result.notes)
    assert any(f"{lost} of" in note and "mask is null" in note for note in found.result.notes)
    total = sum(row["tokens"] + row["tokens_masked"] for row in rows(found).values())
    assert total == sum(len(row["entropy"]) for row in made)


def test_null_and_empty_lists_of_entropies_are_counted(written):
    made = sequences()
    n = len(made[3]["entropy"])
    made[3]["entropy"] = None
    made[3]["loss_mask"] = [True] * n
    made[14] |= {"entropy": [], "trainer_logprobs": [], "loss_mask": []}
    found = summary(written(made))
    assert rows(found)[0]["tokens_without_entropy"] == n
    assert rows(found)[0]["responses"] == 9
    assert any("1 of 50 sequences have no list 'entropy'" in note for note in found.result.notes)
    assert any("1 of 50 sequences have an empty list 'entropy'" in note for note in found.result.notes)


@pytest.mark.parametrize("name", ["loss_mask", "trainer_logprobs", "entropy"])
def test_lists_of_different_lengths_are_refused(written, name):
    made = sequences()
    for at in (23, 37):
        made[at][name] = made[at][name][1:]
    error = refused("lists-differ", written(made))
    assert "in 2 of 50 sequences, first at step 2" in error.message


def test_a_row_is_a_response_where_nothing_else_tells(written):
    made = sequences()
    found = summary(written(made, "named"))
    for row in made:
        del row["response_id"]
    unnamed = summary(written(made, "unnamed"))
    assert data(unnamed.steps) == data(found.steps)
    assert rows(unnamed)[0]["responses"] == 10
    assert any("each row is taken for one" in note for note in unnamed.result.notes)
    assert unnamed.result.about["columns"]["response"] == ["(each row)"]
    again = summary(written(made, "unnamed"))
    assert data(again.histogram) == data(unnamed.histogram)
    parts = []
    for start in range(3):
        sums = written(made[start::3], f"part{start}").with_suffix(".hist.parquet")
        pq.write_table(summary(written(made[start::3], f"part{start}")).histogram, sums)
        parts.append(sums)
    joined = summary(*parts)
    assert data(joined.steps) == data(unnamed.steps)
    assert data(joined.histogram) == data(unnamed.histogram)
    flat = {"step": [1, 1], "entropy": [0.1, 0.2]}
    pq.write_table(pa.table(flat), written([{"step": 1, "entropy": [0.5]}], "x").with_suffix(".pq"))
    none = summary(written([{"step": 1, "entropy": [0.5]}], "x").with_suffix(".pq"))
    assert any("no column tells responses apart" in note for note in none.result.notes)


def lines(path, made):
    path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return path


def test_a_later_score_is_no_flag_in_json_lines_either(tmp_path):
    """The first record shows 0 and the second 0.5: as a whole number that would be 0."""
    made = [{"step": 1, "entropy": 0.1, "correct": value} for value in (0, 1, 0.5, 1)]
    assert "1 values" in refused("correct-not-binary", lines(tmp_path / "a.jsonl", made)).message
    made = [{"step": 1, "entropy": 0.1, "loss_mask": value} for value in (1, 0, 0.4, 1)]
    assert "1 of 4" in refused("mask-not-binary", lines(tmp_path / "b.jsonl", made)).message
    made = [{"step": 1, "entropy": 0.1, "correct": value} for value in (True, False, 0.5)]
    refused("correct-not-binary", lines(tmp_path / "c.jsonl", made))


@pytest.mark.parametrize("values", [[0.4, 1.0], [2, 1], ["maybe", "true"]])
def test_masks_are_zero_or_one(tmp_path, values):
    table = pa.table({"step": [1] * 4, "entropy": [0.1, 0.2, 0.3, 0.4], "mask": values * 2})
    pq.write_table(table, tmp_path / "t.parquet")
    error = refused("mask-not-binary", tmp_path / "t.parquet")
    assert "2 of 4 values of 'mask'" in error.message
    assert "--mask" in error.hint


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None, True],
        [1, 0, None, 1],
        [1.0, 0.0, math.nan, 1.0],
        ["true", "false", None, "True"],
        ["1", "0", "", "1.0"],
    ],
    ids=["bool", "int", "float", "text", "digits"],
)
@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_flags_of_any_type_are_the_same_flags(tmp_path, values, kind):
    columns = {"step": [1] * 4, "entropy": [0.1, 0.2, 0.3, 0.4], "correct": values, "mask": values}
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        lines(path, [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
    judged = rows(summary(path, columns={"mask": ""}))[1]
    assert (judged["tokens_correct"], judged["tokens_wrong"], judged["tokens"]) == (2, 1, 4)
    assert judged["entropy_correct"] == pytest.approx(0.25, abs=1e-8)
    found = summary(path, columns={"correct": ""})
    assert (rows(found)[1]["tokens"], rows(found)[1]["tokens_masked"]) == (2, 2)
    assert any("1 of 4 tokens left out: their mask is null" in note for note in found.result.notes)


def test_types_are_those_of_the_first_values_not_of_the_first_record(tmp_path):
    made = sequences(lengths=(2, 4))
    for row in made:
        row["correct"] = bool(row["response_id"] % 2)
    want = summary(lines(tmp_path / "whole.jsonl", made))
    part = {step: row["tokens_correct"] for step, row in rows(want).items()}
    nothing = {"entropy": [], "trainer_logprobs": [], "loss_mask": [], "correct": None}
    first = [{"step": 0, "response_id": 99, **nothing}]
    found = summary(lines(tmp_path / "empty.jsonl", first + made))
    assert {step: row["tokens_correct"] for step, row in rows(found).items()} == part
    first = [{"step": 0, "response_id": 99}, {"step": 0, "response_id": 98, "loss_mask": None}]
    found = summary(lines(tmp_path / "late.jsonl", first + made))
    assert {step: row["tokens_correct"] for step, row in rows(found).items()} == part
    late = [{"step": 0, "response_id": at} for at in range(300)]
    assert summary(lines(tmp_path / "later.jsonl", late + made)).steps.num_rows == 5


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("logprob", ["a"] * 4),
        ("logprob", [True] * 4),
        ("mask", pa.array([1, 1, 2, 2], pa.timestamp("s"))),
        ("correct", [{"score": 1.0}] * 4),
        ("is_planning", pa.array([1, 1, 2, 2], pa.int32()).cast(pa.date32())),
    ],
)
def test_columns_of_another_kind_are_named(tmp_path, name, values):
    table = pa.table({"step": [1] * 4, "entropy": [0.1, 0.2, 0.3, 0.4], name: values})
    pq.write_table(table, tmp_path / "t.parquet")
    assert f"column '{name}'" in refused("column-not-numeric", tmp_path / "t.parquet").message


def test_classes_as_text_of_numbers(tmp_path):
    table = pa.table({"step": [1, 1], "entropy": [0.1, 0.4], "class": ["1.0", "0.0"]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert rows(summary(tmp_path / "t.parquet"))[1]["entropy_planning"] == pytest.approx(0.1, abs=1e-8)


def test_a_list_beside_single_entropies_is_not_used_and_said(tmp_path):
    table = pa.table({"step": [1, 1], "entropy": [0.1, 0.4], "loss_mask": [[1, 1], [1]]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert any("'loss_mask' holds lists" in note for note in summary(tmp_path / "t.parquet").result.notes)
