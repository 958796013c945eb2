"""The course of the entropy: what the policy's entropy did, without the noise of measuring it.

A logged entropy is measured on one batch of rollouts. Against a residual that may drift, a fit trusts fast
changes more than slow ones, and the fast changes of H are mostly noise, which reward does not follow: the
whole trend passes for drift, and a comes out near 0 (``docs/method.md`` has the measurement). So the law is
fitted to a smooth curve through the logged values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from entropylaw.analysis.residual_models import ResidualModel
from entropylaw.engine.grid import FloatArray, first_best

MOST_PIECES = 24
"""Most B-splines in the curve."""

FEWEST = 10
"""Below so many evaluations noise and course cannot be told apart, and the entropy is used as logged."""

_PENALTIES = np.geomspace(1e-6, 1e8, 57)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """The smoothed ``entropy`` (n,) of one run, nats, or of several with one more axis in front.

    ``root @ rootᵀ`` with ``root`` (n, k) is its covariance given what was logged; k may be 0. ``noise`` is
    the standard deviation of logged minus smoothed entropy, nats; None where it is used as logged, and for
    several runs.
    """

    entropy: FloatArray
    root: FloatArray
    noise: float | None = None


def course_for(
    model: ResidualModel, entropy: FloatArray, step: FloatArray, sd: FloatArray | None = None
) -> Course:
    """The entropy (n,) that a residual model fits the law to: smoothed or as logged, with its covariance."""
    if model.smooths_entropy:
        course = entropy_course(entropy, step, sd)
        if np.ptp(course.entropy) > 0:
            return course
    return as_logged(entropy, sd)


def as_logged(entropy: FloatArray, sd: FloatArray | None = None) -> Course:
    """The entropy as it was logged, with the sd of each value (n,) where it is known."""
    return Course(entropy=entropy, root=np.empty((entropy.size, 0)) if sd is None else np.diag(sd))


def entropy_course(
    entropy: FloatArray, step: FloatArray | None = None, sd: FloatArray | None = None
) -> Course:
    """Smooth the entropy over the evaluations.

    A penalised spline (Eilers & Marx 1996, doi:10.1214/ss/1038425655): cubic B-splines on even knots,
    second differences penalised, the penalty's weight by restricted maximum likelihood. Departure from
    the source: they choose it by cross-validation. The spline runs over the number of the evaluation or,
    where steps are uneven and the marginal likelihood is larger so, over the step. Entropies that are never
    negative are never negative smoothed. The covariance is the spline's as a mixed model's (Wahba 1983,
    doi:10.1111/j.2517-6161.1983.tb01239.x), the penalty and the noise taken as found.

    ``entropy`` (n,), nats, is in the order of ``step`` (n,), which is even where not given. ``sd`` (n,),
    nats, is the noise of each value where it is known; it is estimated, the same for all, where it is not.
    """
    if entropy.size < FEWEST:
        return as_logged(entropy, sd)
    several = entropy_courses(entropy[None], step, None if sd is None else sd[None])
    course = several.entropy[0]
    return Course(entropy=course, root=several.root[0], noise=float(np.std(entropy - course)))


def entropy_courses(
    entropy: FloatArray, step: FloatArray | None = None, sd: FloatArray | None = None
) -> Course:
    """The course of each of several runs, shapes (runs, n) as ``entropy``; n at least :data:`FEWEST`.

    ``sd`` as for :func:`entropy_course`, shape (runs, n).
    """
    number = np.linspace(0.0, 1.0, entropy.shape[1])
    course, root, evidence = _smoothed(entropy, number, sd)
    if step is not None:
        time = (step - step[0]) / (step[-1] - step[0])
        uneven = not np.allclose(time, number, rtol=0.0, atol=1e-9)
        splines = _cubic_splines(time, min(time.size // 2, MOST_PIECES))
        # After a long gap no evaluation lies in reach of some spline, whose coefficient is not known then.
        if uneven and np.abs(np.diag(np.linalg.qr(splines, mode="r"))).min() > 1e-3:
            other, other_root, other_evidence = _smoothed(entropy, time, sd)
            better = (other_evidence < evidence)[:, None]
            course, root = np.where(better, other, course), np.where(better[..., None], other_root, root)
    never_negative = entropy.min(axis=1, keepdims=True) >= 0
    return Course(entropy=np.where(never_negative, np.maximum(course, 0.0), course), root=root)


def _smoothed(
    entropy: FloatArray, time: FloatArray, sd: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Curves over ``time`` with the best penalty: as :func:`_penalised`."""
    if sd is None:
        return _penalised(entropy, *_basis(time.tobytes(), np.ones(time.size).tobytes()), None)
    each = []
    for values, noise in zip(entropy, sd, strict=True):
        # Divided by its noise, up to a factor, each value has the same; the curve is brought back by it.
        typical = float(np.sqrt(np.mean(noise**2)))
        scale = noise / typical
        basis, roughness = _basis(time.tobytes(), (1.0 / scale).tobytes())
        curve, root, evidence = _penalised((values / scale)[None], basis, roughness, typical)
        each.append((curve[0] * scale, root[0] * scale[:, None], evidence[0]))
    return tuple(np.array(parts) for parts in zip(*each, strict=True))  # type: ignore[return-value]


def _penalised(
    entropy: FloatArray, basis: FloatArray, roughness: FloatArray, known: float | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ridge regression on an orthonormal basis (n, k); ``known`` is the noise's sd, where it is known.

    Returns curves (runs, n), roots of their covariance (runs, n, k), −2 log restricted likelihood (runs,).
    """
    n = entropy.shape[1]
    # A straight line is not penalised: what is taken off before, and put back, costs no digits.
    centre = np.zeros((len(entropy), 1)) if known else entropy.mean(axis=1, keepdims=True)
    score = (entropy - centre) @ basis
    kept = 1.0 / (1.0 + _PENALTIES[:, None] * roughness)
    outside = np.maximum(((entropy - centre) ** 2).sum(axis=1) - (score**2).sum(axis=1), 0.0)
    misfit = outside[:, None] + score**2 @ (1.0 - kept).T
    bent = roughness > 1e-9 * roughness.max()
    evidence = misfit / known**2 if known else (n - 2) * np.log(misfit + np.finfo(float).tiny)
    evidence = evidence - np.log1p(-kept[:, bent]).sum(axis=1)
    best = first_best(-evidence)
    row = np.arange(len(best))
    variance = np.full(len(best), known**2) if known else misfit[row, best] / (n - 2)
    root = basis * np.sqrt(variance[:, None] * kept[best])[:, None, :]
    return centre + (kept[best] * score) @ basis.T, root, evidence[row, best]


@lru_cache(maxsize=32)
def _basis(times: bytes, weights: bytes) -> tuple[FloatArray, FloatArray]:
    """Orthonormal basis (n, k) of the splines times ``weights`` in which the penalty is diagonal.

    ``times`` are places in [0, 1]; both have shape (n,). The second is that diagonal, shape (k,).
    """
    time, weight = np.frombuffer(times), np.frombuffer(weights)
    pieces = min(time.size // 2, MOST_PIECES)
    ortho, triangle = np.linalg.qr(weight[:, None] * _cubic_splines(time, pieces))
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
