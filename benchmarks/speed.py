"""How long the commands take, as ratios within one run: each against a bare import, turn by turn.

python -m benchmarks.speed            print the table
python -m benchmarks.speed --write    and put it into docs/benchmarks/speed.md
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import entropylaw
from benchmarks.docs import markdown_table, write_block
from benchmarks.process import peak
from entropylaw.arrays import FloatArray
from entropylaw.pipeline.cache import VARIABLE

TURNS, FEW_TURNS = 9, 5
HUNDRED, THOUSAND = 100, 1000

EVALUATIONS = 200
"""Of a run that is fitted."""

SD, DRIFT = 0.01, 0.6
"""Of its residual: the standard deviation of drift and noise, and the drift's correlation of neighbours."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks/speed.md")
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
            *engine_rows(),
        ]
    text = "\n".join(
        [
            f"Median of the ratios of processor time of {TURNS} turns ({FEW_TURNS} within Python); in a turn "
            "both run after each other. A thousand refits are timed as a hundred.",
            "",
            "| what | against | ratio |",
            "| --- | --- | ---: |",
            *(f"| {what} | {against} | {value:.3g} |" for what, against, value in rows),
            "",
            *times_table(),
            "",
            *parts_table(),
        ]
    )
    print(text)
    if arguments.write:
        write_block("speed", text)


def write_log(path: Path, rows: int) -> None:
    """A CSV log of ten columns with one run whose law is known."""
    rng = np.random.default_rng(3)
    entropy, reward = simulated(rows, rng)
    extra = rng.standard_normal((rows, 7))
    names = ["step", "actor/entropy", "critic/score/mean", *(f"extra/{i}" for i in range(7))]
    table = np.column_stack([np.arange(rows), entropy, reward, extra])
    lines = [",".join(names), *(",".join(repr(float(cell)) for cell in row) for row in table)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def simulated(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Entropy and reward, each (n,), of a run under the law with a drift and as much white noise."""
    step = np.arange(n, dtype=float)
    entropy = 0.05 + 0.95 * np.exp(-4.0 * step / step[-1])
    drift = np.linalg.cholesky(DRIFT ** np.abs(step[:, None] - step[None, :])) @ rng.standard_normal(n)
    return entropy, 0.55 - 0.2 * np.expm1(entropy) + SD * (drift + rng.standard_normal(n))


def bare(modules: str) -> list[str]:
    return [sys.executable, "-c", f"import {modules}"]


def process(command: list[str]) -> Callable[[], None]:
    """A whole process, as a user starts it, without results of earlier calls."""
    env = os.environ | {VARIABLE: "off"}
    return lambda: subprocess.run(command, check=True, capture_output=True, env=env).check_returncode()


def engine_rows() -> list[tuple[str, str, float]]:
    """`fit` against what one would write by hand."""
    entropy, reward = simulated(EVALUATIONS, np.random.default_rng(3))
    one = ratio(single(entropy, reward), refits(entropy, reward), FEW_TURNS) / (THOUSAND / HUNDRED)
    return [("`fit`, 200 evaluations", "1,000 stationary-bootstrap refits by arch + lmfit", one)]


def single(entropy: FloatArray, reward: FloatArray) -> Callable[[], object]:
    return lambda: entropylaw.fit(entropy=entropy, reward=reward)


def refits(entropy: FloatArray, reward: FloatArray) -> Callable[[], object]:
    """A hundred fits of the law by lmfit to stationary-bootstrap samples of its residuals."""
    import lmfit
    from arch.bootstrap import StationaryBootstrap

    model = lmfit.Model(lambda h, c, a: c - a * np.expm1(h), independent_vars=["h"])
    first = model.fit(reward, h=entropy, c=0.5, a=0.1)

    def refit(residual: FloatArray) -> FloatArray:
        again = model.fit(first.best_fit + residual, h=entropy, c=0.5, a=0.1)
        return np.array([again.params["c"].value])

    return lambda: StationaryBootstrap(5.0, reward - first.best_fit, seed=7).apply(refit, HUNDRED)


def times_table() -> list[str]:
    """Time and memory of one fit, each in a process of its own: what grows with n, and how."""
    lines = [
        f"Processor time of one call after import, best of {FEW_TURNS} (of one above 100,000 evaluations), "
        "and by how much it makes the process larger. The residual is white noise:",
        "",
        "| call | evaluations | ms | MB |",
        "| --- | ---: | ---: | ---: |",
    ]
    for n in (200, 1_000, 10_000, 100_000, 1_000_000):
        command = [sys.executable, "-c", f"from benchmarks.speed import alone; alone({n})"]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        lines.append(f"| `fit` | {n:,} | {float(found[0]):.0f} | {float(found[1]):.0f} |")
    return lines


PARTS = {
    "outliers": ("gross_outliers",),
    "the state": ("state_of",),
    "the smoothed entropy": ("smoothed",),
    "the table": ("table_of",),
    "the law's own numbers, words and forms": ("law_of_run",),
    "the forecast": ("forecast_of",),
    "reasons and cautions": ("reasons_of", "cautions_of"),
}
"""Parts of a fit, and the functions that they consist of, none of which calls another of them."""


def parts_table() -> list[str]:
    """Of what the time of one fit consists, by the profiler, which makes calls of Python dearer."""
    rng = np.random.default_rng(3)
    runs = [simulated(EVALUATIONS, rng) for _ in range(FEW_TURNS)]
    profile = cProfile.Profile()
    single(*runs[0])()
    for entropy, reward in runs:
        profile.runcall(single(entropy, reward))
    stats = pstats.Stats(profile)
    found: dict[str, float] = {}
    for (_, _, name), (_, _, _, cumulative, _) in stats.stats.items():  # type: ignore[attr-defined]
        found[name] = found.get(name, 0.0) + cumulative
    whole = found["fit"]
    calls = stats.total_calls / FEW_TURNS  # type: ignore[attr-defined]
    # A part whose function has another name now is an error, and no share of 0.
    shares = {part: sum(found[name] for name in names) / whole for part, names in PARTS.items()}
    shares["the rest"] = 1.0 - sum(shares.values())
    return [
        f"Shares of `fit` at {EVALUATIONS} evaluations, of {FEW_TURNS} runs by the profiler. A fit is "
        f"{calls:,.0f} calls of Python and NumPy on arrays of a few thousand numbers:",
        "",
        *markdown_table(("part", "share"), [(part, f"{share:.0%}") for part, share in shares.items()]).split(
            "\n"
        ),
    ]


def alone(n: int) -> None:
    """Milliseconds of one call for n evaluations, and megabytes by which the process grew."""
    rng = np.random.default_rng(1)
    entropy = 0.05 + 0.95 * np.exp(-4 * np.linspace(0, 1, n)) + 0.005 * rng.standard_normal(n)
    reward = 0.55 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(n)
    entropylaw.fit(entropy=entropy[:50], reward=reward[:50])
    todo = single(entropy, reward)
    before = peak()
    times = [processor_seconds(todo) for _ in range(1 if n > 100_000 else FEW_TURNS)]
    print(1e3 * min(times), (peak() - before) / 1e6)


def processor_seconds(call: Callable[[], object]) -> float:
    """Processor time, which other programs on the machine change less."""
    start = time.process_time()
    call()
    return time.process_time() - start


def ratio(one: Callable[[], object], other: Callable[[], object], turns: int = TURNS) -> float:
    """Median over turns of how much more processor time ``one`` takes than ``other``."""
    one(), other()
    return statistics.median(used(one) / used(other) for _ in range(turns))


def used(call: Callable[[], object]) -> float:
    """Processor time of a call and of the processes that it starts, in seconds."""
    before = os.times()
    call()
    return sum(os.times()[:4]) - sum(before[:4])


if __name__ == "__main__":
    main()
