"""The fitted law: its numbers, and what it says of a target entropy or a target reward."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.estimate import estimates
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.residual_models import residual_model
from entropylaw.arguments import as_number
from entropylaw.engine.grid import FloatArray
from entropylaw.engine.mixture import together
from entropylaw.errors import UsageError
from entropylaw.results import Prediction
from entropylaw.results.posterior import Posterior


def spent_entropy(now: float, share: float) -> float:
    """Entropy at which ``share`` of exp(now) − 1 is gone; 0 where there is nothing to spend."""
    return float(np.log1p((1.0 - share) * np.expm1(max(now, 0.0))))


def checked_level(level: float) -> float:
    """``level`` as a float between 0 and 1, or a :class:`UsageError`."""
    number = level if isinstance(level, float) else as_number(level, "level")
    if not 0 < number < 1:
        raise UsageError(
            "bad-level", f"level {number:g}, expected a coverage between 0 and 1", "for 95 % give 0.95"
        )
    return float(number)


def predict_at(
    law: Posterior, floor: float, fitted: FloatArray, values: FloatArray, level: float, interval: str
) -> tuple[Prediction, ...]:
    """Predictions at ``values``, all at once."""
    rows = design(law_column(values))
    method = residual_model(interval).method
    both = together(law.functional(rows), law.functional(rows, new_noise=floor))
    found = estimates(both, level=level, method=method)
    mean, observation = found[: len(rows)], found[len(rows) :]
    lowest, highest = float(fitted.min()), float(fitted.max())
    return tuple(
        Prediction(
            entropy=float(value),
            mean=mean[i],
            observation=observation[i],
            extrapolated=not lowest <= value <= highest,
        )
        for i, value in enumerate(values)
    )


def solve_for_entropy(
    reward: float, ceiling: float | None, a: float | None
) -> tuple[float | None, str | None]:
    """H with c − a(exp(H) − 1) = reward, or None and why."""
    if ceiling is None or a is None or a == 0:
        return None, "the fitted law is flat"
    ratio = (ceiling - reward) / a
    if ratio < 0:
        side = (
            "above the ceiling"
            if a > 0
            else "below the reward at H = 0, and the fitted law rises with entropy"
        )
        return (
            None,
            f"the target {reward:g} lies {side} ({ceiling:.4g}): no entropy gives it under the fitted law",
        )
    return float(np.log1p(ratio)), None


def solutions(law: Posterior, reward: float) -> FloatArray:
    """Where each component's law gives ``reward``; nan where it never does."""
    ceiling, a = law.coefficient[:, 0], law.coefficient[:, 1]
    ratio = np.divide(ceiling - reward, a, out=np.full_like(a, np.nan), where=a != 0)
    return np.log1p(np.where(ratio > -1, ratio, np.nan))
