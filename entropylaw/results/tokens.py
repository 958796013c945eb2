"""Summaries of token-level logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
        Files, their columns, and the definition of classes: JSON values.
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
