"""Simulated runs for forecasts: rewards of a known shape, and small policies.

Shapes: a reward that flattens out, climbs, falls after a peak, or goes up and down, with evaluation noise.
Policies: a softmax policy over the actions of some states, trained by policy gradients and evaluated with
sampling noise.
"""

from __future__ import annotations

import zlib

import numpy as np

from entropylaw.arrays import FloatArray

Run = tuple[FloatArray, FloatArray, FloatArray]
"""Steps, entropies in nats, rewards; each (n,)."""

SHAPES = ("plateau", "climb", "peak", "saw-tooth")

STYLES = ("plain", "normalised", "baseline", "shared", "momentum")
"""Policies: advantages as they are, divided by their standard deviation, or against the state's expected
reward; states that share features; gradients with momentum."""


def shape(name: str, seed: int, *, wander: bool = False) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Steps, evaluations and the truth, each (n,), of a run half as long again as what is seen of it.

    The last number is that of the evaluations that are seen. Noise is white, or has a correlation of 0.5
    from one evaluation to the next; where the truth is to ``wander``, it has a slow part of its own, and the
    noise is white.
    """
    rng = np.random.default_rng([zlib.crc32(name.encode()), int(wander), seed])
    seen = int(rng.choice([15, 30, 50, 80, 120]))
    n = int(np.ceil(1.5 * seen)) + 2
    x = np.arange(n) / (seen - 1)
    top = rng.uniform(0.3, 0.85)
    low, sd = top * rng.uniform(0.1, 0.6), 10.0 ** rng.uniform(-2.5, -1.3)
    rise = top - low
    if name == "plateau":
        truth = low + rise * (1.0 - np.exp(-x * rng.uniform(5.0, 12.0)))
    elif name == "climb":
        truth = low + rise * (x / 1.5) ** rng.uniform(0.5, 1.2)
    elif name == "peak":
        turn = rng.uniform(0.3, 0.85)
        fall = rise * rng.uniform(0.1, 0.9) * np.maximum(x - turn, 0.0) / (1.5 - turn)
        truth = np.where(x < turn, low + rise * np.sin(0.5 * np.pi * np.minimum(x / turn, 1.0)), top - fall)
    else:
        tooth, height = rng.uniform(0.15, 0.5), rise * rng.uniform(0.15, 0.4)
        truth = (
            low + (rise - height) * (1.0 - np.exp(-3.0 * x)) + height * ((x / tooth + rng.uniform()) % 1.0)
        )
    if wander:
        slow = _correlated(rng, n, float(np.exp(-rng.uniform(5.0, 30.0) / seen)))
        truth = truth + sd * rng.choice([0.1, 0.3, 1.0]) * slow
    noise = _correlated(rng, n, 0.0 if wander else float(rng.choice([0.0, 0.5])))
    return np.arange(n) * 10.0, np.asarray(truth + sd * noise), np.asarray(truth), seen


def _correlated(rng: np.random.Generator, n: int, rho: float) -> FloatArray:
    values, now = np.empty(n), rng.normal()
    for i in range(n):
        values[i] = now
        now = rho * now + rng.normal(0.0, np.sqrt(1.0 - rho**2))
    return values


def policy(seed: int) -> tuple[str, Run]:
    """The style, and the run of a policy: its mean entropy, and its accuracy on 100 to 2,000 samples."""
    rng = np.random.default_rng([2, seed])
    style = STYLES[seed % len(STYLES)]
    states, actions = int(rng.integers(10, 60)), int(rng.choice([4, 8, 16, 32]))
    row, right = np.arange(states), rng.integers(0, actions, states)
    logit = rng.normal(0.0, rng.uniform(0.2, 1.5), (states, actions))
    logit[row, right] += rng.normal(rng.uniform(-1.0, 1.0), 1.0, states)
    features, common = rng.normal(size=(states, 3)), np.zeros((3, actions))
    rate, steps = 10.0 ** rng.uniform(-1.2, 0.5), int(rng.choice([60, 120, 240, 400]))
    batch, every = int(rng.choice([16, 64, 256])), max(1, steps // int(rng.choice([30, 60, 120])))
    bonus, samples = float(rng.choice([0.0, 0.0, 0.0, 0.01, 0.05])), int(rng.choice([100, 400, 2000]))
    velocity, rows = np.zeros_like(logit), []
    for step in range(steps + 1):
        chance = _softmax(logit + (features @ common if style == "shared" else 0.0))
        surprise = -np.log(chance + 1e-12)
        each = (chance * surprise).sum(axis=1)
        if step % every == 0:
            accuracy = min(float(chance[row, right].mean()), 1.0)
            noisy = float(each.mean()) * (1.0 + rng.normal(0.0, 0.01))
            rows.append((float(step), noisy, rng.binomial(samples, accuracy) / samples))
        state = rng.integers(0, states, batch)
        action = (chance[state].cumsum(axis=1) < rng.random((batch, 1))).sum(axis=1).clip(max=actions - 1)
        reward = (action == right[state]).astype(float)
        advantage = reward - (chance[state, right[state]] if style == "baseline" else reward.mean())
        if style == "normalised":
            advantage = advantage / (advantage.std() + 0.05)
        gradient = np.zeros_like(logit)
        np.add.at(gradient, state, advantage[:, None] * (np.eye(actions)[action] - chance[state]))
        gradient = gradient * states / batch + bonus * chance * (surprise - each[:, None])
        if style == "shared":
            common += rate * features.T @ gradient / states
            logit += 0.3 * rate * gradient / np.sqrt(states)
        elif style == "momentum":
            velocity = 0.9 * velocity + gradient
            logit += 0.1 * rate * velocity
        else:
            logit += rate * gradient / 3.0
    step_, entropy, accuracies = np.array(rows).T
    return style, (step_, entropy, accuracies)


def _softmax(logit: FloatArray) -> FloatArray:
    weight = np.exp(logit - logit.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))
