"""Level shifts: false and missed ones, and the test that both sides follow one law.

python -m benchmarks.level_shifts                 print the tables
python -m benchmarks.level_shifts --write         and put them into docs/benchmarks/level_shifts.md
python -m benchmarks.level_shifts --runs 1000     more runs per cell
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from benchmarks.docs import write_block
from benchmarks.worlds import CEILING, SD, A, FloatArray, entropy_path
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.inference import smooth_entropy
from entropylaw.analysis.level_shift import blocks, difference_test, find_level_shifts
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import drift_grid

SEED = 20261121

RESIDUALS = ((0.0, 0.0), (0.6, 1.0), (0.9, 0.0), (0.9, 1.0))
"""Correlation of the drift, and noise in drifts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftWorld:
    """A cell: a run of one world that jumps in its middle by ``jump`` residual sds, in both series."""

    path: str
    n: int
    rho: float
    noise: float
    jump: float
    heavy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftResult:
    """Shares of runs: a false shift anywhere; the true one detected within one evaluation, by series.

    ``chow`` is how often the segments on both sides of the middle are said to differ.
    """

    world: ShiftWorld
    false: float
    reward: float
    entropy: float
    chow: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300, help="simulated runs per cell")
    parser.add_argument("--jobs", type=int, default=None, help="processes; all processors where not given")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    arguments = parser.parse_args()
    worlds = [
        ShiftWorld(path=path, n=n, rho=rho, noise=noise, jump=jump, heavy=heavy)
        for path, n, (rho, noise), jump, heavy in itertools.product(
            ("exponential", "power", "late"), (30, 60, 200), RESIDUALS, (0.0, 3.0, 6.0), (False, True)
        )
        # Jumps along one path, heavy tails where there is noise to have them.
        if (path == "exponential" or (jump == 0 and rho > 0)) and (noise > 0 or not heavy)
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        shifts = list(pool.map(run_shifts, worlds, [arguments.runs] * len(worlds)))
    text = table(shifts, arguments.runs)
    print(text)
    if arguments.write:
        write_block("level_shifts", text)


def run_shifts(world: ShiftWorld, runs: int) -> ShiftResult:
    found = []
    step = np.arange(world.n, dtype=float)
    middle = world.n // 2
    entropies, rewards = shifted_runs(world, runs)
    for entropy, reward in zip(entropies, rewards, strict=True):
        shifts = find_level_shifts(step, entropy, reward)
        right = {shift.series for shift in shifts if world.jump and abs(shift.step - middle) <= 1}
        false = any(not world.jump or abs(shift.step - middle) > 1 for shift in shifts)
        found.append((false, "reward" in right, "entropy" in right))
    false, reward, entropy = np.mean(found, axis=0)
    return ShiftResult(
        world=world, false=false, reward=reward, entropy=entropy, chow=_chow(step, entropies, rewards)
    )


def _chow(step: FloatArray, entropies: FloatArray, rewards: FloatArray) -> float:
    """How often the test rejects one law for both halves of a run."""
    half = step.size // 2
    group = (np.arange(step.size) >= half).astype(int)
    ours: list[FloatArray] = []
    one: list[FloatArray] = []
    for entropy in entropies:
        smoothed = np.concatenate([smooth_entropy(part).entropy for part in (entropy[:half], entropy[half:])])
        one.append(design(law_column(smoothed)))
        ours.append(blocks(one[-1], group))
    fits = infer(step, np.array(ours), rewards, drift_grid(step))
    same = infer(step, np.array(one), rewards, drift_grid(step))
    pairs = zip(fits, same, strict=True)
    tests = [difference_test(*pair, np.eye(4)[2:], hypothesis="", method="") for pair in pairs]
    return float(np.mean([test.differs for test in tests]))


def shifted_runs(world: ShiftWorld, runs: int) -> tuple[FloatArray, FloatArray]:
    """Entropies and rewards, each (runs, n): path and law, drift, noise, and the jump.

    The entropy's drift and noise have the reward's correlation and ratio, and an sd of 0.02 nats. Heavy
    noise is a Student t of 3 degrees of freedom, scaled to the same variance.
    """
    rng = np.random.default_rng([SEED, world.n, int(100 * world.rho), int(world.noise), int(world.heavy)])
    path = entropy_path(world.path, world.n)
    gap = np.abs(np.subtract.outer(np.arange(world.n), np.arange(world.n)))
    root = np.linalg.cholesky(world.rho**gap) if world.rho else np.eye(world.n)
    after = np.arange(world.n) >= world.n // 2
    series = []
    for sd in (0.02, SD):
        noise = rng.standard_t(3, (runs, world.n)) / np.sqrt(3) if world.heavy else 0.0
        noise = noise if world.heavy else rng.standard_normal((runs, world.n))
        residual = rng.standard_normal((runs, world.n)) @ root.T + np.sqrt(world.noise) * noise
        size = world.jump * np.sqrt(1.0 + world.noise)
        series.append(sd * (residual + size * after))
    entropy = np.maximum(path + series[0], 1e-3)
    return entropy, CEILING - A * np.expm1(path) + series[1]


def table(shifts: Sequence[ShiftResult], runs: int) -> str:
    """Markdown: a row per cell."""
    error = 100 * np.sqrt(0.05 * 0.95 / runs)
    lines = [
        f"{runs} simulated runs per cell; a share of 5 % has a standard error of "
        f"{error:.1f} points; seed {SEED}.",
        "",
        "Level shifts: runs with a false one (in either series, at any step but the true one and its "
        "neighbours), and shifts detected within one evaluation, in per cent. Sizes are in residual standard "
        "deviations (drift and noise together). Chow: how often the test rejects one law for both halves "
        "(nominal 5 without a shift).",
        "",
        "| entropy | n | ρ | noise / drift | size | false | detected, reward | detected, entropy | Chow |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for cell in shifts:
        v = cell.world
        missed = "| — | — " if not v.jump else f"| {100 * cell.reward:.0f} | {100 * cell.entropy:.0f} "
        lines.append(
            f"| {v.path}{', heavy tails' if v.heavy else ''} | {v.n} | {v.rho:g} | {v.noise:g} | {v.jump:g} "
            f"| {100 * cell.false:.1f} {missed}| {100 * cell.chow:.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
