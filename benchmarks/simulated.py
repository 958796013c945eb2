"""Simulated runs that forecasts are learned from, in addition to real ones.

Curves: an entropy of one of six shapes, and a reward that follows it, or the step, or nothing. Policies: a
softmax policy over the actions of some states, trained by policy gradients and evaluated with sampling noise.
"""

from __future__ import annotations

import numpy as np

from benchmarks.worlds import FloatArray

Run = tuple[FloatArray, FloatArray, FloatArray]
"""Steps, entropies in nats, rewards; each (n,)."""

ENTROPIES = {"exponential": 0.35, "power": 0.15, "logistic": 0.1, "late": 0.25, "flat": 0.1, "rises": 0.05}
REWARDS = {"law": 0.35, "line": 0.1, "step": 0.1, "walk": 0.15, "turns": 0.2, "sigmoid": 0.1}
"""Shapes, with the probability of each."""

STYLES = ("plain", "normalised", "baseline", "shared", "momentum")
"""Policies: advantages as they are, divided by their standard deviation, or against the state's expected
reward; states that share features; gradients with momentum."""

TURN = 0.6
"""Share of the run after which a reward that turns falls, in the worlds of a test."""


def curves(seed: int, world: tuple[str, str] | None = None) -> tuple[str, Run]:
    """Shapes of entropy and reward, and a run of 24 to 250 evaluations.

    A ``world`` (shapes of entropy and reward) is for tests, and has other parameters than the runs that are
    learned from, whose shapes are drawn: lengths, noise, memory, and where a reward turns.
    """
    rng = np.random.default_rng([1, seed])
    lengths = np.array([30, 50, 80, 120, 200] if world else [24, 40, 65, 100, 150, 250])
    n = int(rng.choice(lengths))
    x, first = np.linspace(0.0, 1.0, n), rng.uniform(0.3, 2.0)
    shape = str(rng.choice(list(ENTROPIES), p=list(ENTROPIES.values())))
    name = str(rng.choice(list(REWARDS), p=list(REWARDS.values())))
    shape, name = world or (shape, name)
    entropy = _entropy(rng, shape, x, first)
    reward = _reward(rng, name, x, entropy, TURN if world else rng.uniform(0.3, 0.9))
    sd = rng.choice([0.01, 0.03, 0.1, 0.3]) if world else 10.0 ** rng.uniform(-2.3, -0.4)
    sd = float(np.ptp(reward) * sd) + 1e-3
    drift = _drift(rng, n, float(rng.choice([0.5, 0.9] if world else [0.0, 0.3, 0.7, 0.95])))
    reward = reward + sd * (0.6 * drift + 0.8 * rng.normal(size=n)) + 0.5
    entropy = np.maximum(entropy + rng.normal(0.0, rng.choice([0.005, 0.02, 0.05]) * first, n), 1e-3)
    return f"{shape}, {name}", (np.arange(0.0, 10.0 * n, 10.0), np.asarray(entropy), np.asarray(reward))


def _entropy(rng: np.random.Generator, shape: str, x: FloatArray, first: float) -> FloatArray:
    low = rng.uniform(0.0, 0.3) * first
    if shape == "exponential":
        return np.asarray(low + (first - low) * np.exp(-x * rng.uniform(1.0, 6.0)))
    if shape == "power":
        return np.asarray(first * ((x + 0.03) / 0.03) ** -rng.uniform(0.2, 1.0))
    if shape == "flat":
        return np.asarray(first * (1.0 - rng.uniform(-0.1, 0.15) * x))
    if shape == "rises":
        return np.asarray(first * (1.0 + rng.uniform(0.2, 1.0) * x))
    middle = rng.uniform(0.15, 0.6) if shape == "late" else rng.uniform(0.0, 0.3)
    return np.asarray(low + (first - low) / (1.0 + np.exp((x - middle) / rng.uniform(0.04, 0.15))))


def _reward(
    rng: np.random.Generator, name: str, x: FloatArray, entropy: FloatArray, place: float
) -> FloatArray:
    a, n = rng.uniform(0.1, 0.6), x.size
    if name == "line":
        return np.asarray(-a * entropy)
    if name == "step":
        return np.asarray(a * (1.0 - np.exp(-x * rng.uniform(1.0, 6.0))))
    if name == "walk":
        return np.asarray(np.cumsum(rng.normal(0.0, 0.3 / np.sqrt(n), n)))
    if name == "sigmoid":
        return np.asarray(a / (1.0 + np.exp(-(x - rng.uniform(0.05, 0.5)) / rng.uniform(0.03, 0.15))))
    reward = -a * np.exp(entropy)
    if name == "turns":
        turn = int(place * n)
        fall = np.ptp(reward) * rng.uniform(0.3, 1.0)
        reward[turn:] = reward[turn] - fall * (x[turn:] - x[turn]) / (1.0 - place)
    return np.asarray(reward)


def _drift(rng: np.random.Generator, n: int, rho: float) -> FloatArray:
    drift, now = np.empty(n), 0.0
    for i in range(n):
        now = rho * now + rng.normal(0.0, np.sqrt(1.0 - rho**2))
        drift[i] = now
    return drift


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
