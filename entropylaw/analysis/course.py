"""The course of the entropy: what the policy's entropy did, without the noise of measuring it.

A logged entropy is measured on one batch of rollouts, and that noise does harm out of all proportion:
against a residual that may drift, a fit trusts fast changes more than slow ones, and the fast changes
of H are mostly noise, which reward does not follow. The fit then explains the whole trend as drift, and
a comes out near 0 (``docs/method.md`` has the measurement). So the law is fitted to the course of H, a
smooth curve through the logged values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from entropylaw.engine.grid import FloatArray

MOST_PIECES = 24
"""Most B-splines in the curve."""

FEWEST = 10
"""Below so many evaluations noise and course cannot be told apart, and the entropy is used as logged."""

_IN_REACH = 1e-3
"""Smallest diagonal element of the splines' triangle with which their coefficients are known."""

_PENALTIES = np.geomspace(1e-6, 1e8, 57)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """``entropy`` (n,) is the course in nats; ``noise`` the sd of logged minus course, None as logged."""

    entropy: FloatArray
    noise: float | None


def entropy_course(entropy: FloatArray, step: FloatArray | None = None) -> Course:
    """Smooth the entropy over the evaluations.

    A penalised spline (Eilers & Marx 1996, doi:10.1214/ss/1038425655): cubic B-splines on even knots,
    second differences penalised, the penalty's weight by restricted maximum likelihood. Departure from
    the source: they choose it by cross-validation. The spline runs over the number of the evaluation or,
    where steps are uneven and the marginal likelihood is larger so, over the step. Where the logged values
    hold no noise the curve runs through them, up to what its pieces can follow. Entropies that are never
    negative have a course that is never negative.

    Parameters
    ----------
    entropy
        Shape (n,), nats, in the order of the steps.
    step
        Shape (n,), strictly increasing; even where not given.
    """
    if entropy.size < FEWEST:
        return Course(entropy=entropy, noise=None)
    course = entropy_courses(entropy[None], step)[0]
    return Course(entropy=course, noise=float(np.std(entropy - course)))


def entropy_courses(entropy: FloatArray, step: FloatArray | None = None) -> FloatArray:
    """The course of each of several runs, shape (runs, n) as ``entropy``; n at least :data:`FEWEST`."""
    n = entropy.shape[1]
    number = np.linspace(0.0, 1.0, n)
    course, score = _smoothed(entropy, _decomposed(number.tobytes()))
    if step is not None:
        time = (step - step[0]) / (step[-1] - step[0])
        if not np.allclose(time, number, rtol=0.0, atol=1e-9) and _can_follow(time):
            other, other_score = _smoothed(entropy, _decomposed(time.tobytes()))
            course = np.where((other_score < score)[:, None], other, course)
    never_negative = entropy.min(axis=1, keepdims=True) >= 0
    return np.where(never_negative, np.maximum(course, 0.0), course)


def _smoothed(
    entropy: FloatArray, decomposed: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Curves (runs, n) with the best penalty, and −2 log restricted likelihood of each, shape (runs,)."""
    n = entropy.shape[1]
    basis, roughness = decomposed
    centre = entropy.mean(axis=1, keepdims=True)
    score = (entropy - centre) @ basis
    kept = 1.0 / (1.0 + _PENALTIES[:, None] * roughness)
    outside = np.maximum(((entropy - centre) ** 2).sum(axis=1) - (score**2).sum(axis=1), 0.0)
    misfit = outside[:, None] + score**2 @ (1.0 - kept).T
    bent = roughness > 1e-9 * roughness.max()
    evidence = (n - 2) * np.log(misfit + np.finfo(float).tiny) - np.log1p(-kept[:, bent]).sum(axis=1)
    best = np.argmin(evidence, axis=1)
    course = centre + (kept[best] * score) @ basis.T
    return course, evidence[np.arange(len(best)), best]


def _can_follow(time: FloatArray) -> bool:
    """Whether an evaluation lies in reach of every spline over ``time``; after a long gap none does."""
    pieces = _pieces(time.size)
    triangle = np.linalg.qr(_cubic_splines(time, pieces), mode="r")
    return bool(np.abs(np.diag(triangle)).min() > _IN_REACH)


def _pieces(n: int) -> int:
    return min(n // 2, MOST_PIECES)


@lru_cache(maxsize=32)
def _decomposed(times: bytes) -> tuple[FloatArray, FloatArray]:
    """Orthonormal basis (n, k) of the splines in which the penalty is diagonal, and that diagonal (k,).

    ``times`` holds the evaluations' places (n,) in [0, 1].
    """
    time = np.frombuffer(times)
    pieces = _pieces(time.size)
    splines = _cubic_splines(time, pieces)
    ortho, triangle = np.linalg.qr(splines)
    penalty = np.linalg.solve(triangle.T, np.diff(np.eye(pieces), n=2, axis=0).T)
    left, singular, _ = np.linalg.svd(penalty, full_matrices=True)
    roughness = np.zeros(pieces)
    roughness[: singular.size] = singular**2
    return ortho @ left, roughness


def _cubic_splines(time: FloatArray, pieces: int) -> FloatArray:
    """Uniform cubic B-splines over [0, 1], shape (n, pieces)."""
    spacing = 1.0 / (pieces - 3)
    distance = np.abs(time[:, None] / spacing - (np.arange(pieces) - 1.0))
    inner = 2.0 / 3.0 - distance**2 * (1.0 - distance / 2.0)
    outer = np.clip(2.0 - distance, 0.0, None) ** 3 / 6.0
    return np.where(distance < 1.0, inner, outer)
