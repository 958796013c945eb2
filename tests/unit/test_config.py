"""Settings in a file: which file, what it may say, and what a command then gets."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from entropylaw.cli import app
from entropylaw.cli.command import NAMES, all_settings
from entropylaw.cli.settings import VARIABLE, general_settings, located, look_for, read_settings
from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.options import Command, FitOptions
from tests.conftest import ROOT

COMMANDS = all_settings()
BY_KEY = general_settings(COMMANDS)


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty project: a folder with ``.git``, which is the current one."""
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(*arguments: str) -> Command:
    """The options object that a command would be called with."""
    root: Any = get_command(app)
    at = next(i for i, word in enumerate(arguments) if word in NAMES)
    context = root.make_context("entropylaw", list(arguments[: at + 1]))
    command = root.get_command(context, arguments[at])
    inner = command.make_context(arguments[at], list(arguments[at + 1 :]), parent=context)
    options: Command = inner.meta["entropylaw.options"]
    return options


def received(*arguments: str) -> dict[str, Any]:
    """The options that a command would be called with."""
    return vars(called(*arguments))


def refusal(text: str | bytes, path: Path) -> EntropyLawError:
    """How a file is refused."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(EntropyLawError) as caught:
        read_settings(path, path.name, COMMANDS)
    return caught.value


def test_the_nearest_file_wins_and_git_ends_the_search(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "entropylaw.toml").write_text("level = 0.5")
    assert look_for(inner).found == "../../entropylaw.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.entropylaw]")
    assert look_for(inner).found == "../pyproject.toml"
    (inner / ".git").write_text("gitdir: elsewhere")
    search = look_for(inner)
    assert (search.found, search.folders, search.bounded) == (None, 1, True)


def test_in_one_folder_our_own_file_wins_and_the_other_is_named(here):
    (here / "pyproject.toml").write_text("[tool.entropylaw]\nlevel = 0.5")
    assert look_for(here).found == "pyproject.toml"
    (here / "entropylaw.toml").write_text("level = 0.6")
    search = look_for(here)
    assert (search.found, search.beside) == ("entropylaw.toml", "pyproject.toml")
    assert received("fit", "x.csv")["level"] == 0.6
    (here / "pyproject.toml").write_text("entropylaw = [broken")
    assert look_for(here).beside is None


def test_a_pyproject_without_our_table_is_skipped_even_broken(here):
    (here / "entropylaw.toml").write_text("")
    inner = here / "x"
    inner.mkdir()
    for text in ("[tool.ruff]\nthis is no TOML", '[project]\nname = "entropylaw"'):
        (inner / "pyproject.toml").write_text(text)
        assert look_for(inner).found == "../entropylaw.toml"
    (inner / "pyproject.toml").write_text("[tool.entropylaw]\nlevel 0.9")
    with pytest.raises(InputError, match=r"pyproject\.toml is not TOML: .*line 2"):
        look_for(inner)


def test_every_setting_arrives_and_a_flag_wins(here):
    (here / "entropylaw.toml").write_text(
        'inputs = ["a.csv", "b.csv"]\nlevel = 0.9\ninterval = "walk"\neval-size = "30x32"\n'
        "entropy-sd = 0.25\n"
        '[columns]\nentropy = "H"\nreward = "R"\nstep = "s"\nrun = "r"\npair = "next"\n'
        '[fit]\noutput = ["x.json", "x.csv"]\n'
    )
    columns = {"entropy": "H", "reward": "R", "step": "s", "run": "r", "pair": "next"}
    set_here = {"logs": ("a.csv", "b.csv"), "level": 0.9, "interval": "walk", "output": ("x.json", "x.csv")}
    assert set_here.items() <= received("fit").items()
    assert (columns | {"eval_size": 960, "entropy_sd": "0.25"}).items() <= received("fit").items()
    flags = ("--level", "0.5", "--interval", "drift", "--entropy", "h", "-o", "y.csv")
    given = {"logs": ("c.csv",), "level": 0.5, "interval": "drift", "entropy": "h", "output": ("y.csv",)}
    assert given.items() <= received("fit", "c.csv", *flags).items()


def test_only_settings_that_a_command_has_are_passed_to_it(here):
    (here / "entropylaw.toml").write_text(
        'level = 0.9\ninterval = "walk"\n[columns]\nentropy = "H"\nplanning = "P"\n'
    )
    phases = received("phases", "x.csv")
    assert (phases["level"], phases["entropy"], phases["planning"]) == (0.9, "H", "P")
    assert "interval" not in phases
    # There, --run is the name of a run, and no column.
    assert "columns.run" not in COMMANDS["plot"]
    tokens = received("tokens", "x.parquet")
    assert (tokens["entropy"], tokens["planning"]) == (None, None)


def test_a_table_for_one_command_wins_there_alone(here):
    (here / "entropylaw.toml").write_text(
        'level = 0.9\n[columns]\nentropy = "H"\n[phases]\nlevel = 0.8\n[phases.columns]\nentropy = "K"\n'
    )
    for command, expected in (("fit", (0.9, "H")), ("phases", (0.8, "K"))):
        options = received(command, "x.csv")
        assert (options["level"], options["entropy"]) == expected


def test_paths_start_at_the_file_and_patterns_are_expanded(here, monkeypatch):
    (here / "logs").mkdir()
    for name in ("b.csv", "a.csv", "[1].csv"):
        (here / "logs" / name).touch()
    (here / "entropylaw.toml").write_text(
        'inputs = ["logs/?.csv", "logs/a.csv", "logs/[1].csv", "no/*.csv", "-", "s3://x/y", "/z.csv"]\n'
        'folder = "pages"'
    )
    (here / "inner").mkdir()
    monkeypatch.chdir(here / "inner")
    names = ("logs/a.csv", "logs/b.csv", "logs/[1].csv", "no/*.csv")
    assert received("--allow-urls", "fit")["logs"] == (
        *(f"../{name}" for name in names),
        "-",
        "s3://x/y",
        "/z.csv",
    )
    assert received("--allow-urls", "report")["output"] == "../pages"
    assert received("--allow-urls", "report", "-o", "pages")["output"] == "pages"


def test_gates_and_styles_have_paths_too():
    gates = ["ceiling<0.62", "regression(old/base.fit.json)>1%", "regression(ceiling, 'x (1).json') > 2 %"]
    assert located(BY_KEY["gates"], gates, Path("up")) == [
        "ceiling<0.62",
        "regression(up/old/base.fit.json)>1%",
        "regression(ceiling, 'up/x (1).json') > 2 %",
    ]
    assert located(BY_KEY["style"], "my.mplstyle", Path("up")) == "up/my.mplstyle"


def test_an_empty_list_sets_nothing(here):
    (here / "entropylaw.toml").write_text("inputs = []")
    with pytest.raises(Exception, match="Missing argument 'LOGS'"):
        received("fit")


def test_a_file_by_flag_by_variable_and_none(here, monkeypatch):
    (here / "entropylaw.toml").write_text("level = 0.5")
    (here / "ci.toml").write_text("level = 0.6")
    (here / "other.toml").write_text('[tool.entropylaw]\nlevel = 0.7\n[tool.ruff]\nx = 1\n[project]\ny = "z"')
    flags = (["--config", "ci.toml"], ["--config", "other.toml"], ["--no-config"], [])
    for variable, levels in (("", (0.6, 0.7, 0.95, 0.5)), ("ci.toml", (0.6, 0.7, 0.95, 0.6))):
        monkeypatch.setenv(VARIABLE, variable)
        assert tuple(received(*words, "fit", "x")["level"] for words in flags) == levels
    with pytest.raises(UsageError) as caught:
        received("--config", "ci.toml", "--no-config", "fit", "x")
    assert caught.value.slug == "config-and-no-config"


def test_flags_and_settings_are_distinguished(here):
    (here / "entropylaw.toml").write_text("level = 0.5\nfind-seams = true")
    options = called("fit", "x", "--interval", "ols", "--no-find-seams")
    assert options.given == ("logs", "interval", "find_seams")
    assert options.flags_given(FitOptions) == ["--interval", "--find-seams"]


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
        ("eval_size = 500", "did you mean 'eval-size'?"),
        ('entropy = "H"', "did you mean 'columns.entropy'?"),
        ('entrop = "H"', "did you mean 'columns.entropy'?"),
        ("fail-if = []", "did you mean 'gates'?"),
        ('logs = ["x"]', "did you mean 'inputs'?"),
        ("[phase]\nlevel = 0.9", "did you mean 'phases'?"),
        ("zzzz = 1", "expected one of inputs, columns.step"),
        (
            "[columns]\nentorpy = 'H'",
            "'columns.entorpy', which is no setting there; did you mean 'columns.entropy'",
        ),
        (
            "[phases]\ninterval = 'drift'",
            "'phases.interval', which is no setting there; expected one of output, ",
        ),
        ('output = ["x.json"]', "'output', which is no setting"),
        ("[tool.entropylaw]\nlevel = 0.9", "'tool', which is no setting"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(tmp_path, text, named):
    error = refusal(text, tmp_path / "entropylaw.toml")
    assert (error.slug, error.exit_code) == ("unknown-setting", 2)
    assert error.message.startswith("entropylaw.toml sets ")
    assert named in error.message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("level = '0.9'", "level = '0.9', expected a number between 0 and 1"),
        ("level = true", "level = True"),
        ("level = 95", "level = 95"),
        ("level = nan", "level = nan"),
        ("inputs = 'x.csv'", "inputs = 'x.csv', expected a list of paths"),
        ("inputs = ['x.csv', 3]", "inputs = ['x.csv', 3]"),
        ("interval = 'hac'", "interval = 'hac', expected 'drift', 'walk', 'odr' or 'ols'"),
        ("eval-size = 0", "eval-size = 0"),
        ("eval-size = '30x'", "eval-size = '30x'"),
        ("entropy-sd = inf", "entropy-sd = inf"),
        ("jobs = 2.0", "jobs = 2.0"),
        ("folder = ''", "folder = ''"),
        ("columns = 'H'", "columns = 'H', expected a table"),
        ("fit = 3", "fit = 3, expected a table"),
        ("[fit.columns]\nentropy = 3", "fit.columns.entropy = 3, expected a column's name"),
        ("style = ['a']", "style = ['a']"),
        ("level = 0x" + "f" * 100_000, "level = an integer of thousands of digits"),
        ("max-reward = " + "9" * 400, "max-reward = 400 characters, expected a number"),
        ("from-step = inf", "from-step = inf, expected a number"),
        ("folder = '" + "x" * 10 + "\\u001b'\nlevel = '" + "y" * 300 + "'", "level = 302 characters"),
    ],
)
def test_a_value_of_another_type_is_refused_with_file_key_and_value(tmp_path, text, shown):
    error = refusal(text, tmp_path / "entropylaw.toml")
    assert (error.slug, error.exit_code) == ("bad-setting", 2)
    assert error.message.startswith(f"entropylaw.toml sets {shown}")
    assert len(error.message) < 250


def test_in_a_pyproject_keys_are_named_whole(tmp_path):
    error = refusal("[tool.entropylaw.fit]\nlevel = 2", tmp_path / "pyproject.toml")
    assert error.message.startswith("pyproject.toml sets tool.entropylaw.fit.level = 2,")
    error = refusal("[tool.ruff]", tmp_path / "pyproject.toml")
    assert error.slug == "no-settings"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("level = 0.9\nlevel = 0.8", "line 2"),
        ("a = 1\n\nb", "line 3"),
        (b"a = 1\nb = '\xff'", "line 2"),
        ("a = " + "[" * 100_000, "nested"),
        ("[fit\n", "line 1"),
        ("level = " + "9" * 100_000, "an integer of more digits than Python reads"),
    ],
)
def test_broken_toml_names_the_line(tmp_path, text, named):
    error = refusal(text, tmp_path / "entropylaw.toml")
    assert (error.slug, error.exit_code) == ("not-toml", 3)
    assert named in error.message


def test_a_byte_order_mark_is_no_error(tmp_path):
    (tmp_path / "entropylaw.toml").write_bytes(b"\xef\xbb\xbflevel = 0.9")
    assert read_settings(tmp_path / "entropylaw.toml", "x", COMMANDS).general == {"level": 0.9}


@pytest.mark.parametrize(("name", "slug"), [("no.toml", "file-not-found"), (".git", "file-unreadable")])
def test_a_file_that_is_not_there(here, name, slug):
    with pytest.raises(InputError) as caught:
        received("--config", name, "fit", "x")
    assert (caught.value.slug, caught.value.message.split()[0]) == (slug, name)


def test_config_prints_every_value_and_its_source(run, here):
    (here / "pyproject.toml").write_text(
        "[tool.entropylaw]\nlevel = 0.9\ninputs = ['a*.csv']\n[tool.entropylaw.fit]\nlevel = 0.8"
    )
    settings = json.loads(run("config", "--format", "json").stdout)["settings"]
    rows = {(row.pop("key"), row.pop("command")): row for row in settings}
    at = "pyproject.toml: tool.entropylaw."
    assert rows["level", None] == {"value": 0.9, "source": "file", "where": f"{at}level"}
    assert rows["level", "fit"] == {"value": 0.8, "source": "file", "where": f"{at}fit.level"}
    assert rows["inputs", None]["value"] == ["a*.csv"]


def test_config_as_text(run, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "entropylaw.toml").write_text('inputs = ["a\\u001b[31m.csv", "b.csv"]')
    (tmp_path / "pyproject.toml").write_text("[tool.entropylaw]")
    lines = run("config").stdout.splitlines()
    assert lines[:3] == [
        "settings from entropylaw.toml",
        "not read: [tool.entropylaw] in pyproject.toml, in the same folder",
        "",
    ]
    assert lines[3].split() == ["inputs", "a\\x1b[31m.csv", "entropylaw.toml:", "inputs"]
    assert lines[4].split() == ["b.csv"]
    named = run("config", ENTROPYLAW_CONFIG="entropylaw.toml").stdout
    assert named.startswith("settings from entropylaw.toml, named by ENTROPYLAW_CONFIG\n")


def test_config_shows_no_absolute_path(run, tmp_path):
    far = tmp_path / "secret" / "far"
    far.mkdir(parents=True)
    inside = tmp_path / "work" / "deep"
    inside.mkdir(parents=True)
    (far / "ci.toml").write_text(
        f'inputs = ["{far}/x.csv", "y.csv"]\nfolder = "{far}/pages"\n'
        f'gates = ["regression({far}/b.fit.json)>1%"]'
    )
    for form in ("text", "json"):
        done = run("--config", far / "ci.toml", "config", "--format", form, cwd=inside)
        assert done.returncode == 0, done.stderr
        assert "far/ci.toml" in done.stdout
        assert str(tmp_path) not in done.stdout
        assert "secret" not in done.stdout.replace("../../secret", "")


def test_the_choices_are_those_of_the_registry():
    from entropylaw.analysis.law.residual_models import RESIDUAL_MODELS

    assert BY_KEY["interval"].kind.choices == tuple(RESIDUAL_MODELS)
    assert all(BY_KEY["interval"].from_toml(name) == name for name in RESIDUAL_MODELS)
    with pytest.raises(ValueError, match="hac"):
        BY_KEY["interval"].from_toml("hac")


def test_every_default_is_the_same_for_all_commands():
    """But for predict, whose level is the fit's."""
    for key in BY_KEY:
        values = {
            str(settings[key].default)
            for name, settings in COMMANDS.items()
            if key in settings and (name, key) != ("predict", "level")
        }
        assert len(values) == 1, (key, values)


def test_the_example_of_the_page_has_settings_of_the_code():
    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    keys = {key for key, value in tomllib.loads(example).items() if not isinstance(value, dict)}
    assert keys <= set(BY_KEY)
