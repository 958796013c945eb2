"""The backtest document: how far off forecasts from the early part of finished runs were.

``entropylaw/backtest/1``. A run that could not be tested, and a file that could not be read, stand among
the runs with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entropylaw.documents.document import Document, read_of, refusal_of
from entropylaw.documents.kinds import KINDS
from entropylaw.errors import EntropyLawError
from entropylaw.results.backtest import RunBacktest, Skill

if TYPE_CHECKING:
    from entropylaw.ingest.run import Run


class BacktestDocument(Document[RunBacktest], frozen=True, kw_only=True):
    """A backtest with its provenance; ``warnings`` are about files."""

    level: float
    overall: tuple[Skill, ...]
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["backtest"].schema


def refused_backtest(log: Run | str, _: Any, error: EntropyLawError, name: str = "") -> RunBacktest:
    """A run, or a path without any, that could not be tested; the reason names no absolute path."""
    refusal = refusal_of(error, log).message
    return RunBacktest(run=read_of(log, name=name)["run"], n=0, block=1, scores=(), refusal=refusal)
