"""Coverage where the residual is of another family than a drift plus noise, and how often a caution says so.

python -m benchmarks.foreign                        print the tables, 400 runs per cell
python -m benchmarks.foreign --write                and put them into docs/benchmarks/foreign.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from benchmarks.docs import write_block
from benchmarks.foreign_worlds import SET_ASIDE, SIZES, WORLDS, A, Drawn, draw, oracle_widths
from benchmarks.verdicts import verdict_of
from entropylaw.analysis.law.diagnostics import has_long_memory
from entropylaw.analysis.law.estimates import estimates
from entropylaw.analysis.law.fitting import law_of_run
from entropylaw.analysis.law.scatter import FACTOR, P_CHANGES
from entropylaw.results import Estimate, Verdict
from entropylaw.results.law import LawFit
from entropylaw.results.posterior import LONG
from entropylaw.results.result import replace

LONG_RUN = 2000
LONG_MEMORY = ("three OU", "ARFIMA(0.2)", "ARFIMA(0.35) + white")
"""Of these runs of :data:`LONG_RUN` evaluations are looked at, too."""

BEYOND = ("reward now", "headroom", "mean", "new evaluation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Of one run: what is covered, widths over the oracle's, and what is said.

    ``covered`` and ``width`` are of ceiling and a, then of both if memory is short; ``beyond`` of
    :data:`BEYOND`, nan where the truth is not known.
    """

    covered: tuple[float, ...]
    width: tuple[float, ...]
    beyond: tuple[float, ...]
    scatter: bool
    memory: bool
    fails: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A world at one number of evaluations: means of :class:`Seen` over runs, medians of the widths."""

    world: str
    n: int
    covered: tuple[float, ...]
    width: tuple[float, ...]
    beyond: tuple[float, ...]
    scatter: float
    memory: float
    fails: float


def cell(world: str, n: int, runs: int, seed: int) -> Cell:
    """Simulate and fit; beyond :data:`LONG_RUN` evaluations a quarter of the runs."""
    rng = np.random.default_rng([seed, n])
    found = [seen(draw(world, n, rng)) for _ in range(runs if n < LONG_RUN else runs // 4)]
    columns = zip(*((one.covered, one.width, one.beyond) for one in found), strict=True)
    covered, width, beyond = (np.array(each, dtype=float) for each in columns)
    said = np.mean([(s.scatter, s.memory, s.fails) for s in found], axis=0).tolist()
    return Cell(
        world=world,
        n=n,
        covered=tuple(covered.mean(axis=0).tolist()),
        width=tuple(np.median(width, axis=0).tolist()),
        beyond=tuple(beyond.mean(axis=0).tolist()),
        scatter=said[0],
        memory=said[1],
        fails=said[2],
    )


def seen(run: Drawn) -> Seen:
    """Fit a run, and compare with the truth."""
    law, fits = law_of_run(run.entropy, run.reward)
    numbers = (law.ceiling, law.a, *if_short(law))
    truths = (run.ceiling, A, run.ceiling, A)
    oracle = np.tile(oracle_widths(run) if law.n < LONG_RUN else (np.nan, np.nan), 2)
    last = float(run.true_entropy[-1])
    predicted = law.predict(max(float(law.smoothed_entropy[-1]), 0.0))
    now = np.nan if run.now is None else run.now
    others = (
        (law.reward_now, now),
        (law.headroom, np.maximum(run.ceiling - now, 0.0)),
        (predicted.mean, run.ceiling - A * np.expm1(last)),
        (predicted.observation, np.nan if run.another is None else run.another),
    )
    residuals = law.residuals
    ratio, p = residuals.scatter_ratio, residuals.p_thirds
    return Seen(
        covered=tuple(map(covers, numbers, truths)),
        width=tuple(float(one.width or np.nan) / each for one, each in zip(numbers, oracle, strict=True)),
        beyond=tuple(covers(number, truth) for number, truth in others),
        scatter=ratio is not None and p is not None and p < P_CHANGES and not 1 / FACTOR < ratio < FACTOR,
        memory=has_long_memory(law),
        fails=verdict_of(law, fits)[0] is Verdict.fails,
    )


def covers(number: Estimate, truth: float) -> float:
    """1 where the interval holds the truth, 0 where it does not, nan without a truth."""
    if np.isnan(truth) or number.low is None or number.high is None:
        return np.nan
    return float(number.low <= truth <= number.high)


def if_short(law: LawFit) -> tuple[Estimate, ...]:
    """Ceiling and a if memory is short."""
    weight = law.posterior.weight * (law.posterior.kind != LONG)
    if not weight.any():
        return law.ceiling, law.a
    short = replace(law.posterior, weight=weight / weight.sum()).functional(np.eye(2))
    return tuple(estimates(short, level=law.level, method=""))


def table(cells: Sequence[Cell], shown: Callable[[Cell], str]) -> list[str]:
    """A row per world, a column per number of evaluations."""
    sizes = sorted({one.n for one in cells})
    by_size = {(one.world, one.n): one for one in cells}
    heads = " | ".join(f"n = {n}" for n in sizes)
    lines = [f"| residual | {heads} |", "| --- |" + " ---: |" * len(sizes)]
    for world in dict.fromkeys(one.world for one in cells):
        each = (by_size.get((world, n)) for n in sizes)
        lines.append(f"| {world} | " + " | ".join("" if one is None else shown(one) for one in each) + " |")
    return lines


def intervals(one: Cell, first: int) -> str:
    """Coverage @ width of ceiling and a, from their number in the cell."""
    pairs = zip(one.covered[first : first + 2], one.width[first : first + 2], strict=True)
    return " · ".join(f"{100 * c:.0f}" + ("" if np.isnan(w) else f" @ {w:.2f}") for c, w in pairs)


def beyond(one: Cell) -> str:
    """Coverage of the other numbers, a dash where there is no truth."""
    return " · ".join("–" if np.isnan(c) else f"{100 * c:.0f}" for c in one.beyond)


def said(one: Cell) -> str:
    """How often each caution comes, and the verdict that the law fails."""
    return f"{100 * one.memory:.0f} · {100 * one.scatter:.0f} · {100 * one.fails:.1f}"


def summary(cells: Sequence[Cell], first: int) -> str:
    """Cells that hold, and cells that hold at a moderate width."""
    parts = []
    for i, name in enumerate(("ceiling", "a"), start=first):
        below = sum(one.covered[i] < 0.9 for one in cells)
        known = [one for one in cells if not np.isnan(one.width[i])]
        both = sum(0.94 <= one.covered[i] <= 0.98 and one.width[i] <= 1.4 for one in known)
        lowest, width = min(one.covered[i] for one in cells), np.median([one.width[i] for one in known])
        parts.append(
            f"{name}: {below} of {len(cells)} cells below 90 % (lowest {100 * lowest:.0f} %); median width "
            f"{width:.2f} times the oracle's; {both} of {len(known)} cells within "
            "94–98 % at no more than 1.4 times"
        )
    return ". ".join(parts) + "."


def others(cells: Sequence[Cell]) -> str:
    """Cells of the other numbers that do not hold."""
    each = [c for one in cells for c in one.beyond if not np.isnan(c)]
    return f"{sum(c < 0.9 for c in each)} of {len(each)} below 90 %; lowest {100 * min(each):.0f} %."


def report(cells: Sequence[Cell], runs: int) -> list[str]:
    """The tables."""
    main, aside = ([one for one in cells if one.world in worlds] for worlds in (WORLDS, SET_ASIDE))
    return [
        f"{runs} runs per cell ({runs // 4} at n = {LONG_RUN}), in each of which the law is true. Coverage "
        "of the law's ceiling @ median width over that of the oracle (generalised least squares with the "
        "true covariance; none for residuals that are not Gaussian) · the same of a:",
        *("", *table(main, lambda one: intervals(one, 0)), "", summary(main, 0), ""),
        "The same if memory is taken as short:",
        *("", *table(main, lambda one: intervals(one, 2)), "", summary(main, 2), ""),
        f"Coverage of {', '.join(BEYOND[:-1])} and {BEYOND[-1]} at the last entropy, where known:",
        *("", *table(main, beyond), "", others(main), ""),
        "Per cent of runs with the caution about long memory · with that about the scatter · with the "
        "verdict that the law fails:",
        *("", *table(main, said), ""),
        "Four worlds that were set aside, and looked at once: ceiling · a, and what is said.",
        *("", *table(aside, lambda one: f"{intervals(one, 0)} · {said(one)}"), "", summary(aside, 0)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--without-set-aside", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    worlds = WORLDS if options.without_set_aside else (*WORLDS, *SET_ASIDE)
    tasks = [(world, n) for world in worlds for n in (*SIZES, *((LONG_RUN,) if world in LONG_MEMORY else ()))]
    seeds = [worlds.index(world) for world, _ in tasks]
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(cell, *zip(*tasks, strict=True), [options.runs] * len(tasks), seeds))
    lines = report(found, options.runs)
    print("\n".join(lines))
    if options.write:
        write_block("foreign", "\n".join(lines))


if __name__ == "__main__":
    main()
