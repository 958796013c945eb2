"""The commands as a user starts them: output, exit codes, errors, files."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from entropylaw.documents.fit import load_fit

RUN = "data/lab/grpo_s0/metrics.parquet"


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


def assert_error(done, slug: str, code: int):
    """One error line with its slug, a hint below it, the exit code, and no traceback."""
    assert done.returncode == code, done.stderr
    assert f"error[{slug}]: " in done.stderr
    assert re.search(rf"error\[{slug}\]: .+\n  \S.+", done.stderr), done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_fit_fits_twenty_lines_and_says_what_it_wrote(run, lab):
    done = run("fit", RUN)
    assert done.returncode == 0
    wrote, following = done.stderr.splitlines()
    assert wrote == "wrote reports/grpo_s0.fit.json"
    assert len(done.stdout.splitlines() + done.stderr.splitlines()) <= 20
    # The next command to try, tried.
    assert following.startswith("next  entropylaw predict reports/grpo_s0.fit.json ")
    assert run(*following.split()[2:]).returncode == 0
    assert max(len(line) for line in done.stdout.splitlines()) <= 120
    for word in ("VALID", "a  ", "b  ", "ceiling", "headroom", "95 %", "line", "read", "dropped"):
        assert word in done.stdout


def test_fit_writes_a_document_that_predict_reads_back_exactly(run, lab, tmp_path):
    run("fit", RUN)
    stored = run("predict", "--target-entropy", "0.1", "--format", "json")
    fresh = run("predict", RUN, "--target-entropy", "0.1", "--format", "json")
    assert stored.stdout == fresh.stdout
    assert "reading reports/grpo_s0.fit.json" in stored.stderr
    (fit,) = load_fit(tmp_path / "reports/grpo_s0.fit.json").fitted
    (prediction,) = json.loads(stored.stdout)["runs"][0]["predictions"]
    assert prediction["mean"]["low"] == fit.predict(0.1).mean.low


def test_formats_on_standard_output(run, lab):
    document = json.loads(run("fit", RUN, "--format", "json").stdout)
    assert document["schema"] == "entropylaw/fit/1"
    (row,) = csv.DictReader(io.StringIO(run("fit", RUN, "--format", "csv").stdout))
    assert float(row["ceiling"]) == document["runs"][0]["law"]["ceiling"]["value"]
    assert run("fit", RUN, "--format", "markdown").stdout.startswith("#")


def test_output_suffix_decides(run, lab, tmp_path):
    done = run("fit", RUN, "-o", "a.json", "-o", "b.csv", "-o", "c.md", "-o", "d.txt")
    assert done.returncode == 0
    assert json.loads((tmp_path / "a.json").read_text())["schema"] == "entropylaw/fit/1"
    assert (tmp_path / "d.txt").read_text() == done.stdout
    assert not (tmp_path / "reports").exists()
    assert_error(run("fit", RUN, "-o", "x.pdf"), "unknown-suffix", 2)


def test_quiet(run, lab):
    assert run("fit", RUN, "--quiet").stderr == ""


def test_standard_input(run, tmp_path):
    text = write_csv(tmp_path / "x.csv").read_text()
    done = run("fit", "-", stdin=text)
    assert done.returncode == 0
    assert "40 evaluations" in done.stdout
    assert "40 evaluations" in run("fit", "--", "-:csv", stdin=text).stdout


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


# Bad input: what a user meets, one by one.


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
    assert any("sign" in note or "negat" in note for note in entry["notes"])


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

    assert run("report", RUN, "-o", "out").returncode == 0
    before = {path: path.read_bytes() for path in sorted((tmp_path / "out").rglob("*")) if path.is_file()}
    from tests.conftest import clean_environment

    done = subprocess.run(
        [sys.executable, "-m", "entropylaw", "report", RUN, "-o", "out", "--level", "0.5"],
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
    assert_error(run("fit", "reports/grpo_s0.fit.json"), "already-a-fit", 2)


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
    assert "no report was written" in done.stderr
    assert not (tmp_path / "out").exists()


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
    from tests.conftest import clean_environment

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
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in stderr


def test_a_bug_is_an_error_without_traceback(run, lab, tmp_path):
    """A module that fails in a way nobody foresaw, put in the way of the real one."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import entropylaw.workflow as w\n"
        "def fail(*a, **k): raise RuntimeError('unforeseen')\n"
        "w.fit_logs = fail\n"
    )
    from tests.conftest import ROOT

    done = run("fit", RUN, PYTHONPATH=f"{broken}:{ROOT}")
    assert_error(done, "bug", 1)
    assert "RuntimeError in fail: unforeseen" in done.stderr
    shown = run("fit", RUN, PYTHONPATH=f"{broken}:{ROOT}", ENTROPYLAW_DEBUG="1")
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


def test_documents_of_another_kind_version_or_shape(run, lab, tmp_path):
    run("fit", RUN)
    path = tmp_path / "reports/grpo_s0.fit.json"
    document = json.loads(path.read_text())
    for name, change, slug in [
        ("version", {"schema": "entropylaw/fit/99"}, "other-document-version"),
        ("kind", {"schema": "entropylaw/prediction/1"}, "not-a-document"),
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
    assert run("report", RUN, "-o", "fresh").returncode == 0
    assert run("report", "reports/grpo_s0.fit.json", "-o", "stored").returncode == 0
    assert folder(tmp_path / "fresh") == folder(tmp_path / "stored")


def test_same_input_same_bytes_in_two_processes(run, lab, tmp_path):
    for name in ("one", "two"):
        assert run("report", RUN, "data/lab/entbonus_0.05/metrics.parquet", "-o", name).returncode == 0
        assert run("fit", RUN, "-o", f"{name}.json", "-o", f"{name}.csv", "-o", f"{name}.md").returncode == 0
    assert folder(tmp_path / "one") == folder(tmp_path / "two")
    for suffix in ("json", "csv", "md"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_no_absolute_path_in_any_output(run, lab, tmp_path):
    (tmp_path / "empty.csv").touch()
    run("report", tmp_path / RUN, tmp_path / "empty.csv", "-o", "out")
    run("columns", tmp_path / RUN, "--format", "json")
    for path, content in folder(tmp_path / "out").items():
        assert os.fsencode(tmp_path) not in content, path


def folder(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


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
