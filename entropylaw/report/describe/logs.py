"""Logs: the columns that would be used, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from entropylaw.documents.document import ColumnsDocument
from entropylaw.escaping import counted, listing
from entropylaw.paths import hostless
from entropylaw.report import blocks as b
from entropylaw.report.numbers import format_number, format_step
from entropylaw.report.words import meaning
from entropylaw.results.columns import ColumnReport

_MOST_NAMES = 300
"""Other columns that are listed; CSV and JSON have them all."""

_MEANING = ("kind", "unit", "aggregation", "estimator", "temperature", "timing")

COLUMNS = b.columns("run", "path", "role", "column", "used", "values", "low", "high", *_MEANING, "why")
"""A row per column: its role is step, entropy, reward, coefficient (its first and last value), no entropy or
other."""


def describe(result: ColumnsDocument | ColumnReport) -> list[b.Block]:
    """A row per column with a role in every run; those with a star would be used."""
    if isinstance(result, ColumnsDocument):
        return [block for run in result.runs for block in describe(run)]
    source = result.source
    about = f"{hostless(source.path)} ({source.format}, {counted(source.rows, 'record')}"
    if source.unread:
        about += f", {100 * source.unread:.2g} % not read"
    about += ")"
    usable = b.Verdict("usable", "the columns with a star would be used", True)
    hint = ""
    if result.problem is not None:
        usable = b.Verdict("NOT USABLE", f"{result.problem.message} [{result.problem.slug}]", False)
        hint = result.problem.hint
    elif result.no_entropy is not None:
        hint = result.no_entropy.hint
    evaluations = f"; {counted(result.pairs, 'evaluation')}"
    dropped = Counter(result.read_dropped) + Counter(result.dropped)
    unknown = [name for name, role in result.others.items() if not role]
    others = counted(len(unknown), "other column")
    if unknown:
        others += f": {listing(unknown, _MOST_NAMES)}"
    if len(unknown) > _MOST_NAMES:
        others += "; --format csv has them all"
    notes = [
        b.Note("trainer", f"{result.trainer}: {result.trainer_why}"),
        b.Note("no law", "" if result.no_entropy is None else result.no_entropy.message),
        b.Note("pair", "" if result.pair is None else f"{result.pair}: {result.pair_why}{evaluations}"),
        *b.labelled("dropped", (f"{reason} ({number})" for reason, number in sorted(dropped.items()))),
        *b.labelled("note", result.notes),
        *b.labelled("caution", result.cautions),
        b.Note("other", others),
    ]
    heads = b.columns("role", "column", "values", "range", "meaning", "why")
    rows = [_of_people(row) for row in _roles(result) if row["role"] != "other" or row["why"]]
    return [
        b.Heading(result.run, 2, about),
        usable,
        b.Notes([b.Note("hint", hint)]),
        b.Table(heads, rows, words=len(heads)),
        b.Notes(notes),
    ]


def _of_people(row: b.Row) -> tuple[b.Cell, ...]:
    """The cells of a column of a log for people: its role has a star where it would be used."""
    low, high = (row.get(end) for end in ("low", "high"))
    ends = ""
    if isinstance(low, float) and isinstance(high, float):
        written = format_step if row["role"] == "step" else format_number
        ends = f"{written(low)} to {written(high)}"
    role = f"{row['role']} *" if row["used"] else row["role"]
    return role, row["column"], row.get("values", ""), ends, row.get("meaning", ""), row["why"]


def table(result: ColumnsDocument | ColumnReport) -> b.Table:
    """A row per column with a role."""
    runs = result.runs if isinstance(result, ColumnsDocument) else (result,)
    return b.table_of(COLUMNS, (row for run in runs for row in _roles(run)))


def _roles(report: ColumnReport) -> Iterator[b.Row]:
    """A row per column of a run with a role."""
    base: b.Row = {"run": report.run, "path": hostless(report.source.path), "used": False}
    steps: b.Row = {"column": report.step_column, "values": report.steps, "why": report.step_why}
    ends: b.Row = {"low": report.first_step, "high": report.last_step}
    yield base | steps | ends | {"role": "step", "used": True}
    for role, candidates in (("entropy", report.entropy), ("reward", report.reward)):
        for candidate in candidates:
            row: b.Row = {name: getattr(candidate.meaning, name) for name in _MEANING}
            row |= {name: getattr(candidate, name) for name in ("column", "used", "low", "high", "why")}
            row |= {"values": candidate.usable, "meaning": meaning(candidate.meaning)}
            yield base | row | {"role": role}
    for name, (low, high) in sorted(report.coefficients.items()):
        yield base | {"role": "coefficient", "column": name, "low": low, "high": high, "why": ""}
    for decoy in report.decoys:
        yield base | {"role": "no entropy", "column": decoy.column, "why": decoy.why}
    for name, reason in report.others.items():
        yield base | {"role": "other", "column": name, "why": reason}
