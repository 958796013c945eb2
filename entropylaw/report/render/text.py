"""Blocks for a terminal: every run in some twenty lines, then what is about all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from entropylaw.report.blocks import Block, Facts, Heading, Note, Notes, Table, Verdict
from entropylaw.report.numbers import cell_text, fact_text
from entropylaw.report.printable import WIDTH, one_line, wrapped

LINES = 26
"""Lines of a run up to which sentences that may wait are shown; the first is always shown."""

_LABEL = 13


def render(blocks: Sequence[Block]) -> str:
    """Every run, and last what is about all runs: there it is seen. So are gates that failed."""
    runs: list[list[Block]] = [[]]
    for block in blocks:
        if isinstance(block, Heading) and block.level == 2:
            runs.append([])
        runs[-1].append(block)
    gates = [
        (
            (block.ok is not True, block.ok is None),
            f"{block.badge:<12}  {_title(run[0])}  {one_line(block.name)}  {one_line(block.text)}",
        )
        for run in runs
        for block in run
        if isinstance(block, Verdict) and block.name
    ]
    texts = ["\n".join(line for _, line in sorted(gates, key=lambda gate: gate[0]))]
    texts += ["\n".join(_lines(run)) for run in (*runs[1:], runs[0]) if not _is_gates(run)]
    return "\n".join(f"{text}\n" for text in texts if text)


def _is_gates(run: Sequence[Block]) -> bool:
    return len(run) > 1 and all(isinstance(block, Verdict) and block.name for block in run[1:])


def _lines(run: Sequence[Block]) -> list[str]:
    """The lines of a run; sentences that may wait are cut where it is long."""
    parts = [[] if isinstance(block, Notes) and block.may_wait else list(_block(block)) for block in run]
    room = LINES - sum(map(len, parts))
    for block, part in zip(run, parts, strict=True):
        if isinstance(block, Notes) and block.may_wait:
            part += _fitting(block.notes, room)
            room -= len(part)
    return [line.rstrip() for part in parts for line in part]


def _fitting(notes: Sequence[Note], room: int) -> list[str]:
    """Whole sentences while they fit into so many lines, the first in any case; the others are counted."""
    shown = [lines for note in notes if (lines := list(_note(note)))]
    for kept in range(len(shown), 0, -1):
        lines = [line for sentence in shown[:kept] for line in sentence]
        if kept < len(shown):
            lines.append(f"{'':<{_LABEL + 3}}… and {len(shown) - kept} more: --format json")
        if len(lines) <= room or kept == 1:
            return lines
    return []


def _block(block: Block) -> Iterator[str]:
    """The lines of a block; a figure has none."""
    if isinstance(block, Heading):
        if block.level == 2:
            yield _title(block)
    elif isinstance(block, Verdict):
        yield from _labelled(block.badge, block.text)
    elif isinstance(block, Notes):
        width = max([_LABEL, *(len(note.label) for note in block.notes)])
        for note in block.notes:
            yield from _note(note, width)
    elif isinstance(block, Facts):
        yield f"  {block.title:<19} {'value':>9}   {block.interval}"
        for fact in block.facts:
            value, interval, about = fact_text(fact)
            yield f"  {fact.name:<19} {value:>9}   {interval:<22} {about}"
    elif isinstance(block, Table) and not block.detail:
        yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    """A table in columns; where it is too wide for a line, the labels are wrapped."""
    labels = [column.label for column in table.columns]
    cells = [
        [one_line(cell_text(cell, column.unit)) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    widths, gap = [max(map(len, column)) for column in zip(labels, *cells, strict=True)], "   "
    if 2 + sum(widths) + len(gap) * (len(widths) - 1) > WIDTH:
        longest = [max(label.split(), key=len, default="") for label in labels]
        narrow, gap = [max(map(len, column)) for column in zip(longest, *cells, strict=True)], "  "
        room = WIDTH - sum(narrow) - len(gap) * len(narrow)
        for place, width in enumerate(narrow):
            more = widths[place] - width
            widths[place] = width + (more if more <= room else 0)
            room -= more if more <= room else 0
    heads = [wrapped(label, max(width, 1)) or [""] for label, width in zip(labels, widths, strict=True)]
    for row in (*zip_longest(*heads, fillvalue=""), *cells):
        yield "  " + gap.join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))


def _note(note: Note, width: int = _LABEL) -> Iterator[str]:
    text = note.text if note.brief is None else note.brief
    if text:
        yield from _labelled(note.label, text, width)


def _labelled(label: str, text: str, width: int = _LABEL) -> Iterator[str]:
    """A sentence behind its label, wrapped under itself; without a label, from the margin on."""
    head = f"  {label:<{width}} " if label else "  "
    first, *more = wrapped(text, WIDTH - len(head)) or [""]
    yield head + first
    yield from (" " * len(head) + line for line in more)


def _title(heading: Block) -> str:
    assert isinstance(heading, Heading)
    return " · ".join(one_line(text) for text in (heading.text, heading.about) if text)
