"""The columns document: what logs hold and what would be used.

``entropylaw/columns/1``. A run that could not be used has the reason as ``problem``.
"""

from __future__ import annotations

from collections.abc import Sequence

from entropylaw.documents.document import AnyDocument, refusal_of
from entropylaw.documents.kinds import KINDS
from entropylaw.paths import shown_path
from entropylaw.results.columns import ColumnReport
from entropylaw.results.fields import replace


class ColumnsDocument(AnyDocument, frozen=True, kw_only=True):
    """What each run offers; its file stands in the run."""

    runs: tuple[ColumnReport, ...]
    schema: str = KINDS["columns"].schema


def columns_document(reports: Sequence[ColumnReport]) -> ColumnsDocument:
    """The document of some runs, which names no absolute path."""
    runs = (
        replace(
            report,
            source=replace(report.source, path=shown_path(report.source.path)),
            problem=report.problem and refusal_of(report.problem, report.source.path),
        )
        for report in reports
    )
    return ColumnsDocument(runs=tuple(runs))
