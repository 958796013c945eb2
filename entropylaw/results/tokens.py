"""Summaries of token-level logs, and the distributions of their entropies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from entropylaw.arrays import FloatArray
from entropylaw.results.result import Result

Cell = float | int | str | None


class TokenSummary(Result, frozen=True, kw_only=True):
    """A summary of token-level logs.

    Attributes
    ----------
    columns
        Name of a column → its cells, one per step in ascending order; None where unknown. For the
        names see :func:`entropylaw.tokens.summary.summarise`.
    about
        Files, their columns, the definition of classes, and a hash of the sums: JSON values.
    notes
        Data left out and assumptions, a sentence each.
    """

    columns: Mapping[str, tuple[Cell, ...]]
    about: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def rows(self) -> list[dict[str, Cell]]:
        """The cells of each step by column."""
        rows = zip(*self.columns.values(), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in rows]

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {**self.about, "notes": list(self.notes), "steps": self.rows}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenHistogram:
    """The distribution of the tokens' entropies at each step.

    Attributes
    ----------
    step, edges
        Shape (n,), ascending, and (k + 1,), edges of the bands in nats.
    share
        Shape (n, k): share of a step's tokens in each band; a row adds up to 1.
    top20, low
        Shape (n,): share of all entropy that a fifth of the tokens holds, nan where all entropies are 0; and
        share of tokens below 0.01 nats.
    """

    step: FloatArray
    edges: FloatArray
    share: FloatArray
    top20: FloatArray
    low: FloatArray
