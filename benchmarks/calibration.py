"""Do 95 % intervals of the ceiling cover 95 %? entropylaw beside curve_fit and lmfit, same data.

python -m benchmarks.calibration                 print the tables
python -m benchmarks.calibration --write         and put them into docs/method.md
python -m benchmarks.calibration --runs 1000     more runs a cell
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import curve_fit
from scipy.stats import t as student

from benchmarks.docs import replace_block
from benchmarks.worlds import CEILING, FloatArray, World, oracle_width, simulate
from entropylaw.analysis.forms import design, law_column
from entropylaw.engine.grid import drift_grid
from entropylaw.engine.posterior import infer

SEED = 20260817
PEER_RUNS = 100
DOCS = Path(__file__).parent.parent / "docs" / "method.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Coverage of each method in one world, and the width of ours over the oracle's (median)."""

    world: World
    entropylaw: float
    curve_fit: float
    lmfit: float
    width: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300, help="simulated runs a cell")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/method.md")
    arguments = parser.parse_args()
    worlds = [
        World(path=path, n=n, rho=rho, noise=noise)
        for path, n, rho, noise in itertools.product(
            ("exponential", "power", "late"), (30, 60, 200), (0.0, 0.6, 0.9), (0.0, 0.5, 1.0, 2.0)
        )
        if rho > 0 or noise == 0  # without drift, noise beside noise is the same world
    ]
    with ProcessPoolExecutor() as pool:
        cells = list(pool.map(run_cell, worlds, [arguments.runs] * len(worlds)))
    text = table(cells, arguments.runs)
    print(text)
    if arguments.write:
        replace_block(DOCS, "calibration", text)


def run_cell(world: World, runs: int) -> Cell:
    step, entropy, rewards, covariance = simulate(world, runs, SEED)
    low, high = law_intervals(step, entropy, rewards)
    few = rewards[: min(PEER_RUNS, runs)]
    return Cell(
        world=world,
        entropylaw=float(np.mean((low <= CEILING) & (high >= CEILING))),
        curve_fit=float(np.mean([curve_fit_covers(entropy, reward) for reward in few])),
        lmfit=float(np.mean([lmfit_covers(entropy, reward) for reward in few])),
        width=float(np.median(high - low)) / oracle_width(entropy, covariance),
    )


def law_intervals(
    step: FloatArray, entropy: FloatArray, rewards: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Ends of fit_law's interval of the ceiling for every run (a test holds the two together)."""
    runs = len(rewards)
    designs = np.broadcast_to(design(law_column(entropy)), (runs, entropy.size, 2))
    mixtures = [
        posterior.pruned().functional(np.array([[1.0, 0.0]]))
        for posterior in infer(step, designs, rewards, drift_grid(step))
    ]
    ends = np.array([[m.quantile(0.025)[0], m.quantile(0.975)[0]] for m in mixtures])
    return ends[:, 0], ends[:, 1]


def curve_fit_covers(entropy: FloatArray, reward: FloatArray) -> bool:
    """The notebook's way: b − a ± t · sd from pcov."""
    (a, b), cov = curve_fit(lambda h, a, b: -a * np.exp(h) + b, entropy, reward, p0=(0.1, 0.5))
    sd = np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1])
    return bool(abs(b - a - CEILING) <= student.ppf(0.975, entropy.size - 2) * sd)


def lmfit_covers(entropy: FloatArray, reward: FloatArray) -> bool:
    """Lmfit with the ceiling as a parameter: value ± t · stderr."""
    import lmfit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lmfit.Model(lambda h, c, a: c - a * np.expm1(h), independent_vars=["h"])
        parameter = model.fit(reward, h=entropy, c=0.5, a=0.1).params["c"]
    half = student.ppf(0.975, entropy.size - 2) * parameter.stderr
    return bool(abs(parameter.value - CEILING) <= half)


def table(cells: list[Cell], runs: int) -> str:
    """Markdown: a summary over each path, then every cell."""
    error = 100 * np.sqrt(0.95 * 0.05 / runs)
    lines = [
        f"{runs} simulated runs a cell for entropylaw (standard error {error:.1f} points), "
        f"{min(PEER_RUNS, runs)} of the same for the peers; seed {SEED}. "
        "Width is the median width over that of an oracle that knows the covariance.",
        "",
        "| entropy path | cells | coverage, median cell | worst cell | width, median cell "
        "| curve_fit, median (worst) | lmfit, median (worst) |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    groups = [(p, [c for c in cells if c.world.path == p]) for p in ("exponential", "power", "late")]
    lines += [_summary_row(name, group) for name, group in [*groups, ("all", cells)]]
    lines += [
        "",
        "| path | n | ρ of the drift | noise / drift | entropylaw | curve_fit | lmfit | width |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for cell in cells:
        w = cell.world
        lines.append(
            f"| {w.path} | {w.n} | {w.rho:g} | {w.noise:g} | {100 * cell.entropylaw:.1f} | "
            f"{100 * cell.curve_fit:.0f} | {100 * cell.lmfit:.0f} | {cell.width:.2f} |"
        )
    return "\n".join(lines)


def _summary_row(name: str, cells: list[Cell]) -> str:
    ours = [100 * cell.entropylaw for cell in cells]
    peers = [[100 * getattr(cell, peer) for cell in cells] for peer in ("curve_fit", "lmfit")]
    shown = " | ".join(f"{np.median(values):.0f} ({min(values):.0f})" for values in peers)
    width = np.median([cell.width for cell in cells])
    return f"| {name} | {len(cells)} | {np.median(ours):.1f} | {min(ours):.1f} | {width:.2f} | {shown} |"


if __name__ == "__main__":
    main()
