"""Documents made from fits, as the commands make them."""

from collections.abc import Iterable

from entropylaw.documents.document import Entry, FitDocument, ReportDocument, RunReport, report_of


def run_report(entry: Entry, phases: Entry | None = None) -> RunReport:
    """The report of one run."""
    return RunReport(fit=entry, phases=phases)


def report_runs(fits: FitDocument) -> ReportDocument:
    """The report of some fits."""
    return of_reports(fits, map(run_report, fits.runs))


def of_reports(fits: FitDocument, runs: Iterable[RunReport]) -> ReportDocument:
    """The report of a fit document's runs."""
    return report_of(
        runs, inputs=fits.inputs, settings=fits.settings, warnings=fits.warnings, config=fits.config
    )
