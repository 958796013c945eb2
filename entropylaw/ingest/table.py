"""What a reader hands over: the file's columns as they stand, before anybody asked what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from entropylaw.ingest.values import BoolArray, Column
from entropylaw.ingest.wording import shown


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Raw columns in file order.

    Attributes
    ----------
    columns
        Name as in the file → cells of any type, all columns of one length; None where there is no value.
    rows, dropped
        Number of records that the file holds, those included that could not be read; how many could not be
        read (for a console line: pairs), by reason.
    notes
        Sentences on what was decided while reading.
    labelled
        Whether the reader itself wrote the column ``run``, so that it tells runs apart whatever is in it.
    partial, settings, unread
        As in :class:`~entropylaw.ingest.run.Run`.
    unreadable
        Shape (rows of the columns,): True for a record that could not be read and is counted in ``dropped``.
        Its row holds at most the label of its run, so that a run of which nothing else is left has a name.
    lost, lost_bytes
        Names of runs of which no record could be read; how many bytes belong to no whole record.
    """

    columns: Mapping[str, Column]
    rows: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    labelled: bool = False
    partial: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    unreadable: BoolArray | None = None
    lost: tuple[str, ...] = ()
    lost_bytes: int = 0


def unique_names(names: Iterable[object]) -> tuple[list[str], tuple[str, ...]]:
    """Give every column a name of its own, and say which were renamed.

    An empty name becomes ``column 1`` (its position), a name's second occurrence ``name#2``.
    """
    taken, unique, notes = set[str](), list[str](), list[str]()
    occurrences: dict[str, int] = {}
    for position, raw in enumerate(names, start=1):
        wanted = str(raw).strip() or f"column {position}"
        name, occurrence = wanted, occurrences.get(wanted, 1)
        while name in taken:
            occurrence += 1
            name = f"{wanted}#{occurrence}"
        occurrences[wanted] = occurrence
        # A header that repeats itself more often is beyond description.
        if occurrence > 1 and len(notes) < 20:
            notes.append(f"column {shown(wanted)} occurs again; its next occurrence is called {shown(name)}")
        taken.add(name)
        unique.append(name)
    return unique, tuple(notes)
