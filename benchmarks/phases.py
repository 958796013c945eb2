"""The test for a phase boundary: does it reject as often as it says, and do boundaries' intervals hold.

python -m benchmarks.phases                 print the tables
python -m benchmarks.phases --write         and put them into docs/method.md
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import f as f_law

from benchmarks.docs import replace_block
from benchmarks.worlds import FloatArray
from entropylaw.analysis.phases import Told, bend_columns, decay_test
from entropylaw.engine.bends import bend_posterior
from entropylaw.engine.kinks import Kinks, likely_decays

SEED = 20261122
DOCS = Path(__file__).parent.parent / "docs" / "method.md"

SD = 0.03
"""Standard deviation of the drift, in nats, on a fall of 0.8."""

DRAWS = 99
"""Simulations a test; the package takes 399."""

SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "exponential, fast": lambda t: 0.2 + 0.8 * np.exp(-6 * t),
    "exponential, slow": lambda t: 0.2 + 0.8 * np.exp(-2 * t),
    "power": lambda t: 0.1 + 0.9 / (1 + 8 * t),
}
RESIDUALS = ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.8, 0.0), (0.8, 1.0), (0.9, 0.0), (0.9, 1.0))
"""Correlation of neighbours' drift, and white noise's variance over the drift's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A curve: its decay, points, residual, and what it rises by after ``place``, in nats by the end."""

    shape: str
    n: int
    rho: float
    noise: float
    rise: float = 0.0
    place: float = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="simulated runs a cell")
    parser.add_argument("--jobs", type=int, help="processes, one a core where not given")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/method.md")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        text = tables(pool.map, arguments.runs)
    print(text)
    if arguments.write:
        replace_block(DOCS, "phases", text)


def tables(spread: Callable[..., Iterable[Any]], runs: int) -> str:
    """Markdown: size beside the peers, coverage and power. ``spread`` maps over the cells."""
    sizes = [
        World(shape=shape, n=n, rho=rho, noise=noise)
        for shape, n, (rho, noise) in itertools.product(SHAPES, (60, 150, 500), RESIDUALS)
    ]
    rejected = list(spread(partial(size_of, runs=runs), sizes))
    bent = [
        World(shape="exponential, fast", n=n, rho=rho, noise=noise, rise=rise, place=place)
        for n, rise, place, (rho, noise) in itertools.product(
            (60, 150), (0.1, 0.3), (0.35, 0.6), ((0.0, 0.0), (0.5, 1.0), (0.8, 0.0), (0.8, 1.0))
        )
    ]
    found = list(spread(partial(bend_of, runs=runs), bent))
    error = 100 * np.sqrt(0.05 * 0.95 / runs)
    return "\n".join(
        [
            f"{runs} simulated curves a cell (a share of 5 % has a standard error of {error:.1f} points), "
            f"drift of {SD} nats on a fall of 0.8, seed {SEED}; {DRAWS} simulations a test. False “two "
            "phases” in per cent at a nominal 5 %, beside piecewise-regression's Davies test (a tenth of the "
            "runs, it is slow) and a sup-F of a broken line against a straight one with F's critical value:",
            "",
            "| decay | n | " + " | ".join(_residual(*each) for each in RESIDUALS) + " | Davies | sup-F |",
            "| --- | ---: |" + " ---: |" * (len(RESIDUALS) + 2),
            *_size_rows(sizes, rejected),
            "",
            _size_words(rejected),
            "",
            "With a bend: share of runs in which it is found, how often the 95 % interval of its place holds "
            "it (in all runs; in those where it was found), in per cent, and the interval's width in runs:",
            "",
            "| n | rise | bend at | ρ | noise / drift | found | interval holds | where found | width |",
            "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *_bend_rows(bent, found),
            "",
            _bend_words(bent, found),
        ]
    )


def curves(world: World, runs: int) -> tuple[FloatArray, FloatArray]:
    """Steps (n,) and simulated curves (n, runs)."""
    shape = list(SHAPES).index(world.shape)
    key = [SEED, shape, world.n, int(100 * world.rho), int(10 * world.noise), int(1000 * world.rise)]
    rng = np.random.default_rng([*key, int(100 * world.place)])
    step = np.arange(world.n, dtype=float)
    time = step / (world.n - 1)
    mean = SHAPES[world.shape](time) + world.rise * np.maximum(time - world.place, 0.0) / (1.0 - world.place)
    made = np.tile(mean[:, None], (1, runs))
    if world.rho > 0:
        correlation = world.rho ** np.abs(step[:, None] - step)
        made += SD * (np.linalg.cholesky(correlation) @ rng.standard_normal((world.n, runs)))
    white = world.noise if world.rho > 0 else 1.0
    return step, made + SD * np.sqrt(white) * rng.standard_normal((world.n, runs))


def averaged(step: FloatArray, series: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Blocks of neighbours, as ``fit_phases`` makes them."""
    if step.size <= most:
        return step, series
    parts = np.array_split(np.arange(step.size), most)
    return np.array([step[p].mean() for p in parts]), np.array([series[p].mean(axis=0) for p in parts])


def size_of(world: World, runs: int) -> tuple[float, float, float]:
    """How often a smooth decay is called two phases: by us, by the Davies test, by a plain sup-F."""
    from entropylaw.analysis.phasecautions import MOST

    step, made = curves(world, runs)
    s, y = averaged(step, made, MOST)
    rng = np.random.default_rng(SEED)
    ours = [p_value(Kinks(s, likely_decays(s, y[:, i])), y[:, i : i + 1], rng) <= 0.05 for i in range(runs)]
    few = made[:, : max(runs // 10, 5)].T
    davies = [davies_test(step, each) <= 0.05 for each in few] if world.n <= 150 else [np.nan]
    return (
        float(np.mean(ours)),
        float(np.mean(davies)),
        float(np.mean([sup_f(step, each) for each in made.T])),
    )


def p_value(kinks: Kinks, series: FloatArray, rng: np.random.Generator) -> float:
    null = kinks.null(series)
    return decay_test(kinks, null, kinks.means(null), rng, 0.95, DRAWS)[0]


def bend_of(world: World, runs: int) -> tuple[float, float, float, float]:
    """Share found, coverage of the place in all and in those, and the interval's median width."""
    step, made = curves(world, runs)
    rng = np.random.default_rng(SEED)
    columns = bend_columns(step / step[-1])
    truth = world.place * step[-1]
    found, held, width = [], [], []
    for i in range(runs):
        series = made[:, i]
        kinks = Kinks(step, likely_decays(step, series))
        null = kinks.null(series[:, None])
        found.append(decay_test(kinks, null, kinks.means(null), rng, 0.95, DRAWS)[0] <= 0.05)
        place = Told(step=step, entropy=series, level=0.95).boundary(
            bend_posterior(kinks, null, series, *columns)
        )
        held.append(any(low <= truth <= high for low, high in place.intervals))
        width.append(sum(high - low for low, high in place.intervals) / step[-1])
    there = np.array(found)
    among = float(np.mean(np.array(held)[there])) if there.any() else float("nan")
    return float(np.mean(found)), float(np.mean(held)), among, float(np.median(width))


def davies_test(step: FloatArray, series: FloatArray) -> float:
    """piecewise-regression's p-value of no breakpoint in a straight line (Davies 1987)."""
    from piecewise_regression.davies import davies_test as theirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(theirs(step, series))


def sup_f(step: FloatArray, series: FloatArray) -> bool:
    """Largest F of a hinge beside a straight line over its places, against F's 5 % point."""
    time = step / step[-1]
    line = np.linalg.qr(np.stack([np.ones_like(time), time], axis=1))[0]
    left = series - line @ (line.T @ series)
    best = 0.0
    for place in np.linspace(0.1, 0.9, 41):
        hinge = np.maximum(time - place, 0.0)
        hinge = hinge - line @ (line.T @ hinge)
        gain = (hinge @ left) ** 2 / (hinge @ hinge)
        best = max(best, gain / ((left @ left - gain) / (step.size - 3)))
    return bool(best > f_law.ppf(0.95, 1, step.size - 3))


def _residual(rho: float, noise: float) -> str:
    return "white" if rho == 0 else f"ρ {rho:g}" + (f", noise {noise:g}" if noise else "")


def _size_rows(worlds: Sequence[World], rejected: Sequence[tuple[float, float, float]]) -> list[str]:
    rows = []
    by_world = dict(zip(worlds, rejected, strict=True))
    for shape, n in itertools.product(SHAPES, (60, 150, 500)):
        cells = [found for world, found in by_world.items() if (world.shape, world.n) == (shape, n)]
        ours = " | ".join(f"{100 * cell[0]:.1f}" for cell in cells)
        davies = float(np.mean([cell[1] for cell in cells]))
        told = "—" if np.isnan(davies) else f"{100 * davies:.0f}"
        rows.append(f"| {shape} | {n} | {ours} | {told} | {100 * np.mean([cell[2] for cell in cells]):.0f} |")
    return rows


def _size_words(rejected: Sequence[tuple[float, float, float]]) -> str:
    ours = 100 * np.array([cell[0] for cell in rejected])
    inside = int(((ours >= 3) & (ours <= 7)).sum())
    return (
        f"Median {np.median(ours):.1f} %, from {ours.min():.1f} to {ours.max():.1f} %; {inside} of "
        f"{ours.size} cells between 3 and 7 %, {int((ours > 7).sum())} above and {int((ours < 3).sum())} "
        "below."
    )


def _bend_rows(worlds: Sequence[World], found: Sequence[tuple[float, float, float, float]]) -> list[str]:
    rows = []
    for world, (power, held, among, width) in zip(worlds, found, strict=True):
        told = "—" if np.isnan(among) else f"{100 * among:.0f}"
        rows.append(
            f"| {world.n} | {world.rise:g} | {world.place:g} | {world.rho:g} | {world.noise:g} | "
            f"{100 * power:.0f} | {100 * held:.0f} | {told} | {width:.2f} |"
        )
    return rows


def _bend_words(worlds: Sequence[World], found: Sequence[tuple[float, float, float, float]]) -> str:
    held = 100 * np.array([cell[1] for cell in found])
    return (
        f"Coverage: median {np.median(held):.0f} %, from {held.min():.0f} to {held.max():.0f} %; "
        f"{int(((held >= 93) & (held <= 98)).sum())} of {held.size} cells between 93 and 98 %."
    )


if __name__ == "__main__":
    main()
