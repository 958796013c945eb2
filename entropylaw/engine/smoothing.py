"""The entropy at the evaluations, smoothed over every logged step, with its error.

A logged entropy is measured on one batch. Against a residual that may drift a fit trusts fast changes more
than slow ones, and the fast changes of a logged entropy are mostly noise. A regression on the posterior mean
of a covariate, which a smoothing spline is, is consistent (regression calibration, Carroll et al. 2006,
doi:10.1201/9781420010138, ch. 4): the error that is left is a slow part of the residual, of known covariance
given the slope.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import FEWEST_SMOOTHED, LEAST_ERROR, MOST_ERRORS, MOST_KNOTS

_PENALTIES = 160
"""Values of the penalty's weight, from no smoothing to a straight line."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothedEntropy:
    """The entropy at the evaluations: its posterior mean and standard deviation, nats, shapes (n,).

    ``noise`` is the standard deviation of a logged value around the curve; None where it is used as logged.
    ``length`` says over how many steps the errors are alike (:func:`error_columns`), 0 where there are none.
    """

    entropy: FloatArray
    sd: FloatArray
    noise: float | None
    length: float


def smoothed_entropy(step: FloatArray, entropy: FloatArray, at: FloatArray) -> SmoothedEntropy:
    """A cubic smoothing spline through the logged entropies, at the evaluations.

    The penalty's weight is that of least generalised cross-validation (Craven & Wahba 1979,
    doi:10.1007/BF01404567); the error is that of the spline as the
    posterior of an integrated Wiener process (Wahba 1983, doi:10.1111/j.2517-6161.1983.tb01239.x). If no
    logged entropy is negative, no smoothed one is.

    Parameters
    ----------
    step, entropy
        Shape (m,): every logged step, increasing, and its entropy in nats.
    at
        Shape (n,): steps of the evaluations, within the logged ones.
    """
    if step.size < FEWEST_SMOOTHED or np.ptp(entropy) == 0:
        return as_logged(np.interp(at, step, entropy))
    weight = np.ones(step.size)
    time = (step - step[0]) / (step[-1] - step[0]) * (step.size - 1)
    knot, mean, weight, within = _joined(time, entropy, weight)
    roughness, basis = _demmler_reinsch(knot.tobytes(), weight.tobytes())
    root = np.sqrt(weight)
    score = basis.T @ (root * (mean - entropy.mean()))
    penalty = np.exp(np.linspace(-12.0, np.log(1e3 * float(time[-1]) ** 3), _PENALTIES))[:, None]
    removed = penalty * roughness / (1.0 + penalty * roughness)
    misfit = removed**2 @ score**2 + within
    freedom = removed.sum(axis=1) + (step.size - knot.size)
    best = int(np.argmin(misfit / freedom**2))
    variance = float(misfit[best] / freedom[best])
    retained = 1.0 - removed[best]
    values = basis @ (retained * score) / root + entropy.mean()
    error = np.sqrt(variance * (basis**2 @ retained)) / root
    where = (at - step[0]) / (step[-1] - step[0]) * (step.size - 1)
    curve = _natural_spline(knot, values, where)
    if entropy.min() >= 0:
        curve = np.maximum(curve, 0.0)
    # The kernel that a spline is of evenly spaced values has the fourth root of the penalty as its scale.
    spacing = float(step[-1] - step[0]) / (step.size - 1)
    return SmoothedEntropy(
        entropy=curve,
        sd=np.interp(where, knot, error),
        noise=float(np.sqrt(variance)),
        length=float(penalty[best, 0] ** 0.25) * spacing,
    )


def as_logged(entropy: FloatArray) -> SmoothedEntropy:
    """Entropies (n,) that are not smoothed."""
    return SmoothedEntropy(entropy=entropy, sd=np.zeros(entropy.size), noise=None, length=0.0)


def error_columns(step: FloatArray, sd: FloatArray, length: float) -> list[FloatArray]:
    """Columns (n,) whose sum, each times a standard normal number, is the error of a smoothed curve.

    Errors of sd (n,) at steps (n,) are as alike as values of the kernel that a smoothing spline is, of scale
    ``length`` (Silverman 1984, doi:10.1214/aos/1176346710). The columns are those of a Cholesky factor, the
    largest variance first, until little is left or there are :data:`MOST_ERRORS`.
    """
    left = sd**2
    least = LEAST_ERROR * float(left.sum())
    columns: list[FloatArray] = []
    while len(columns) < MOST_ERRORS and float(left.sum()) > least:
        pivot = int(np.argmax(left))
        distance = np.abs(step - step[pivot]) / (np.sqrt(2.0) * length)
        alike = np.exp(-distance) * (np.cos(distance) + np.sin(distance))
        column = sd[pivot] * sd * alike
        for known in columns:
            column = column - known[pivot] * known
        column = column / np.sqrt(left[pivot])
        left = np.maximum(left - column**2, 0.0)
        columns.append(column)
    return columns


def _joined(
    time: FloatArray, entropy: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Weighted means of neighbours, at most :data:`MOST_KNOTS`, and the sum of squares within them.

    Times, entropies and weights, shapes (k,), of groups of about equal size.
    """
    if time.size <= MOST_KNOTS:
        return time, entropy, weight, 0.0
    starts = np.unique(np.linspace(0, time.size, MOST_KNOTS, endpoint=False).astype(int))
    total = np.add.reduceat(weight, starts)
    mean_time = np.add.reduceat(weight * time, starts) / total
    mean_entropy = np.add.reduceat(weight * entropy, starts) / total
    within = weight @ (entropy - np.repeat(mean_entropy, np.diff([*starts, time.size]))) ** 2
    return mean_time, mean_entropy, total, float(within)


def _second_differences(time: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Q (k, k − 2) and R (k − 2, k − 2) of the natural spline (Green & Silverman 1994, doi:10.1201/b15710).

    Second derivatives γ at the inner knots follow R γ = Qᵀ f from the values f at the knots.
    """
    gap = np.diff(time)
    inner = np.arange(time.size - 2)
    q = np.zeros((time.size, inner.size))
    r = np.zeros((inner.size, inner.size))
    q[inner, inner] = 1.0 / gap[:-1]
    q[inner + 1, inner] = -1.0 / gap[:-1] - 1.0 / gap[1:]
    q[inner + 2, inner] = 1.0 / gap[1:]
    r[inner, inner] = (gap[:-1] + gap[1:]) / 3.0
    r[inner[1:], inner[:-1]] = r[inner[:-1], inner[1:]] = gap[1:-1] / 6.0
    return q, r


@lru_cache(maxsize=16)
def _demmler_reinsch(times: bytes, weights: bytes) -> tuple[FloatArray, FloatArray]:
    """Roughness (k,) and orthonormal basis (k, k): smoothing divides each score by 1 + λ·roughness."""
    time = np.frombuffer(times)
    root = np.sqrt(np.frombuffer(weights))
    q, r = _second_differences(time)
    scaled = q / root[:, None]
    roughness, basis = np.linalg.eigh(scaled @ np.linalg.solve(r, scaled.T))
    roughness[:2] = 0.0
    return np.maximum(roughness, 0.0), basis


def _natural_spline(time: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """The natural cubic spline through values (k,) at ``time``, at other times; straight lines outside."""
    if np.array_equal(time, at):
        return values
    q, r = _second_differences(time)
    curved = np.concatenate([[0.0], np.linalg.solve(r, q.T @ values), [0.0]])
    i = np.clip(np.searchsorted(time, at) - 1, 0, time.size - 2)
    gap = time[i + 1] - time[i]
    share = np.clip((at - time[i]) / gap, 0.0, 1.0)
    rest = 1.0 - share
    curvature = ((rest**3 - rest) * curved[i] + (share**3 - share) * curved[i + 1]) * gap**2 / 6.0
    inside = rest * values[i] + share * values[i + 1] + curvature
    slope_before = (values[1] - values[0]) / (time[1] - time[0]) - curved[1] * (time[1] - time[0]) / 6.0
    slope_after = (values[-1] - values[-2]) / (time[-1] - time[-2]) + curved[-2] * (time[-1] - time[-2]) / 6.0
    before = np.minimum(at - time[0], 0.0) * slope_before
    after = np.maximum(at - time[-1], 0.0) * slope_after
    return np.asarray(inside + (before + after))
