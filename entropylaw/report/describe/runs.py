"""Runs: the table of them, the page of each, what is said of all, and the rows of an index.

The table has one row per run, in a report's pages, Markdown, CSV and JSON, and for fits alone. A column is
one entry of :data:`COLUMNS`. Level shifts have rows of their own in CSV and frames; ``part``
says what a row is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from entropylaw.arrays import FloatArray
from entropylaw.documents.document import Entry, FitDocument, ReportDocument, RunReport
from entropylaw.escaping import counted, one_line
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.blocks import DATA, PEOPLE, REPORT, TERMINAL, Cell, Column
from entropylaw.report.describe import law, phases
from entropylaw.report.numbers import format_interval
from entropylaw.results import Estimate, Why
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast
from entropylaw.results.result import replace

MOST_POINTS = 40
"""Points of a series in a row; of a longer run each is the mean of neighbouring evaluations."""

NO_CURVES = "the log has no entropy of planning or of execution tokens"

Cells = Mapping[str, Cell]
"""Key of a column → cell; unknown ones are left out."""


def block_means(values: FloatArray) -> tuple[float, ...]:
    """A series in at most :data:`MOST_POINTS` points: means of blocks of nearly equal length."""
    edges = np.linspace(0, values.size, min(MOST_POINTS, values.size) + 1).round().astype(int)
    return tuple((np.add.reduceat(values, edges[:-1]) / np.diff(edges)).tolist())


def _fit(accessor: Callable[[Fit], Cell]) -> Callable[[RunReport], Cell]:
    return lambda report: None if report.fit.result is None else accessor(report.fit.result)


def phases_verdict(report: RunReport) -> str | None:
    """The verdict on the phases; without an order, that on the curve that stands for the run."""
    if report.phases is None or report.phases.result is None:
        return None
    return phases.verdict_of(report.phases.result)


def _ahead(accessor: Callable[[Forecast], Cell]) -> Callable[[RunReport], Cell]:
    return _fit(lambda fit: None if fit.forecast is None else accessor(fit.forecast))


def _data(key: str, accessor: Callable[[Any], Cell]) -> Column:
    return Column(key, key.replace("_", " "), accessor, shown_in=(DATA,))


def _estimate(
    key: str, accessor: Callable[[Any], Cell] | None = None, unit: str = "", *places: str, label: str = ""
) -> Column:
    """An estimate; without an accessor the answer's of that name."""
    accessor = accessor or (lambda report: getattr(report.fit.result, key, None))
    return Column(key, label or key.replace("_", " "), accessor, unit, places or (DATA,), estimate=True)


_EVERYWHERE = (PEOPLE, TERMINAL, DATA)

COLUMNS = (
    Column("run", "run", lambda report: report.fit.name, shown_in=_EVERYWHERE),
    _data("path", lambda report: report.fit.path),
    _data("part", lambda _: "run"),
    Column("verdict", "verdict", lambda report: report.fit.verdict, shown_in=_EVERYWHERE),
    Column("why", "why", _fit(lambda fit: getattr(fit.why, "value", None)), shown_in=_EVERYWHERE),
    _data("lost", _fit(lambda fit: fit.lost or None)),
    _data("n", _fit(lambda fit: fit.n)),
    Column("entropy", "entropy", _fit(lambda fit: block_means(fit.law.entropy)), shown_in=(PEOPLE,)),
    Column("reward", "reward", _fit(lambda fit: block_means(fit.law.reward)), shown_in=(PEOPLE,)),
    _estimate("reward_now", None, "", TERMINAL, DATA, label="reward now"),
    _estimate("ceiling", None, "", *_EVERYWHERE),
    _estimate("headroom", None, "", *_EVERYWHERE, label="left"),
    Column("p_headroom", "P(gain left)", _fit(lambda fit: fit.p_headroom), "probability", _EVERYWHERE),
    _data("gain", _fit(lambda fit: fit.gain)),
    _estimate("used", None, "%", PEOPLE, DATA, label="share reached"),
    Column("r_squared", "R²", _fit(lambda fit: fit.law.r_squared), "r_squared", _EVERYWHERE),
    _data("effective_n", _fit(lambda fit: fit.law.residuals.effective_n)),
    _data("long_memory", _fit(lambda fit: fit.law.residuals.long_memory)),
    _estimate("drop_per_100_steps", None, "", PEOPLE, DATA),
    _data("best_form", _fit(lambda fit: fit.best.form)),
    _data("best_probability", _fit(lambda fit: fit.best.probability)),
    _estimate("a"),
    _estimate("b"),
    _data("law_probability", _fit(lambda fit: fit.law.probability)),
    _estimate("law_ceiling", _fit(lambda fit: fit.law.ceiling)),
    _estimate("law_headroom", _fit(lambda fit: fit.law.headroom)),
    _data("level", _fit(lambda fit: fit.level)),
    _data("method", _fit(lambda fit: fit.ceiling.method)),
    _data("first_step", _fit(lambda fit: float(fit.law.step[0]))),
    _data("last_step", _fit(lambda fit: float(fit.law.step[-1]))),
    _estimate("jump", lambda _: None),
    _data("p_value", lambda _: None),
    Column(
        "forecast_step", "forecast for step", _ahead(lambda ahead: ahead.step[-1]), "step", (PEOPLE, DATA)
    ),
    _estimate("forecast", _ahead(lambda ahead: ahead.rewards[-1]), "", PEOPLE, DATA),
    Column("p_gain", "P(gain)", _ahead(lambda ahead: ahead.p_gains[-1]), "probability", (PEOPLE, DATA)),
    _data("best_step", _ahead(lambda ahead: ahead.best_so_far.step)),
    _data("p_better", _ahead(lambda ahead: ahead.best_so_far.p_better)),
    _estimate("spent_by_step", _ahead(lambda ahead: ahead.spent), "step", DATA),
    Column("phases", "phases", phases_verdict, shown_in=(PEOPLE, REPORT)),
    _data("label", lambda report: report.fit.reward or None),
    _data("refusal", lambda report: report.fit.refusal.slug if report.fit.refusal is not None else None),
)
"""In the order of a CSV."""


def cells(report: RunReport) -> b.Row:
    """The known cells of a run, by column."""
    row: b.Row = {}
    for column in COLUMNS:
        cell = column.accessor(report) if column.accessor is not None else None
        if cell is not None:
            row[column.key] = cell
    fit = report.fit.result
    if fit is not None and fit.lost:
        row["ceiling"] = replace(fit.ceiling, note="lost reward")
        row |= {"headroom": replace(fit.headroom, note=""), "used": replace(fit.used, note="")}
    return row


def parts(report: RunReport) -> Iterator[b.Row]:
    """The level shifts of a run, each a row."""
    entry = report.fit
    for row in law.level_shift_rows(entry.result.level_shifts if entry.result is not None else ()):
        cells = {key: cell for key, cell in row.items() if cell is not None}
        yield {"run": entry.name, "path": entry.path, **cells}


def describe(result: FitDocument | Entry[Fit] | ReportDocument | RunReport) -> list[b.Block]:
    """A run, with the forecast and the phases in a report; or the runs of a document."""
    if isinstance(result, Entry):
        return _of_run(RunReport(fit=result))
    if isinstance(result, RunReport):
        return _of_run(result, _phases(result))
    reports = _reports(result)
    summary: tuple[str, ...] = ()
    if isinstance(result, ReportDocument):
        summary = overall([index_row(run, "") for run in reports])
    blocks = document_head(result.warnings, [cells(run) for run in reports], summary)
    return blocks + [block for run in result.runs for block in describe(run)]


def table(result: FitDocument | Entry[Fit] | ReportDocument | RunReport) -> b.Table:
    """A row per run, and rows for its parts; reports also have forecasts."""
    runs = _reports(result)
    places = (DATA, REPORT) if isinstance(result, ReportDocument | RunReport) else (DATA,)
    return data_table([row for run in runs for row in (cells(run), *parts(run))], *places)


def index_table(rows: Iterable[IndexRow]) -> b.Table:
    """The table of a report from the rows of its index."""
    return data_table([cells for row in rows for cells in (row.cells, *row.parts)], DATA, REPORT)


def data_table(rows: Sequence[Cells], *places: str) -> b.Table:
    """The table of a CSV; labels of rewards are a column where a run has several."""
    labelled = any("label" in row for row in rows)
    return b.table_of([column for column in COLUMNS if labelled or column.key != "label"], rows, *places)


def _reports(result: FitDocument | Entry[Fit] | ReportDocument | RunReport) -> list[RunReport]:
    runs = (result,) if isinstance(result, Entry | RunReport) else result.runs
    return [RunReport(fit=run) if isinstance(run, Entry) else run for run in runs]


def document_head(
    warnings: Sequence[str], rows: Sequence[b.Row], sentences: Sequence[str] = ()
) -> list[b.Block]:
    """The blocks about all runs; their table is without columns that no run has a value for."""
    blocks: list[b.Block] = [b.Heading("Entropy law report", 1), b.warned(warnings)]
    if len(rows) > 1:
        known = [column for column in COLUMNS if any(column.key in row for row in rows)]
        every = "index.html and the CSV have all rows"
        blocks.append(replace(b.table_of(known, rows, PEOPLE, words=3), detail=True, where=every))
        if len(rows) > FEW:
            brief = [column for column in known if TERMINAL in column.shown_in]
            blocks.append(replace(b.table_of(brief, rows, words=3), instead=True))
            note = b.Note("", "", f"{totals(rows)} --details describes each run.")
            blocks.append(b.Notes([note], instead=True))
    return [*blocks, b.paragraphs(*sentences, detail=True)]


FEW = 3
"""Most runs that a terminal describes one by one."""


def totals(rows: Iterable[Mapping[str, Cell]]) -> str:
    """The number of runs, or of their rewards, by verdict, and of those that lost the reward."""
    runs = list(rows)
    number = Counter(row.get("verdict") for row in runs)
    text = f"The law holds in {number['holds']} of {counted_rows(runs)}, fails in {number['fails']}"
    text += f", undecided in {number['undecided']}"
    if number["refused"]:
        text += f"; {number['refused']} could not be fitted"
    lost = sum("lost" in row for row in runs)
    return f"{text}. {counted(lost, 'run')} lost the reward: no ceiling is known." if lost else f"{text}."


def counted_rows(rows: Sequence[Mapping[str, Cell]]) -> str:
    """``4 runs``, or ``12 rewards of 4 runs`` where some have several."""
    names = {str(row.get("run")).removesuffix(f" · {row.get('label')}") for row in rows}
    if all("label" not in row for row in rows):
        return counted(len(rows), "run")
    return f"{len(rows)} rewards of {counted(len(names), 'run')}"


def _of_run(report: RunReport, further: Sequence[b.Block] = ()) -> list[b.Block]:
    """What the fit of a run says, ``further`` blocks, and its columns."""
    run, fit = report.fit, report.fit.result
    if fit is None:
        slug, hint = (run.refusal.slug, run.refusal.hint) if run.refusal is not None else ("", "")
        refusal = b.Notes([b.Note("why", f"{words.why(run.refusal)} [{slug}]"), b.Note("hint", hint, "")])
        heading = b.Heading(run.name, 2, "" if run.run == run.path else run.path)
        verdict = b.Verdict(run.verdict, "This run could not be fitted.")
        return [heading, verdict, refusal, *further, *_read(run)]
    heading = b.Heading(run.name, 2, law.about(fit))
    blocks = law.sections(fit, run, heading, data=_data_line(run), further=further)
    return blocks + _read(run)


def _data_line(run: Entry[Fit]) -> str:
    """``entropy 'actor/entropy' (nats) × val_acc (validation), same step; nothing dropped``."""
    columns = []
    for choice in run.columns.values():
        facts = ", ".join(filter(None, (choice.meaning.kind, choice.meaning.unit)))
        columns.append(f"'{choice.column}'{words.in_brackets(facts)}")
    parts = [f"{run.path}: {' × '.join(columns)}"]
    if (reward := run.columns.get("reward")) is not None:
        parts.append(f"pair {reward.pair}")
        # Why a training reward took the place of a validation reward.
        if reward.meaning.kind == "training" and "validation column" in reward.why:
            parts.append(reward.why.partition(";")[0])
    counts = Counter[str]()
    for reason, number in _drops(run):
        counts[reason.partition(": ")[0]] += number
    reasons = "; ".join(f"{reason} ({number})" for reason, number in sorted(counts.items()))
    parts.append(
        f"{counted(counts.total(), 'evaluation')} dropped: {reasons}" if counts else "nothing dropped"
    )
    return "; ".join(parts)


def _drops(run: Entry[Fit]) -> list[tuple[str, int]]:
    """Reasons with counts: first what reading and pairing dropped, then the fit."""
    law_drops = {} if run.result is None else run.result.law.dropped
    return [*sorted(run.dropped.items()), *sorted(law_drops.items())]


def _read(run: Entry[Fit]) -> list[b.Block]:
    """The columns that were read, and the evaluations that were dropped."""
    notes = [b.Note("file", run.path)]
    for role, choice in sorted(run.columns.items()):
        meaning = words.in_brackets(words.meaning(choice.meaning))
        values = counted(choice.usable, "usable value")
        notes.append(b.Note(role, f"column '{choice.column}'{meaning}, {values}: {choice.why}"))
    notes += (b.Note("pairing", choice.pair) for choice in run.columns.values() if choice.pair is not None)
    drops = _drops(run)
    if run.read and not drops:
        notes.append(b.Note("dropped", "nothing"))
    notes += b.labelled("dropped", (f"{reason} ({number})" for reason, number in drops))
    notes += b.labelled("note", run.notes)
    return [b.Heading("Read and dropped", name="read"), b.Notes(notes, detail=run.result is not None)]


def _phases(report: RunReport) -> list[b.Block]:
    """The phases without their headings; or why there are none."""
    run = report.phases
    blocks: list[b.Block] = [b.Heading("Phases", name="phases")]
    if run is None:
        return [*blocks, b.paragraphs(words.sentence(words.capital(NO_CURVES)))]
    if run.result is not None:
        return blocks + [block for block in phases.describe(run) if not isinstance(block, b.Heading)]
    reason = words.sentence(words.why(run.refusal))
    return [*blocks, b.paragraphs(f"The phases could not be fitted: {reason}")]


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
        The run in the table of runs, and its level shifts there.
    series
        For the lines of entropy and reward; None where there is no fit.
    verdict, why, chip, headline
        The verdict in a word, why the law fails, the reason in a few words, and in a sentence; why a refused
        run was refused.
    summary
        The answers to the two questions, as in the document of the run.
    refusal, cautions
        The slug of the error that left it without a fit, and the number of cautions.
    no_forecast, no_phases
        Why there is none.
    phases_words, shifts_words
        The verdict on the phases, and the level shifts, in a sentence; or empty.
    """

    run: str
    reward: str
    path: str
    slug: str
    cells: Cells
    parts: tuple[Cells, ...]
    series: Series | None
    verdict: str
    why: Why | None
    chip: str
    headline: str
    summary: tuple[str, ...]
    refusal: str | None
    cautions: int
    no_forecast: str | None
    no_phases: str | None
    phases_words: str
    shifts_words: str

    @property
    def lost(self) -> bool:
        """Whether the run lost its reward."""
        return "lost" in self.cells

    @property
    def readable(self) -> bool:
        """Whether its ceiling is to be used."""
        return self.fitted and self.why is not Why.no_relation and not self.lost

    @property
    def fitted(self) -> bool:
        """Whether the run has a fit."""
        return self.series is not None

    @property
    def shown(self) -> str:
        """The name on one line, at most 120 letters of the run's; its page has all."""
        name = one_line(self.run)
        name = name if len(name) <= 120 else f"{name[:119]}…"
        return f"{name} · {one_line(self.reward)}" if self.reward else name

    def estimate(self, key: str) -> Estimate | None:
        """The estimate in a column; None where there is none, or no value."""
        cell = self.cells.get(key)
        return cell if isinstance(cell, Estimate) and cell.value is not None else None


def index_row(report: RunReport, slug: str) -> IndexRow:
    """The row of a run whose page is called ``slug``."""
    run, fit, no_phases, phases_words = report.fit, report.fit.result, None, ""
    headline, series, cautions = words.why(run.refusal), None, 0
    if fit is not None:
        ends = [(float(values[0]), float(values[-1])) for values in (fit.law.entropy, fit.law.reward)]
        series = Series(step=block_means(fit.law.step), entropy=ends[0], reward=ends[1])
        headline, cautions = words.headline(fit), len(fit.cautions)
    if report.phases is None:
        no_phases = NO_CURVES
    elif report.phases.result is None:
        no_phases = words.why(report.phases.refusal)
    else:
        phases_words = phases.headline(report.phases)
    return IndexRow(
        run=run.run,
        reward=run.reward,
        path=run.path,
        slug=slug,
        cells=cells(report),
        parts=tuple(parts(report)),
        series=series,
        verdict=run.verdict,
        why=fit.why if fit is not None else None,
        chip=words.short_why(run),
        headline=headline,
        summary=words.summary(run),
        refusal=getattr(run.refusal, "slug", None),
        cautions=cautions,
        no_forecast=getattr(fit, "no_forecast", "the run has no fit"),
        no_phases=no_phases,
        phases_words=phases_words,
        shifts_words=law.level_shifts_sentence(fit.level_shifts if fit is not None else ()),
    )


def by_name(rows: Iterable[IndexRow]) -> list[IndexRow]:
    """The rows as a person orders names: ``run-2`` before ``run-10``."""
    return sorted(rows, key=lambda row: (natural(row.run), row.run, row.slug))


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that orders numbers by size, and everything else by its letters."""
    key = []
    for i, text in enumerate(re.split(r"([0-9]+)", name.casefold())):
        key.append((0, int(text[:300]), "") if i % 2 else (1, 0, text))
    return key


def overall(rows: Sequence[IndexRow]) -> tuple[str, ...]:
    """Sentences over all runs: where the law holds, where a gain is left, the share of the gain reached."""
    if not rows:
        return ("There are no runs.",)
    if len(rows) == 1:
        return rows[0].summary
    fitted = [row for row in rows if row.readable]
    if not fitted:
        return (totals([row.cells for row in rows]),)
    return totals([row.cells for row in rows]), gain_left(fitted), gain_reached(fitted)


def gain_left(rows: Sequence[IndexRow]) -> str:
    """The number of runs in which a gain is left, and where it is largest."""
    left, unknown = [], 0
    for row in rows:
        headroom = row.estimate("headroom")
        if headroom is None:
            unknown += 1
        elif headroom.low is not None and headroom.low > 0:
            left.append((headroom, row))
    if not left:
        return f"A gain is left for certain in none of {counted_rows([row.cells for row in rows])}."
    most, row = max(left, key=lambda pair: pair[0].value or 0.0)
    plural = f"{len(rows)} runs" if len(rows) == 1 else counted_rows([row.cells for row in rows])
    text = f"A gain is left in {len(left)} of {plural}"
    if unknown:
        text += f", unknown in {unknown}"
    return f"{text}; the most in {row.shown}: {format_interval(most)}."


def gain_reached(rows: Sequence[IndexRow]) -> str:
    """The number of runs by whether the whole interval of the share reached is above or below nine tenths."""
    number = Counter[str]()
    for row in rows:
        used = row.cells.get("used")
        if not isinstance(used, Estimate) or used.low is None or used.high is None:
            number["without interval"] += 1
        elif used.low > 0.9:
            number["above"] += 1
        elif used.high < 0.9:
            number["below"] += 1
        else:
            number["unclear"] += 1
    if number["without interval"] == len(rows):
        return "The share of the attainable gain reached is unknown, or has no interval."
    text = f"above 90 % in {number['above']}, below 90 % in {number['below']}, unclear in {number['unclear']}"
    if number["without interval"]:
        text += f", without interval in {number['without interval']}"
    return f"Share of the attainable gain reached: {text}."
