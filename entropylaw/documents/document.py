"""The documents: results of one or many runs with the files that were read, as other programs read them.

Every kind is in :data:`entropylaw.documents.kinds.KINDS`. Numbers have 12 significant digits, and fresh
results are rounded to them, so that all that is made of a stored document has the same bytes as what is made
of a fresh one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from msgspec import Struct

from entropylaw.documents.codec import encode
from entropylaw.documents.kinds import KINDS
from entropylaw.options import ConfigFile, FitOptions, PhaseOptions
from entropylaw.paths import NOT_READ, shown_path
from entropylaw.results import EntropySet, Estimate, Prediction, Verdict, Why
from entropylaw.results.columns import Choice, ColumnReport, PhaseColumn, Refusal
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast, RunBacktest, Skill
from entropylaw.results.groups import LevelShift
from entropylaw.results.law import LawFit
from entropylaw.results.phases import PhaseFit, PhasesAcross
from entropylaw.results.result import LOST, Finding, Result, has, replace, sentences
from entropylaw.version import __version__

if TYPE_CHECKING:
    from entropylaw.errors import EntropyLawError
    from entropylaw.logs.runs import Run as Log
    from entropylaw.roles.series import PhaseSeries

Run = TypeVar("Run")


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


class Document(AnyDocument, Generic[Run], frozen=True, kw_only=True):
    """Results of one or many runs, with their provenance.

    ``inputs`` are the files that were read. A run without a result is among the others with the reason.
    """

    inputs: tuple[InputFile, ...]
    runs: tuple[Run, ...]


def refusal_of(error: EntropyLawError | Refusal, log: Log | str) -> Refusal:
    """An error about a run, or a path, as part of a document, without absolute paths."""
    path = log if isinstance(log, str) else log.source.path
    message, hint = (text.replace(path, shown_path(path)) for text in (error.message, error.hint))
    return Refusal(slug=error.slug, message=message, hint=hint)


def input_files(runs: Iterable[Log]) -> tuple[InputFile, ...]:
    """The files behind some runs, each once."""
    files = {file.path: file for run in runs for file in (run.source.parts or (run.source,))}
    return tuple(
        InputFile(path=shown_path(path), sha256=file.sha256, format=file.format, rows=file.rows)
        for path, file in files.items()
    )


def skipped_files(ignored: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """A warning for each file that is not a log: (path, why)."""
    return tuple(f"{shown_path(path)}{NOT_READ}{reason}" for path, reason in ignored)


class Entry(Result, frozen=True, kw_only=True):
    """One run of a document: where it was read from, its columns, and its result or why it has none.

    ``path`` is that of its file, ``dropped`` counts rows of it by reason. The result is in the field
    ``RESULT``; ``COLUMNS`` are the fields of columns, each with the attribute of the series that has it.
    """

    RESULT: ClassVar[str]
    COLUMNS: ClassVar[Mapping[str, str]]
    NOTES: ClassVar[str] = "notes"

    run: str
    path: str
    dropped: Mapping[str, int]
    refusal: Refusal | None

    @classmethod
    def of(cls, log: Log | str, series: Any, name: str = "", **more: Any) -> Self:
        """The entry of a run, from reading it and choosing its columns, and ``more`` fields.

        Where its file could not be read a path takes the place of a run, and ``name`` is the run's, if known.
        Without a series its columns are None.
        """
        if isinstance(log, str):
            read: dict[str, Any] = {"run": name or shown_path(log), "path": shown_path(log)}
            dropped, notes = Counter[str](), tuple[str, ...]()
        else:
            read = {"run": log.name, "path": shown_path(log.source.path)}
            dropped, notes = Counter(log.dropped), log.notes
        for source in filter(None, (series, more.get(cls.RESULT))):
            dropped.update(getattr(source, "dropped", {}))
        notes += series.notes if series else ()
        columns = {field: getattr(series, name, None) for field, name in cls.COLUMNS.items()}
        fields = {"dropped": dict(dropped), cls.NOTES: notes, cls.RESULT: None, "refusal": None}
        return cls(**read | columns | fields | more)

    @classmethod
    def refused(cls, log: Log | str, series: Any, error: EntropyLawError, name: str = "") -> Self:
        """A run without a result; parameters as :meth:`of`."""
        return cls.of(log, series, name, refusal=refusal_of(error, log))

    @property
    def read(self) -> bool:
        """Whether its log could be read, and columns of it chosen."""
        return any(getattr(self, field) is not None for field in self.COLUMNS)

    def flaw(self) -> str:
        """Both a result and a refusal, or neither."""
        has_result = getattr(self, self.RESULT) is not None
        return "" if has_result == (self.refusal is None) else f"{self.RESULT} or a refusal, one of them"


class RunFit(Entry, frozen=True, kw_only=True):
    """One run of a document: its columns and its answer, or the reason why there is none.

    ``entropy_column``, ``reward_column`` and ``pair`` are None for a run whose columns could not be chosen.
    ``drop_per_100_steps`` is its recent loss of entropy (see :mod:`entropylaw.analysis.forecast`), None for a
    refused run. ``level_shifts`` are those found, or the sizes of the given ones; ``findings`` say that there
    is none. ``read_notes`` is what was decided while reading and pairing.
    ``summary`` is the answer in some lines. ``training`` is the same run with its training reward, where the
    validation reward has few evaluations.
    """

    RESULT = "answer"
    COLUMNS = {"entropy_column": "entropy_choice", "reward_column": "reward_choice", "pair": "pair"}  # noqa: RUF012
    NOTES = "read_notes"

    entropy_column: Choice | None
    reward_column: Choice | None
    pair: str | None
    read_notes: tuple[str, ...]
    answer: Fit | None
    level_shifts: tuple[LevelShift, ...] = ()
    drop_per_100_steps: Estimate | None = None
    findings: tuple[Finding, ...] = ()
    summary: tuple[str, ...] = ()
    training: RunFit | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided, in sentences: while reading and pairing, and of the level shifts."""
        return (*self.read_notes, *sentences(self.findings, "note"))

    @property
    def law(self) -> LawFit | None:
        """The law's own numbers, and the evaluations; None for a refused run."""
        return None if self.answer is None else self.answer.law

    @property
    def verdict(self) -> str:
        """The verdict on the law in a word; ``refused`` for a run that could not be fitted."""
        return "refused" if self.answer is None else self.answer.verdict.value


class FitDocument(Document[RunFit], frozen=True, kw_only=True):
    """Fits of one or many runs, with their provenance.

    ``warnings`` are about files, not runs.
    """

    settings: FitOptions
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["fit"].schema

    @property
    def fitted(self) -> tuple[Fit, ...]:
        """The answers of all runs that have one."""
        return tuple(run.answer for run in self.runs if run.answer is not None)

    @property
    def answered(self) -> bool:
        """Whether any run has an answer, be it for its training reward."""
        return any(run.answer is not None or run.training is not None for run in self.runs)


COLUMNS = ("planning_column", "execution_column", "aggregate_column", "share_column", "length_column")
"""The attributes with the columns, in a series and in an entry."""


class RunPhases(Entry, frozen=True, kw_only=True):
    """One run of a document: its columns and its phases, or the reason why there are none.

    ``planning_column`` may hold a semantic entropy, see its ``what``. ``share_column`` is planning's share of
    the tokens, ``length_column`` the length of a response. ``findings`` are those of the columns; the phases
    have their own.
    """

    RESULT = "phases"
    COLUMNS = dict(zip(COLUMNS, COLUMNS, strict=True))  # noqa: RUF012

    planning_column: PhaseColumn | None
    execution_column: PhaseColumn | None
    aggregate_column: PhaseColumn | None
    share_column: str | None
    length_column: str | None
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    phases: PhaseFit | None

    @classmethod
    def of(cls, log: Log | str, series: PhaseSeries | None, name: str = "", **more: Any) -> Self:
        """As :meth:`Entry.of`, with the findings about its columns."""
        findings = series.findings if series else ()
        return super().of(log, series, name, findings=findings, **more)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Properties of the columns that may look like a turn, in sentences."""
        return sentences(self.findings, "caution")


class PhasesDocument(Document[RunPhases], frozen=True, kw_only=True):
    """Phases of one or many runs, with their provenance.

    ``across`` is over two runs or more. ``warnings`` are about files, not runs.
    """

    settings: PhaseOptions
    across: PhasesAcross | None = None
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["phases"].schema

    @property
    def fitted(self) -> tuple[PhaseFit, ...]:
        """The phases of all runs that have some."""
        return tuple(run.phases for run in self.runs if run.phases is not None)


class RunReport(Result, frozen=True, kw_only=True):
    """One run of a report.

    ``fit`` is its law with the forecast, or why there is none. ``phases`` is None where the log has
    no curves of planning or execution; where they cannot be fitted it has a refusal.
    """

    fit: RunFit
    phases: RunPhases | None = None

    @property
    def run(self) -> str:
        """The run's name."""
        return self.fit.run


class ReportDocument(Document[RunReport], frozen=True, kw_only=True):
    """Reports of one or many runs, with their provenance.

    ``across`` is over the phases of several runs. ``warnings`` are about files, not runs.
    """

    settings: FitOptions
    across: PhasesAcross | None = None
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["report"].schema


def from_fits(fits: FitDocument, runs: Iterable[RunReport]) -> ReportDocument:
    """The report of a fit document's runs."""
    return ReportDocument(
        inputs=fits.inputs,
        settings=fits.settings,
        runs=tuple(runs),
        warnings=fits.warnings,
        config=fits.config,
        version=fits.version,
    )


def renamed(entry: Any, name: str) -> Any:
    """The entry of a run by another name, which distinguishes it from others."""
    if isinstance(entry, RunReport):
        return replace(entry, fit=renamed(entry.fit, name))
    if not isinstance(entry, RunFit) or entry.answer is None:
        return replace(entry, run=name)
    law = replace(entry.answer.law, run=name)
    return replace(entry, run=name, answer=replace(entry.answer, run=name, law=law))


class RunPrediction(Result, frozen=True, kw_only=True):
    """Predictions for one run, averaged over the functional forms.

    ``verdict``, ``why`` and ``findings`` are the fit's, ``p_headroom`` the probability that at least ``gain``
    of reward is left on the curve, None for a run that lost its reward. ``forecast`` is of later steps;
    where these were requested and it is None, ``no_forecast`` says why.
    """

    run: str
    path: str
    verdict: Verdict
    why: Why | None
    findings: tuple[Finding, ...]
    gain: float
    p_headroom: float | None
    entropy_range: tuple[float, float]
    predictions: tuple[Prediction, ...]
    entropies: tuple[EntropySet, ...]
    forecast: Forecast | None = None
    no_forecast: str | None = None

    @property
    def lost(self) -> bool:
        """Whether the run lost more than half of its reward."""
        return has(self.findings, LOST)


class PredictionDocument(Document[RunPrediction], frozen=True, kw_only=True):
    """Predictions of every fitted run of a fit document."""

    schema: str = KINDS["prediction"].schema


class BacktestDocument(Document[RunBacktest], frozen=True, kw_only=True):
    """A backtest with its provenance; ``warnings`` are about files."""

    level: float
    overall: Skill | None
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["backtest"].schema


def refused_backtest(log: Log | str, _: Any, error: EntropyLawError, name: str = "") -> RunBacktest:
    """A run, or a path without any, that could not be tested; the reason names no absolute path."""
    refusal = refusal_of(error, log).message
    run = name or shown_path(log) if isinstance(log, str) else log.name
    return RunBacktest(run=run, n=0, cuts=(), refusal=refusal)


class ColumnsDocument(AnyDocument, frozen=True, kw_only=True):
    """The columns of each run; its file is in the run."""

    runs: tuple[ColumnReport, ...]
    schema: str = KINDS["columns"].schema


def columns_document(reports: Sequence[ColumnReport]) -> ColumnsDocument:
    """The document of some runs, which names no absolute path."""
    runs = (
        replace(
            report,
            source=replace(report.source, path=shown_path(report.source.path)),
            problem=report.problem and refusal_of(report.problem, report.source.path),
        )
        for report in reports
    )
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
        What it was compared with; a percentage as a share.
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


class CheckedFile(Struct, frozen=True, kw_only=True):
    """A file that was read: path as given (never absolute), sha256 of its bytes, its schema or format."""

    path: str
    sha256: str
    format: str


class CheckDocument(AnyDocument, frozen=True, kw_only=True):
    """Outcomes of gates.

    ``cases`` are in the order of the runs; ``strict``, ``point`` and ``even_if_fails`` are the options.
    ``failed`` says whether any case failed. ``warnings`` are about files, not runs.
    """

    inputs: tuple[CheckedFile, ...]
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
