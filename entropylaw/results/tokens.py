"""What a figure shows of token-level logs: the histogram of the entropies over the steps."""

from __future__ import annotations

from dataclasses import dataclass

from entropylaw.results.arrays import FloatArray

LOW, FORK = 0.01, 0.672
"""Nats: below LOW lie 50.64 % of the tokens of Qwen3-8B, above FORK a fifth (arXiv:2506.01939, section 3)."""


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
