"""Blocks for a terminal: every run in some ten lines, then what is about all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from entropylaw.escaping import COLUMNS, WIDTH, counted, one_line, wrapped
from entropylaw.report.blocks import Block, Facts, Heading, Note, Notes, Table, Verdict, by_run, is_gate
from entropylaw.report.numbers import fact_text, row_text

COUNTED = ("reason", "caution", "note")
"""Labels of the sentences that are counted where they are left out."""

_LABEL = 13
"""Characters of a label; more in a run that has a longer one."""

_CELL = 16
"""Characters to which a cell of words may be narrowed, where that is enough to fit a table."""


def render(blocks: Sequence[Block], *, details: bool = False) -> str:
    """Every run, and last the blocks about all runs, with gates that failed last of all gates.

    Without ``details`` a table that stands instead of several runs is shown in their place.
    """
    head, *runs = by_run(blocks)
    gates = [
        (block, f"{block.badge:<12}  {_title(run[0])}  {one_line(block.name)}  {one_line(block.text)}")
        for run in (head, *runs)
        for block in run
        if isinstance(block, Verdict) and is_gate(block)
    ]
    gates.sort(key=lambda gate: (gate[0].ok is not True, gate[0].ok is None))
    texts = ["\n".join(line for _, line in gates)]
    if not details and any(isinstance(block, Table) and block.instead for block in head):
        runs = []
    others = (run for run in (*runs, head) if len(run) < 2 or not all(map(is_gate, run[1:])))
    texts += ["\n".join(_lines(run, details)) for run in others]
    return "\n".join(f"{text}\n" for text in texts if text)


def _lines(run: Sequence[Block], details: bool) -> list[str]:
    """The lines of a run; sentences that are left out are counted by their labels."""
    left_out = "instead" if details else "detail"
    shown = [block for block in run if not getattr(block, left_out, False)]
    titled = [block for block in shown if isinstance(block, Verdict) and block.titled]
    labels = (note.label for block in shown for note in _notes(block, details) if block not in titled)
    width = max([_LABEL, *map(len, labels)])
    lines: list[str] = []
    for block in shown:
        if isinstance(block, Heading) and block.level == 2:
            verdicts = [f"{verdict.badge.upper()}: {one_line(verdict.text)}" for verdict in titled]
            first, *more = wrapped(" · ".join([_title(block), *verdicts]), WIDTH)
            lines += [first, *(f"    {line}" for line in more)]
        elif block not in titled:
            lines += _block(block, width, details)
    hidden = Counter(
        note.label
        for block in run
        if isinstance(block, Notes) and block not in shown and not block.instead
        for note in block.notes
        if note.label in COUNTED
    )
    brief = (block for block in shown if isinstance(block, Notes) and block.instead)
    hidden -= Counter(note.label for block in brief for note in block.notes)
    if hidden:
        counts = " · ".join(f"+{counted(number, label)}" for label, number in hidden.items())
        lines.append(f"  {counts}: --details")
    return [line.rstrip() for line in lines]


def _notes(block: Block, details: bool = True) -> Sequence[Note]:
    """The sentences of a block that a terminal shows, each with its label."""
    if isinstance(block, Verdict):
        return [Note(block.badge, block.text)]
    notes = block.notes if isinstance(block, Notes) else ()
    return [
        Note(note.label, text)
        for note in notes
        if (text := note.text if note.brief is None or (details and note.text) else note.brief)
    ]


def _block(block: Block, width: int, details: bool) -> Iterator[str]:
    """The lines of a block, with labels of a ``width``; a figure has none, nor has a heading of a part."""
    match block:
        case Verdict() | Notes():
            for note in _notes(block, details):
                yield from _note(note, width)
        case Facts():
            rows = [(block.title, "value", "", "")]
            rows += [(fact.name, *fact_text(fact)) for fact in block.facts]
            name, value, interval, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
            yield f"  {block.title:<{name}}  {'value':>{value}}  {block.interval}"
            for row in rows[1:]:
                yield from _hung(f"  {row[0]:<{name}}  {row[1]:>{value}}  {row[2]:<{interval}}  ", row[3])
        case Table():
            yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    """A table in columns; where it is too wide for a line, labels are wrapped, then cells of words."""
    labels = [column.label for column in table.columns]
    cells = [[one_line(text) for text in row_text(table, row)] for row in table.rows]
    widths, gap = [max(map(len, column)) for column in zip(labels, *cells, strict=True)], "   "
    if 2 + sum(widths) + len(gap) * (len(widths) - 1) > COLUMNS.get():
        longest = [max(label.split(), key=len, default="") for label in labels]
        narrow, gap = [max(map(len, column)) for column in zip(longest, *cells, strict=True)], "  "
        room = COLUMNS.get() - sum(narrow) - len(gap) * len(narrow)
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
    first, *more = wrapped(text, max(min(COLUMNS.get(), WIDTH) - len(head), _CELL)) or [""]
    yield head + first
    yield from (" " * len(head) + line for line in more)


def _title(heading: Block) -> str:
    assert isinstance(heading, Heading)
    return " · ".join(one_line(text) for text in (heading.text, heading.about) if text)
