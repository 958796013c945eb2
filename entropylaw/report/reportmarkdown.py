"""A report as Markdown, fit for a step summary or a comment: all runs in a table, then each as there is room.

It is made from the rows of the index; whole documents are taken one at a time, and only as many as fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from entropylaw.documents.report import RunReport
from entropylaw.report import describe, reportwords
from entropylaw.report.describe.fit import document_head
from entropylaw.report.index_rows import IndexRow, by_name
from entropylaw.report.render.markdown import whole
from entropylaw.results.groups import SharedFit

_WARNINGS = 20
"""Warnings that are shown; the page shows them all."""


def render_rows(
    rows: Iterable[IndexRow],
    sections: Iterable[tuple[RunReport, str]] = (),
    *,
    warnings: Sequence[str] = (),
    figures: Mapping[str, Mapping[str, str]] | None = None,
    shared: Sequence[SharedFit] = (),
) -> str:
    """The Markdown of a report whose documents need not be held.

    Parameters
    ----------
    rows
        One a run, in any order.
    sections
        Runs with the names of their pages; taken one by one until there is no more room.
    warnings
        About files, not runs.
    figures
        Name of a page → name of a figure → its address.
    shared
        What runs have in common.
    """
    named = by_name(rows)
    told = list(warnings[:_WARNINGS])
    if len(warnings) > _WARNINGS:
        told.append(
            f"Left out of this text: {len(warnings) - _WARNINGS} more warnings; index.html shows them."
        )
    head = document_head(
        "Entropy law report",
        told,
        [{**row.cells, "run": row.shown} for row in named],
        shared,
        reportwords.overall(named),
    )
    found = ((describe.describe(report), (figures or {}).get(slug, {})) for report, slug in sections)
    return whole(head, found, len(named), "their pages hold them")
