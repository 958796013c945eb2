"""The members of a forecast: simple curves of the entropy and of the reward, continued.

How much each counts in a run is the matter of :mod:`entropylaw.analysis.forecast_prior`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.arrays import FloatArray
from entropylaw.engine.local_level import LocalLevelFit, fit_local_level
from entropylaw.engine.reads import Cells

RATES = np.geomspace(0.1, 10.0, 21)
"""Decay times of the curves in step, in spans of the fitted part."""

REACH = 2.0
"""How far from the rewards so far a member may be, in ranges of them; an entropy half as far."""

RECENT = 0.6
"""Share of the evaluations from which the present decay of the entropy is taken."""

SMALLEST = 1e-4
"""Entropy below which its logarithm is not looked at, nats."""

REWARD_FORMULAS = {
    "last": "R(last)",
    "mean of three": "mean of the last three R",
    "mean of half": "mean of the last half of R",
    "mean of all": "mean of all R",
    "walk": "c + random walk",
    "law": "c − a(exp(H) − 1) + random walk",
    "line": "c − a·H + random walk",
    "root": "c − a·√H + random walk",
    "law, least squares": "c − a(exp(H) − 1)",
    "line, least squares": "c − a·H",
    "step curve": "c − d·exp(−s/τ)",
}
"""The members and their formulas; random walk and noise are integrated out."""

PATH_FORMULAS = {
    "walk": "c + random walk",
    "stays": "H(last)",
    "mean of three": "mean of the last three H",
    "exponential": "c + d·exp(−s/τ)",
    "power": "c + d/(1 + s/τ)",
    "logistic": "c + d/(1 + exp((s − m)/τ))",
    "power goes on": "H now · (s/s now)^p",
    "decay slows": "H now · exp(−λ(1 − exp(−s))), s in spans from now",
    "decay goes on": "H now · exp(−3λ(1 − exp(−s/3)))",
}
"""The members of a path of the entropy."""


def path_members(step: FloatArray, entropy: FloatArray, at: FloatArray) -> FloatArray:
    """Forecasts of the entropy at ``at`` (m,), one row per member of :data:`PATH_FORMULAS`.

    Three members continue the decay of the last 60 % of the evaluations, by least squares of ln H: as a power
    of the step, or exponentially and slowing down.
    """
    x, new = spans(step, at)
    least, spread = (0.0 if entropy.min() >= 0 else -np.inf), float(np.ptp(entropy))
    falls = [(c, t) for c in (0.0, 0.25, 0.5, 0.75, 1.0, 1.5) for t in (0.1, 0.2, 0.4, 0.8)]
    logistic = [[1 / (1 + np.exp(np.clip((z - c) / t, -50, 50))) for z in (x, new)] for c, t in falls]
    walk = _ahead(local_level(step, entropy), np.ones((at.size, 1)), at - step[-1])
    early, ahead, some = 1.0 / (step.size - 1), new - 1.0, max(4, int(np.ceil(RECENT * step.size)))
    logarithm = np.log(np.maximum(entropy[-some:], SMALLEST))
    power = float(np.clip(_slope(np.log(x[-some:] + early), logarithm), -3.0, 0.0))
    rate = min(_slope(x[-some:], logarithm), 0.0)
    curves = {
        "walk": walk,
        "stays": np.full(at.size, entropy[-1]),
        "mean of three": np.full(at.size, entropy[-3:].mean()),
        "exponential": decay(entropy, [(np.exp(-x / t), np.exp(-new / t)) for t in RATES], least),
        "power": decay(entropy, [(1 / (1 + x / t), 1 / (1 + new / t)) for t in RATES], least),
        "logistic": decay(entropy, logistic, least),
        "power goes on": walk * ((new + early) / (1.0 + early)) ** power,
        "decay slows": walk * np.exp(rate * (1.0 - np.exp(-ahead))),
        "decay goes on": walk * np.exp(3.0 * rate * (1.0 - np.exp(-ahead / 3.0))),
    }
    low, high = entropy.min() - 0.5 * REACH * spread, entropy.max() + 0.5 * REACH * spread
    every = np.array([curves[name] for name in PATH_FORMULAS])
    return np.asarray(np.maximum(np.clip(every, low, high), least))


def _slope(x: FloatArray, y: FloatArray) -> float:
    """Least-squares slope."""
    centred = x - x.mean()
    return float(centred @ y / (centred @ centred))


def reward_members(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, at: FloatArray, entropy_at: FloatArray
) -> FloatArray:
    """Forecasts of evaluations at ``at`` (m,) with entropies ``entropy_at`` (m,).

    One row per member of :data:`REWARD_FORMULAS`; nan where its column is constant in the fitted part. Where
    all rewards so far are from 0 to 1, as shares are, no member leaves that range.
    """
    x, new = spans(step, at)
    curves = {
        "last": np.full(at.size, reward[-1]),
        "mean of three": np.full(at.size, reward[-3:].mean()),
        "mean of half": np.full(at.size, reward[reward.size // 2 :].mean()),
        "mean of all": np.full(at.size, reward.mean()),
        "walk": _ahead(local_level(step, reward), np.ones((at.size, 1)), at - step[-1]),
        "step curve": decay(reward, [(np.exp(-x / t), np.exp(-new / t)) for t in RATES]),
    }
    for name, column in (
        ("law", law_column),
        ("line", np.asarray),
        # An entropy that is logged as negative counts as 0.
        ("root", lambda entropy: np.sqrt(np.maximum(entropy, 0.0))),
    ):
        columns, rows = design(column(entropy)), design(column(entropy_at))
        if np.ptp(columns[:, 1]) <= 1e-9 * np.abs(columns).max():
            continue
        curves[name] = _ahead(fit_local_level(step, columns, reward), rows, at - step[-1])
        if f"{name}, least squares" in REWARD_FORMULAS:
            curves[f"{name}, least squares"] = rows @ np.linalg.lstsq(columns, reward, rcond=None)[0]
    reach = REACH * float(np.ptp(reward))
    low, high = reward.min() - reach, reward.max() + reach
    if reward.min() >= 0.0 and reward.max() <= 1.0:
        low, high = max(low, 0.0), min(high, 1.0)
    missing = np.full(at.size, np.nan)
    return np.asarray(np.clip(np.array([curves.get(name, missing) for name in REWARD_FORMULAS]), low, high))


def local_level(step: FloatArray, values: FloatArray) -> LocalLevelFit:
    """A random walk observed with noise, without a trend."""
    return fit_local_level(step, np.ones((step.size, 1)), values)


def _ahead(fit: LocalLevelFit, rows: FloatArray, lead: FloatArray) -> FloatArray:
    """Mean prediction of a local level with regressors ``rows`` (m, p), ``lead`` steps after the last one."""
    location, _ = fit.predict(rows, lead)
    return np.asarray(location @ fit.weight)


def now_and_noise(step: FloatArray, values: FloatArray) -> tuple[float, float]:
    """The local level at the last step, and the standard deviation of the noise about it."""
    fit = local_level(step, values)
    location, _ = fit.now(np.ones((1, 1)))
    noise = np.sqrt(fit.weight @ (fit.variance * fit.noise_share))
    return float(location[0] @ fit.weight), float(noise)


def level_now(step: FloatArray, values: FloatArray) -> Cells:
    """The local level at the last step, without the noise."""
    fit = local_level(step, values)
    location, scale = fit.now(np.ones((1, 1)))
    df = np.full(fit.weight.size, fit.df)
    return Cells(weight=fit.weight, location=location[0], scale=scale[0], df=df)


def spans(step: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fitted and new steps from the first one on, in spans of the fitted part."""
    span = step[-1] - step[0]
    return (step - step[0]) / span, (at - step[0]) / span


def decay(values: FloatArray, shapes: Sequence[Sequence[FloatArray]], floor: float = -np.inf) -> FloatArray:
    """The least-squares curve ``level + drop · shape`` over a list of shapes, continued.

    Parameters
    ----------
    values
        Shape (n,).
    shapes
        Pairs of the shape at the n fitted and at the m new points; shapes tend to 0.
    floor
        Lower bound of the level.
    """
    best, curve = np.inf, np.empty(0)
    for fitted, new in shapes:
        spread = fitted - fitted.mean()
        drop = float(spread @ values) / max(float(spread @ spread), np.finfo(float).tiny)
        level = float(values.mean() - drop * fitted.mean())
        if level < floor:
            level, drop = floor, float(fitted @ (values - floor)) / float(fitted @ fitted)
        misfit = float(np.sum((values - level - drop * fitted) ** 2))
        if misfit < best:
            best, curve = misfit, level + drop * new
    return curve
