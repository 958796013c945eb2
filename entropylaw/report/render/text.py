"""Blocks for a terminal: every run in at most six lines, then what is about all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from entropylaw.escaping import COLUMNS, WIDTH, one_line, wrapped
from entropylaw.kinds import ALL, TOPICS
from entropylaw.report.blocks import (
    Answers,
    Block,
    Heading,
    Note,
    Notes,
    OnRequest,
    Table,
    Verdict,
    by_run,
    is_gate,
)
from entropylaw.report.numbers import row_text

_CELL = 10
"""Characters to which a cell of words may be narrowed, where that is enough to fit a table."""


def render(blocks: Sequence[Block], details: str = "") -> str:
    """Every run, and last the blocks about all runs, with gates that failed last of all gates.

    ``details`` are the topic whose numbers are shown, or :data:`ALL`; without them an overview of several
    runs is shown in their place.
    """
    head, *runs = by_run(blocks)
    texts = ["\n".join(_gate_lines([head, *runs]))]
    if not details:
        overviews = [run for run in (head, *runs) if any(getattr(block, "overview", False) for block in run)]
        runs = [run for run in overviews or runs if run is not head]
    further = (run for run in (*runs, head) if len(run) < 2 or not all(map(is_gate, run[1:])))
    texts += ["\n".join(_lines(run, details)) for run in further]
    return "\n".join(f"{text}\n" for text in texts if text)


def _gate_lines(runs: Sequence[Sequence[Block]]) -> list[str]:
    """A line per gate of every run, with its outcome and what was found; those that failed are last."""
    gates = [
        (block, _title(run[0]))
        for run in runs
        for block in run
        if isinstance(block, Verdict) and is_gate(block)
    ]
    gates.sort(key=lambda gate: (gate[0].ok is not True, gate[0].ok is None))
    return [f"{gate.badge:<12}  {run}  {one_line(gate.name)}  {one_line(gate.text)}" for gate, run in gates]


def _lines(run: Sequence[Block], details: str) -> list[str]:
    """The lines of a run; what is left out is counted in the last one."""
    topics: Sequence[str] = (details,) if details else ()
    if details == ALL:
        topics = TOPICS
    visible: list[tuple[Block, Sequence[Note]]] = []
    hidden: list[Block] = []
    for block in _of_topics(run, topics):
        if details != ALL and getattr(block, "detail", False):
            hidden.append(block)
        else:
            visible.append((block, _notes(block, details)))
    of_answers = _label_width(notes for block, notes in visible if isinstance(block, Answers))
    of_others = _label_width(notes for block, notes in visible if not isinstance(block, Answers))
    lines: list[str] = []
    for block, notes in visible:
        width = of_answers if isinstance(block, Answers) else of_others
        lines += [line.rstrip() for line in _block(block, notes, width)]
    lines += [
        f"  +{len(block.rows)} {block.counted}: --details"
        for block in hidden
        if isinstance(block, Table) and block.counted and block.rows
    ]
    return lines


def _label_width(notes: Iterable[Sequence[Note]]) -> int:
    """The width of a column with the labels of the notes of some blocks."""
    return max((len(note.label) for note in chain.from_iterable(notes)), default=0)


def _of_topics(run: Sequence[Block], topics: Sequence[str]) -> list[Block]:
    """The blocks of a run without the parts of other topics, and without the answers that these replace."""
    shown: list[Block] = []
    topic = ""
    for block in run:
        if isinstance(block, Heading):
            topic = block.topic
        if isinstance(block, Answers):
            shown.append(Answers([note for note in block.notes if getattr(note, "topic", "") not in topics]))
        elif not topic or topic in topics:
            shown.append(block)
    return shown


def _notes(block: Block, details: str) -> Sequence[Note]:
    """The sentences of a block that a terminal shows, each with its label."""
    if isinstance(block, Verdict):
        return [Note(block.badge, block.text)]
    if isinstance(block, OnRequest):
        return [Note(block.label, block.sentence())]
    notes = block.notes if isinstance(block, Notes) else ()
    return [
        Note(note.label, text)
        for note in notes
        if (text := note.text if note.brief is None or (details and note.text) else note.brief)
    ]


def _block(block: Block, notes: Sequence[Note], width: int) -> Iterator[str]:
    """The lines of a block: of its ``notes`` with labels of a ``width``; a figure has none.

    Nor has the heading of a part, unless that is shown on request: an empty line is above it.
    """
    match block:
        case Heading(level=2):
            # A run may have an empty name.
            first, *others = wrapped(_title(block), min(COLUMNS.get(), WIDTH)) or [""]
            yield from (first, *(f"    {line}" for line in others))
        case Heading(topic=topic) if topic:
            yield ""
        case Verdict() | Notes() | OnRequest():
            before = ""
            for note in notes:
                label = note.label
                # An answer may take several lines.
                if isinstance(block, Answers) and label == before:
                    label = ""
                before = note.label
                yield from _hung(f"  {label:<{width}}  " if note.label else "  ", note.text)
        case Table():
            yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    """A table in columns; a text that is wider than its column takes several lines."""
    labels = [column.label for column in table.columns]
    cells = [[one_line(text) for text in row_text(table, row)] for row in table.rows]
    widths, gap = _layout(table, labels, cells)
    for row in (labels, *cells):
        parts = [wrapped(row[i], max(width, 1)) for i, width in widths.items()]
        for line in zip_longest(*parts, fillvalue=""):
            padded = (f"{text:<{width}}" for text, width in zip(line, widths.values(), strict=True))
            yield "  " + gap.join(padded)


def _layout(
    table: Table, labels: Sequence[str], cells: Sequence[Sequence[str]]
) -> tuple[dict[int, int], str]:
    """The numbers of the columns that are shown, with their widths; and the gap between two of them.

    Where a line is too short for all, labels are wrapped; then, of columns that have a weight, the last are
    left out, but for four and those that are kept; then cells of words are wrapped.
    """
    widths = [_longest(column) for column in zip(labels, *cells, strict=True)]
    room = COLUMNS.get()
    gap = "   "
    if 2 + sum(widths) + len(gap) * (len(widths) - 1) <= room:
        return dict(enumerate(widths)), gap
    gap = "  "
    words = [max(label.split(), key=len, default="") for label in labels]
    columns: list[tuple[str, ...]] = list(zip(words, *cells, strict=True))
    shown = list(range(len(widths)))
    if table.overview or table.ranked:
        # Names are wrapped.
        columns[0] = tuple(line for text in columns[0] for line in wrapped(text, room // 3))
        least = list(map(_longest, columns))
        for i in reversed(shown[1:]):
            if len(shown) <= 4 or sum(least[i] + len(gap) for i in shown) <= room:
                break
            if not table.columns[i].kept:
                shown.remove(i)
    narrowed = _narrowed(
        [widths[i] for i in shown], [columns[i] for i in shown], room - len(gap) * len(shown)
    )
    return dict(zip(shown, narrowed, strict=True)), gap


def _longest(texts: Iterable[str]) -> int:
    """The number of characters of the longest text."""
    return max(map(len, texts))


def _narrowed(widths: Sequence[int], columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Widths of columns for a line with ``room`` characters: labels are wrapped, then cells of words.

    A column is the longest word of its label and its cells. A cell keeps its longest word, and :data:`_CELL`.
    """
    narrow = list(map(_longest, columns))
    room -= sum(narrow)
    least = []
    for width, column in zip(narrow, columns, strict=True):
        words = chain.from_iterable(wrapped(text, 1, whole=True) for text in column)
        least.append(min(width, max(_CELL, *map(len, words))))
    if room < 0 and sum(narrow) - sum(least) >= -room:
        for i in sorted(range(len(least)), key=lambda i: least[i] - narrow[i]):
            less = min(-room, narrow[i] - least[i])
            narrow[i] = narrow[i] - less
            room = room + less
    fitted = []
    for wide, width in zip(widths, narrow, strict=True):
        more = max(min(wide - width, room), 0)
        fitted.append(width + more)
        room -= more
    return fitted


def _hung(head: str, text: str) -> Iterator[str]:
    """A sentence behind its label, wrapped under itself."""
    first, *others = wrapped(text, max(min(COLUMNS.get(), WIDTH) - len(head), _CELL)) or [""]
    yield head + first
    yield from (" " * len(head) + line for line in others)


def _title(heading: Block) -> str:
    assert isinstance(heading, Heading)
    return " · ".join(one_line(text) for text in (heading.text, heading.about) if text)
