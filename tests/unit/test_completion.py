"""Completion in a shell: shown, installed into a home, and what it completes."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import HANGS, clean_environment

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
        done = run(**place, COMP_CWORD=str(len(words.split())))
        assert done.stdout.split() == [completed]


def test_options_without_a_command_show_the_help(run):
    done = run("--no-config")
    assert (done.returncode, "Commands:" in done.stdout + done.stderr) == (2, True)
