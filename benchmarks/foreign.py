"""Coverage where the residual is of another family than the engine's, and how often a caution says so.

python -m benchmarks.foreign                        print the tables, 400 runs per cell
python -m benchmarks.foreign --write                and put them into docs/benchmarks/foreign.md
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from benchmarks.docs import write_block
from benchmarks.foreign_worlds import SET_ASIDE, WORLDS, A, draw, oracle_widths
from benchmarks.verdicts import verdict_of
from entropylaw.analysis.law.fitting import fit_laws, law_of_run
from entropylaw.analysis.law.scatter import FACTOR, P_CHANGES
from entropylaw.results import Verdict

SIZES = (30, 60, 150, 400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A world at one number of evaluations: coverage and width over the oracle's, of ceiling and of a.

    ``fires`` is the share of runs with the caution that the scatter of the residuals changes, ``fails`` that
    of the verdict ``fails``.
    """

    world: str
    n: int
    covered: tuple[float, float]
    width: tuple[float, float]
    fires: float
    fails: float


def cell(world: str, n: int, runs: int, seed: int) -> Cell:
    """Simulate and fit."""
    rng = np.random.default_rng([seed, n])
    drawn = [draw(world, n, rng) for _ in range(runs)]
    entropy, reward = [run.entropy for run in drawn], [run.reward for run in drawn]
    fits = fit_laws(entropy, reward, np.arange(float(n)))
    truths = np.array([[run.ceiling, A] for run in drawn]).T
    oracle = np.array([oracle_widths(run) for run in drawn]).T
    covered, width = [], []
    for found, truth, best in zip((fits.ceiling, fits.a), truths, oracle, strict=True):
        covered.append(float(np.mean((found.low <= truth) & (truth <= found.high))))
        ratio = (found.high - found.low) / best
        width.append(float(np.nanmedian(ratio)) if np.isfinite(ratio).any() else np.nan)
    each = [judged(h, r) for h, r in zip(entropy[: runs // 2], reward[: runs // 2], strict=True)]
    fires, fails = np.mean(each, axis=0).tolist()
    return Cell(
        world=world,
        n=n,
        covered=(covered[0], covered[1]),
        width=(width[0], width[1]),
        fires=fires,
        fails=fails,
    )


def judged(entropy: np.ndarray, reward: np.ndarray) -> tuple[bool, bool]:  # type: ignore[type-arg]
    """Whether the caution about the scatter would be given, and whether the law fails."""
    law, fits = law_of_run(entropy, reward)
    fails = verdict_of(law, fits)[0] is Verdict.fails
    residuals = law.residuals
    if residuals.p_thirds is None or residuals.scatter_ratio is None:
        return False, fails
    changes = not 1.0 / FACTOR < residuals.scatter_ratio < FACTOR
    return residuals.p_thirds < P_CHANGES and changes, fails


def rows(cells: Sequence[Cell]) -> list[str]:
    """A row per world: coverage @ width of the ceiling, of a, how often caution and failure come."""
    lines = [
        "| residual | " + " | ".join(f"n = {n}" for n in SIZES) + " |",
        "| --- |" + " ---: |" * len(SIZES),
    ]
    for world in dict.fromkeys(one.world for one in cells):
        each = " | ".join(_cell(one) for one in cells if one.world == world)
        lines.append(f"| {world} | {each} |")
    return lines


def _cell(one: Cell) -> str:
    parts = []
    for covered, width in zip(one.covered, one.width, strict=True):
        parts.append(f"{100 * covered:.0f}" + ("" if np.isnan(width) else f" @ {width:.2f}"))
    return f"{parts[0]} · {parts[1]} · {100 * one.fires:.0f} · {100 * one.fails:.1f}"


def summary(cells: Sequence[Cell]) -> str:
    """Cells that hold, and cells that hold at a moderate width."""
    said = []
    for i, name in enumerate(("ceiling", "a")):
        below = sum(one.covered[i] < 0.9 for one in cells)
        known = [one for one in cells if not np.isnan(one.width[i])]
        both = sum(0.94 <= one.covered[i] <= 0.98 and one.width[i] <= 1.4 for one in known)
        lowest = min(one.covered[i] for one in cells)
        said.append(
            f"{name}: {below} of {len(cells)} cells below 90 % (lowest {100 * lowest:.0f} %), {both} of "
            f"{len(known)} within 94–98 % at no more than 1.4 times the oracle's width"
        )
    return "; ".join(said) + "."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    tasks = [(world, n) for world in (*WORLDS, *SET_ASIDE) for n in SIZES]
    seeds = [i // len(SIZES) for i in range(len(tasks))]
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(cell, *zip(*tasks, strict=True), [options.runs] * len(tasks), seeds))
    seen = [one for one in found if one.world in WORLDS]
    lines = [
        f"{options.runs} runs per cell, in each of which the law is true. Per cell: coverage of the law's "
        "ceiling @ median width over that of the oracle (generalised least squares with the true covariance; "
        "none for residuals that are not Gaussian) · the same of a · per cent of runs with the caution that "
        f"the scatter of the residuals changes · per cent with the verdict that the law fails (both of "
        f"{options.runs // 2}).",
        "",
        *rows(seen),
        "",
        summary(seen),
        "",
        "Two worlds that were looked at once, when the caution's limits were fixed:",
        "",
        *rows([one for one in found if one.world in SET_ASIDE]),
    ]
    print("\n".join(lines))
    if options.write:
        write_block("foreign", "\n".join(lines))


if __name__ == "__main__":
    main()
