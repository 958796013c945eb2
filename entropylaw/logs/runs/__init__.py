"""The stages of a log: a table as the file has it, a run with one row per step, a series of paired values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np

from entropylaw.arguments import as_floats, as_items, bad_argument, of_kind, several, type_of
from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.escaping import counted, quoted_path, shown
from entropylaw.logs.runs.number_parsing import Column
from entropylaw.logs.source import Source

#: The path of a table in memory.
FRAME = "<frame>"

#: Why a log has steps that are in no column of it.
ROWS_COUNTED = "the rows are counted"

#: How a note begins on a chart that is apart from another chart of its run.
AXES_DIFFER = "not joined with the other files of this run, because their x axes differ"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """What a reader returns: raw columns in file order.

    Attributes
    ----------
    columns
        Name as in the file → cells of any type, all columns of one length; None where there is no value.
    rows, dropped
        Number of records in the file, unreadable ones included; how many could not be read, by reason (for a
        console line: pairs).
    notes
        Sentences on what was decided while reading.
    labelled
        Whether the reader itself wrote the column ``run``, so that it separates runs whatever is in it.
    partial, settings, config, unread
        As in :class:`Run`; where there is no ``config``, ``settings`` are all.
    hidden
        Row → how many numbers of metrics, by their names, stand in a part of this record that is not read,
        such as a list.
    broken, lost_bytes
        How many of the ``rows`` could not be read, and are in no row of the columns; how many bytes belong to
        no whole record.
    first_line
        The line of the first record, where every line from there on is one record; None where it is unknown.
    half_written
        The line of a last record that breaks off, as while it is being written, and is not counted in
        ``dropped``; None where there is none.
    incomplete
        Which files were not read when entropylaw wrote this table; empty where all were.
    """

    columns: Mapping[str, Column]
    rows: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    labelled: bool = False
    partial: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict, repr=False)
    unread: tuple[str, ...] = ()
    hidden: Mapping[int, int] = field(default_factory=dict)
    broken: int = 0
    lost_bytes: int = 0
    first_line: int | None = None
    half_written: int | None = None
    incomplete: str = ""

    def of_rows(self, kept: BoolArray, note: str) -> Table:
        """The table with some of its rows, a mask of shape (rows of the columns,), and a further note."""
        columns: dict[str, Column] = {}
        for name, cells in self.columns.items():
            columns[name] = cells[kept] if isinstance(cells, np.ndarray) else list(compress(cells, kept))
        return replace(
            self,
            columns=columns,
            notes=(*self.notes, note),
            hidden={},
            first_line=None,
        )


def unique_names(names: Iterable[object]) -> tuple[list[str], tuple[str, ...]]:
    """Make the names of columns unique; the notes say which were renamed.

    An empty name becomes ``column 1`` (its position), a name's second occurrence ``name#2``.
    """
    taken, unique, notes = set[str](), list[str](), list[str]()
    occurrences: dict[str, int] = {}
    for position, raw in enumerate(names, start=1):
        first = str(raw).strip() or f"column {position}"
        name, occurrence = first, occurrences.get(first, 1)
        while name in taken:
            occurrence += 1
            name = f"{first}#{occurrence}"
        occurrences[first] = occurrence
        if occurrence > 1 and len(notes) < 20:
            notes.append(f"column {shown(first)} occurs again; its next occurrence is called {shown(name)}")
        taken.add(name)
        unique.append(name)
    return unique, tuple(notes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Run:
    """One training run: a table with one row per step, where it came from, what was dropped and why.

    Attributes
    ----------
    name, source
        As logged (run column) or from the file's name; the file behind it.
    step
        Shape (m,), strictly increasing, the trainer's step.
    columns
        Name as logged → float64 array of shape (m,); nan where that row has no value.
    dropped
        Reason → number of records that are not in the table ("earlier value of a step logged twice").
    notes
        Sentences on what was decided while reading ("steps fall from 40 to 31 at record 52: resumed run").
    step_column, step_why
        The column behind ``step``, and the reason for it.
    texts
        Columns without any number → their first cell; they are not in ``columns``.
    partial
        Whether its file is by its format a part of a log, such as one metric of several.
    settings
        Those settings of its configuration that are used: flat, with ``/`` between names.
    config
        The whole configuration, from the log or from the ``config.yaml`` next to it, as ``settings``. It may
        hold what is private, and goes into no document; runs are grouped into arms by it.
    unread
        Columns of a large file that were not read, because no analysis uses them.
    labels
        Columns that label runs; they are not in ``columns``.
    spoiled
        Name of a column → what it has in place of a number, such as text → at which steps.
    words
        Column of text that the user names → its text at every step, (m,), empty where there is none.
    """

    name: str
    source: Source
    step: FloatArray
    columns: Mapping[str, FloatArray]
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    step_column: str = "step"
    step_why: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    spoiled: Mapping[str, Mapping[str, FloatArray]] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """How many columns the log has: those of numbers and of text, of the step and of runs' labels."""
        return len(self.names) - (self.step_why == ROWS_COUNTED) + len(self.texts) + len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """Every numeric column of the log, with the step's and those left unread."""
        return (self.step_column, *self.columns, *self.unread)

    def __repr__(self) -> str:
        """One line: the name, how much there is, and where it came from."""
        return (
            f"<Run {shown(self.name)}: {counted(len(self.step), 'row')}, "
            f"{counted(len(self.columns), 'column')}, from {quoted_path(self.source.path)} "
            f"({self.source.format})>"
        )

    def finite(self, column: str) -> FloatArray:
        """Return the finite values of a column."""
        return self.columns[column][np.isfinite(self.columns[column])]


def added(*counts: Mapping[str, int]) -> dict[str, int]:
    """Add up counts by reason; a reason with a count of 0 is left out."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(+total)


def check_run(run: Run) -> None:
    """Refuse a run that a program made and that is none: UsageError ``bad-argument`` names the field."""
    of_kind(run, Run, "run")
    of_kind(run.source, Source, "run.source")
    for name in ("name", "step_column", "step_why"):
        of_kind(getattr(run, name), str, f"run.{name}")
    for name in ("notes", "unread", "labels"):
        several(getattr(run, name), str, f"run.{name}")
    for name in ("dropped", "texts", "config", "words"):
        as_items(getattr(run, name), f"run.{name}")
    for name, _ in as_items(run.settings, "run.settings"):
        of_kind(name, str, "a name in run.settings")
    if not _is_floats(run.step):
        raise bad_argument("run.step", "an array of floats", type_of(run.step))
    if not np.isfinite(run.step).all() or (np.diff(run.step) <= 0).any():
        raise bad_argument("run.step", "finite steps that increase", "others")
    for column, values in as_items(run.columns, "run.columns"):
        of_kind(column, str, "a name in run.columns")
        if not _is_floats(values) or values.size != run.step.size:
            raise bad_argument(f"run.columns[{shown(column)}]", f"{run.step.size} floats", type_of(values))
    for column, causes in as_items(run.spoiled, "run.spoiled"):
        of_kind(column, str, "a name in run.spoiled")
        for _, steps in as_items(causes, f"run.spoiled[{shown(column)}]"):
            as_floats(steps, "run.spoiled")


def _is_floats(values: Any) -> bool:
    """Whether values are an array of floats of one dimension, none of them masked."""
    if not isinstance(values, np.ndarray) or isinstance(values, np.ma.MaskedArray):
        return False
    return values.dtype == float and values.ndim == 1
