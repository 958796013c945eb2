"""How long the commands take, as ratios within one run: each against a bare import, turn by turn.

python -m benchmarks.speed            print the table
python -m benchmarks.speed --write    and put it into docs/method.md
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.docs import replace_block
from benchmarks.worlds import World, simulate
from entropylaw.analysis.forms import design, law_column
from entropylaw.engine.grid import drift_grid
from entropylaw.engine.posterior import infer

TURNS = 9
DOCS = Path(__file__).parent.parent / "docs" / "method.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/method.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run.csv"
        write_log(log, rows=500)
        fit = [sys.executable, "-m", "entropylaw", "fit", str(log), "-o", "-"]
        rows = [
            (
                "`entropylaw --help`",
                "`import typer`",
                ratio(process([sys.executable, "-m", "entropylaw", "--help"]), process(bare("typer"))),
            ),
            (
                "`entropylaw fit`, CSV of 500 rows",
                "`import numpy, scipy.linalg, pyarrow`",
                ratio(process(fit), process(bare("numpy, scipy.linalg, pyarrow"))),
            ),
            ("1,000 runs of 60 evaluations in a batch", "one of them", ratio(batch(1000), batch(1), turns=5)),
        ]
    text = "\n".join(
        [
            f"Median of the ratios of {TURNS} turns (5 for the batch); in a turn both run after each other.",
            "",
            "| what | against | ratio |",
            "| --- | --- | ---: |",
            *(f"| {what} | {against} | {value:.1f} |" for what, against, value in rows),
        ]
    )
    print(text)
    if arguments.write:
        replace_block(DOCS, "speed", text)


def write_log(path: Path, rows: int) -> None:
    """A CSV log of ten columns with one run whose law is known."""
    sample = simulate(World(path="exponential", n=rows, rho=0.6, noise=1.0), 1, 3)
    extra = np.random.default_rng(3).standard_normal((rows, 7))
    names = ["step", "actor/entropy", "critic/score/mean", *(f"extra/{i}" for i in range(7))]
    table = np.column_stack([sample.step, sample.entropy[0], sample.rewards[0], extra])
    lines = [",".join(names), *(",".join(repr(float(cell)) for cell in row) for row in table)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def bare(modules: str) -> list[str]:
    return [sys.executable, "-c", f"import {modules}"]


def process(command: list[str]) -> Callable[[], None]:
    """A whole process, as a user starts it."""
    return lambda: subprocess.run(command, check=True, capture_output=True).check_returncode()


def batch(runs: int) -> Callable[[], None]:
    """The engine on several runs at once."""
    sample = simulate(World(path="exponential", n=60, rho=0.6, noise=1.0), runs, 3)
    designs = design(law_column(sample.entropy))
    return lambda: list.clear(infer(sample.step, designs, sample.rewards, drift_grid(sample.step)))


def ratio(one: Callable[[], None], other: Callable[[], None], turns: int = TURNS) -> float:
    """Median over turns of how much longer ``one`` takes than ``other``."""
    one(), other()
    return statistics.median(seconds(one) / seconds(other) for _ in range(turns))


def seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
