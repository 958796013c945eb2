"""Which single evaluation carries the fit."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.engine.grid import FloatArray
from entropylaw.results import Influence


def strongest_influence(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Influence:
    """The evaluation whose deletion moves the least-squares law most, measured on the ceiling and a.

    Deletion formula: β without i = β − (XᵀX)⁻¹ xᵢ rᵢ / (1 − hᵢ), with leverage hᵢ (Cook 1977,
    doi:10.1080/00401706.1977.10489493). Least squares on purpose: a drift would take up an outlier's
    slack, and the question here is which point a plain reading of the curve hangs on.
    """
    x = design(law_column(entropy))
    ortho, triangle = np.linalg.qr(x)
    coefficient = np.linalg.solve(triangle, ortho.T @ reward)
    residual = reward - x @ coefficient
    leverage = np.minimum((ortho**2).sum(axis=1), 1.0 - 1e-12)
    shift = np.linalg.solve(triangle, (ortho * (residual / (1.0 - leverage))[:, None]).T)
    # In standard errors (DFBETAS, up to a factor common to all): the reward's origin must not matter.
    scale = np.linalg.norm(np.linalg.inv(triangle), axis=1) + np.finfo(float).tiny
    most = int(np.argmax(np.max(np.abs(shift) / scale[:, None], axis=0)))
    return Influence(
        step=float(step[most]),
        ceiling_shift=float(-shift[0, most]),
        a_ratio=float(1.0 - shift[1, most] / coefficient[1]) if coefficient[1] else 1.0,
    )
