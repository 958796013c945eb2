"""What a call writes: never over what it reads, never outside its folder, files before standard output."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw import InputError, load, read_runs
from entropylaw.files import write_atomically
from entropylaw.paths import forget_inputs, note_input
from tests.conftest import clean_environment, drawn
from tests.typed import assert_error, in_shell, started, typed, write_csv

pytestmark = pytest.mark.usefixtures("one_cache")

GATE = ("--fail-if", "ceiling<0")


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run ``entropylaw ARGUMENTS`` in this process, in a folder with one small log."""
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "log.csv")
    return typed


@pytest.fixture
def fit(call):
    """The same, with ``fit.json`` next to the log."""
    assert call("fit", "log.csv", "-o", "fit.json", "-q").returncode == 0
    return call


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def assert_refused(done, folder: Path, before: dict[str, bytes], slug: str = "output-is-input") -> None:
    """A usage error, and every file as it was: none more, none fewer."""
    assert_error(done, slug, 2)
    assert contents(folder) == before


@pytest.mark.parametrize("suffix", ["csv", "json", "md", "txt"])
def test_a_fit_does_not_replace_its_log(call, tmp_path, suffix):
    log = f"copy.{suffix}"
    (tmp_path / "log.csv").rename(tmp_path / log)
    before = contents(tmp_path)
    assert_refused(call("fit", log, "-o", log), tmp_path, before)
    assert_refused(call("fit", f"{log}:csv", "-o", "new.md", "-o", f"./{log}"), tmp_path, before)


def test_links_hard_links_and_folders_lead_to_the_same_file(call, tmp_path):
    (tmp_path / "link.csv").symlink_to("log.csv")
    (tmp_path / "hard.csv").hardlink_to("log.csv")
    before = contents(tmp_path)
    for names in (
        "log.csv link.csv",
        "log.csv hard.csv",
        "link.csv log.csv",
        ". log.csv",
        ". sub/../hard.csv",
    ):
        given, output = names.split()
        assert_refused(call("fit", given, "-o", output), tmp_path, before)


@pytest.mark.parametrize(
    "command",
    [
        "fit log.csv -o log.csv",
        "phases log.csv --entropy actor/entropy -o log.csv",
        "plot law log.svg -o log.svg",
        "predict fit.json -o fit.json",
        "predict log.csv -o log.csv",
        "check log.csv --fail-if ceiling<0 -o other.md -o ./log.json",
        "check fit.json --fail-if ceiling<0 -o fit.json",
        "check log.csv --fail-if regression(fit.json)>90% -o fit.json",
        "report report.csv -o .",
        "tokens t.parquet -o t.parquet",
        "tokens . -o hard.parquet",
    ],
)
def test_no_command_replaces_an_input(fit, tmp_path, command):
    (tmp_path / "log.svg").write_bytes((tmp_path / "log.csv").read_bytes())
    (tmp_path / "log.json").hardlink_to(tmp_path / "log.csv")
    (tmp_path / "report.csv").write_bytes((tmp_path / "log.csv").read_bytes())
    for style in ("law.svg", "report.md"):
        (tmp_path / style).write_text("lines.linewidth: 1\n")
    pq.write_table(pa.table({"step": [1, 1, 2, 2], "entropy": [0.5, 0.4, 0.3, 0.2]}), tmp_path / "t.parquet")
    (tmp_path / "hard.parquet").hardlink_to(tmp_path / "t.parquet")
    assert_refused(fit(*command.split()), tmp_path, contents(tmp_path))


def test_a_steps_summary_that_is_read_is_not_appended_to(fit, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "fit.json"))
    before = contents(tmp_path)
    assert_refused(fit("check", "fit.json", *GATE, "--github-summary", "-o", "x.json"), tmp_path, before)


def test_standard_streams_of_a_file_are_that_file(call, tmp_path):
    before = contents(tmp_path)
    for line in ("fit - -o log.csv < log.csv", "fit log.csv -o new.json -o - >> log.csv"):
        assert_refused(in_shell(line, tmp_path), tmp_path, before)


def test_a_report_in_the_folder_of_its_logs(call, tmp_path):
    """Nothing of the user's is replaced; what the report itself wrote there is."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (tmp_path / "log.csv").rename(logs / "report.csv")
    assert_refused(call("report", "logs", "-o", "logs", "--figures", "none"), tmp_path, contents(tmp_path))
    (logs / "report.csv").rename(logs / "a.csv")
    write = ("report", "logs", "-o", "logs", "--figures", "none")
    assert call(*write).returncode == 0
    before = contents(logs)
    assert call(*write).returncode == 0
    after = contents(logs)
    # The second report says that it skipped the first; all else is as it was.
    changed = {Path(name).name for name in after if after[name] != before[name]}
    assert after.keys() == before.keys()
    assert changed <= {"report.md", "report.json", "index.html"}


def test_a_report_below_the_folder_of_its_logs_is_written_again_from_the_logs(call, tmp_path):
    for gain in ("0.02", "0.03"):
        done = call("report", ".", "-o", "reports", "--figures", "none", "--gain", gain)
        assert done.returncode == 0, done.stderr
    assert f'"gain": {gain}' in (tmp_path / "reports" / "runs" / "log.json").read_text("utf-8")


def test_an_output_of_an_earlier_call_is_replaced_also_in_the_folder_that_is_read(call, tmp_path):
    files = ("-o", "all.json", "-o", "all.csv", "-o", "all.txt", "-o", "all.md")
    assert call("fit", ".", *files, "-q").returncode == 0
    before = contents(tmp_path)
    assert call("fit", ".", *files, "--level", "0.9", "-q").returncode == 0
    assert {name for name, data in contents(tmp_path).items() if data != before[name]} == {
        str(tmp_path / name) for name in ("all.json", "all.csv", "all.txt", "all.md")
    }


@pytest.mark.parametrize("extension", drawn(["txt", "md"], 1))
def test_no_text_that_is_written_is_taken_for_a_log(call, extension, tmp_path):
    write_csv(tmp_path / "other.csv", n=60)
    (tmp_path / "short.csv").write_text("step,entropy,reward\n1,1,0\n2,0.9,0.1\n")
    for name in ("out", "many"):
        (tmp_path / name).mkdir()
    for longer in range(12):
        write_csv(tmp_path / "many" / f"{longer}.csv", n=30 + longer)
    calls = {
        "fit": ("fit", "log.csv"),
        "details": ("fit", "log.csv", "--details"),
        "several": ("fit", "log.csv", "other.csv", "short.csv", "--details"),
        "refused": ("fit", "short.csv", "log.csv"),
        "table": ("fit", "many"),
        "predict": ("predict", "log.csv"),
        "phases": ("phases", "log.csv", "other.csv"),
        "compare": ("compare", "x=log.csv", "y=other.csv", "--details"),
    }
    for name, arguments in calls.items():
        assert call(*arguments, "-q", "-o", f"out/{name}.{extension}").returncode in (0, 4)
    assert call("report", "log.csv", "other.csv", "-o", "out/report").returncode == 0
    written = [path for path in (tmp_path / "out").rglob("*") if path.suffix in (".txt", ".md")]
    assert len(written) >= len(calls)
    for path in written:
        # Also where a shell or a person gave it the name of a log.
        copy = tmp_path / f"{path.stem}.log"
        copy.write_bytes(path.read_bytes())
        for text in (path, copy):
            with pytest.raises(InputError):
                read_runs(text)


def test_one_file_under_two_names_is_written(call, tmp_path):
    assert call("fit", "log.csv", "-o", "a.json", "-o", "./a.json").returncode == 0
    assert load(tmp_path / "a.json", "fit").fitted


def test_a_name_in_another_case_is_the_same_file_where_the_file_system_says_so(call, tmp_path, monkeypatch):
    """A file system that ignores case answers with one inode for both names; so does this stand-in."""
    before = contents(tmp_path)
    real = os.stat
    monkeypatch.setattr(
        os, "stat", lambda path, **more: real(str(path).replace("LOG.CSV", "log.csv"), **more)
    )
    assert_refused(call("fit", "log.csv", "-o", "LOG.CSV"), tmp_path, before)


def test_our_own_tables_are_known_by_their_first_columns(call, tmp_path):
    write_csv(tmp_path / "other.csv", n=50)
    commands = ("fit", "phases", "predict", "columns", "compare")
    for command in commands:
        logs = ("a=log.csv", "b=other.csv") if command == "compare" else ("log.csv",)
        table = call(command, *logs, "--format", "csv")
        (tmp_path / f"{command}.csv").write_text(table.stdout, "utf-8")
    # The folder is read, with the tables in it, and each may be replaced.
    for command in commands:
        done = call("fit", ".", "-q", "-o", f"{command}.csv")
        assert done.returncode == 0, done.stderr


def test_a_worker_knows_the_inputs(tmp_path):
    from entropylaw.pipeline.pool import results

    (tmp_path / "log.csv").write_text("x")
    forget_inputs()
    note_input(tmp_path / "log.csv")
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv", "c.csv", "log.csv")]
    done = dict(results(_slug_of_writing, paths, jobs=2, died=str))
    forget_inputs()
    assert list(map(done.get, paths)) == ["", "", "", "output-is-input"]
    assert (tmp_path / "log.csv").read_text() == "x"


def _slug_of_writing(path: str) -> str:
    from entropylaw.errors import UsageError

    try:
        write_atomically(path, "new")
    except UsageError as error:
        return error.slug
    return ""


@pytest.mark.parametrize("inner", ["runs", "figures"])
def test_a_report_does_not_write_through_a_link_to_another_folder(call, tmp_path, inner):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / inner).symlink_to("../elsewhere")
    assert_error(call("report", "log.csv", "-o", "out"), "cannot-write", 3)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["index.html", "report.json", "runs/x.html", "figures/x-law.svg"])
def test_a_report_replaces_no_file_of_another_program(call, tmp_path, name):
    write_csv(tmp_path / "x.csv")
    taken = tmp_path / "site" / name
    taken.parent.mkdir(parents=True)
    taken.write_text("{}")
    done = assert_error(call("report", "x.csv", "-o", "site"), "not-a-report", 2)
    assert f"site/{name}" in done.stderr
    assert [path.read_text() for path in (tmp_path / "site").rglob("*") if path.is_file()] == ["{}"]


def test_hidden_files_of_the_user_stay(call, tmp_path):
    for name in (".download.part", ".steps.csv.new", ".steps.csv.old"):
        (tmp_path / name).write_text("mine")
    assert call("report", "log.csv", "-o", ".", "--figures", "none").returncode == 0
    pq.write_table(pa.table({"step": [1, 1, 2, 2], "entropy": [0.5, 0.4, 0.3, 0.2]}), tmp_path / "t.parquet")
    for _ in range(2):
        assert call("tokens", "t.parquet", "-o", "steps.csv").returncode == 0
    for name in (".download.part", ".steps.csv.new", ".steps.csv.old"):
        assert (tmp_path / name).read_text() == "mine"


def test_a_default_folder_that_is_a_link_is_refused(call, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "reports").symlink_to("elsewhere")
    for command in ("fit", "report"):
        assert_error(call(command, "log.csv"), "output-outside", 2)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_fit_with_other_options_takes_another_name(call, tmp_path):
    stored = tmp_path / "reports"
    assert call("fit", "log.csv").returncode == 0
    first = (stored / "log.fit.json").read_bytes()
    done = call("fit", "log.csv", "--reward", "critic/score/mean", "--from-step", "2")
    (stored_as,) = done.stderr.splitlines()
    assert stored_as.startswith("stored in reports/log-2.fit.json ")
    assert (stored / "log.fit.json").read_bytes() == first
    second = (stored / "log-2.fit.json").read_bytes()
    assert load(stored / "log-2.fit.json", "fit").settings.reward == ("critic/score/mean",)
    # The same options again replace their own document, by the same bytes, and nothing else.
    done = call("fit", "log.csv")
    assert done.stderr.startswith("stored in reports/log.fit.json ")
    done = call("fit", "log.csv", "--reward", "critic/score/mean", "--from-step", "2")
    assert done.stderr.startswith(stored_as)
    assert [(stored / f"{name}.fit.json").read_bytes() for name in ("log", "log-2")] == [first, second]
    # A prediction without a source is of the last fit.
    assert "reading reports/log-2.fit.json" in call("predict", "--target-entropy", "0.1").stderr
    call("fit", "log.csv", "--reward", "critic/score/mean", "--no-save")
    assert sorted(path.name for path in stored.iterdir()) == ["log-2.fit.json", "log.fit.json"]


def test_another_log_on_standard_input_takes_another_name(run, tmp_path):
    texts = [write_csv(tmp_path / "log.csv", n=n).read_text() for n in (40, 30, 40)]
    assert [run("fit", "-", stdin=text).returncode for text in texts] == [0, 0, 0]
    found = {path.name: load(path, "fit").fitted[0].n_rewards for path in (tmp_path / "reports").iterdir()}
    assert found == {"stdin.fit.json": 40, "stdin-2.fit.json": 30}


@pytest.mark.parametrize(
    ("end", "gate", "code"),
    [
        ("| true", "ceiling>0", 5),
        ("> /dev/full", "ceiling>0", 5),
        ("> /dev/full", "ceiling<0", 0),
        (">&-", "ceiling>0", 5),
        ("2>&1 | true", "ceiling>0", 5),
        ("> /dev/null 2>/dev/full", "ceiling>0", 5),
    ],
)
def test_the_gate_decides_the_exit_code_whatever_happens_to_its_output(fit, tmp_path, end, gate, code):
    done = in_shell(f"check fit.json --fail-if '{gate}' --junit a.xml -o b.json -o - {end}", tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "a.xml").stat().st_size > 0
    assert json.loads((tmp_path / "b.json").read_text())["failed"] is (code == 5)


@pytest.mark.parametrize(("gate", "code"), [("ceiling>0", 5), ("ceiling<0", 3)])
def test_a_file_that_cannot_be_written_is_three_unless_the_gate_failed(fit, tmp_path, gate, code):
    (tmp_path / "folder.json").mkdir()
    done = assert_error(
        fit("check", "fit.json", "--fail-if", gate, "-o", "folder.json", "--junit", "after.xml", "-o", "-"),
        "cannot-write",
        code,
    )
    assert done.stdout
    assert (tmp_path / "after.xml").stat().st_size > 0


def test_files_come_before_a_standard_output_that_is_broken(fit, tmp_path):
    for command, code in (
        ("fit log.csv -o x.json -o - > /dev/full", 3),
        ("fit log.csv -o x.json -o - >&-", 3),
        ("fit log.csv -o x.json -o - | true", 0),
        ("phases log.csv --entropy actor/entropy -o x.json -o - | true", 0),
    ):
        (tmp_path / "x.json").unlink(missing_ok=True)
        done = in_shell(command, tmp_path)
        assert done.returncode == code, done.stderr
        assert (tmp_path / "x.json").stat().st_size > 0


@pytest.mark.parametrize(("end", "code"), [("", 0), ("| true", 0), ("> /dev/full", 3), (">&-", 3)])
def test_a_version_that_cannot_be_written_is_an_error(tmp_path, end, code):
    done = in_shell(f"--version {end}", tmp_path)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("error[cannot-write]: " if code else "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd", "'+cmd"),
        ("-cmd", "'-cmd"),
        ("＝1", "'＝1"),
        ("a\tb", "a\\tb"),
    ],
)
def test_cells_of_a_table_are_no_formulas(call, tmp_path, cell, shown):
    rows = "".join(f"{cell},{step},{1 - step / 10},{step / 10}\n" for step in range(3))
    (tmp_path / "runs.csv").write_text(f"run,step,entropy,val_acc\n{rows}", "utf-8")
    call("fit", "runs.csv", "-q", "-o", "table.csv")
    assert (tmp_path / "table.csv").read_text("utf-8").splitlines()[1].startswith(f"{shown},")


def test_a_name_that_is_no_utf8(call, tmp_path):
    name = os.fsdecode(b"b\xffd")
    try:
        (tmp_path / "log.csv").rename(tmp_path / f"{name}.csv")
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    table = np.genfromtxt(tmp_path / f"{name}.csv", delimiter=",", skip_header=1)
    columns = dict(zip(("step", "entropy", "reward"), table.T, strict=True))
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    (tmp_path / "x.parquet").rename(tmp_path / f"{name}.parquet")
    for suffix in ("csv", "parquet"):
        files = [f"x.{kind}" for kind in ("csv", "json", "md", "txt")]
        done = call("fit", f"{name}.{suffix}", *(f"-o{file}" for file in files))
        assert done.returncode == 0, done.stderr
        assert load(tmp_path / "x.json", "fit").fitted
        assert all((tmp_path / file).stat().st_size for file in files)
    assert_error(call("tokens", f"{name}.parquet"), "name-not-utf8", 3)


def test_a_deleted_working_folder(call, tmp_path):
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for arguments in (("fit", tmp_path / "log.csv"), ("tokens", "x.parquet")):
        assert_error(call(*arguments), "no-working-folder", 2)
    assert call("fit", "--help").returncode == 0


def test_numpys_warnings_are_not_shown(tmp_path):
    code = "import warnings; import entropylaw.__main__ as m, entropylaw.cli as c\n"
    code += "c.main = lambda: warnings.warn('overflow', RuntimeWarning)\nm.main()"
    environment = {key: value for key, value in clean_environment().items() if key != "PYTHONWARNINGS"}
    for flags, shown in (([], False), (["-W", "default"], True)):
        done = started(sys.executable, *flags, "-c", code, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        assert ("overflow" in done.stderr) is shown


def test_memory_that_runs_out_is_not_a_corrupt_file(call, tmp_path, monkeypatch):
    pq.write_table(pa.table({"step": [1, 2], "entropy": [0.5, 0.4]}), tmp_path / "x.parquet")

    def full(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 1073741824 failed")

    monkeypatch.setattr(pq.ParquetFile, "read", full)
    assert_error(call("fit", "x.parquet"), "out-of-memory", 1)
