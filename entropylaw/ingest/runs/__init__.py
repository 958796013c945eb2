"""The stages of a log: a table as the file has it, a run with one row per step, a series of paired values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from entropylaw.escaping import counted, quoted_path, shown
from entropylaw.ingest.runs.number_parsing import Column
from entropylaw.results.arrays import BoolArray, FloatArray
from entropylaw.results.columns import Choice, PhaseColumn, Source
from entropylaw.results.result import Finding, sentences

FRAME = "<frame>"
"""The path of a table in memory."""

NO_ROW = -1
"""The place of what a reader could not put into a row."""

TEXT, NAN = "text in place of a number", "not a number"
"""What a cell of a column of numbers can hold."""

ROWS_COUNTED = "the rows are counted"
"""Why a log has steps that are in no column of it."""


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
    unreadable
        Shape (rows of the columns,): True for a record that could not be read and is counted in ``dropped``.
        Its row holds at most the label of its run, so that a run without any other record has a name.
    hidden
        Row → how many numbers of metrics, by their names, stand in a part of this record that is not read,
        such as a list or a line that is not JSON; :data:`NO_ROW` for what is in no row.
    lost, lost_bytes
        Names of runs of which no record could be read; how many bytes belong to no whole record.
    first_line
        The line of the first record, where every line from there on is one record; None where it is unknown.
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
    unreadable: BoolArray | None = None
    hidden: Mapping[int, int] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    lost_bytes: int = 0
    first_line: int | None = None


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
        Name of a column → what it has in place of a number, :data:`TEXT` or :data:`NAN` → at which steps.
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
        counted_rows = self.step_why == ROWS_COUNTED
        return len(self.names) - counted_rows + len(self.texts) + len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """Every numeric column of the log, with the step's and those left unread."""
        return (self.step_column, *self.columns, *self.unread)

    def __repr__(self) -> str:
        """One line: the name, how much there is, and where it came from."""
        rows = f"{counted(len(self.step), 'row')}, {counted(len(self.columns), 'column')}"
        return (
            f"<Run {shown(self.name)}: {rows}, from {quoted_path(self.source.path)} ({self.source.format})>"
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Series:
    """The evaluations that an analysis uses: paired arrays of shape (n,), and how they were chosen.

    ``entropy`` is in nats and positive by convention (the sign of a negated logger is reversed, and ``notes``
    say so); ``dropped`` counts what the run had and the pairing could not use, by reason; ``findings`` say
    what the run's settings mean for the law. ``max_reward`` is the largest reward that is possible by the
    column's name and values, None where it is unknown, and ``entropy_sd`` the known noise of each entropy in
    nats, where the user gave it.

    Where this is a validation reward with few evaluations and the run has a training reward with many more,
    ``offer`` names that one, and ``training`` is its own series, paired with the same entropy; it is None
    where that cannot be paired.
    """

    run: str
    source: Source
    step: FloatArray
    entropy: FloatArray
    reward: FloatArray
    entropy_choice: Choice
    reward_choice: Choice
    pair: str
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    offer: Finding | None = None
    max_reward: float | None = None
    entropy_sd: FloatArray | None = None
    training: Series | None = None

    def __repr__(self) -> str:
        """One line: the run's name, the number of pairs, and their columns."""
        columns = f"{shown(self.entropy_choice.column)} and {shown(self.reward_choice.column)}"
        return f"<Series {shown(self.run)}: {counted(len(self.step), 'pair')} of {columns}>"

    @property
    def rewards(self) -> tuple[Series, ...]:
        """The series of every reward to fit: this one, then that of the training reward."""
        return (self,) if self.training is None else (self, self.training)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the run's settings mean for the law, in sentences."""
        return sentences(self.findings, "caution")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhaseSeries:
    """The entropy curves of one run on its steps, arrays of shape (m,) with nan where a value is missing.

    ``step`` rises strictly: every step at which planning or execution has a value, or all tokens where there
    is neither. ``planning``, ``execution`` and ``aggregate`` are in nats, None where there is no such column;
    ``planning_share`` is planning tokens' share of the tokens, 0–1, and ``length`` the tokens of a response.
    ``dropped`` counts values that were left out, by reason; ``notes`` say what was decided, ``findings`` what
    may look like a turn and is none.
    """

    step: FloatArray
    planning: FloatArray | None
    execution: FloatArray | None
    aggregate: FloatArray | None
    planning_share: FloatArray | None
    length: FloatArray | None
    planning_column: PhaseColumn | None
    execution_column: PhaseColumn | None
    aggregate_column: PhaseColumn | None
    share_column: str | None
    length_column: str | None
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
