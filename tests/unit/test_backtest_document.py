"""Backtests and forecasts as documents: valid by the schemas, back to the last bit, and as Markdown."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from entropylaw.analysis.backtest import backtest_run, skills
from entropylaw.documents.codec import DocumentMismatchError, as_stored, decode, dumps
from entropylaw.documents.document import BacktestDocument, InputFile, PredictionDocument, refused_backtest
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.schema import json_schema
from entropylaw.errors import FitError
from entropylaw.pipeline.answers import predict_runs
from entropylaw.pipeline.steps import fit_logs
from entropylaw.report.render import rendered
from entropylaw.results.forecast import Backtest, RunBacktest
from entropylaw.results.result import field_names, replace
from tests.conftest import LAB
from tests.unit.test_report_samples import HOSTILE

pytestmark = pytest.mark.usefixtures("one_cache")

CLEAN = LAB / "clean_start_s0" / "metrics.parquet"


def a_test(seed: int = 5, run: str = "good", n: int = 40) -> RunBacktest:
    rng = np.random.default_rng(seed)
    step = 10.0 * np.arange(n)
    entropy = 0.05 + 0.75 * np.exp(-3.0 * step / step[-1])
    reward = 0.6 - 0.5 * np.expm1(entropy) + rng.normal(0, 0.003, n)
    return backtest_run(step, entropy, reward, run=run)


@pytest.fixture(scope="module")
def document() -> BacktestDocument:
    short = refused_backtest(
        "/home/somebody/logs/x.csv", None, FitError("x", "/home/somebody/logs/x.csv is short", ""), "short"
    )
    runs = (a_test(), a_test(6, "other"), short)
    file = InputFile(path="logs/x.csv", sha256="0" * 64, format="csv", rows=9)
    warning = "logs/y.csv was not read: empty"
    return BacktestDocument(level=0.95, runs=runs, overall=skills(runs), inputs=(file,), warnings=(warning,))


@pytest.mark.parametrize(
    "break_it",
    [
        lambda body: body.pop("level"),
        lambda body: body.pop("inputs"),
        lambda body: body.update(schema="entropylaw/fit/1"),
        lambda body: body["runs"][0].update(n="many"),
        lambda body: body["runs"][0]["scores"][0].pop("rmse"),
        lambda body: body["overall"][0].update(blind=None),
    ],
)
def test_the_schema_can_fail(document, break_it):
    body = document.to_json()
    jsonschema.validate(body, json_schema(KINDS["backtest"]))
    break_it(body)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, json_schema(KINDS["backtest"]))


def test_back_to_the_last_bit(document):
    text = dumps(document.to_json())
    back = decode(BacktestDocument, json.loads(text))
    assert back == as_stored(document)
    assert dumps(back.to_json()) == text
    damaged = json.loads(text)
    damaged["runs"][1]["scores"][2]["rmse"] = "small"
    with pytest.raises(DocumentMismatchError, match=r"runs\[1\]\.scores\[2\]\.rmse"):
        decode(BacktestDocument, damaged)


def test_a_reason_names_no_absolute_path(document):
    assert document.runs[2].refusal == "logs/x.csv is short"
    # What renders a backtest renders its document.
    assert {*field_names(Backtest)} <= {*field_names(document)}


def test_a_prediction_with_a_forecast_is_valid_by_its_schema():
    found = predict_runs(fit_logs([CLEAN]), at_step=[500.0, 800.0], gain=0.02, saturation=True)
    (run,) = found.runs
    assert run.forecast is not None
    assert run.spending is not None
    body = json.loads(dumps(found.to_json()))
    schema = json_schema(KINDS["prediction"])
    jsonschema.validate(body, schema)
    assert dumps(decode(PredictionDocument, body).to_json()) == dumps(found.to_json())
    body["runs"][0]["forecast"]["reward"][1]["method"] = 3
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, schema)


def rows_below(text: str, heading: str) -> list[list[str]]:
    """Cells of the first table below a line, without its head."""
    lines = text[text.index(heading) :].splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| --- "))
    table = lines[first + 1 : lines.index("", first)]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]


def test_markdown_has_every_number_of_the_document(document):
    text = rendered(document, "markdown")
    overall = rows_below(text, "# Backtest of forecasts")
    assert len(overall) == len(document.overall) == 5
    for row, skill in zip(overall, document.overall, strict=True):
        assert row[:2] == [skill.protocol, "forecast" if skill.blind else "observed"]
        ratios = (skill.to_last_value, skill.to_law, skill.to_line, skill.to_averaged, skill.to_scalerl)
        assert [float(cell) for cell in row[2:7]] == pytest.approx(ratios, abs=0.005)
        assert float(row[9]) == pytest.approx(skill.to_band, abs=0.005)
        assert row[10].endswith(f"\\({skill.worst_run}\\)")
    for run in document.runs[:2]:
        for row, score in zip(rows_below(text, f"## {run.run}\n"), run.scores, strict=True):
            assert row[2] == f"{score.fitted} → {score.predicted}"
            errors = (score.rmse, score.last_value, score.law, score.line, score.averaged, score.scalerl)
            assert [float(cell) for cell in row[3:9]] == pytest.approx(errors, rel=0.01)
            assert row[9] == f"{100 * score.covered:.1f}".removesuffix(".0") + " %"
    assert text.index("was not read: empty") < text.index("2 runs: error of the forecast")


def test_without_a_tested_run_there_are_reasons_and_no_table(document):
    text = rendered(replace(document, runs=document.runs[2:], overall=()), "markdown")
    assert "| --- |" not in text
    assert "Not tested: 1 of 1 runs" in text


def test_a_hostile_name_is_text(document):
    run = replace(document.runs[0], run=HOSTILE)
    bad = RunBacktest(run=HOSTILE, n=0, block=1, scores=(), refusal=HOSTILE)
    text = rendered(replace(document, runs=(run, bad), overall=skills([run])), "markdown")
    assert "<script" not in text
    assert not re.search(r"(?<!\\)\]\(http", text)
    assert all(len(row) == 11 for row in rows_below(text, "# Backtest"))
    assert sum(line.startswith("#") for line in text.splitlines()) == 3


def test_many_runs_stay_below_the_limit_of_a_comment(document):
    runs = tuple(replace(document.runs[0], run=f"run {i}") for i in range(200))
    text = rendered(replace(document, runs=runs, overall=skills(runs)), "markdown")
    assert len(text.encode()) < 64_000
    (left,) = re.findall(r"Left out of this text: (\d+) more runs", text)
    assert text.count("\n## run ") == 200 - int(left)


def test_the_command_writes_what_the_suffix_says(run, tmp_path):
    done = run("backtest", CLEAN, "nowhere.csv", "-o", "b.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert "error[file-not-found]" in done.stderr
    body = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    jsonschema.validate(body, json_schema(KINDS["backtest"]))
    assert [entry["refusal"] is None for entry in body["runs"]] == [True, False]
    (file,) = body["inputs"]
    assert file["path"] == "clean_start_s0/metrics.parquet"
    assert len(file["sha256"]) == 64
    assert run("backtest", CLEAN, "nowhere.csv", "-o", "b.md").returncode == 0
    markdown = (tmp_path / "b.md").read_text(encoding="utf-8")
    assert run("backtest", CLEAN, "nowhere.csv", "--format", "markdown").stdout == markdown
    assert rendered(decode(BacktestDocument, body), "markdown") == markdown


def test_runs_of_one_name_are_distinguished(run, tmp_path):
    for folder, source in (("x", "clean_start_s0"), ("y", "grpo_s0")):
        (tmp_path / folder).mkdir()
        content = (LAB / source / "metrics.parquet").read_bytes()
        (tmp_path / folder / "one.parquet").write_bytes(content)
    done = run("backtest", "x/one.parquet", "y/one.parquet", "--format", "json")
    body = json.loads(done.stdout)
    assert [entry["run"] for entry in body["runs"]] == ["one (x)", "one (y)"]
    assert {skill["worst_run"] for skill in body["overall"]} <= {"one (x)", "one (y)"}
    assert [file["path"] for file in body["inputs"]] == ["x/one.parquet", "y/one.parquet"]


def test_skipped_files_and_runs_without_columns_are_in_the_document(run, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "config.json").write_text('{"lr": 1}', encoding="utf-8")
    (logs / "clean.parquet").write_bytes(Path(CLEAN).read_bytes())
    rows = [f"{i},{math.exp(-i / 9)}" for i in range(30)]
    (logs / "x.csv").write_text("step,entropy\n" + "\n".join(rows) + "\n", encoding="utf-8")
    done = run("backtest", "logs", "--format", "json")
    assert done.returncode == 0
    assert "Skipped 1 file that is not a training log: config.json" in done.stderr
    assert "error[no-reward-column]" in done.stderr
    body = json.loads(done.stdout)
    (warning,) = body["warnings"]
    assert warning.startswith("logs/config.json was not read")
    tested, refused = body["runs"]
    assert (refused["run"], refused["scores"]) == ("x", [])
    assert refused["refusal"]
    assert tested["refusal"] is None


def test_the_command_exits_with_4_where_nothing_can_be_tested(run, tmp_path):
    rows = [f"{i},{0.5 - 0.01 * i},{0.3 + 0.02 * i}" for i in range(9)]
    (tmp_path / "short.csv").write_text("step,entropy,val_acc\n" + "\n".join(rows) + "\n", encoding="utf-8")
    done = run("backtest", "short.csv")
    assert (done.returncode, done.stdout) == (4, "")
    assert "too-few-evaluations" in done.stderr
