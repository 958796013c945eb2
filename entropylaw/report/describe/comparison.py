"""The document of a comparison: how the runs were grouped, and then the comparison itself."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.comparison import ComparisonDocument
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.describe import arms

MOST_NAMED = 8
"""Runs of no arm that a terminal names."""


def describe(result: ComparisonDocument) -> list[b.Block]:
    """The comparison, with the grouping and the runs of no arm below its title."""
    heading, *rest = arms.describe(result.comparison)
    by = ", ".join(dict.fromkeys(one.by for one in result.grouped))
    arms_of = "; ".join(one.sentence for one in result.grouped)
    reasons: dict[str, list[str]] = {}
    for one in (one for one in result.left_out if not one.arm):
        reasons.setdefault(one.why, []).append(one.run)
    notes = [b.Note("missing", said) for said in missing(result)]
    notes += [b.Note("grouped", f"by {by}: {arms_of}" if by != "as given" else arms_of)]
    for why, runs in reasons.items():
        more = f" and {len(runs) - MOST_NAMED} more" if len(runs) > MOST_NAMED else ""
        brief = ", ".join(runs[:MOST_NAMED]) + more
        notes.append(b.Note("in no arm", f"{', '.join(runs)} ({why})", f"{brief} ({why})"))
    return [heading, b.Notes(notes), *rest, b.warned(result.warnings)]


def missing(result: ComparisonDocument) -> Iterator[str]:
    """The runs of each arm that could not be read or fitted: the differences are over the others."""
    for arm in dict.fromkeys(one.arm for one in result.missing):
        names = [one.run for one in result.missing if one.arm == arm]
        whose = f"{arm}: " if arm else "in no arm, and may be of any: "
        what = f"{whose}{counted(len(names), 'run')} ({', '.join(names)})"
        yield f"{what}; the differences are those of the others, and gates on them are unknown"


def table(result: ComparisonDocument) -> b.Table:
    """A row per comparison and quantity."""
    return arms.table(result.comparison)
