"""A report on many runs: nothing done twice, one bad run alone, every file whole whatever happens."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw.documents.loading import load
from entropylaw.errors import OutputError
from entropylaw.options import FitOptions
from entropylaw.pipeline import answers, pages, pool, site, steps
from entropylaw.pipeline.cache import Cache
from entropylaw.pipeline.pages import Making
from entropylaw.pipeline.site import only_writer, tasks_of
from entropylaw.results.result import replace
from tests.conftest import DAY, HANGS, NIGHTLY, clean_environment
from tests.typed import assert_error, assert_says


def log(path: Path, seed: int = 0, n: int = 40) -> Path:
    rng = np.random.default_rng(seed)
    entropy = np.linspace(1.2, 0.2, n) + 0.005 * rng.standard_normal(n)
    reward = 0.9 - 0.2 * np.exp(entropy) + 0.01 * rng.standard_normal(n)
    rows = [
        f"{5 * i},{h!r},{r!r}" for i, (h, r) in enumerate(zip(entropy.tolist(), reward.tolist(), strict=True))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["step,entropy,reward", *rows]) + "\n")
    return path


@pytest.fixture
def logs(tmp_path):
    for i in range(4):
        log(tmp_path / "logs" / f"run-{i}.csv", seed=i)
    return tmp_path / "logs"


QUICK = ("--figures", "none", "--jobs", "1")
"""Of what is written, and not of what is drawn: with ``undrawn`` in this process."""


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)}


def times(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mtime_ns for name in contents(folder)}


@pytest.mark.usefixtures("undrawn")
def test_what_has_not_changed_is_not_done_again(run, logs, tmp_path):
    command = ("report", "logs", "-o", "out", *QUICK)
    assert run(*command).returncode == 0
    before = times(tmp_path / "out")
    assert "4 runs, 4 fitted, 4 of them as before" in run(*command).stderr
    log(logs / "run-1.csv", seed=9)
    changed = run(*command)
    assert "3 of them as before" in changed.stderr
    after = times(tmp_path / "out")
    assert {name for name in before if name.startswith("runs") and before[name] != after[name]} == {
        "runs/run-1.html",
        "runs/run-1.json",
    }
    assert "as before" not in run(*command, "--level", "0.9").stderr


@pytest.mark.usefixtures("undrawn")
def test_a_new_neighbour_makes_pages_and_no_fits(logs, tmp_path, monkeypatch):
    cache = Cache(tmp_path / "kept")
    making = Making(folder=tmp_path / "out", settings=FitOptions(), kinds=(), cache=cache)
    site.report_logs([str(logs)], making, jobs=1)
    before = (tmp_path / "out" / "runs" / "run-3.json").read_bytes()
    log(logs / "run-4.csv", seed=4)
    fitted = []

    def counted(run, *rest, real=answers.fit_series):
        fitted.append(run.name)
        return real(run, *rest)

    monkeypatch.setitem(answers.COMPUTED, "fit", counted)
    outcome = site.report_logs([str(logs)], making, jobs=1)
    assert fitted == ["run-4"]
    assert outcome.unchanged == 3
    assert (tmp_path / "out" / "runs" / "run-3.json").read_bytes() == before
    assert "run-4.html" in (tmp_path / "out" / "runs" / "run-3.html").read_text()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.usefixtures("undrawn")
def test_while_its_files_are_there_no_result_of_a_run_is_read(logs, tmp_path, monkeypatch):
    cache = Cache(tmp_path / "kept")
    making = Making(folder=tmp_path / "out", settings=FitOptions(), kinds=(), cache=cache)
    first = site.report_logs([str(logs)], making, jobs=1)

    def none(*_, **__):
        raise AssertionError

    monkeypatch.setattr(steps, "answers", none)
    second = site.report_logs([str(logs)], making, jobs=1)
    assert second.done == tuple(replace(run, unchanged=True) for run in first.done)


def test_a_lost_or_cut_file_is_made_again(run, logs, tmp_path):
    command = ("report", "logs", "-o", "out", *QUICK)
    run(*command)
    whole = contents(tmp_path / "out")
    (tmp_path / "out" / "runs" / "run-0.html").unlink()
    (tmp_path / "out" / "runs" / "run-1.json").write_text("{")
    assert "2 of them as before" in run(*command).stderr
    assert contents(tmp_path / "out") == whole


def test_the_number_of_processes_does_not_matter(run, logs, tmp_path):
    for jobs in ("1", "2"):
        assert run("report", "logs", "-o", f"out{jobs}", "--jobs", jobs, "--figures", "svg").returncode == 0
    assert contents(tmp_path / "out1") == contents(tmp_path / "out2")


@pytest.mark.usefixtures("undrawn", "one_cache")
def test_one_bad_run_stops_no_other(run, logs, tmp_path):
    (logs / "short.csv").write_text("step,entropy,reward\n0,1,0.1\n5,0.5,0.2\n")
    (logs / "torn.csv").write_bytes(b"PAR1\xff\x00")
    done = run("report", "logs", "nosuch.csv", "-o", "out", *QUICK, code=0)
    assert_says(done.stderr, "error[file-not-found]", "error[too-few-evaluations]: short")
    assert "too-few-evaluations" in (tmp_path / "out" / "runs" / "short.html").read_text()
    run("report", "logs", "nosuch.csv", "-o", "out", *QUICK, "--strict", code=4)


@pytest.mark.usefixtures("undrawn", "one_cache")
def test_nothing_fitted_leaves_the_old_index(run, logs, tmp_path):
    run("report", "logs", "-o", "out", *QUICK)
    index = (tmp_path / "out" / "index.html").read_bytes()
    assert_error(run("report", "nosuch.csv", "-o", "out", *QUICK), "file-not-found", 3)
    assert (tmp_path / "out" / "index.html").read_bytes() == index


@pytest.mark.usefixtures("undrawn", "one_cache")
def test_stored_fits_and_folders_of_them(run, logs, tmp_path):
    assert run("fit", "logs", "--jobs", "1").returncode == 0
    assert run("report", "logs", "-o", "fresh", *QUICK).returncode == 0
    assert run("report", "reports", "-o", "stored", *QUICK).returncode == 0
    assert contents(tmp_path / "stored") == contents(tmp_path / "fresh")
    assert_error(run("report", "reports", "-o", "x", "--gain", "0.5"), "fit-is-fixed", 2)
    for place in ("fresh", "fresh/report.json"):
        run("report", place, "-o", "again", *QUICK, code=0)
        assert contents(tmp_path / "again") == contents(tmp_path / "fresh")
    (tmp_path / "reports" / "runs.fit.json").rename(tmp_path / "fresh" / "runs.fit.json")
    beside = run("report", "fresh", "-o", "again", *QUICK).stderr
    assert "fresh/runs.fit.json is skipped: a report is in its folder\n" in beside
    # Its own documents are what it is made of.
    assert_error(run("report", "fresh", "-o", "fresh", *QUICK), "output-is-input", 2)


@pytest.mark.usefixtures("undrawn", "one_cache")
def test_the_index_may_say_in_words_what_a_document_has(run, tmp_path):
    # Why there is no forecast, and what the stop line says.
    log(tmp_path / "logs" / "short.csv", n=6)
    log(tmp_path / "logs" / "whole.csv")
    header, *rows = log(tmp_path / "logs" / "lost.csv").read_text().splitlines()
    zero = [f"{row.rpartition(',')[0]},0" for row in rows[26:]]
    (tmp_path / "logs" / "lost.csv").write_text("\n".join([header, *rows[:26], *zero, ""]))
    assert run("report", "logs", "-o", "out", "--steps", "300", *QUICK).returncode == 0
    done = run("check", "out", "--fail-if", "state==broken", "--format", "json")
    cases = {case["run"]: case["outcome"] for case in json.loads(done.stdout)["cases"]}
    # Whether a run with too few evaluations is broken is not known: its gate does not pass.
    assert (done.returncode, cases) == (5, {"lost": "tripped", "short": "unknown", "whole": "passed"})
    assert run("report", "out", "-o", "again", *QUICK).returncode == 0


def test_a_folder_has_one_writer(tmp_path):
    with only_writer(tmp_path / "out"):
        code = (
            "from pathlib import Path\nfrom entropylaw.pipeline.site import only_writer\n"
            f"with only_writer(Path({str(tmp_path / 'out')!r})): pass"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=clean_environment()
        )
        assert "folder-busy" in done.stderr


def test_a_place_that_cannot_be_a_folder(tmp_path, logs):
    (tmp_path / "taken").write_text("a file")
    making = Making(folder=tmp_path / "taken", settings=FitOptions(), kinds=())
    with pytest.raises(OutputError) as caught:
        site.report_logs([str(logs)], making, jobs=1)
    assert caught.value.slug == "cannot-write"
    assert (tmp_path / "taken").read_text() == "a file"


def _double(task: int) -> int:
    if task < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * task


def _dead(task: int) -> int:
    return -1


@pytest.mark.parametrize("pause", [0.0, 0.4])
def test_a_killed_worker_takes_nobody_with_it(pause):
    """Also where the pool is found broken when it is given the next task."""
    found = {}
    for task, result in pool.results(_double, [1, 2, -3, 4, 5, 6], jobs=2, died=_dead):
        found[task] = result
        time.sleep(pause)
    assert found == {1: 2, 2: 4, -3: -1, 4: 8, 5: 10, 6: 12}


def test_ctrl_c_leaves_a_usable_report(run, logs, tmp_path, monkeypatch):
    for i in range(4, 30):
        log(logs / f"run-{i}.csv", seed=i)
    waited, real = [], pool.wait

    def interrupted(*futures, **options):
        waited.append(futures)
        if len(waited) == 4:
            signal.raise_signal(signal.SIGINT)
        return real(*futures, **options)

    monkeypatch.setattr(pool, "wait", interrupted)
    assert "Traceback" not in run("report", "logs", "-o", "out", *QUICK[:3], "2", code=130).stderr
    index = json.loads((tmp_path / "out" / "report.json").read_text())
    # At most four are ready at a time.
    assert 3 <= len(index["rows"]) <= 12
    assert index["unfinished"] == 30 - len(index["rows"])
    for row in index["rows"]:
        assert load(tmp_path / "out" / "runs" / f"{row['slug']}.json", "report").runs[0].run == row["run"]


ENDINGS = {
    ".html": b"</html>\n",
    ".json": b"}\n",
    ".svg": b"</svg>\n",
    ".pdf": b"%%EOF\n",
    ".png": b"IEND\xaeB`\x82",
}


def test_killed_at_any_moment_every_file_is_whole_and_the_next_run_completes_it(run, logs, tmp_path):
    command = ["report", "logs", "-o", "out", "--figures", "svg,png,pdf" if NIGHTLY else "svg", "--jobs", "2"]
    when = random.Random(20261121 if NIGHTLY else DAY)
    # What a killed call fitted and drew is found there by the next one.
    kept = {"ENTROPYLAW_CACHE": str(tmp_path.with_name(f"{tmp_path.name}.kept"))}

    def finished():
        return {path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").glob("run-*.json")}

    for kill in range(20 if NIGHTLY else 2):
        before = finished()
        level = ["--level", f"{when.uniform(0.5, 0.9):.3f}"] if kill % 3 == 0 else []
        started = subprocess.Popen(
            [sys.executable, "-m", "entropylaw", *command, *level],
            cwd=tmp_path,
            env=clean_environment() | kept,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if kill % 3 == 0:
            # While it writes: with another level every run is made again.
            while started.poll() is None and finished() == before:
                time.sleep(0.02)
            time.sleep(when.uniform(0.0, 1.0))
        else:
            time.sleep(when.uniform(0.3, 3.0))
        started.kill()
        # Its output ends with the last of its workers, which would still write while files are listed.
        started.communicate(timeout=HANGS)
        for path in (tmp_path / "out").rglob("*.*"):
            if path.suffix != ".part" and path.is_file():
                assert path.read_bytes().endswith(ENDINGS.get(path.suffix, b"\n")), path
    assert run(*command, **kept).returncode == 0
    assert run("report", "logs", "-o", "whole", *command[4:]).returncode == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_order_and_names_of_many_runs(tmp_path):
    for name in ("run-10.csv", "run-2.csv", "a/run-2.csv"):
        log(tmp_path / "logs" / name, seed=len(name))
    making = Making(folder=tmp_path / "out", settings=FitOptions(), kinds=None)
    gathered = tasks_of([str(tmp_path / "logs")], making)
    assert len({task.slug for task in gathered.tasks}) == 3
    assert gathered.tasks[-1].name == "run-10"
    second = gathered.tasks[1]
    beside = gathered.tasks[0].neighbours[1]
    assert (beside.run, beside.href) == (second.name, f"{second.slug}.html")
    assert gathered.tasks[0].making.kinds == ("svg", "png", "pdf")


def test_summaries_of_tokens_have_phases(run, tmp_path):
    """They have no reward, and so no law; the report says that, and shows what there is."""
    rng = np.random.default_rng(7)
    step = np.repeat(np.arange(30), 40)
    planning = rng.random(step.size) < 0.3
    entropy = np.where(planning, 1.0, 0.4) * np.exp(-step / 10) + rng.exponential(0.05, step.size)
    pq.write_table(
        pa.table({"step": step, "entropy": entropy, "is_planning": planning}), tmp_path / "tokens.parquet"
    )
    assert run("tokens", "tokens.parquet", "-o", "steps.parquet").returncode == 0
    done = run("report", "steps.parquet", "-o", "out", "--figures", "svg", code=0)
    assert "no-reward-column" in done.stderr
    assert "Phases of steps" in (tmp_path / "out" / "runs" / "steps.html").read_text()
    assert load(tmp_path / "out" / "runs" / "steps.json", "report").phases[0].result is not None


def test_a_run_whose_process_was_killed_has_a_page_that_says_so(logs, tmp_path):
    making = Making(folder=tmp_path / "out", settings=FitOptions(), kinds=())
    done = pages.died(tasks_of([str(logs)], making).tasks[0])
    assert (done.refused[0][1].slug, done.read) == ("worker-killed", True)
    assert "worker-killed" in (tmp_path / "out" / "runs" / "run-0.html").read_text()
