"""Runs: the table of them, the page of each, what is said of all, and the rows of an index.

The table has one row per run, in a report's pages, Markdown, CSV and JSON, and for fits alone. A column is
one entry of :data:`COLUMNS`. Level shifts, segments and common coefficients have rows of their own in CSV and
frames; ``part`` says what a row is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import Struct

from entropylaw.analysis.forms import form_label
from entropylaw.documents.document import FitDocument, ReportDocument, RunFit, RunReport
from entropylaw.escaping import counted, one_line
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.blocks import DATA, PEOPLE, REPORT, Cell, Column
from entropylaw.report.describe import forecast, law, phases
from entropylaw.report.numbers import cell_text, format_interval, format_step
from entropylaw.results import Estimate
from entropylaw.results.arrays import FloatArray
from entropylaw.results.groups import SharedFit
from entropylaw.results.law import LawFit
from entropylaw.results.result import sentences

MOST_POINTS = 40
"""Points of a series in a row; of a longer run each is the mean of neighbouring evaluations."""

NO_CURVES = "the log has no entropy of planning or of execution tokens"
NOT_REQUESTED = "no forecast was requested"

Cells = Mapping[str, Cell]
"""Key of a column → cell; unknown ones are left out."""


def block_means(values: FloatArray) -> tuple[float, ...]:
    """A series in at most :data:`MOST_POINTS` points: means of blocks of nearly equal length."""
    edges = np.linspace(0, values.size, min(MOST_POINTS, values.size) + 1).round().astype(int)
    return tuple((np.add.reduceat(values, edges[:-1]) / np.diff(edges)).tolist())


def _law(accessor: Callable[[LawFit], Cell]) -> Callable[[RunReport], Cell]:
    return lambda report: None if report.fit.law is None else accessor(report.fit.law)


def _phases(report: RunReport) -> str | None:
    """The verdict on the phases; for one curve, whether it has a change point."""
    found = report.phases.phases if report.phases is not None else None
    if found is None or report.phases is None:
        return None
    any_found = any(curve.found for curve, _ in phases.fitted_curves(report.phases))
    one_curve = f"one curve, {'a' if any_found else 'no'} change point"
    return found.verdict.replace("boundary", "change point") if found.verdict else one_curve


def _last(name: str) -> Callable[[RunReport], Cell]:
    return lambda report: getattr(report.forecast, name)[-1] if report.forecast is not None else None


def _data(key: str, accessor: Callable[[Any], Cell]) -> Column:
    return Column(key, key.replace("_", " "), accessor, shown_in=(DATA,))


def _estimate(
    key: str, accessor: Callable[[Any], Cell] | None = None, unit: str = "", *places: str
) -> Column:
    """An estimate; without an accessor the law's of that name."""
    found = accessor or (lambda report: getattr(report.fit.law, key, None))
    return Column(key, key.replace("_", " "), found, unit, places or (DATA,), estimate=True)


COLUMNS = (
    Column("run", "run", lambda report: report.fit.run),
    _data("path", lambda report: report.fit.path),
    _data("part", lambda _: "run"),
    Column("verdict", "verdict", lambda report: words.badge(report.fit), shown_in=(PEOPLE,)),
    _data("n", _law(lambda law: law.n)),
    _data("valid", _law(lambda law: law.validity.ok)),
    Column("entropy", "entropy", _law(lambda law: block_means(law.entropy)), shown_in=(PEOPLE,)),
    Column("reward", "reward", _law(lambda law: block_means(law.reward)), shown_in=(PEOPLE,)),
    _estimate("a"),
    _estimate("b"),
    _estimate("ceiling", None, "", PEOPLE, DATA),
    _estimate("reward_now"),
    _estimate("headroom", None, "", PEOPLE, DATA),
    _estimate("used", lambda report: report.fit.used, "%", PEOPLE, DATA),
    _estimate("drop_per_100_steps", lambda report: report.fit.drop_per_100_steps, "", PEOPLE, DATA),
    _data("law_weight", _law(lambda law: law.law_probability)),
    _data("best_rival", _law(lambda law: law.rivals[0].form if law.rivals else None)),
    _data("best_rival_weight", _law(lambda law: law.rivals[0].probability if law.rivals else None)),
    _data("level", _law(lambda law: law.level)),
    _data("method", _law(lambda law: law.ceiling.method)),
    _data("first_step", _law(lambda law: float(law.step[0]))),
    _data("last_step", _law(lambda law: float(law.step[-1]))),
    _estimate("jump", lambda _: None),
    _data("p_value", lambda _: None),
    Column("forecast_step", "forecast for step", _last("step"), "step", (PEOPLE, REPORT)),
    _estimate("forecast", _last("reward"), "", PEOPLE, REPORT),
    _estimate("spent_by_step", lambda report: getattr(report.spending, "step", None), "step", REPORT),
    Column("phases", "phases", _phases, shown_in=(PEOPLE, REPORT)),
    _data("refusal", lambda report: report.fit.refusal.slug if report.fit.refusal is not None else None),
)
"""In the order of a CSV."""


def cells(report: RunReport) -> b.Row:
    """The known cells of a run, by column."""
    found = {column.key: column.accessor(report) for column in COLUMNS if column.accessor is not None}
    return {key: cell for key, cell in found.items() if cell is not None}


def parts(report: RunReport) -> Iterator[b.Row]:
    """The level shifts of a run and its segments, each a row."""
    run = report.fit
    segments = law.segment_rows(run.segments) if run.segments else ()
    for row in (*law.level_shift_rows(run.level_shifts), *segments):
        known = {key: cell for key, cell in row.items() if cell is not None}
        yield {"run": run.run, "path": run.path} | known


def describe(result: FitDocument | RunFit | ReportDocument | RunReport) -> list[b.Block]:
    """A run, with the forecast and the phases in a report; or the runs of a document."""
    if isinstance(result, RunFit):
        return _of_run(RunReport(fit=result))
    if isinstance(result, RunReport):
        return _of_run(result, _forecast_and_phases(result))
    reports = _reports(result)
    said = overall([index_row(run, "") for run in reports]) if isinstance(result, ReportDocument) else ()
    blocks = document_head(result.warnings, [cells(run) for run in reports], [result.shared], said)
    return blocks + [block for run in result.runs for block in describe(run)]


def table(result: FitDocument | RunFit | ReportDocument | RunReport) -> b.Table:
    """A row per run, and rows for its parts and for common coefficients; reports also have forecasts."""
    runs, shared = _reports(result), getattr(result, "shared", None)
    places = (DATA, REPORT) if isinstance(result, ReportDocument | RunReport) else (DATA,)
    return _data_table((row for run in runs for row in (cells(run), *parts(run))), [shared], *places)


def index_table(rows: Iterable[IndexRow], shared: Iterable[SharedFit]) -> b.Table:
    """The table of a report from the rows of its index."""
    found = (dict(known) for row in rows for known in (row.cells, *row.parts))
    return _data_table(found, shared, DATA, REPORT)


def _reports(result: FitDocument | RunFit | ReportDocument | RunReport) -> list[RunReport]:
    runs = (result,) if isinstance(result, RunFit | RunReport) else result.runs
    return [RunReport(fit=run) if isinstance(run, RunFit) else run for run in runs]


def _data_table(rows: Iterable[b.Row], shared: Iterable[SharedFit | None], *places: str) -> b.Table:
    """The table of CSV and frames: rows of runs and of their parts, then the common coefficients."""
    common = (row for fit in shared if fit is not None for row in law.shared_rows(fit))
    return b.table_of(COLUMNS, [*rows, *common], *places)


def document_head(
    warnings: Sequence[str],
    rows: Sequence[b.Row],
    shared: Iterable[SharedFit | None],
    sentences: Sequence[str] = (),
) -> list[b.Block]:
    """The blocks about all runs; their table is without columns that no run has a value for."""
    blocks: list[b.Block] = [b.Heading("Entropy law report", 1), b.Notes(b.labelled("warning", warnings, ""))]
    blocks.append(b.paragraphs(*sentences, detail=True))
    if len(rows) > 1:
        known = [column for column in COLUMNS if any(column.key in row for row in rows)]
        every = "index.html and the CSV have all rows"
        blocks.append(replace(b.table_of(known, rows, PEOPLE, words=2), detail=True, where=every))
    return blocks + [block for fit in shared if fit is not None for block in law.shared_blocks(fit, 3)]


def _of_run(report: RunReport, more: Sequence[b.Block] = ()) -> list[b.Block]:
    """The verdict, figures, estimates, forms and segments of a run, ``more``, and its columns."""
    run, found = report.fit, report.fit.law
    if found is None:
        slug, hint = (run.refusal.slug, run.refusal.hint) if run.refusal is not None else ("", "")
        refusal = b.Notes([b.Note("why", f"{words.why(run.refusal)} [{slug}]"), b.Note("hint", hint, "")])
        heading = b.Heading(run.run, 2, "" if run.run == run.path else run.path)
        return [heading, b.Verdict("refused", words.run_headline(run)), refusal, *more, *_read(run)]
    progress = (
        ("used", run.used, "share of the attainable gain reached", "%"),
        ("drop per 100 steps", run.drop_per_100_steps, "nats of entropy, over the last third", ""),
    )
    about = f"{found.n} evaluations, steps {format_step(found.step[0])}–{format_step(found.step[-1])}"
    blocks = law.sections(
        found,
        run,
        b.Heading(run.run, 2, f"{about} · {run.path}"),
        sentences=words.opening(report),
        progress=[b.Fact(*fact) for fact in progress if fact[1] is not None],
        more=[*law.segment_blocks(run.level_shifts, run.segments, sentences(run.findings, "note")), *more],
    )
    return blocks + _read(run)


def _read(run: RunFit) -> list[b.Block]:
    """The columns that were read, and the evaluations that were dropped; a terminal shows less of these."""
    notes, brief = [b.Note("file", run.path, "")], []
    for role, choice in (("entropy", run.entropy_column), ("reward", run.reward_column)):
        if choice is not None:
            known = words.meaning(choice.meaning)
            known = f" ({known})" if known else ""
            text = f"column '{choice.column}'{known}, {counted(choice.usable, 'usable value')}: {choice.why}"
            notes.append(b.Note(role, text, ""))
            facts = (choice.meaning.kind, choice.meaning.unit, choice.meaning.aggregation)
            shown = ", ".join(fact for fact in facts if fact)
            brief.append(f"{role} '{choice.column}'" + (f" ({shown})" if shown else ""))
    if run.pair is not None:
        notes.append(b.Note("pairing", run.pair, ""))
        brief.append(f"pair {run.pair}")
    # First what reading and pairing dropped, then the fit.
    drops = [*sorted(run.dropped.items()), *sorted(run.law.dropped.items() if run.law is not None else ())]
    dropped = "; ".join(f"{reason} ({number})" for reason, number in drops) or "nothing"
    notes += [b.Note("read", "", "; ".join(brief)), b.Note("dropped", dropped, words.drop_words(run))]
    notes += b.labelled("note", run.read_notes, "")
    return [b.Heading("Read and dropped", name="read"), b.Notes(notes)]


def _forecast_and_phases(report: RunReport) -> list[b.Block]:
    """The forecast, for a run with a law, and the phases without their headings; or why there are none."""
    blocks: list[b.Block] = []
    if (found := report.fit.law) is not None:
        blocks.append(b.Heading("Forecast", name="forecast"))
        if report.forecast is None:
            blocks.append(b.paragraphs(f"There is no forecast: {report.no_forecast or NOT_REQUESTED}."))
        against = "" if found.validity.ok else words.headline(found)
        blocks += forecast.sections(report.forecast, report.spending, report, against)
    blocks.append(b.Heading("Phases", name="phases"))
    if (run := report.phases) is None:
        return [*blocks, b.paragraphs(words.sentence(words.capital(NO_CURVES)))]
    if run.phases is not None:
        return blocks + [one for one in phases.describe(run) if not isinstance(one, b.Heading)]
    why = words.sentence(words.why(run.refusal))
    return [*blocks, b.paragraphs(f"The phases could not be fitted: {why}")]


class Series(Struct, frozen=True, kw_only=True):
    """The lines of a row: mean steps of the blocks whose means are its cells.

    ``entropy`` and ``reward`` are the first and the last evaluation as logged.
    """

    step: tuple[float, ...]
    entropy: tuple[float, float]
    reward: tuple[float, float]


class IndexRow(Struct, frozen=True, kw_only=True):
    """One run of an index: all that a page over a thousand runs needs of it.

    Attributes
    ----------
    run, path, slug
        Its name, its file, and the name of its page.
    cells, parts
        The run in the table of runs, and its level shifts and segments there.
    series
        For the lines of entropy and reward; None where there is no law.
    verdict, headline
        The verdict in a word or two, and in a sentence.
    reason
        Why there is no law, or why its numbers are not to be used; None where they are.
    refusal, cautions
        The slug of the error that left it without a law, and the number of cautions about the law.
    rival
        A functional form that is clearly more probable than the law, in words.
    no_forecast, no_phases
        Why there is none.
    phases_words, segments_words
        The verdict on the phases, and the level shifts and segments, in a sentence; or empty.
    """

    run: str
    path: str
    slug: str
    cells: Cells
    parts: tuple[Cells, ...]
    series: Series | None
    verdict: str
    headline: str
    reason: str | None
    refusal: str | None
    cautions: int
    rival: str | None
    no_forecast: str | None
    no_phases: str | None
    phases_words: str
    segments_words: str

    @property
    def readable(self) -> bool:
        """Whether the law's numbers are to be used."""
        return self.fitted and self.reason is None

    @property
    def fitted(self) -> bool:
        """Whether the run has a law."""
        return self.series is not None

    @property
    def shown(self) -> str:
        """The name on one line, at most 120 letters of it; its page has all."""
        name = one_line(self.run)
        return name if len(name) <= 120 else f"{name[:119]}…"

    def estimate(self, key: str) -> Estimate | None:
        """The estimate in a column; None where there is none, or no value."""
        found = self.cells.get(key)
        return found if isinstance(found, Estimate) and found.value is not None else None


def index_row(report: RunReport, slug: str) -> IndexRow:
    """The row of a run whose page is called ``slug``."""
    run, found, no_phases, phases_words = report.fit, report.fit.law, None, ""
    reason, series, better, cautions = words.why(run.refusal) or None, None, None, 0
    if found is not None:
        ends = [(float(values[0]), float(values[-1])) for values in (found.entropy, found.reward)]
        series = Series(step=block_means(found.step), entropy=ends[0], reward=ends[1])
        better, cautions, reason = found.better_rival, len(found.validity.cautions), None
        if not found.validity.ok:
            reason = (*found.validity.reasons, words.headline(found))[0]
    if report.phases is None:
        no_phases = NO_CURVES
    elif report.phases.phases is None:
        no_phases = words.why(report.phases.refusal)
    else:
        phases_words = phases.headline(report.phases)
    ahead = None not in (report.forecast, report.spending)
    return IndexRow(
        run=run.run,
        path=run.path,
        slug=slug,
        cells=cells(report),
        parts=tuple(parts(report)),
        series=series,
        verdict=words.badge(run),
        headline=words.run_headline(run),
        reason=reason,
        refusal=getattr(run.refusal, "slug", None),
        cautions=cautions,
        rival=form_label(better.form) if better else None,
        no_forecast=None if ahead else report.no_forecast or NOT_REQUESTED,
        no_phases=no_phases,
        phases_words=phases_words,
        segments_words=law.segments_sentence(run.level_shifts, run.segments),
    )


def by_name(rows: Iterable[IndexRow]) -> list[IndexRow]:
    """The rows as a person orders names: ``run-2`` before ``run-10``."""
    return sorted(rows, key=lambda row: (natural(row.run), row.run, row.slug))


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that orders numbers by size, and everything else by its letters."""
    found = re.split(r"([0-9]+)", name.casefold())
    return [(0, int(part[:300]), "") if i % 2 else (1, 0, part) for i, part in enumerate(found)]


def overall(rows: Sequence[IndexRow]) -> tuple[str, ...]:
    """Three sentences over all runs: where the law holds, the headroom, the share of the gain reached."""
    if not rows:
        return ("There are no runs.",)
    ahead = sum(row.no_forecast is None for row in rows)
    have = f"{counted(ahead, 'run')} {'has' if ahead == 1 else 'have'} a forecast"
    forecasts = f"{have}, which is averaged over several curves." if ahead else "No run has a forecast."
    holding = [row for row in rows if row.readable]
    if len(rows) == 1:
        (row,) = rows
        if not holding:
            reason = words.sentence(row.reason or "no reason is given")
            return f"One run. {row.headline.removesuffix('.')}: {reason}", forecasts
        used = row.cells.get("used")
        share = format_interval(used, "%") if isinstance(used, Estimate) else "unknown"
        left = cell_text(row.cells.get("headroom"))
        used_left = f"By the law, share of the attainable gain reached: {share}; headroom: {left}."
        return f"One run. {row.headline}", used_left, forecasts
    if holding:
        return _counted(rows), _headroom(holding), _gain_reached(holding)
    nothing = "So there are no ceilings, headrooms or shares of the gain: each run says below why."
    return _counted(rows), nothing, forecasts


def _counted(rows: Sequence[IndexRow]) -> str:
    """The number of runs by verdict."""
    seen = Counter(row.verdict for row in rows)
    cautious, holding = seen["with cautions"], seen["valid"] + seen["with cautions"]
    care = f" ({_of(cautious, holding)} with cautions)" if cautious else ""
    others = {"law fails": "fails in {}", "undecided": "is undecided in {}"}
    others["refused"] = "{} could not be fitted"
    said = (text.format(seen[verdict]) for verdict, text in others.items() if seen[verdict])
    found = [f"the law holds in {holding}{care}", *said]
    better = sum(row.readable and row.rival is not None for row in rows)
    rival = f"; where it holds, another functional form is clearly more probable in {better}" * bool(better)
    return f"Of {len(rows)} runs {words.listed(found)}{rival}."


def _headroom(rows: Sequence[IndexRow]) -> str:
    """The number of runs with headroom, and where it is largest."""
    found = [(row, row.estimate("headroom")) for row in rows]
    known = [(row, headroom) for row, headroom in found if headroom is not None and headroom.low is not None]
    left = [(row, headroom) for row, headroom in known if (headroom.low or 0.0) > 0]
    where = "Where the law holds, headroom is above zero"
    if not left:
        return f"{where} in none of {counted(len(rows), 'run')}."
    row, most = max(left, key=lambda found: found[1].value or 0.0)
    unknown = f", unknown in {len(rows) - len(known)}" if len(known) < len(rows) else ""
    largest = f"it is largest in {row.shown}: {format_interval(most)}"
    return f"{where} in {_of(len(left), len(rows))}{unknown}; {largest}."


def _gain_reached(rows: Sequence[IndexRow]) -> str:
    """The number of runs by whether the whole interval of the share reached is above or below nine tenths."""
    found = [row.cells.get("used") for row in rows]
    ends = [(used.low, used.high) for used in found if isinstance(used, Estimate)]
    known = [(low, high) for low, high in ends if low is not None and high is not None]
    if not known:
        return "The share of the attainable gain reached is unknown, or has no interval."
    above, below = sum(low > 0.9 for low, _ in known), sum(high < 0.9 for _, high in known)
    unclear, unknown = len(known) - above - below, len(rows) - len(known)
    counts = f"above 90 % in {above}, below 90 % in {below}, unclear in {unclear}"
    counts += f", without interval in {unknown}" * bool(unknown)
    return f"Share of the attainable gain reached: {counts}."


def _of(part: int, whole: int) -> str:
    return f"all {whole}" if part == whole and whole > 1 else f"{part} of {whole}" if whole > 1 else f"{part}"
