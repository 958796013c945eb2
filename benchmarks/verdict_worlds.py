"""Simulated runs for the verdict: which curve is true, the entropy's path, and the residual.

The rule was tuned on the worlds of ``tuned``; those of ``judged`` have other paths, other lengths and other
residuals, none of them of the engine's own family, and were looked at when the rule was fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Signal = Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray]

SD, MIDDLE = 0.07, 0.5
"""Standard deviation of the reward without its residual, and its mean."""

R_SQUARED = (0.7, 0.8, 0.9, 0.95, 0.98)
SIZES = {"tuned": (30, 60, 150, 500), "judged": (40, 100, 250, 800)}


def _standard(column: FloatArray) -> FloatArray:
    return (column - column.mean()) / column.std()


def _branches(h: FloatArray, time: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The law while the entropy falls; then reward goes on rising while the entropy comes back."""
    back = np.where(np.arange(h.size) > np.argmin(h), np.exp(h) - np.exp(h.min()), 0.0)
    return -np.exp(h) + (1.0 + rng.uniform(0.5, 1.5)) * back


TRUTHS: dict[str, Signal] = {
    "the law": lambda h, time, rng: -np.exp(h),
    "a line": lambda h, time, rng: -h,
    "rate k = 3": lambda h, time, rng: -np.exp(3 * h),
    "rate k = −3": lambda h, time, rng: np.exp(-3 * h),
    "H²": lambda h, time, rng: -(h**2),
    "the step alone": lambda h, time, rng: (
        time if rng.random() < 0.5 else 1 / (1 + np.exp(-rng.uniform(6, 14) * (time - rng.uniform(0.3, 0.7))))
    ),
    "saturating in the step": lambda h, time, rng: -np.exp(-rng.uniform(3, 10) * time),
    "a random walk": lambda h, time, rng: np.cumsum(rng.standard_normal(h.size)),
    "a constant": lambda h, time, rng: np.zeros(h.size),
    "two branches": _branches,
    "a below 0": lambda h, time, rng: np.exp(h),
    "the law + 0.4 sd of log step": lambda h, time, rng: (
        _standard(-np.exp(h)) + 0.4 * _standard(np.log1p(np.arange(h.size)))
    ),
}
"""Name → the reward's systematic part, up to its mean and scale, from entropy and time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """A run: ``step``, logged ``entropy`` and ``reward``, each (n,), its R² and its residual's kind."""

    step: FloatArray
    entropy: FloatArray
    reward: FloatArray
    r_squared: float
    residual: str


def draw(truth: str, n: int, worlds: str, rng: np.random.Generator, *, burn_in: bool = False) -> Drawn:
    """A run of ``truth`` with n evaluations from the worlds ``tuned`` or ``judged``.

    With ``burn_in`` the reward is lower by 0.1–0.3 over the first 5 % of the evaluations, or begins lower by
    that and reaches its curve in a straight line, while the entropy stays at its first value.
    """
    step = np.arange(n, dtype=float)
    if worlds == "judged" and rng.random() < 0.5:
        step = np.append(0.0, np.cumsum(0.05 + rng.exponential(1.0, n - 1)))
    time = step / step[-1]
    early = int(np.ceil(0.05 * n)) if burn_in else 0
    falling = np.maximum(time - time[early], 0.0) / (1.0 - time[early])
    h = _tuned_path(falling, rng) if worlds == "tuned" else _judged_path(falling, rng)
    if truth == "two branches":
        lowest = int(rng.uniform(0.35, 0.65) * n)
        h = h + (np.arange(n) > lowest) * (h[0] - h[-1]) * rng.uniform(0.3, 0.7) * np.clip(
            (time - time[lowest]) / (1.0 - time[lowest]), 0.0, 1.0
        )
    signal = TRUTHS[truth](h, time, rng)
    clean = MIDDLE + SD * (_standard(signal) if np.ptp(signal) > 0 else signal)
    if burn_in:
        ramp = 1.0 - np.arange(early) / early
        clean[:early] -= rng.uniform(0.1, 0.3) * (ramp if rng.random() < 0.5 else 1.0)
    r_squared = float(rng.choice(R_SQUARED))
    sd = SD * np.sqrt((1.0 - r_squared) / r_squared)
    if worlds == "tuned":
        kind, reward = _own_residual(clean, sd, rng)
        logged = h * (1.0 + rng.choice([0.0, 0.01, 0.03]) * rng.standard_normal(n))
    else:
        kind, reward = _foreign_residual(clean, sd, rng)
        logged = h + rng.choice([0.0, 0.01, 0.02]) * rng.standard_t(5, n) * np.ptp(h) ** 0.5
    entropy = np.maximum(logged, 1e-4)
    return Drawn(step=step, entropy=entropy, reward=reward, r_squared=r_squared, residual=kind)


def _tuned_path(time: FloatArray, rng: np.random.Generator) -> FloatArray:
    kind = int(rng.integers(4))
    start, end = rng.uniform(1.5, 2.5), rng.uniform(0.1, 0.5)
    if kind == 3:
        start = rng.uniform(0.6, 1.2)
        end = start * rng.uniform(0.2, 0.5)
    falls = (
        np.exp(-rng.uniform(2, 8) * time),
        1 / (1 + rng.uniform(3, 15) * time),
        1 / (1 + np.exp((time - rng.uniform(0.3, 0.6)) * rng.uniform(6, 14))),
        np.exp(-rng.uniform(2, 6) * time),
    )
    return end + (start - end) * falls[kind]


def _judged_path(time: FloatArray, rng: np.random.Generator) -> FloatArray:
    start, end = rng.uniform(0.7, 2.8), rng.uniform(0.03, 0.3)
    place = rng.uniform(0.1, 0.4)
    falls = (
        np.exp(-np.exp(rng.uniform(4, 9) * (time - place))),
        np.exp(-((rng.uniform(3, 12) * time) ** 0.6)),
        0.55 / (1 + np.exp(20 * (time - place))) + 0.45 / (1 + np.exp(20 * (time - place - 0.4))),
        np.maximum(1.0 - time / rng.uniform(0.6, 1.2), 0.0) ** 1.5,
        np.exp(-4 * time) * (1.0 + 0.15 * np.sin(2 * np.pi * rng.uniform(1, 3) * time)),
    )
    return end + (start - end) * falls[int(rng.integers(len(falls)))]


def _own_residual(clean: FloatArray, sd: float, rng: np.random.Generator) -> tuple[str, FloatArray]:
    """White noise, or with an AR(1) part: the engine's own family."""
    n, noise = clean.size, rng.standard_normal(clean.size)
    correlation = float(rng.choice([0.0, 0.5, 0.8, 0.9]))
    if not correlation:
        return "white", clean + sd * noise
    share, per_evaluation = rng.uniform(0.2, 0.8), correlation ** (100 / n)
    drift = np.empty(n)
    drift[0] = rng.standard_normal()
    for i in range(1, n):
        fresh = np.sqrt(1 - per_evaluation**2) * rng.standard_normal()
        drift[i] = per_evaluation * drift[i - 1] + fresh
    return "drift", clean + sd * (np.sqrt(share) * drift + np.sqrt(1 - share) * noise)


def _foreign_residual(clean: FloatArray, sd: float, rng: np.random.Generator) -> tuple[str, FloatArray]:
    """Long memory, noise that shrinks as the run goes on, or a rate over a number of questions."""
    n, kind = clean.size, str(rng.choice(["long memory", "shrinking", "binomial"]))
    if kind == "long memory":
        # ARFIMA(0, 0.3, 0) as a moving average, after as many values to warm up.
        lag = np.arange(1, 2 * n)
        weight = np.append(1.0, np.cumprod((lag - 1 + 0.3) / lag))
        walk = np.convolve(rng.standard_normal(4 * n), weight)[2 * n : 3 * n]
        return kind, clean + sd * walk / np.sqrt((weight**2).sum())
    if kind == "shrinking":
        scale = np.exp(-1.5 * np.linspace(0.0, 1.0, n))
        return kind, clean + sd * scale / np.sqrt(np.mean(scale**2)) * rng.standard_normal(n)
    rate = np.clip(clean, 0.01, 0.99)
    questions = max(int(np.mean(rate * (1 - rate)) / sd**2), 5)
    return kind, rng.binomial(questions, rate) / questions
