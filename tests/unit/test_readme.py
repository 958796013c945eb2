"""Commands, programs and sentences on results in the README and the guide: they are what runs today."""

import re
import shutil
import subprocess
import sys
from operator import attrgetter

import pytest

import entropylaw
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
    assert next(line for line in done.stdout.splitlines() if " · " in line) in README


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
    assert re.search(r"python -m pip install '?\.|git\+https://", before)


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


NAMED = re.compile(r"(?<![\w/.])fit\.(?!json)(\w+(?:\.\w+)*)")
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def test_a_fit_has_what_pages_name():
    fit = entropylaw.fit(ROOT / "entropylaw" / "demo" / "grpo_s0.csv")
    named = {(page.name, name) for page in PAGES for name in NAMED.findall(page.read_text(encoding="utf-8"))}
    assert {"law.ceiling", "forecast.p_gain", "keep.step"} <= {name for _, name in named}
    for page, name in sorted(named):
        try:
            attrgetter(name)(fit)
        except AttributeError as error:
            pytest.fail(f"{page}: fit.{name}: {error}")


def test_pages_call_public_names_alone():
    called = re.compile(r"\bentropylaw\.(\w+)\(|from entropylaw import (\w+)")
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    names = {name or imported for name, imported in called.findall(pages)}
    assert {"fit", "read_runs", "Watcher"} <= names
    assert names <= {*entropylaw.__all__}


FIT = "fit entropylaw/demo/{}.csv --no-save"

SENTENCES = (
    ("README.md", "- **rising**: the [state]", FIT.format("grpo_s0"), "rising 0.832 now: +"),
    ("README.md", "else the last.", FIT.format("grpo_s0"), "keep step 400, the last"),
    (
        "docs/guide.md",
        "The run above is `undecided` for that reason",
        FIT.format("grpo_s1"),
        "undecided: a line in H fits no worse",
    ),
    (
        "docs/guide.md",
        "this one because another curve fits better",
        FIT.format("clip_cov_s0"),
        "undecided: another curve fits better",
    ),
    (
        "docs/guide.md",
        "`ceiling<0.4` trips only if the whole interval is below 0.4",
        "check entropylaw/demo/clip_cov_s0.csv --fail-if ceiling<0.4",
        "none of the 95 % interval is below 0.4",
    ),
    (
        "docs/guide.md",
        "A limit inside of the interval is *not excluded*",
        "check entropylaw/demo/clip_cov_s0.csv --fail-if ceiling<0.8",
        "not excluded clip_cov_s0 ceiling<0.8",
    ),
)


@pytest.mark.usefixtures("one_cache")
@pytest.mark.parametrize(("page", "sentence", "command", "expected"), SENTENCES)
def test_a_sentence_is_what_the_command_says(run, page, sentence, command, expected):
    assert sentence in " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert expected in " ".join(run(*command.split(), cwd=ROOT).stdout.split())


def test_a_log_without_an_entropy_has_the_same_lines_but_the_law(run, tmp_path):
    """As the README says: the columns of steps and of a score alone, of the log of the first example."""
    rows = (ROOT / "entropylaw" / "demo" / "grpo_s0.csv").read_text(encoding="utf-8").splitlines()
    cells = [row.split(",") for row in rows]
    score = cells[0].index("val_acc")
    plain = "\n".join(f"{row[0]},{row[score]}" for row in cells)
    (tmp_path / "plain.csv").write_text(plain, encoding="utf-8")
    printed = run("fit", "plain.csv", "--no-save", cwd=tmp_path).stdout
    words = [line.split()[0] for line in printed.splitlines() if line.startswith("  ") and line[2] != " "]
    assert words[:4] == ["rising", "next", "keep", "law"]
    assert "no entropy in this log" in printed.splitlines()[0]
    assert "none: name it with --entropy COLUMN" in printed
