"""Student's t distribution function by interpolation, in a tenth of the exact function's time."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaln, ndtr, stdtr

from entropylaw.results.arrays import FloatArray

_PER_UNIT = 48
"""Pieces for each unit of arsinh(z)."""

_REACH = 14
"""Largest |arsinh(z)| in the table, z about 600,000; farther out the exact function is called."""


def t_cdf(df: float, z: FloatArray) -> FloatArray:
    """Distribution function of Student's t with ``df`` degrees of freedom (normal where infinite).

    Quintic Hermite interpolation in arsinh(z) of scipy's ``stdtr``; absolute error below 10⁻¹¹, ``df`` ≥ 1.
    """
    if np.isinf(df):
        return np.asarray(ndtr(z))
    place = np.arcsinh(np.abs(z)) * _PER_UNIT
    far = place >= _REACH * _PER_UNIT
    if anything_far := bool(far.any()):
        place = np.where(far, 0.0, place)
    piece = place.astype(np.intp)
    place -= piece
    table = _table(df)
    tail = table[5].take(piece)
    for coefficient in table[4::-1]:
        tail *= place
        tail += coefficient.take(piece)
    below = np.where(z < 0, tail, 1.0 - tail)
    if anything_far:
        below[far] = stdtr(df, z[far])
    return np.asarray(below)


def t_density(df: float, z: FloatArray) -> FloatArray:
    """Density of Student's t with ``df`` degrees of freedom (normal where infinite)."""
    z = np.minimum(np.abs(z), 1e150)  # its square is a number still
    if np.isinf(df):
        return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(np.pi * df)
    return np.asarray(np.exp(constant - (df + 1) / 2 * np.log1p(z**2 / df)))


@lru_cache(maxsize=256)
def _table(df: float) -> FloatArray:
    """Coefficients (6, pieces) of the upper tail 1 − F(sinh w) on each piece of w, lowest power first."""
    w = np.arange(_REACH * _PER_UNIT + 1) / _PER_UNIT
    z, stretch = np.sinh(w), np.cosh(w)
    density = t_density(df, z)
    h = 1.0 / _PER_UNIT
    value = stdtr(df, -z)
    slope = -density * stretch * h
    bend = density * (z * stretch**2 * (df + 1) / (df + z**2) - z) * h**2 / 2
    v0, v1, s0, s1, b0, b1 = (part for x in (value, slope, bend) for part in (x[:-1], x[1:]))
    rise, turn, twist = v1 - v0 - s0 - b0, s1 - s0 - 2 * b0, b1 - b0
    cubic = 10 * rise - 4 * turn + twist
    quartic = -15 * rise + 7 * turn - 2 * twist
    return np.array([v0, s0, b0, cubic, quartic, 6 * rise - 3 * turn + twist])
