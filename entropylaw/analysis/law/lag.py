"""Whether the reward follows the entropy of earlier or later evaluations."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from entropylaw.analysis.forms import independent_columns, law_column
from entropylaw.arrays import FloatArray
from entropylaw.engine.kalman import cross_products
from entropylaw.engine.prior import Grid
from entropylaw.results import Lag

REACH = 10
"""Most evaluations by which a reward may follow or precede the entropy."""

FEWEST = 40
"""Fewest evaluations of a run in which a lag is looked for: half of them are in every pairing."""

ROUNDING = 1e-6
"""Fast changes below this share of the law's column are rounding."""


def lag_of(
    step: FloatArray, entropy: FloatArray, smoothed: FloatArray, reward: FloatArray, covariance: Grid
) -> Lag | None:
    """The pairing at which the fast changes of reward and entropy go together most, as the law has it.

    exp(H) as logged less exp(H) smoothed is shifted by −10 to 10 evaluations, and each in turn joins the law
    and a curve in H, on the evaluations that all have. Where the entropy is measured with noise that the
    reward does not follow, no shift explains anything; where the reward follows a smooth entropy with a lag,
    nothing can tell, and None or an odds of about 1 is the answer.

    Parameters
    ----------
    step, entropy, smoothed, reward
        Shape (n,): evaluations, entropy as logged and smoothed in nats, reward.
    covariance
        A grid of one point, the most probable covariance of the residual.

    Returns
    -------
    None below :data:`FEWEST` evaluations, or without fast changes. The odds are a ratio of likelihoods, the
    p-value is one-sided and that of the largest of 21 (Bonferroni).
    """
    n, column = step.size, law_column(smoothed)
    fast = law_column(entropy) - column
    if n < FEWEST or np.std(fast) <= ROUNDING * np.ptp(column):
        return None
    shifts, inner = np.arange(-REACH, REACH + 1), slice(REACH, n - REACH)
    curve = np.linalg.qr(independent_columns([np.ones(n), column, smoothed, smoothed**2])[inner])[0]
    m, k = curve.shape
    both = np.empty((1, m, k + 1 + shifts.size))
    both[0, :, :k], both[0, :, k] = curve, reward[inner] - curve @ (curve.T @ reward[inner])
    for i, shift in enumerate(shifts, start=k + 1):
        both[0, :, i] = -fast[REACH - shift : n - REACH - shift]
    gram = cross_products(step[inner], both, covariance.at(inner)).gram[0, 0]
    # Of the whitened columns what the curve leaves of them.
    rest = gram[k:, k:] - gram[k:, :k] @ np.linalg.solve(gram[:k, :k], gram[:k, k:])
    total = float(rest[0, 0])
    length = np.sqrt(np.maximum(np.diag(rest)[1:], np.finfo(float).tiny))
    along = rest[0, 1:] / length
    left = np.maximum(total - along**2, np.finfo(float).tiny)
    z = along / np.sqrt(left / (m - k - 1))
    best = int(np.argmax(z))
    # Of the likelihoods at a coefficient of the law's sign, or at 0.
    used = max(float(along[REACH]), 0.0) ** 2
    found = max(float(along[best]), 0.0) ** 2
    log_odds = 0.5 * (m - k) * np.log(max(total - used, left[best]) / max(total - found, left[best]))
    return Lag(
        evaluations=int(shifts[best]),
        odds=float(np.exp(min(log_odds, 690.0))),
        p_value=float(min(1.0, z.size * ndtr(-z[best]))),
    )
