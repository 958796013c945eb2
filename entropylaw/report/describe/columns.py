"""What a log holds: the columns that would be used and why, and what else was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from entropylaw.documents.columns import ColumnsDocument
from entropylaw.paths import hostless
from entropylaw.report import blocks as b
from entropylaw.report.numbers import count, format_number
from entropylaw.report.words import meaning
from entropylaw.results.columns import Candidate, ColumnReport

_MOST = 8
"""Candidates and columns that are none that people see; CSV and JSON have them all."""

_MEANING = "kind unit aggregation estimator temperature timing"

COLUMNS = b.columns(f"run path role column used values low high {_MEANING} why")
"""A row per column with a role: step, entropy, reward, a coefficient (its first and last value), or none."""


def describe(result: ColumnsDocument | ColumnReport) -> list[b.Block]:
    """Whether a run can be fitted, what would be used first, then what else was found; of every run."""
    if isinstance(result, ColumnsDocument):
        return [block for run in result.runs for block in describe(run)]
    source = result.source
    about = f"{hostless(source.path)} ({source.format}, {count(source.rows, 'record')})"
    usable, hint = b.Verdict("usable", "the columns with a star would be used", True), []
    if result.problem is not None:
        usable = b.Verdict("NOT USABLE", f"{result.problem.message} [{result.problem.slug}]", False)
        hint.append(b.Note("hint", result.problem.hint))
    steps = f"{count(result.steps, 'step')}, {result.first_step:g} to {result.last_step:g}"
    notes = [
        b.Note("trainer", f"{result.trainer}: {result.trainer_why}"),
        b.Note("step", f"'{result.step_column}' ({steps}): {result.step_why}"),
        *_candidates("entropy", result.entropy),
        *_candidates("reward", result.reward),
    ]
    if result.pair is not None:
        notes.append(b.Note("pair", f"{result.pair}: {result.pair_why}; {count(result.pairs, 'evaluation')}"))
    dropped = Counter(result.read_dropped) + Counter(result.dropped)
    notes += b.labelled("dropped", (f"{reason} ({number})" for reason, number in sorted(dropped.items())))
    notes += b.labelled("no entropy", (f"'{decoy.column}': {decoy.why}" for decoy in result.decoys[:_MOST]))
    for name, (first, last) in sorted(result.coefficients.items()):
        notes.append(b.Note("coefficient", f"'{name}': {format_number(first)} to {format_number(last)}"))
    notes += b.labelled("note", result.notes) + b.labelled("caution", result.cautions)
    notes.append(b.Note("besides", count(result.other_columns, "other column")))
    return [b.Heading(result.run, 2, about), usable, b.Notes(hint), b.Notes(notes)]


def table(result: ColumnsDocument | ColumnReport) -> b.Table:
    """A row per column with a role."""
    runs = result.runs if isinstance(result, ColumnsDocument) else (result,)
    return b.table_of(COLUMNS, (row for run in runs for row in _rows(run)))


def _candidates(role: str, candidates: Sequence[Candidate]) -> Iterator[b.Note]:
    """A note per candidate; the one that would be used has a star."""
    if not candidates:
        yield b.Note(role, "none found")
    for candidate in candidates[:_MOST]:
        values, known = "no usable values", meaning(candidate.meaning)
        if candidate.low is not None and candidate.high is not None:
            ends = f"{format_number(candidate.low)} to {format_number(candidate.high)}"
            values = f"{count(candidate.usable, 'value')}, {ends}"
        text = f"'{candidate.column}' ({values}{f'; {known}' if known else ''}): {candidate.why}"
        yield b.Note(f"{role} *" if candidate.used else role, text)
    if len(candidates) > _MOST:
        yield b.Note(role, f"and {len(candidates) - _MOST} more")


def _rows(report: ColumnReport) -> Iterator[dict[str, b.Cell]]:
    base: dict[str, b.Cell] = {"run": report.run, "path": hostless(report.source.path), "used": False}
    first, last = report.first_step, report.last_step
    steps: dict[str, b.Cell] = {"column": report.step_column, "values": report.steps, "why": report.step_why}
    yield base | steps | {"role": "step", "used": True, "low": first, "high": last}
    for role, candidates in (("entropy", report.entropy), ("reward", report.reward)):
        for one in candidates:
            known: dict[str, b.Cell] = {name: getattr(one.meaning, name) for name in _MEANING.split()}
            known |= {name: getattr(one, name) for name in ("column", "used", "low", "high", "why")}
            yield base | known | {"values": one.usable, "role": role}
    for name, (low, high) in sorted(report.coefficients.items()):
        yield base | {"role": "coefficient", "column": name, "low": low, "high": high}
    for decoy in report.decoys:
        yield base | {"role": "no entropy", "column": decoy.column, "why": decoy.why}
