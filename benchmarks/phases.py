"""The test for a change point: its size, its power, and the coverage of the interval of the step.

python -m benchmarks.phases                 print the tables
python -m benchmarks.phases --write         and put them into docs/benchmarks/phases.md
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import f as f_law

from benchmarks.docs import write_block
from benchmarks.worlds import FloatArray
from entropylaw.analysis.changepoint import (
    blocked,
    change_point_of,
    closest,
    decay_test,
    difference,
    place_points,
)
from entropylaw.engine.changepoint import ChangePointDesign, bent_cable, likely_decays
from entropylaw.results.phases import ChangePoint

SEED = 20261122

SD = 0.03
"""Standard deviation of the drift, in nats, on a fall of 0.8."""

DRAWS = 99
"""Simulations per test; the package takes 399."""

SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "exponential, fast": lambda t: 0.2 + 0.8 * np.exp(-6 * t),
    "exponential, slow": lambda t: 0.2 + 0.8 * np.exp(-2 * t),
    "power": lambda t: 0.1 + 0.9 / (1 + 8 * t),
}
STRANGE: dict[str, Callable[[FloatArray], FloatArray]] = {
    "three exponentials": lambda t: 0.2 + 0.4 * np.exp(-40 * t) + 0.2 * np.exp(-8 * t) + 0.2 * np.exp(-t),
    "power and exponential": lambda t: 0.2 + 0.5 * (1 + 9 * t) ** -0.8 + 0.3 * np.exp(-3 * t**2),
    "soft corner": lambda t: 0.2 + 0.08 * np.log1p(np.exp((0.4 - t) / 0.04)),
    "half a cosine": lambda t: 0.6 + 0.4 * np.cos(np.pi * t),
}
"""Smooth decays that are no member of any family."""

RESIDUALS = ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.8, 0.0), (0.8, 1.0), (0.9, 0.0), (0.9, 1.0))
"""Correlation of neighbours' drift, and white noise's variance over the drift's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A curve: its decay, points, residual, and what it rises by after ``place``, in nats by the end.

    ``half`` is half of the transition's width, as a share of the run; ``sd`` the drift's deviation, nats.
    """

    shape: str
    n: int
    rho: float
    noise: float
    rise: float = 0.0
    place: float = 0.5
    half: float = 0.0
    sd: float = SD


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="simulated runs per cell")
    parser.add_argument("--jobs", type=int, help="processes, one a core where not given")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/phases.md")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        text = tables(pool.map, arguments.runs)
    print(text)
    if arguments.write:
        write_block("phases", text)


def tables(spread: Callable[..., Iterable[Any]], runs: int) -> str:
    """Markdown: size beside the peers, coverage and power. ``spread`` maps over the cells."""
    sizes = [
        World(shape=shape, n=n, rho=rho, noise=noise)
        for shape, n, (rho, noise) in itertools.product(SHAPES, (60, 150, 500), RESIDUALS)
    ]
    rejected = list(spread(partial(size_of, runs=runs), sizes))
    strange = [
        World(shape=shape, n=150, rho=rho, noise=noise, sd=sd)
        for shape, sd, (rho, noise) in itertools.product(STRANGE, (SD, SD / 3), ((0.0, 0.0), (0.8, 1.0)))
    ]
    odd = list(spread(partial(size_of, runs=runs), strange))
    bent = [
        World(shape="exponential, fast", n=n, rho=rho, noise=noise, rise=rise, place=place, half=half, sd=sd)
        for n, (place, half), (rise, sd), (rho, noise) in itertools.product(
            (60, 150),
            ((0.373, 0.0), (0.614, 0.12)),
            ((0.1, SD), (0.3, SD), (0.3, SD / 10)),
            ((0.0, 0.0), (0.5, 1.0), (0.8, 1.0)),
        )
    ]
    found = list(spread(partial(cover, runs=runs), bent))
    pairs = [
        tuple(
            World(shape="exponential, fast", n=150, rho=rho, noise=noise, rise=0.3, place=place)
            for place in (0.373 + gap, 0.373)
        )
        for gap, (rho, noise) in itertools.product((0.0, 0.15, 0.35), ((0.0, 0.0), (0.8, 1.0)))
    ]
    orders = list(spread(partial(order_of, runs=runs), pairs))
    error = 100 * np.sqrt(0.05 * 0.95 / runs)
    return "\n".join(
        [
            f"{runs} simulated curves per cell (a share of 5 % has a standard error of {error:.1f} points), "
            f"drift of {SD} nats on a fall of 0.8, seed {SEED}; {DRAWS} simulations per test. False "
            "change points in per cent at a nominal 5 %, with piecewise-regression's Davies test (on a tenth "
            "of the runs: it is slow) and a sup-F test of a broken line against a straight one for "
            "comparison:",
            "",
            "| decay | n | " + " | ".join(_residual(*each) for each in RESIDUALS) + " | Davies | sup-F |",
            "| --- | ---: |" + " ---: |" * (len(RESIDUALS) + 2),
            *_size_rows(sizes, rejected),
            "",
            _size_words(rejected),
            "",
            "Smooth decays outside all families, n = 150: false change points in per cent:",
            "",
            "| decay | sd | white | ρ 0.8, noise 1 |",
            "| --- | ---: | ---: | ---: |",
            *_strange_rows(strange, odd),
            "",
            "With a change point, sharp or over a quarter of the run, at steps off every grid: share of runs "
            "in which it is detected; coverage of the 95 % interval of its step, in all runs and in those "
            "whose interval is not the whole run; the share of the latter; and the interval's width in runs:",
            "",
            "| n | change at | over | rise | sd | ρ | noise / drift | detected | covered | covered, not "
            "whole | not whole | width |",
            "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *_change_rows(bent, found),
            "",
            _change_words(found),
            "",
            "Two curves with a change point each (n = 150, rise 0.3): coverage of the 95 % interval of Δ "
            "where both were detected, and how often an order was stated, rightly and wrongly, in per cent:",
            "",
            "| Δ / run | ρ | noise / drift | both detected | covered | order right | order wrong |",
            "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *_order_rows(pairs, orders),
        ]
    )


def curves(world: World, runs: int) -> tuple[FloatArray, FloatArray]:
    """Steps (n,) and simulated curves (n, runs)."""
    shapes = SHAPES | STRANGE
    shape = list(shapes).index(world.shape)
    key = [SEED, shape, world.n, int(100 * world.rho), int(10 * world.noise), int(1000 * world.rise)]
    rng = np.random.default_rng([*key, int(1000 * world.place), int(100 * world.half), int(1e4 * world.sd)])
    step = np.arange(world.n, dtype=float)
    time = step / (world.n - 1)
    ramp = bent_cable(time, world.place, world.half)
    mean = shapes[world.shape](time) + world.rise * ramp / ramp[-1]
    made = np.tile(mean[:, None], (1, runs))
    if world.rho > 0:
        correlation = world.rho ** np.abs(step[:, None] - step)
        made += world.sd * (np.linalg.cholesky(correlation) @ rng.standard_normal((world.n, runs)))
    white = world.noise if world.rho > 0 else 1.0
    return step, made + world.sd * np.sqrt(white) * rng.standard_normal((world.n, runs))


def size_of(world: World, runs: int) -> tuple[float, float, float]:
    """How often a smooth decay is called two phases: by us, by the Davies test, by a plain sup-F."""
    step, made = curves(world, runs)
    s = blocked(step, step)[0]
    y = np.stack([blocked(step, each)[1] for each in made.T], axis=1)
    rng = np.random.default_rng(SEED)
    ours = [
        p_value(ChangePointDesign(s, likely_decays(s, y[:, i])), y[:, i : i + 1], rng) <= 0.05
        for i in range(runs)
    ]
    few = made[:, : max(runs // 10, 5)].T
    davies = [davies_test(step, each) <= 0.05 for each in few] if world.n <= 150 else [np.nan]
    return (
        float(np.mean(ours)),
        float(np.mean(davies)),
        float(np.mean([sup_f(step, each) for each in made.T])),
    )


def p_value(design: ChangePointDesign, series: FloatArray, rng: np.random.Generator) -> float:
    null = design.null(series)
    return decay_test(design, null, design.means(null), rng, 0.95, DRAWS)[0]


def cover(world: World, runs: int) -> tuple[float, float, float, float, float]:
    """Share found; coverage of the place, and of those that are not the whole run; their share; the width."""
    step, made = curves(world, runs)
    rng = np.random.default_rng(SEED)
    truth = world.place * step[-1]
    looks = [look(step, made[:, i], rng) for i in range(runs)]
    held = np.array([any(low <= truth <= high for low, high in place.intervals) for _, place in looks])
    some = np.array([not place.whole for _, place in looks])
    width = [sum(high - low for low, high in place.intervals) / step[-1] for _, place in looks]
    among = float(held[some].mean()) if some.any() else float("nan")
    found = float(np.mean([each for each, _ in looks]))
    return found, float(held.mean()), among, float(some.mean()), float(np.median(width))


def order_of(pair: tuple[World, World], runs: int) -> tuple[float, float, float, float]:
    """Share with both found; coverage of Δ among them; orders stated rightly and wrongly, in all runs."""
    sides = [curves(world, runs) for world in pair]
    step, rng = sides[0][0], np.random.default_rng(SEED)
    truth = (pair[0].place - pair[1].place) * step[-1]
    held, right, wrong = [], 0, 0
    for i in range(runs):
        (one, plan), (other, act) = (look(step, made[:, i], rng) for _, made in sides)
        if not (one and other):
            continue
        delta = difference(place_points(plan), place_points(act), 0.95)[0]
        low, high = delta.low or 0.0, delta.high or 0.0
        held.append(low <= truth <= high)
        right += bool(low > 0 < truth)
        wrong += bool(high < 0 or (low > 0 and truth == 0))
    return len(held) / runs, float(np.mean(held)) if held else float("nan"), right / runs, wrong / runs


def look(step: FloatArray, series: FloatArray, rng: np.random.Generator) -> tuple[bool, ChangePoint]:
    """Whether a boundary is found in one curve, and where."""
    design = ChangePointDesign(step, likely_decays(step, series))
    null = design.null(series[:, None])
    found = decay_test(design, null, design.means(null), rng, 0.95, DRAWS)[0] <= 0.05
    posterior = closest(design, null, series)[2]
    return found, change_point_of(posterior, float(step[0]), float(step[-1] - step[0]), 0.95)


def davies_test(step: FloatArray, series: FloatArray) -> float:
    """piecewise-regression's p-value of no breakpoint in a straight line (Davies 1987)."""
    from piecewise_regression.davies import davies_test as theirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(theirs(step, series))


def sup_f(step: FloatArray, series: FloatArray) -> bool:
    """Largest F of a broken line against a straight one, over the places of the break, and F's 5 % point."""
    time = step / step[-1]
    line = np.linalg.qr(np.stack([np.ones_like(time), time], axis=1))[0]
    left = series - line @ (line.T @ series)
    best = 0.0
    for place in np.linspace(0.1, 0.9, 41):
        column = np.maximum(time - place, 0.0)
        column = column - line @ (line.T @ column)
        gain = (column @ left) ** 2 / (column @ column)
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
        shown = "—" if np.isnan(davies) else f"{100 * davies:.0f}"
        rows.append(
            f"| {shape} | {n} | {ours} | {shown} | {100 * np.mean([cell[2] for cell in cells]):.0f} |"
        )
    return rows


def _size_words(rejected: Sequence[tuple[float, float, float]]) -> str:
    ours = 100 * np.array([cell[0] for cell in rejected])
    inside = int(((ours >= 3) & (ours <= 7)).sum())
    return (
        f"Median {np.median(ours):.1f} %, from {ours.min():.1f} to {ours.max():.1f} %; {inside} of "
        f"{ours.size} cells between 3 and 7 %, {int((ours > 7).sum())} above and {int((ours < 3).sum())} "
        "below."
    )


def _strange_rows(worlds: Sequence[World], rejected: Sequence[tuple[float, float, float]]) -> list[str]:
    by_world = dict(zip(worlds, rejected, strict=True))
    rows = []
    for shape, sd in dict.fromkeys((world.shape, world.sd) for world in worlds):
        cells = [found for world, found in by_world.items() if (world.shape, world.sd) == (shape, sd)]
        rows.append(f"| {shape} | {sd:g} | " + " | ".join(f"{100 * cell[0]:.1f}" for cell in cells) + " |")
    return rows


def _change_rows(
    worlds: Sequence[World], found: Sequence[tuple[float, float, float, float, float]]
) -> list[str]:
    rows = []
    for world, (power, held, among, some, width) in zip(worlds, found, strict=True):
        shown = "—" if np.isnan(among) else f"{100 * among:.0f}"
        rows.append(
            f"| {world.n} | {world.place:g} | {2 * world.half:g} | {world.rise:g} | {world.sd:g} "
            f"| {world.rho:g} | {world.noise:g} | {100 * power:.0f} | {100 * held:.0f} | {shown} "
            f"| {100 * some:.0f} | {width:.2f} |"
        )
    return rows


def _change_words(found: Sequence[tuple[float, float, float, float, float]]) -> str:
    held = 100 * np.array([cell[1] for cell in found])
    some = np.array([cell[3] for cell in found])
    among = 100 * np.average([0.0 if np.isnan(cell[2]) else cell[2] for cell in found], weights=some)
    return (
        f"Coverage: median {np.median(held):.0f} %, from {held.min():.0f} to {held.max():.0f} %; "
        f"{int(((held >= 93) & (held <= 98)).sum())} of {held.size} cells between 93 and 98 %. Over all "
        f"intervals that are not the whole run: {among:.1f} %."
    )


def _order_rows(
    pairs: Sequence[tuple[World, ...]], orders: Sequence[tuple[float, float, float, float]]
) -> list[str]:
    return [
        f"| {pair[0].place - pair[1].place:.2f} | {pair[0].rho:g} | {pair[0].noise:g} | {100 * both:.0f} | "
        f"{100 * held:.0f} | {100 * right:.0f} | {100 * wrong:.0f} |"
        for pair, (both, held, right, wrong) in zip(pairs, orders, strict=True)
    ]


if __name__ == "__main__":
    main()
