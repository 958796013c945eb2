"""Lists the kinds of documents, by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document.

    ``command`` writes it; its type is imported from ``module`` when it is first needed. Other versions are
    refused: the log is fitted again.
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
        Kind("fit", "entropylaw fit", 6),
        Kind("prediction", "entropylaw predict", 7),
        Kind("phases", "entropylaw phases", 4),
        Kind("report", "entropylaw report", 8),
        Kind("index", "entropylaw report", 8, "entropylaw.documents.summary"),
        Kind("check", "entropylaw check", 2),
        Kind("columns", "entropylaw columns"),
        Kind("comparison", "entropylaw compare", 4, module="entropylaw.documents.comparison"),
        Kind("samples", "entropylaw samples", module="entropylaw.documents.samples"),
    )
}
"""Name → kind; each has a JSON Schema in ``docs/schemas``."""
