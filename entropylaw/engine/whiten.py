"""Whitening by a linear filter: O(n) a grid point, every grid point and every column at once.

An Ornstein–Uhlenbeck drift seen through white noise is a one-dimensional state-space model, so that the
Kalman recursion (Kalman 1960, doi:10.1115/1.3662552) turns any column into its standardised
innovations: the same numbers as a triangular solve with the Cholesky factor of the covariance, without
forming an n × n matrix. Steps may be unevenly spaced.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropylaw.engine.grid import FloatArray, Grid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gains:
    """What the filter does at each step for each grid point; independent of the data.

    ``decay``, ``gain`` and ``inverse_sd`` have shape (n, g); ``log_det`` (g,) is the covariance's
    log-determinant; ``last_variance`` (g,) is the drift's variance at the last step given the data.
    """

    decay: FloatArray
    gain: FloatArray
    inverse_sd: FloatArray
    log_det: FloatArray
    last_variance: FloatArray


def filter_gains(step: FloatArray, grid: Grid, floor: FloatArray | None = None) -> Gains:
    """Run the variance recursion for every grid point.

    Parameters
    ----------
    step
        Shape (n,), strictly increasing.
    grid
        The covariances.
    floor
        Shape (n,), known noise variance per evaluation, added to the grid's noise.
    """
    n, points = step.size, grid.length.size
    gap = np.diff(step, prepend=step[0])
    decay = np.exp(-gap[:, None] / grid.length[None, :])
    noise = np.broadcast_to(grid.noise, (n, points))
    if floor is not None:
        noise = noise + floor[:, None]
    innovation = np.empty((n, points))
    gain = np.empty((n, points))
    variance = grid.drift
    for t in range(n):
        if t:
            variance = decay[t] ** 2 * variance + grid.drift * (1.0 - decay[t] ** 2)
        innovation[t] = variance + noise[t]
        gain[t] = variance / innovation[t]
        variance = variance * noise[t] / innovation[t]
    return Gains(
        decay=decay,
        gain=gain,
        inverse_sd=1.0 / np.sqrt(innovation),
        log_det=np.log(innovation).sum(axis=0),
        last_variance=variance,
    )


def whiten(gains: Gains, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Whiten columns.

    Parameters
    ----------
    gains
        From :func:`filter_gains`, for n steps and g grid points.
    columns
        Shape (n, c).

    Returns
    -------
    whitened
        Shape (n, c, g); ``whitened[:, :, k]`` equals L⁻¹ @ columns for the k-th covariance L Lᵀ.
    last
        Shape (c, g): the filter's estimate of the drift at the last step if the column were all
        residual. It is linear in the column.
    """
    n, width = columns.shape
    points = gains.log_det.size
    whitened: NDArray[np.float64] = np.empty((n, width, points))
    state = np.zeros((width, points))
    for t in range(n):
        if t:
            state *= gains.decay[t]
        surprise = columns[t, :, None] - state
        np.multiply(surprise, gains.inverse_sd[t], out=whitened[t])
        surprise *= gains.gain[t]
        state += surprise
    return whitened, state
