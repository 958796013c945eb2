"""Differences between arms with few seeds: false differences, coverage, power, and what others find.

python -m benchmarks.arms             print the tables
python -m benchmarks.arms --write     and put them into docs/benchmarks/arms.md
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.worlds import FloatArray
from entropylaw import fit_law
from entropylaw.analysis.arms import compare_arms
from entropylaw.results.arms import ArmComparison
from entropylaw.results.fit import Fit

N, STEPS = 60, 400.0
CEILING, A = 0.6, 0.25
NOISE, DRIFT = 0.01, 0.006
QUESTIONS = 500
"""Questions per evaluation, for the bootstraps over them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Two arms: seeds of either, sd between seeds, decay times of the entropy, planted shift of the curve.

    ``failed`` seeds of the second arm lose their reward half-way; ``shape`` is the truth's.
    """

    name: str
    seeds: tuple[int, int] = (3, 3)
    between: float = 0.01
    decay: tuple[float, float] = (0.25, 0.25)
    floor: tuple[float, float] = (0.05, 0.05)
    start: tuple[float, float] = (1.0, 1.0)
    shift: float = 0.0
    failed: int = 0
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


def compared(cell: Cell, rng: np.random.Generator) -> tuple[ArmComparison, list[list[Fit]]]:
    arms: list[list[Fit]] = []
    for arm in (0, 1):
        fits = []
        for seed in range(cell.seeds[arm]):
            step, entropy, reward = run_of(cell, arm, arm == 1 and seed < cell.failed, rng)
            fits.append(fit_law(entropy, reward, step, run=f"{'ab'[arm]}_s{seed}"))
        arms.append(fits)
    return compare_arms({"a": arms[0], "b": arms[1]}, margin=0.01), arms
