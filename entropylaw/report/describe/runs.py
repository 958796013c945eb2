"""Runs: the page of each, what is said of all, and the rows of an index.

The table has one row per run, in a report's pages, Markdown, CSV and JSON, and for fits alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.documents.document import Entry, FitDocument, ReportDocument, RunReport
from entropylaw.documents.summary import RunSummary, Series, summary_of
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.blocks import DATA, Column
from entropylaw.report.describe import law, phases
from entropylaw.report.describe.run_table import COLUMNS, ORDER, REFUSED, overview, reward_words, state_of
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import format_percent
from entropylaw.results.axis import STEP
from entropylaw.results.fit import Fit
from entropylaw.results.result import replace
from entropylaw.units import UNIT_WORDS

MOST_POINTS = 40
"""Points of a series in an index; of a longer run each is the mean of neighbouring evaluations."""

NO_CURVES = "the log has no entropy of planning or of execution tokens"


def describe(result: FitDocument | Entry[Fit] | ReportDocument | RunReport) -> list[b.Block]:
    """A run, with the forecast and the phases in a report; or the runs of a document."""
    if isinstance(result, Entry):
        return _of_run(RunReport(fit=result))
    if isinstance(result, RunReport):
        return _of_run(result, of_phases(result))
    reports = _reports(result)
    summaries = [index_row(run, "") for run in reports]
    described: Sequence[RunReport | Entry[Fit]] = result.runs
    if isinstance(result, ReportDocument):
        described = reports
    planned = result.settings.steps
    blocks = document_head(result.warnings, summaries, planned)
    if len(reports) > 1 and len({run.fit.run for run in reports}) == 1:
        blocks = [*blocks[:2], *of_rewards(reports, planned)]
    return blocks + [block for run in described for block in describe(run)]


def of_rewards(reports: Sequence[RunReport], planned: float | None = None) -> list[b.Block]:
    """Several rewards of one run: a row for each, stop lines, why some were refused, and figures."""
    entries = [run.fit for run in reports]
    refused = [f"{run.reward}: {words.why(run)}" for run in entries if run.result is None]
    about = counted(len(reports), "reward")
    fits = [run.result for run in entries if run.result is not None]
    if fits:
        about += f" · {law.about(max(fits, key=lambda fit: fit.n_rewards))}"
    rows = [index_row(run, "") for run in reports]
    blocks = [
        b.Heading(reports[0].fit.run, 2, about),
        overview(rows, Column("label", "reward")),
        b.Notes(words.stop_notes(rows, lambda row: row.label or "", planned)),
        b.Notes(b.labelled("refused", refused)),
        *figures_of("rewards", entries),
    ]
    return b.on_axis(fits[0].axis if fits else STEP, blocks)


def table(result: FitDocument | Entry[Fit] | ReportDocument | RunReport) -> b.Table:
    """A row per run, and rows for its parts; reports also have forecasts."""
    summaries = [summary_of(run) for run in _reports(result)]
    return data_table(summaries, with_phases=isinstance(result, ReportDocument | RunReport))


def data_table(summaries: Iterable[RunSummary], *, with_phases: bool) -> b.Table:
    """The table of a CSV; labels of rewards are a column where a run has several."""
    rows = list(summaries)
    left_out: set[str] = set()
    if not any(row.label for row in rows):
        left_out.add("label")
    if not with_phases:
        left_out.add("phases")
    return b.table_of([column for column in COLUMNS if column.key not in left_out], rows, DATA)


def _reports(result: FitDocument | Entry[Fit] | ReportDocument | RunReport) -> list[RunReport]:
    if isinstance(result, ReportDocument):
        return list(result.reports)
    runs = (result,) if isinstance(result, Entry | RunReport) else result.runs
    return [RunReport(fit=run) if isinstance(run, Entry) else run for run in runs]


def document_head(
    warnings: Sequence[str],
    rows: Sequence[RunSummary],
    planned: float | None = None,
    name: Callable[[RunSummary], str] = lambda row: row.name,
) -> list[b.Block]:
    """About all runs, called by ``name``, in the order of their states; the refused last.

    The end of the training may be ``planned``.
    """
    blocks: list[b.Block] = [b.Heading("Entropy law report", 1), b.warned(warnings)]
    if len(rows) < 2:
        return blocks
    few = len(rows) <= FEW and not any(row.label for row in rows)
    fitted = sorted((row for row in rows if row.fitted), key=lambda row: ORDER.index(state_of(row)))
    refused = [row for row in rows if not row.fitted]
    head = Column("run", "run", accessor=name)
    if fitted:
        blocks.append(replace(overview(fitted, head), detail=few, overview=not few))
    if refused:
        blocks.append(b.paragraphs(f"{counted_rows(refused)} could not be fitted:", detail=few))
        reasons = b.table_of([head, Column("headline", "reason")], refused, words=2)
        blocks.append(replace(reasons, detail=few, overview=not few))
    total = b.Note("", totals(rows), f"{totals(rows)} {levels(rows)}.")
    notes = [b.Note("reward", reward_words(rows)), *words.stop_notes(rows, name, planned)]
    stopped = b.Notes(notes, detail=few)
    return [*blocks, stopped, b.Notes([total], detail=few)]


FEW = 3
"""Most runs that a terminal describes one by one."""


def totals(rows: Sequence[RunSummary]) -> str:
    """The number of runs, or of their rewards, by state; where not broken also by the law."""
    states = Counter(map(state_of, rows))
    refused = states.pop(REFUSED, 0)
    counts = [f"{states[word]} {word}" for word in ORDER if states[word]]
    laws = Counter(row.law for row in rows if row.fitted and row.state != "broken")
    verbs = {"holds": "holds", "fails": "fails", "undecided": "is undecided"}
    of_law = ", ".join(f"{verb} in {laws[word]}" for word, verb in verbs.items() if laws[word])
    text = f"{counted_rows(rows)}: {', '.join(counts)}" if counts else counted_rows(rows)
    if of_law:
        text += f". The law {of_law}"
    if refused:
        text += f"; {refused} could not be fitted"
    return f"{text}."


def levels(rows: Iterable[RunSummary]) -> str:
    """``95 % intervals``; nothing where there are none."""
    shares = sorted({row.level for row in rows if row.level is not None})
    return f"{' and '.join(map(format_percent, shares))} intervals" if shares else ""


def counted_rows(rows: Sequence[RunSummary]) -> str:
    """``4 runs``, or ``12 rewards of 4 runs`` where some have several."""
    if not any(row.label for row in rows):
        return counted(len(rows), "run")
    return f"{counted(len(rows), 'reward')} of {counted(len({row.run for row in rows}), 'run')}"


def _of_run(report: RunReport, further: Sequence[b.Block] = ()) -> list[b.Block]:
    """What the fit of a run says, ``further`` blocks, and its columns."""
    run = report.fit
    fit = run.result
    if fit is None:
        assert run.refusal is not None
        why = f"{run.refusal.message} [{run.refusal.slug}]"
        refusal = b.Notes([b.Note("why", why), b.Note("hint", run.refusal.hint, "")])
        heading = b.Heading(run.name, 2, "" if run.run == run.path else run.path)
        verdict = b.Verdict(run.verdict, "This run could not be fitted.")
        return [heading, verdict, refusal, *further, *_read(run)]
    dropped = sum(number for reason, number in _dropped(run) if not _is_ahead(run, reason))
    heading = b.Heading(run.run, 2, law.about(fit, run.columns, dropped))
    return b.on_axis(fit.axis, law.sections(fit, run, heading, further=further) + _read(run))


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
    drops = _dropped(run)
    if run.read and not drops:
        notes.append(b.Note("dropped", "nothing"))
    for reason, number in drops:
        label = "forecast only" if _is_ahead(run, reason) else "dropped"
        notes.append(b.Note(label, f"{reason} ({number})"))
    notes += b.labelled("note", run.notes)
    topic = ""
    if run.result is not None:
        topic = b.READING
        notes += law.findings(run.result, b.READING)
    return [b.Heading("Read and dropped", name="read", topic=topic), b.Notes(notes)]


def _dropped(run: Entry[Fit]) -> list[tuple[str, int]]:
    """The reasons why evaluations were dropped, in reading and by the fit, each with their number."""
    drops = sorted(run.dropped.items())
    if run.result is not None and run.result.law is not None:
        drops += sorted(run.result.law.dropped.items())
    return drops


def _is_ahead(run: Entry[Fit], reason: str) -> bool:
    """Whether what was dropped for a reason is of use to the forecast, which needs no entropy."""
    return run.result is not None and reason.startswith(("no entropy", "entropy "))


def of_phases(report: RunReport) -> list[b.Block]:
    """The phases without their headings; or why there are none."""
    run = report.phases
    heading = b.Heading("Phases", name="phases")
    if run is not None and run.result is not None:
        return [heading, *(block for block in phases.describe(run) if not isinstance(block, b.Heading))]
    reason = NO_CURVES if run is None else f"the phases could not be fitted: {words.why(run)}"
    return [heading, b.paragraphs(words.sentence(words.capital(reason)))]


def index_row(report: RunReport, slug: str) -> RunSummary:
    """The summary of a run whose page is called ``slug``, with all that an index needs."""
    summary = replace(summary_of(report), slug=slug)
    fit = report.fit.result
    if fit is None:
        return replace(summary, headline=words.why(report.fit))
    step, _, reward = fit.evaluations
    series = Series(step=_block_means(step), reward=_block_means(reward))
    return replace(summary, headline=words.in_sentences(fit), series=series)


def _block_means(values: FloatArray) -> tuple[float, ...]:
    """A series in at most :data:`MOST_POINTS` points: means of blocks of nearly equal length."""
    edges = np.linspace(0, values.size, min(MOST_POINTS, values.size) + 1).round().astype(int)
    return tuple((np.add.reduceat(values, edges[:-1]) / np.diff(edges)).tolist())


def by_name(rows: Iterable[RunSummary]) -> list[RunSummary]:
    """The rows as a person orders names: ``run-2`` before ``run-10``."""
    return sorted(rows, key=lambda row: (natural(row.run), row.run, row.slug))


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that orders numbers by size, and everything else by its letters."""
    split = enumerate(re.split(r"([0-9]+)", name.casefold()))
    return [(0, int(text[:300]), "") if number % 2 else (1, 0, text) for number, text in split]
