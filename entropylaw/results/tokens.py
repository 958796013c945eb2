"""The result of ``entropylaw tokens``: a summary of token-level logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from entropylaw.results.result import Result

Cell = float | int | str | None


class TokenSummary(Result, frozen=True, kw_only=True):
    """A summary of token-level logs.

    Attributes
    ----------
    rows
        Name of a column → its cell, of each step in ascending order; None where unknown. For the
        names see :func:`entropylaw.tokens.summary.summarise`.
    about
        Files, their columns, and the definition of classes: JSON values.
    notes
        Data left out and assumptions, a sentence each.
    """

    rows: tuple[Mapping[str, Cell], ...]
    about: Mapping[str, Any]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """The summary as JSON values."""
        return {**self.about, "notes": list(self.notes), "steps": list(self.rows)}
