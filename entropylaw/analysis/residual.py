"""What the residual is taken for: the choices of ``interval``, their covariances and their names."""

from __future__ import annotations

from typing import Literal

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.inverse import HIGHEST_ENTROPY, SMALLEST_ENTROPY
from entropylaw.arguments import as_floats, as_number
from entropylaw.engine.grid import FloatArray, Grid, drift_grid, floor_grid, white_grid
from entropylaw.engine.walk import local_level_grid
from entropylaw.errors import FitError, UsageError

Interval = Literal["drift", "walk", "odr", "ols"]

METHODS: dict[str, str] = {
    "drift": "drift + noise, integrated out",
    "walk": "random walk + noise, integrated out",
    "odr": "orthogonal distance regression",
    "ols": "ordinary least squares",
}
"""Names of what makes the intervals, as every estimate carries them."""


MOST_APART = 2000
"""Evaluations up to which each entropy may have an error of its own: that is a matrix of n by n."""


def checked_interval(interval: str) -> Interval:
    """``interval``, or a :class:`UsageError`."""
    if not isinstance(interval, str) or interval not in METHODS:
        raise UsageError(
            "bad-interval",
            f"interval {str(interval)[:40]!r}, expected one of {', '.join(METHODS)}",
            "use 'drift'",
        )
    return interval  # type: ignore[return-value]


def drifts(interval: str) -> bool:
    """Whether the residual may drift; the law then needs the course of the entropy, without its noise."""
    return interval in ("drift", "walk")


def residual_grid(step: FloatArray, interval: str) -> Grid:
    """The residual covariances to sum over for evaluations at ``step``, shape (n,)."""
    if interval == "drift":
        return drift_grid(step)
    return local_level_grid(step) if interval == "walk" else white_grid()


def covariances(
    step: FloatArray, course: FloatArray, reward: FloatArray, interval: str, eval_size: int | None
) -> tuple[Grid, FloatArray | None]:
    """The residual covariances to sum over, and the known noise variance of each evaluation, shape (n,).

    Parameters
    ----------
    step, course, reward
        Shape (n,): steps, course of the entropy in nats, reward.
    interval, eval_size
        As for :func:`entropylaw.fit_law`.
    """
    if eval_size is None:
        return residual_grid(step, interval), None
    if as_number(eval_size, "eval_size") < 1:
        raise UsageError(
            "bad-eval-size", f"eval_size {eval_size}, expected at least 1", "give the sample count"
        )
    if interval != "drift":
        raise UsageError(
            "bad-eval-size",
            f"eval_size with interval {interval!r}, which estimates all noise",
            "use interval 'drift'",
        )
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
    return floor_grid(step, max(variance, np.finfo(float).eps)), rate * (1.0 - rate) / eval_size


def checked_sd(sd: float | FloatArray | None, n: int, interval: str) -> FloatArray | None:
    """The known sd of each entropy, shape (n,), in nats; None where nothing is known.

    Raises
    ------
    FitError
        ``lengths-differ``.
    UsageError
        ``bad-entropy-sd``: not above 0 and finite; given for ``"ols"``; not given for ``"odr"``.
        ``too-many-evaluations`` for ``"odr"``.
    """
    if sd is None:
        if interval == "odr":
            raise UsageError(
                "bad-entropy-sd", "interval 'odr' without entropy_sd, expected one", "give the sd in nats"
            )
        return None
    if interval == "ols":
        raise UsageError(
            "bad-entropy-sd",
            "entropy_sd with interval 'ols', which takes entropies for exact",
            "use interval 'drift' or 'odr'",
        )
    if interval == "odr" and n > MOST_APART:
        raise UsageError(
            "too-many-evaluations",
            f"{n} evaluations with interval 'odr', expected at most {MOST_APART}",
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
