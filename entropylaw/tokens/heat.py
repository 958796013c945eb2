"""The histograms that ``entropylaw tokens`` wrote, as arrays for a heat map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from entropylaw.tokens.expression import ROUNDED
from entropylaw.tokens.grid import BINS, EDGES
from entropylaw.tokens.summary import summarise
from entropylaw.tokens.sums import read

FloatArray = NDArray[np.float64]

TOGETHER = 6
"""Neighbouring bins that make one band: a band is about 10 % wide at 0.672 nats."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenHistogram:
    """Where the tokens' entropies lie, step by step.

    Attributes
    ----------
    step
        Shape (n,), ascending.
    edges
        Shape (k + 1,), edges of the bands in nats.
    share
        Shape (n, k): share of a step's tokens in each band; a row adds up to 1.
    top20
        Shape (n,): share of all entropy that a fifth of the tokens holds; nan where all entropies are 0.
    low
        Shape (n,): share of tokens below 0.01 nats.
    """

    step: FloatArray
    edges: FloatArray
    share: FloatArray
    top20: FloatArray
    low: FloatArray


def read_histogram(path: str) -> TokenHistogram:
    """Read a ``.hist.parquet``: all classes of tokens together.

    Raises
    ------
    InputError
        ``not-token-sums``, ``file-corrupt``.

    """
    sums, _ = read(Path(path))
    cells = sums.cells
    steps = np.array(sums.steps, dtype=float)
    usable = (cells["bin"] >= 0) | (cells["bin"] == ROUNDED)
    counts = np.zeros((steps.size, BINS), dtype=np.int64)
    row = np.searchsorted(steps, cells["step"][usable])
    np.add.at(counts, (row, np.maximum(cells["bin"][usable], 0)), cells["tokens"][usable])
    starts = np.arange(0, BINS, TOGETHER)
    bands = np.add.reduceat(counts, starts, axis=1)
    total = np.maximum(bands.sum(axis=1, keepdims=True), 1)
    told = summarise(sums)
    return TokenHistogram(
        step=steps,
        edges=np.append(EDGES[starts], EDGES[-1]),
        share=bands / total,
        top20=told.column("share_top20").to_numpy().astype(float),
        low=told.column("share_below_0.01").to_numpy().astype(float),
    )
