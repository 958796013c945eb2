"""Logs: the columns that would be used, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from entropylaw.documents.document import ColumnsDocument
from entropylaw.escaping import counted, listing, shown
from entropylaw.paths import hostless
from entropylaw.report import blocks as b
from entropylaw.report.numbers import format_number
from entropylaw.report.words import meaning
from entropylaw.results.axis import axis_of, on_axis
from entropylaw.results.columns import Candidate, ColumnReport, Decoy

_MOST = 8
"""Candidates and rejected columns shown to people with what is known of them; the others by name."""

_MOST_NAMES = 300
"""Other columns that are listed; CSV and JSON have them all."""

_MEANING = ("kind", "unit", "aggregation", "estimator", "temperature", "timing")

COLUMNS = b.columns("run", "path", "role", "column", "used", "values", "low", "high", *_MEANING, "why")
"""A row per column: its role is step, entropy, reward, coefficient (its first and last value), no entropy or
other."""


def describe(result: ColumnsDocument | ColumnReport) -> list[b.Block]:
    """The columns of every run: those that would be used, the candidates, and the others."""
    if isinstance(result, ColumnsDocument):
        return [block for run in result.runs for block in describe(run)]
    source = result.source
    about = f"{hostless(source.path)} ({source.format}, {counted(source.rows, 'record')})"
    usable = b.Verdict("usable", "the columns with a star would be used", True)
    hint = ""
    if result.problem is not None:
        usable = b.Verdict("NOT USABLE", f"{result.problem.message} [{result.problem.slug}]", False)
        hint = result.problem.hint
    elif result.no_entropy is not None:
        hint = result.no_entropy.hint
    axis = [on_axis(text, axis_of(result.step_column)) for text in ("step", "steps")]
    steps = f"{counted(result.steps, *axis)}, {result.first_step:g} to {result.last_step:g}"
    notes = [
        b.Note("trainer", f"{result.trainer}: {result.trainer_why}"),
        b.Note("step", f"'{result.step_column}' ({steps}): {result.step_why}"),
        *_candidates("entropy", result.entropy),
        *_candidates("reward", result.reward),
    ]
    if result.no_entropy is not None:
        notes.append(b.Note("no law", result.no_entropy.message))
    if result.pair is not None:
        evaluations = counted(result.pairs, "evaluation")
        notes.append(b.Note("pair", f"{result.pair}: {result.pair_why}; {evaluations}"))
    dropped = Counter(result.read_dropped) + Counter(result.dropped)
    notes += b.labelled("dropped", (f"{reason} ({number})" for reason, number in sorted(dropped.items())))
    notes += b.labelled("no entropy", (f"'{decoy.column}': {decoy.why}" for decoy in result.decoys[:_MOST]))
    notes += _more("no entropy", result.decoys)
    for name, (start, end) in sorted(result.coefficients.items()):
        notes.append(b.Note("coefficient", f"'{name}': {format_number(start)} to {format_number(end)}"))
    notes += b.labelled("note", result.notes) + b.labelled("caution", result.cautions)
    notes += _others(result)
    return [b.Heading(result.run, 2, about), usable, b.Notes([b.Note("hint", hint)]), b.Notes(notes)]


def table(result: ColumnsDocument | ColumnReport) -> b.Table:
    """A row per column with a role."""
    runs = result.runs if isinstance(result, ColumnsDocument) else (result,)
    return b.table_of(COLUMNS, (row for run in runs for row in _roles(run)))


def _candidates(role: str, candidates: Sequence[Candidate]) -> Iterator[b.Note]:
    """A note per candidate; the one that would be used has a star."""
    if not candidates:
        yield b.Note(role, "none found")
    for candidate in candidates[:_MOST]:
        values = "no usable values"
        facts = meaning(candidate.meaning)
        if candidate.low is not None and candidate.high is not None:
            ends = f"{format_number(candidate.low)} to {format_number(candidate.high)}"
            values = f"{counted(candidate.usable, 'value')}, {ends}"
        text = f"'{candidate.column}' ({values}{f'; {facts}' if facts else ''}): {candidate.why}"
        yield b.Note(f"{role} *" if candidate.used else role, text)
    yield from _more(role, candidates)


def _more(role: str, columns: Sequence[Candidate | Decoy]) -> list[b.Note]:
    """The names of the columns that are not described, in one sentence, if there are any."""
    rest = [column.column for column in columns[_MOST:]]
    return [b.Note(role, f"and {len(rest)} more: {listing(rest, _MOST_NAMES)}")] if rest else []


def _others(report: ColumnReport) -> list[b.Note]:
    """The columns without a role: what they could be, and those of which nothing is known."""
    unknown = [name for name, role in report.others.items() if not role]
    could_be = (f"{shown(name)}: {role}" for name, role in report.others.items() if role)
    text = counted(len(unknown), "other column")
    if unknown:
        text += f": {listing(unknown, _MOST_NAMES)}"
    if len(unknown) > _MOST_NAMES:
        text += "; --format csv has them all"
    return [*b.labelled("could be", could_be), b.Note("other", text)]


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
            yield base | row | {"values": candidate.usable, "role": role}
    for name, (low, high) in sorted(report.coefficients.items()):
        yield base | {"role": "coefficient", "column": name, "low": low, "high": high}
    for decoy in report.decoys:
        yield base | {"role": "no entropy", "column": decoy.column, "why": decoy.why}
    for name, reason in report.others.items():
        yield base | {"role": "other", "column": name, "why": reason}
