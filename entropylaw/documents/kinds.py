"""The kinds of documents: the one place that says which there are, and how each is read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document.

    ``module`` and ``type_name`` say what it is read as, and are imported only then; ``command`` writes it.
    Version 2 holds findings where version 1 held sentences; both are read.
    """

    name: str
    command: str
    module: str
    type_name: str
    version: int = 1

    @property
    def schema(self) -> str:
        """What a document of this kind has as its ``schema``."""
        return f"entropylaw/{self.name}/{self.version}"

    @property
    def type(self) -> type[Any]:
        """The frozen type of the document."""
        found: type[Any] = getattr(import_module(self.module), self.type_name)
        return found


KINDS = {
    kind.name: kind
    for kind in (
        Kind("fit", "entropylaw fit", "entropylaw.documents.fit", "FitDocument", version=2),
        Kind(
            "prediction",
            "entropylaw predict",
            "entropylaw.documents.prediction",
            "PredictionDocument",
            version=2,
        ),
        Kind("phases", "entropylaw phases", "entropylaw.documents.phases", "PhasesDocument", version=2),
        Kind("report", "entropylaw report", "entropylaw.documents.report", "ReportDocument", version=2),
        Kind("index", "entropylaw report", "entropylaw.pipeline.site", "IndexDocument", version=2),
        Kind("check", "entropylaw check", "entropylaw.documents.check", "CheckDocument"),
        Kind("backtest", "entropylaw backtest", "entropylaw.documents.backtest", "BacktestDocument"),
        Kind("columns", "entropylaw columns", "entropylaw.documents.columns", "ColumnsDocument"),
    )
}
"""Name → kind; each has a JSON Schema, in ``schemas/``."""
