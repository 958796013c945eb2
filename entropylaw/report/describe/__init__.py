"""Descriptions of results: ``describe`` makes blocks, and ``table`` the table of CSV and frames."""

from __future__ import annotations

from typing import Any

from entropylaw.report.blocks import Block, Table
from entropylaw.results.result import late

_MODULES = {
    "law": "Fit",
    "runs": "FitDocument RunFit ReportDocument RunReport",
    "forecast": "Forecast SaturationForecast PredictionDocument RunPrediction "
    "Backtest BacktestDocument RunBacktest",
    "phases": "PhasesDocument RunPhases PhaseFit PhasesAcross",
    "arms": "ArmComparison",
    "comparison": "ComparisonDocument",
    "check": "CheckDocument GateCase",
    "logs": "ColumnsDocument ColumnReport TokenSummary",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
"""Class of a result → module of this package that describes it; imported when it is needed."""


def describe(result: Any) -> list[Block]:
    """The blocks of a result or document."""
    blocks: list[Block] = late(f"report.describe.{_MODULE_OF[type(result).__name__]}.describe", result)
    return blocks


def table(result: Any) -> Table:
    """The table of a result or document, for CSV and frames."""
    found: Table = late(f"report.describe.{_MODULE_OF[type(result).__name__]}.table", result)
    return found
