"""How long a gate on stored fits takes to start: whole processes, turn by turn, against a bare import.

python -m benchmarks.startup             print the table
python -m benchmarks.startup --turns 25  with fewer turns
python -m benchmarks.startup --write     and put it into docs/benchmarks/startup.md
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.docs import write_block
from entropylaw.documents.codec import dumps
from entropylaw.pipeline.steps import fit_logs

LAB = Path(__file__).parent.parent / "data" / "lab"
TURNS = 60
AGAINST = "`import typer`"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=TURNS, help="processes of each kind")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks/startup.md")
    arguments = parser.parse_args()
    turns = arguments.turns
    with tempfile.TemporaryDirectory() as folder:
        fits = stored_fits(Path(folder))
        seconds = measured(commands(fits), turns, environment=compiled(Path(folder) / "bytecode"))
        text = table(seconds, turns, runs=len(fits))
    print(text)
    if arguments.write:
        write_block("startup", text)


def stored_fits(folder: Path) -> list[str]:
    """The fits of the lab's runs with a clean start, as files."""
    paths = []
    for log in sorted(LAB.glob("clean_*/metrics.parquet")):
        path = folder / f"{log.parent.name}.fit.json"
        path.write_text(dumps(fit_logs([str(log)]).to_json()), encoding="utf-8")
        paths.append(str(path))
    return paths


def commands(fits: list[str]) -> dict[str, list[str]]:
    """What is started, by name. Gates that trip exit with 5; these do not."""
    ours = [sys.executable, "-m", "entropylaw"]
    gate = ["--fail-if", "entropy_now<0"]
    return {
        "`pass`": [sys.executable, "-c", "pass"],
        AGAINST: [sys.executable, "-c", "import typer"],
        "`entropylaw --help`": [*ours, "--help"],
        "`entropylaw check`, 1 stored fit": [*ours, "check", fits[0], *gate],
        f"`entropylaw check`, {len(fits)} stored fits, JUnit": [
            *ours,
            "check",
            *fits,
            *gate,
            "--format",
            "junit",
        ],
        "`import numpy`": [sys.executable, "-c", "import numpy"],
    }


def compiled(folder: Path) -> dict[str, str]:
    """An environment in which modules are compiled once, as pip leaves them: a checkout's may never be."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder)}


def measured(
    started: dict[str, list[str]], turns: int, *, environment: dict[str, str]
) -> dict[str, list[float]]:
    """Seconds of every process; in a turn each runs once, so that a busy moment meets them all.

    The first turn, in which modules are compiled, does not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in started}
    for _ in range(turns + 1):
        for name, command in started.items():
            before = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            seconds[name].append(time.perf_counter() - before)
    return {name: found[1:] for name, found in seconds.items()}


def table(seconds: dict[str, list[float]], turns: int, *, runs: int) -> str:
    """Medians, and medians of the ratios within a turn."""
    bare = seconds[AGAINST]
    rows = [
        f"| {name} | {1000 * statistics.median(found):.0f} | "
        f"{statistics.median(one / other for one, other in zip(found, bare, strict=True)):.2f} |"
        for name, found in seconds.items()
    ]
    return "\n".join(
        [
            f"Medians of {turns} processes each, interleaved; the ratio is the median of those within a "
            f"turn. The stored fits are of {runs} runs of the lab.",
            "",
            f"| process | ms | against {AGAINST} |",
            "| --- | ---: | ---: |",
            *rows,
        ]
    )


if __name__ == "__main__":
    main()
