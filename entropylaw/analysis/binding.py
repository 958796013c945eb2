"""The methods of fits that compute, bound by :mod:`entropylaw.binding`."""

from entropylaw.analysis.law.kept_word import kept_word_of
from entropylaw.analysis.numbers import (
    curve,
    entropy_for,
    evaluations,
    predict,
    reads_of,
)

__all__ = ["curve", "entropy_for", "evaluations", "kept_word_of", "predict", "reads_of"]
