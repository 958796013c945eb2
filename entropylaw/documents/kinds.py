"""The kinds of documents, and how each is read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document.

    ``command`` writes it; its type is imported from ``module`` when it is first needed. Version 2 holds
    findings where version 1 held sentences; both are read.
    """

    name: str
    command: str
    version: int = 1
    module: str = "entropylaw.documents.document"

    @property
    def schema(self) -> str:
        """The ``schema`` of a document of this kind."""
        return f"entropylaw/{self.name}/{self.version}"

    @property
    def type(self) -> type[Any]:
        """The frozen type of the document."""
        module = import_module(self.module)
        return getattr(module, f"{self.name.capitalize()}Document")  # type: ignore[no-any-return]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("fit", "entropylaw fit", 2),
        Kind("prediction", "entropylaw predict", 2),
        Kind("phases", "entropylaw phases", 2),
        Kind("report", "entropylaw report", 2),
        Kind("index", "entropylaw report", 2, "entropylaw.pipeline.site"),
        Kind("check", "entropylaw check"),
        Kind("backtest", "entropylaw backtest"),
        Kind("columns", "entropylaw columns"),
    )
}
"""Name → kind; each has a JSON Schema, in ``schemas/``."""
