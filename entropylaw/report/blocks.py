"""The blocks that describe a result, and the columns of tables.

``describe`` (:mod:`entropylaw.report.describe`) makes blocks of a result, and every renderer
(:mod:`entropylaw.report.render`) takes every block. They hold values and sentences, and no markup.
They are msgspec's structs, as results are: gates on stored documents start sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from entropylaw.kinds import TOPICS
from entropylaw.paths import NOT_READ
from entropylaw.results import Estimate
from entropylaw.results.axis import STEP
from entropylaw.results.axis import on_axis as axis_words

Cell = Estimate | float | int | str | bool | tuple[float, ...] | None
"""A value in a table; several floats are a series."""

Row = dict[str, Cell]
"""Key of a column → cell."""

PEOPLE = "people"
DATA = "data"
"""Where a column is shown: in tables for people, in CSV and frames."""

STATE, FORECAST, LAW, READING = TOPICS[1:]
"""The parts of what is known of a run."""

MOST_FILES = 2
"""Files that are not read for the same reason and are all named."""


class Column(Struct, frozen=True):
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
        ``"%"`` (of a share), ``"step"``, ``"probability"``, ``"trace"`` (of a series), or ``""``.
    shown_in
        Some of :data:`PEOPLE` and :data:`DATA`.
    kept
        Whether it is never left out where columns by their weight are too wide.
    estimate
        Whether its cells are estimates, which have three columns in CSV and frames: KEY, KEY_low, KEY_high.
    """

    key: str
    label: str = ""
    accessor: Callable[[Any], Cell] | None = None
    unit: str = ""
    shown_in: Sequence[str] = (PEOPLE, DATA)
    kept: bool = False
    estimate: bool = False


class Heading(Struct, frozen=True):
    """A title: of a document (1), of a run or of several together (2), of a part of these (3).

    ``about`` follows it; ``name`` is its id on a page. On a terminal, parts have no titles, and those that
    have a ``topic``, one of :data:`TOPICS`, are shown on request.
    """

    text: str
    level: int = 3
    about: str = ""
    name: str = ""
    topic: str = ""


class Verdict(Struct, frozen=True):
    """A verdict in a word or two, and in a sentence.

    ``ok`` is None where it is undecided. A ``name`` is that of a gate; without one it is about the run.
    """

    badge: str
    text: str
    ok: bool | None = None
    name: str = ""


class Table(Struct, frozen=True):
    """A table; the first ``words`` columns hold names. A terminal shows ``detail`` on request.

    ``ranked`` columns are in the order of their weight, as are those of an ``overview``: where the lines are
    too short, a terminal leaves out the last ones of those that are not kept. An overview also takes the
    place of the runs there, unless these are requested.
    ``counted`` is the word by which a terminal counts the rows of a ``detail`` that it leaves out.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    detail: bool = False
    words: int = 1
    overview: bool = False
    ranked: bool = False
    counted: str = ""


class Trace(Struct, frozen=True):
    """The line of a series in a row of :class:`RunsTable`.

    ``fan`` has the step, the lower end, the value and the upper end of what is ahead, from the last step on;
    ``lost_since`` is the step since which a broken run is broken.
    """

    steps: Sequence[float]
    values: Sequence[float]
    fan: Sequence[tuple[float, float, float, float]] = ()
    lost_since: float | None = None


class RunsTable(Table, frozen=True, kw_only=True):
    """Runs on a page by their ``states``, rows of one state together.

    ``about`` has the numbers that a row shows under the pointer, and ``links`` the addresses of the pages. A
    cell may also be a :class:`Trace`, or None where nothing is said.
    """

    states: Sequence[str]
    about: Sequence[str]
    links: Sequence[str]


class Note(Struct, frozen=True):
    """A sentence with its label; without one it is a paragraph.

    ``brief`` replaces it on a terminal. An empty text or ``brief`` is not shown.
    """

    label: str
    text: str
    brief: str | None = None


class Notes(Struct, frozen=True):
    """Sentences. A terminal shows those of a ``detail`` on request."""

    notes: Sequence[Note]
    detail: bool = False


class Answer(Note, frozen=True, kw_only=True):
    """The answer to a question of a user: a ``value``, and notes ``about`` it; its text has both.

    ``verdict`` is the word of the state, by which a page colours it; empty of others. In the place of an
    answer a terminal shows the numbers of its ``topic``, where these are requested.
    """

    value: str
    about: Sequence[str] = ()
    verdict: str = ""
    topic: str = ""


class Answers(Notes, frozen=True):
    """What comes first of all: answers; on a page a sentence."""


class Figure(Struct, frozen=True):
    """A figure of the registry by its name, and the part of a result to draw; a terminal shows none.

    ``described`` is its text for screen readers, where that is not its caption.
    """

    name: str
    part: Any
    described: str = ""


class OnRequest(Struct, frozen=True):
    """A sentence that takes a fit to make: a terminal shows it with its topic, and no other medium."""

    label: str
    sentence: Callable[[], str]


Block = Heading | Verdict | Table | Notes | Figure | OnRequest


def columns(*keys: str, estimate: bool = False) -> tuple[Column, ...]:
    """A column per key; its label has spaces for underscores."""
    return tuple(Column(key, key.replace("_", " "), estimate=estimate) for key in keys)


def table_of(columns: Iterable[Column], rows: Iterable[Any], *places: str, words: int = 1) -> Table:
    """Rows in the columns that are shown in any of the places; without places, in all.

    A cell of a mapping is found by the column's key; of another row by the accessor or, without one, as the
    attribute of that name.
    """

    def cell(row: Any, column: Column) -> Cell:
        if isinstance(row, Mapping):
            return row.get(column.key)
        return column.accessor(row) if column.accessor else getattr(row, column.key)

    included = [column for column in columns if not places or set(places) & set(column.shown_in)]
    return Table(included, [[cell(row, column) for column in included] for row in rows], words=words)


def paragraphs(*sentences: str, detail: bool = False) -> Notes:
    """Sentences without labels; a terminal shows ``detail`` on request."""
    return Notes([Note("", sentence) for sentence in sentences], detail)


def labelled(label: str, sentences: Iterable[str], brief: str | None = None) -> list[Note]:
    """Sentences that have the same label; with an empty ``brief`` a terminal shows none of them."""
    return [Note(label, sentence, brief) for sentence in sentences]


def warned(warnings: Iterable[str]) -> Notes:
    """Warnings about files, and what was skipped, by reason; a terminal says them on standard error."""
    warned_of: list[str] = []
    by_reason: dict[str, list[str]] = {}
    for warning in warnings:
        path, unread, reason = warning.partition(NOT_READ)
        if unread:
            by_reason.setdefault(reason, []).append(path)
        else:
            warned_of.append(warning)
    skipped: list[str] = []
    for reason, paths in by_reason.items():
        named = ", ".join(paths[:MOST_FILES])
        if len(paths) > MOST_FILES:
            named += f" and {len(paths) - MOST_FILES} more"
        skipped.append(f"{named}: {reason}")
    return Notes([*labelled("warning", warned_of, ""), *labelled("skipped", skipped, "")])


def by_run(blocks: Iterable[Block]) -> list[list[Block]]:
    """The blocks about all runs, then those of each run."""
    parts: list[list[Block]] = [[]]
    for block in blocks:
        if isinstance(block, Heading) and block.level == 2:
            parts.append([])
        parts[-1].append(block)
    return parts


def on_axis(axis: str, blocks: Iterable[Block]) -> list[Block]:
    """What is said of a run, with the word for its axis in the place of that for steps.

    The name of the run, its figures and what else programs read stay as they are.
    """
    return list(blocks) if axis == STEP else [_worded(block, axis) for block in blocks]


_UNWORDED = {Heading: ("text", "name", "topic"), Column: ("key", "accessor", "unit", "shown_in")}
_UNWORDED |= {Figure: ("name", "part"), Answer: ("topic", "verdict")}


def _worded(value: Any, axis: str) -> Any:
    match value:
        case str():
            return axis_words(value, axis)
        case list() | tuple():
            return [_worded(item, axis) for item in value]
        case OnRequest():
            return structs.replace(value, sentence=lambda: axis_words(value.sentence(), axis))
        case Struct() if not isinstance(value, Estimate):
            names = set(value.__struct_fields__).difference(_UNWORDED.get(type(value), ()))
            return structs.replace(value, **{name: _worded(getattr(value, name), axis) for name in names})
    return value


def is_gate(block: Block) -> bool:
    """Whether it is the verdict of a gate."""
    return isinstance(block, Verdict) and block.name != ""
