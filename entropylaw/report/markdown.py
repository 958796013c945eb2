"""What the Markdown of every document has: its head, its tables, and an end before a forge's limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from entropylaw.report.numbers import count
from entropylaw.report.printable import one_line

T = TypeVar("T")

_BLOCKS = "▁▂▃▄▅▆▇█"

MOST_BYTES = 60_000
"""Comments on the common forges end near 64 kB; further runs are then named and left out."""


def sparkline(values: Sequence[float], width: int = 12) -> str:
    """A series as blocks between its own least and largest value; each is the mean of a stretch."""
    parts = min(width, len(values))
    edges = [round(i * len(values) / parts) for i in range(parts + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round(top * (mean - low) / ((high - low) or 1.0))] for mean in means)


def whole(
    head: Iterable[str], runs: Sequence[T], lines_of: Callable[[T], Iterable[str]], *, where: str
) -> str:
    """The head and a block a run, as far as there is room; ``where`` says what holds the others."""
    first = "\n".join(head)
    blocks = ("\n".join(lines_of(run)) for run in runs)

    def left_out(shown: int) -> str:
        return f"{count(len(runs) - shown, 'more run')}; {where}"

    return "\n".join([first, *fitting(blocks, MOST_BYTES - len(first.encode()), left_out)])


def fitting(blocks: Iterable[str], room: int, left_out: Callable[[int], str]) -> Iterator[str]:
    """Blocks while there is room in bytes, then what is ``left_out`` after so many."""
    for shown, block in enumerate(blocks):
        room -= len(block.encode()) + 1
        if room < 0:
            yield f"*Left out of this text: {left_out(shown)}.*\n"
            return
        yield block


def paragraphs(*texts: str) -> Iterator[str]:
    """Headings and paragraphs, each with the empty line that ends it."""
    for text in texts:
        yield from (text, "")


def title(text: str, warnings: Sequence[str]) -> Iterator[str]:
    """The title, and what is to be known of the files; ``warnings`` are escaped already."""
    yield from paragraphs(f"# {text}")
    for warning in warnings:
        yield from (f"> {warning}", ">")
    if warnings:
        yield ""


def table(
    head: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, words: int | None = None
) -> Iterator[str]:
    """A table whose first ``words`` columns stand on the left and the rest, numbers, on the right."""
    left = len(head) if words is None else words
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * left + " ---: |" * (len(head) - left)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def escaped_text(text: str) -> str:
    """A sentence: no markup either, but brackets stay readable where they cannot make a link."""
    escaped = "".join("\\" + c if c in "\\`*_|~$" else c for c in one_line(text))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = escaped.replace("](", "]\\(").replace("]:", "]\\:")
    return "\\" + escaped if escaped[:1] in ("#", "+", "-", "=") else escaped
