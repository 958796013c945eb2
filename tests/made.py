"""Documents made from fits, as the commands make them."""

from __future__ import annotations

from entropylaw.documents.document import FitDocument, ReportDocument, RunFit, RunPhases, RunReport, from_fits


def run_report(entry: RunFit, phases: RunPhases | None = None) -> RunReport:
    """The report of one run."""
    return RunReport(fit=entry, phases=phases)


def report_runs(fits: FitDocument) -> ReportDocument:
    """The report of some fits."""
    return from_fits(fits, map(run_report, fits.runs))
