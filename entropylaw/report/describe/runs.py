"""Runs: the page of each, what is said of all, and the rows of an index.

The table has one row per run, in a report's pages, Markdown, CSV and JSON, and for fits alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from entropylaw.documents.document import Entry, FitDocument, ReportDocument, RunReport
from entropylaw.escaping import counted, one_line
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.blocks import DATA, REPORT, Cell, Column
from entropylaw.report.describe import law, phases
from entropylaw.report.describe.run_table import (
    COLUMNS,
    Cells,
    block_means,
    cells,
    overview,
    parts,
    reward_words,
)
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import format_interval, format_percent
from entropylaw.results import Estimate, Why
from entropylaw.results.columns import Choice, factor_to, is_comparable
from entropylaw.results.fit import Fit
from entropylaw.results.result import replace
from entropylaw.units import UNIT_WORDS

NO_CURVES = "the log has no entropy of planning or of execution tokens"

_REWARDS = ("now", "reward_now", "ceiling", "headroom", "forecast")
"""Columns of numbers in the unit of the reward that are compared over runs."""


def describe(result: FitDocument | Entry[Fit] | ReportDocument | RunReport) -> list[b.Block]:
    """A run, with the forecast and the phases in a report; or the runs of a document."""
    if isinstance(result, Entry):
        return _of_run(RunReport(fit=result))
    if isinstance(result, RunReport):
        return _of_run(result, of_phases(result))
    reports, more = _reports(result), tuple[str, ...]()
    described: Sequence[RunReport | Entry[Fit]] = result.runs
    if isinstance(result, ReportDocument):
        described, more = reports, overall([index_row(run, "") for run in reports])[1:]
    planned = result.settings.steps
    blocks = document_head(result.warnings, [cells(run) for run in reports], more, planned)
    if len(reports) > 1 and len({run.fit.run for run in reports}) == 1:
        blocks = [*blocks[:2], *of_rewards(reports, planned)]
    return blocks + [block for run in described for block in describe(run)]


def of_rewards(reports: Sequence[RunReport], planned: float | None = None) -> list[b.Block]:
    """Several rewards of one run: a row for each, stop lines, the verdicts for a terminal, and figures."""
    about, verdicts, most = counted(len(reports), "reward"), [], 0
    for entry in (run.fit for run in reports):
        fit = entry.result
        reason = words.why(entry.refusal) if fit is None else words.headline(fit)
        verdicts.append(f"{entry.reward}: {entry.verdict}, {reason}")
        if fit is not None and fit.n > most:
            most = fit.n
            about = f"{entry.columns['entropy'].column} × {len(reports)} rewards · {law.about(fit)}"
    every = "--details describes each reward."
    rows = [cells(run) for run in reports]
    return [
        b.Heading(reports[0].fit.run, 2, about),
        overview(rows, Column("label", "reward")),
        b.Notes(list(words.stop_notes(rows, "label", planned))),
        b.Notes([b.Note("entropy law", "", " · ".join(verdicts)), b.Note("", "", every)]),
        *figures_of("rewards", [run.fit for run in reports]),
    ]


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
    if isinstance(result, ReportDocument):
        return list(result.reports)
    runs = (result,) if isinstance(result, Entry | RunReport) else result.runs
    return [RunReport(fit=run) if isinstance(run, Entry) else run for run in runs]


def document_head(
    warnings: Sequence[str],
    rows: Sequence[b.Row],
    sentences: Sequence[str] = (),
    planned: float | None = None,
) -> list[b.Block]:
    """About all runs: the lost first, the refused, stop lines and totals last; the end may be ``planned``."""
    blocks: list[b.Block] = [b.Heading("Entropy law report", 1), b.warned(warnings)]
    if len(rows) < 2:
        return blocks
    few = len(rows) <= FEW and all("label" not in row for row in rows)
    lost = [row for row in rows if "lost" in row]
    others = [row for row in rows if "lost" not in row and "n" in row]
    refused = [row for row in rows if "n" not in row]
    head = Column("run", "run")
    for group, title, table in (
        (lost, "lost more than half of the reward:", overview(lost, head)),
        (others, "did not:" if lost else "", overview(others, head)),
        (refused, "could not be fitted:", b.table_of([head, Column("refusal", "reason")], refused, words=2)),
    ):
        if group and title:
            blocks.append(b.paragraphs(f"{counted_rows(group)} {title}", detail=few))
        if group:
            blocks.append(replace(table, detail=few, overview=not few))
    total = b.Note("", totals(rows), f"{totals(rows)} {levels(rows)}. --details describes each run.")
    measured = reward_words(rows) if all("label" not in row for row in rows) else ""
    notes = [b.Note("reward", measured), *words.stop_notes(rows, planned=planned)]
    stopped = b.Notes(notes, detail=few)
    return [*blocks, stopped, b.Notes([total], detail=few), b.paragraphs(*sentences, detail=True)]


FEW = 3
"""Most runs that a terminal describes one by one."""


def totals(rows: Iterable[Mapping[str, Cell]]) -> str:
    """Runs that lost the reward, and the number of runs, or of their rewards, by verdict."""
    runs = list(rows)
    number = Counter(row.get("verdict") for row in runs)
    text = f"The law holds in {number['holds']} of {counted_rows(runs)}, fails in {number['fails']}, "
    text += f"undecided in {number['undecided']}"
    if number["refused"]:
        text += f"; {number['refused']} could not be fitted"
    lost = [row for row in runs if "lost" in row]
    return f"{counted_rows(lost)} lost the reward. {text}." if lost else f"{text}."


def levels(rows: Iterable[Mapping[str, Cell]]) -> str:
    """``95 % intervals``; nothing where there are none."""
    known = sorted({float(str(row["level"])) for row in rows if "level" in row})
    return f"{' and '.join(map(format_percent, known))} intervals" if known else ""


def counted_rows(rows: Sequence[Mapping[str, Cell]]) -> str:
    """``4 runs``, or ``12 rewards of 4 runs`` where some have several."""
    if all("label" not in row for row in rows):
        return counted(len(rows), "run")
    return f"{counted(len(rows), 'reward')} of {counted(len(set(map(words.run_of, rows))), 'run')}"


def _of_run(report: RunReport, further: Sequence[b.Block] = ()) -> list[b.Block]:
    """What the fit of a run says, ``further`` blocks, and its columns."""
    run, fit = report.fit, report.fit.result
    if fit is None:
        slug, hint = (getattr(run.refusal, name, "") for name in ("slug", "hint"))
        refusal = b.Notes([b.Note("why", f"{words.why(run.refusal)} [{slug}]"), b.Note("hint", hint, "")])
        heading = b.Heading(run.name, 2, "" if run.run == run.path else run.path)
        verdict = b.Verdict(run.verdict, "This run could not be fitted.")
        return [heading, verdict, refusal, *further, *_read(run)]
    heading = b.Heading(run.run, 2, law.about(fit, run.columns))
    return law.sections(fit, run, heading, further=further) + _read(run)


def _read(run: Entry[Fit]) -> list[b.Block]:
    """The columns that were read, and what was dropped: first in reading and pairing, then by the fit.

    Evaluations that have no entropy are of use to the forecast.
    """
    notes = [b.Note("file", run.path)]
    for role, choice in sorted(run.columns.items()):
        meaning = words.in_brackets(words.meaning(choice.meaning))
        values = counted(choice.usable, "usable value")
        unit = f", {UNIT_WORDS[choice.unit]}" if choice.unit else ""
        notes.append(b.Note(role, f"column '{choice.column}'{meaning}{unit}, {values}: {choice.why}"))
    notes += (b.Note("pairing", choice.pair) for choice in run.columns.values() if choice.pair is not None)
    drops = sorted(run.dropped.items())
    if run.result is not None:
        drops += sorted(run.result.law.dropped.items())
    if run.read and not drops:
        notes.append(b.Note("dropped", "nothing", number=0))
    for reason, number in drops:
        # The forecast needs no entropy.
        is_ahead = run.result is not None and reason.startswith(("no entropy", "entropy "))
        text = f"{reason} ({number})"
        notes.append(b.Note("forecast only" if is_ahead else "dropped", text, number=number))
    notes += b.labelled("note", run.notes)
    return [b.Heading("Read and dropped", name="read"), b.Notes(notes, detail=run.result is not None)]


def of_phases(report: RunReport) -> list[b.Block]:
    """The phases without their headings; or why there are none."""
    run = report.phases
    heading = b.Heading("Phases", name="phases")
    if run is not None and run.result is not None:
        return [heading, *(block for block in phases.describe(run) if not isinstance(block, b.Heading))]
    why = NO_CURVES if run is None else f"the phases could not be fitted: {words.why(run.refusal)}"
    return [heading, b.paragraphs(words.sentence(words.capital(why)))]


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
    verdict, why, headline
        The verdict in a word, why the law fails, the reason in a few words; why a refused run was refused.
    rewarded
        The column of the reward with its unit, by which it is decided what it may be compared with; None
        where that is not known.
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
    headline: str
    refusal: str | None
    cautions: int
    no_forecast: str | None
    no_phases: str | None
    phases_words: str
    shifts_words: str
    rewarded: Choice | None = None

    @property
    def lost(self) -> bool:
        """Whether the run lost its reward."""
        return "lost" in self.cells

    @property
    def readable(self) -> bool:
        """Whether its ceiling is to be used."""
        return self.fitted and "no_ceiling" not in self.cells

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
        headline=headline,
        refusal=getattr(run.refusal, "slug", None),
        cautions=cautions,
        no_forecast=getattr(fit, "no_forecast", "the run has no fit"),
        no_phases=no_phases,
        phases_words=phases_words,
        shifts_words="; ".join(map(law.level_shift, fit.level_shifts if fit is not None else ())),
        rewarded=run.columns.get("reward"),
    )


def like_rewards(rows: Iterable[IndexRow]) -> list[list[IndexRow]]:
    """The rows in groups whose rewards may be compared, each in the unit of the first row of its group."""
    groups: list[list[IndexRow]] = []
    for row in rows:
        # A reward without a unit is not comparable, not even with itself.
        known = is_comparable(row.rewarded, row.rewarded)
        for group in groups if known else ():
            if is_comparable(group[0].rewarded, row.rewarded):
                group.append(_in_unit_of(group[0], row))
                break
        else:
            groups.append([row])
    return groups


def _in_unit_of(leader: IndexRow, row: IndexRow) -> IndexRow:
    """A row with its numbers in the unit of the reward of another, which may be compared with its own."""
    assert leader.rewarded is not None
    assert row.rewarded is not None
    factor = factor_to(leader.rewarded, row.rewarded)
    if factor == 1.0:
        return row
    cells = {key: _multiplied(cell, factor) for key, cell in row.cells.items() if key in _REWARDS}
    return replace(row, rewarded=leader.rewarded, cells={**row.cells, **cells, "unit": leader.rewarded.unit})


def _multiplied(cell: Cell, factor: float) -> Cell:
    """A number, or an estimate, in another unit, one of which is ``factor`` of it."""
    if isinstance(cell, Estimate):
        return cell.times(factor)
    return factor * cell if isinstance(cell, float) else cell


def by_name(rows: Iterable[IndexRow]) -> list[IndexRow]:
    """The rows as a person orders names: ``run-2`` before ``run-10``."""
    return sorted(rows, key=lambda row: (natural(row.run), row.run, row.slug))


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that orders numbers by size, and everything else by its letters."""
    split = enumerate(re.split(r"([0-9]+)", name.casefold()))
    return [(0, int(text[:300]), "") if number % 2 else (1, 0, text) for number, text in split]


def overall(rows: Sequence[IndexRow]) -> tuple[str, ...]:
    """Sentences over all runs: which will probably gain, where most is left on the curve, and the law."""
    if not rows:
        return ("There are no runs.",)
    cells, sentences = [row.cells for row in rows], list[str]()
    forecast = [row for row in cells if "p_gain" in row and "lost" not in row and "no_forecast" not in row]
    if forecast:
        probable = sum(float(str(row["p_gain"])) >= 0.5 for row in forecast)
        sentences.append(f"By the forecasts {probable} of {counted_rows(forecast)} will probably gain more.")
    if readable := [row for row in rows if row.readable]:
        sentences.append(gain_left(readable))
    return (*sentences, totals(cells))


def gain_left(rows: Sequence[IndexRow]) -> str:
    """In how many runs with a ceiling it is certain that a gain is left, and where it is largest.

    Gains of unlike rewards are not compared.
    """
    number = counted_rows([row.cells for row in rows])
    estimated = [(left, row) for row in rows if (left := row.estimate("headroom")) is not None]
    certain = [(left, row) for left, row in estimated if (left.low or 0.0) > 0]
    if not certain:
        return f"Of {number} whose ceiling is known, none has a gain that is certainly left."
    text = f"A gain is left in {len(certain)} of {'1 runs' if len(rows) == 1 else number}"
    if len(estimated) < len(rows):
        text += f", unknown in {len(rows) - len(estimated)}"
    alike, *others = like_rewards(row for _, row in certain)
    if others:
        return f"{text}; their rewards are unlike, and are not compared."
    gains = [(left, row) for row in alike if (left := row.estimate("headroom")) is not None]
    most, row = max(gains, key=lambda pair: pair[0].value or 0.0)
    percent = " %" if row.cells.get("unit") == "percent" else ""
    return f"{text}; the most in {row.shown}: {format_interval(most)}{percent}."
