"""From a run to its phases: find the curves, fit them; a run that cannot be fitted has a refusal."""

from __future__ import annotations

from dataclasses import replace

from entropylaw.analysis.phasecautions import FEWEST
from entropylaw.analysis.phaseresults import UNKNOWN_SHARE, PhaseFit
from entropylaw.analysis.phases import fit_phases
from entropylaw.documents.phases import RunPhases, phased_run, unphased_run
from entropylaw.errors import EntropyLawError, FitError, UsageError
from entropylaw.ingest.phasecolumns import NO_SHARE, PhaseSeries, phase_series
from entropylaw.ingest.run import Run
from entropylaw.options import PhaseOptions

OF_A_SUMMARY = ("tokens", "entropy_p50")
"""Columns by which a summary of tokens is known."""


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
        return phased_run(run, series, _fitted(run, series, asked.level)), None
    except UsageError:
        raise
    except EntropyLawError as error:
        told = _hinted(run, error)
        return unphased_run(run, series, told), told


def class_phases(run: Run, level: float) -> RunPhases | None:
    """The phases of a run whose log has planning's entropy, or execution's; None where it has neither."""
    try:
        series = phase_series(run)
    except EntropyLawError:
        return None
    if series.planning_column is None and series.execution_column is None:
        return None
    return phases_of(run, PhaseOptions(level=level))[0]


def _fitted(run: Run, series: PhaseSeries, level: float) -> PhaseFit:
    found = fit_phases(
        series.step,
        series.planning,
        series.execution,
        aggregate=series.aggregate,
        planning_share=series.planning_share,
        length=series.length,
        level=level,
        run=run.name,
    )
    if NO_SHARE not in series.notes:
        return found
    # The columns have the true reason, and the fit knows only that it was given no share.
    return replace(found, notes=tuple(note for note in found.notes if not note.startswith(UNKNOWN_SHARE)))


def _hinted(run: Run, error: EntropyLawError) -> EntropyLawError:
    """The error, with what to do about it where the log is a summary of a few steps' tokens."""
    if error.slug != "too-few-points" or not all(name in run.columns for name in OF_A_SUMMARY):
        return error
    hint = f"summarise the tokens of at least {FEWEST} steps with `entropylaw tokens`"
    return FitError(error.slug, error.message, hint)
