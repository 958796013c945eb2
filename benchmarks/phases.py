"""How often a rise, a jump and an order of phases are found where there is one, and where there is none.

python -m benchmarks.phases                      print the tables
python -m benchmarks.phases --write              and put them into docs/benchmarks/phases.md
python -m benchmarks.phases --runs 200 --jobs 8  curves per cell, and processes
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

import entropylaw
from benchmarks.docs import markdown_table, write_block
from entropylaw.arrays import FloatArray
from entropylaw.results import VERDICTS
from entropylaw.results.phases import CurvePhases, PhaseFit

SEEDS = {"tuned on": 20261126, "set aside": 4711, "of other shapes": 977}
"""A third of the worlds has shapes that are in none of the method's families."""

Shapes = dict[str, Callable[[FloatArray], FloatArray]]

DECAYS: dict[str, Shapes] = {
    "tuned on": {
        "exponential": lambda t: 0.2 + 0.8 * np.exp(-5.0 * t),
        "fast, then flat": lambda t: 0.2 + 0.8 * np.exp(-30.0 * t),
        "hyperbola": lambda t: 0.1 + 0.9 / (1.0 + 12.0 * t),
        "flat": lambda t: 0.3 + 0.0 * t,
    },
    "set aside": {
        "logistic": lambda t: 0.2 + 0.8 / (1.0 + np.exp(18.0 * (t - 0.5))),
        "slow exponential": lambda t: 0.25 + 0.75 * np.exp(-2.2 * t),
        "piecewise": lambda t: np.interp(t, (0.0, 0.15, 0.55, 1.0), (1.0, 0.6, 0.3, 0.22)),
        "saw": lambda t: 0.9 - 0.6 * t - 0.08 * np.mod(4.0 * np.minimum(t, 0.9999), 1.0),
        "hump": lambda t: 0.3 + 5.0 * t * np.exp(-6.0 * t),
    },
    "of other shapes": {
        "steep start (power of -0.6)": lambda t: 0.1 + 0.9 / (1.0 + t / 0.004) ** 0.6,
        "steep start (root)": lambda t: 1.0 - 0.75 * np.sqrt(t),
        "late plunge": lambda t: 0.6 - 0.25 * np.arctan(25.0 * (t - 0.6)),
        "waves": lambda t: 0.85 - 0.6 * (t - np.sin(6.0 * np.pi * t) / (6.0 * np.pi)),
    },
}
FALLS: dict[str, Shapes] = {
    "tuned on": {"exponential": lambda u: np.exp(-u)},
    "set aside": {
        "exponential": lambda u: np.exp(-u),
        "logistic": lambda u: 1.0 / (1.0 + np.exp((u - 2.0) / 0.5)),
        "line, then flat": lambda u: np.maximum(1.0 - u / 3.0, 0.0),
    },
    "of other shapes": {
        "hyperbola": lambda u: 1.0 / (1.0 + u) ** 3,
        "half a cosine": lambda u: 0.5 + 0.5 * np.cos(np.pi * np.minimum(u / 3.0, 1.0)),
    },
}
"""Falls of execution from 1 to 0, over times of which 0.05 to 0.1 runs are 1."""
FALL_OF_PLANS: Shapes = {
    "tuned on": lambda t: np.exp(-t / 0.03),
    "set aside": lambda t: np.exp(-t / 0.03),
    # What is left of an exponential would outweigh the start of a rise that accelerates.
    "of other shapes": lambda t: np.maximum(1.0 - t / 0.08, 0.0) ** 2,
}
"""Falls of planning, from 1 to 0 before execution has settled."""
RISES: dict[str, Shapes] = {
    "tuned on": {"ramp": lambda u: u},
    "set aside": {"ramp": lambda u: u},
    "of other shapes": {
        "pole": lambda u: 0.2 * u / (1.2 - u),
        "quarter of a cosine": lambda u: 1.0 - np.cos(0.5 * np.pi * u),
        "exponential of a square": lambda u: np.expm1(3.0 * u**2) / np.expm1(3.0),
    },
}
"""Rises from 0 to 1 over times of 0 to 1; in the third world they accelerate, as an explosion does."""
RESIDUALS = {
    "tuned on": (("white", 0.0), ("drift", 0.6), ("drift", 0.9), ("drift", 0.97)),
    "set aside": (("t3", 0.6), ("spikes", 0.6), ("cycles", 0.6), ("two drifts", 0.94)),
    "of other shapes": (("white", 0.0), ("t3", 0.6), ("two drifts", 0.9)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Curves of one kind: ``task`` is the name of a function of :data:`TASKS`. Each is one of the decays."""

    task: str
    world: str
    residual: str = "drift"
    rho: float = 0.0
    n: int = 150
    rise: float = 0.25
    gap: float = 0.25


def residual(rng: np.random.Generator, cell: Cell) -> FloatArray:
    """Residuals (n,) of variance about 1."""
    n, before = cell.n, 200
    shocks = rng.standard_normal(n + before)
    if cell.residual == "t3":
        shocks = rng.standard_t(3, n + before) / np.sqrt(3.0)
    drift = drifting(shocks, cell.rho)[before:]
    if cell.residual == "spikes":
        drift = drift + 6.0 * (rng.random(n) < 0.03) * rng.choice((-1.0, 1.0), n)
    if cell.residual == "cycles":
        drift = 0.7 * drift + np.sin(2.0 * np.pi * (8.0 * np.arange(n) / n + rng.random()))
    if cell.residual == "two drifts":
        drift = 0.7 * drift + 0.7 * drifting(rng.standard_normal(n + before), 0.3)[before:]
    return np.asarray(drift)


def drifting(shocks: FloatArray, rho: float) -> FloatArray:
    """A first-order autoregression of variance 1."""
    values, last = np.empty(shocks.size), 0.0
    for i, shock in enumerate(shocks):
        values[i] = last = rho * last + np.sqrt(1.0 - rho**2) * shock
    return values


def truth_of(rng: np.random.Generator, cell: Cell) -> tuple[str, FloatArray, FloatArray]:
    """The name of one of the world's decays, the times (n,), 0 to 1, and the decay there."""
    decay, t = str(rng.choice(list(DECAYS[cell.world]))), np.linspace(0.0, 1.0, cell.n)
    return decay, t, DECAYS[cell.world][decay](t)


def fitted(curve: FloatArray) -> CurvePhases:
    """The phases of one curve of positive entropies."""
    found = entropylaw.phases(step=np.arange(curve.size), entropy=np.maximum(curve, 1e-4)).aggregate
    assert found is not None
    return found


def no_rise(rng: np.random.Generator, cell: Cell) -> tuple[float, ...]:
    """Falsely found: a rise; an eruption. Whether the band holds the true curve.

    Whether a rise of x in a new run of the same kind is found where the curve does not rise (x), and whether
    it is one of those.
    """
    decay, t, truth = truth_of(rng, cell)
    noise = 0.1 * truth.min()
    curve = fitted(truth + noise * residual(rng, cell))
    true = np.interp(curve.step, np.arange(cell.n), truth)
    outside = (true < curve.low - 1e-12) | (true > curve.high + 1e-12)
    # A hump is a sharp rise.
    explodes = float("nan") if decay == "hump" else float(bool(curve.eruptions))
    answers = float(bool(curve.rises)), explodes, float(not outside.any())
    if decay == "flat" or cell.rho > 0.9:
        return *answers, float("nan"), float("nan")
    if curve.rises is not False or curve.detectable is None:
        return *answers, float("nan"), 0.0
    ramp = curve.detectable * np.clip((t - rng.uniform(0.65, 0.8)) / 0.1, 0.0, 1.0)
    return *answers, float(bool(fitted(truth + ramp + noise * residual(rng, cell)).rises)), 1.0


def doubling(rng: np.random.Generator, cell: Cell) -> tuple[float, ...]:
    """Found: a rise that doubles the lowest level and stays."""
    decay, t, truth = truth_of(rng, cell)
    if decay == "flat":
        return (float("nan"),)
    start = rng.uniform(0.5, 0.7)
    lowest = float(truth[t <= start].min())
    rise = RISES[cell.world][rng.choice(list(RISES[cell.world]))]
    truth = truth + lowest * rise(np.clip((t - start) / 0.15, 0.0, 1.0))
    return (float(bool(fitted(truth + 0.1 * lowest * residual(rng, cell)).rises)),)


def three_jumps(rng: np.random.Generator, cell: Cell) -> tuple[float, ...]:
    """Whether exactly the three eruptions of 0.8 nats are found, and their mean distance in steps."""
    t = np.linspace(0.0, 1.0, cell.n)
    places = np.array([0.2, 0.5, 0.78]) + rng.uniform(-0.05, 0.05, 3)
    truth = 0.6 + sum(0.8 * (t >= place) * np.exp(-np.maximum(t - place, 0.0) / 0.12) for place in places)
    erupted = fitted(truth + 0.05 * residual(rng, cell)).eruptions or ()
    steps = places * (cell.n - 1)
    away = [float(np.abs(steps - eruption.step).min()) for eruption in erupted]
    all_found = len(erupted) == 3 and max(away) < 0.05 * cell.n
    return float(all_found), float(np.mean(away)) if away else float("nan")


def order(rng: np.random.Generator, cell: Cell) -> tuple[float, ...]:
    """Claimed: settles, then rises; the reverse. Covered: the onset, and the step of settling."""
    t = np.linspace(0.0, 1.0, cell.n)
    fall = FALLS[cell.world][rng.choice(list(FALLS[cell.world]))]
    time_of_fall, finely = rng.uniform(0.05, 0.1), np.linspace(0.0, 1.0, 10_001)
    truth = fall(finely / time_of_fall)
    settles = float(finely[np.flatnonzero(truth - truth[-1] > 0.05 * np.ptp(truth))[-1]])
    onset = settles + cell.gap
    rise = RISES[cell.world][rng.choice(list(RISES[cell.world]))]
    rising = rise(np.clip((t - onset) / (1.0 - onset), 0.0, 1.0))
    execution = 0.1 + 0.5 * fall(t / time_of_fall) + 0.012 * residual(rng, cell)
    planning = 0.3 + 0.5 * FALL_OF_PLANS[cell.world](t) + cell.rise * rising
    planning = planning + 0.012 * residual(rng, cell)
    fit: PhaseFit = entropylaw.phases(
        step=np.arange(cell.n), planning=planning, execution=np.maximum(execution, 1e-4)
    )
    assert fit.planning is not None
    assert fit.execution is not None

    def covers(estimate: object, truth: float) -> float:
        low, high = getattr(estimate, "low", None), getattr(estimate, "high", None)
        return float("nan") if low is None or high is None else float(low <= truth * (cell.n - 1) <= high)

    claimed = [float(fit.verdict == word) for word in VERDICTS[:2]]
    return *claimed, covers(fit.planning.onset, onset), covers(fit.execution.settled, settles)


TASKS = {task.__name__: task for task in (no_rise, doubling, three_jumps, order)}


def cells(world: str) -> Iterable[Cell]:
    """All cells of one world."""
    for kind, rho in RESIDUALS[world]:
        for n in (40, 150):
            look = {"world": world, "residual": kind, "rho": rho, "n": n}
            yield Cell(task="no_rise", **look)  # type: ignore[arg-type]
            if rho <= 0.9:
                yield Cell(task="doubling", **look)  # type: ignore[arg-type]
        for n in (150, 400) if world != "of other shapes" else ():
            if rho <= 0.6:
                yield Cell(task="three_jumps", world=world, residual=kind, rho=rho, n=n)
        for rise in (0.25, 0.1):
            for gap in (0.25, 0.0):
                if rho <= 0.9:
                    yield Cell(task="order", world=world, residual=kind, rho=rho, rise=rise, gap=gap)


def measured(job: tuple[Cell, int]) -> tuple[FloatArray, float]:
    """The numbers (runs, k) of a cell, and the seconds of processor time per run."""
    cell, runs = job
    start = time.process_time()
    key = [SEEDS[cell.world], *(ord(letter) for letter in repr(cell))]
    rows = [TASKS[cell.task](np.random.default_rng([*key, run]), cell) for run in range(runs)]
    return np.array(rows), (time.process_time() - start) / runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="curves per cell")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", choices=list(SEEDS), help="one of the two worlds")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/phases.md")
    given = parser.parse_args(arguments)
    worlds = [given.only] if given.only else list(SEEDS)
    jobs = [(cell, given.runs) for world in worlds for cell in cells(world)]
    if given.jobs > 1:
        with ProcessPoolExecutor(given.jobs) as pool:
            results = list(pool.map(measured, jobs))
    else:
        results = [measured(job) for job in jobs]
    found = list(zip((cell for cell, _ in jobs), results, strict=True))
    head = f"{given.runs} curves per cell (a residual at a length); per cent, mean, in brackets the worst."
    text = "\n\n".join([head, table(worlds, found), slowest(found)])
    print(text)
    if given.write:
        write_block("phases", text)


Found = list[tuple[Cell, tuple[FloatArray, float]]]


def has(cell: Cell, **required: float) -> bool:
    """Whether a cell has these values."""
    return all(getattr(cell, name) == value for name, value in required.items())


def in_order(cell: Cell, *, gap: float, rise: float) -> bool:
    """Whether planning rises so far after execution has settled, by so much, in a drift that is short."""
    return has(cell, gap=gap, rise=rise) and cell.rho <= 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the table: the numbers ``column`` of the cells of a task that are kept.

    ``more`` says whether more is better, which makes the least cell the worst one.
    """

    label: str
    required: str
    task: str
    column: int
    more: bool
    keep: Callable[[Cell], bool] = has


def rows() -> Iterable[Row]:
    """The rows of the table."""
    for n in (40, 150):
        at = partial(has, n=n)
        yield Row(label=f"false rise, n {n}", required="≤ 5", task="no_rise", column=0, more=False, keep=at)
        found = f"a doubling is found, n {n}"
        yield Row(label=found, required="≥ 90", task="doubling", column=0, more=True, keep=at)
    found = "rise of x found where “does not rise (x)”"
    yield Row(label=found, required="70–90", task="no_rise", column=3, more=True)
    long = partial(has, n=150)
    erupted = "false eruption, n 150"
    yield Row(label=erupted, required="≤ 5", task="no_rise", column=1, more=False, keep=long)
    found = "the three eruptions, and no other"
    yield Row(label=found, required="≥ 95", task="three_jumps", column=0, more=True)
    for n in (40, 150):
        inside = f"the curve is inside its band, n {n}"
        yield Row(label=inside, required="95", task="no_rise", column=2, more=True, keep=partial(has, n=n))
    # Of rises that accelerate less is required: one may not be seen to begin before a quarter of the run.
    for gap, label, required in ((0.25, "gap a quarter", "≥ 80"), (0.0, "no gap", "≤ 5")):
        for rise in (0.25, 0.1):
            kept = partial(in_order, gap=gap, rise=rise)
            claim = f"settles, then rises: {label}, rise {rise}"
            yield Row(label=claim, required=required, task="order", column=0, more=gap > 0, keep=kept)
    reverse = "rises, then settles"
    yield Row(label=reverse, required="≤ 5", task="order", column=1, more=False)
    yield Row(label="onset covered", required="≥ 88", task="order", column=2, more=True)
    yield Row(label="settling covered", required="≥ 93", task="order", column=3, more=True)


def table(worlds: Sequence[str], found: Found) -> str:
    """What is required, and what was found in each world: the mean over cells, and the worst."""
    lines = []
    for row in rows():
        cells = [found_of(row, world, found) for world in worlds]
        lines.append([row.label, row.required, *cells])
    return markdown_table(["what", "required", *(f"worlds {world}" for world in worlds)], lines)


def found_of(row: Row, world: str, found: Found) -> str:
    """The mean of a row's numbers over the cells of a world, and the worst in brackets, per cent."""
    values = [
        100.0 * float(np.nanmean(numbers[:, row.column]))
        for cell, (numbers, _) in found
        if cell.world == world
        and cell.task == row.task
        and row.keep(cell)
        and np.isfinite(numbers[:, row.column]).any()
    ]
    if not values:
        return "–"
    worst = min(values) if row.more else max(values)
    return f"{np.mean(values):.1f} ({worst:.0f})"


def slowest(found: Found) -> str:
    """Processor time per curve."""
    times = []
    for cell, (numbers, seconds) in found:
        again = float(np.isfinite(numbers[:, 3]).mean()) if cell.task == "no_rise" else cell.task == "order"
        times.append(seconds / (1.0 + again))
    return f"Processor time per curve: mean {np.mean(times):.2f} s, slowest cell {max(times):.2f} s."


if __name__ == "__main__":
    main()
