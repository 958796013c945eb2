"""A training run as it was read: every column by step, where it came from, what was dropped and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from entropylaw.ingest.values import FloatArray
from entropylaw.results.columns import Choice, Source
from entropylaw.results.findings import Finding, sentences


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One training run: a table with one row a step.

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
        The column behind ``step``, and why that one.
    texts
        Columns without any number → their first cell; they are not in ``columns``.
    partial
        Whether its file is by its format a part of a log, such as one metric of several.
    settings
        The run's configuration where the log holds one or a ``config.yaml`` lies beside it: flat, with ``/``
        between names.
    unread
        Columns of a large file that were not read, because nothing would be made of them.
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

    @property
    def names(self) -> tuple[str, ...]:
        """Every numeric column that the log has, the step's and those left unread among them."""
        return (self.step_column, *self.columns, *self.unread)


def added(*counts: Mapping[str, int]) -> dict[str, int]:
    """Add up counts by reason; a reason without any is left out."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(+total)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """The evaluations that an analysis sees: paired arrays of shape (n,), and how they came about.

    ``entropy`` is in nats and positive by convention (a negated logger's sign is undone, and ``notes`` says
    so); ``dropped`` counts what the run had and the pairing could not use, by reason; ``findings`` say what
    the run's settings mean for the law; ``offer`` names a training reward with many more evaluations, where
    this one has few. ``entropy_sd`` is the known noise of each entropy in nats, where the user gave it.
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
    entropy_sd: FloatArray | None = None

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the run's settings mean for the law, in sentences."""
        return sentences(self.findings, "caution")
