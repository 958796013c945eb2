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
    heading, *rest = arms.describe(result.comparison, result.others)
    by = ", ".join(dict.fromkeys(arm.by for arm in result.grouped))
    members = "; ".join(arm.sentence for arm in result.grouped)
    notes = b.labelled("missing", missing(result))
    notes.append(b.Note("grouped", members if by == "as given" else f"by {by}: {members}"))
    reasons: dict[str, list[str]] = {}
    for run in result.left_out:
        if not run.arm:
            reasons.setdefault(run.why, []).append(run.run)
    for reason, runs in reasons.items():
        brief = ", ".join(runs[:MOST_NAMED])
        if len(runs) > MOST_NAMED:
            brief += f" and {len(runs) - MOST_NAMED} more"
        notes.append(b.Note("in no arm", f"{', '.join(runs)} ({reason})", f"{brief} ({reason})"))
    return [heading, b.Notes(notes), *rest, b.warned(result.warnings)]


def missing(result: ComparisonDocument) -> Iterator[str]:
    """The runs of each arm that could not be read or fitted: the differences are over the others."""
    for arm in dict.fromkeys(run.arm for run in result.missing):
        names = [run.run for run in result.missing if run.arm == arm]
        whose = f"{arm}: " if arm else "in no arm, and may be of any: "
        text = f"{whose}{counted(len(names), 'run')} ({', '.join(names)})"
        yield f"{text}; the differences are those of the others, and gates on them are unknown"


def table(result: ComparisonDocument) -> b.Table:
    """A row per comparison and quantity."""
    return arms.table(result.comparison, result.others)
