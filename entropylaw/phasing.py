"""From a run to its phases: find the curves, fit them; a run that cannot be fitted has a refusal."""

from __future__ import annotations

from dataclasses import replace

from entropylaw.analysis.phasecautions import FEWEST
from entropylaw.analysis.phases import fit_phases
from entropylaw.documents.phases import PhaseSettings, RunPhases, phased_run, unphased_run
from entropylaw.errors import EntropyLawError, FitError, UsageError
from entropylaw.ingest.phasecolumns import NO_SHARE, PhaseSeries, phase_series
from entropylaw.ingest.run import Run
from entropylaw.results.phases import UNKNOWN_SHARE

OF_A_SUMMARY = ("tokens", "entropy_p50")
"""Columns by which a summary of tokens is known."""


def phases_of(run: Run, asked: PhaseSettings) -> tuple[RunPhases, EntropyLawError | None]:
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
        if error.slug == "too-few-points" and all(name in run.columns for name in OF_A_SUMMARY):
            hint = f"summarise the tokens of at least {FEWEST} steps with `entropylaw tokens`"
            error = FitError(error.slug, error.message, hint)
        return unphased_run(run, series, error), error
    if NO_SHARE in series.notes:
        # The columns have the true reason, and the fit knows only that it was given no share.
        notes = tuple(note for note in found.notes if not note.startswith(UNKNOWN_SHARE))
        found = replace(found, notes=notes)
    return phased_run(run, series, found), None
