"""The methods of fits that compute, as :class:`entropylaw.binding.Predicting`."""

from entropylaw.analysis.numbers import curve, entropy_for, predict, reads_of

__all__ = ["curve", "entropy_for", "predict", "reads_of"]
