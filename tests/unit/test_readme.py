"""Commands, programs and sentences on results in the README and the guide: they are what runs today."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import HANGS, ROOT, clean_environment

README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


INSTALL = "python -m pip install . && "
TEST = 'python -m pip install ".[test]" && python -m pytest'


def commands(page: str) -> list[str]:
    return [line for block in blocks(page, "sh") for line in block.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A folder with the files of the demo, and `entropylaw` as after the install."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "entropylaw" / "demo", folder / "demo")
    program = folder / "bin" / "entropylaw"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m entropylaw "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def test_the_first_command_runs_as_printed(clone):
    """Installing is for the CI script's fresh environment; docs/generate.py runs the guide's commands."""
    first = commands(README)[0]
    assert first.startswith(f"{INSTALL}entropylaw demo && entropylaw fit ")
    environment = clean_environment()
    done = subprocess.run(
        ["sh", "-c", first.removeprefix(INSTALL)],
        cwd=clone,
        env=environment | {"PATH": f"{clone / 'bin'}:{environment['PATH']}"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stderr
    assert next(line for line in done.stdout.splitlines() if " × " in line) in README


def test_ci_runs_the_commands_of_this_page():
    """One installs and fits, one installs and tests; what they write is not for git."""
    assert "grep '^python -m pip install' README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    begins = [line for line in README.splitlines() if line.startswith("python -m pip install")]
    assert begins == [commands(README)[0], TEST]
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/demo/", "/reports/*"} <= {*ignored}


INDEX = re.compile(r"pip install (?:'?entropylaw|\"?\$ENTROPYLAW)")


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/SKILL.md", "docs/howto_ci.md"])
def test_a_page_installs_from_a_clone_before_it_names_the_index(page):
    """Nothing is on the index before the first release."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = INDEX.search(text)
    before = text[: named.start()] if named else text
    assert "python -m pip install ." in before or "git+https://" in before


def test_the_guide_begins_with_the_same_install():
    assert commands(GUIDE)[0] == f"{INSTALL}entropylaw demo"


@pytest.mark.parametrize("page", [README, GUIDE], ids=["README", "guide"])
def test_the_python_runs_as_printed(page, clone):
    (program,) = blocks(page, "python")
    assert len(program.strip().splitlines()) <= 12
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=clone,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == program.count("print(")


def test_the_coverage_quoted_is_the_one_of_the_table():
    table = (ROOT / "docs" / "benchmarks" / "table.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| under the law, all \|(.*)\|$", table, re.MULTILINE)
    ceiling, averaged = (round(float(cell.strip().split()[0])) for cell in row.split("|")[2:5:2])
    quoted = " ".join(README.split())
    assert f"the law's ceiling in {ceiling} % of simulated runs" in quoted
    assert f"the averaged ceiling in {averaged} %" in quoted


FIT = "fit entropylaw/demo/{}.csv --no-save"

SENTENCES = (
    (
        "README.md",
        "Here it was less often than they said.",
        FIT.format("grpo_s0"),
        "(+0.01 or more) 0.85 best so far 0.833 at step 400, the last step",
    ),
    (
        "README.md",
        "Here it was less often than they said.",
        FIT.format("grpo_s0"),
        "such forecasts 71 % came true",
    ),
    (
        "docs/guide.md",
        "The run above is of the first kind",
        FIT.format("grpo_s1"),
        "fails: another curve of H fits better",
    ),
    (
        "docs/guide.md",
        "This one is of the second kind",
        FIT.format("clip_cov_s0"),
        "fails: reward needs more than entropy",
    ),
    ("docs/guide.md", "# the law's own, although it fails here", FIT.format("grpo_s0"), "fails:"),
    (
        "docs/guide.md",
        "`headroom>0.05` is *not excluded*",
        "check entropylaw/demo/clip_cov_s0.csv --fail-if headroom>0.05",
        "not excluded clip_cov_s0 headroom>0.05",
    ),
)


@pytest.mark.usefixtures("one_cache")
@pytest.mark.parametrize(("page", "sentence", "command", "expected"), SENTENCES)
def test_a_sentence_is_what_the_command_says(run, page, sentence, command, expected):
    assert sentence in " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert expected in " ".join(run(*command.split(), cwd=ROOT).stdout.split())
