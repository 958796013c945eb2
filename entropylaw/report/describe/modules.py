"""Class of a result → the module of this package that describes it; all but those of a check."""

from __future__ import annotations

from types import ModuleType, NoneType

from entropylaw.documents.comparison import ComparisonDocument
from entropylaw.documents.document import (
    BacktestDocument,
    ColumnsDocument,
    FitDocument,
    PhasesDocument,
    PredictionDocument,
    ReportDocument,
    RunPrediction,
    RunReport,
)
from entropylaw.documents.samples import SamplesDocument
from entropylaw.report.describe import (
    arms,
    backtest,
    forecast,
    law,
    logs,
    phases,
    prediction,
    runs,
    samples,
    tokens,
)
from entropylaw.results.arms import ArmComparison
from entropylaw.results.columns import ColumnReport
from entropylaw.results.fit import Fit, RunFit
from entropylaw.results.forecast import Backtest, Forecast, RunBacktest
from entropylaw.results.phases import CurvePhases, PhaseFit, PhasesAcross, PooledCurve
from entropylaw.results.tokens import TokenSummary

ENTRIES: dict[type, ModuleType] = {
    **dict.fromkeys((NoneType, Fit), runs),
    PhaseFit: phases,
    RunPrediction: prediction,
    RunBacktest: backtest,
}
"""Class of the result in an entry → the module that describes the entry."""

MODULES: dict[type, ModuleType] = {
    **dict.fromkeys((Fit, RunFit), law),
    **dict.fromkeys((FitDocument, ReportDocument, RunReport), runs),
    Forecast: forecast,
    PredictionDocument: prediction,
    **dict.fromkeys((Backtest, BacktestDocument, RunBacktest), backtest),
    **dict.fromkeys((PhasesDocument, PhaseFit, PhasesAcross, CurvePhases, PooledCurve), phases),
    **dict.fromkeys((ColumnsDocument, ColumnReport), logs),
    TokenSummary: tokens,
    SamplesDocument: samples,
    **dict.fromkeys((ArmComparison, ComparisonDocument), arms),
}
