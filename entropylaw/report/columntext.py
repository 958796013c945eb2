"""What a log holds, for a terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator

from entropylaw.paths import hostless
from entropylaw.report.numbers import count, format_number
from entropylaw.report.printable import one_line
from entropylaw.report.words import meaning
from entropylaw.results.columns import Candidate, ColumnReport

_WIDTH = 100
_MOST = 8


def render(report: ColumnReport) -> str:
    """One run: what would be used first, then what else was found."""
    source = report.source
    steps = f"{count(report.steps, 'step')}, {report.first_step:g} to {report.last_step:g}"
    entries = [
        ("trainer", f"{report.trainer}: {report.trainer_why}"),
        ("step", f"'{report.step_column}' ({steps}): {report.step_why}"),
        *_candidates("entropy", report.entropy),
        *_candidates("reward", report.reward),
    ]
    if report.pair is not None:
        entries.append(("pair", f"{report.pair}: {report.pair_why}; {count(report.pairs, 'evaluation')}"))
    dropped = Counter(report.read_dropped) + Counter(report.dropped)
    entries += [("dropped", f"{reason} ({number})") for reason, number in sorted(dropped.items())]
    entries += [("no entropy", f"'{decoy.column}': {decoy.why}") for decoy in report.decoys[:_MOST]]
    for name, (first, last) in sorted(report.coefficients.items()):
        entries.append(("coefficient", f"'{name}': {format_number(first)} to {format_number(last)}"))
    entries += [("note", note) for note in report.notes]
    entries += [("caution", caution) for caution in report.cautions]
    entries.append(("besides", count(report.other_columns, "other column")))
    if report.problem is not None:
        entries.append(("NOT USABLE", f"{report.problem.message} [{report.problem.slug}]"))
        entries.append(("", report.problem.hint))
    path = one_line(hostless(source.path))
    head = f"{one_line(report.run)} · {path} ({source.format}, {count(source.rows, 'record')})\n"
    return head + "".join(_entry(label, text) for label, text in entries)


def _candidates(role: str, candidates: tuple[Candidate, ...]) -> Iterator[tuple[str, str]]:
    if not candidates:
        yield role, "none found"
    for candidate in candidates[:_MOST]:
        values, known = "no usable values", meaning(candidate.meaning)
        if candidate.low is not None and candidate.high is not None:
            ends = f"{format_number(candidate.low)} to {format_number(candidate.high)}"
            values = f"{count(candidate.usable, 'value')}, {ends}"
        what = f"'{candidate.column}' ({values}{f'; {known}' if known else ''}): {candidate.why}"
        yield f"{role} *" if candidate.used else role, what
    if len(candidates) > _MOST:
        yield role, f"and {len(candidates) - _MOST} more"


def _entry(label: str, text: str) -> str:
    lines = textwrap.wrap(one_line(text), _WIDTH - 15, break_long_words=False)
    return f"  {label:<12} " + f"\n{'':<15}".join(lines) + "\n"
