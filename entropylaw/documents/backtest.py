"""The backtest document: how far off forecasts from the early part of finished runs were.

``entropylaw/backtest/1``. A run that could not be tested, and a file that could not be read, stand among
the runs with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from entropylaw._version import __version__
from entropylaw.documents.codec import encode
from entropylaw.documents.fit import InputFile, refusal_of
from entropylaw.errors import EntropyLawError
from entropylaw.results.backtest import Backtest, RunBacktest

SCHEMA = "entropylaw/backtest/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestDocument(Backtest):
    """A backtest with its provenance. ``warnings`` are about files, not runs."""

    inputs: tuple[InputFile, ...]
    warnings: tuple[str, ...] = ()
    version: str = __version__
    schema: str = SCHEMA
    seed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]


def refused_backtest(run: str, path: str, error: EntropyLawError) -> RunBacktest:
    """A run, or a file without any, that could not be tested; the reason names no absolute path."""
    return RunBacktest(run=run, n=0, block=1, scores=(), refusal=refusal_of(error, path).message)
