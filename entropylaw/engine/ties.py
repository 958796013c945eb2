"""Choices that rounding errors do not make."""

from __future__ import annotations

from typing import Any

import numpy as np

from entropylaw.engine.grid import FloatArray

TIED = 1e-6
"""Difference of a log evidence, or of a probability, that is taken for none."""


def first_best(values: FloatArray, slack: float = TIED) -> Any:
    """Index along the last axis of the first value that is as great as the greatest, up to ``slack``.

    Which of two values is the greater in their last digits depends on the processor.
    """
    return np.argmax(values >= values.max(axis=-1, keepdims=True) - slack, axis=-1)
