"""The run that every sample logs."""

import math

STEPS = range(1, 13)


def entropy(step: int) -> float:
    """Fall from one nat."""
    return math.exp(-step / 6)


def reward(step: int) -> float:
    """Rise as the law says, with something on top."""
    return 1.2 - 0.4 * math.exp(entropy(step)) + 0.01 * (step % 3)
