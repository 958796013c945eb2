"""The influence of single evaluations on a fit, and the autocorrelation of its residuals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.evaluations import law_of
from entropylaw.analysis.law.inference import residual_covariances
from entropylaw.analysis.law.residual_models import check_fixed_level
from entropylaw.arrays import FloatArray
from entropylaw.engine.posterior import infer
from entropylaw.engine.prior import TIED, first_best
from entropylaw.errors import UsageError
from entropylaw.results import Influence
from entropylaw.results.law import Influences, LawFit


def lag1(values: FloatArray) -> float | None:
    """Lag-1 autocorrelation; None below three values or where they do not vary."""
    if values.size < 3:
        return None
    centred = values - values.mean()
    total = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / total if total > 0 else None


MOST = 5000
"""Most evaluations whose covariance fits in memory as one matrix."""


def strongest_influence(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Influence:
    """The evaluation whose deletion moves the least-squares law most, measured on the ceiling and a.

    Deletion formula: β without i = β − (XᵀX)⁻¹ xᵢ rᵢ / (1 − hᵢ), with leverage hᵢ (Cook 1977,
    doi:10.1080/00401706.1977.10489493). Least squares on purpose: a drift would absorb an outlier, and the
    question here is which point determines a plain reading of the curve.
    """
    x = design(law_column(entropy))
    ortho, triangle = np.linalg.qr(x)
    coefficient = np.linalg.solve(triangle, ortho.T @ reward)
    leverage = np.minimum((ortho**2).sum(axis=1), 1.0 - 1e-12)
    shift = np.linalg.solve(triangle, (ortho * ((reward - x @ coefficient) / (1.0 - leverage))[:, None]).T)
    # In standard errors (DFBETAS, up to a factor common to all): the reward's origin must not matter.
    scale = np.linalg.norm(np.linalg.inv(triangle), axis=1) + np.finfo(float).tiny
    moved = np.max(np.abs(shift) / scale[:, None], axis=0)
    most = int(first_best(moved, TIED * moved.max()))
    return Influence(
        step=float(step[most]),
        ceiling_shift=float(-shift[0, most]),
        # Where a is near 0 without the evaluation, only rounding remains.
        a_ratio=round(float(1.0 - shift[1, most] / coefficient[1]), 12) if coefficient[1] else 1.0,
    )


def influences(law: LawFit) -> Influences:
    """Leverage and influence of every evaluation, under the most probable covariance V of the residual.

    With Q = V⁻¹, r the residual and M = Q − QX(XᵀQX)⁻¹XᵀQ, leaving out evaluation i changes β by
    −(XᵀQX)⁻¹XᵀQᵢ·(Qr)ᵢ/Mᵢᵢ, exactly (Haslett 1999, doi:10.1111/1467-9868.00195); without drift that is
    Cook's formula. The smoothed entropy is taken as known.

    Parameters
    ----------
    law
        A fit of :func:`entropylaw.fit_law` with at most :data:`MOST` evaluations, for V is one matrix.

    Raises
    ------
    UsageError
        ``too-many-evaluations``; ``no-fixed-ceiling`` for ``interval="walk"``, whose ceiling is relative to
        the last evaluation.
    """
    law = law_of(law)
    if law.n > MOST:
        raise UsageError(
            "too-many-evaluations",
            f"{law.n} evaluations, expected at most {MOST} for the influence of each",
            "take every tenth evaluation",
        )
    check_fixed_level(law.interval, "the influence of each evaluation")
    x = design(law_column(law.smoothed_entropy))
    grid = replace(residual_covariances(law), errors=None)
    (posterior,) = infer(law.step, x[None], law.reward[None], grid)
    best = int(np.argmax(posterior.weight))
    # The variance is that of the last evaluation, and the covariance's unit cancels.
    precision = np.linalg.inv(grid.points([best]).covariance(law.step))
    pull = np.linalg.inv(x.T @ precision @ x) @ x.T @ precision
    left = precision - precision @ x @ pull
    shift = pull * (left @ law.reward / np.diag(left))
    return Influences(
        step=law.step,
        leverage=np.einsum("np,pn->n", x, pull),
        ceiling_shift=-shift[0],
        a_ratio=1.0 - shift[1] / (pull @ law.reward)[1],
        length=float(posterior.length[best]),
        drift_share=float(posterior.drift_share[best]),
    )
