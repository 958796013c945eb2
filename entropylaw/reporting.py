"""From fits to a report: of every run its law, its forecast and its phases."""

from __future__ import annotations

import math

from entropylaw.analysis.forecast import forecast, saturation_forecast
from entropylaw.documents.codec import as_stored
from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.documents.phases import PhasesDocument, RunPhases
from entropylaw.documents.report import ReportDocument, RunReport, from_fits
from entropylaw.errors import FitError
from entropylaw.results.law import LawFit

AHEAD = (0.125, 0.25, 0.375, 0.5)
"""How far a report forecasts, in spans of the run."""


def report_runs(fits: FitDocument, phases: PhasesDocument | None = None) -> ReportDocument:
    """The report of some fits.

    Parameters
    ----------
    fits
        A fresh or a stored fit document.
    phases
        The phases of the same logs, where they were looked for; a run is found by its file and its name.
    """
    known = {(run.path, run.run): run for run in phases.runs} if phases is not None else {}
    runs = (run_report(entry, known.get((entry.path, entry.run))) for entry in fits.runs)
    return from_fits(fits, runs)


def run_report(entry: RunFit, phases: RunPhases | None = None) -> RunReport:
    """The report of one run: its law and its phases as they are, and a forecast from its evaluations."""
    law = entry.law
    if law is None:
        return RunReport(fit=entry, no_forecast="the run has no fit", phases=phases)
    series = (law.step, law.entropy, law.reward)
    try:
        told = as_stored(forecast(*series, at_step=steps_ahead(law), level=law.level, run=law.run))
        spending = as_stored(saturation_forecast(*series, level=law.level, run=law.run))
    except FitError as error:
        return RunReport(fit=entry, no_forecast=error.message, phases=phases)
    return RunReport(fit=entry, forecast=told, spending=spending, phases=phases)


def steps_ahead(law: LawFit) -> tuple[float, ...]:
    """The steps that a report forecasts; whole ones where the run's are whole."""
    first, last = float(law.step[0]), float(law.step[-1])
    whole = all(float(step).is_integer() for step in law.step)
    found = (last + share * (last - first) for share in AHEAD)
    return tuple(dict.fromkeys(float(math.ceil(step)) if whole else step for step in found))
