"""Several runs and level shifts: size of the tests, coverage over seeds, false and missed shifts.

python -m benchmarks.shared                 print the tables
python -m benchmarks.shared --write         and put them into docs/benchmarks/shared.md
python -m benchmarks.shared --runs 1000     more groups and runs a cell
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from benchmarks.docs import write_block
from benchmarks.worlds import CEILING, SD, A, FloatArray, World, entropy_path, simulate
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.groups import marginal, product, seed_spread, welch_test
from entropylaw.analysis.law.inference import smooth_entropy
from entropylaw.analysis.level_shift import blocks, difference_test, find_level_shifts
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import drift_grid
from entropylaw.results import Estimate
from entropylaw.results.posterior import Posterior

SEED = 20261121

SPREAD = 0.02
"""Standard deviation of the ceiling between unlike seeds, twice the drift's; that of a is the same."""

RESIDUALS = ((0.0, 0.0), (0.6, 1.0), (0.9, 0.0), (0.9, 1.0))
"""Correlation of the drift, and noise in drifts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A cell: ``seeds`` runs of one world, whose ceiling and a vary with sd ``spread``."""

    world: World
    seeds: int
    spread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """Shares of groups: the test rejects; ends cover the truth (the mean over seeds, or a new seed)."""

    group: Group
    rejected: float
    ceiling: float
    a: float
    answer: float
    new_seed: float | None


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
    parser.add_argument("--runs", type=int, default=300, help="simulated groups, and runs, per cell")
    parser.add_argument("--jobs", type=int, default=None, help="processes; all processors where not given")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/shared.md")
    arguments = parser.parse_args()
    groups = [
        Group(world=World(path="exponential", n=n, rho=rho, noise=noise), seeds=seeds, spread=spread)
        for n, (rho, noise), seeds, spread in itertools.product((30, 60), RESIDUALS, (2, 4), (0.0, SPREAD))
    ]
    groups += [
        Group(world=World(path="exponential", n=200, rho=rho, noise=noise), seeds=4, spread=spread)
        for (rho, noise), spread in itertools.product(RESIDUALS[2:], (0.0, SPREAD))
    ]
    worlds = [
        ShiftWorld(path=path, n=n, rho=rho, noise=noise, jump=jump, heavy=heavy)
        for path, n, (rho, noise), jump, heavy in itertools.product(
            ("exponential", "power", "late"), (30, 60, 200), RESIDUALS, (0.0, 3.0, 6.0), (False, True)
        )
        # Jumps along one path, heavy tails where there is noise to have them.
        if (path == "exponential" or (jump == 0 and rho > 0)) and (noise > 0 or not heavy)
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        shared = list(pool.map(run_group, groups, [arguments.runs] * len(groups)))
        shifts = list(pool.map(run_shifts, worlds, [arguments.runs] * len(worlds)))
    text = table(shared, shifts, arguments.runs)
    print(text)
    if arguments.write:
        write_block("shared", text)


def run_group(group: Group, runs: int) -> GroupResult:
    k = group.seeds
    rng = np.random.default_rng([SEED, group.world.n, k, int(1000 * group.spread)])
    sample = simulate(group.world, runs * k, SEED + k)
    designs = design(law_column(np.array([smooth_entropy(row).entropy for row in sample.entropy])))
    shift = group.spread * rng.standard_normal((runs * k, 2))
    rewards = (
        sample.rewards + shift[:, :1] - shift[:, 1:] * np.expm1(entropy_path(group.world.path, group.world.n))
    )
    ahead = CEILING + group.spread * rng.standard_normal(runs)
    posteriors = infer(sample.step, designs, rewards, drift_grid(sample.step))
    seen = [
        _judged([posteriors[j].pruned() for j in range(i * k, (i + 1) * k)], ahead[i]) for i in range(runs)
    ]
    rejected, ceiling, a, answer, new_seed = np.mean(np.array(seen, dtype=float), axis=0)
    return GroupResult(
        group=group,
        rejected=rejected,
        ceiling=ceiling,
        a=a,
        answer=answer,
        new_seed=None if np.isnan(new_seed) else new_seed,
    )


def _judged(posteriors: Sequence[Posterior], ahead: float) -> tuple[float, ...]:
    """What :func:`entropylaw.analysis.groups.share` does, for the questions of the table."""
    parts = [marginal(posterior, np.eye(2)) for posterior in posteriors]
    moments = [part.moments() for part in parts]
    test = welch_test(
        np.array([mean for mean, _ in moments]),
        np.array([scale for _, scale in moments]),
        np.array([part.df for part in parts]),
        hypothesis="",
    )
    points = product(parts)
    ceiling, a = (points.estimate(row, level=0.95, method="") for row in np.eye(2))
    spread = seed_spread("ceiling", posteriors, ceiling)
    new_seed = np.nan if spread.new_seed.low is None else float(_covers(spread.new_seed, ahead))
    return (
        float(test.differs),
        float(_covers(ceiling, CEILING)),
        float(_covers(a, A)),
        float(_covers(spread.answer, CEILING)),
        new_seed,
    )


def _covers(estimate: Estimate, truth: float) -> bool:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= truth <= estimate.high


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


def table(shared: Sequence[GroupResult], shifts: Sequence[ShiftResult], runs: int) -> str:
    """Markdown: groups of runs, then level shifts."""
    error = 100 * np.sqrt(0.05 * 0.95 / runs)
    lines = [
        f"{runs} simulated groups of runs, or runs, per cell; a share of 5 % has a standard error of "
        f"{error:.1f} points; seed {SEED}.",
        "",
        "Several runs: how often the test rejects a common law (nominal 5 where seeds are "
        f"alike; unlike seeds differ with sd {SPREAD} in a and in the ceiling), and how often 95 % intervals "
        "cover, in per cent. Recipe: the wider of common and between seeds, for the mean over seeds.",
        "",
        "| n | ρ | noise / drift | runs | seeds | rejected | common ceiling | common a | recipe's ceiling "
        "| a new seed's |",
        "| ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in shared:
        w = one.group.world
        new = "—" if one.new_seed is None else f"{100 * one.new_seed:.0f}"
        lines.append(
            f"| {w.n} | {w.rho:g} | {w.noise:g} | {one.group.seeds} "
            f"| {'unlike' if one.group.spread else 'alike'} | {100 * one.rejected:.1f} "
            f"| {100 * one.ceiling:.0f} | {100 * one.a:.0f} | {100 * one.answer:.0f} | {new} |"
        )
    lines += [
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
