"""How often a lag between entropy and reward is found, and found where there is none.

python -m benchmarks.lags                      print the table, 100 runs per cell
python -m benchmarks.lags --write              and put it into docs/benchmarks/lags.md
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np

from benchmarks.docs import write_block
from benchmarks.foreign_worlds import CEILING, SIZES, A, FloatArray, Rng, path
from entropylaw.analysis.law.diagnostics import P_LAG
from entropylaw.analysis.law.fitting import law_of_run
from entropylaw.analysis.rivals import STRONG

LAGS = (0, 1, 5, -5)
MARGIN = 20
"""Evaluations of the entropy before and after the run."""

CHANGES = {
    "white, 3 % of H": (0.03, 0.0),
    "white, 6 % of H": (0.06, 0.0),
    "autocorrelated (ρ = 0.5), 5 % of H": (0.05, 0.5),
    "none: a smooth entropy": (0.0, 0.0),
}
"""Fast changes of the entropy, which the reward follows: their size and autocorrelation."""

MEASURED = 0.05
"""Noise with which the entropy is logged, share of H, in the last row: the reward does not follow it."""


def simulate(
    change: tuple[float, float], measured: float, lag: int, n: int, rng: Rng
) -> tuple[FloatArray, FloatArray]:
    """Entropy and reward (n,); the residual is half drift, half white noise."""
    size, rho = change
    total = n + 2 * MARGIN
    white = rng.standard_normal(total)
    for i in range(1, total):
        white[i] = rho * white[i - 1] + np.sqrt(1.0 - rho**2) * white[i]
    entropy = path(total, rng) * (1.0 + size * white)
    sd = float(rng.choice([0.01, 0.02]))
    drift = np.empty(n)
    drift[0] = rng.standard_normal()
    for i in range(1, n):
        drift[i] = 0.88 * drift[i - 1] + np.sqrt(1.0 - 0.88**2) * rng.standard_normal()
    residual = sd * np.sqrt(0.5) * (drift + rng.standard_normal(n))
    reward = CEILING - A * np.expm1(entropy[MARGIN - lag : MARGIN - lag + n]) + residual
    logged = entropy[MARGIN : MARGIN + n] * (1.0 + measured * rng.standard_normal(n))
    return np.maximum(logged, 1e-3), reward


def cell(change: tuple[float, float], measured: float, lag: int, n: int, runs: int) -> tuple[float, float]:
    """Shares of runs in which a lag is found, and in which it is the true one, give or take an evaluation."""
    rng = np.random.default_rng([int(1000 * change[0]), int(1000 * measured), lag + 10, n])
    found = right = 0
    for _ in range(runs):
        law, _fits = law_of_run(*simulate(change, measured, lag, n, rng))
        one = law.lag
        if one is not None and one.evaluations and one.p_value < P_LAG and one.odds >= STRONG:
            found += 1
            right += abs(one.evaluations - lag) <= 1
    return found / runs, right / runs


def rows(runs: int) -> Iterator[str]:
    """A row per kind of change and lag."""
    kinds = [(name, change, 0.0) for name, change in CHANGES.items()]
    kinds.append((f"none, and noise of {100 * MEASURED:.0f} % in the log", (0.0, 0.0), MEASURED))
    tasks = [
        (name, change, noise, lag, n) for (name, change, noise), lag in product(kinds, LAGS) for n in SIZES
    ]
    with ProcessPoolExecutor() as pool:
        _, changes, noises, lags, sizes = zip(*tasks, strict=True)
        cells = list(pool.map(cell, changes, noises, lags, sizes, [runs] * len(tasks)))
    yield "| fast changes of the entropy | lag | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "| --- | ---: |" + " ---: |" * len(SIZES)
    for start in range(0, len(tasks), len(SIZES)):
        name, _, _, lag, _ = tasks[start]
        shown = (
            f"{100 * found:.0f} · {100 * right:.0f}" for found, right in cells[start : start + len(SIZES)]
        )
        yield f"| {name} | {lag} | " + " | ".join(shown) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = [
        f"{options.runs} runs per cell. Per cent in which a lag is a caution · in which it is the true one, "
        "give or take one evaluation.",
        "",
        *rows(options.runs),
    ]
    print("\n".join(lines))
    if options.write:
        write_block("lags", "\n".join(lines))


if __name__ == "__main__":
    main()
