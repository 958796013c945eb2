"""Build wheel and sdist, and try each as a new user would: ``nox -s release``.

Both are checked by twine, installed into clean environments, measured, and run on what ``entropylaw demo``
writes. pip takes its index from the environment: PIP_NO_INDEX and PIP_FIND_LINKS name a folder of wheels.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"

LARGEST_WHEEL, LARGEST_BASE = 2.0, 640.0
"""MB, of the wheel and of the package with all that it needs."""


def main() -> None:
    for path in DIST.glob("entropylaw-*"):
        path.unlink()
    call(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    call(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    for path, limit in ((wheel, LARGEST_WHEEL), (sdist, LARGEST_WHEEL)):
        report(path.name, path.stat().st_size, limit)
    for package in (wheel, sdist):
        with tempfile.TemporaryDirectory() as folder:
            tried(package, Path(folder))
    print("wheel and sdist were installed in clean environments, and run")


def tried(package: Path, folder: Path) -> None:
    """Install a package into an environment of its own, and run its commands in an empty folder."""
    call(sys.executable, "-m", "venv", str(folder / "venv"))
    python, program = folder / "venv" / "bin" / "python", folder / "venv" / "bin" / "entropylaw"
    (installed,) = (folder / "venv" / "lib").glob("python*/site-packages")
    before = size(installed)
    call(str(python), "-m", "pip", "install", "--quiet", str(package))
    base = size(installed) - before
    report(f"{package.name} with all that it needs", base, LARGEST_BASE)
    work = folder / "work"
    work.mkdir()
    # Neither the checkout nor the user's settings and home are seen.
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ENTROPYLAW"))}
    environment = clean | {"HOME": str(work), "SHELL": "/bin/bash"}
    for option in ("--version", "--help", "--install-completion"):
        call(str(program), option, cwd=work, env=environment)
    printed = call(str(program), "demo", cwd=work, env=environment)
    for example in printed.splitlines():
        if example.startswith("  entropylaw "):
            call(str(program), *shlex.split(example)[1:], cwd=work, env=environment)
    call(str(python), "-m", "pip", "install", "--quiet", f"{package}[tokens]")
    report("the extra `tokens`", size(installed) - before - base, LARGEST_BASE)
    call(str(program), "tokens", "demo/tokens.parquet", "-o", "steps.parquet", cwd=work, env=environment)


def call(*command: str, **how: object) -> str:
    """Run a command; a failure ends all. Returns what it prints."""
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", **how)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{shlex.join(command)} ended with exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def report(what: str, measured: int, limit: float) -> None:
    """Print a size in MB, and end where it is above the limit."""
    print(f"{what}: {measured / 1e6:.1f} MB, at most {limit:g}")
    if measured > limit * 1e6:
        sys.exit("too large")


if __name__ == "__main__":
    main()
