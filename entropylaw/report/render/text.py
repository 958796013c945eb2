"""Blocks for a terminal: every run in some twenty lines, then what is about all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from entropylaw.escaping import WIDTH, counted, one_line, wrapped
from entropylaw.report.blocks import Block, Facts, Heading, Note, Notes, Table, Verdict, by_run, is_gate
from entropylaw.report.numbers import fact_text, row_text

LINES = 24
"""Sentences that may wait are shown up to so many lines of a run; the first is always shown."""

_LABEL = 13
"""Characters of a label; more in a run that has a longer one."""

_CELL = 16
"""Characters to which a cell of words may be narrowed, where that is enough to fit a table."""


def render(blocks: Sequence[Block]) -> str:
    """Every run, and last the blocks about all runs, with gates that failed last of all gates."""
    head, *runs = by_run(blocks)
    gates = [
        (block, f"{block.badge:<12}  {_title(run[0])}  {one_line(block.name)}  {one_line(block.text)}")
        for run in (head, *runs)
        for block in run
        if isinstance(block, Verdict) and is_gate(block)
    ]
    gates.sort(key=lambda gate: (gate[0].ok is not True, gate[0].ok is None))
    texts = ["\n".join(line for _, line in gates)]
    others = (run for run in (*runs, head) if len(run) < 2 or not all(map(is_gate, run[1:])))
    texts += ["\n".join(_lines(run)) for run in others]
    return "\n".join(f"{text}\n" for text in texts if text)


def _lines(run: Sequence[Block]) -> list[str]:
    """The lines of a run; sentences that may wait are cut where it is long."""
    width = max([_LABEL, *(len(note.label) for note in chain.from_iterable(map(_notes, run)))])
    waiting = [isinstance(block, Notes) and block.may_wait for block in run]
    parts = [[] if wait else list(_block(block, width)) for block, wait in zip(run, waiting, strict=True)]
    room = LINES - sum(map(len, parts))
    for block, part, wait in zip(run, parts, waiting, strict=True):
        if wait:
            part += _fitting(_notes(block), room, width)
            room -= len(part)
    return [line.rstrip() for part in parts for line in part]


def _notes(block: Block) -> Sequence[Note]:
    """The sentences of a block that a terminal shows, each with its label."""
    if isinstance(block, Verdict):
        return [Note(block.badge, block.text)]
    notes = block.notes if isinstance(block, Notes) else ()
    return [
        Note(note.label, text) for note in notes if (text := note.text if note.brief is None else note.brief)
    ]


def _fitting(notes: Sequence[Note], room: int, width: int) -> list[str]:
    """Whole sentences while they fit into so many lines, the first in any case; the others are counted."""
    shown = [(note.label, list(_note(note, width))) for note in notes]
    for kept in range(len(shown), 0, -1):
        lines = [line for _, sentence in shown[:kept] for line in sentence]
        if kept < len(shown):
            labels = "s and ".join(dict.fromkeys(label for label, _ in shown[kept:]))
            more = counted(len(shown) - kept, f"more {labels}")
            lines.append(f"{'':<{width + 3}}… and {more}: --format json")
        if len(lines) <= room or kept == 1:
            return lines
    return []


def _block(block: Block, width: int) -> Iterator[str]:
    """The lines of a block, with labels of a ``width``; a figure has none."""
    match block:
        case Heading(level=2):
            yield _title(block)
        case Verdict() | Notes():
            for note in _notes(block):
                yield from _note(note, width)
        case Facts():
            rows = [(block.title, "value", "", "")]
            rows += [(fact.name, *fact_text(fact)) for fact in block.facts]
            name, value, interval, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
            yield f"  {block.title:<{name}}  {'value':>{value}}  {block.interval}"
            for row in rows[1:]:
                yield from _hung(f"  {row[0]:<{name}}  {row[1]:>{value}}  {row[2]:<{interval}}  ", row[3])
        case Table(detail=False):
            yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    """A table in columns; where it is too wide for a line, labels are wrapped, then cells of words."""
    labels = [column.label for column in table.columns]
    cells = [[one_line(text) for text in row_text(table, row)] for row in table.rows]
    widths, gap = [max(map(len, column)) for column in zip(labels, *cells, strict=True)], "   "
    if 2 + sum(widths) + len(gap) * (len(widths) - 1) > WIDTH:
        longest = [max(label.split(), key=len, default="") for label in labels]
        narrow, gap = [max(map(len, column)) for column in zip(longest, *cells, strict=True)], "  "
        room = WIDTH - sum(narrow) - len(gap) * len(narrow)
        least = [
            min(width, max(_CELL, *(len(word) for cell in column for word in wrapped(cell, 1, whole=True))))
            for width, *column in zip(narrow, longest, *cells, strict=True)
        ]
        if room < 0 and sum(narrow) - sum(least) >= -room:
            for place in sorted(range(len(least)), key=lambda place: least[place] - narrow[place]):
                less = min(-room, narrow[place] - least[place])
                narrow[place], room = narrow[place] - less, room + less
        for place, width in enumerate(narrow):
            widths[place] = widths[place] if widths[place] - width <= room else width
            room -= widths[place] - width
    for row in (labels, *cells):
        parts = [wrapped(cell, max(width, 1)) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*parts, fillvalue=""):
            yield "  " + gap.join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))


def _note(note: Note, width: int) -> Iterator[str]:
    return _hung(f"  {note.label:<{width}} " if note.label else "  ", note.text)


def _hung(head: str, text: str) -> Iterator[str]:
    """A sentence behind its label, wrapped under itself."""
    first, *more = wrapped(text, WIDTH - len(head)) or [""]
    yield head + first
    yield from (" " * len(head) + line for line in more)


def _title(heading: Block) -> str:
    assert isinstance(heading, Heading)
    return " · ".join(one_line(text) for text in (heading.text, heading.about) if text)
