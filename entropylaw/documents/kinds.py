"""The kinds of documents: the one place that says which there are, and how each is read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document.

    ``module`` and ``type_name`` say what it is read as, and are imported only then; ``command`` writes it.
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
        Kind("fit", "entropylaw fit", "entropylaw.documents.fit", "FitDocument"),
        Kind("prediction", "entropylaw predict", "entropylaw.documents.prediction", "PredictionDocument"),
        Kind("phases", "entropylaw phases", "entropylaw.documents.phases", "PhasesDocument"),
        Kind("report", "entropylaw report", "entropylaw.documents.report", "ReportDocument"),
        Kind("index", "entropylaw report", "entropylaw.pipeline.site", "IndexDocument"),
        Kind("check", "entropylaw check", "entropylaw.documents.check", "CheckDocument"),
        Kind("backtest", "entropylaw backtest", "entropylaw.documents.backtest", "BacktestDocument"),
    )
}
"""Name → kind; each has a JSON Schema, in ``schemas/``."""
