"""A run of a report: its law, where it goes from here, its phases, and what was read; and all runs."""

from __future__ import annotations

from collections.abc import Iterable

from entropylaw.documents.report import ReportDocument, RunReport
from entropylaw.report import reportwords, words
from entropylaw.report.blocks import DATA, REPORT, Block, Heading, Table, paragraphs
from entropylaw.report.describe import fit, forecast, phases, runs
from entropylaw.report.index_rows import IndexRow, index_row
from entropylaw.results.groups import SharedFit


def describe(result: ReportDocument | RunReport) -> list[Block]:
    """A run, or the runs of a document."""
    if isinstance(result, RunReport):
        return _run(result)
    rows = [runs.cells(report) for report in result.runs]
    shared = [result.shared] if result.shared is not None else []
    sentences = reportwords.overall([index_row(report, "") for report in result.runs])
    blocks = fit.document_head("Entropy law report", result.warnings, rows, shared, sentences)
    return blocks + [block for report in result.runs for block in _run(report)]


def table(result: ReportDocument | RunReport) -> Table:
    """As of fits, with the forecast and the phases."""
    reports = result.runs if isinstance(result, ReportDocument) else (result,)
    rows = [row for report in reports for row in (runs.cells(report), *runs.parts(report))]
    shared = result.shared if isinstance(result, ReportDocument) else None
    return fit.data_table(rows, [shared] if shared else [], DATA, REPORT)


def index_table(rows: Iterable[IndexRow], shared: Iterable[SharedFit]) -> Table:
    """The same of the rows of an index."""
    return fit.data_table(
        [dict(cells) for row in rows for cells in (row.cells, *row.parts)], shared, DATA, REPORT
    )


def _run(report: RunReport) -> list[Block]:
    run = report.fit
    blocks = [*fit.head(run, reportwords.opening(report)), *fit.law_sections(run)]
    return [*blocks, *_ahead(report), *_phases(report), *fit.trust(run), *fit.read(run)]


def _ahead(report: RunReport) -> list[Block]:
    """Where the run goes from here; nothing for a run without a law."""
    law = report.fit.law
    if law is None:
        return []
    blocks: list[Block] = [Heading("Forecast", name="forecast")]
    if report.forecast is None:
        blocks.append(paragraphs(f"There is no forecast: {report.no_forecast or 'none was asked for'}."))
    against = "" if law.validity.ok else words.headline(law)
    return blocks + forecast.sections(report.forecast, report.spending, report, against)


def _phases(report: RunReport) -> list[Block]:
    blocks: list[Block] = [Heading("Phases", name="phases")]
    if report.phases is None or report.phases.phases is None:
        return [*blocks, paragraphs(reportwords.phases_sentence(report.phases))]
    return blocks + [block for block in phases.describe(report.phases) if not isinstance(block, Heading)]
