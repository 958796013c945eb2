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
    from entropylaw.analysis.fitting import fit_law
    from entropylaw.analysis.law import LawFit
    from entropylaw.documents.fit import FitDocument, load_fit
    from entropylaw.errors import EntropyLawError, FitError, InputError, OutputError, UsageError
    from entropylaw.ingest import read_runs, select
    from entropylaw.ingest.run import Run, Series
    from entropylaw.results import EntropySet, Estimate, Prediction, Rival, Saturation, Validity
    from entropylaw.workflow import fit_logs, fit_run

_HOMES = {
    "EntropyLawError": "entropylaw.errors",
    "EntropySet": "entropylaw.results",
    "Estimate": "entropylaw.results",
    "FitDocument": "entropylaw.documents.fit",
    "FitError": "entropylaw.errors",
    "InputError": "entropylaw.errors",
    "LawFit": "entropylaw.analysis.law",
    "OutputError": "entropylaw.errors",
    "Prediction": "entropylaw.results",
    "Rival": "entropylaw.results",
    "Run": "entropylaw.ingest.run",
    "Saturation": "entropylaw.results",
    "Series": "entropylaw.ingest.run",
    "UsageError": "entropylaw.errors",
    "Validity": "entropylaw.results",
    "fit_law": "entropylaw.analysis.fitting",
    "fit_logs": "entropylaw.workflow",
    "fit_run": "entropylaw.workflow",
    "load_fit": "entropylaw.documents.fit",
    "read_runs": "entropylaw.ingest",
    "select": "entropylaw.ingest",
}

__all__ = [
    "EntropyLawError",
    "EntropySet",
    "Estimate",
    "FitDocument",
    "FitError",
    "InputError",
    "LawFit",
    "OutputError",
    "Prediction",
    "Rival",
    "Run",
    "Saturation",
    "Series",
    "UsageError",
    "Validity",
    "__version__",
    "fit_law",
    "fit_logs",
    "fit_run",
    "load_fit",
    "read_runs",
    "select",
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
