"""Whether the reward follows the entropy of earlier or later evaluations."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from entropylaw.analysis.forms import independent_columns, law_column
from entropylaw.engine.kalman import filter_gains, whiten
from entropylaw.engine.prior import Grid
from entropylaw.results import Lag
from entropylaw.results.arrays import FloatArray

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
    shifted = [-fast[REACH - shift : n - REACH - shift] for shift in shifts]
    curve = independent_columns([np.ones(n), column, smoothed, smoothed**2])[inner]
    point = covariance.at(inner)
    both = np.column_stack([curve, reward[inner], *shifted])
    (white,) = whiten(filter_gains(step[inner], point), both, point.drift_scale)
    ortho = np.linalg.qr(white[: curve.shape[1]].T)[0]
    rest = white[curve.shape[1] :]
    rest = rest - (rest @ ortho) @ ortho.T
    target, each = rest[0], rest[1:]
    length = np.maximum(np.linalg.norm(each, axis=1), np.finfo(float).tiny)
    along = each @ target / length
    left = np.maximum(target @ target - along**2, np.finfo(float).tiny)
    z = along / np.sqrt(left / (target.size - curve.shape[1] - 1))
    best = int(np.argmax(z))
    # Of the likelihoods at a coefficient of the law's sign, or at 0.
    used = max(float(along[REACH]), 0.0) ** 2
    found = max(float(along[best]), 0.0) ** 2
    free, total = target.size - curve.shape[1], float(target @ target)
    log_odds = 0.5 * free * np.log(max(total - used, left[best]) / max(total - found, left[best]))
    return Lag(
        evaluations=int(shifts[best]),
        odds=float(np.exp(min(log_odds, 690.0))),
        p_value=float(min(1.0, z.size * ndtr(-z[best]))),
    )
