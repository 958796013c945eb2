"""A local level: a random walk seen through noise."""

from __future__ import annotations

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.engine.reads import Cells

WALK_SHARES = 9
"""Grid points of the noise share between 0 and 1, at equal probabilities of Beta(1/2, 1/2)."""

PURE_MASS = 0.1
"""Prior probability of a pure random walk (noise share 0), and the same of white noise alone (share 1)."""

_LEAST_NOISE = 1e-9
"""Share of noise in a pure walk: the first innovation has a variance."""

_SHARPEST = 1e-9
"""Smallest width of a number, in residual standard deviations."""


def noise_shares() -> tuple[FloatArray, FloatArray]:
    """Noise shares 0, 1, and the arcsine law between, and their prior probabilities."""
    angle = np.pi * (np.arange(WALK_SHARES) + 0.5) / (2 * WALK_SHARES)
    share = np.concatenate([[0.0], np.sin(angle) ** 2, [1.0]])
    prior = np.full(share.size, (1.0 - 2.0 * PURE_MASS) / WALK_SHARES)
    prior[[0, -1]] = PURE_MASS
    return share, prior


def level_now(step: FloatArray, values: FloatArray, shares: FloatArray | None = None) -> Cells:
    """The level at the last step, without the noise: a cell per noise share.

    value(s) = level(s) + noise,    level(s) − level(s') ~ N(0, σ²·(1 − f)·|s − s'| / spacing)
    noise ~ N(0, σ²·f)

    The local-level model (Harvey 1989, doi:10.1017/CBO9781107049994). ``spacing`` is the mean gap between
    values: at f = 1/2 the walk's step between neighbours is as large as the noise. The noise share f is
    summed over a grid by the restricted likelihood.

    Parameters
    ----------
    step, values
        Shape (n,), steps strictly increasing.
    shares
        Shape (g,): noise shares, equally probable; by default those of :func:`noise_shares`.
    """
    n = step.size
    share, prior = noise_shares() if shares is None else (shares, np.ones(shares.size))
    # A constant, and the values from the first one on: of a pure walk that one is known exactly, and its
    # square would be all digits.
    columns = np.column_stack([np.full(n, n**-0.5), values - values[0]])
    gap = np.diff(step) / (step[-1] - step[0]) * (n - 1)
    state, variance = np.zeros((share.size, 2)), np.zeros(share.size)
    products, log_det = np.zeros((share.size, 2, 2)), np.zeros(share.size)
    noise = np.maximum(share, _LEAST_NOISE)
    for i in range(n):
        if i:
            variance = variance + (1.0 - share) * gap[i - 1]
        total = variance + noise
        innovation = columns[i] - state
        products += innovation[:, :, None] * innovation[:, None, :] / total[:, None, None]
        gain = variance / total
        state = state + gain[:, None] * innovation
        variance = variance * (1.0 - gain)
        log_det += np.log(total)
    inner, across, square = products[:, 0, 0], products[:, 0, 1], products[:, 1, 1]
    # In units of the largest deviation from the mean.
    least = max(1e-24 * float(np.max(np.abs(values - values.mean()))) ** 2, np.finfo(float).tiny)
    rss = np.maximum(square - across**2 / inner, least)
    log_weight = np.log(prior) - 0.5 * (log_det + np.log(inner)) - 0.5 * (n - 1) * np.log(rss)
    weight, residual = np.exp(log_weight - log_weight.max()), rss / (n - 1)
    # The part of the level that the constant does not give.
    rest = n**-0.5 - state[:, 0]
    scale2 = residual * np.maximum(rest**2 / inner + variance, _SHARPEST**2)
    return Cells(
        weight=weight / weight.sum(),
        location=values[0] + state[:, 1] + rest * across / inner,
        scale=np.sqrt(scale2),
        df=np.full(share.size, float(n - 1)),
    )
