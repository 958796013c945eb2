"""Defines the documents: results of runs with the files that were read, as other programs read them.

Every kind is in :data:`entropylaw.documents.kinds.KINDS`. Numbers have 12 significant digits, and fresh
results are rounded to them, so that all that is made of a stored document has the same bytes as what is made
of a fresh one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from entropylaw.documents.codec import encode
from entropylaw.documents.kinds import KINDS
from entropylaw.options import ConfigFile, FitOptions, PhaseOptions
from entropylaw.paths import shown_path
from entropylaw.results import EntropySet, Estimate, Prediction, Verdict, Why
from entropylaw.results.axis import STEP
from entropylaw.results.columns import Choice, ColumnReport, Refusal
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast
from entropylaw.results.phases import PhaseFit, PhasesAcross
from entropylaw.results.result import Finding, Result, replace
from entropylaw.results.state import State
from entropylaw.version import __version__

if TYPE_CHECKING:
    from entropylaw.errors import EntropyLawError
    from entropylaw.logs.runs import Run as Log

T = TypeVar("T")


class InputFile(Struct, frozen=True, kw_only=True):
    """A file that was read: path as given (never absolute), sha256 of its bytes, number of records."""

    path: str
    sha256: str
    format: str
    rows: int


class AnyDocument(Result, frozen=True, kw_only=True):
    """What every document has: the version of entropylaw that made it, and the schema of its kind.

    See :data:`entropylaw.documents.kinds.KINDS`. ``config`` is the settings file in force, or None.
    """

    config: ConfigFile | None = None
    version: str = __version__
    schema: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return encode(self)  # type: ignore[no-any-return]


def refusal_of(error: EntropyLawError | Refusal, log: Log | str) -> Refusal:
    """An error about a run, or a path, as part of a document, without absolute paths."""
    path = log if isinstance(log, str) else log.source.path
    name = shown_path(path)
    return Refusal(
        slug=error.slug,
        message=error.message.replace(path, name),
        hint=error.hint.replace(path, name),
    )


def input_files(runs: Iterable[Log]) -> tuple[InputFile, ...]:
    """The files behind some runs, each once."""
    files = {}
    for run in runs:
        for file in run.source.parts or (run.source,):
            files[file.path] = file
    return tuple(
        InputFile(path=shown_path(path), sha256=file.sha256, format=file.format, rows=file.rows)
        for path, file in files.items()
    )


class Entry(Result, Generic[T], frozen=True, kw_only=True):
    """One run of a document, of several rewards one: its columns, and its result or why it has none.

    Attributes
    ----------
    run, path, reward
        Its name, the path of its file, and a short label of the reward, empty where the run has one.
    columns
        What a column is used for, such as ``"entropy"`` → the column; empty where none could be chosen.
    dropped
        Reason → rows that were not used.
    notes
        What was decided while reading and pairing, in sentences.
    result, refusal
        One of the two is None.
    """

    run: str
    path: str
    reward: str = ""
    columns: Mapping[str, Choice]
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    result: T | None
    refusal: Refusal | None

    @classmethod
    def of(
        cls, log: Log | str, series: Any, name: str = "", *, result: T | None = None, error: Any = None
    ) -> Entry[T]:
        """The entry of a run, from reading it, choosing its columns, and its result or the error.

        Where its file could not be read a path takes the place of a run, and ``name`` is the run's, if known.
        Without a series it has no columns.
        """
        dropped = Counter[str]()
        notes: tuple[str, ...] = ()
        if isinstance(log, str):
            path = log
        else:
            path = log.source.path
            name = log.name
            dropped.update(log.dropped)
            notes = log.notes
        for source in (series, result):
            dropped.update(getattr(source, "dropped", {}))
        if series:
            notes += series.notes
        return cls(
            run=name or shown_path(path),
            path=shown_path(path),
            reward=series.label if series else "",
            columns=series.columns if series else {},
            dropped=dict(dropped),
            notes=notes,
            result=result,
            refusal=None if error is None else refusal_of(error, log),
        )

    @property
    def name(self) -> str:
        """The name of the run, with that of the reward behind it where there are several."""
        return f"{self.run} · {self.reward}" if self.reward else self.run

    @property
    def read(self) -> bool:
        """Whether its log could be read, and columns of it chosen."""
        return bool(self.columns)

    @property
    def verdict(self) -> str:
        """The word about the law; ``none`` of a run without one, and ``refused`` of one without a fit."""
        return str(getattr(self.result, "verdict", "refused"))

    def flaw(self) -> str:
        """Both a result and a refusal, or neither."""
        has_one = (self.result is None) != (self.refusal is None)
        return "" if has_one else "a result or a refusal, one of them"


class Document(AnyDocument, Generic[T], frozen=True, kw_only=True):
    """Results of one or many runs, with their provenance.

    ``inputs`` are the files that were read, ``warnings`` are about files, not runs. A run without a result is
    among the others with the reason.
    """

    inputs: tuple[InputFile, ...]
    runs: tuple[Entry[T], ...]
    warnings: tuple[str, ...] = ()

    @property
    def fitted(self) -> tuple[T, ...]:
        """The results of all runs that have one."""
        return tuple(run.result for run in self.runs if run.result is not None)

    @property
    def answered(self) -> bool:
        """Whether any run has a result."""
        return any(run.result is not None for run in self.runs)


class FitDocument(Document[Fit], frozen=True, kw_only=True):
    """Fits of one or many runs, with their provenance."""

    settings: FitOptions
    schema: str = KINDS["fit"].schema


class PhasesDocument(Document[PhaseFit], frozen=True, kw_only=True):
    """Phases of one or many runs, with their provenance; ``across`` is over two runs or more."""

    settings: PhaseOptions
    across: PhasesAcross | None = None
    schema: str = KINDS["phases"].schema


class RunReport(Struct, frozen=True, kw_only=True):
    """The entries of a report about one reward of a run.

    ``fit`` is the answer about it, or why there is none. ``phases`` is None where the log has no curves
    of planning or execution, and beside the first reward only.
    """

    fit: Entry[Fit]
    phases: Entry[PhaseFit] | None = None


class ReportDocument(Document[Fit], frozen=True, kw_only=True):
    """Reports of one or many runs, with their provenance.

    ``phases`` are those of the runs that have curves of planning or execution, ``across`` is over several.
    """

    settings: FitOptions
    phases: tuple[Entry[PhaseFit], ...] = ()
    across: PhasesAcross | None = None
    schema: str = KINDS["report"].schema

    @property
    def reports(self) -> tuple[RunReport, ...]:
        """The entries of every run and reward; the phases of a run are with its first reward."""
        phases = {(entry.run, entry.path): entry for entry in self.phases}
        return tuple(RunReport(fit=run, phases=phases.pop((run.run, run.path), None)) for run in self.runs)


def report_of(reports: Iterable[RunReport], **fields: Any) -> ReportDocument:
    """The document of some entries; ``fields`` are its others."""
    reports = tuple(reports)
    phases = tuple(report.phases for report in reports if report.phases is not None)
    return ReportDocument(runs=tuple(report.fit for report in reports), phases=phases, **fields)


def renamed(entry: Any, name: str) -> Any:
    """The entry of a run by another name, which distinguishes it from others."""
    if isinstance(entry, RunReport):
        return replace(entry, fit=renamed(entry.fit, name))
    if not isinstance(entry.result, Fit):
        return replace(entry, run=name)
    law = entry.result.law
    if law is not None:
        law = replace(law, run=name)
    return replace(entry, run=name, result=replace(entry.result, run=name, law=law))


class RunPrediction(Result, frozen=True, kw_only=True):
    """Predictions for one run, by the curve that is averaged over the functional forms.

    ``state``, ``verdict`` (``none`` without a law), ``why`` and ``findings`` are the fit's, and so are
    ``gain``, ``n_rewards``, ``max_reward`` and ``axis``. ``forecast`` is of later steps; where these
    were requested and it is None, ``no_forecast`` says why. Without a law ``entropy_range`` is None, and
    ``no_law`` says why. ``ceiling`` is the reward at H = 0 by the law.
    """

    state: State | None
    no_state: str = ""
    verdict: str
    why: Why | None
    findings: tuple[Finding, ...]
    gain: float | None
    entropy_range: tuple[float, float] | None
    no_law: Refusal | None = None
    ceiling: Estimate | None = None
    predictions: tuple[Prediction, ...]
    entropies: tuple[EntropySet, ...]
    forecast: Forecast | None = None
    no_forecast: str | None = None
    n_rewards: int | None = None
    max_reward: float | None = None
    axis: str = STEP

    def flaw(self) -> str:
        """A word about the law that is none, or no law without a reason."""
        if self.verdict not in (*Verdict, "none"):
            return "a verdict, or none"
        if (self.verdict == "none") == (self.no_law is None):
            return "a law, or why there is none"
        return ""

    @property
    def is_broken(self) -> bool:
        """Whether the run lost its reward, or rewards are missing at its end."""
        return self.state is not None and self.state.word == "broken"


class PredictionDocument(Document[RunPrediction], frozen=True, kw_only=True):
    """Predictions of every fitted run of a fit document."""

    schema: str = KINDS["prediction"].schema


class ColumnsDocument(AnyDocument, frozen=True, kw_only=True):
    """The columns of each run; its file is in the run."""

    runs: tuple[ColumnReport, ...]
    schema: str = KINDS["columns"].schema


def columns_document(reports: Sequence[ColumnReport]) -> ColumnsDocument:
    """The document of some runs, which names no absolute path."""
    runs = []
    for report in reports:
        path = report.source.path
        problem = report.problem and refusal_of(report.problem, path)
        runs.append(replace(report, source=replace(report.source, path=shown_path(path)), problem=problem))
    return ColumnsDocument(runs=tuple(runs))


class GateCase(Struct, frozen=True, kw_only=True):
    """One gate on one run.

    Attributes
    ----------
    run, sources
        Its name, with the document's where several runs have that name, and what it was read from.
    gate, outcome, failed
        The expression; ``passed``, ``not excluded``, ``tripped`` or ``unknown``; and whether that fails.
    value, low, high, level, method
        The number and its interval; None where there is none.
    word
        The value of a quantity that is a word.
    limit
        What it was compared with; a percentage as a share, or of a reward in the unit of its column.
    unit, column
        The unit of value, interval and limit; of a reward that of its column, ``rate``, ``percent`` or
        ``raw``, and the column. Empty where there is none.
    sentence
        What was found, in words.
    """

    run: str
    sources: tuple[str, ...]
    gate: str
    outcome: str
    failed: bool
    sentence: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    method: str | None = None
    word: str | None = None
    limit: float | None = None
    unit: str = ""
    column: str = ""


class CheckedFile(Struct, frozen=True, kw_only=True):
    """A file that was read: path as given (never absolute), sha256 of its bytes, its schema or format."""

    path: str
    sha256: str
    format: str


class SettingsUsed(Struct, frozen=True, kw_only=True):
    """The settings that differ from the defaults, by their keys: of the ``logs``, or of a document."""

    of: str
    values: dict[str, Any]


class CheckDocument(AnyDocument, frozen=True, kw_only=True):
    """Outcomes of gates.

    ``cases`` are in the order of the runs; ``strict``, ``point`` and ``even_if_fails`` are the options.
    ``failed`` says whether any case failed. ``settings`` are those by which the numbers were computed.
    ``warnings`` are about files, not runs.
    """

    inputs: tuple[CheckedFile, ...]
    settings: tuple[SettingsUsed, ...] = ()
    gates: tuple[str, ...]
    strict: bool
    point: bool
    even_if_fails: bool
    runs: int
    failed: bool
    cases: tuple[GateCase, ...]
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["check"].schema

    @property
    def counts(self) -> dict[str, int]:
        """Outcome → number of cases, without zeros."""
        return dict(Counter(case.outcome for case in self.cases))
