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

from entropylaw._version import __version__ as __version__

if TYPE_CHECKING:
    from entropylaw.analysis.backtest import backtest as backtest
    from entropylaw.analysis.batch import fit_laws as fit_laws
    from entropylaw.analysis.fitting import fit_law as fit_law
    from entropylaw.analysis.forecast import forecast as forecast
    from entropylaw.analysis.forecast import saturation_forecast as saturation_forecast
    from entropylaw.analysis.influence import influences as influences
    from entropylaw.analysis.nonlinear import fit_nonlinear as fit_nonlinear
    from entropylaw.analysis.nonlinear import to_lmfit as to_lmfit
    from entropylaw.analysis.phases import combine_phases as combine_phases
    from entropylaw.analysis.phases import fit_phases as fit_phases
    from entropylaw.analysis.rivals import compare_forms as compare_forms
    from entropylaw.analysis.seams import find_seams as find_seams
    from entropylaw.analysis.segments import fit_segments as fit_segments
    from entropylaw.analysis.shared import fit_shared as fit_shared
    from entropylaw.documents.fit import FitDocument as FitDocument
    from entropylaw.documents.fit import load_fit as load_fit
    from entropylaw.documents.phases import PhasesDocument as PhasesDocument
    from entropylaw.documents.phases import load_phases as load_phases
    from entropylaw.errors import EntropyLawError as EntropyLawError
    from entropylaw.errors import FitError as FitError
    from entropylaw.errors import InputError as InputError
    from entropylaw.errors import OutputError as OutputError
    from entropylaw.errors import UsageError as UsageError
    from entropylaw.ingest import select as select
    from entropylaw.ingest.load import read_runs as read_runs
    from entropylaw.ingest.run import Run as Run
    from entropylaw.ingest.run import Series as Series
    from entropylaw.pipeline.answers import fit_run as fit_run
    from entropylaw.pipeline.documents import fit_logs as fit_logs
    from entropylaw.results import EntropySet as EntropySet
    from entropylaw.results import Estimate as Estimate
    from entropylaw.results import Prediction as Prediction
    from entropylaw.results import Rival as Rival
    from entropylaw.results import Saturation as Saturation
    from entropylaw.results import Validity as Validity
    from entropylaw.results.backtest import Backtest as Backtest
    from entropylaw.results.forecast import Forecast as Forecast
    from entropylaw.results.forecast import SaturationForecast as SaturationForecast
    from entropylaw.results.law import LawFit as LawFit
    from entropylaw.results.phases import PhaseFit as PhaseFit
    from entropylaw.results.phases import PhasesAcross as PhasesAcross

_MODULES = {
    "analysis.backtest": "backtest",
    "analysis.batch": "fit_laws",
    "analysis.fitting": "fit_law",
    "analysis.forecast": "forecast saturation_forecast",
    "analysis.influence": "influences",
    "analysis.nonlinear": "fit_nonlinear to_lmfit",
    "analysis.phases": "combine_phases fit_phases",
    "analysis.rivals": "compare_forms",
    "analysis.seams": "find_seams",
    "analysis.segments": "fit_segments",
    "analysis.shared": "fit_shared",
    "documents.fit": "FitDocument load_fit",
    "documents.phases": "PhasesDocument load_phases",
    "errors": "EntropyLawError FitError InputError OutputError UsageError",
    "ingest": "select",
    "ingest.load": "read_runs",
    "ingest.run": "Run Series",
    "pipeline.answers": "fit_run",
    "pipeline.documents": "fit_logs",
    "results": "EntropySet Estimate Prediction Rival Saturation Validity",
    "results.backtest": "Backtest",
    "results.forecast": "Forecast SaturationForecast",
    "results.law": "LawFit",
    "results.phases": "PhaseFit PhasesAcross",
}
"""Module → the public names that it has."""

_HOMES = {name: f"entropylaw.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'entropylaw' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public API and nothing else."""
    return __all__
