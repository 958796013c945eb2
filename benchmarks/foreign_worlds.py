"""Simulated runs under the law whose residuals are of many families, most of them not the engine's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import toeplitz
from scipy.special import gammaln

from entropylaw.arrays import FloatArray

Rng = np.random.Generator

CEILING, A = 0.6, 0.1

SHRINKS = 7.0
"""Ratio of the residual's standard deviation at the highest and at the lowest entropy."""


def path(n: int, rng: Rng) -> FloatArray:
    """Entropy of a run in nats, one of six shapes."""
    time = np.arange(n) / n
    start, end = rng.uniform(1.2, 2.2), rng.uniform(0.05, 0.3)
    falls = (
        np.exp(-rng.uniform(2.0, 6.0) * time),
        1.0 / (1.0 + rng.uniform(3.0, 12.0) * time),
        1.0 / (1.0 + np.exp((time - 0.4) * rng.uniform(6.0, 12.0))),
        1.0 - time,
        np.exp(-4.0 * time) + 0.15 * time * np.sin(6.0 * time),
        (1.0 - time) ** 1.6,
    )
    return end + (start - end) * falls[int(rng.integers(len(falls)))]


def exponential(length: float) -> Callable[[int], FloatArray]:
    """Autocorrelation of an OU process, its length in evaluations."""
    return lambda n: np.exp(-np.arange(n) / length)


def fractional(d: float) -> Callable[[int], FloatArray]:
    """Autocorrelation of ARFIMA(0, d, 0)."""

    def at(n: int) -> FloatArray:
        k = np.arange(n)
        log = gammaln(k + d) - gammaln(k + 1.0 - d) + gammaln(1.0 - d) - gammaln(d)
        return np.asarray(np.exp(log))

    return at


def arma(phi: float, theta: float) -> Callable[[int], FloatArray]:
    """Autocorrelation of ARMA(1, 1)."""

    def at(n: int) -> FloatArray:
        variance = (1.0 + 2.0 * phi * theta + theta**2) / (1.0 - phi**2)
        first = (1.0 + phi * theta) * (phi + theta) / (1.0 - phi**2)
        return np.append(1.0, first / variance * phi ** np.arange(n - 1))

    return at


def mixed(*parts: tuple[float, Callable[[int], FloatArray] | None]) -> Callable[[int], FloatArray]:
    """The sum of some autocorrelations with their shares; None is white noise."""

    def at(n: int) -> FloatArray:
        white = np.append(1.0, np.zeros(n - 1))
        each = [share * (white if one is None else one(n)) for share, one in parts]
        return np.asarray(np.sum(each, axis=0))

    return at


WHITE = {"OU + white (the engine's own)": 0.5, "ARFIMA(0.35) + white": 0.3}
"""Share of white noise in the residual's variance, where there is some."""

STATIONARY: dict[str, Callable[[int], FloatArray]] = {
    "OU + white (the engine's own)": mixed((0.5, exponential(8.0)), (0.5, None)),
    "three OU": mixed(*((1 / 3, exponential(length)) for length in (1.0, 8.0, 60.0))),
    "ARFIMA(0.2)": fractional(0.2),
    "ARFIMA(0.35) + white": mixed((0.7, fractional(0.35)), (0.3, None)),
    "ARMA(1, 1), θ = 0.4": arma(0.8, 0.4),
    "ARMA(1, 1), θ = −0.6": arma(0.9, -0.6),
}

OTHERS = (
    "noise shrinks",
    "noise and drift shrink",
    "binomial, 100 questions",
    "clipped at 1",
    "entropy moved by the drift",
    "noisy entropy",
)

WORLDS = (*STATIONARY, *OTHERS)


def draw(world: str, n: int, rng: Rng) -> tuple[FloatArray, FloatArray]:
    """Entropy as logged and reward, each (n,), of a run of a world."""
    h = path(n, rng)
    sd = float(rng.choice([0.01, 0.02, 0.03]))
    clean = CEILING - A * np.expm1(h)
    if world in STATIONARY:
        covariance = sd**2 * toeplitz(STATIONARY[world](n))
        if world not in WHITE:
            return h, clean + drawn(covariance, rng)
        noise = WHITE[world] * sd**2 * np.eye(n)
        return h, clean + drawn(covariance - noise, rng) + drawn(noise, rng)
    high = (np.exp(h) - np.exp(h).min()) / np.ptp(np.exp(h))
    scale = SHRINKS ** (high - 1.0)
    shrinking = 4 * sd**2 * np.outer(scale, scale)
    drift = 0.5 * toeplitz(exponential(8.0)(n))
    white = 0.5 * np.eye(n)
    match world:
        case "noise shrinks":
            return h, clean + drawn(0.64 * sd**2 * drift, rng) + drawn(shrinking * white, rng)
        case "noise and drift shrink":
            return h, clean + drawn(shrinking * drift, rng) + drawn(shrinking * white, rng)
        case "binomial, 100 questions":
            return h, rng.binomial(100, np.clip(clean + 0.2, 0, 1)) / 100.0
        case "clipped at 1":
            return h, np.clip(clean + 0.35 + sd * rng.standard_normal(n), 0, 1)
        case "entropy moved by the drift":
            moved = sd * np.linalg.cholesky(drift + 1e-9 * np.eye(n)) @ rng.standard_normal(n)
            entropy = np.maximum(h + 2.0 * moved, 0.01)
            noise = sd * np.sqrt(0.5) * rng.standard_normal(n)
            return entropy, CEILING - A * np.expm1(entropy) + moved + noise
        case "noisy entropy":
            logged = np.maximum(h * (1.0 + 0.03 * rng.standard_normal(n)), 1e-3)
            return logged, clean + drawn(sd**2 * drift, rng) + drawn(sd**2 * white, rng)
    raise ValueError(world)


def drawn(covariance: FloatArray, rng: Rng) -> FloatArray:
    """A normal vector of that covariance."""
    n = len(covariance)
    root = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) / n * np.eye(n))
    return np.asarray(root @ rng.standard_normal(n))
