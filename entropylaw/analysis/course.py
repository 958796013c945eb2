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

_PENALTIES = np.geomspace(1e-6, 1e8, 57)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """``entropy`` (n,) is the course in nats; ``noise`` the sd of logged minus course, None as logged."""

    entropy: FloatArray
    noise: float | None


def entropy_course(entropy: FloatArray) -> Course:
    """Smooth the entropy over the evaluations.

    A penalised spline (Eilers & Marx 1996, doi:10.1214/ss/1038425655) in the number of the evaluation:
    cubic B-splines on even knots, second differences penalised, the penalty's weight by restricted
    maximum likelihood. Departure from the source: they choose it by cross-validation. Where the logged
    values hold no noise the curve runs through them, up to what its pieces can follow. Entropies that
    are never negative have a course that is never negative.

    Parameters
    ----------
    entropy
        Shape (n,), nats, in the order of the steps.
    """
    n = entropy.size
    if n < FEWEST:
        return Course(entropy=entropy, noise=None)
    basis, roughness = _decomposed(n)
    centre = entropy.mean()
    score = basis.T @ (entropy - centre)
    kept = 1.0 / (1.0 + _PENALTIES[:, None] * roughness)
    outside = max(float((entropy - centre) @ (entropy - centre) - score @ score), 0.0)
    misfit = outside + ((1.0 - kept) * score**2).sum(axis=1)
    bent = roughness > 1e-9 * roughness.max()
    evidence = (n - 2) * np.log(misfit + np.finfo(float).tiny) - np.log1p(-kept[:, bent]).sum(axis=1)
    course = centre + basis @ (kept[int(np.argmin(evidence))] * score)
    if entropy.min() >= 0:
        course = np.maximum(course, 0.0)
    return Course(entropy=course, noise=float(np.std(entropy - course)))


@lru_cache(maxsize=32)
def _decomposed(n: int) -> tuple[FloatArray, FloatArray]:
    """Orthonormal basis (n, k) of the splines in which the penalty is diagonal, and that diagonal (k,)."""
    pieces = min(n // 2, MOST_PIECES)
    splines = _cubic_splines(np.linspace(0.0, 1.0, n), pieces)
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
