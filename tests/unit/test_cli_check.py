"""``entropylaw check`` as a user starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from entropylaw.documents.store import dumps
from entropylaw.pipeline.documents import fit_logs
from tests.conftest import HANGS, LAB, clean_environment

FIT = "clean_start_s0.fit.json"
LOG = "data/lab/clean_start_s0/metrics.parquet"


@pytest.fixture(scope="module")
def documents():
    """Stored fits of a run that the law describes and of one that it does not, as texts."""
    names = ("clean_start_s0", "grpo_s0")
    return {f"{name}.fit.json": dumps(fit_logs([LAB / name / "metrics.parquet"]).to_json()) for name in names}


@pytest.fixture
def fits(documents, tmp_path):
    for name, text in documents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def assert_error(done, slug, code):
    assert done.returncode == code, done.stderr
    assert f"error[{slug}]: " in done.stderr
    assert "Traceback" not in done.stderr


def outcomes(done):
    """Run and gate → the outcome, of a check whose output is JSON."""
    return {(case["run"], case["gate"]): case["outcome"] for case in json.loads(done.stdout)["cases"]}


def test_a_gate_trips_with_five(run, fits):
    done = run("check", FIT, "--fail-if", "ceiling<0.99", "--fail-if", "ceiling<0.1", "--format", "json")
    assert (done.returncode, done.stderr) == (5, "")
    assert outcomes(done) == {
        ("clean_start_s0", "ceiling<0.99"): "tripped",
        ("clean_start_s0", "ceiling<0.1"): "passed",
    }
    assert run("check", FIT, "--fail-if", "ceiling<0.1").returncode == 0


def test_strict_and_point_change_what_is_not_excluded(run, fits):
    ceiling = json.loads((fits / FIT).read_text())["runs"][0]["law"]["ceiling"]
    gate = f"ceiling<{(ceiling['low'] + ceiling['value']) / 2!r}"
    done = run("check", FIT, "--fail-if", gate)
    assert (done.returncode, done.stdout.startswith("not excluded ")) == (0, True)
    assert run("check", FIT, "--fail-if", gate, "--strict").returncode == 5
    assert run("check", FIT, "--fail-if", gate, "--point").stdout.startswith("passed ")


def test_a_law_that_does_not_hold_fails(run, fits):
    done = run("check", FIT, "grpo_s0.fit.json", "--fail-if", "ceiling<0.1", "--format", "json")
    assert done.returncode == 5
    assert outcomes(done)["grpo_s0", "ceiling<0.1"] == "unknown"
    assert run("check", "grpo_s0.fit.json", "--fail-if", "ceiling<0.1", "--even-if-invalid").returncode == 0


def test_a_log_is_fitted_and_gives_what_its_stored_fit_gives(run, lab, fits):
    gates = ("--fail-if", "ceiling<0.5", "--fail-if", "used>50%", "--fail-if", "invalid", "--format", "json")
    stored, fresh = run("check", FIT, *gates), run("check", LOG, *gates)
    assert stored.returncode == fresh.returncode == 5
    for one, other in zip(json.loads(stored.stdout)["cases"], json.loads(fresh.stdout)["cases"], strict=True):
        assert one | {"sources": []} == other | {"sources": []}


def test_logs_are_forecast_and_taken_apart_where_a_gate_asks(run, lab):
    gates = ("--fail-if", "saturation_step<401", "--fail-if", "boundary_execution<0")
    done = run("check", LOG, *gates, "--format", "json")
    assert "no document given" not in done.stdout
    assert outcomes(done)["clean_start_s0", "saturation_step<401"] == "passed"


def test_a_folder_of_fits_stands_for_them(run, fits):
    named = run("check", FIT, "grpo_s0.fit.json", "--fail-if", "invalid")
    (fits / "reports").mkdir()
    for name in (FIT, "grpo_s0.fit.json"):
        (fits / name).rename(fits / "reports" / name)
    folder = run("check", "reports", "--fail-if", "invalid")
    assert (folder.returncode, folder.stdout) == (5, named.stdout)
    (fits / "reports" / "notes.txt").write_text("no fit")
    beside = run("check", "reports", "--fail-if", "invalid", "-q")
    assert (beside.returncode, beside.stdout) == (5, named.stdout)
    assert "1 file" in beside.stderr


def test_every_format_and_file(run, fits):
    call = ("check", FIT, "--fail-if", "ceiling<0.99")
    files = [part for name in ("a.json", "a.md", "a.xml", "a.txt") for part in ("-o", name)]
    done = run(*call, *files)
    assert done.returncode == 5
    assert done.stderr.splitlines() == ["wrote a.json", "wrote a.md", "wrote a.xml", "wrote a.txt"]
    assert (fits / "a.txt").read_text() == done.stdout
    for name, kind in (("a.json", "json"), ("a.md", "markdown"), ("a.xml", "junit")):
        assert run(*call, "--format", kind).stdout == (fits / name).read_text()
    (case,) = ET.parse(fits / "a.xml").iter("testcase")
    assert case.attrib == {"classname": "clean_start_s0", "name": "ceiling<0.99"}
    assert case[0].tag == "failure"


def test_the_document_names_what_was_read_and_nothing_of_the_machine(run, fits):
    (fits / "elsewhere").mkdir()
    call = ("check", fits / FIT, "--fail-if", f"regression({fits / FIT})>1%", "--format", "json")
    done = run(*call, cwd=fits / "elsewhere")
    body = json.loads(done.stdout)
    assert body["schema"] == "entropylaw/check/1"
    assert str(fits) not in done.stdout
    (file,) = body["inputs"]
    assert file["format"] == "entropylaw/fit/2"
    assert file["path"] == f"{fits.name}/{FIT}"
    assert body["gates"] == [f"regression({fits.name}/{FIT})>1%"]


def test_a_baseline_is_read_from_a_document(run, fits):
    assert run("check", FIT, "--fail-if", f"regression({FIT})>40%").returncode == 0
    other = run("check", FIT, "--fail-if", "regression(reward_now, grpo_s0.fit.json)>40%")
    assert "the baseline has no run of the name 'clean_start_s0'" in other.stdout
    assert_error(run("check", FIT, "--fail-if", "regression(none.json)>1%"), "file-not-found", 3)
    (fits / "broken.json").write_text("{")
    assert_error(run("check", FIT, "--fail-if", "regression(broken.json)>1%"), "not-a-document", 3)


def test_usage_errors_come_before_any_reading(run, fits):
    assert_error(run("check", FIT), "no-gate", 2)
    assert_error(run("check", FIT, "--fail-if", "ceilling<1"), "unknown-quantity", 2)
    assert_error(run("check", FIT, "--fail-if", "ceiling<"), "bad-gate", 2)
    assert_error(run("check", FIT, "--fail-if", "invalid", "-o", "a.pdf"), "unknown-suffix", 2)
    assert_error(run("check", FIT, "--fail-if", "invalid", "--level", "0.9"), "fit-is-fixed", 2)
    assert_error(run("check", FIT, "--fail-if", "invalid", "--github-summary"), "no-step-summary", 2)


def test_a_bad_document_stops_no_other_and_is_listed(run, fits):
    body = json.loads((fits / FIT).read_text())
    body["runs"][0]["law"]["ceiling"]["low"] = "x"
    (fits / "bad.json").write_text(json.dumps(body))
    done = run("check", "bad.json", FIT, "--fail-if", "ceiling<0.1", "--format", "json")
    assert_error(done, "damaged-document", 5)
    assert "$.runs[0].law.ceiling.low" in done.stderr
    assert {name: outcome for (name, _), outcome in outcomes(done).items()} == {
        "bad.json": "unknown",
        "clean_start_s0": "passed",
    }
    assert_error(run("check", "bad.json", "--fail-if", "ceiling<0.1"), "damaged-document", 3)


def test_a_log_that_cannot_be_fitted_is_four_and_one_that_cannot_be_read_three(run, tmp_path):
    (tmp_path / "short.csv").write_text("step,entropy,reward\n1,0.5,0.1\n2,0.4,0.2\n")
    assert_error(run("check", "short.csv", "--fail-if", "invalid"), "too-few-evaluations", 4)
    assert_error(run("check", "none.csv", "--fail-if", "invalid"), "file-not-found", 3)


def test_the_steps_summary_is_appended_to(run, fits):
    summary = fits / "summary.md"
    summary.write_text("before\n")
    call = ("check", FIT, "--fail-if", "ceiling<0.99", "--github-summary")
    done = run(*call, GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 5
    assert summary.read_text() == "before\n" + run(*call[:4], "--format", "markdown").stdout
    # The gate failed: its exit code stays, whatever could not be written.
    assert_error(run(*call, GITHUB_STEP_SUMMARY=str(fits)), "cannot-write", 5)
    call = ("check", FIT, "--fail-if", "ceiling<0.1", "--github-summary")
    assert_error(run(*call, GITHUB_STEP_SUMMARY=str(fits)), "cannot-write", 3)


def test_gates_may_come_from_settings_which_do_not_disturb_stored_fits(run, fits):
    (fits / "entropylaw.toml").write_text('gates = ["ceiling<0.99"]\nlevel = 0.9\n')
    done = run("check", FIT, "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["cases"][0]["level"]) == (5, 0.95)
    assert run("check", FIT, "--fail-if", "ceiling<0.1").returncode == 0


def test_stored_fits_need_neither_numpy_nor_pydantic(fits):
    """Nor any other part of a dependency but typer itself; for every format."""
    heavy = ["numpy", "scipy", "pyarrow", "matplotlib", "rich", "jinja2", "yaml", "lmfit", "ibis", "pydantic"]
    code = (
        "import sys\n"
        "from entropylaw.cli import app\n"
        f"sys.argv[1:] = ['check', {FIT!r}, '--fail-if', 'ceiling<0.1', '--fail-if', 'regression({FIT})>90%',"
        " '-o', 'a.json', '-o', 'a.md', '-o', 'a.xml', '--format', 'junit', '--quiet']\n"
        "try:\n    app()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=fits,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_values_of_options_are_converted_and_wrong_ones_refused_in_our_words(run, lab):
    gate = ("--fail-if", "ceiling<0.1", "--format", "json")
    for level in ("0.9", " 0.9", "9e-1"):
        done = run("check", LOG, *gate, "--level", level)
        assert json.loads(done.stdout)["cases"][0]["level"] == 0.9
    for wrong in (("--level", "high"), ("--format", "xml"), ("--interval", "none")):
        done = run("check", LOG, "--fail-if", "ceiling<0.1", *wrong)
        assert_error(done, "bad-option", 2)
        assert f"{wrong[0]} {wrong[1]!r}, expected " in done.stderr
        assert f"give {wrong[0]} " in done.stderr
    assert run("check").returncode == 2
    assert "Missing argument" in run("check").stderr
