"""The command line in tests: commands typed in this process or run in another, small logs, and errors."""

import contextlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.conftest import HANGS, checked, clean_environment, ended

RUN = "data/lab/clean_start_s0/metrics.parquet"


Done = subprocess.CompletedProcess[str]


def typed(*arguments: object, cwd: Path | None = None, code: int | None = None) -> Done:
    """Run ``entropylaw ARGUMENTS`` in a folder, without the cost of starting Python.

    ``code`` is the exit code that is expected.
    """
    with contextlib.chdir(cwd) if cwd else contextlib.nullcontext():
        return checked(ended(list(map(str, arguments)), None), code)


def in_shell(line: str, cwd: Path) -> Done:
    """``entropylaw LINE`` in a shell, with its pipes and redirections."""
    return started("bash", "-o", "pipefail", "-c", f'"{sys.executable}" -m entropylaw {line}', cwd=cwd)


def started(*command: str, cwd: Path, **more: object) -> Done:
    """A process in a clean environment."""
    given = {"env": clean_environment(), "timeout": HANGS, "check": False} | more
    return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", **given)  # type: ignore[call-overload]


def imported(arguments: list[str], names: tuple[str, ...], cwd: Path) -> list[str]:
    """Which of some modules a command imports; it ends with exit code 0."""
    program = (
        "import sys\nfrom entropylaw.cli import app\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "try: app()\nexcept SystemExit as end: assert not end.code, end.code\n"
        f"print('imported', *[name for name in {names!r} if name in sys.modules])"
    )
    done = started(sys.executable, "-c", program, cwd=cwd)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.split()[:1] == ["imported"]]
    return line.split()[1:]


def assert_error(done: Done, slug: str, code: int) -> Done:
    """One error line with its slug, a hint below it, the exit code, and no traceback; returns what ended."""
    assert done.returncode == code, done.stderr
    assert re.search(rf"error\[{slug}\]: .+\n  \S.+", done.stderr), done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    return done


def assert_says(text: str, *parts: str) -> None:
    """A text has every part, in any order."""
    assert [part for part in parts if part not in text] == [], text


def write_csv(path, *, n=40, entropy=None, reward=None, header="step,actor/entropy,critic/score/mean"):
    """A small wide CSV log; columns may be given as lists of cells."""
    rng = np.random.default_rng(2)
    h = 0.05 + 0.9 * np.exp(-4 * np.arange(n) / n) + 0.01 * rng.random(n)
    r = 0.55 - 0.2 * np.expm1(h) + 0.004 * rng.standard_normal(n)
    columns = [list(range(n)), entropy or list(h), reward or list(r)]
    rows = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    path.write_text("\n".join([header, *rows]) + "\n")
    return path
