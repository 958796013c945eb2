"""Differences between arms with few seeds: false decisions, coverage, power, and bands of curves.

A third of the curves are of logs that no part of the package has as a model, and the tables say which.

python -m benchmarks.arms                       print the tables
python -m benchmarks.arms --write               and put them into docs/benchmarks/arms.md
python -m benchmarks.arms --runs 1000 --jobs 16 more draws, in several processes

Needs numpy, scipy, msgspec and the package: numbers per seed are drawn, and runs without their fits.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import Pool
from typing import Any

import numpy as np
from scipy.special import stdtr
from scipy.stats import alexandergovern, f_oneway

from entropylaw.analysis.arms import compare_rewards
from entropylaw.analysis.between_seeds import contrast, equal_means, holm, squares, welch
from entropylaw.analysis.seeds import FEWEST_SEEDS
from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import smoothed_entropy
from entropylaw.results.arms import AT_END, Along, Decision, RunSeries

RUNS, LEVEL = 300, 0.95


# -- numbers per seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Two numbers per seed, correlated by a half: arms and seeds, spreads, deaths, and one arm's shift.

    The baseline has ``more`` seeds than the others. ``unlike`` is the arm whose spread is ``times`` that of
    the others, 0 the baseline; the numbers are normal, ``"t4"`` or ``"skewed"``.
    """

    arms: int
    seeds: int
    more: int = 0
    unlike: int = 1
    times: float = 1.0
    deaths: float = 0.0
    shift: float = 0.0
    shape: str = "normal"


def drawn(cell: Numbers, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Both numbers of the living seeds (2, n), and their arms (n,)."""
    arm = np.repeat(np.arange(cell.arms), [cell.seeds + cell.more] + [cell.seeds] * (cell.arms - 1))
    own = rng.standard_normal((2, arm.size))
    own[1] = 0.5 * own[0] + np.sqrt(0.75) * own[1]
    if cell.shape == "t4":
        own /= np.sqrt(rng.chisquare(4.0, (1, arm.size)) / 4.0)
    elif cell.shape == "skewed":
        # Log-normal, of mean 0 and standard deviation 1.
        own = (np.exp(0.7 * own) - np.exp(0.245)) / np.sqrt(np.expm1(0.49) * np.exp(0.49))
    own *= np.where(arm == cell.unlike, cell.times, 1.0)
    own += cell.shift * (arm == 1)
    alive = rng.random(arm.size) >= cell.deaths
    return own[:, alive], arm[alive]


def of_numbers(cell: Numbers, rng: np.random.Generator) -> dict[str, float]:
    """Any decision, that on the first arm, both also by the pooled and by Welch's t-test; and coverage."""
    values, arm = drawn(cell, rng)
    counts = np.bincount(arm, minlength=cell.arms)
    p_values: dict[str, list[float]] = {"": [], ", pooled": [], ", welch": []}
    covered: list[bool] = []
    first: list[int] = []
    for value in values:
        # With fewer than two living seeds of an arm, nothing is decided of it.
        if counts[0] < FEWEST_SEEDS:
            continue
        free = int(np.maximum(counts - 1, 0).sum())
        variance = float(squares(value, arm).sum()) / free
        for number in range(1, int(arm.max()) + 1):
            if counts[number] < FEWEST_SEEDS:
                continue
            gap = contrast(value, arm, [number, 0])
            truth = cell.shift if number == 1 else 0.0
            if number == 1:
                first.append(len(covered))
            covered.append(abs(gap.value - truth) <= gap.reach(LEVEL))
            error = np.sqrt(variance * (1 / counts[number] + 1 / counts[0]))
            p_values[""].append(gap.p_value)
            p_values[", pooled"].append(float(2 * stdtr(free, -abs(gap.value) / error)))
            p_values[", welch"].append(welch(value[arm == number], value[arm == 0]))
    if not covered:
        return {}
    found = {"covered": float(np.mean(covered))}
    for test, of_test in p_values.items():
        decided = np.array(holm(of_test)) < 1.0 - LEVEL
        found[f"any{test}"] = float(decided.any())
        if first:
            found[f"found{test}"] = float(decided[first].any())
    return found


def of_all_arms(cell: Numbers, rng: np.random.Generator) -> dict[str, float]:
    """Whether all arms at once are found to differ: by the package's test and by two others."""
    (value, _), arm = drawn(cell, rng)
    groups = [value[arm == number] for number in range(cell.arms)]
    p_values = {
        "ours": equal_means(*groups),
        "welch": f_oneway(*groups, equal_var=False).pvalue,
        "alexander-govern": alexandergovern(*groups).pvalue,
    }
    return {name: float(p < 1.0 - LEVEL) for name, p in p_values.items()}


SHIFTS = {2: 4.5, 3: 2.8, 6: 1.8}
"""Seeds → a shift of one arm, in standard deviations, that the pooled t-test finds in 50 to 90 %."""


def numbers(shape: str = "normal", seeds: Iterable[int] = SHIFTS) -> dict[str, Mapping[str, Numbers]]:
    """Arms × seeds → the cells of a row."""
    rows = {}
    for arms, count in product((2, 5, 12), seeds):
        plain = Numbers(arms=arms, seeds=count, shape=shape)
        rows[f"{arms} × {count}"] = {
            "equal": plain,
            "other": replace(plain, unlike=1, times=3.0),
            "baseline": replace(plain, unlike=0, times=3.0),
            "deaths": replace(plain, deaths=0.25),
            "shifted": replace(plain, shift=SHIFTS[count]),
        }
    return rows


UNEQUAL = {
    "2 seeds against 5": Numbers(arms=2, seeds=2, more=3),
    "2 seeds, 3 × as wide, against 5": Numbers(arms=2, seeds=2, more=3, times=3.0),
    "2 seeds against 5, 3 × as wide": Numbers(arms=2, seeds=2, more=3, unlike=0, times=3.0),
    "four arms of 3, one 3 × as wide, against 8": Numbers(arms=5, seeds=3, more=5, times=3.0),
}
UNEQUAL_SHIFTED = {
    "2 seeds, shifted, against 5": Numbers(arms=2, seeds=2, more=3, shift=3.2),
    "four arms of 3, one shifted, against 8": Numbers(arms=5, seeds=3, more=5, shift=2.4),
}


# -- curves


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Arms of runs: the truth's shape, the noise of the entropy, their paths, and a shift of the second.

    A path is the decay time, the floor and the start of the entropy; arms take the paths by turns.
    ``every`` logged entropies there is an evaluation. The seeds of the baseline differ by ``times`` as much.

    What no part of the package has as a model: rewards logged as moving averages of the weight ``smoothed``
    in the baseline and in the other arms, runs that end anywhere after the ``shortest`` share of the longest,
    and seeds whose levels have the ``tails`` of Student's t.
    """

    shape: str = "law"
    noise: float = 0.0
    paths: tuple[tuple[float, float, float], tuple[float, float, float]] = (
        (0.15, 0.03, 1.0),
        (0.4, 0.25, 1.0),
    )
    shift: float = 0.0
    arms: int = 2
    seeds: int = 3
    every: int = 1
    along: str = "entropy"
    times: float = 1.0
    smoothed: tuple[float, float] = (0.0, 0.0)
    shortest: float = 1.0
    tails: float = np.inf


def truth(shape: str, entropy: FloatArray) -> FloatArray:
    """Mean reward at an entropy."""
    shapes: dict[str, Callable[[FloatArray], FloatArray]] = {
        "law": lambda h: 0.6 - 0.25 * np.expm1(h),
        "sigmoid": lambda h: 0.15 + 0.45 / (1 + np.exp((h - 0.5) / 0.12)),
        "steep": lambda h: 0.7 * np.exp(-h / 0.15),
        "hump": lambda h: 0.6 - 1.2 * (h - 0.4) ** 2,
        "bent line": lambda h: 0.6 - 0.2 * h - 0.5 * np.maximum(h - 0.5, 0.0),
    }
    return shapes[shape](entropy)


N = 60


def run_of(cell: Curves, arm: int, name: str, rng: np.random.Generator) -> RunSeries:
    """One seed: its own path and level, drift, and noise in reward and entropy."""
    time = np.linspace(0.0, 1.0, N * cell.every)
    decay, floor, start = np.array(cell.paths[arm % 2]) * np.exp(
        np.array([0.15, 0.1, 0.03]) * rng.standard_normal(3)
    )
    path = floor + (start - floor) * np.exp(-time / decay)
    at = slice(None, None, cell.every)
    logged = np.maximum(path + cell.noise * rng.standard_normal(time.size), 1e-3)
    gap = np.abs(time[at][:, None] - time[at]) / 0.15
    drift = 0.006 * np.linalg.cholesky(np.exp(-gap) + 1e-9 * np.eye(N)) @ rng.standard_normal(N)
    level = 0.01 * rng.standard_normal()
    if np.isfinite(cell.tails):
        level /= np.sqrt(rng.chisquare(cell.tails) / cell.tails)
    own = (cell.times if arm == 0 else 1.0) * (level + drift)
    reward = truth(cell.shape, path[at]) + cell.shift * (arm == 1) + own
    column = logged if cell.along == "entropy" else 1.0 - 0.8 * logged
    smooth = smoothed_entropy(time, column, time[at])
    reward = moving_average(reward + 0.01 * rng.standard_normal(N), cell.smoothed[min(arm, 1)])
    until = int(np.ceil(N * rng.uniform(cell.shortest, 1.0)))
    return RunSeries(
        run=name,
        step=400.0 * time[at][:until],
        reward=reward[:until],
        along=smooth.entropy[:until],
        error=smooth.sd[:until],
    )


def moving_average(reward: FloatArray, weight: float) -> FloatArray:
    """The exponential moving average of rewards (n,), as trackers draw it: 0 leaves them as they are."""
    average = reward.copy()
    for i in range(1, reward.size):
        average[i] = weight * average[i - 1] + (1.0 - weight) * reward[i]
    return average


def of_curves(cell: Curves, rng: np.random.Generator) -> dict[str, float]:
    """Whether any band leaves out the truth, and how often intervals at equal entropy hold it.

    With it whether anything is decided of the final rewards, which are the same where all arms take one path,
    and whether there is a caution on logs that are smoothed unlike.
    """
    arms = {
        name: [run_of(cell, arm, f"{name}{seed}", rng) for seed in range(cell.seeds)]
        for arm, name in enumerate("abcdefghijkl"[: cell.arms])
    }
    along = Along() if cell.along == "entropy" else Along(column=cell.along, unit="")
    outside, covered, decided = [], [], []
    (result,) = compare_rewards({"": arms}, baseline="a", along=along, margin=0.01)
    for pair in result.pairs:
        end = pair.first_of(*AT_END)
        decided.append(end is not None and end.decision in (Decision.above, Decision.below))
        equal = pair[along.quantity].estimate
        if pair.band is None or equal.low is None or equal.high is None:
            return {"refused": 1.0}
        shift = cell.shift if pair.arm == "b" else 0.0
        outside.append(max(pair.band.low) > shift or min(pair.band.high) < shift)
        covered.append(equal.low <= shift <= equal.high)
    return {
        "refused": 0.0,
        "band": float(any(outside)),
        "covered": float(np.mean(covered)),
        "caution": float(any(finding.code == "smoothed-unlike" for finding in result.findings)),
    } | ({"end": float(any(decided))} if cell.paths == SAME and not cell.shift else {})


SAME = ((0.25, 0.05, 1.0), (0.25, 0.05, 1.0))
CURVES = {
    "nothing in common": Curves(paths=((0.25, 0.35, 1.0), (0.25, 0.05, 0.3))),
    **{
        f"{arms} arms: sigmoid, other paths, baseline 3 ×": Curves(arms=arms, shape="sigmoid", times=3.0)
        for arms in (2, 5, 12)
    },
}
CURVES_ASIDE = {
    **{f"{shape}, other paths": Curves(shape=shape) for shape in ("steep", "hump", "bent line")},
    "hump, other paths, entropy ± 0.04": Curves(shape="hump", noise=0.04),
    "bent line, slow against fast, entropy ± 0.04, three entropies per evaluation": Curves(
        shape="bent line", noise=0.04, every=3, paths=((0.1, 0.05, 0.9), (0.7, 0.1, 1.1))
    ),
    "steep, shift of .03, four seeds": Curves(shape="steep", shift=0.03, seeds=4),
    "hump, shift of .03 at equal pass rate, other paths": Curves(
        shape="hump", shift=0.03, along="pass@1", seeds=4
    ),
}


FITTED_BY_NOTHING = {
    "law, every log an average of weight .9": Curves(paths=SAME, smoothed=(0.9, 0.9)),
    "steep, every log an average of weight .95": Curves(shape="steep", paths=SAME, smoothed=(0.95, 0.95)),
    "law, one arm's log an average of weight .9": Curves(paths=SAME, smoothed=(0.0, 0.9)),
    "sigmoid, one arm's log an average of weight .95": Curves(
        shape="sigmoid", paths=SAME, smoothed=(0.0, 0.95)
    ),
    "hump, runs of 60 to 100 % of the steps": Curves(shape="hump", paths=SAME, shortest=0.6, seeds=4),
    "steep, 5 arms, runs of 60 to 100 %": Curves(shape="steep", paths=SAME, shortest=0.6, arms=5, seeds=4),
    "bent line, levels of seeds with t of 2.5": Curves(shape="bent line", paths=SAME, tails=2.5),
    "sigmoid, 12 arms, levels of seeds with t of 2.5": Curves(
        shape="sigmoid", paths=SAME, tails=2.5, arms=12
    ),
    "hump, all of it: averages of .9, 60 to 100 %, t of 2.5": Curves(
        shape="hump", paths=SAME, smoothed=(0.9, 0.9), shortest=0.6, tails=2.5, seeds=4
    ),
}
"""Worlds of which no part of the package has a model."""


# -- tables


Draw = Callable[[Any, np.random.Generator], dict[str, float]]


def mean_of(work: tuple[Draw, Any, int, int]) -> dict[str, float]:
    """Means over the draws of a cell, whose random numbers follow from its place."""
    draw, cell, runs, place = work
    rng = np.random.default_rng([11, place])
    found: dict[str, list[float]] = {}
    for _ in range(runs):
        for name, value in draw(cell, rng).items():
            found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


Mapped = Callable[[list[tuple[Draw, Any, int, int]]], list[dict[str, float]]]


def numbers_table(
    rows: dict[str, Mapping[str, Numbers]], runs: int, first: int, mapped: Mapped
) -> Iterator[str]:
    """False decisions where nothing differs, coverage, and power for one shifted arm, per cent."""
    yield "| arms × seeds | equal | one arm 3 × | baseline 3 × | deaths | covered | power | pooled t-test |"
    yield "| --- |" + " ---: |" * 7
    drawn_cells = [cell for cells in rows.values() for cell in cells.values()]
    found = iter(mapped([(of_numbers, cell, runs, first + i) for i, cell in enumerate(drawn_cells)]))
    for name, cells in rows.items():
        known = {kind: next(found) for kind in cells}
        shares = [known[kind]["any"] for kind in ("equal", "other", "baseline", "deaths")]
        shares += [known["equal"]["covered"]]
        shares += [known["shifted"]["found"], known["shifted"]["found, pooled"]]
        yield f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |"


def unequal_table(runs: int, first: int, mapped: Mapped) -> Iterator[str]:
    """False decisions and coverage where nothing differs, and power, per cent, with unequal seeds."""
    yield "| seeds | decided | by the pooled t-test | by Welch's | covered |"
    yield "| --- |" + " ---: |" * 4
    cells = [*UNEQUAL.items(), *UNEQUAL_SHIFTED.items()]
    found = mapped([(of_numbers, cell, runs, first + i) for i, (_, cell) in enumerate(cells)])
    for (name, cell), known in zip(cells, found, strict=True):
        what = "found" if cell.shift else "any"
        shares = [known[key] for key in (what, f"{what}, pooled", f"{what}, welch", "covered")]
        yield f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |"


def all_arms_table(runs: int, first: int, mapped: Mapped) -> Iterator[str]:
    """How often all arms at once are found to differ where they do not, per cent, by three tests."""
    yield "| arms × seeds | all at once | Welch | Alexander–Govern |"
    yield "| --- |" + " ---: |" * 3
    rows = {name: cells["equal"] for name, cells in numbers().items() if cells["equal"].arms > 2}
    found = mapped([(of_all_arms, cell, runs, first + i) for i, cell in enumerate(rows.values())])
    for name, known in zip(rows, found, strict=True):
        shares = [known[test] for test in ("ours", "welch", "alexander-govern")]
        yield f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |"


def curves_table(cells: dict[str, Curves], runs: int, first: int, mapped: Mapped) -> Iterator[str]:
    """How often the band leaves out the truth, the interval at equal entropy holds it, and it is refused."""
    keys = ("band", "covered", "end", "caution", "refused")
    yield "| truth | band leaves it out | interval covers | end decided | caution | refused |"
    yield "| --- |" + " ---: |" * len(keys)
    found = mapped([(of_curves, cell, runs, first + i) for i, cell in enumerate(cells.values())])
    for name, known in zip(cells, found, strict=True):
        shares = [f"{100 * known[key]:.1f}" if key in known else "—" for key in keys]
        yield f"| {name} | {' | '.join(shares)} |"


def tables(runs: int, mapped: Mapped) -> Iterator[str]:
    """All tables, with what they show."""
    yield (
        f"Shares of {runs} draws per cell, in per cent. *Equal* to *deaths*: any decision in the family of "
        "two correlated numbers over all arms where nothing differs, with equal spreads, with another spread "
        "of one arm or of the baseline, and where a quarter of the seeds died. *Power*: one shifted arm is "
        "found, and by the pooled t-test with the same adjustment. *End decided*: any decision on the final "
        "rewards, which are the same there; *caution*: arms are called smoothed unlike."
    )
    set_aside = {
        f"{name}, {named}": cells
        for shape, named in (("t4", "t of 4 degrees of freedom"), ("skewed", "log-normal"))
        for name, cells in numbers(shape, (3,)).items()
    }
    curves = CURVES | CURVES_ASIDE | FITTED_BY_NOTHING
    parts: tuple[tuple[str, Iterator[str]], ...] = (
        ("Numbers per seed", numbers_table(numbers() | set_aside, runs, 0, mapped)),
        ("Unequal seeds: nothing differs, or one arm is shifted", unequal_table(5 * runs, 2500, mapped)),
        ("Where nothing differs: all arms at once", all_arms_table(5 * runs, 2000, mapped)),
        ("Curves of arms of three seeds, two arms where not said", curves_table(curves, runs, 1000, mapped)),
    )
    for heading, lines in parts:
        yield f"\n**{heading}**\n"
        for line in lines:
            print(line, flush=True)
            yield line


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/arms.md")
    parser.add_argument("--runs", type=int, default=RUNS, help="draws per cell")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    with Pool(options.jobs) as pool:
        text = list(tables(options.runs, partial(pool.map, mean_of, chunksize=1)))
    if options.write:
        from benchmarks.docs import write_block

        write_block("arms", "\n".join(text))


if __name__ == "__main__":
    main()
