"""Simulated runs under the law whose residuals are of many families, most of them not the engine's.

A run has entropy, reward, and the covariance of its residual where it is Gaussian: with it generalised
least squares gives the narrowest interval that holds, the oracle's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, toeplitz
from scipy.special import gammaln
from scipy.stats import norm

FloatArray = NDArray[np.float64]
Rng = np.random.Generator

CEILING, A = 0.6, 0.1

SIZES = (30, 60, 150, 400)
"""Evaluations of a run."""

SHRINKS = 7.0
"""Ratio of the residual's standard deviation at the highest and at the lowest entropy."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Entropy as logged and reward, (n,) each, the true ceiling, and the residual's covariance (n, n).

    The covariance is None where the residual is not Gaussian, or depends on the entropy in another way.
    ``now`` is the reward at the last evaluation without its noise, and ``another`` an evaluation with the
    same entropy long after; None where drift and noise are not apart.
    """

    entropy: FloatArray
    reward: FloatArray
    ceiling: float
    true_entropy: FloatArray
    covariance: FloatArray | None
    now: float | None = None
    another: float | None = None


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


def fractional_gaussian(hurst: float) -> Callable[[int], FloatArray]:
    """Autocorrelation of fractional Gaussian noise."""

    def at(n: int) -> FloatArray:
        k = np.arange(n, dtype=float)
        each = np.abs(k + 1) ** (2 * hurst) - 2 * k ** (2 * hurst) + np.abs(k - 1) ** (2 * hurst)
        return np.asarray(0.5 * each)

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

BASE = mixed((0.5, exponential(8.0)), (0.5, None))

STATIONARY: dict[str, Callable[[int], FloatArray]] = {
    "OU + white (the engine's own)": BASE,
    "three OU": mixed(*((1 / 3, exponential(length)) for length in (1.0, 8.0, 60.0))),
    "ARFIMA(0.2)": fractional(0.2),
    "ARFIMA(0.35) + white": mixed((0.7, fractional(0.35)), (0.3, None)),
    "ARMA(1, 1), θ = 0.4": arma(0.8, 0.4),
    "ARMA(1, 1), θ = −0.6": arma(0.9, -0.6),
}

OTHERS = (
    *("noise shrinks", "noise and drift shrink", "binomial, 100 questions", "clipped at 1"),
    *("entropy moved by the drift", "noisy entropy"),
)

SET_ASIDE = (
    *("fractional Gaussian noise, H = 0.8", "noise grows, t with 4 d.f."),
    *("Matérn 3/2 + white", "jumps at random times + white"),
)
"""Looked at once, when the caution about the scatter was fixed (the first two), and the prior on the residual
(the others)."""

WORLDS = (*STATIONARY, *OTHERS)


def draw(world: str, n: int, rng: Rng) -> Drawn:
    """A run of n evaluations."""
    h = path(n, rng)
    sd = float(rng.choice([0.01, 0.02, 0.03]))
    clean = CEILING - A * np.expm1(h)
    if world in STATIONARY or world.startswith("fractional"):
        known = STATIONARY.get(world, fractional_gaussian(0.8))
        covariance = sd**2 * toeplitz(known(n))
        if world not in WHITE:
            return _gaussian(h, h, clean, covariance, rng)
        white = WHITE[world] * sd**2 * np.eye(n)
        return _parts(h, h, clean, covariance - white, white, rng)
    high = (np.exp(h) - np.exp(h).min()) / np.ptp(np.exp(h))
    scale = SHRINKS ** (high - 1.0)
    drift, white = 0.5 * toeplitz(exponential(8.0)(n)), 0.5 * np.eye(n)
    match world:
        case "noise shrinks":
            noise = 4 * sd**2 * np.outer(scale, scale) * white
            return _parts(h, h, clean, 0.64 * sd**2 * drift, noise, rng)
        case "noise and drift shrink":
            factor = 4 * sd**2 * np.outer(scale, scale)
            return _parts(h, h, clean, factor * drift, factor * white, rng)
        case "binomial, 100 questions":
            reward = rng.binomial(100, np.clip(clean + 0.2, 0, 1)) / 100.0
            return Drawn(entropy=h, reward=reward, ceiling=CEILING + 0.2, true_entropy=h, covariance=None)
        case "clipped at 1":
            reward = np.clip(clean + 0.35 + sd * rng.standard_normal(n), 0, 1)
            return Drawn(entropy=h, reward=reward, ceiling=CEILING + 0.35, true_entropy=h, covariance=None)
        case "entropy moved by the drift":
            moved = sd * np.linalg.cholesky(drift + 1e-9 * np.eye(n)) @ rng.standard_normal(n)
            path_moved = np.maximum(h + 2.0 * moved, 0.01)
            reward = CEILING - A * np.expm1(path_moved) + moved + sd * np.sqrt(0.5) * rng.standard_normal(n)
            return Drawn(entropy=path_moved, reward=reward, ceiling=CEILING, true_entropy=h, covariance=None)
        case "noisy entropy":
            logged = np.maximum(h * (1.0 + 0.03 * rng.standard_normal(n)), 1e-3)
            return _parts(logged, h, clean, sd**2 * drift, sd**2 * white, rng)
        case "Matérn 3/2 + white":
            lag = np.arange(n) / 6.0
            smooth = toeplitz((1.0 + lag) * np.exp(-lag))
            return _parts(h, h, clean, 0.5 * sd**2 * smooth, sd**2 * white, rng)
        case "jumps at random times + white":
            stays = np.append(0, np.cumsum(rng.random(n - 1) < 1.0 / 15.0))
            level = sd * np.sqrt(0.5) * rng.standard_normal(n)[stays]
            reward = clean + level + drawn(sd**2 * white, rng)
            other = clean[-1] + sd * rng.standard_normal()
            return Drawn(
                entropy=h,
                reward=reward,
                ceiling=CEILING,
                true_entropy=h,
                covariance=0.5 * sd**2 * toeplitz((14.0 / 15.0) ** np.arange(n)) + sd**2 * white,
                now=float(clean[-1] + level[-1]),
                another=float(other),
            )
        case "noise grows, t with 4 d.f.":
            noise = np.exp(1.5 * np.arange(n) / n) * rng.standard_t(4, n) / np.sqrt(2.0)
            return Drawn(
                entropy=h, reward=clean + 0.5 * sd * noise, ceiling=CEILING, true_entropy=h, covariance=None
            )
    raise ValueError(world)


def _parts(
    logged: FloatArray, h: FloatArray, clean: FloatArray, drift: FloatArray, noise: FloatArray, rng: Rng
) -> Drawn:
    """A run whose residual is a drift and noise, with their covariances."""
    slow = drawn(drift, rng)
    reward = clean + slow + drawn(noise, rng)
    another = clean[-1] + np.sqrt(drift[-1, -1] + noise[-1, -1]) * rng.standard_normal()
    return Drawn(
        entropy=logged,
        reward=reward,
        ceiling=CEILING,
        true_entropy=h,
        covariance=drift + noise,
        now=float(clean[-1] + slow[-1]),
        another=float(another),
    )


def drawn(covariance: FloatArray, rng: Rng) -> FloatArray:
    """A normal vector of that covariance."""
    n = len(covariance)
    root = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) / n * np.eye(n))
    return np.asarray(root @ rng.standard_normal(n))


def _gaussian(
    logged: FloatArray, h: FloatArray, clean: FloatArray, covariance: FloatArray, rng: Rng
) -> Drawn:
    reward = clean + drawn(covariance, rng)
    return Drawn(entropy=logged, reward=reward, ceiling=CEILING, true_entropy=h, covariance=covariance)


def oracle_widths(run: Drawn, level: float = 0.95) -> tuple[float, float]:
    """Widths of the intervals of ceiling and a by generalised least squares with the true covariance."""
    if run.covariance is None:
        return np.nan, np.nan
    x = np.column_stack([np.ones(run.reward.size), -np.expm1(run.true_entropy)])
    information = x.T @ cho_solve(cho_factor(run.covariance), x)
    width = 2.0 * norm.ppf(0.5 + level / 2) * np.sqrt(np.diag(np.linalg.inv(information)))
    return float(width[0]), float(width[1])
