"""The functional forms R(H): the law and its rivals, as columns that are linear in the coefficients.

Each form with two coefficients is R = c − slope · g(H) with g(0) = 0, so that c is its ceiling.
"""

from __future__ import annotations

import numpy as np

from entropylaw.engine.grid import FloatArray

FORMULAS = {
    "law": "c − a(exp(H) − 1)",
    "line": "c − a·H",
    "rate": "c − a(exp(kH) − 1)",
    "constant": "c",
}

RATE_REACH = 6.0
"""The free rate k runs over ±RATE_REACH / (largest entropy), and always past ±2."""

RATES = 25
"""Points on a grid of rates, at every refinement."""


def law_column(entropy: FloatArray) -> FloatArray:
    """g(H) = exp(H) − 1, of the law R = −a·exp(H) + b with c = b − a."""
    return np.expm1(entropy)


def rate_column(entropy: FloatArray, rate: float) -> FloatArray:
    """g(H) = (exp(kH) − 1)/k, which is the law at k = 1 and the line H at k = 0."""
    return entropy if rate == 0 else np.expm1(rate * entropy) / rate


def rates(entropy: FloatArray) -> FloatArray:
    """The first grid of rates for these entropies, symmetric about 0."""
    reach = max(RATE_REACH / float(np.max(np.abs(entropy))), 2.0)
    return np.linspace(-reach, reach, RATES)


def design(column: FloatArray) -> FloatArray:
    """Design matrix of c − slope·g, shape (..., n, 2), from g of shape (..., n)."""
    return np.stack([np.ones_like(column), -column], axis=-1)
