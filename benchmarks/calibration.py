"""Do 95 % intervals cover 95 %? entropylaw and other methods on the same data.

python -m benchmarks.calibration                 print the tables
python -m benchmarks.calibration --write         and put them into docs/benchmarks/
python -m benchmarks.calibration --full          every combination, not a fraction of them
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.choices import choices_table
from benchmarks.docs import write_block
from benchmarks.peers import PEERS, QUICK, SLOW
from benchmarks.worlds import (
    CEILING,
    PATHS,
    RESIDUALS,
    STEPS,
    A,
    FloatArray,
    Sample,
    World,
    oracle_width,
    simulate,
)
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.covariances import drift_covariances
from entropylaw.analysis.law.inference import infer_law, relevant_errors, smooth_entropies

SEED = 20260817

SIZES = (30, 60, 150, 500)
RHOS = (0.0, 0.5, 0.8, 0.9, 0.97)
NOISES = (0.0, 0.5, 1.0, 2.0)
FRACTION = 13
"""One in so many of the combinations, besides the plain ones, is run without ``--full``."""

TOGETHER = 100
"""Runs fitted in one piece."""

OURS = ("a", "ceiling", "mean", "fresh", "now", "headroom")
NAMES = {
    "a": "a",
    "ceiling": "ceiling",
    "mean": "prediction, mean",
    "fresh": "prediction interval",
    "now": "reward now",
    "headroom": "headroom",
}

Ends = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One world: our coverage by number, the peers' of the ceiling; median widths over the oracle's."""

    world: World
    ours: dict[str, float]
    peers: dict[str, float]
    width: float
    width_a: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400, help="simulated runs per cell")
    parser.add_argument("--full", action="store_true", help="every combination, more runs for the peers")
    parser.add_argument("--jobs", type=int, help="processes, one a core where not given")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/")
    arguments = parser.parse_args()
    worlds = all_worlds() if arguments.full else fraction(all_worlds())
    few, fewer = (100, 50) if arguments.full else (60, 10)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        run = partial(run_cell, runs=arguments.runs, few=few, fewer=fewer)
        cells = list(pool.map(run, worlds))
        noisy = list(pool.map(run, noisy_worlds()))
        texts = {
            "calibration": table(cells, noisy, arguments.runs, few, fewer),
            "intervals": choices_table(pool.map, 400 if arguments.full else 100),
        }
    print("\n\n".join(texts.values()))
    if arguments.write:
        for name, text in texts.items():
            write_block(name, text)


def all_worlds() -> list[World]:
    """Every combination. Without drift, noise beside noise is the same world."""
    return [
        World(path=path, n=n, rho=rho, noise=noise, steps=steps, residual=residual)
        for path, steps, residual, n, rho, noise in itertools.product(
            PATHS, STEPS, RESIDUALS, SIZES, RHOS, NOISES
        )
        if rho > 0 or noise == 0
    ]


def fraction(worlds: Sequence[World]) -> list[World]:
    """The plain worlds, and of the others every thirteenth in an order that mixes all factors."""

    def place(world: World) -> int:
        levels = (
            (PATHS, world.path, 1),
            (STEPS, world.steps, 3),
            (RESIDUALS, world.residual, 9),
            (SIZES, world.n, 2),
            (RHOS, world.rho, 5),
            (NOISES, world.noise, 4),
        )
        return sum(weight * choices.index(value) for choices, value, weight in levels)

    return [world for world in worlds if plain(world) or place(world) % FRACTION == 0]


def plain(world: World) -> bool:
    """The worlds on which the prior was chosen."""
    return (world.path, world.steps, world.residual) == ("exponential", "even", "gaussian")


def noisy_worlds() -> list[World]:
    """Entropy logged with noise of 0.03 nats."""
    return [
        World(path=path, n=n, rho=rho, noise=1.0 if rho else 0.0, entropy_noise=0.03)
        for path, n, rho in itertools.product(PATHS, (60, 150), (0.0, 0.5, 0.9))
    ]


def run_cell(world: World, runs: int, few: int, fewer: int) -> Cell:
    sample = simulate(world, runs, SEED)
    ends = law_intervals(sample)
    truth = truths(sample)
    pairs = list(zip(sample.entropy, sample.rewards, strict=True))
    peers = {}
    for name, ask in PEERS.items():
        some = pairs[: few if name in QUICK else fewer]
        low, high = np.array([ask(*pair) for pair in some]).T
        peers[name] = covered((low, high), CEILING)
    widths = [float(np.median(ends[name][1] - ends[name][0])) for name in ("ceiling", "a")]
    oracle = [oracle_width(sample.path, sample.covariance, row) for row in ((1, 0), (0, 1))]
    return Cell(
        world=world,
        ours={name: covered(ends[name], truth[name]) for name in OURS},
        peers=peers,
        width=widths[0] / oracle[0],
        width_a=widths[1] / oracle[1],
    )


def truths(sample: Sample) -> dict[str, FloatArray | float]:
    """What each of our intervals should hold."""
    last = sample.true[:, -1]
    return {
        "a": A,
        "ceiling": CEILING,
        "mean": CEILING - A * float(np.expm1(sample.at)),
        "fresh": sample.fresh,
        "now": last,
        "headroom": np.maximum(CEILING - last, 0.0),
    }


def covered(ends: Ends, truth: FloatArray | float) -> float:
    return float(np.mean((ends[0] <= truth) & (ends[1] >= truth)))


def law_intervals(sample: Sample) -> dict[str, Ends]:
    """Ends of the law's 95 % intervals for every run, without what else a fit computes.

    A test holds them to those of ``fit_law``.
    """
    ends = np.empty((len(OURS), 2, len(sample.rewards)))
    smoothed = smooth_entropies(sample.entropy, sample.step)
    roots = relevant_errors(smoothed.entropy, smoothed.root, sample.rewards)
    at = design(law_column(np.array(sample.at)))
    for i, (entropy, reward) in enumerate(zip(smoothed.entropy, sample.rewards, strict=True)):
        grid = drift_covariances(sample.step, entropy, reward)
        law = infer_law(sample.step, entropy[None], roots[[i]], reward[None], grid).posteriors[0]
        now = design(law_column(entropy[-1]))
        ceiling, a = np.broadcast_to([1.0, 0.0], now.shape), np.broadcast_to([0.0, 1.0], now.shape)
        rows = np.stack([a, ceiling, at, at, now, ceiling - now], axis=-2).reshape(len(OURS), 2)
        drift, fresh = np.array([0.0, 0, 0, 0, 1, -1]), np.array([0.0, 0, 0, 1, 0, 0])
        ends[:, :, i] = law.functional(rows, drift, fresh).quantiles((0.025, 0.975)).T
    headroom = ends[OURS.index("headroom")]
    np.maximum(headroom, 0.0, out=headroom)
    return {name: (low, high) for name, (low, high) in zip(OURS, ends, strict=True)}


def table(cells: list[Cell], noisy: list[Cell], runs: int, few: int, fewer: int) -> str:
    """Markdown: targets, coverage by number and by factor, and every plain cell."""
    error = 100 * np.sqrt(0.95 * 0.05 / runs)
    quick, slow = ", ".join(QUICK), ", ".join(SLOW)
    return "\n".join(
        [
            f"{len(cells)} worlds of {runs} runs each (standard error of a coverage {error:.1f} "
            f"points); of the same runs {few} per world for {quick} and {fewer} for {slow}; seed {SEED}. "
            "Width is the median width over that of an oracle that knows the covariance. Predictions are at "
            "half of the last entropy.",
            "",
            *_targets(cells),
            "",
            *_numbers_table(cells, noisy),
            "",
            *_factor_table(cells),
            "",
            "The plain worlds (exponential path, even steps, Gaussian noise): ceiling, coverage @ width:",
            "",
            *_plain_table(cells),
        ]
    )


def _targets(cells: list[Cell]) -> list[str]:
    """What the intervals should keep, and whether they do."""
    usual = [cell for cell in cells if cell.world.rho <= 0.9]
    lines = ["| target | measured |", "| --- | --- |"]
    for name in ("a", "ceiling", "mean", "fresh"):
        values = np.array([100 * cell.ours[name] for cell in cells])
        core = np.array([100 * cell.ours[name] for cell in usual])
        lines.append(
            f"| {NAMES[name]}: median cell 94–98 %, every cell with ρ ≤ .9 at least 90 % | median "
            f"{np.median(values):.1f} %, worst with ρ ≤ .9 {core.min():.1f} %, "
            f"{int((core < 90).sum())} of {core.size} below 90 % |"
        )
    widths = [cell.width for cell in cells], [cell.width_a for cell in cells]
    return [
        *lines,
        f"| ceiling: median width at most 1.4 times the oracle's | {np.median(widths[0]):.2f} |",
        f"| a: the same | {np.median(widths[1]):.2f} |",
    ]


def _numbers_table(cells: list[Cell], noisy: list[Cell]) -> list[str]:
    """Coverage in the median (worst) world, by number and by whom."""
    groups = (
        ("all", cells),
        ("ρ ≤ .9", [cell for cell in cells if cell.world.rho <= 0.9]),
        ("ρ = .97", [cell for cell in cells if cell.world.rho > 0.9]),
        ("entropy noise .03", noisy),
    )
    lines = [
        "Coverage in per cent, in the median (worst) world; the peers' is the mean over the worlds:",
        "",
        "| | " + " | ".join(f"{name} ({len(group)})" for name, group in groups) + " |",
        "| --- |" + " ---: |" * len(groups),
    ]
    for key in OURS:
        shown = [_shown([cell.ours[key] for cell in group]) for _, group in groups]
        lines.append(f"| {NAMES[key]} | " + " | ".join(shown) + " |")
    shown = [f"{np.median([cell.width for cell in group]):.2f}" for _, group in groups]
    lines.append("| width, ceiling | " + " | ".join(shown) + " |")
    for key in PEERS:
        shown = [f"{100 * np.mean([cell.peers[key] for cell in group]):.0f}" for _, group in groups]
        lines.append(f"| ceiling, {key} | " + " | ".join(shown) + " |")
    return lines


def _factor_table(cells: list[Cell]) -> list[str]:
    """Median (worst) by each factor."""
    factors: tuple[tuple[str, Sequence[object], Callable[[World], object]], ...] = (
        ("n", SIZES, lambda w: w.n),
        ("ρ", RHOS, lambda w: w.rho),
        ("noise / drift", NOISES, lambda w: w.noise),
        ("steps", STEPS, lambda w: w.steps),
        ("noise's distribution", RESIDUALS, lambda w: w.residual),
        ("entropy", PATHS, lambda w: w.path),
    )
    lines = [
        "| worlds with | a | ceiling | prediction, mean | prediction interval | width | curve_fit "
        "| AR(1) GLS |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, levels, of in factors:
        for level in levels:
            group = [cell for cell in cells if of(cell.world) == level]
            ours = " | ".join(_shown([c.ours[key] for c in group]) for key in OURS[:4])
            peers = " | ".join(
                f"{100 * np.mean([c.peers[key] for c in group]):.0f}" for key in ("curve_fit", "AR(1) GLS")
            )
            width = np.median([cell.width for cell in group])
            lines.append(f"| {name} {level} ({len(group)}) | {ours} | {width:.2f} | {peers} |")
    return lines


def _plain_table(cells: list[Cell]) -> list[str]:
    """A row a pair of ρ and noise, a column a size."""
    found = {(c.world.n, c.world.rho, c.world.noise): c for c in cells if plain(c.world)}
    lines = [
        "| ρ | noise / drift | " + " | ".join(f"n = {n}" for n in SIZES) + " |",
        "| ---: | ---: |" + " ---: |" * len(SIZES),
    ]
    for rho, noise in sorted({key[1:] for key in found}):
        row = [found[n, rho, noise] for n in SIZES]
        shown = " | ".join(f"{100 * cell.ours['ceiling']:.1f} @ {cell.width:.2f}" for cell in row)
        lines.append(f"| {rho:g} | {f'{noise:g}' if rho else 'no drift'} | {shown} |")
    return lines


def _shown(values: list[float]) -> str:
    return f"{100 * np.median(values):.0f} ({100 * min(values):.0f})"


if __name__ == "__main__":
    main()
