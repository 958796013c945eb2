"""Options: a field of a family is an option of all its commands and of what they make; completion."""

import json
import shutil
import subprocess
import sys

import pytest

from entropylaw.cli.command import NAMES, all_settings, command_of
from entropylaw.documents.codec import decode, encode
from entropylaw.option import options_of
from entropylaw.options import CompareOptions, FitOptions, PhaseOptions
from tests.conftest import HANGS, clean_environment
from tests.typed import assert_error, assert_says, write_csv

FITTING = {"fit", "compare", "report", "check"}
WHOLE = {"fit", "compare"}
FAMILIES = {
    ("--run",): FITTING | {"phases", "columns", "plot"},
    ("--reward",): FITTING | {"columns"},
    ("--pair", "--from-step"): WHOLE,
    ("--max-reward", "--keep-outliers"): {"fit"},
    ("--steps",): {"fit", "report", "check"},
    ("--gain",): {"fit", "predict", "report", "check"},
    ("--cost-per-step",): {"fit"},
    ("--baseline",): {"compare", "check"},
    ("--margin", "--at-equal", "--stage", "--domain"): {"compare"},
    ("--level",): WHOLE | {"predict", "phases", "samples"},
    ("--planning", "--execution"): {"phases"},
}
"""Flags of a family of options, and the commands that have all of them."""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_command_of_a_family_has_all_its_options(run, family):
    helps = {name: run(name, "--help").stdout.split() for name in NAMES}
    for flag in family:
        assert {name for name, words in helps.items() if flag in words} == FAMILIES[family], flag


def test_every_option_of_a_family_is_a_setting():
    keys = {key.rpartition(".")[2] for key in all_settings()}
    flags = {flag.removeprefix("--") for family in FAMILIES for flag in family}
    assert flags <= keys


@pytest.mark.parametrize("name", NAMES)
def test_flags_and_keys_of_a_command_are_its_own(name):
    options = options_of(command_of(name)).values()
    flags = [flag for known in options for word in known.flags for flag in word.split("/")]
    assert len(flags) == len(set(flags))
    keys = [known.key for known in options if known.key]
    assert len(keys) == len(set(keys))
    assert set(keys) <= set(all_settings())


def test_help_groups_options_under_headings_and_h_is_help(run):
    long, short = run("fit", "--help"), run("fit", "-h")
    assert (short.returncode, short.stdout) == (0, long.stdout)
    headings = [
        line for line in long.stdout.splitlines() if line and line == line.strip() and line[-1] == ":"
    ]
    assert headings == ["Arguments:", "Columns:", "Intervals:", "Output:", "General:", "Advanced:"]
    assert run("-h").stdout == run("--help").stdout


@pytest.mark.parametrize("text", ["x", "0", "-1", "1.5", ""])
def test_a_wrong_count_is_refused_with_flag_value_and_what_to_type(run, text):
    done = assert_error(run("fit", "log.csv", "--jobs", text), "bad-option", 2)
    assert_says(done.stderr, f"--jobs {text!r}, expected a whole number above 0", "give --jobs 4")


@pytest.mark.parametrize(
    "options",
    [
        FitOptions(reward=("R", "S"), keep_outliers=True, from_step=2.5),
        PhaseOptions(planning="p"),
        CompareOptions(arms="B", margin=0.02, baseline="all"),
    ],
)
def test_settings_in_documents_are_the_options(options):
    stored = json.loads(json.dumps(encode(options)))
    assert set(stored) == set(options_of(type(options)))
    assert decode(type(options), stored) == options


def test_what_a_log_fits_by_can_not_be_said_of_a_stored_fit(run, lab):
    log = "data/lab/clean_start_s0/metrics.parquet"
    assert run("fit", log, "-q", "-o", "x.fit.json").returncode == 0
    for call in (
        ("check", "x.fit.json", "--fail-if", "fails", "--gain", "0.1"),
        ("report", "x.fit.json", "--entropy", "entropy"),
        ("compare", "a=x.fit.json", "b=x.fit.json", "--from-step", "3"),
    ):
        assert_error(run(*call), "fit-is-fixed", 2)
    assert run("predict", "x.fit.json", "--target-entropy", "0.1", "--level", "0.5").returncode == 0


@pytest.mark.parametrize(
    ("command", "flag", "key"),
    [
        ("predict {}", "--max-reward=2", "max-reward = 2"),
        ("plot forecast {} -o x.svg", "--reward=acc", "[columns]\nreward = 'acc'"),
        ("report {} -o x --figures none", "--level=0.8", "level = 0.8"),
        ("check {}", "--keep-outliers", "keep-outliers = true"),
        ("columns {}", "--pair=same", "[columns]\npair = 'same'"),
    ],
)
def test_an_option_of_fit_alone_is_refused_with_what_works(run, tmp_path, command, flag, key):
    write_csv(tmp_path / "log.csv", header="step,entropy,acc")
    call = command.format("log.csv").split()
    done = assert_error(run(*call, flag), "option-of-fit", 2)
    name = flag.partition("=")[0].removeprefix("--")
    assert f"set {'columns.' * ('[columns]' in key)}{name} in entropylaw.toml" in done.stderr
    # In the settings file it holds for every command.
    (tmp_path / "entropylaw.toml").write_text(f"{key}\n")
    assert run(*call).returncode == 0
    (tmp_path / "entropylaw.toml").unlink()
    if call[0] != "columns":
        assert run("fit", "log.csv", flag, "-o", "x.fit.json").returncode == 0
        assert run(*command.format("x.fit.json").split()).returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_list_of_commands_has_the_first_sentence_of_each(name):
    assert str(command_of(name).__doc__).partition("\n")[0] == NAMES[name]
    assert len(NAMES[name]) <= 50


@pytest.mark.parametrize("columns", ["60", "80", "300"])
def test_help_is_as_wide_as_the_terminal_and_cuts_no_sentence(run, columns):
    """At most 100 characters: a line is to be read."""
    words = " ".join(run("-h", COLUMNS=columns).stdout.split())
    assert all(sentence in words for sentence in NAMES.values())
    for command in ((), ("fit",)):
        # A flag and its values are one word.
        lines = [line for line in run(*command, "-h", COLUMNS=columns).stdout.splitlines() if "<" not in line]
        assert max(map(len, lines)) <= min(int(columns), 100)


PLACES = {
    "bash": ".bash_completions/entropylaw.sh",
    "zsh": ".zfunc/_entropylaw",
    "fish": ".config/fish/completions/entropylaw.fish",
}
WORDS = {
    "bash": "complete -o default -F",
    "zsh": "#compdef entropylaw",
    "fish": "complete --command entropylaw",
}


@pytest.fixture
def in_shell(tmp_path):
    """Run ``python -m entropylaw FLAG`` below a process with the name of a shell, in an empty home."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")

    def start(shell, flag):
        place = tmp_path / "bin" / shell
        if not place.exists():
            place.parent.mkdir()
            place.symlink_to(bash)
        # Something after the call, so that the shell does not become it.
        script = f"'{sys.executable}' -m entropylaw {flag}; exit $?"
        return subprocess.run(
            [place, "-c", script],
            env=clean_environment() | {"HOME": str(tmp_path), "SHELL": str(place)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS,
        )

    return start


@pytest.mark.parametrize("shell", PLACES)
def test_the_script_is_shown_and_installed(in_shell, shell, tmp_path):
    shown, installed = (in_shell(shell, flag) for flag in ("--show-completion", "--install-completion"))
    assert [(done.returncode, done.stderr) for done in (shown, installed)] == [(0, "")] * 2
    assert "_ENTROPYLAW_COMPLETE=" in shown.stdout
    for script in (shown.stdout, (tmp_path / PLACES[shell]).read_text()):
        assert WORDS[shell] in script


def test_what_is_completed(run):
    for words, completed in (("fi", "fit"), ("fit --ga", "--gain"), ("plot forec", "forecast")):
        place = {"_ENTROPYLAW_COMPLETE": "complete_bash", "COMP_WORDS": f"entropylaw {words}"}
        assert run(**place, COMP_CWORD=str(len(words.split()))).stdout.split() == [completed]
