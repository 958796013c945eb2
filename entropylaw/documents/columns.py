"""The columns document: what logs hold and what would be used.

``entropylaw/columns/1``. A run that could not be used has the reason as ``problem``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropylaw._version import __version__
from entropylaw.documents.codec import encode
from entropylaw.documents.document import refusal_of
from entropylaw.documents.kinds import KINDS
from entropylaw.paths import shown_path
from entropylaw.results.columns import ColumnReport
from entropylaw.results.fields import replace
from entropylaw.results.result import Result


class ColumnsDocument(Result, frozen=True, kw_only=True):
    """What each run offers; its file stands in the run."""

    runs: tuple[ColumnReport, ...]
    version: str = __version__
    schema: str = KINDS["columns"].schema

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]


def columns_document(reports: Sequence[ColumnReport]) -> ColumnsDocument:
    """The document of some runs, which names no absolute path."""
    runs = []
    for report in reports:
        path, problem = report.source.path, report.problem
        source = replace(report.source, path=shown_path(path))
        runs.append(replace(report, source=source, problem=problem and refusal_of(problem, path)))
    return ColumnsDocument(runs=tuple(runs))
