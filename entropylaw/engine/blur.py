"""What errors in a regressor add to the residual, for forms that take the regressor as known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.engine.whiten import Products, cross_products


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blur:
    """One more part of a run's residual covariance: slope² · root @ rootᵀ.

    ``root`` has shape (n, k); ``slope`` (g,) is the reward that a unit of the regressor costs at each grid
    point, and ``variance`` (g,) the σ² there, in which the engine counts.
    """

    root: FloatArray
    slope: FloatArray
    variance: FloatArray


def blurred_products(
    step: FloatArray, columns: FloatArray, grid: Grid, floor: FloatArray | None, blur: Blur | None
) -> Products:
    """As :func:`entropylaw.engine.whiten.cross_products` with the blur in the covariance, by Woodbury.

    The filter's last state stays that of the drift alone.
    """
    if blur is None:
        return cross_products(step, columns, grid, floor)
    batch, n, width = columns.shape
    k = blur.root.shape[1]
    root = np.broadcast_to(blur.root, (batch, n, k))
    products = cross_products(step, np.concatenate([columns, root], axis=2), grid, floor)
    own, mixed = products.gram[..., width:, width:], products.gram[..., width:, :width]
    squared = blur.slope[:, None, None] ** 2
    inner = squared * own + blur.variance[:, None, None] * np.eye(k)
    taken = squared * (mixed.swapaxes(-1, -2) @ np.linalg.solve(inner, mixed))
    # The root is the same for the whole batch, and so is what it adds to the determinant.
    more = np.linalg.slogdet(inner[0])[1] - k * np.log(blur.variance)
    gram, last = products.gram[..., :width, :width] - taken, products.last[..., :width]
    return replace(products, gram=gram, last=last, log_det=products.log_det + more)
