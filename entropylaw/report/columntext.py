"""What a log holds, for a terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator

from entropylaw.ingest.report import Candidate, ColumnReport
from entropylaw.paths import hostless
from entropylaw.report.numbers import count, format_number
from entropylaw.report.printable import one_line
from entropylaw.report.words import meaning

_WIDTH = 100
_MOST = 8


def render(report: ColumnReport) -> str:
    """One run: what would be used first, then what else was found."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: ColumnReport) -> Iterator[str]:
    source = report.source
    path = one_line(hostless(source.path))
    yield f"{one_line(report.run)} · {path} ({source.format}, {count(source.rows, 'record')})"
    yield from _entry("trainer", f"{report.trainer}: {report.trainer_why}")
    steps = f"{count(report.steps, 'step')}, {report.first_step:g} to {report.last_step:g}"
    yield from _entry("step", f"'{report.step_column}' ({steps}): {report.step_why}")
    for role, candidates in (("entropy", report.entropy), ("reward", report.reward)):
        yield from _candidates(role, candidates)
    if report.pair is not None:
        yield from _entry("pair", f"{report.pair}: {report.pair_why}; {count(report.pairs, 'evaluation')}")
    for reason, number in sorted((Counter(report.read_dropped) + Counter(report.dropped)).items()):
        yield from _entry("dropped", f"{reason} ({number})")
    for decoy in report.decoys[:_MOST]:
        yield from _entry("no entropy", f"'{decoy.column}': {decoy.why}")
    for name, (first, last) in sorted(report.coefficients.items()):
        yield from _entry("coefficient", f"'{name}': {format_number(first)} to {format_number(last)}")
    for note in report.notes:
        yield from _entry("note", note)
    for caution in report.cautions:
        yield from _entry("caution", caution)
    yield from _entry("besides", count(report.other_columns, "other column"))
    if report.problem is not None:
        yield from _entry("NOT USABLE", f"{report.problem.message} [{report.problem.slug}]")
        yield from _entry("", report.problem.hint)


def _candidates(role: str, candidates: tuple[Candidate, ...]) -> Iterator[str]:
    if not candidates:
        yield from _entry(role, "none found")
    for candidate in candidates[:_MOST]:
        values, known = "no usable values", meaning(candidate.meaning)
        if candidate.low is not None and candidate.high is not None:
            ends = f"{format_number(candidate.low)} to {format_number(candidate.high)}"
            values = f"{count(candidate.usable, 'value')}, {ends}"
        what = f"'{candidate.column}' ({values}{f'; {known}' if known else ''}): {candidate.why}"
        yield from _entry(f"{role} *" if candidate.used else role, what)
    if len(candidates) > _MOST:
        yield from _entry(role, f"and {len(candidates) - _MOST} more")


def _entry(label: str, text: str) -> list[str]:
    lines = textwrap.wrap(one_line(text), _WIDTH - 15, break_long_words=False) or [""]
    return [f"  {label:<12} {lines[0]}"] + [" " * 15 + line for line in lines[1:]]
