"""The JSON Schemas and the documents that the commands write over the lab's runs."""

from __future__ import annotations

import json
from functools import reduce
from operator import getitem
from typing import Any

import jsonschema
import pytest

from entropylaw.documents import document
from entropylaw.documents.codec import dumps
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.loading import load_document
from entropylaw.documents.schema import json_schema
from entropylaw.errors import InputError
from entropylaw.pipeline import answers
from entropylaw.results import Verdict
from entropylaw.results.result import replace
from tests.conftest import LAB

pytestmark = pytest.mark.usefixtures("one_cache", "undrawn")


def validate(body: dict[str, Any], kind: str) -> None:
    jsonschema.Draft202012Validator(json_schema(KINDS[kind])).validate(body)


@pytest.fixture(scope="module")
def some(lab_fits) -> document.FitDocument:
    """A run of every verdict, and all that were refused: a forecast takes as long as twenty fits."""
    chosen = [next(entry for entry in lab_fits.runs if entry.verdict == verdict) for verdict in Verdict]
    refused = [entry for entry in lab_fits.runs if entry.answer is None]
    return replace(lab_fits, runs=(*chosen, *refused))


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_printed(run, kind):
    done = run("schema", kind)
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert done.stdout == dumps(json_schema(KINDS[kind]))
    jsonschema.Draft202012Validator.check_schema(body)
    assert body["title"] == KINDS[kind].schema
    assert body["properties"]["schema"] == {"const": KINDS[kind].schema}


def test_an_unknown_kind_is_a_usage_error(run):
    done = run("schema", "law")
    assert done.returncode == 2
    assert "law" in done.stderr
    assert "backtest" in done.stderr


def test_fits_and_predictions_of_the_lab(lab_fits, some):
    assert any(entry.answer is None for entry in lab_fits.runs)
    validate(json.loads(dumps(lab_fits.to_json())), "fit")
    for ahead in (replace(some, runs=some.runs[:1]), some):
        validate(json.loads(dumps(predicted(ahead, ahead is not some).to_json())), "prediction")


def predicted(fits, ahead):
    steps = {"saturation": True, "at_step": [1000.0], "gain": 0.01} if ahead else {}
    return answers.predict_runs(fits, entropies=[0.05, 0.3], rewards=[0.5, 0.9], **steps)


def test_a_fit_with_every_part():
    from entropylaw.options import FitOptions
    from entropylaw.pipeline.steps import fit_logs

    options = FitOptions(find_seams=True, seams=(200.0,))
    whole = fit_logs(sorted(LAB.glob("clean_r*_s0")), options)
    assert any(entry.segments is not None for entry in whole.runs)
    validate(json.loads(dumps(whole.to_json())), "fit")


@pytest.mark.parametrize("command", ["phases", "backtest", "fit"])
def test_what_a_command_prints(run, lab, command):
    """A run that is fitted, some that are refused or differ in what they have, and several at once."""
    runs = ("grpo_s0", "grpo_s1", "clean_start_s0", "diverging", "too_hard", "entropy_minimised")
    if command == "phases":  # Two seconds per run: some with change points, and one without.
        runs = ("grpo_s0", "too_hard", "clean_start_s0")
    logs = [f"data/lab/{name}/metrics.parquet" for name in runs]
    done = run(command, *logs, "nowhere.csv", "--format", "json", "-o", "-", "-q")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert len(body["runs"]) == len(runs) + 1
    validate(body, command)


def test_what_columns_prints(run, lab, tmp_path):
    (tmp_path / "x.csv").write_text("step,entropy,note\n1,0.5,a\n2,0.4,b\n")
    done = run("columns", "data/lab/grpo_s0/metrics.parquet", "x.csv", "--format", "json")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert [one["problem"] and one["problem"]["slug"] for one in body["runs"]] == [None, "no-reward-column"]
    validate(body, "columns")
    (tmp_path / "columns.json").write_text(done.stdout)
    assert dumps(load_document("columns", tmp_path / "columns.json").to_json()) == done.stdout


def test_what_a_report_writes(run, lab, tmp_path):
    logs = [f"data/lab/{name}/metrics.parquet" for name in ("grpo_s0", "too_hard", "diverging")]
    assert run("report", *logs, "nowhere.csv", "-o", "out", "--figures", "none").returncode == 0
    validate(json.loads((tmp_path / "out" / "report.json").read_text()), "index")
    documents = sorted((tmp_path / "out" / "runs").glob("*.json"))
    assert len(documents) == 4
    for path in documents:
        validate(json.loads(path.read_text()), "report")
    gates = ("--fail-if", "ceiling<0.1", "--fail-if", "fails", "--format", "json")
    done = run("check", *documents, *gates, "--fail-if", "regression(out/runs/grpo_s0.json)>1%")
    assert done.returncode == 5
    validate(json.loads(done.stdout), "check")


def test_reports_of_the_lab(some):
    from tests.made import report_runs

    reports = report_runs(some)
    assert any(entry.forecast is not None for entry in reports.runs)
    validate(json.loads(dumps(reports.to_json())), "report")


def required_places(
    schema: dict[str, Any], body: Any, whole: dict[str, Any], where: tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    """The places in a document whose absence its schema forbids; one each of the first list items."""
    if "anyOf" in schema:
        schema = next((option for option in schema["anyOf"] if "$ref" in option), {})
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    found = []
    if isinstance(body, dict):
        found += [(*where, key) for key in schema.get("required", ()) if key in body]
        for key, inner in schema.get("properties", {}).items():
            if key in body:
                found += required_places(inner, body[key], whole, (*where, key))
    if isinstance(body, list) and body and isinstance(schema.get("items"), dict):
        found += required_places(schema["items"], body[0], whole, (*where, 0))
    return found


def test_nothing_that_is_required_can_be_left_out(lab_fits):
    """Every one of them, one by one: a schema that demands nothing would let all pass."""
    body = json.loads(dumps(lab_fits.to_json()))
    body["runs"] = [next(entry for entry in body["runs"] if entry["answer"] is not None)]
    schema = json_schema(KINDS["fit"])
    places = required_places(schema, body, schema)
    assert len(places) > 30
    assert ("settings", "level") in places
    validator = jsonschema.Draft202012Validator(schema)
    for *path, name in places:
        inner = reduce(getitem, path, body)
        value = inner.pop(name)
        assert not validator.is_valid(body), (*path, name)
        inner[name] = value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", ["0", "10", "1.1"])
def test_another_version_is_refused_by_name(tmp_path, kind, number):
    schema = KINDS[kind].schema
    if schema.endswith(f"/{number}"):
        number = "1" if KINDS[kind].version > 1 else "5"
    other = f"{schema.rpartition('/')[0]}/{number}"
    (tmp_path / "x.json").write_text(json.dumps({"schema": other, "version": "9.8.7"}))
    with pytest.raises(InputError) as caught:
        load_document(kind, tmp_path / "x.json")
    assert caught.value.slug == "other-document-version"
    for named in (repr(other), "'9.8.7'", repr(schema)):
        assert named in caught.value.message


@pytest.mark.parametrize("number", ["1", "5"])
@pytest.mark.parametrize("command", [("predict", "x.json", "--saturation"), ("report", "x.json")])
def test_commands_refuse_another_version_too(run, tmp_path, command, number):
    schema = f"entropylaw/fit/{number}"
    (tmp_path / "x.json").write_text(json.dumps({"schema": schema, "version": "9.8.7"}))
    done = run(*command)
    assert done.returncode == 3
    assert "error[other-document-version]" in done.stderr
    assert schema in done.stderr
