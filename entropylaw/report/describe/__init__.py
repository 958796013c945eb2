"""Descriptions of results: ``describe`` makes blocks, and ``table`` the table of CSV and frames."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from entropylaw.documents.document import Entry
from entropylaw.report.blocks import Block, Table

DESCRIBED = {
    "law": ("Fit", "RunFit"),
    "runs": ("FitDocument", "ReportDocument", "RunReport", "entry of Fit", "entry of NoneType"),
    "forecast": ("Forecast",),
    "prediction": ("PredictionDocument", "entry of RunPrediction"),
    "phases": (
        "PhasesDocument",
        "PhaseFit",
        "PhasesAcross",
        "CurvePhases",
        "PooledCurve",
        "entry of PhaseFit",
    ),
    "logs": ("ColumnsDocument", "ColumnReport"),
    "tokens": ("TokenSummary",),
    "samples": ("SamplesDocument",),
    "arms": ("ArmComparison", "ComparisonDocument"),
    "check": ("CheckDocument", "GateCase"),
}
"""Module of this package → the classes of what it describes. One is imported when it is needed: that of a
check imports no numpy."""

MODULES = {described: module for module, classes in DESCRIBED.items() for described in classes}


def describe(result: Any) -> list[Block]:
    """The blocks of a result or document."""
    blocks: list[Block] = _module_of(result).describe(result)
    return blocks


def table(result: Any) -> Table:
    """The table of a result or document, for CSV and frames."""
    rows: Table = _module_of(result).table(result)
    return rows


def _module_of(result: Any) -> Any:
    name = type(result).__name__
    if isinstance(result, Entry):
        name = f"entry of {type(result.result).__name__}"
    return import_module(f"{__name__}.{MODULES[name]}")
