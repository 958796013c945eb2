"""The methods of fits that compute, as :class:`entropylaw.binding.Predicting`."""

from entropylaw.analysis.numbers import curve, entropy_for, law_entropy_for, law_predict, predict, reads_of

__all__ = ["curve", "entropy_for", "law_entropy_for", "law_predict", "predict", "reads_of"]
