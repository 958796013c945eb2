"""entropylaw: the entropy law of reinforcement learning for language models, with intervals that hold.

>>> import entropylaw
>>> run, = entropylaw.read_runs("data/lab/grpo_s0/metrics.parquet")       # doctest: +SKIP
>>> fit = entropylaw.fit_run(run)                                          # doctest: +SKIP
>>> fit.validity.ok, fit.ceiling.value, fit.ceiling.low, fit.ceiling.high  # doctest: +SKIP

Everything here is imported on first use, so that ``import entropylaw`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from entropylaw._version import __version__

if TYPE_CHECKING:
    from entropylaw.analysis.backtest import backtest
    from entropylaw.analysis.batch import fit_laws
    from entropylaw.analysis.fitting import fit_law
    from entropylaw.analysis.forecast import forecast, saturation_forecast
    from entropylaw.analysis.influence import influences
    from entropylaw.analysis.nonlinear import fit_nonlinear, to_lmfit
    from entropylaw.analysis.phases import combine_phases, fit_phases
    from entropylaw.analysis.rivals import compare_forms
    from entropylaw.analysis.seams import find_seams
    from entropylaw.analysis.segments import fit_segments
    from entropylaw.analysis.shared import fit_shared
    from entropylaw.documents.fit import FitDocument, load_fit
    from entropylaw.documents.phases import PhasesDocument, load_phases
    from entropylaw.errors import EntropyLawError, FitError, InputError, OutputError, UsageError
    from entropylaw.ingest import select
    from entropylaw.ingest.load import read_runs
    from entropylaw.ingest.run import Run, Series
    from entropylaw.results import EntropySet, Estimate, Prediction, Rival, Saturation, Validity
    from entropylaw.results.backtest import Backtest
    from entropylaw.results.forecast import Forecast, SaturationForecast
    from entropylaw.results.law import LawFit
    from entropylaw.results.phases import PhaseFit, PhasesAcross
    from entropylaw.workflow import fit_logs, fit_run

_HOMES = {
    "EntropyLawError": "entropylaw.errors",
    "EntropySet": "entropylaw.results",
    "Estimate": "entropylaw.results",
    "Backtest": "entropylaw.results.backtest",
    "FitDocument": "entropylaw.documents.fit",
    "FitError": "entropylaw.errors",
    "Forecast": "entropylaw.results.forecast",
    "InputError": "entropylaw.errors",
    "LawFit": "entropylaw.results.law",
    "OutputError": "entropylaw.errors",
    "Prediction": "entropylaw.results",
    "Rival": "entropylaw.results",
    "Run": "entropylaw.ingest.run",
    "Saturation": "entropylaw.results",
    "SaturationForecast": "entropylaw.results.forecast",
    "Series": "entropylaw.ingest.run",
    "UsageError": "entropylaw.errors",
    "Validity": "entropylaw.results",
    "PhaseFit": "entropylaw.results.phases",
    "PhasesAcross": "entropylaw.results.phases",
    "PhasesDocument": "entropylaw.documents.phases",
    "backtest": "entropylaw.analysis.backtest",
    "combine_phases": "entropylaw.analysis.phases",
    "compare_forms": "entropylaw.analysis.rivals",
    "find_seams": "entropylaw.analysis.seams",
    "fit_law": "entropylaw.analysis.fitting",
    "fit_laws": "entropylaw.analysis.batch",
    "fit_logs": "entropylaw.workflow",
    "fit_run": "entropylaw.workflow",
    "fit_nonlinear": "entropylaw.analysis.nonlinear",
    "fit_phases": "entropylaw.analysis.phases",
    "fit_segments": "entropylaw.analysis.segments",
    "fit_shared": "entropylaw.analysis.shared",
    "forecast": "entropylaw.analysis.forecast",
    "influences": "entropylaw.analysis.influence",
    "load_fit": "entropylaw.documents.fit",
    "load_phases": "entropylaw.documents.phases",
    "read_runs": "entropylaw.ingest",
    "saturation_forecast": "entropylaw.analysis.forecast",
    "select": "entropylaw.ingest",
    "to_lmfit": "entropylaw.analysis.nonlinear",
}

__all__ = [
    "Backtest",
    "EntropyLawError",
    "EntropySet",
    "Estimate",
    "FitDocument",
    "FitError",
    "Forecast",
    "InputError",
    "LawFit",
    "OutputError",
    "PhaseFit",
    "PhasesAcross",
    "PhasesDocument",
    "Prediction",
    "Rival",
    "Run",
    "Saturation",
    "SaturationForecast",
    "Series",
    "UsageError",
    "Validity",
    "__version__",
    "backtest",
    "combine_phases",
    "compare_forms",
    "find_seams",
    "fit_law",
    "fit_laws",
    "fit_logs",
    "fit_nonlinear",
    "fit_phases",
    "fit_run",
    "fit_segments",
    "fit_shared",
    "forecast",
    "influences",
    "load_fit",
    "load_phases",
    "read_runs",
    "saturation_forecast",
    "select",
    "to_lmfit",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'entropylaw' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public API and nothing else."""
    return sorted(__all__)
