"""What a residual model needs of a run: covariances to sum over, and the known noise of the entropies."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law import HIGHEST_ENTROPY, SMALLEST_ENTROPY
from entropylaw.analysis.residual_models import ResidualModel, residual_model
from entropylaw.arguments import as_floats, as_number
from entropylaw.engine.grid import FloatArray, Grid
from entropylaw.errors import FitError, UsageError


def covariances(
    step: FloatArray, course: FloatArray, reward: FloatArray, interval: str, eval_size: int | None
) -> Grid:
    """The residual covariances to sum over, with the known noise variance of each evaluation.

    ``course`` is the smoothed entropy in nats; arrays have shape (n,), the rest is as for
    :func:`entropylaw.fit_law`.
    """
    model = residual_model(interval)
    if eval_size is None:
        return model.grid(step)
    if as_number(eval_size, "eval_size") < 1:
        few = f"eval_size {eval_size}, expected at least 1"
        raise UsageError("bad-eval-size", few, "give the sample count")
    if model.known_noise_grid is None:
        why = f"eval_size with interval {interval!r}, which estimates all noise"
        raise UsageError("bad-eval-size", why, "use interval 'drift'")
    if reward.min() < 0 or reward.max() > 1:
        raise FitError(
            "eval-size-needs-a-rate",
            f"rewards run from {reward.min():g} to {reward.max():g}, expected a rate between 0 and 1",
            "leave out eval_size: binomial noise is known only for rates",
        )
    x = design(law_column(course))
    fitted = x @ np.linalg.lstsq(x, reward, rcond=None)[0]
    # Never 0 at the borders: half a success, or half a failure, is the least that can be expected.
    rate = np.clip(fitted, 0.5 / eval_size, 1.0 - 0.5 / eval_size)
    variance = float((reward - fitted) @ (reward - fitted)) / (reward.size - 2)
    least = max(variance, np.finfo(float).eps)
    return model.known_noise_grid(step, least, rate * (1.0 - rate) / eval_size)


def checked_sd(sd: float | FloatArray | None, n: int, model: ResidualModel) -> FloatArray | None:
    """The known sd of each entropy, shape (n,), in nats; None where nothing is known.

    Raises
    ------
    FitError
        ``lengths-differ``.
    UsageError
        ``bad-entropy-sd``: not above 0 and finite; given for a model that refuses it, or not given for one
        that requires it. ``too-many-evaluations`` for the model.
    """
    if sd is None:
        if model.entropy_sd == "required":
            missing = f"interval {model.name!r} without entropy_sd, expected one"
            raise UsageError("bad-entropy-sd", missing, "give the sd in nats")
        return None
    if model.entropy_sd == "refused":
        why = f"entropy_sd with interval {model.name!r}, which takes entropies for exact"
        raise UsageError("bad-entropy-sd", why, "use interval 'drift' or 'odr'")
    if model.most_known is not None and n > model.most_known:
        raise UsageError(
            "too-many-evaluations",
            f"{n} evaluations with interval {model.name!r}, expected at most {model.most_known}",
            "use interval 'drift', which takes errors in the entropy along its course",
        )
    values = as_floats(sd, "entropy_sd")
    if np.ndim(sd) and values.size != n:
        raise FitError(
            "lengths-differ",
            f"{n} entropies and {values.size} standard deviations of them, expected one of each",
            "pass one number, or arrays of the same length",
        )
    bad = values[~((values >= SMALLEST_ENTROPY) & (values <= HIGHEST_ENTROPY))]
    if bad.size:
        raise UsageError(
            "bad-entropy-sd",
            f"entropy_sd {bad[0]:g}, expected {SMALLEST_ENTROPY:g} to {HIGHEST_ENTROPY:g} nats for each",
            "give the standard error of each entropy, or one number for all",
        )
    return np.broadcast_to(values, (n,))
