"""Settings in a file: which file, what it may say, and what a command then gets."""

import hashlib
import json
import os
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from entropylaw import EntropyLawError, UsageError
from entropylaw.cli import app
from entropylaw.cli.command import NAMES, all_settings, command_of
from entropylaw.cli.settings import read_settings
from entropylaw.option import options_of
from entropylaw.options import FitOptions
from tests.conftest import ROOT
from tests.hostile import refused
from tests.typed import assert_error, write_csv

BY_KEY = all_settings()


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(*arguments: str) -> Any:
    """The options object that a command is called with."""
    name = next(word for word in arguments if word in NAMES)
    received: list[Any] = []
    module = import_module(f"entropylaw.cli.{name}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, received.append)
        app(list(arguments), standalone_mode=False)
    return received[0]


def received(*arguments: str) -> dict[str, Any]:
    """The options that a command would be called with."""
    return vars(called(*arguments))


def refusal(text: str | bytes, path: Path) -> EntropyLawError:
    """How a file is refused."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(EntropyLawError) as caught:
        read_settings(str(path), BY_KEY)
    return caught.value


def test_every_setting_arrives_and_a_flag_wins(here):
    (here / "entropylaw.toml").write_text(
        "level = 0.9\nkeep-outliers = true\ngain = 0.02\n"
        "from-step = 0.25\nsave = false\n"
        '[columns]\nentropy = "H"\nreward = "R"\nstep = "s"\nrun = "r"\npair = "next"\n'
    )
    columns = {"entropy": ("H",), "reward": ("R",), "step": "s", "run": "r", "pair": "next"}
    set_here = {"level": 0.9, "keep_outliers": True, "save": False, "gain": 0.02, "from_step": 0.25}
    assert (columns | set_here).items() <= received("fit", "a.csv").items()
    flags = ("--level", "0.5", "--no-keep-outliers", "--entropy", "h", "--save")
    given = {"logs": ("c.csv",), "level": 0.5, "keep_outliers": False, "entropy": ("h",), "save": True}
    assert given.items() <= received("fit", "c.csv", *flags).items()


def test_only_settings_that_a_command_has_are_passed_to_it(here):
    (here / "entropylaw.toml").write_text(
        'level = 0.9\nkeep-outliers = true\n[columns]\nentropy = "H"\nplanning = "P"\n'
    )
    phases = received("phases", "x.csv")
    assert (phases["level"], phases["entropy"], phases["planning"]) == (0.9, ("H",), "P")
    assert "keep_outliers" not in phases
    # There, --run is the name of a run, and no column.
    assert options_of(command_of("plot"))["run"].key == ""
    tokens = received("tokens", "x.parquet")
    assert (tokens["entropy"], tokens["planning"]) == (None, None)


@pytest.mark.parametrize(
    ("text", "gates"), [("'fails'", ("fails",)), ("['fails', 'ceiling<0.62']", ("fails", "ceiling<0.62"))]
)
def test_a_value_alone_needs_no_brackets(here, text, gates):
    (here / "entropylaw.toml").write_text(f"fail-if = {text}\ncolumns.reward = 'R'")
    assert received("check", "x.csv")["fail_if"] == gates
    assert received("check", "x.csv", "--fail-if", "n<9")["fail_if"] == ("n<9",)
    assert received("fit", "x.csv")["reward"] == ("R",)


def test_a_key_is_the_name_of_its_flag():
    for key, option in BY_KEY.items():
        assert f"--{key.rpartition('.')[2]}" in [flag.partition("/")[0] for flag in option.flags]


def test_an_empty_list_sets_nothing(here):
    (here / "entropylaw.toml").write_text("fail-if = []")
    assert received("check", "x.csv")["fail_if"] == ("state==broken",)


def test_a_file_by_flag_of_the_current_folder_alone_and_none(here, monkeypatch):
    (here / "entropylaw.toml").write_text("level = 0.5")
    (here / "pyproject.toml").write_text("[tool.entropylaw]\nlevel = 0.7")
    (here / "ci.toml").write_text("level = 0.6")
    flags = (["--config", "ci.toml"], ["--no-config"], [])
    assert tuple(received(*words, "fit", "x")["level"] for words in flags) == (0.6, 0.95, 0.5)
    refused(
        "config-and-no-config", received, "--config", "ci.toml", "--no-config", "fit", "x", kind=UsageError
    )
    assert received("--config", "pyproject.toml", "fit", "x")["level"] == 0.7
    (here / "entropylaw.toml").unlink()
    assert received("fit", "x")["level"] == 0.7
    (here / "inner").mkdir()
    monkeypatch.chdir(here / "inner")
    assert received("fit", "x")["level"] == 0.95
    assert received("--config", "../ci.toml", "fit", "x")["level"] == 0.6


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("[project]\nname = 'x'\n", 0.95),
        ("[project]\nname = 'not valid", 0.95),
        ("# tool.entropylaw\n", 0.95),
        ("[tool.entropylaw]\nlevel = 0.7\n[tool.entropylaw.columns]\nreward = 'R'\n", 0.7),
        ("tool.entropylaw = 3", "bad-setting"),
        ("tool = 'tool.entropylaw'", "bad-setting"),
        ("[tool.entropylaw]\nlvel = 0.7", "unknown-setting"),
        ("[tool.entropylaw]\nlevel = 0.7\n[project", "not-toml"),
        ("[tool.entropylaw]\n" + "#" * 40_000, "file-unreadable"),
        ("#" * 40_000, 0.95),
    ],
)
def test_settings_of_a_project(here, run, text, outcome):
    (here / "pyproject.toml").write_text(text)
    if isinstance(outcome, float):
        assert received("fit", "x")["level"] == outcome
    else:
        assert_error(run("fit", "x.csv"), outcome, 3 if outcome in ("not-toml", "file-unreadable") else 2)


COMMANDS_WITH_DOCUMENTS = (
    "fit log.csv",
    "predict log.csv",
    "columns log.csv",
    "phases log.csv",
    "check log.csv --fail-if refused",
    "compare a=log.csv b=log2.csv",
)


@pytest.mark.usefixtures("here", "one_cache")
@pytest.mark.parametrize("command", COMMANDS_WITH_DOCUMENTS)
def test_the_file_in_force_is_printed_and_in_the_document(run, tmp_path, command):
    for name, n in (("log.csv", 40), ("log2.csv", 44)):
        write_csv(tmp_path / name, n=n)
    text = b"level = 0.9\n"
    (tmp_path / "entropylaw.toml").write_bytes(text)
    expected = {"path": "entropylaw.toml", "sha256": hashlib.sha256(text).hexdigest()}
    for flags, config in (([], expected), (["--no-config"], None)):
        done = run(*flags, *command.split(), "--format", "json")
        assert json.loads(done.stdout)["config"] == config, done.stderr
        assert ("settings from entropylaw.toml" in done.stderr.splitlines()) == (config is not None)
    if command == "fit log.csv":
        assert "settings from" not in run(*command.split(), "-q", "--format", "json").stderr


@pytest.mark.usefixtures("here")
def test_the_file_of_a_fit_is_in_its_document_and_in_the_report_of_it(run, tmp_path):
    write_csv(tmp_path / "log.csv")
    (tmp_path / "entropylaw.toml").write_text("level = 0.9\n")
    assert run("fit", "log.csv").returncode == 0
    (tmp_path / "entropylaw.toml").unlink()
    (tmp_path / "far" / "ci").mkdir(parents=True)
    (tmp_path / "far" / "ci" / "x.toml").write_text("jobs = 1\n")
    config = str(tmp_path / "far" / "ci" / "x.toml")
    done = run("--config", config, "report", "reports/log.fit.json", "-o", "out", "--figures", "none")
    assert "settings from far/ci/x.toml" in done.stderr.splitlines()
    stored, report, index = (
        json.loads((tmp_path / name).read_text())["config"]
        for name in ("reports/log.fit.json", "out/runs/log.json", "out/report.json")
    )
    assert (stored, stored["path"], index["path"]) == (report, "entropylaw.toml", "far/ci/x.toml")
    assert stored["sha256"] in (tmp_path / "out" / "runs" / "log.html").read_text()


def test_flags_and_settings_are_distinguished(here):
    (here / "entropylaw.toml").write_text("level = 0.5\nkeep-outliers = true")
    options = called("fit", "x", "--pair", "next", "--no-keep-outliers")
    assert options.given == ("logs", "pair", "keep_outliers")
    assert options.flags_given(FitOptions) == ["--pair", "--keep-outliers"]


@pytest.mark.parametrize("text", ["level = 95", "level", "lvl = 1", b"\xff"])
def test_help_shows_the_defaults_for_any_file(run, tmp_path, text):
    plain = run("fit", "--help").stdout
    assert "[default: 0.95]" in plain
    (tmp_path / "entropylaw.toml").write_text("level = 0.5")
    assert run("fit", "--help").stdout == plain
    (tmp_path / "entropylaw.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run("fit", "--help")
    assert (done.returncode, done.stdout) == (0, plain)
    # The same file stops the command itself, with two lines.
    assert run("fit", "x.csv").stderr.startswith("error[")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("lvel = 0.9", "did you mean 'level'?"),
        ("from_step = 0.1", "did you mean 'from-step'?"),
        ('entropy = "H"', "did you mean 'columns.entropy'?"),
        ('entrop = "H"', "did you mean 'columns.entropy'?"),
        ("fail_if = []", "did you mean 'fail-if'?"),
        ("zzzz = 1", "expected one of columns.step"),
        (
            "[columns]\nentorpy = 'H'",
            "'columns.entorpy', which is not a setting; did you mean 'columns.entropy'",
        ),
        (f"{'a.' * 5000}b = 1", "'a', which is not a setting"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(tmp_path, text, named):
    error = refusal(text, tmp_path / "entropylaw.toml")
    assert (error.slug, error.exit_code) == ("unknown-setting", 2)
    assert "/entropylaw.toml sets " in error.message
    assert named in error.message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("level = '0.9'", "level = '0.9', expected a number between 0 and 1"),
        ("level = true", "level = True"),
        ("keep-outliers = 1", "keep-outliers = 1"),
        ("from-step = '3'", "from-step = '3'"),
        ("steps = [3]", "steps = [3]"),
        ("level = 95", "level = 95"),
        ("level = nan", "level = nan"),
        ("fail-if = 3", "fail-if = 3, expected a gate such as 'now<0.62', or a list of them"),
        ("fail-if = ['fails', 3]", "fail-if = ['fails', 3]"),
        ("fail-if = ''", "fail-if = ''"),
        ("[columns]\npair = 'hac'", "columns.pair = 'hac', expected 'same' or 'next'"),
        ("gain = inf", "gain = inf"),
        ("jobs = 2.0", "jobs = 2.0"),
        ("arms = ''", "arms = ''"),
        ("columns = 'H'", "columns = 'H', expected a table"),
        ("[columns]\nentropy = 3", "columns.entropy = 3, expected a column's name"),
        ("max-reward = " + "9" * 400, "max-reward = 400 characters, expected a number"),
        ("from-step = inf", "from-step = inf, expected a number"),
        ("arms = '" + "x" * 10 + "\\u001b'\nlevel = '" + "y" * 300 + "'", "level = 302 characters"),
        (f"jobs = 0x{'f' * 30_000}", "jobs = a value that is too long to print, expected a whole number"),
        (f"level{'.a' * 5000} = 1", "level = a value that is too long to print"),
    ],
)
def test_a_value_of_another_type_is_refused_with_file_key_and_value(tmp_path, text, shown):
    error = refusal(text, tmp_path / "entropylaw.toml")
    assert (error.slug, error.exit_code) == ("bad-setting", 2)
    assert f"/entropylaw.toml sets {shown}" in error.message
    assert len(error.message) < 250


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("level = 0.9\nlevel = 0.8", "line 2"),
        ("a = 1\n\nb", "line 3"),
        (b"a = 1\nb = '\xff'", "line 2"),
        ("a = " + "[" * 10_000, "nested"),
        (f"jobs = {'9' * 5000}", "an integer of thousands of digits"),
        ("[fit\n", "line 1"),
    ],
)
def test_broken_toml_names_the_line(tmp_path, text, named):
    error = refusal(text, tmp_path / "entropylaw.toml")
    assert (error.slug, error.exit_code) == ("not-toml", 3)
    assert named in error.message


def test_a_byte_order_mark_is_no_error(tmp_path):
    (tmp_path / "entropylaw.toml").write_bytes(b"\xef\xbb\xbflevel = 0.9")
    assert read_settings(str(tmp_path / "entropylaw.toml"), BY_KEY)[1] == {"level": 0.9}


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "long integer", "large", "link to nothing"])
def test_what_is_not_a_settings_file_is_an_error_wherever_it_is(here, run, kind):
    path = here / "entropylaw.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind in ("device", "link to nothing"):
        path.symlink_to("/dev/zero" if kind == "device" else "nowhere")
    else:
        path.write_text("jobs = " + "9" * 100_000 if kind == "long integer" else "#" * 40_000)
    for flags in ([], ["--config", "entropylaw.toml"]):
        done = assert_error(
            run(*flags, "fit", "x.csv"),
            "file-not-found" if kind == "link to nothing" else "file-unreadable",
            3,
        )
        assert re.match(r"error\[file-[a-z-]+\]: entropylaw\.toml ", done.stderr), done.stderr


def test_every_default_is_the_same_for_all_commands():
    """But for predict, whose level is the fit's."""
    for key in BY_KEY:
        values = {
            str(option.default)
            for name in NAMES
            for option in options_of(command_of(name)).values()
            if option.key == key and (name, key) != ("predict", "level")
        }
        assert len(values) == 1, (key, values)


def test_the_example_of_the_page_has_settings_of_the_code():
    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    keys = {key for key, value in tomllib.loads(example).items() if not isinstance(value, dict)}
    assert keys <= set(BY_KEY)
