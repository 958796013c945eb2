"""Tables with a sequence per row, and JSON lines: incomplete lists, types that only later records show."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.token_tables import data, noted, refused, rows, summary, written

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
def write(request, tmp_path):
    """Write sequences in either format; returns the path."""

    def write(records, name="t"):
        path = tmp_path / f"{name}.{request.param}"
        if request.param == "jsonl":
            return written(path, records)
        types = {name: LISTS[name] for name in records[0] if name in LISTS}
        return written(path, pa.Table.from_pylist(records, schema=pa.schema(types)))

    return write


def plain(made):
    """One row a token by pandas, with only those that count."""
    frame = pd.DataFrame(made).explode(["entropy", "trainer_logprobs", "loss_mask"])
    frame = frame.astype({"entropy": float, "trainer_logprobs": float, "loss_mask": bool})
    return frame[frame.loss_mask]


def test_a_null_list_of_log_probabilities_takes_no_tokens_away(write):
    made = sequences()
    kept = plain(made).groupby("step")
    known = plain([row for row in made if row["response_id"] % 2]).groupby("step")
    for row in made[::2]:
        row["trainer_logprobs"] = None
    found = summary(write(made))
    for step, row in rows(found).items():
        assert row["tokens"] == kept.get_group(step).shape[0]
        assert row["entropy"] == pytest.approx(kept.get_group(step).entropy.mean(), abs=1e-8)
        assert row["logprob"] == pytest.approx(known.get_group(step).trainer_logprobs.mean(), abs=1e-6)
    assert noted(found, "25 of 50 sequences have no list 'trainer_logprobs'")


def test_a_null_mask_leaves_its_tokens_out_and_says_so(write):
    made = sequences()
    kept = plain([row for row in made if row["response_id"] % 10 != 9]).groupby("step")
    lost = sum(len(row["entropy"]) for row in made[9::10])
    for row in made[9::10]:
        row["loss_mask"] = None
    found = summary(write(made))
    assert [row["tokens"] for row in rows(found).values()] == kept.size().tolist()
    assert noted(found, "5 of 50 sequences have no list 'loss_mask'")
    assert any(f"{lost} of" in note and "mask is null" in note for note in found.notes)
    total = sum(row["tokens"] + row["tokens_masked"] for row in rows(found).values())
    assert total == sum(len(row["entropy"]) for row in made)


def test_null_and_empty_lists_of_entropies_are_counted(write):
    made = sequences()
    n = len(made[3]["entropy"])
    made[3]["entropy"] = None
    made[3]["loss_mask"] = [True] * n
    made[14] |= {"entropy": [], "trainer_logprobs": [], "loss_mask": []}
    found = summary(write(made))
    assert rows(found)[0]["tokens_without_entropy"] == n
    assert rows(found)[0]["responses"] == 9
    assert noted(found, "1 of 50 sequences have no list 'entropy'")
    assert noted(found, "1 of 50 sequences have an empty list 'entropy'")


@pytest.mark.parametrize("name", ["loss_mask", "trainer_logprobs", "entropy"])
def test_lists_of_different_lengths_are_refused(write, name):
    made = sequences()
    for at in (23, 37):
        made[at][name] = made[at][name][1:]
    assert "in 2 of 50 sequences, first at step 2" in refused("lists-differ", write(made)).message


def test_a_row_is_a_response_if_no_column_identifies_responses(write, tmp_path):
    records = sequences()
    named = summary(write(records, "named"))
    for row in records:
        del row["response_id"]
    unnamed = summary(write(records, "unnamed"))
    assert data(unnamed.steps) == data(named.steps)
    assert rows(unnamed)[0]["responses"] == 10
    assert noted(unnamed, "each row counts as one")
    assert unnamed.about["columns"]["response"] == ["(each row)"]
    flat = summary(written(tmp_path / "x.parquet", {"step": [1, 1], "entropy": [0.1, 0.2]}))
    assert noted(flat, "no column identifies responses")


@pytest.mark.parametrize(
    ("name", "values", "slug", "count"),
    [
        ("correct", (0, 1, 0.5, 1), "correct-not-binary", "1 of 4"),
        ("loss_mask", (1, 0, 0.4, 1), "mask-not-binary", "1 of 4"),
        ("correct", (True, False, 0.5), "correct-not-binary", "1 of 3"),
    ],
)
def test_a_later_score_is_not_a_flag_in_json_lines_either(tmp_path, name, values, slug, count):
    """The first record shows 0 and a later one 0.5: as a whole number that would be 0."""
    records = [{"step": 1, "entropy": 0.1, name: value} for value in values]
    assert count in refused(slug, written(tmp_path / "t.jsonl", records)).message


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
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path = written(tmp_path / f"t.{kind}", columns if kind == "parquet" else records)
    judged = rows(summary(path, columns={"mask": ""}))[1]
    assert (judged["tokens_correct"], judged["tokens_wrong"], judged["tokens"]) == (2, 1, 4)
    assert judged["entropy_correct"] == pytest.approx(0.25, abs=1e-8)
    found = summary(path, columns={"correct": ""})
    assert (rows(found)[1]["tokens"], rows(found)[1]["tokens_masked"]) == (2, 2)
    assert noted(found, "1 of 4 tokens left out: their mask is null")


def test_types_are_those_of_the_first_values_not_of_the_first_record(tmp_path):
    records = sequences(lengths=(2, 4))
    for row in records:
        row["correct"] = bool(row["response_id"] % 2)

    def correct(first):
        result = summary(written(tmp_path / "t.jsonl", first + records))
        return {step: row["tokens_correct"] for step, row in rows(result).items()}

    nothing = {"entropy": [], "trainer_logprobs": [], "loss_mask": [], "correct": None}
    expected = correct([])
    assert correct([{"step": 0, "response_id": 99, **nothing}]) == expected
    first = [{"step": 0, "response_id": 99}, {"step": 0, "response_id": 98, "loss_mask": None}]
    assert correct(first) == expected
    assert len(correct([{"step": 0, "response_id": at} for at in range(300)])) == 5
