"""The document of a comparison: how the runs were grouped, and then the comparison itself."""

from __future__ import annotations

from entropylaw.documents.comparison import ComparisonDocument
from entropylaw.report import blocks as b
from entropylaw.report.describe import arms


def describe(result: ComparisonDocument) -> list[b.Block]:
    """The comparison, with the grouping and the runs of no arm below its title."""
    heading, *rest = arms.describe(result.comparison)
    by = ", ".join(dict.fromkeys(one.by for one in result.grouped))
    arms_of = "; ".join(one.sentence for one in result.grouped)
    notes = [
        *b.labelled("grouped", [f"by {by}: {arms_of}" if by != "as given" else arms_of]),
        *b.labelled("in no arm", [f"{one.run} ({one.why})" for one in result.left_out]),
        *b.labelled("warning", result.warnings, ""),
    ]
    return [heading, b.Notes(notes), *rest]


def table(result: ComparisonDocument) -> b.Table:
    """A row per comparison and quantity."""
    return arms.table(result.comparison)
