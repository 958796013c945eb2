"""The methods of fits that compute, as :class:`entropylaw.binding.Predicting`."""

from entropylaw.analysis.averaging import basis, curve, entropy_for, predict
from entropylaw.analysis.law.estimates import entropy_for as law_entropy_for
from entropylaw.analysis.law.estimates import predict as law_predict
from entropylaw.analysis.law.inference import residual_covariances

__all__ = [
    "basis",
    "curve",
    "entropy_for",
    "law_entropy_for",
    "law_predict",
    "predict",
    "residual_covariances",
]
