"""A command in the README that does not run as printed is a failed test."""

import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.conftest import HANGS, ROOT, clean_environment

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A folder with the data as a clone has them, and `entropylaw` and `python` as after the install."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "data", folder / "data")
    program = folder / "bin" / "entropylaw"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m entropylaw "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def shell(command: str, clone) -> subprocess.CompletedProcess:
    path = f"{clone / 'bin'}:{clean_environment()['PATH']}"
    return subprocess.run(
        ["sh", "-c", command],
        cwd=clone,
        env=clean_environment() | {"PATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=HANGS,
    )


def test_every_entropylaw_command_runs_as_printed(run, clone):
    """In the order of the page, the first in a shell; installing is for the CI script's fresh environment."""
    printed = [line.split("&&")[-1].strip() for line in commands()]
    printed = [line for line in printed if line.startswith("entropylaw ")]
    assert len(printed) >= 5
    for command in printed:
        words = shlex.split(command, comments=True)[1:]
        files = [sorted(str(path.relative_to(clone)) for path in clone.glob(word)) for word in words]
        arguments = [part for word, found in zip(words, files, strict=True) for part in found or [word]]
        done = shell(command, clone) if command == printed[0] else run(*arguments, cwd=clone)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout or "wrote" in done.stderr


def test_the_install_lines_are_what_ci_runs():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    tests = [line for line in commands() if "pytest" in line]
    assert len(tests) == 1
    assert tests[0] in script
    first = next(line for line in commands() if "pip install" in line)
    assert first.startswith("python -m pip install . && entropylaw fit data/")


def test_the_python_runs_as_printed(clone):
    (program,) = blocks("python")
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
    assert done.stdout.startswith(("True", "False"))


def test_the_coverage_quoted_is_the_one_of_the_table():
    method = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")

    def row(name):
        (found, *_) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", method, re.MULTILINE)
        return [cell.strip() for cell in found.split("|")]

    worlds = re.search(r"ρ ≤ \.9 \((\d+)\)", method)[1]
    near, far = (re.fullmatch(r"(\d+) \((\d+)\)", cell) for cell in row("ceiling")[1:3])
    quoted = " ".join(README.split())
    assert f"cover {near[1]} % in the median of {worlds} worlds and {near[2]} % in the worst" in quoted
    peers = [row(f"ceiling, {name}")[1] for name in ("curve_fit", "lmfit")]
    assert f"those of `curve_fit` {peers[0]} % and of lmfit {peers[1]} % on average" in quoted
    assert f"ours cover {far[1]} % and {far[2]} %" in quoted
    assert f"there 95 % intervals cover {far[1]} % in the median world and {far[2]} % in the worst" in quoted


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)([^)#]+)", README))
def test_links_lead_somewhere(target):
    assert (ROOT / target).exists()


def test_the_pipelines_are_those_that_are_tested():
    """Those of docs/ci.md are run by tests/unit/test_action.py."""
    known = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    shown = [*blocks("yaml"), *blocks("groovy")]
    assert len(shown) == 3
    assert all(block in known for block in shown)
