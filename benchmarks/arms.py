"""Differences between arms with few seeds: false differences, coverage, power, and what others find.

python -m benchmarks.arms             print the tables
python -m benchmarks.arms --write     and put them into docs/benchmarks/arms.md
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_ind

from benchmarks.docs import write_block
from benchmarks.worlds import FloatArray
from entropylaw import fit_law
from entropylaw.analysis.arms import compare_arms
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmComparison
from entropylaw.results.fit import Fit

N, STEPS = 60, 400.0
CEILING, A = 0.6, 0.25
NOISE, DRIFT = 0.01, 0.006
QUESTIONS, BOOTSTRAPS = 500, 1000
"""Questions per evaluation, and draws of a bootstrap."""

MARGIN, RUNS = 0.01, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Two arms: seeds of either, sd between seeds, decay times of the entropy, planted shift of the curve.

    ``failed`` seeds of either lose their reward half-way; ``shape`` is the truth's, ``tails`` that of the
    spread between seeds.
    """

    name: str
    seeds: tuple[int, int] = (3, 3)
    between: float = 0.01
    decay: tuple[float, float] = (0.25, 0.25)
    floor: tuple[float, float] = (0.05, 0.05)
    start: tuple[float, float] = (1.0, 1.0)
    shift: float = 0.0
    failed: tuple[int, int] = (0, 0)
    shape: str = "law"
    tails: str = "normal"


def curve(shape: str, entropy: FloatArray) -> FloatArray:
    """Mean reward at an entropy."""
    if shape == "law":
        return CEILING - A * np.expm1(entropy)
    if shape == "hyperbola":
        return CEILING - 0.45 * entropy / (0.4 + entropy)
    if shape == "sigmoid":
        return 0.15 + 0.45 / (1 + np.exp((entropy - 0.5) / 0.12))
    raise ValueError(shape)


def run_of(
    cell: Cell, arm: int, failed: bool, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Step, entropy and reward of one seed."""
    step = np.linspace(0.0, STEPS, N)
    time = step / STEPS
    decay = cell.decay[arm] * np.exp(0.15 * rng.standard_normal())
    floor = cell.floor[arm] * np.exp(0.1 * rng.standard_normal())
    start = cell.start[arm] * np.exp(0.03 * rng.standard_normal())
    entropy = floor + (start - floor) * np.exp(-time / decay)
    own = cell.between * (rng.standard_normal() if cell.tails == "normal" else rng.standard_t(3) / np.sqrt(3))
    gap = np.abs(step[:, None] - step) / (0.15 * STEPS)
    drift = DRIFT * np.linalg.cholesky(np.exp(-gap) + 1e-9 * np.eye(N)) @ rng.standard_normal(N)
    reward = curve(cell.shape, entropy) + cell.shift * (arm == 1) + own + drift
    if failed:
        late = np.maximum(time - 0.5, 0.0) / 0.5
        reward -= (reward - 0.05) * np.minimum(3.0 * late, 1.0)
    return step, entropy, reward + NOISE * rng.standard_normal(N)


def compared(cell: Cell, rng: np.random.Generator) -> tuple[ArmComparison, list[FloatArray]]:
    """A comparison of two simulated arms, and the last rewards of their seeds."""
    arms: dict[str, list[Fit]] = {"a": [], "b": []}
    last: list[FloatArray] = []
    for arm, name in enumerate(arms):
        ends = []
        for seed in range(cell.seeds[arm]):
            step, entropy, reward = run_of(cell, arm, seed < cell.failed[arm], rng)
            arms[name].append(fit_law(entropy, reward, step, run=f"{name}_s{seed}"))
            ends.append(reward[-1])
        last.append(np.array(ends))
    return compare_arms(arms, margin=MARGIN), last


def peers(last: list[FloatArray], rng: np.random.Generator) -> dict[str, bool]:
    """Whether other methods call the last rewards of two arms different at 5 %."""
    answers = [rng.binomial(QUESTIONS, np.clip(one, 0.0, 1.0)) / QUESTIONS for one in last]
    # Over questions: the seeds of an arm are averaged per question, and the questions drawn anew.
    error = np.sqrt(sum(np.mean(one * (1 - one)) / one.size / QUESTIONS for one in answers))
    gap = float(answers[1].mean() - answers[0].mean())
    drawn = [one[rng.integers(one.size, size=(BOOTSTRAPS, one.size))].mean(axis=1) for one in answers]
    low, high = np.quantile(drawn[1] - drawn[0], [0.025, 0.975])
    return {
        "questions": abs(gap) > 1.959964 * error,
        "seeds": low > 0 or high < 0,
        "welch": bool(ttest_ind(answers[1], answers[0], equal_var=False).pvalue < 0.05),
        "t": bool(ttest_ind(answers[1], answers[0]).pvalue < 0.05),
    }


def final_entropy(cell: Cell, arm: int) -> float:
    """Entropy at the last step of a typical seed."""
    return float(cell.floor[arm] + (cell.start[arm] - cell.floor[arm]) * np.exp(-1.0 / cell.decay[arm]))


def measured(cell: Cell, runs: int, number: int) -> dict[str, float]:
    """Shares over simulated comparisons of a cell; nan where a number was never known."""
    rng, found = np.random.default_rng([7, number]), defaultdict(list)
    for _ in range(runs):
        comparison, last = compared(cell, rng)
        pair = comparison.pair("b", "a")
        assert pair is not None
        for name, found_by in peers(last, rng).items():
            found[name].append(float(found_by))
        one, final = pair["reward_at_entropy"], pair["last_reward"]
        found["refused"].append(float(one.p_value is None))
        found["last"].append(float(final.p_value is not None and final.p_value < 0.05))
        if one.p_value is not None:
            found["found"].append(float(one.p_value < 0.05))
            found["covered"].append(inside(one.estimate, cell.shift))
            found["width"].append(one.estimate.width or np.nan)
        if pair.band is not None:
            ends = zip(pair.band.low, pair.band.high, strict=True)
            found["band"].append(float(all(low <= cell.shift <= high for low, high in ends)))
        if (split := pair.split) is not None and split.shift.value is not None:
            final_rewards = [float(curve(cell.shape, np.array(final_entropy(cell, arm)))) for arm in (0, 1)]
            found["shift"].append(inside(split.shift, cell.shift))
            found["movement"].append(inside(split.movement, final_rewards[1] - final_rewards[0]))
    names = [
        "found",
        "covered",
        "band",
        "width",
        "shift",
        "movement",
        "refused",
        "last",
        "questions",
        "seeds",
        "welch",
        "t",
    ]
    return {name: float(np.mean(found[name])) if found[name] else np.nan for name in names}


def inside(estimate: Estimate, truth: float) -> float:
    """Whether an interval holds a number."""
    assert estimate.low is not None and estimate.high is not None  # noqa: PT018
    return float(estimate.low <= truth <= estimate.high)


WIDE = {"decay": (0.15, 0.4), "floor": (0.03, 0.25)}
FIFTH = {"start": (1.0, 0.37), "floor": (0.22, 0.05)}
"""Entropies that overlap by about a fifth of their range."""

CELLS = (
    *(
        Cell(name="same arm", seeds=(n, n), between=sd)
        for n, sd in ((2, 0.01), (3, 0.0), (3, 0.03), (6, 0.01))
    ),
    Cell(name="same arm, unequal numbers", seeds=(2, 6), between=0.01),
    Cell(name="same arm, between seeds 10 × within", between=0.06),
    Cell(name="same arm, one failed seed in either", failed=(1, 1), seeds=(4, 4)),
    Cell(name="same curve, other paths", **WIDE),
    Cell(name="same curve, other paths, no spread", between=0.0, **WIDE),
    Cell(name="shift of .03", shift=0.03),
    Cell(name="shift of .03, other paths", shift=0.03, seeds=(4, 4), **WIDE),
    Cell(name="shift of .03, a fifth in common", shift=0.03, seeds=(4, 4), **FIFTH),
    Cell(name="nothing in common", start=(1.0, 0.3), floor=(0.35, 0.05)),
)
ASIDE = (
    Cell(name="hyperbola, other paths", shape="hyperbola", **WIDE),
    Cell(name="late sigmoid, other paths", shape="sigmoid", **WIDE),
    Cell(name="seeds by Student's t(3)", tails="t"),
    Cell(
        name="hyperbola, shift of .03, a fifth in common",
        shape="hyperbola",
        shift=0.03,
        seeds=(4, 4),
        **FIFTH,
    ),
)
"""Another shape and another spread, looked at once the method was fixed."""

HEADS = (
    ("", ""),
    ("found", "differs"),
    ("covered", "interval covers"),
    ("band", "band covers"),
    ("width", "width"),
    ("shift", "shift covers"),
    ("movement", "movement covers"),
    ("refused", "refused"),
    ("last", "final reward differs"),
    ("t", "t-test"),
    ("welch", "Welch"),
    ("seeds", "bootstrap over seeds"),
    ("questions", "over questions"),
)


def table(cells: tuple[Cell, ...], runs: int, first: int) -> list[str]:
    """A row per cell, in per cent."""
    heads = ["truth", "seeds", *(head for _, head in HEADS[1:])]
    lines = ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for number, cell in enumerate(cells):
        found = measured(cell, runs, first + number)
        shown = (
            "—"
            if np.isnan(found[name])
            else f"{found[name]:.3f}"
            if name == "width"
            else f"{100 * found[name]:.0f}"
            for name, _ in HEADS[1:]
        )
        lines.append(f"| {cell.name} | {cell.seeds[0]} + {cell.seeds[1]} | " + " | ".join(shown) + " |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/arms.md")
    parser.add_argument("--runs", type=int, default=RUNS, help="comparisons per cell")
    options = parser.parse_args()
    text = [
        f"Shares of {options.runs} simulated comparisons per cell, in per cent; two arms of runs of {N} "
        "evaluations, each fitted. The columns on the left are of the reward at equal entropy, from *final "
        "reward differs* on of the reward at the last step. Nominal: 5 where nothing differs, 95 of "
        f"coverage. The bootstraps and the t-tests take the last evaluation over {QUESTIONS} questions.",
        "",
        *table(CELLS, options.runs, 0),
        "",
        "Set aside, looked at once:",
        "",
        *table(ASIDE, options.runs, 100),
    ]
    if options.write:
        write_block("arms", "\n".join(text))


if __name__ == "__main__":
    main()
