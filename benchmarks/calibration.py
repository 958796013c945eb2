"""Do 95 % intervals cover 95 %? entropylaw beside curve_fit and lmfit, same data.

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
from benchmarks.worlds import CEILING, FloatArray, World, entropy_path, oracle_width, simulate
from entropylaw.analysis.course import entropy_course
from entropylaw.analysis.forms import design, law_column
from entropylaw.engine.grid import drift_grid
from entropylaw.engine.posterior import infer

SEED = 20260817
PEER_RUNS = 100
DOCS = Path(__file__).parent.parent / "docs" / "method.md"


HARDER = [
    World(path="exponential", n=n, rho=rho, noise=noise)
    for n, rho, noise in (
        *((60, 0.3, 1.0), (200, 0.3, 1.0)),
        *((30, 0.95, 0.5), (60, 0.95, 1.0), (200, 0.97, 1.0)),
        *((200, 0.99, 0.0), (200, 0.99, 0.5), (200, 0.99, 2.0)),
    )
]
"""Worlds beyond the plan: memory as long as the run, and drift that is nearly white."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Coverage in one world: ours of the ceiling, the reward now and the headroom; the peers' of the ceiling.

    ``width`` is the median width of our ceiling's interval over the oracle's.
    """

    world: World
    ceiling: float
    now: float
    headroom: float
    curve_fit: float
    lmfit: float
    width: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300, help="simulated runs a cell")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/method.md")
    arguments = parser.parse_args()
    worlds = [
        World(path=path, n=n, rho=rho, noise=noise, entropy_noise=entropy_noise)
        for entropy_noise, path, n, rho, noise in itertools.product(
            (0.0, 0.03),
            ("exponential", "power", "late"),
            (30, 60, 200),
            (0.0, 0.6, 0.9),
            (0.0, 0.5, 1.0, 2.0),
        )
        if rho > 0 or noise == 0  # without drift, noise beside noise is the same world
    ]
    worlds += HARDER
    with ProcessPoolExecutor() as pool:
        cells = list(pool.map(run_cell, worlds, [arguments.runs] * len(worlds)))
    text = table(cells, arguments.runs)
    print(text)
    if arguments.write:
        replace_block(DOCS, "calibration", text)


def run_cell(world: World, runs: int) -> Cell:
    sample = simulate(world, runs, SEED)
    ends = law_intervals(sample.step, sample.entropy, sample.rewards)
    last = sample.true[:, -1]
    few = list(zip(sample.entropy, sample.rewards, strict=True))[:PEER_RUNS]
    low, high = ends["ceiling"]
    oracle = oracle_width(entropy_path(world.path, world.n), sample.covariance)
    return Cell(
        world=world,
        ceiling=covered(ends["ceiling"], CEILING),
        now=covered(ends["now"], last),
        headroom=covered(ends["headroom"], CEILING - last),
        curve_fit=float(np.mean([curve_fit_covers(*pair) for pair in few])),
        lmfit=float(np.mean([lmfit_covers(*pair) for pair in few])),
        width=float(np.median(high - low)) / oracle,
    )


def covered(ends: tuple[FloatArray, FloatArray], truth: FloatArray | float) -> float:
    return float(np.mean((ends[0] <= truth) & (ends[1] >= truth)))


def law_intervals(
    step: FloatArray, entropy: FloatArray, rewards: FloatArray
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Ends of fit_law's intervals for every run, in a batch (a test holds the two together).

    ``entropy`` and ``rewards`` have shape (runs, n).
    """
    ceiling = np.array([[1.0, 0.0]])
    designs = design(law_column(np.array([entropy_course(row).entropy for row in entropy])))
    ends: dict[str, list[tuple[float, float]]] = {"ceiling": [], "now": [], "headroom": []}
    for matrix, posterior in zip(designs, infer(step, designs, rewards, drift_grid(step)), strict=True):
        now = matrix[-1:]
        questions = {"ceiling": (ceiling, 0.0), "now": (now, 1.0), "headroom": (ceiling - now, -1.0)}
        for name, (row, drift) in questions.items():
            mixture = posterior.pruned().functional(row, drift_now=drift)
            ends[name].append((mixture.quantile(0.025)[0], mixture.quantile(0.975)[0]))
    return {name: (np.array(pairs)[:, 0], np.array(pairs)[:, 1]) for name, pairs in ends.items()}


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
        "Coverage in the median cell (in the worst), in per cent:",
        "",
        "| entropy | cells | ceiling | width | reward now | headroom | ceiling, curve_fit | ceiling, lmfit |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    exact = [c for c in cells if c.world.entropy_noise == 0 and c.world not in HARDER]
    groups = [(p, [c for c in exact if c.world.path == p]) for p in ("exponential", "power", "late")]
    groups += [
        ("all three, exact", exact),
        ("all three, noise of 0.03 nats", [c for c in cells if c.world.entropy_noise > 0]),
        ("exponential, harder residuals", [c for c in cells if c.world in HARDER]),
    ]
    lines += [_summary_row(name, group) for name, group in groups]
    lines += [
        "",
        "Every cell:",
        "",
        "| entropy | n | ρ of the drift | noise / drift | ceiling | width | reward now | headroom "
        "| curve_fit | lmfit |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [_cell_row(cell) for cell in cells]
    return "\n".join(lines)


def _cell_row(cell: Cell) -> str:
    w = cell.world
    name = w.path + (", noisy" if w.entropy_noise else "")
    noise = f"{w.noise:g}" if w.rho else "no drift"
    return (
        f"| {name} | {w.n} | {w.rho:g} | {noise} | {100 * cell.ceiling:.1f} | {cell.width:.2f} | "
        f"{100 * cell.now:.1f} | {100 * cell.headroom:.1f} | "
        f"{100 * cell.curve_fit:.0f} | {100 * cell.lmfit:.0f} |"
    )


def _summary_row(name: str, cells: list[Cell]) -> str:
    def shown(question: str) -> str:
        values = [100 * getattr(cell, question) for cell in cells]
        return f"{np.median(values):.0f} ({min(values):.0f})"

    width = np.median([cell.width for cell in cells])
    rest = " | ".join(shown(question) for question in ("now", "headroom", "curve_fit", "lmfit"))
    return f"| {name} | {len(cells)} | {shown('ceiling')} | {width:.2f} | {rest} |"


if __name__ == "__main__":
    main()
