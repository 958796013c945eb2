"""Computes the semantic entropy of plans: their diversity by step, from counts of grams or labels.

This is the entropy of *frequencies*, H = −Σ p(g) log p(g) over strategic grams g of one step, in nats. It is
not a token entropy and can move differently: in arXiv:2509.03646 it rises while the token entropy of planning
tokens stays flat or falls.

The plug-in estimate from counts is biased by about −(K − 1)/(2N) for K types among N occurrences, so that it
rises with the amount of text alone. There are two corrections: Miller and Madow's (1955), which adds
(K − 1)/(2N) with the *observed* types, and rarefaction, the expected plug-in value of N occurrences drawn
without replacement, with one N for all steps: it is still biased, but equally for equal plans, so that steps
can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from entropylaw.arrays import FloatArray, IntArray

_COLUMNS = {
    "grams": pa.int64(),
    "gram_types": pa.int64(),
    "entropy_semantic": pa.float64(),
    "entropy_semantic_mm": pa.float64(),
    "entropy_semantic_rarefied": pa.float64(),
    "entropy_semantic_rarefied_n": pa.int64(),
}


def rarefied_entropy(counts: ArrayLike, size: int) -> float:
    """Expected plug-in entropy of ``size`` occurrences drawn without replacement, nats.

    Σ over types of Σ_j −(j/n) log(j/n) · C(c, j) C(N − c, n − j) / C(N, n), no sampling. Terms more than ten
    standard deviations and 50 counts from a type's mean are left out; their sum is below 10⁻²⁰.
    """
    counts = np.asarray(counts, dtype=np.int64)
    total = int(counts.sum())
    different, times = np.unique(counts[counts > 0], return_counts=True)
    # E[−(j/n) log(j/n)] of every type, j hypergeometric: n = size of total, c of them of the type.
    mean = different * (size / total)
    spread = np.sqrt(mean * (1 - different / total) * (total - size) / max(total - 1, 1))
    least = np.maximum(0, size - (total - different))
    most = np.minimum(different, size)
    low = np.maximum(least, np.floor(mean - 10 * spread - 50)).astype(int)
    length = np.minimum(most, np.ceil(mean + 10 * spread + 50)).astype(int) - low + 1
    which = np.repeat(np.arange(len(low)), length)
    j = np.arange(len(which)) - np.repeat(np.cumsum(length) - length, length) + low[which]
    c = different[which]
    p = np.exp(log_choose(c, j) + log_choose(total - c, size - j) - log_choose(total, size))
    # The probabilities of a type sum to 1; the division removes rounding errors of the log-gammas.
    terms = np.bincount(which, -p * xlogy(j / size, j / size)) / np.bincount(which, p)
    return float(times @ terms) + 0.0


def semantic_entropy(
    step: IntArray, label: IntArray, *, steps: Sequence[int], common: int | None = None
) -> pa.Table:
    """Entropy by step of the frequencies of plans, in nats.

    Parameters
    ----------
    step, label
        (n,) step and gram, or plan, of every occurrence, as numbers from 0.
    steps
        All steps, ascending, including those without an occurrence.
    common
        Number of occurrences to rarefy to, at least 2; by default :func:`common_size`.

    Returns
    -------
    pyarrow.Table
        One row per step. ``grams, gram_types``: numbers of occurrences N, and of different ones K.
        ``entropy_semantic, entropy_semantic_mm``: entropy of the observed frequencies, null if a step has no
        occurrence; and the same + (K − 1)/(2N). ``entropy_semantic_rarefied``: expected plug-in value of
        ``entropy_semantic_rarefied_n`` occurrences drawn without replacement, null if a step has fewer; they
        are as many at all steps.
    """
    # Numbered as they first appear, so that sums have one order for any numbers.
    label = np.asarray(pa.array(label).dictionary_encode().indices, dtype=np.int64)
    labels = int(label.max(initial=0)) + 1
    coded, times = np.unique(np.searchsorted(steps, step) * labels + label, return_counts=True)
    counts = np.split(times, np.searchsorted(coded, labels * np.arange(1, len(steps))))
    size = common_size([row.sum() for row in counts]) if common is None else common
    rows = list[tuple[float | None, ...]]()
    for row in counts:
        n = int(row.sum())
        types = len(row)
        value: float | None = None
        corrected: float | None = None
        rarefied: float | None = None
        if n:
            value = float(-(row / n) @ np.log(row / n)) + 0.0
            corrected = value + (types - 1) / (2 * n)
        if size is not None and n >= size:
            rarefied = rarefied_entropy(row, size)
        rows.append((n, types, value, corrected, rarefied, size))
    columns = {"step": pa.array(steps, pa.int64())}
    for name, cells in zip(_COLUMNS, zip(*rows, strict=True), strict=True):
        columns[name] = pa.array(cells, _COLUMNS[name])
    return pa.table(columns)


def common_size(counts: ArrayLike) -> int | None:
    """The largest number of occurrences that 95 % of the steps with any have; None below 2."""
    counts = np.asarray(counts)
    ordered = np.sort(counts[counts > 0])
    if not len(ordered):
        return None
    size = int(ordered[int(0.05 * len(ordered))])
    return size if size >= 2 else None


def log_choose(n: ArrayLike, k: ArrayLike) -> FloatArray:
    """Logarithms of binomial coefficients."""
    n = np.asarray(n)
    k = np.asarray(k)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
