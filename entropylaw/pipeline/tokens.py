"""Results of the tables that :mod:`entropylaw.tokens` makes, which knows no results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from entropylaw.results.tokens import TokenHistogram, TokenSummary
from entropylaw.tokens.summary import bands

if TYPE_CHECKING:
    # Drawing what was summarised needs no DuckDB.
    from entropylaw.tokens.run import Summarised


def token_summary(summarised: Summarised) -> TokenSummary:
    """The summary of token logs."""
    columns = {name: tuple(cells) for name, cells in summarised.steps.to_pydict().items()}
    return TokenSummary(columns=columns, about=summarised.about, notes=summarised.notes)


def token_histogram(path: str) -> TokenHistogram:
    """The distribution in a ``.hist.parquet``; the errors are those of :meth:`Sums.read`."""
    return TokenHistogram(**bands(Path(path)))
