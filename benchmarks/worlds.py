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
    """One cell: n evaluations, drift with lag-1 correlation rho, white noise of variance ``noise`` drifts."""

    path: str
    n: int
    rho: float
    noise: float


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


def simulate(world: World, runs: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Steps (n,), entropy (n,), rewards (runs, n) and the true residual covariance (n, n)."""
    rng = np.random.default_rng([seed, world.n, int(world.rho * 100), int(world.noise * 100)])
    step = np.arange(world.n, dtype=float)
    entropy = entropy_path(world.path, world.n)
    lag = np.abs(step[:, None] - step[None, :])
    # At rho = 0 the drift is white already: 0 ** 0 = 1 on the diagonal, 0 elsewhere.
    covariance = SD**2 * (world.rho**lag + world.noise * np.eye(world.n))
    residual = rng.standard_normal((runs, world.n)) @ np.linalg.cholesky(covariance).T
    return step, entropy, CEILING - A * np.expm1(entropy) + residual, covariance


def oracle_width(entropy: FloatArray, covariance: FloatArray) -> float:
    """Width of the 95 % interval of the ceiling for somebody who knows the covariance."""
    design = np.stack([np.ones(entropy.size), -np.expm1(entropy)], axis=1)
    normal = design.T @ np.linalg.solve(covariance, design)
    return float(2 * 1.959963984540054 * np.sqrt(np.linalg.inv(normal)[0, 0]))
