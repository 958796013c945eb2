"""The commands as a user starts them: output, exit codes, errors, files."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from entropylaw.documents.fit import load_fit
from entropylaw.reproducible import rounded

RUN = "data/lab/clean_start_s0/metrics.parquet"


def write_csv(
    path: Path, *, n=40, entropy=None, reward=None, step=None, header="step,actor/entropy,critic/score/mean"
):
    """A small wide CSV log; columns may be given as lists of cells."""
    rng = np.random.default_rng(2)
    h = 0.05 + 0.9 * np.exp(-4 * np.arange(n) / n) + 0.01 * rng.random(n)
    r = 0.55 - 0.2 * np.expm1(h) + 0.004 * rng.standard_normal(n)
    columns = [step or list(range(n)), entropy or list(h), reward or list(r)]
    path.write_text(
        "\n".join([header, *(",".join(map(str, row)) for row in zip(*columns, strict=True))]) + "\n"
    )
    return path


def write_phases(path: Path) -> Path:
    """A small log whose page has phases: planning's entropy beside the mean, at 24 steps."""
    rows = write_csv(path, n=24).read_text().splitlines()
    planning = 0.1 + 0.9 * np.exp(-np.arange(24) / 6) + 0.01 * np.random.default_rng(3).random(24)
    column = ["entropy_planning", *map(str, planning)]
    path.write_text("\n".join(f"{row},{cell}" for row, cell in zip(rows, column, strict=True)) + "\n")
    return path


def assert_error(done, slug: str, code: int):
    """One error line with its slug, a hint below it, the exit code, and no traceback."""
    assert done.returncode == code, done.stderr
    assert f"error[{slug}]: " in done.stderr
    assert re.search(rf"error\[{slug}\]: .+\n  \S.+", done.stderr), done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_fit_fits_a_terminal_and_says_what_it_wrote(run, lab):
    done = run("fit", RUN)
    assert done.returncode == 0
    wrote, following = done.stderr.splitlines()
    assert wrote == "wrote reports/clean_start_s0.fit.json"
    assert len(done.stdout.splitlines() + done.stderr.splitlines()) <= 26
    # The next command to try, tried.
    assert following.startswith("next  entropylaw predict reports/clean_start_s0.fit.json ")
    assert run(*following.split()[2:]).returncode == 0
    assert max(len(line) for line in done.stdout.splitlines()) <= 120


def test_fit_writes_a_document_that_predict_reads_back_exactly(run, lab, tmp_path):
    run("fit", RUN)
    stored = run("predict", "--target-entropy", "0.1", "--format", "json")
    fresh = run("predict", RUN, "--target-entropy", "0.1", "--format", "json")
    assert stored.stdout == fresh.stdout
    assert "reading reports/clean_start_s0.fit.json" in stored.stderr
    (fit,) = load_fit(tmp_path / "reports/clean_start_s0.fit.json").fitted
    (prediction,) = json.loads(stored.stdout)["runs"][0]["predictions"]
    assert prediction["mean"]["low"] == rounded(fit.predict(0.1).mean.low)


def test_formats_on_standard_output(run, lab):
    document = json.loads(run("fit", RUN, "--format", "json").stdout)
    assert document["schema"] == "entropylaw/fit/2"
    (row,) = csv.DictReader(io.StringIO(run("fit", RUN, "--format", "csv").stdout))
    assert float(row["ceiling"]) == document["runs"][0]["law"]["ceiling"]["value"]
    assert run("fit", RUN, "--format", "markdown").stdout.startswith("#")


def test_output_suffix_decides(run, lab, tmp_path):
    done = run("fit", RUN, "-o", "a.json", "-o", "b.csv", "-o", "c.md", "-o", "d.txt")
    assert done.returncode == 0
    assert json.loads((tmp_path / "a.json").read_text())["schema"] == "entropylaw/fit/2"
    assert (tmp_path / "d.txt").read_text() == done.stdout
    assert not (tmp_path / "reports").exists()
    assert_error(run("fit", RUN, "-o", "x.pdf"), "unknown-suffix", 2)


def test_quiet(run, lab):
    assert run("fit", RUN, "--quiet").stderr == ""


def test_standard_input(run, tmp_path):
    text = write_csv(tmp_path / "x.csv").read_text()
    for arguments in (["-"], ["--", "-:csv"]):
        done = run("fit", "--format", "json", *arguments, stdin=text)
        assert (done.returncode, json.loads(done.stdout)["runs"][0]["law"]["n"]) == (0, 40)


def test_a_forced_format_reads_any_name(run, tmp_path):
    write_csv(tmp_path / "log.dat")
    assert run("fit", "log.dat:csv").returncode == 0
    assert_error(run("fit", "log.dat:xml"), "format-unknown", 2)


def test_a_wrong_extension_is_read_by_content(run, tmp_path):
    assert run("fit", write_csv(tmp_path / "log.jsonl")).returncode == 0


def test_two_logs_of_one_name_keep_two_documents(run, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_csv(tmp_path / folder / "ppo.csv")
    first = run("fit", "one/ppo.csv")
    second = run("fit", "two/ppo.csv")
    again = run("fit", "one/ppo.csv")
    assert first.stderr == again.stderr
    assert first.stderr.startswith("wrote reports/ppo.fit.json\n")
    assert second.stderr.startswith("wrote reports/ppo-2.fit.json\n")
    assert load_fit(tmp_path / "reports/ppo.fit.json").inputs[0].path == "one/ppo.csv"


def test_one_bad_log_does_not_stop_the_rest(run, lab, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    done = run("fit", "empty.csv", RUN, "missing.csv")
    assert done.returncode == 0
    assert "error[file-empty]" in done.stderr
    assert "error[file-not-found]" in done.stderr
    assert "51 evaluations" in done.stdout


def test_documents_of_another_kind_version_or_shape(run, lab, tmp_path):
    run("fit", RUN)
    path = tmp_path / "reports/clean_start_s0.fit.json"
    document = json.loads(path.read_text())
    for name, change, slug in [
        ("version", {"schema": "entropylaw/fit/99"}, "other-document-version"),
        ("kind", {"schema": "entropylaw/prediction/2"}, "not-a-document"),
        (
            "shape",
            {"runs": [{**document["runs"][0], "law": {**document["runs"][0]["law"], "n": "many"}}]},
            "damaged-document",
        ),
    ]:
        (tmp_path / f"{name}.json").write_text(json.dumps(document | change))
        assert_error(run("predict", f"{name}.json", "--target-entropy", "0.1"), slug, 3)
    assert_error(run("report", path, "--level", "0.5"), "fit-is-fixed", 2)


def test_report_from_a_stored_fit_has_the_same_bytes(run, lab, tmp_path):
    run("fit", RUN)
    # A fit knows nothing of phases; a report's own document does.
    assert run("report", RUN, "-o", "fresh", "--no-phases").returncode == 0
    assert run("report", "reports/clean_start_s0.fit.json", "-o", "stored").returncode == 0
    assert folder(tmp_path / "fresh") == folder(tmp_path / "stored")
    assert run("report", write_phases(tmp_path / "two.csv"), "-o", "whole").returncode == 0
    assert json.loads((tmp_path / "whole/runs/two.json").read_text())["runs"][0]["phases"]
    assert run("report", "whole/runs/two.json", "-o", "again").returncode == 0
    assert folder(tmp_path / "whole") == folder(tmp_path / "again")


def test_same_input_same_bytes_in_two_processes(run_process, lab, tmp_path):
    logs = write_csv(tmp_path / "x.csv"), write_phases(tmp_path / "y.csv")
    for name in ("one", "two"):
        assert run_process("report", *logs, "-o", name, "--figures", "svg").returncode == 0
        outputs = [part for suffix in ("json", "csv", "md") for part in ("-o", f"{name}.{suffix}")]
        assert run_process("fit", RUN, *outputs).returncode == 0
    assert json.loads((tmp_path / "one/runs/y.json").read_text())["runs"][0]["phases"]
    assert folder(tmp_path / "one") == folder(tmp_path / "two")
    for suffix in ("json", "csv", "md"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_no_absolute_path_in_any_output(run, tmp_path):
    (tmp_path / "empty.csv").touch()
    log = write_phases(tmp_path / "x.csv")
    assert run("report", log, tmp_path / "empty.csv", "-o", "out").returncode == 0
    assert json.loads((tmp_path / "out/runs/x.json").read_text())["runs"][0]["phases"]
    for path, content in folder(tmp_path / "out").items():
        assert os.fsencode(tmp_path) not in content, path


def folder(path: Path) -> dict[str, bytes]:
    files = (p for p in sorted(path.rglob("*")) if p.is_file() and ".entropylaw" not in p.parts)
    return {str(p.relative_to(path)): p.read_bytes() for p in files}


LATER = ("lmfit", "matplotlib", "pandas", "jinja2")
HEAVY = ("numpy", "pandas", "scipy", "lmfit", "matplotlib", "pyarrow", "ibis", "duckdb")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["fit", "--help"],
        ["predict", "--help"],
        ["report", "--help"],
        ["columns", "--help"],
        ["--version"],
    ],
)
def test_help_imports_nothing_heavy(arguments):
    from tests.conftest import ROOT, clean_environment

    program = (
        "import sys\nfrom entropylaw.cli import app\n"
        f"try: app({arguments!r})\nexcept SystemExit: pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stderr.strip() == "[]"
    assert "entropylaw" in done.stdout


def test_fitting_a_csv_imports_neither_lmfit_nor_matplotlib(run, tmp_path):
    from tests.conftest import ROOT, clean_environment

    write_csv(tmp_path / "x.csv")
    program = (
        "import sys\nfrom entropylaw.cli import app\n"
        "try: app(['fit', 'x.csv', '-o', '-'])\nexcept SystemExit: pass\n"
        f"print([m for m in {LATER!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stderr.strip().splitlines()[-1] == "[]"
    assert ROOT


def test_every_command_ends_its_help_in_an_example(run):
    for command in ("fit", "predict", "columns", "report"):
        assert (
            run(command, "--help").stdout.rstrip().splitlines()[-1].strip().startswith("Example:  entropylaw")
        )
