"""The methods of fits that compute, bound by :mod:`entropylaw.binding`."""

from entropylaw.analysis.numbers import (
    curve,
    entropy_for,
    evaluations,
    predict,
    reads_of,
    short_answer,
)

__all__ = ["curve", "entropy_for", "evaluations", "predict", "reads_of", "short_answer"]
