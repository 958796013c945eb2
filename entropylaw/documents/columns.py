"""The columns document: what a log holds and what would be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropylaw._version import __version__
from entropylaw.documents.codec import encode
from entropylaw.documents.document import refusal_of
from entropylaw.ingest.report import ColumnReport
from entropylaw.paths import shown_path
from entropylaw.results.fields import replace

SCHEMA = "entropylaw/columns/1"


def columns_document(reports: Sequence[ColumnReport]) -> dict[str, Any]:
    """Plain JSON values; a run that could not be used has its error as ``problem``."""
    runs = []
    for report in reports:
        source = replace(report.source, path=shown_path(report.source.path))
        runs.append(encode(replace(report, source=source, problem=None)))
        if report.problem is not None:
            runs[-1]["problem"] = encode(refusal_of(report.problem, report.source.path))
    return {"schema": SCHEMA, "version": __version__, "runs": runs}
