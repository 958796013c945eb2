"""Blocks as Markdown for a step summary or a comment, shorter than the limit of the common forges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from entropylaw.escaping import counted, markdown_cell
from entropylaw.report import blocks as b
from entropylaw.report.figures import NAMED
from entropylaw.report.numbers import row_text

MOST_BYTES = 59_000
"""Comments on the common forges end near 64 kB; runs and rows beyond are counted and left out."""

Figures = Mapping[str, str]
"""Name of a figure → its address; a figure without one is left out."""


def render(blocks: Sequence[b.Block]) -> str:
    """The blocks about all runs, then every run as far as there is room."""
    head, *runs = b.by_run(blocks)
    return whole(head, ((run, {}) for run in runs), len(runs), "see the JSON document")


def whole(
    head: Sequence[b.Block], runs: Iterable[tuple[Sequence[b.Block], Figures]], number: int, where: str
) -> str:
    """The head, and a part for each of a ``number`` of runs with their figures, while there is room.

    Runs are taken one by one; ``where`` says where to find those that are left out.
    """
    text = "".join(f"{line}\n" for line in _lines(head, {}, MOST_BYTES - 1000))
    left_out = f"\n*Left out of this text: {{}}; {where}.*\n"
    # The shortest description of a run takes some 2000 bytes.
    if number and len(text.encode()) > MOST_BYTES - 2000:
        return text + left_out.format(counted(number, "more run"))
    for written, (run, figures) in enumerate(runs):
        section = "\n".join(_lines(run, figures, MOST_BYTES)) + "\n"
        if len((text + section).encode()) > MOST_BYTES:
            return text + left_out.format(counted(number - written, "more run"))
        text += "\n" * bool(text) + section
    return text


def _lines(blocks: Iterable[b.Block], figures: Figures, room: int) -> Iterator[str]:
    """The lines of some blocks, with an empty one between two; tables have ``room`` in bytes."""
    for i, chunk in enumerate(filter(None, map(list, _chunks(blocks, figures, room)))):
        yield from [""] * bool(i) + chunk


def _chunks(blocks: Iterable[b.Block], figures: Figures, room: int) -> Iterator[Iterable[str]]:
    """Groups of lines with an empty one between them; gates are a table, those that failed first."""
    for gates, group in groupby(blocks, b.is_gate):
        if gates:
            verdicts = [block for block in group if isinstance(block, b.Verdict)]
            verdicts.sort(key=lambda verdict: verdict.ok is True)
            heads = [b.Column(label, label) for label in ("outcome", "gate", "found")]
            cells = [(verdict.badge, verdict.name, verdict.text) for verdict in verdicts]
            yield _table(b.Table(heads, cells, words=3), room)
            continue
        for block in group:
            yield from _block(block, figures, room)


def _block(block: b.Block, figures: Figures, room: int) -> Iterator[Iterable[str]]:
    """The groups of lines of a block."""
    match block:
        case b.Heading():
            yield [f"{'#' * block.level} {markdown_cell(block.text)}"]
            yield filter(None, [markdown_cell(block.about)])
        case b.Verdict():
            yield [f"**{_escaped_text(block.text)}** ({_escaped_text(block.badge)})"]
        case b.Figure() if block.name in figures:
            yield [f"![{NAMED[block.name].label or block.name}]({figures[block.name]})"]
        case b.Notes():
            yield from _notes(block)
        case b.Table():
            yield _table(block, room)


def _notes(block: b.Notes) -> Iterator[list[str]]:
    """Paragraphs, and those with labels as lists."""
    sentences = (note for note in block.notes if note.text)
    for labelled, group in groupby(sentences, lambda note: note.label != ""):
        if labelled:
            pairs = [(markdown_cell(note.label), _escaped_text(note.text)) for note in group]
            bold = [("**reason**" if label == "reason" else label, text) for label, text in pairs]
            yield [f"- {label}: {text}" for label, text in bold]
        else:
            yield from ([_escaped_text(note.text)] for note in group)


def _table(table: b.Table, room: int) -> Iterator[str]:
    """A table, names and words on the left and numbers on the right; rows while there is room for them."""
    is_left = [
        i < table.words or all(isinstance(row[i], str | bool | None) for row in table.rows)
        for i in range(len(table.columns))
    ]
    yield f"| {' | '.join(markdown_cell(column.label) for column in table.columns)} |"
    yield f"|{''.join(' --- |' if words else ' ---: |' for words in is_left)}"
    for i, row in enumerate(table.rows):
        line = f"| {' | '.join(map(_cell, row, row_text(table, row)))} |"
        room -= len(line.encode()) + 1
        if room < 0:
            yield ""
            yield f"*Left out of this text: {counted(len(table.rows) - i, 'row')}; the CSV has all.*"
            return
        yield line


def _cell(cell: b.Cell, text: str) -> str:
    """Words come from logs; numbers have no markup but signs."""
    return markdown_cell(text) if isinstance(cell, str) else _escaped_text(text).removeprefix("\\")


def _escaped_text(text: str) -> str:
    """A sentence without markup; brackets that cannot make a link stay readable."""
    escaped = markdown_cell(text, "\\`*_|~$").replace("](", "]\\(").replace("]:", "]\\:")
    return "\\" + escaped if escaped[:1] in ("#", "+", "-", "=") else escaped
