"""Counts in what is printed are those of what is there."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from entropylaw.documents.loading import load_fit
from tests.conftest import LAB
from tests.typed import typed


def rows(n=50):
    chance = np.random.default_rng(1)
    entropy = 0.05 + 0.9 * np.exp(-4 * np.arange(n) / n)
    reward = 0.55 - 0.2 * np.expm1(entropy) + 0.004 * chance.standard_normal(n)
    return [
        {"step": i, "entropy": h, "reward": r}
        for i, (h, r) in enumerate(zip(entropy.tolist(), reward.tolist(), strict=True))
    ]


def columns(folder, log):
    done = typed("columns", log, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"][0]


@pytest.mark.parametrize("place", [0, 20, 50])
def test_a_record_with_a_log_history_does_not_hide_the_others(tmp_path, place):
    records = rows()
    records.insert(place, {"config": {"lr": 1e-6}, "log_history": [{"step": 1, "loss": 2.0}]})
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    report = columns(tmp_path, "log.jsonl")
    assert (report["source"]["format"], report["source"]["rows"], report["steps"]) == ("jsonl", 51, 50)
    assert report["read_dropped"] == {"no step in the record": 1}
    assert not any("damaged" in note for note in report["notes"])


def test_bad_lines_beside_an_object_of_columns_are_counted(tmp_path):
    table = {name: [row[name] for row in rows()] for name in ("step", "entropy", "reward")}
    (tmp_path / "log.jsonl").write_text(json.dumps(table) + "\n{broken\n")
    report = columns(tmp_path, "log.jsonl")
    assert (report["steps"], report["source"]["rows"]) == (50, 51)
    assert report["read_dropped"] == {"unparseable line": 1}


@pytest.mark.parametrize("run", ["clean_start_s0", "grpo_s0", "diverging"])
def test_sentences_that_are_not_shown_are_counted(tmp_path, run):
    outputs = ("-o", "fit.txt", "-o", "fit.json")
    done = typed("fit", LAB / run / "metrics.parquet", *outputs, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = load_fit(tmp_path / "fit.json").runs[0].result
    text = " ".join((tmp_path / "fit.txt").read_text().split())
    left_out = {"reason": 0, "caution": 0, "note": 0}
    shown_with_details = [*found.findings, *found.forecast.findings]
    for finding in shown_with_details:
        left_out[finding.severity] += " ".join(finding.sentence.split()) not in text
    for label, number in left_out.items():
        counted = re.search(rf"(?:\+|· )(\d+) {label}s?\b[^:]*: --details", text)
        assert int(counted[1] if counted else 0) == number
    # With details nothing is left out.
    typed("fit", LAB / run / "metrics.parquet", "--details", "-o", "all.txt", cwd=tmp_path)
    text = " ".join((tmp_path / "all.txt").read_text().split())
    assert "--details" not in text
    for finding in shown_with_details:
        assert " ".join(finding.sentence.split()) in text


def test_every_outlier_is_counted(tmp_path):
    records = rows(400)
    for i in range(20, 380, 40):
        records[i]["reward"] -= 3.0
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    typed("fit", "log.jsonl", "-o", "fit.txt", "-o", "fit.json", cwd=tmp_path)
    law = load_fit(tmp_path / "fit.json").runs[0].result.law
    assert (law.n, len(law.dropped)) == (391, 9)
    assert "9 evaluations dropped" in " ".join((tmp_path / "fit.txt").read_text().split())
    typed("fit", "log.jsonl", "--details", "-o", "all.txt", cwd=tmp_path)
    text = " ".join((tmp_path / "all.txt").read_text().split())
    assert text.count("gross outlier: reward") == 9


def test_an_evaluation_that_the_forecast_uses_is_not_counted_as_dropped(tmp_path):
    records = rows(40)
    del records[5]["entropy"]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    brief, all_of_it = (
        " ".join(typed("fit", "log.jsonl", "--no-save", *more, cwd=tmp_path).stdout.split())
        for more in ((), ("--details",))
    )
    assert "1 evaluation in the forecast only: --details" in brief
    assert "forecast only no entropy at that step (1)" in all_of_it
    assert "dropped" not in brief + all_of_it


def test_a_file_that_was_not_read_dropped_nothing_and_does_not_say_so(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"\x00\x01\x02" * 100)
    done = typed("fit", "log.csv", "-o", "fit.txt", cwd=tmp_path)
    assert done.returncode == 3
    assert "dropped" not in (tmp_path / "fit.txt").read_text()


def test_one_of_a_thing_is_not_written_as_several(tmp_path):
    (tmp_path / "log.jsonl").write_text(json.dumps(rows()[0] | {"other": 1}) + "\n")
    text = " ".join(typed("columns", "log.jsonl", cwd=tmp_path).stdout.split())
    assert not re.search(r"(?<!of )\b1 (?:records|steps|values|evaluations|columns|other columns)\b", text)
