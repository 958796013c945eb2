"""Counts in what is printed are those of what is there, also of jobs that were started again."""

import json
import re

import numpy as np
import pytest

from entropylaw import load, read_runs
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


def columns(folder, *logs):
    done = typed("columns", *logs, "--format", "json", cwd=folder, code=0)
    return json.loads(done.stdout)["runs"]


@pytest.mark.parametrize("place", [0, 20, 50])
def test_a_record_with_a_log_history_does_not_hide_the_others(tmp_path, place):
    records = rows()
    records.insert(place, {"config": {"lr": 1e-6}, "log_history": [{"step": 1, "loss": 2.0}]})
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (report,) = columns(tmp_path, "log.jsonl")
    assert (report["source"]["format"], report["source"]["rows"], report["steps"]) == ("jsonl", 51, 50)
    assert report["read_dropped"] == {"no step in the record": 1}
    assert not any("damaged" in note for note in report["notes"])


def test_bad_lines_beside_an_object_of_columns_are_counted(tmp_path):
    table = {name: [row[name] for row in rows()] for name in ("step", "entropy", "reward")}
    (tmp_path / "log.jsonl").write_text(json.dumps(table) + "\n{broken\n")
    (report,) = columns(tmp_path, "log.jsonl")
    assert (report["steps"], report["source"]["rows"]) == (50, 51)
    assert report["read_dropped"] == {"unparseable line": 1}


@pytest.mark.parametrize("run", ["clean_start_s0", "grpo_s0", "diverging"])
def test_sentences_that_are_not_shown_are_counted(tmp_path, run):
    outputs = ("-o", "fit.txt", "-o", "fit.json")
    typed("fit", LAB / run / "metrics.parquet", *outputs, cwd=tmp_path, code=0)
    found = load(tmp_path / "fit.json", "fit").runs[0].result
    text = " ".join((tmp_path / "fit.txt").read_text().split())
    counted = re.search(r"; (\d+) cautions?", text)
    assert int(counted[1] if counted else 0) == len(found.cautions)
    # With details nothing is left out.
    typed("fit", LAB / run / "metrics.parquet", "--details", "-o", "all.txt", cwd=tmp_path)
    text = " ".join((tmp_path / "all.txt").read_text().split())
    assert "--details" not in text
    for finding in (*found.findings, *found.forecast.findings):
        # The numbers of a reason are in the table.
        assert finding.severity == "reason" or " ".join(finding.sentence.split()) in text


def test_every_outlier_is_counted(tmp_path):
    records = rows(400)
    for i in range(20, 380, 40):
        records[i]["reward"] -= 3.0
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    typed("fit", "log.jsonl", "-o", "fit.txt", "-o", "fit.json", cwd=tmp_path)
    law = load(tmp_path / "fit.json", "fit").runs[0].result.law
    assert (law.n, len(law.dropped)) == (391, 9)
    assert "391 evaluations of steps 0–399, 9 dropped" in " ".join((tmp_path / "fit.txt").read_text().split())
    typed("fit", "log.jsonl", "--details", "-o", "all.txt", cwd=tmp_path)
    assert " ".join((tmp_path / "all.txt").read_text().split()).count("gross outlier: reward") == 9


def test_an_evaluation_that_the_forecast_uses_is_not_counted_as_dropped(tmp_path):
    records = rows(40)
    del records[5]["entropy"]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    brief, all_of_it = (
        " ".join(typed("fit", "log.jsonl", "--no-save", *more, cwd=tmp_path).stdout.split())
        for more in ((), ("--details",))
    )
    assert "forecast only no entropy at that step (1)" in all_of_it
    assert ", 1 dropped" not in brief + all_of_it
    assert " dropped " not in all_of_it


def test_a_file_that_was_not_read_dropped_nothing_and_does_not_say_so(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"\x00\x01\x02" * 100)
    typed("fit", "log.csv", "-o", "fit.txt", cwd=tmp_path, code=3)
    assert "dropped" not in (tmp_path / "fit.txt").read_text()


def test_one_of_a_thing_is_not_written_as_several(tmp_path):
    (tmp_path / "log.jsonl").write_text(json.dumps(rows()[0] | {"other": 1}) + "\n")
    text = " ".join(typed("columns", "log.jsonl", cwd=tmp_path).stdout.split())
    assert not re.search(r"(?<!of )\b1 (?:records|steps|values|evaluations|columns|other columns)\b", text)


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


def test_the_columns_that_later_headers_add_are_read(tmp_path):
    headers = [["step", ENTROPY, REWARD, *(f"c{i}-{j}" for j in range(60))] for i in range(40)]
    write(tmp_path / "log.csv", *(csv_part(range(i, i + 2), header) for i, header in enumerate(headers)))
    (report,) = columns(tmp_path, "log.csv")
    (run,) = read_runs(tmp_path / "log.csv")
    assert set(run.names) == {name for header in headers for name in header}
    assert said(report, "39 headers")


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


def test_a_run_that_was_resumed_in_a_second_file_is_one_run(tmp_path):
    write(tmp_path / "named" / "run_a.jsonl", jsonl_part(range(61)))
    write(tmp_path / "named" / "run_a_resumed.jsonl", jsonl_part(range(41, 121), start=3))
    (named,) = columns(tmp_path, "named")
    assert (named["run"], named["steps"], named["last_step"]) == ("run_a", 121, 120.0)
    assert said(named, "resumed run: from step 41 on it is in 'run_a_resumed.jsonl'")
    assert named["read_dropped"] == {"superseded after a resume": 20}
    write(tmp_path / "equal" / "one.jsonl", jsonl_part(range(61)))
    write(tmp_path / "equal" / "two.jsonl", jsonl_part(range(41, 121)))
    (equal,) = columns(tmp_path, "equal")
    assert (equal["run"], equal["steps"]) == ("one", 121)
    # Seeds whose names have more letters are no resumes.
    write(tmp_path / "seeds" / "run_1.jsonl", jsonl_part(range(61)))
    write(tmp_path / "seeds" / "run_12.jsonl", jsonl_part(range(41, 121), start=3))
    assert [report["run"] for report in columns(tmp_path, "seeds")] == ["run_1", "run_12"]


def test_seeds_side_by_side_are_no_continuations(tmp_path):
    for seed in range(3):
        write(tmp_path / "seeds" / f"seed-{seed}.jsonl", jsonl_part(range(61), start=seed))
    assert not any(said(report, "begins at step") for report in columns(tmp_path, "seeds"))
