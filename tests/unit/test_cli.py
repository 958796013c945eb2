"""The commands as a user starts them: output, exit codes, files."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from entropylaw import load
from entropylaw.reproducible import rounded
from tests.conftest import ROOT
from tests.typed import RUN, assert_error, assert_says, imported, write_csv

pytestmark = pytest.mark.usefixtures("one_cache")


def write_phases(path: Path) -> Path:
    """A small log whose page has phases: planning's entropy and the mean, at 24 steps."""
    rows = write_csv(path, n=24).read_text().splitlines()
    planning = 0.1 + 0.9 * np.exp(-np.arange(24) / 6) + 0.01 * np.random.default_rng(3).random(24)
    column = ["entropy_planning", *map(str, planning)]
    path.write_text("\n".join(f"{row},{cell}" for row, cell in zip(rows, column, strict=True)) + "\n")
    return path


def folder(path: Path) -> dict[str, bytes]:
    files = (p for p in sorted(path.rglob("*")) if p.is_file())
    return {str(p.relative_to(path)): p.read_bytes() for p in files}


def test_fit_fits_a_terminal_and_predict_reads_its_document_exactly(run, lab, tmp_path):
    done = run("fit", RUN, code=0)
    stored_in = "stored in reports/clean_start_s0.fit.json for `entropylaw predict`"
    assert done.stderr == f"{stored_in}; 95 % intervals; more with --details\n"
    lines = done.stdout.splitlines()
    assert len(lines) <= 6
    assert max(map(len, lines)) <= 100
    # The command that is named, tried.
    assert run("predict").returncode == 0
    stored = run("predict", "--target-entropy", "0.1", "--format", "json")
    assert stored.stdout == run("predict", RUN, "--target-entropy", "0.1", "--format", "json").stdout
    assert "reading reports/clean_start_s0.fit.json" in stored.stderr
    (fit,) = load(tmp_path / "reports/clean_start_s0.fit.json", "fit").fitted
    (prediction,) = json.loads(stored.stdout)["runs"][0]["result"]["predictions"]
    assert prediction["mean"]["low"] == rounded(fit.predict(0.1).mean.low)


def test_a_prediction_without_a_target_is_of_now_and_of_half_as_many_steps_again(run, tmp_path):
    """Each run has its own; a settings file may name columns."""
    for name, n in (("a", 40), ("b", 31)):
        write_csv(tmp_path / f"{name}.csv", n=n, header="step,ent,acc")
    columns = ("--entropy", "ent", "--reward", "acc")
    assert run("fit", "a.csv", "b.csv", *columns, "-q", "-o", "two.json").returncode == 0
    fits = load(tmp_path / "two.json", "fit").fitted
    (tmp_path / "entropylaw.toml").write_text("[columns]\nentropy = 'ent'\nreward = 'acc'\n")
    for source, found in (("two.json", fits), ("a.csv", fits[:1])):
        done = run("predict", source, "--format", "json", code=0)
        runs = json.loads(done.stdout)["runs"]
        assert len(runs) == len(found)
        for one, fit in zip(runs, found, strict=True):
            assert [each["entropy"] for each in one["result"]["predictions"]] == [fit.law.entropy_now]
            assert one["result"]["forecast"]["step"] == [np.ceil(1.5 * fit.law.step[-1])]


def test_standard_input_forced_formats_and_wrong_suffixes(run, tmp_path):
    text = write_csv(tmp_path / "log.dat").read_text()
    for arguments in (["-"], ["--", "-:csv"]):
        done = run("fit", "--format", "json", *arguments, stdin=text)
        assert (done.returncode, json.loads(done.stdout)["runs"][0]["result"]["law"]["n"]) == (0, 40)
    assert run("fit", "log.dat:csv").returncode == 0
    assert_error(run("fit", "log.dat:xml"), "format-unknown", 2)
    assert run("fit", write_csv(tmp_path / "log.jsonl")).returncode == 0


def test_two_logs_of_one_name_keep_two_documents(run, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_csv(tmp_path / name / "ppo.csv")
    first, second, again = (run("fit", f"{name}/ppo.csv") for name in ("one", "two", "one"))
    assert first.stderr == again.stderr
    assert first.stderr.startswith("stored in reports/ppo.fit.json ")
    assert second.stderr.startswith("stored in reports/ppo-2.fit.json ")
    assert load(tmp_path / "reports/ppo.fit.json", "fit").inputs[0].path == "one/ppo.csv"


def test_a_report_of_its_own_document_has_the_same_bytes(run, tmp_path):
    figures = ("--figures", "svg")
    assert run("report", write_phases(tmp_path / "two.csv"), "-o", "whole", *figures).returncode == 0
    assert json.loads((tmp_path / "whole/runs/two.json").read_text())["phases"][0]["result"]
    assert run("report", "whole/runs/two.json", "-o", "again", *figures).returncode == 0
    assert folder(tmp_path / "whole") == folder(tmp_path / "again")


def test_no_absolute_path_in_any_output(run, tmp_path):
    (tmp_path / "empty.csv").touch()
    log = write_phases(tmp_path / "x.csv")
    assert run("report", log, tmp_path / "empty.csv", "-o", "out", "--figures", "svg").returncode == 0
    assert json.loads((tmp_path / "out/runs/x.json").read_text())["phases"][0]["result"]
    for path, content in folder(tmp_path / "out").items():
        assert os.fsencode(tmp_path) not in content, path


HEAVY = ("numpy", "pandas", "scipy", "lmfit", "matplotlib", "pyarrow", "ibis", "duckdb", "rich", "jinja2")


@pytest.mark.parametrize("command", ["", "fit", "predict", "report", "columns", "compare"])
def test_help_imports_nothing_heavy_and_ends_in_an_example(run, command):
    arguments = [*command.split(), "--help"]
    assert imported(arguments, HEAVY, ROOT) == []
    last = run(*arguments).stdout.rstrip().splitlines()[-1].strip()
    assert last.startswith("Example:  entropylaw" if command else "Start with:  entropylaw")


def test_the_version_and_settings_import_nothing_heavy_and_a_fit_no_more_than_it_needs(tmp_path):
    assert imported(["--version"], HEAVY, tmp_path) == []
    (tmp_path / "entropylaw.toml").write_text("level = 0.9")
    write_csv(tmp_path / "x.csv")
    later = ("lmfit", "matplotlib", "pandas", "jinja2")
    assert imported(["fit", "x.csv", "-o", "-"], later, tmp_path) == []


@pytest.mark.parametrize("command", [("fit", "--no-save"), ("check", "--fail-if", "state==broken")])
def test_a_pattern_in_quotes_is_the_files_that_it_matches(run, tmp_path, command):
    for name, n in (("a1", 24), ("a2", 25), ("b1", 26)):
        write_csv(tmp_path / f"{name}.csv", n=n)
    done = run(*command, "a*.csv")
    assert_says(done.stdout, "a1", "a2")
    assert "b1" not in done.stdout
