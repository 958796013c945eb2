"""Descriptions of results: ``describe`` makes blocks, and ``table`` the table of CSV and frames."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from entropylaw.report.blocks import Block, Table

_MODULES: dict[str, tuple[str, ...]] = {
    "law": ("Fit", "Influences", "Comparison", "SegmentFit"),
    "runs": ("FitDocument", "RunFit", "ReportDocument", "RunReport"),
    "forecast": ("Forecast", "SaturationForecast"),
    "prediction": ("PredictionDocument", "RunPrediction"),
    "backtest": ("Backtest", "BacktestDocument", "RunBacktest"),
    "phases": ("PhasesDocument", "RunPhases", "PhaseFit", "PhasesAcross"),
    "arms": ("ArmComparison",),
    "comparison": ("ComparisonDocument",),
    "check": ("CheckDocument", "GateCase"),
    "logs": ("ColumnsDocument", "ColumnReport"),
    "tokens": ("TokenSummary",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
"""Class of a result → module of this package that describes it; imported when it is needed."""


def describe(result: Any) -> list[Block]:
    """The blocks of a result or document."""
    blocks: list[Block] = _module(result).describe(result)
    return blocks


def table(result: Any) -> Table:
    """The table of a result or document, for CSV and frames."""
    rows: Table = _module(result).table(result)
    return rows


def _module(result: Any) -> Any:
    return import_module(f"entropylaw.report.describe.{_MODULE_OF[type(result).__name__]}")
