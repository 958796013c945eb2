"""Simulated runs whose law is known: entropy paths, steps, residuals, and the interval of an oracle."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

CEILING, A, SD = 0.55, 0.2, 0.01
"""The truth in every world: R = CEILING − A·(exp(H) − 1), and the sd of the drift."""

PATHS = ("exponential", "power", "plateau", "rebound")
STEPS = ("even", "dense", "gaps")
RESIDUALS = ("gaussian", "t4", "binomial")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One cell.

    Attributes
    ----------
    path
        Shape of the entropy's fall, see :func:`entropy_path`.
    n
        Evaluations.
    rho
        Correlation of the drift at steps that are the mean spacing apart; 0 for no drift.
    noise
        Variance of the white noise over that of the drift.
    entropy_noise
        Sd, in nats, with which the entropy is logged.
    steps
        "even"; "dense" at the start (step ∝ index²); or "gaps": exponential random gaps.
    residual
        The noise's distribution: "gaussian", "t4" (Student's t with 4 degrees of freedom), or "binomial"
        (a rate over as many samples as give that variance).
    """

    path: str
    n: int
    rho: float
    noise: float
    entropy_noise: float = 0.0
    steps: str = "even"
    residual: str = "gaussian"


def entropy_path(path: str, time: FloatArray | int) -> FloatArray:
    """Entropy in nats at times from 0 to 1 (or at so many even ones), from about 1 to about 0.05.

    The engine's prior was chosen on "exponential" alone, with even steps and Gaussian noise; the others
    check it elsewhere. "plateau" falls, stays at 0.5 for a third of the run and falls again; "rebound"
    falls to 0.1 and comes back to 0.3.
    """
    t = np.linspace(0.0, 1.0, time) if isinstance(time, int) else time
    if path == "exponential":
        return 0.05 + 0.95 * np.exp(-4 * t)
    if path == "power":
        return 1 / (1 + 10 * t)
    if path == "late":
        return 0.05 + 0.95 / (1 + np.exp(12 * (t - 0.5)))
    if path == "plateau":
        return 0.05 + 0.5 / (1 + np.exp(20 * (t - 0.15))) + 0.45 / (1 + np.exp(20 * (t - 0.8)))
    if path == "rebound":
        return 0.1 + 0.9 * np.exp(-7 * t) + 0.2 * t**2
    raise ValueError(path)


def steps_of(world: World, rng: np.random.Generator) -> FloatArray:
    """Steps from 0 with a mean spacing of 1."""
    n = world.n
    if world.steps == "even":
        return np.arange(n, dtype=float)
    if world.steps == "dense":
        # The first gap is a tenth of the mean, the last about twice.
        time = np.linspace(0.0, 1.0, n)
        return (n - 1) * (0.1 * time + 0.9 * time**2)
    gaps = 0.05 + rng.exponential(1.0, n - 1)
    return np.append(0.0, np.cumsum(gaps)) * (n - 1) / gaps.sum()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Runs of one world.

    ``step`` has shape (n,), the others (runs, n): ``entropy`` is as logged, ``true`` is the reward without
    sampling noise (law plus drift), ``rewards`` is what is logged. ``path`` (n,) is the entropy itself and
    ``covariance`` (n, n) the residual's. ``at`` is half of the last entropy, ``fresh`` (runs,) the reward
    of a further evaluation there, with a drift and a noise of its own.
    """

    step: FloatArray
    path: FloatArray
    entropy: FloatArray
    true: FloatArray
    rewards: FloatArray
    covariance: FloatArray
    at: float
    fresh: FloatArray


def simulate(world: World, runs: int, seed: int) -> Sample:
    """Draw runs of a world. At rho = 0 a drift is noise like any other, and counts as noise."""
    name = f"{world.path} {world.steps} {world.residual}"
    cell = [world.n, int(world.rho * 100), int(world.noise * 100), zlib.crc32(name.encode())]
    rng = np.random.default_rng([seed, *cell])
    step = steps_of(world, rng)
    path = entropy_path(world.path, step / step[-1])
    drifting = world.rho > 0
    drift = SD**2 * world.rho ** np.abs(step[:, None] - step[None, :])
    variance = SD**2 * (world.noise if drifting else 1.0 + world.noise)
    law = CEILING - A * np.expm1(path)
    true = np.tile(law, (runs, 1))
    if drifting:
        true += rng.standard_normal((runs, world.n)) @ np.linalg.cholesky(drift).T
    logged = np.tile(path, (runs, 1))
    if world.entropy_noise:
        logged = np.maximum(logged + world.entropy_noise * rng.standard_normal((runs, world.n)), 1e-3)
    at = float(path[-1]) / 2
    there = CEILING - A * np.expm1(at) + SD * drifting * rng.standard_normal((runs, 1))
    return Sample(
        step=step,
        path=path,
        entropy=logged,
        true=true,
        rewards=measured(true, variance, world.residual, rng),
        covariance=drift * drifting + variance * np.eye(world.n),
        at=at,
        fresh=measured(there, variance, world.residual, rng)[:, 0],
    )


def measured(true: FloatArray, variance: float, residual: str, rng: np.random.Generator) -> FloatArray:
    """Rewards as logged: the true ones with white noise of a variance."""
    if residual == "binomial" and variance > 0:
        # As many samples as give the variance at a rate of one half.
        size = round(0.25 / variance)
        return rng.binomial(size, np.clip(true, 0.0, 1.0)) / size
    if residual == "t4":
        # The variance of t with 4 degrees of freedom is 2.
        return true + np.sqrt(variance / 2.0) * rng.standard_t(4, true.shape)
    return true + np.sqrt(variance) * rng.standard_normal(true.shape)


def oracle_width(
    entropy: FloatArray, covariance: FloatArray, functional: tuple[float, float] = (1, 0)
) -> float:
    """Width of the 95 % interval of ``functional`` @ (ceiling, a) with the covariance known."""
    design = np.stack([np.ones(entropy.size), -np.expm1(entropy)], axis=1)
    row = np.array(functional, dtype=float)
    normal = design.T @ np.linalg.solve(covariance, design)
    return float(2 * 1.959963984540054 * np.sqrt(row @ np.linalg.solve(normal, row)))
