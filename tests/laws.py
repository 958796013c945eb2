"""The law's own numbers, without its verdict and its averages; and tables under one covariance."""

from typing import Any

import numpy as np

from entropylaw import LawFit, fit_law
from entropylaw.engine.constants import PRIOR, Prior
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of
from entropylaw.results.result import replace

WHITE = replace(PRIOR, white=1.0, long=0.0, scales=((0.0, 1.0),))
"""Residuals are independent and of constant scale."""


def own_law(*series: Any, **options: Any) -> LawFit:
    """The law of a run; arguments as for ``fit_law``."""
    return fit_law(*series, **options).law


def fixed(length: float, white: float) -> Prior:
    """Residuals are a drift of one length, in evaluations, and a white share."""
    return replace(WHITE, white=0.0, lengths=(length,), shares=((white, 1.0),))


def reads_under(prior: Prior, entropy: Any, reward: Any, step: Any = None) -> Reads:
    """The reads of entropies as they are under some prior."""
    steps = np.arange(len(reward), dtype=float) if step is None else np.asarray(step, dtype=float)
    return Reads(
        table_of(steps, np.asarray(entropy, dtype=float), np.asarray(reward, dtype=float), prior=prior)
    )
