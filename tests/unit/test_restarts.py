"""Jobs that were started again: a file that shrank, a header in the middle, a second file beside it."""

from __future__ import annotations

import json

import pytest

from tests.typed import typed

ENTROPY, REWARD = "actor/entropy", "critic/score/mean"


def numbers(step, start=0):
    """Entropy and reward of a step; another start of the job gives other values."""
    entropy = 1.0 - step / 150 + 0.001 * ((7 * step + start) % 5)
    return entropy, 0.7 - 0.3 * entropy


def csv_part(steps, columns=("step", ENTROPY, REWARD), start=0):
    cells = [
        {"step": step} | dict(zip((ENTROPY, REWARD), numbers(step, start), strict=True)) for step in steps
    ]
    return [",".join(columns), *(",".join(str(row.get(name, 1)) for name in columns) for row in cells)]


def jsonl_part(steps, start=0):
    return [
        json.dumps({"step": step, "data": dict(zip((ENTROPY, REWARD), numbers(step, start), strict=True))})
        for step in steps
    ]


def write(path, *parts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line for part in parts for line in part) + "\n")


def columns(folder, *logs):
    done = typed("columns", *logs, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"]


def said(report, *words):
    return any(all(word in note for word in words) for note in report["notes"])


@pytest.mark.parametrize(
    "second", [("step", ENTROPY, REWARD), ("step", REWARD, ENTROPY), ("actor/lr", REWARD, "step", ENTROPY)]
)
def test_rows_below_a_second_header_are_read_by_it(tmp_path, second):
    write(tmp_path / "log.csv", csv_part(range(61)), csv_part(range(41, 121), second, start=3))
    (report,) = columns(tmp_path, "log.csv")
    assert (report["steps"], report["last_step"], report["source"]["rows"]) == (121, 120.0, 141)
    (entropy,) = [one for one in report["entropy"] if one["used"]]
    first, last = (numbers(step, start)[0] for step, start in ((0, 0), (120, 3)))
    assert (entropy["high"], entropy["low"]) == pytest.approx((first, last), abs=0.005)
    assert report["read_dropped"] == {"superseded after a resume": 20}
    assert said(report, "header", "row 61")


def test_a_header_that_adds_many_columns_many_times_is_bounded(tmp_path):
    headers = [["step", ENTROPY, REWARD, *(f"c{i}-{j}" for j in range(60))] for i in range(40)]
    write(tmp_path / "log.csv", *(csv_part(range(i, i + 2), header) for i, header in enumerate(headers)))
    (report,) = columns(tmp_path, "log.csv")
    assert report["other_columns"] <= 2 * 63 + 64
    assert said(report, "39 headers", "not read")


def test_a_file_that_shrank_says_that_its_beginning_is_missing(tmp_path):
    write(tmp_path / "log.jsonl", jsonl_part(range(40, 121)))
    (report,) = columns(tmp_path, "log.jsonl")
    assert (report["first_step"], report["steps"]) == (40.0, 81)
    assert said(report, "begins at step 40")
    write(tmp_path / "whole.jsonl", jsonl_part(range(121)))
    (whole,) = columns(tmp_path, "whole.jsonl")
    assert not said(whole, "begins at step")


def test_a_second_file_that_goes_on_with_the_first_names_it(tmp_path):
    write(tmp_path / "job" / "metrics.jsonl", jsonl_part(range(61)))
    write(tmp_path / "job" / "metrics_2.jsonl", jsonl_part(range(41, 121), start=3))
    first, second = columns(tmp_path, "job")
    assert (first["steps"], second["steps"]) == (61, 80)
    assert said(second, "metrics.jsonl", "resumed")
    assert not said(first, "resumed")


def test_seeds_side_by_side_are_no_continuations(tmp_path):
    for seed in range(3):
        write(tmp_path / "seeds" / f"seed-{seed}.jsonl", jsonl_part(range(61), start=seed))
    assert not any(said(report, "begins at step") for report in columns(tmp_path, "seeds"))
