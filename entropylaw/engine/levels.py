"""The smoothed reward: the level of a run at every evaluation, jointly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import SMOOTHED_ROWS
from entropylaw.engine.reads import Reads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothedReward:
    """The reward at every evaluation without white noise: a mixture of k multivariate t distributions.

    ``weight`` (k,), ``df`` (k,), ``mean`` (k, n), ``covariance`` (k, n, n): squared scales.
    """

    weight: FloatArray
    df: FloatArray
    mean: FloatArray
    covariance: FloatArray

    def level(self) -> FloatArray:
        """Posterior mean (n,)."""
        return np.asarray(self.weight @ self.mean)

    def p_above(self, one: int, other: int, margin: float = 0.0) -> float:
        """Probability that the reward at an evaluation is above that at another by a margin."""
        covariance = self.covariance
        between = covariance[:, one, one] + covariance[:, other, other] - 2.0 * covariance[:, one, other]
        scale = np.sqrt(np.maximum(between, 1e-300))
        return float(self.weight @ stdtr(self.df, (self.mean[:, one] - self.mean[:, other] - margin) / scale))


def smoothed_reward(reads: Reads) -> SmoothedReward:
    """Curve and drift at every evaluation, jointly.

    With Σ the residual's covariance, W its white part and P = Σ⁻¹ − Σ⁻¹X(XᵀΣ⁻¹X)⁻¹XᵀΣ⁻¹ the white noise is
    W P y, with covariance W − W P W, and the reward without it y − W P y with the same covariance. The rows
    are the :data:`SMOOTHED_ROWS` heaviest; neighbours that were joined are one evaluation.
    """
    table, weight = reads.table, reads.averaged
    heaviest = np.argsort(-weight, kind="stable")[:SMOOTHED_ROWS]
    heaviest = heaviest[weight[heaviest] > 0]
    reward, means, squares = table.candidates.columns[:, -1], [], []
    for row in heaviest.tolist():
        drift, white = table.residual_covariance(row)
        block, first = next((block, span.start) for block, span in table.parts() if row < span.stop)
        number = (row - first) % max(len(block.curves), 1)
        columns = table.candidates.columns[:, [*block.linear, *block.curves[number : number + 1]]]
        inverse = np.linalg.inv(drift + np.diag(white))
        along = inverse @ columns
        inner = columns.T @ along
        inner[np.diag_indices_from(inner)] *= 1.0 + 1e-10
        project = inverse - along @ np.linalg.solve(inner, along.T)
        means.append(reward - white * (project @ reward))
        squares.append((np.diag(white) - white[:, None] * project * white) * table.variance[row])
    unit, origin = table.candidates.unit, table.candidates.origin
    return SmoothedReward(
        weight=weight[heaviest] / weight[heaviest].sum(),
        df=table.df[heaviest],
        mean=np.array(means) * unit + origin,
        covariance=np.array(squares) * unit**2,
    )
