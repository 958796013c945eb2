"""Bad input, bad options and bad luck, one by one: an error with its slug, what to do, and the exit code."""

import csv
import io
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from entropylaw import load
from entropylaw.cli import running
from entropylaw.files import write_atomically
from tests.conftest import HANGS, clean_environment
from tests.fuzz.hiding import comma, records
from tests.typed import RUN, assert_error, in_shell, started, write_csv

pytestmark = pytest.mark.usefixtures("one_cache")


def test_a_wide_file(run, tmp_path):
    names = [f"metric/{i}" for i in range(200)]
    rows = np.random.default_rng(1).standard_normal((40, 200))
    head, *lines = write_csv(tmp_path / "x.csv").read_text().splitlines()
    wide = [f"{left},{','.join(map(str, right))}" for left, right in zip(lines, rows, strict=True)]
    (tmp_path / "wide.csv").write_text("\n".join([f"{head},{','.join(names)}", *wide]) + "\n")
    assert run("fit", "wide.csv").returncode == 0
    done = run("columns", "wide.csv", code=0)
    assert "200 other columns" in done.stdout
    assert len(done.stdout.splitlines()) < 60
    assert all(f"'{name}'" in done.stdout for name in names)


HOSTILE = "../../<script>alert('x')</script>\n\"a\" | `b` =1\u001b[31m"


def test_hostile_run_names_reach_no_terminal_file_or_page(run, tmp_path):
    head, *lines = write_csv(tmp_path / "x.csv").read_text().splitlines()
    buffer = io.StringIO()
    csv.writer(buffer).writerows([["run", *head.split(",")], *([HOSTILE, *row.split(",")] for row in lines)])
    (tmp_path / "hostile.csv").write_text(buffer.getvalue())
    done = run("fit", "hostile.csv", code=0)
    assert "\x1b" not in done.stdout + done.stderr
    run("report", "hostile.csv", "-o", "out", "--figures", "svg", code=0)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", path.name) for path in written), written
    assert not (tmp_path.parent / "script").exists()


def test_unwritable_folder(run, lab, tmp_path):
    (tmp_path / "reports").write_text("a file in place of the folder")
    assert_error(run("fit", RUN), "cannot-write", 3)
    assert_error(run("report", RUN, "-o", "reports"), "not-a-folder", 2)
    assert (tmp_path / "reports").read_text() == "a file in place of the folder"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full's cousin: a file size limit")
def test_a_full_disk_leaves_the_old_report(run, lab, tmp_path):
    """A limit on the size of files replaces a full disk: writes fail in the middle."""
    import resource

    def files():
        return {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}

    assert run("report", RUN, "-o", "out", "--figures", "none").returncode == 0
    before = files()
    command = ("report", RUN, "-o", "out", "--figures", "none", "--gain", "0.5")
    assert_error(
        started(
            *(sys.executable, "-m", "entropylaw", *command),
            cwd=tmp_path,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
        ),
        "cannot-write",
        3,
    )
    after, index = files(), tmp_path / "out" / "index.html"
    assert set(after) == set(before)
    assert after[index] == before[index]


def test_a_kill_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    """The moment before the move is the last at which a kill could do harm."""
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
    ("command", "slug"),
    [
        ("fit RUN --level 95", "bad-level"),
        ("fit RUN --entropy val_acc --reward val_acc", "same-column"),
        ("predict RUN --target-entropy 0.5:0.1:0.1", "bad-target"),
        ("predict RUN --target-entropy a", "bad-target"),
        ("predict RUN --target-reward inf", "bad-option"),
    ],
)
def test_usage_errors(run, lab, command, slug):
    assert_error(run(*command.replace("RUN", RUN).split()), slug, 2)


def test_fits_are_no_logs_and_those_of_different_levels_do_not_mix(run, lab):
    run("fit", RUN, "--level", "0.5", "-o", "half.json")
    run("fit", RUN, "-o", "most.json")
    assert_error(run("fit", "most.json"), "already-a-fit", 2)
    done = assert_error(run("report", "half.json", "most.json", "-o", "out"), "settings-differ", 2)
    assert "level 0.5 and 0.95" in done.stderr


def test_a_reader_that_ends_early_is_no_error(lab, tmp_path):
    done = in_shell(f"fit {RUN} --format json -o - | head -n 1", tmp_path)
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_an_interrupt_ends_with_130(tmp_path):
    """While it reads standard input: a pipe that takes more than it holds has a reader."""
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


def test_a_bug_is_an_error_without_traceback(run, lab, monkeypatch):
    """A function that fails in an unforeseen way replaces the real one."""

    def fail(*_, **__):
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(running, "answers", fail)
    assert "RuntimeError in fail: unforeseen" in assert_error(run("fit", RUN), "bug", 1).stderr
    assert "Traceback" in run("fit", RUN, ENTROPYLAW_DEBUG="1").stderr


def test_logs_that_share_their_last_folders_keep_apart(run, tmp_path):
    here, logs = tmp_path / "here", [tmp_path / "far" / name / "x" / "m.csv" for name in "AB"]
    here.mkdir()
    for log, n in zip(logs, (40, 50), strict=True):
        log.parent.mkdir(parents=True)
        write_csv(log, n=n)
    assert run("fit", *logs, "-o", "both.json", cwd=here).returncode == 0
    assert len(load(here / "both.json", "fit").inputs) == 2
    for log in logs:
        run("fit", log, cwd=here)
    assert len(list((here / "reports").iterdir())) == 2


@pytest.fixture
def mixed(tmp_path):
    """Two runs, one that is too short, and two files without a record."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    for seed in range(2):
        (folder / f"good_{seed}.csv").write_bytes(comma(records(True, seed)))
    (folder / "short.csv").write_bytes(comma(records(True, 3)[:3]))
    for name in ("bad.csv", "worse.csv"):
        (folder / name).write_text("step,entropy,reward\n")
    return folder


UNUSED = "2 of 5 files could not be read: bad.csv, worse.csv; 1 of 3 runs could not be fitted: short"


def test_the_last_line_of_a_fit_names_what_was_not_read_or_fitted(run, mixed):
    for quiet in ([], ["-q"]):
        done = run("fit", "mixed", *quiet, code=0)
        assert done.stderr.splitlines()[-1] == f"{UNUSED}; --strict makes this an error"


@pytest.mark.parametrize("command", ["fit", "report"])
def test_strict_makes_a_run_that_is_not_read_or_fitted_an_error(run, mixed, command, undrawn):
    assert run(command, "mixed").returncode == 0
    strict = run(command, "mixed", "--strict", code=4)
    assert "--strict" not in strict.stderr
    for name in ("short.csv", "bad.csv", "worse.csv"):
        (mixed / name).unlink()
    assert "could not" not in run(command, "mixed", "--strict", code=0).stderr


def test_a_file_that_is_read_in_part_is_said_to_be(run, tmp_path):
    good = [{"run": "A", **row} for row in records(True, 0)]
    lost = [{"run": "B", **row, "step": None} for row in records(True, 1)]
    (tmp_path / "a.csv").write_bytes(comma(good + lost))
    done = run("fit", "a.csv", "--no-save", code=0)
    assert done.stderr.splitlines()[-1] == (
        "1 of 1 file could not be read whole: a.csv; --strict makes this an error"
    )
    assert run("fit", "a.csv", "--no-save", "--strict").returncode == 4
