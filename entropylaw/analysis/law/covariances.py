"""The residual covariances to sum over for a run, by residual model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from entropylaw.analysis.forms import design, independent_columns, law_column
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.arguments import as_number
from entropylaw.arrays import FloatArray
from entropylaw.engine.prior import Grid, drift_grid, floor_grid, local_level_grid, white_grid
from entropylaw.engine.residual_prior import adapted_grid
from entropylaw.errors import FitError, UsageError

FEWEST = 8
"""Evaluations below which nothing can be learned about the residual's memory and scale: the covariances are
those of one length and of constant scale."""


def covariances(
    step: FloatArray, entropy: FloatArray, reward: FloatArray, interval: str, eval_size: int | None
) -> Grid:
    """The residual covariances to sum over, with the known noise variance of each evaluation.

    ``entropy`` is the smoothed entropy in nats; arrays have shape (n,), the rest is as for
    :func:`entropylaw.fit_law`.
    """
    model = residual_model(interval)
    if eval_size is None:
        return GRIDS[model.name](step, entropy, reward)
    if as_number(eval_size, "eval_size") < 1:
        few = f"eval_size {eval_size}, expected at least 1"
        raise UsageError("bad-eval-size", few, "give the sample count")
    if model.name not in KNOWN_NOISE_GRIDS:
        why = f"eval_size with interval {interval!r}, which estimates all noise"
        raise UsageError("bad-eval-size", why, "use interval 'drift'")
    if reward.min() < 0 or reward.max() > 1:
        raise FitError(
            "eval-size-needs-a-rate",
            f"rewards run from {reward.min():g} to {reward.max():g}, expected a rate between 0 and 1",
            "leave out eval_size: binomial noise is known only for rates",
        )
    x = design(law_column(entropy))
    fitted = x @ np.linalg.lstsq(x, reward, rcond=None)[0]
    # Never 0 or 1: at least half a success and half a failure are expected.
    rate = np.clip(fitted, 0.5 / eval_size, 1.0 - 0.5 / eval_size)
    variance = float((reward - fitted) @ (reward - fitted)) / (reward.size - 2)
    least = max(variance, np.finfo(float).eps)
    return KNOWN_NOISE_GRIDS[model.name](step, least, rate * (1.0 - rate) / eval_size)


def drift_covariances(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Grid:
    """Covariances of a drift plus noise, of short or long memory, of constant or changing scale.

    Those that the run excludes are left out. The curves that decide are a constant, the law, and the law with
    the entropy, its square, the step and the logarithm of the step besides, one after the other.
    """
    column = law_column(entropy)
    if step.size < FEWEST or np.ptp(column) == 0:
        return drift_grid(step)
    time = (step - step[0]) * ((step.size - 1) / (step[-1] - step[0]))
    columns = [np.ones(step.size), column, entropy, entropy**2, time, np.log1p(time)]
    curve = independent_columns(columns[: step.size - 2])
    return adapted_grid(step, curve, reward, np.column_stack([column, -step]))


def walk_covariances(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Grid:
    """Covariances of a random walk plus noise, whatever the entropy and the reward."""
    del entropy, reward
    return local_level_grid(step)


def white_covariances(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Grid:
    """The one covariance of independent residuals."""
    del step, entropy, reward
    return white_grid()


GRIDS: dict[str, Callable[[FloatArray, FloatArray, FloatArray], Grid]] = {
    "drift": drift_covariances,
    "walk": walk_covariances,
    "odr": white_covariances,
    "ols": white_covariances,
}
"""Residual model → the covariances to sum over for a run, from its steps, entropies and rewards."""

KNOWN_NOISE_GRIDS: dict[str, Callable[[FloatArray, float, FloatArray], Grid]] = {"drift": floor_grid}
"""Residual model → the same from the steps, the variance of the residual by least squares (squared reward
units), and the known noise variance (n,) of each evaluation; with other models ``eval_size`` is refused."""
