"""Write the sample report over six runs of ``data/lab``: ``reports/sample``.

python docs/sample.py            write it
python docs/sample.py --check    fail where a file differs from what would be written

The runs: three where reward needs more than entropy, one where another curve fits, an undecided one, and
one that diverged.
Figures are in the pages only, to keep the folder small.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "reports" / "sample"
VERSIONS = "versions.json"

RUNS = ("clean_start_s1", "clean_start_s0", "diverging", "grpo_s0", "random_reward", "school_then_free")
PACKAGES = ("jinja2", "matplotlib", "numpy", "scipy")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "sample"
        make(fresh)
        differing = sorted(different(SAMPLE, fresh))
        if "--check" in sys.argv:
            sys.exit(f"stale: {', '.join(differing)}" if differing else 0)
        if differing:
            shutil.rmtree(SAMPLE, ignore_errors=True)
            shutil.copytree(fresh, SAMPLE)
    print(f"wrote {SAMPLE.relative_to(ROOT)}" if differing else "the sample report is as it was")


def make(
    folder: Path, *options: str, cwd: Path = ROOT, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Write the sample report into ``folder``, with the versions that made it.

    Parameters
    ----------
    folder
        It is created.
    options
        More of the command's options.
    cwd
        A folder that contains ``data/lab``.
    environment
        Variables in addition to those of this process.

    Raises
    ------
    RuntimeError
        The command failed; with its message.
    """
    logs = [f"data/lab/{name}/metrics.parquet" for name in RUNS]
    command = [sys.executable, "-m", "entropylaw", "report", *logs, "-o", str(folder), "--figures", "none"]
    ours = {key: value for key, value in os.environ.items() if not key.startswith("ENTROPYLAW_")}
    done = subprocess.run(
        [*command, *options],
        cwd=cwd,
        env=ours | {"PYTHONPATH": str(ROOT)} | (environment or {}),
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode} of {' '.join(command)}\n{done.stderr}")
    (folder / VERSIONS).write_text(json.dumps(versions(), indent=2) + "\n", encoding="utf-8")
    return done


def versions() -> dict[str, str]:
    """Versions of the packages that affect the bytes."""
    return {name: version(name) for name in PACKAGES}


def files(folder: Path) -> Iterator[str]:
    """The name of every file in a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix()


def different(one: Path, other: Path) -> set[str]:
    """Names of the files that are in one of two folders alone, or that differ."""
    names = set(files(one)) ^ set(files(other))
    both = set(files(one)) & set(files(other))
    return names | {name for name in both if (one / name).read_bytes() != (other / name).read_bytes()}


if __name__ == "__main__":
    main()
