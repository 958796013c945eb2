"""A run of a report: its law, where it goes from here, its phases, and what was read; and all runs."""

from __future__ import annotations

from collections.abc import Iterable

from entropylaw.documents.report import ReportDocument, RunReport
from entropylaw.report import words
from entropylaw.report.blocks import DATA, REPORT, Block, Heading, Table, paragraphs
from entropylaw.report.describe import fit, forecast, phases, runs
from entropylaw.report.index_rows import NO_CURVES, IndexRow, index_row, overall
from entropylaw.results.groups import SharedFit


def describe(result: ReportDocument | RunReport) -> list[Block]:
    """A run, or the runs of a document."""
    if isinstance(result, RunReport):
        return fit.of_run(result, [*_ahead(result), *_phases(result)])
    rows = [runs.cells(report) for report in result.runs]
    sentences = overall([index_row(report, "") for report in result.runs])
    blocks = fit.document_head(result.warnings, rows, [result.shared], sentences)
    return blocks + [block for report in result.runs for block in describe(report)]


def table(result: ReportDocument | RunReport) -> Table:
    """As of fits, with the forecast and the phases."""
    if isinstance(result, RunReport):
        return fit.data_table(runs.rows(result), [], DATA, REPORT)
    rows = (row for report in result.runs for row in runs.rows(report))
    return fit.data_table(rows, [result.shared], DATA, REPORT)


def index_table(rows: Iterable[IndexRow], shared: Iterable[SharedFit]) -> Table:
    """The same of the rows of an index."""
    cells = (dict(cells) for row in rows for cells in (row.cells, *row.parts))
    return fit.data_table(cells, shared, DATA, REPORT)


def _ahead(report: RunReport) -> list[Block]:
    """Where the run goes from here; nothing for a run without a law."""
    if (law := report.fit.law) is None:
        return []
    blocks: list[Block] = [Heading("Forecast", name="forecast")]
    if report.forecast is None:
        blocks.append(paragraphs(f"There is no forecast: {report.no_forecast or 'none was asked for'}."))
    against = "" if law.validity.ok else words.headline(law)
    return blocks + forecast.sections(report.forecast, report.spending, report, against)


def _phases(report: RunReport) -> list[Block]:
    """The phases without their headings, or why there are none."""
    run, heading = report.phases, Heading("Phases", name="phases")
    if run is not None and run.phases is not None:
        return [heading, *(one for one in phases.describe(run) if not isinstance(one, Heading))]
    if run is None:
        return [heading, paragraphs(words.sentence(words.capital(NO_CURVES)))]
    return [heading, paragraphs(f"The phases could not be told: {words.sentence(words.why(run.refusal))}")]
