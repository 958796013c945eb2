"""Bad input, bad options and bad luck, one by one: an error with its slug, what to do, and the exit code."""

import csv
import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from entropylaw.documents.fit import load_fit
from tests.unit.test_cli import RUN, assert_error, write_csv


def test_missing_file(run):
    assert_error(run("fit", "nowhere.csv"), "file-not-found", 3)


def test_empty_file(run, tmp_path):
    (tmp_path / "empty.csv").touch()
    assert_error(run("fit", "empty.csv"), "file-empty", 3)


def test_a_folder_without_logs(run, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.md").write_text("# notes\n")
    assert_error(run("fit", "folder"), "no-logs-in-folder", 3)


def test_binary_rubbish(run, tmp_path):
    (tmp_path / "rubbish.csv").write_bytes(np.random.default_rng(0).bytes(5000))
    assert_error(run("fit", "rubbish.csv"), "not-a-log", 3)
    assert_error(run("columns", "rubbish.csv"), "not-a-log", 3)


def test_no_entropy_column_names_the_nearest(run, tmp_path):
    write_csv(tmp_path / "x.csv", header="step,entropie,critic/score/mean")
    done = run("fit", "x.csv")
    assert_error(done, "no-entropy-column", 3)
    assert "entropie" in done.stderr
    assert run("fit", "x.csv", "--entropy", "entropie").returncode == 0


def test_an_override_that_is_not_there(run, tmp_path):
    write_csv(tmp_path / "x.csv")
    done = run("fit", "x.csv", "--entropy", "actor/entropi")
    assert_error(done, "column-not-found", 3)
    assert "actor/entropy" in done.stderr


def test_entropy_in_both_signs(run, tmp_path):
    write_csv(tmp_path / "x.csv", entropy=list(np.linspace(1, -0.5, 40)))
    assert_error(run("fit", "x.csv"), "entropy-both-signs", 3)


def test_a_negated_entropy_is_turned_and_said(run, tmp_path):
    write_csv(tmp_path / "x.csv", entropy=list(-np.linspace(1, 0.1, 40)))
    done = run("fit", "x.csv", "--format", "json")
    assert done.returncode == 0
    (entry,) = json.loads(done.stdout)["runs"]
    assert min(entry["law"]["entropy"]) > 0
    assert any("sign" in note or "negat" in note for note in entry["read_notes"])


def test_entropy_zero_throughout(run, tmp_path):
    write_csv(tmp_path / "x.csv", entropy=[0.0] * 40)
    assert_error(run("fit", "x.csv"), "entropy-constant", 4)


def test_a_sum_over_tokens(run, tmp_path):
    write_csv(tmp_path / "x.csv", entropy=list(np.linspace(400, 90, 40)))
    assert_error(run("fit", "x.csv"), "entropy-not-a-mean", 3)


def test_three_usable_rows(run, tmp_path):
    write_csv(tmp_path / "x.csv", n=3)
    assert_error(run("fit", "x.csv"), "too-few-evaluations", 4)


def test_constant_reward(run, tmp_path):
    write_csv(tmp_path / "x.csv", reward=[0.0] * 40)
    assert_error(run("fit", "x.csv"), "reward-constant", 4)


def test_nan_throughout(run, tmp_path):
    write_csv(tmp_path / "x.csv", entropy=["NaN"] * 40)
    assert_error(run("fit", "x.csv"), "column-empty", 3)


def test_steps_as_words(run, tmp_path):
    write_csv(tmp_path / "x.csv", step=[f"step-{i}" for i in range(40)])
    assert_error(run("fit", "x.csv"), "step-not-numeric", 3)


def test_a_wide_file(run, tmp_path):
    names = [f"metric/{i}" for i in range(200)]
    rows = np.random.default_rng(1).standard_normal((40, 200))
    base = write_csv(tmp_path / "x.csv").read_text().splitlines()
    lines = [base[0] + "," + ",".join(names)]
    lines += [f"{left},{','.join(map(str, right))}" for left, right in zip(base[1:], rows, strict=True)]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    assert run("fit", "wide.csv").returncode == 0
    done = run("columns", "wide.csv")
    assert done.returncode == 0
    assert "200 other columns" in done.stdout
    assert len(done.stdout.splitlines()) < 30


HOSTILE = "../../<script>alert('x')</script>\n\"a\" | `b` =1\u001b[31m\x00"


def test_hostile_run_names_reach_no_terminal_file_or_page(run, tmp_path):
    base = write_csv(tmp_path / "x.csv").read_text().splitlines()
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["run", *base[0].split(",")])
    for line in base[1:]:
        writer.writerow([HOSTILE.replace("\x00", ""), *line.split(",")])
    (tmp_path / "hostile.csv").write_text(buffer.getvalue())
    done = run("fit", "hostile.csv")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    report = run("report", "hostile.csv", "-o", "out")
    assert report.returncode == 0, report.stderr
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", path.name) for path in written), written
    assert not (tmp_path.parent / "script").exists()


def test_unwritable_folder(run, lab, tmp_path):
    (tmp_path / "reports").write_text("a file stands where the folder should be")
    assert_error(run("fit", RUN), "cannot-write", 3)
    assert_error(run("report", RUN, "-o", "reports"), "cannot-write", 3)
    assert (tmp_path / "reports").read_text() == "a file stands where the folder should be"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full's cousin: a file size limit")
def test_a_full_disk_leaves_the_old_report(run, lab, tmp_path):
    """A limit on the size of files stands in for a full disk: writes fail in the middle."""
    import resource

    assert run("report", RUN, "-o", "out", "--no-phases").returncode == 0
    before = {path: path.read_bytes() for path in sorted((tmp_path / "out").rglob("*")) if path.is_file()}
    from tests.conftest import clean_environment

    done = subprocess.run(
        [sys.executable, "-m", "entropylaw", "report", RUN, "-o", "out", "--no-phases", "--level", "0.5"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert_error(done, "cannot-write", 3)
    after = {path: path.read_bytes() for path in sorted((tmp_path / "out").rglob("*")) if path.is_file()}
    assert set(after) == set(before)
    assert after[tmp_path / "out" / "index.html"] == before[tmp_path / "out" / "index.html"]


def test_a_kill_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    """The moment before the move is the last at which a kill could hurt."""
    from entropylaw.documents.store import write_atomically

    target = tmp_path / "report.md"
    write_atomically(target, "old")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        (["fit", RUN, "--level", "95"], "bad-level"),
        (["fit", RUN, "--eval-size", "0"], "bad-eval-size"),
        (["predict"], "nothing-to-predict"),
        (["predict", "--target-entropy", "0.1"], "no-fit-yet"),
        (["predict", RUN, "--target-entropy", "0.5:0.1:0.1"], "bad-target"),
        (["predict", RUN, "--target-entropy", "a"], "bad-target"),
        (["predict", RUN, "--target-entropy", "-1"], "bad-entropy"),
        (["predict", RUN, "--target-reward", "inf"], "bad-reward"),
        (["fit", RUN, "--entropy", "val_acc", "--reward", "val_acc"], "same-column"),
    ],
)
def test_usage_errors(run, lab, arguments, slug):
    assert_error(run(*arguments), slug, 2)


def test_a_fit_is_no_log(run, lab):
    run("fit", RUN)
    assert_error(run("fit", "reports/clean_start_s0.fit.json"), "already-a-fit", 2)


def test_fits_of_different_levels_do_not_mix(run, lab):
    run("fit", RUN, "--level", "0.5", "-o", "half.json")
    run("fit", RUN, "-o", "most.json")
    done = run("report", "half.json", "most.json", "-o", "out")
    assert_error(done, "settings-differ", 2)
    assert "level 0.5 and 0.95" in done.stderr


def test_rewards_beyond_any_scale(run, tmp_path):
    write_csv(tmp_path / "x.csv", reward=[f"{i}e200" for i in range(1, 41)])
    assert_error(run("fit", "x.csv"), "out-of-scale", 4)


def test_nothing_fitted_writes_no_report_and_says_so(run, tmp_path):
    write_csv(tmp_path / "x.csv", n=3)
    done = run("report", "x.csv", "-o", "out")
    assert done.returncode == 4
    assert "no index was written" in done.stderr
    assert not (tmp_path / "out" / "index.html").exists()
    assert "too-few-evaluations" in (tmp_path / "out" / "runs" / "x.html").read_text()


def test_standard_output_that_cannot_be_written(run, lab, tmp_path):
    from tests.conftest import clean_environment

    for redirect in (">/dev/full", ">&-"):
        done = subprocess.run(
            ["sh", "-c", f'"{sys.executable}" -m entropylaw fit {RUN} -o x.json -o - {redirect}'],
            cwd=tmp_path,
            env=clean_environment(),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert_error(done, "cannot-write", 3)


def test_a_reader_that_leaves_early_is_no_error(run, lab, tmp_path):
    from tests.conftest import clean_environment

    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m entropylaw fit {RUN} --format json -o - | head -n 1'],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stdout == "{\n"
    assert done.stderr == ""


def test_an_interrupt_ends_with_130(tmp_path):
    """While it reads standard input: a pipe that takes more than it holds has a reader."""
    from tests.conftest import HANGS, clean_environment

    process = subprocess.Popen(
        [sys.executable, "-m", "entropylaw", "fit", "-"],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"step,entropy,reward\n" * 20_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=HANGS)
    assert process.returncode == 130
    assert b"Traceback" not in stderr


def test_a_bug_is_an_error_without_traceback(run_process, lab, tmp_path):
    """A module that fails in a way nobody foresaw, put in the way of the real one."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import entropylaw.pipeline.documents as d\n"
        "def fail(*a, **k): raise RuntimeError('unforeseen')\n"
        "d.combine = fail\n"
    )
    from tests.conftest import ROOT

    done = run_process("fit", RUN, PYTHONPATH=f"{broken}:{ROOT}")
    assert_error(done, "bug", 1)
    assert "RuntimeError in fail: unforeseen" in done.stderr
    shown = run_process("fit", RUN, PYTHONPATH=f"{broken}:{ROOT}", ENTROPYLAW_DEBUG="1")
    assert "Traceback" in shown.stderr


def test_logs_that_share_their_last_folders_keep_apart(run, tmp_path):
    for folder in ("A", "B"):
        (tmp_path / "far" / folder / "x").mkdir(parents=True)
        write_csv(tmp_path / "far" / folder / "x" / "m.csv", n=40 if folder == "A" else 50)
    logs = [tmp_path / "far" / folder / "x" / "m.csv" for folder in ("A", "B")]
    (tmp_path / "here").mkdir()
    done = run("fit", *logs, "-o", "both.json", cwd=tmp_path / "here")
    assert done.returncode == 0
    assert len(load_fit(tmp_path / "here" / "both.json").inputs) == 2
    for log in logs:
        run("fit", log, cwd=tmp_path / "here")
    assert len(list((tmp_path / "here" / "reports").iterdir())) == 2


def test_typer_usage_errors_exit_2_too(run):
    assert run("fit").returncode == 2
    assert run("fti").returncode == 2
    assert run("fit", "x.csv", "--pair", "both").returncode == 2
