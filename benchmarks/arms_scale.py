"""Slopes of arms against size, and predictions for other sizes: coverage with few sizes and few seeds.

python -m benchmarks.arms_scale               print the tables
python -m benchmarks.arms_scale --write       and put them into docs/benchmarks/arms_scale.md
python -m benchmarks.arms_scale --runs 300    fewer draws per cell
python -m benchmarks.arms_scale --published   the largest published size from the others, alone

A number of k sizes, at most 1.8 decades apart, lies on a line in log10 size up to a spread τ between sizes.
Its seeds have a standard deviation of 1 between them, and every run an error of its own. τ is in standard
errors of a size's mean. A prediction is 0.5 decades beyond the largest size, of the mean over many seeds.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from benchmarks.docs import write_block
from benchmarks.worlds import FloatArray
from entropylaw.analysis.scaling import PUBLISHED, meta_regression, scale_numbers, size_of
from entropylaw.results import Estimate

RUNS, LEVEL, BEYOND = 900, 0.95, 0.5
NUMBERS = ("ceiling", "a", "b")
"""Three numbers per call, drawn independently."""

STEP = np.linspace(0.0, 400.0, 30)
REWARD = np.linspace(0.2, 0.8, 30)

SEEDS = {"1": (1,) * 5, "2": (2,) * 5, "3": (3,) * 5, "1 to 3": (1, 3, 2, 1, 3)}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where the numbers come from.

    ``unequal``: the runs' errors differ between sizes by its square, in random order; ``said`` is the error
    that a run states over the one that it has. ``curved`` is the departure from a line in the middle of the
    sizes, in standard errors; ``tails`` those of the spread between sizes; ``grows`` the factor of the spread
    between seeds from the smallest size to the largest.
    """

    name: str
    tau: float
    unequal: float = 1.0
    said: float = 1.0
    curved: float = 0.0
    tails: str = "normal"
    grows: float = 1.0


TUNED = tuple(
    World(name=name, tau=tau, **about)  # type: ignore[arg-type]
    for name, about in {
        "equal errors": {},
        "unequal errors": {"unequal": 4.0},
        "errors said to be three times as large": {"unequal": 4.0, "said": 3.0},
    }.items()
    for tau in (0.0, 1.0, 5.0)
)

ASIDE = (
    World(name="curved by 2 errors", tau=0.0, curved=2.0),
    World(name="curved by 10 errors", tau=0.0, curved=10.0),
    World(name="heavy tails between sizes", tau=3.0, tails="t3"),
    World(name="spread of seeds grows fourfold", tau=0.0, grows=4.0),
    World(name="errors said to be a third as large", tau=1.0, unequal=4.0, said=1 / 3),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Shares covered: the slope, the prediction, and the slope if errors of runs weigh the sizes."""

    slope: float
    ahead: float
    weighted: float


def sizes_of(k: int) -> FloatArray:
    """log10 of the sizes: unevenly spaced, as published ones are."""
    return np.array([7.5, 8.2, 9.3] if k == 3 else np.linspace(7.5, 9.3, k))


def drawn(
    world: World, x: FloatArray, seeds: tuple[int, ...], own: FloatArray, rng: np.random.Generator
) -> tuple[list[FloatArray], float, float]:
    """Values of the seeds of each size, the slope of the truth's line, and the truth at the prediction."""
    at, k = x[-1] + BEYOND, x.size
    error = float(np.sqrt(np.mean((1.0 + own**2) / seeds[:k])))
    middle, half = 0.5 * (x[0] + x[-1]), 0.5 * (x[-1] - x[0])

    def truth(x: Any) -> Any:
        return world.curved * error * (1.0 - ((x - middle) / half) ** 2)

    draw = rng.standard_normal if world.tails == "normal" else (lambda n: rng.standard_t(3, n) / np.sqrt(3.0))
    between = world.tau * error * draw(k + 1)
    means = truth(x) + between[:k]
    spread = np.geomspace(1.0, world.grows, k)
    values = [means[i] + np.hypot(spread[i], own[i]) * rng.standard_normal(seeds[i]) for i in range(k)]
    return values, float(np.polyfit(x, truth(x), 1)[0]), float(truth(at) + between[k])


def fit(values: list[float], error: float) -> Any:
    """What is read of a run's fit."""
    about = {"low": None, "high": None, "level": LEVEL, "method": "", "std_error": error}
    known = [Estimate(value=value, **about) for value in values]  # type: ignore[arg-type]
    law = SimpleNamespace(a=known[1], b=known[2], step=STEP, reward=REWARD, smoothed_entropy=REWARD)
    return SimpleNamespace(ceiling=known[0], law=law)


def cell(world: World, k: int, seeds: tuple[int, ...], runs: int) -> Cell:
    """Coverage over some draws."""
    rng = np.random.default_rng(zlib.crc32(f"{world.name} {world.tau} {k} {seeds}".encode()))
    x, hits = sizes_of(k), np.zeros(3)
    names = [f"size {i}" for i in range(k)]
    sizes = dict(zip(names, (10.0**x).tolist(), strict=True))
    for _ in range(runs // 3):
        own = rng.permutation(np.geomspace(1.0 / world.unequal, world.unequal, k))
        draws = [drawn(world, x, seeds, own, rng) for _ in NUMBERS]
        said = world.said * own
        arms = {
            name: [fit([values[i][seed] for values, *_ in draws], said[i]) for seed in range(seeds[i])]
            for i, name in enumerate(names)
        }
        found = scale_numbers(arms, sizes, key="size", at=[10.0 ** (x[-1] + BEYOND)], level=LEVEL)
        for one, (values, slope, ahead) in zip(found, draws, strict=False):
            hits += (
                covers(one.slope, slope),
                covers(one.predicted[0].value, ahead),
                weighted(x, values, said, slope),
            )
    return Cell(**dict(zip(("slope", "ahead", "weighted"), hits / (3 * (runs // 3)), strict=True)))


def covers(known: Estimate, truth: float) -> bool:
    """Whether an interval has the truth in it."""
    return known.low is not None and known.high is not None and known.low <= truth <= known.high


def weighted(x: FloatArray, values: list[FloatArray], said: FloatArray, truth: float) -> bool:
    """Whether the interval covers with the runs' own errors as weights, the spread of seeds pooled."""
    seeds = np.array([each.size for each in values])
    df = int((seeds - 1).sum())
    within = float(seeds @ said**2 / seeds.sum())
    pooled = sum(float(((each - each.mean()) ** 2).sum()) for each in values) / df if df else within
    variance = (max(pooled - within, 0.0) + said**2) / seeds
    line = meta_regression(x, np.array([each.mean() for each in values]), variance, [x.size - 2])
    error = np.sqrt(line.misfit[0] / (x.size - 2) * line.slope_variance[0])
    return bool(abs(line.slope[0] - truth) <= stdtrit(x.size - 2, 0.5 + 0.5 * LEVEL) * error)


def table(worlds: tuple[World, ...], runs: int) -> Iterator[str]:
    """Rows: a world and a number of sizes; columns: numbers of seeds."""
    yield "| world | τ | sizes | slope | prediction | slope, sizes weighted by their runs' errors |"
    yield "|:--|--:|--:|--:|--:|--:|"
    for world in worlds:
        for k in (3, 4, 5):
            cells = [cell(world, k, seeds, runs) for seeds in SEEDS.values()]
            columns = (
                " · ".join(f"{100 * getattr(one, name):.0f}" for one in cells)
                for name in ("slope", "ahead", "weighted")
            )
            yield f"| {world.name} | {world.tau:g} | {k} | {' | '.join(columns)} |"


def report(runs: int) -> str:
    """All tables."""
    return "\n".join(
        (
            f"Per cent of nominal 95 % intervals that cover, with {', '.join(SEEDS)} seeds per size; "
            f"{3 * (runs // 3)} draws each.",
            "",
            *table(TUNED, runs),
            "",
            "Worlds that were set aside. The slope of a curve is that of the nearest line at the sizes.",
            "",
            *table(ASIDE, runs),
        )
    )


def published() -> Iterator[str]:
    """The largest published model from the other four."""
    *others, last = PUBLISHED
    arms = {}
    for name in others:
        a, b, first = PUBLISHED[name]
        known = fit([b - a, a, b], 0.0)
        known.law.smoothed_entropy = np.array([first])
        arms[name] = [known]
    sizes = {name: float(size_of(name) or 0.0) for name in others}
    a, b, first = PUBLISHED[last]
    truth = {"ceiling": b - a, "a": a, "b": b, "entropy_first": first}
    yield f"| number | {last}, digitised | predicted from {', '.join(others)} | slope per tenfold size |"
    yield "|:--|--:|--:|--:|"
    for one in scale_numbers(arms, sizes, key="parameters", at=[float(size_of(last) or 0.0)], level=LEVEL):
        cells = [
            f"{known.value:.3f} [{known.low:.3f}, {known.high:.3f}]"
            for known in (one.predicted[0].value, one.slope)
        ]
        yield f"| {one.quantity} | {truth[one.quantity]:.3f} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--published", action="store_true")
    options = parser.parse_args()
    largest = "\n".join(published())
    print(largest, end="\n\n")
    if options.write:
        write_block("arms_scale", largest, block="published")
    if options.published:
        return
    text = report(options.runs)
    print(text)
    if options.write:
        write_block("arms_scale", text)


if __name__ == "__main__":
    main()
