"""From runs to the parts of a report: the phases of a run, and of a fit the forecast beside its law."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.forecast import forecast, saturation_forecast
from entropylaw.analysis.phasecautions import FEWEST
from entropylaw.analysis.phases import fit_phases
from entropylaw.documents.codec import as_stored
from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.documents.phases import PhasesDocument, RunPhases, phased_run, unphased_run
from entropylaw.documents.report import ReportDocument, RunReport, from_fits
from entropylaw.errors import EntropyLawError, FitError, UsageError
from entropylaw.ingest.phasecolumns import NO_SHARE, PhaseSeries, phase_series
from entropylaw.ingest.run import Run
from entropylaw.options import PhaseOptions
from entropylaw.results.fields import replace

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
    return from_fits(fits, (run_report(entry, known.get((entry.path, entry.run))) for entry in fits.runs))


def run_report(entry: RunFit, phases: RunPhases | None = None) -> RunReport:
    """The report of one run: its law and its phases as they are, and a forecast from its evaluations."""
    law = entry.law
    if law is None:
        return RunReport(fit=entry, no_forecast="the run has no fit", phases=phases)
    series, first, last = (law.step, law.entropy, law.reward), float(law.step[0]), float(law.step[-1])
    later = last + np.array(AHEAD) * (last - first)
    # Whole steps where the run's are whole.
    at = np.unique(np.ceil(later) if (law.step % 1 == 0).all() else later)
    try:
        told = as_stored(forecast(*series, at_step=at, level=law.level, run=law.run))
        spending = as_stored(saturation_forecast(*series, level=law.level, run=law.run))
    except FitError as error:
        return RunReport(fit=entry, no_forecast=error.message, phases=phases)
    return RunReport(fit=entry, forecast=told, spending=spending, phases=phases)


def phases_of(run: Run, asked: PhaseOptions) -> tuple[RunPhases, EntropyLawError | None]:
    """One run of a phases document, whatever happens, and the error behind its refusal.

    Raises
    ------
    UsageError
        A setting that is wrong for one run is wrong for all.
    """
    series: PhaseSeries | None = None
    try:
        series = phase_series(run, planning=asked.planning, execution=asked.execution, entropy=asked.entropy)
        found = fit_phases(
            series.step,
            series.planning,
            series.execution,
            aggregate=series.aggregate,
            planning_share=series.planning_share,
            length=series.length,
            level=asked.level,
            run=run.name,
        )
    except UsageError:
        raise
    except EntropyLawError as error:
        # A summary of tokens is known by these columns.
        if error.slug == "too-few-points" and {"tokens", "entropy_p50"} <= run.columns.keys():
            hint = f"summarise the tokens of at least {FEWEST} steps with `entropylaw tokens`"
            error = FitError(error.slug, error.message, hint)
        return unphased_run(run, series, error), error
    if NO_SHARE in series.notes:
        # The columns have the true reason, and the fit knows only that it was given no share.
        others = tuple(one for one in found.findings if one.code != "planning-share-unknown")
        found = replace(found, findings=others)
    return phased_run(run, series, found), None
