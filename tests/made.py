"""Documents made from fits, as the commands make them."""

from __future__ import annotations

from entropylaw.documents.document import FitDocument, ReportDocument, RunFit, RunPhases, RunReport, from_fits
from entropylaw.pipeline import steps
from entropylaw.results.result import replace


def run_report(entry: RunFit, phases: RunPhases | None = None) -> RunReport:
    """The report of one run, with the forecast beside its law."""
    return replace(steps.answer(steps.Ahead(), entry).result, phases=phases)


def report_runs(fits: FitDocument) -> ReportDocument:
    """The report of some fits."""
    return from_fits(fits, map(run_report, fits.runs))
