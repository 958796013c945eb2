"""How long short commands take: whole processes, turn by turn, against bare imports.

python -m benchmarks.startup             print the table
python -m benchmarks.startup --turns 25  with fewer turns
python -m benchmarks.startup --write     and put it into docs/benchmarks/startup.md
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.docs import write_block
from entropylaw.documents.codec import dumps
from entropylaw.pipeline.cache import VARIABLE
from entropylaw.pipeline.steps import fit_logs
from entropylaw.reproducible import ARITHMETIC

LAB = Path(__file__).parent.parent / "data" / "lab"
TURNS = 60
AGAINST = "`import typer`", "`import numpy, scipy.linalg, pyarrow`"
"""What a command cannot do without: the first for all, the others for one that fits."""

ROWS = 500
"""Evaluations in the CSV file that is fitted."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=TURNS, help="processes of each kind")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks/startup.md")
    arguments = parser.parse_args()
    turns = arguments.turns
    with tempfile.TemporaryDirectory() as folder:
        fits = stored_fits(Path(folder))
        log = written_log(Path(folder))
        seconds = measured(commands(fits, log), turns, environment=compiled(Path(folder) / "bytecode"))
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


def written_log(folder: Path) -> str:
    """A log of a run in which entropy and reward follow the law, with noise."""
    random, step = np.random.default_rng(0), np.arange(ROWS)
    entropy = (0.1 + 0.9 * np.exp(-step / 120.0)) * np.exp(0.02 * random.standard_normal(ROWS))
    reward = 0.7 - 0.2 * np.exp(entropy) + 0.01 * random.standard_normal(ROWS)
    path = folder / "run.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("step", "entropy", "reward"))
        table.writerows(zip(step.tolist(), entropy.tolist(), reward.tolist(), strict=True))
    return str(path)


def commands(fits: list[str], log: str) -> dict[str, list[str]]:
    """What is started, by name. Gates that trip exit with 5; these do not."""
    ours = [sys.executable, "-m", "entropylaw"]
    gate = ["--fail-if", "entropy_now<0.001"]
    return {
        "`pass`": [sys.executable, "-c", "pass"],
        **{name: [sys.executable, "-c", name.strip("`")] for name in AGAINST},
        "`entropylaw --help`": [*ours, "--help"],
        "`entropylaw check`, 1 stored fit": [*ours, "check", fits[0], *gate],
        f"`entropylaw check`, {len(fits)} stored fits, JUnit": [
            *ours,
            "check",
            *fits,
            *gate,
            "--junit",
            "-",
        ],
        f"`entropylaw fit`, CSV of {ROWS} rows": [*ours, "fit", log, "--no-save"],
    }


def compiled(folder: Path) -> dict[str, str]:
    """An environment in which modules are compiled once, as pip leaves them: a checkout's may never be."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # Without results of earlier turns; the arithmetic of numpy alone is that of ours.
    return kept | ARITHMETIC | {"PYTHONPYCACHEPREFIX": str(folder), VARIABLE: "off"}


def measured(
    started: dict[str, list[str]], turns: int, *, environment: dict[str, str]
) -> dict[str, list[float]]:
    """Processor seconds of every process; in a turn each runs once, so that a busy moment meets them all.

    The first turn, in which modules are compiled, does not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in started}
    for _ in range(turns + 1):
        for name, command in started.items():
            before = processor_time()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            seconds[name].append(processor_time() - before)
    return {name: found[1:] for name, found in seconds.items()}


def processor_time() -> float:
    """Seconds that the processes have taken that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(seconds: dict[str, list[float]], turns: int, *, runs: int) -> str:
    """Medians, and medians of the ratios within a turn."""
    rows = []
    for name, found in seconds.items():
        ratios = (
            statistics.median(one / other for one, other in zip(found, seconds[bare], strict=True))
            for bare in AGAINST
        )
        shown = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        rows.append(f"| {name} | {1000 * statistics.median(found):.0f} | {shown} |")
    return "\n".join(
        [
            f"Processor time: medians of {turns} processes each, interleaved; a ratio is the median of "
            f"those within a turn. The stored fits are of {runs} runs of the lab.",
            "",
            f"| process | processor, ms | against {AGAINST[0]} | against {AGAINST[1]} |",
            "| --- | ---: | ---: | ---: |",
            *rows,
        ]
    )


if __name__ == "__main__":
    main()
