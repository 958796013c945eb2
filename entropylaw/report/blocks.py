"""What a description of a result is made of: blocks, and the columns of tables.

``describe`` (:mod:`entropylaw.report.describe`) makes blocks of a result, and every renderer
(:mod:`entropylaw.report.render`) takes every block. They hold values and sentences, and no markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entropylaw.results import Estimate

Cell = Estimate | float | int | str | bool | tuple[float, ...] | None
"""A value in a table or beside a name; several floats are a series, drawn as a small line."""

PEOPLE, DATA, REPORT = "people", "data", "report"
"""Where a column is shown: in tables for people, in CSV and frames, in the CSV of a report only."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    key
        Its name in CSV and frames.
    label
        Its head in tables for people.
    accessor
        From a row to the cell, where it is neither an attribute nor an item of the name ``key``.
    unit
        ``"nats"``, ``"%"`` (of a share), ``"step"``, ``"probability"``, ``"ratio"``, or ``""`` for all else.
    shown_in
        Some of :data:`PEOPLE`, :data:`DATA` and :data:`REPORT`.
    estimate
        Whether its cells are estimates, which have three columns in CSV and frames: KEY, KEY_low, KEY_high.
    """

    key: str
    label: str = ""
    accessor: Callable[[Any], Cell] | None = None
    unit: str = ""
    shown_in: Sequence[str] = (PEOPLE, DATA)
    estimate: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A title: of a document (1), of a run or of what runs have in common (2), of a part of these (3).

    ``about`` stands beside it; ``name`` is its id on a page. On a terminal, parts have no titles.
    """

    text: str
    level: int = 3
    about: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict in a word or two, and in a sentence.

    ``ok`` is None where it is open. A ``name`` says what it is about where that is not the run: a gate.
    """

    badge: str
    text: str
    ok: bool | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its name and what it is."""

    name: str
    value: Cell
    note: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Numbers with their intervals, under a title; ``interval`` says of which level and method they are.

    ``unsafe`` says why the numbers are not to be used; empty where they are.
    """

    title: str
    facts: Sequence[Fact]
    interval: str
    unsafe: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first ``words`` columns hold names. A terminal shows no ``detail``.

    ``where`` says what holds the rows where there is no room for all.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    detail: bool = False
    words: int = 1
    where: str = "the CSV and JSON files hold it"


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence with its label; without one it is a paragraph.

    ``brief`` is what a terminal shows in its place. Where either is empty, nothing is shown there.
    """

    label: str
    text: str
    brief: str | None = None


@dataclass(frozen=True, slots=True)
class Notes:
    """Sentences. Where a run has more lines than a terminal has room for, those that ``may_wait`` are cut."""

    notes: Sequence[Note]
    may_wait: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the registry by its name, and what it is drawn from; a terminal shows none.

    ``described`` is what those who do not see it hear, where that is not its caption.
    """

    name: str
    part: Any
    described: str = ""


Block = Heading | Verdict | Facts | Table | Notes | Figure


def columns(keys: str, *, estimate: bool = False) -> tuple[Column, ...]:
    """A column per key, of which there are several in a string; its label has spaces for underscores."""
    return tuple(Column(key, key.replace("_", " "), estimate=estimate) for key in keys.split())


def table_of(columns: Iterable[Column], rows: Iterable[Any], *places: str, words: int = 1) -> Table:
    """Rows in the columns that are shown in any of the places; without places, in all.

    A cell of a mapping is found by the column's key; of anything else by the accessor or, without one, it is
    the attribute of the name.
    """

    def cell(row: Any, column: Column) -> Cell:
        if isinstance(row, Mapping):
            return row.get(column.key)
        return column.accessor(row) if column.accessor else getattr(row, column.key)

    shown = [column for column in columns if not places or set(places) & set(column.shown_in)]
    return Table(shown, [[cell(row, column) for column in shown] for row in rows], words=words)


def paragraphs(*sentences: str, detail: bool = False) -> Notes:
    """Sentences without labels; a terminal shows no ``detail``."""
    return Notes([Note("", sentence, "" if detail else None) for sentence in sentences])


def labelled(label: str, sentences: Iterable[str], brief: str | None = None) -> list[Note]:
    """Sentences that have the same label; with an empty ``brief`` a terminal shows none of them."""
    return [Note(label, sentence, brief) for sentence in sentences]


def by_run(blocks: Iterable[Block]) -> list[list[Block]]:
    """What is about all runs, then the blocks of each run."""
    parts: list[list[Block]] = [[]]
    for block in blocks:
        if isinstance(block, Heading) and block.level == 2:
            parts.append([])
        parts[-1].append(block)
    return parts


def is_gate(block: Block) -> bool:
    """Whether it is the verdict of a gate."""
    return isinstance(block, Verdict) and block.name != ""
