"""Simulated runs whose law is known: entropy paths, residuals, and the interval of an oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

CEILING, A, SD = 0.55, 0.2, 0.01
"""The truth in every world: R = CEILING − A·(exp(H) − 1), and the sd of the drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One cell: n evaluations, drift with lag-1 correlation rho, white noise of variance ``noise`` drifts.

    ``entropy_noise`` is the sd, in nats, with which the entropy is logged.
    """

    path: str
    n: int
    rho: float
    noise: float
    entropy_noise: float = 0.0


def entropy_path(path: str, n: int) -> FloatArray:
    """Entropy from about 1 to about 0.05 nats over n evaluations, in one of three shapes.

    The engine's prior was chosen on "exponential" alone; "power" and "late" check it elsewhere.
    """
    time = np.arange(n) / (n - 1)
    shapes = {
        "exponential": 0.05 + 0.95 * np.exp(-4 * time),
        "power": 1 / (1 + 10 * time),
        "late": 0.05 + 0.95 / (1 + np.exp(12 * (time - 0.5))),
    }
    return shapes[path]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Runs of one world.

    ``step`` has shape (n,), the others (runs, n): ``entropy`` is as logged, ``true`` is the reward without
    sampling noise (law plus drift), ``rewards`` is what is logged. ``covariance`` (n, n) is the residual's.
    """

    step: FloatArray
    entropy: FloatArray
    true: FloatArray
    rewards: FloatArray
    covariance: FloatArray


def simulate(world: World, runs: int, seed: int) -> Sample:
    """Draw runs of a world. At rho = 0 a drift is noise like any other, and counts as noise."""
    rng = np.random.default_rng([seed, world.n, int(world.rho * 100), int(world.noise * 100)])
    step = np.arange(world.n, dtype=float)
    entropy = entropy_path(world.path, world.n)
    drifting = world.rho > 0
    drift = SD**2 * world.rho ** np.abs(step[:, None] - step[None, :])
    noise = SD**2 * (world.noise if drifting else 1.0 + world.noise)
    true = np.tile(CEILING - A * np.expm1(entropy), (runs, 1))
    if drifting:
        true += rng.standard_normal((runs, world.n)) @ np.linalg.cholesky(drift).T
    logged = np.tile(entropy, (runs, 1))
    if world.entropy_noise:
        logged = np.maximum(logged + world.entropy_noise * rng.standard_normal((runs, world.n)), 1e-3)
    return Sample(
        step=step,
        entropy=logged,
        true=true,
        rewards=true + np.sqrt(noise) * rng.standard_normal((runs, world.n)),
        covariance=drift * drifting + noise * np.eye(world.n),
    )


def oracle_width(entropy: FloatArray, covariance: FloatArray) -> float:
    """Width of the 95 % interval of the ceiling for somebody who knows the covariance."""
    design = np.stack([np.ones(entropy.size), -np.expm1(entropy)], axis=1)
    normal = design.T @ np.linalg.solve(covariance, design)
    return float(2 * 1.959963984540054 * np.sqrt(np.linalg.inv(normal)[0, 0]))
