"""Fitted runs: a table of them, what they have in common, and each with its verdict and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.documents.report import RunReport
from entropylaw.report import reportwords, words
from entropylaw.report.blocks import (
    DATA,
    PEOPLE,
    Block,
    Fact,
    Heading,
    Note,
    Notes,
    Table,
    Verdict,
    paragraphs,
)
from entropylaw.report.describe import groups, law, runs
from entropylaw.report.numbers import count, format_step
from entropylaw.results.columns import Choice
from entropylaw.results.findings import sentences
from entropylaw.results.groups import SharedFit


def describe(result: FitDocument | RunFit) -> list[Block]:
    """A run, or the runs of a document."""
    if isinstance(result, RunFit):
        opening = reportwords.opening(RunReport(fit=result))
        return [*head(result, opening), *law_sections(result), *trust(result), *read(result)]
    rows = [runs.cells(RunReport(fit=run)) for run in result.runs]
    blocks = document_head(
        "Entropy law report", result.warnings, rows, [result.shared] if result.shared else []
    )
    return blocks + [block for run in result.runs for block in describe(run)]


def table(result: FitDocument | RunFit) -> Table:
    """A row per run, and rows for its parts and for what runs have in common."""
    fits = result.runs if isinstance(result, FitDocument) else (result,)
    reports = [RunReport(fit=run) for run in fits]
    rows = [row for report in reports for row in (runs.cells(report), *runs.parts(report))]
    shared = result.shared if isinstance(result, FitDocument) else None
    return data_table(rows, [shared] if shared else [], DATA)


def data_table(rows: Iterable[runs.Row], shared: Iterable[SharedFit], *places: str) -> Table:
    """The table of CSV and frames: rows of runs and of their parts, then what runs have in common."""
    columns = [column for column in runs.COLUMNS if any(place in column.shown_in for place in places)]
    every = [*rows, *(row for fit in shared for row in groups.shared_rows(fit))]
    return Table(columns, [tuple(row.get(column.key) for column in columns) for row in every])


def people_table(rows: Sequence[runs.Row]) -> Table:
    """The table that people read, without columns that no run has a value for."""
    columns = [
        column
        for column in runs.COLUMNS
        if PEOPLE in column.shown_in and any(column.key in row for row in rows)
    ]
    shown = [tuple(row.get(column.key) for column in columns) for row in rows]
    return Table(columns, shown, detail=True, words=2, where="the page index.html and the CSV hold them all")


def document_head(
    title: str,
    warnings: Sequence[str],
    rows: Sequence[runs.Row],
    shared: Iterable[SharedFit],
    sentences: Sequence[str] = (),
) -> list[Block]:
    """What is about all runs of a document."""
    blocks: list[Block] = [Heading(title, 1), Notes([Note("warning", text, "") for text in warnings])]
    blocks += [paragraphs(*sentences, detail=True)]
    blocks += [people_table(rows)] if len(rows) > 1 else []
    return blocks + [block for fit in shared for block in groups.shared_blocks(fit, 3)]


def head(run: RunFit, sentences: Iterable[str]) -> list[Block]:
    """What run it is, the verdict with what speaks against it, some sentences, and the figures."""
    found = run.law
    if found is None:
        slug, message, hint = ("", "its document gives no reason", "")
        if run.refusal is not None:
            slug, message, hint = run.refusal.slug, run.refusal.message, run.refusal.hint
        refusal = [Note("refused", f"{message} [{slug}]"), Note("hint", hint, "")]
        about = "" if run.run == run.path else run.path
        return [Heading(run.run, 2, about), Verdict("refused", words.run_headline(run)), Notes(refusal)]
    steps = f"steps {format_step(found.step[0])}–{format_step(found.step[-1])}"
    opening = " ".join(sentences)
    return [
        Heading(run.run, 2, f"{found.n} evaluations, {steps} · {run.path}"),
        law.verdict(found),
        paragraphs(*sentences, detail=True),
        law.checks(found),
        *law.drawn(run, opening),
    ]


def law_sections(run: RunFit) -> list[Block]:
    """The numbers, the forms and the segments of a fitted run."""
    if run.law is None:
        return []
    progress = []
    if run.used is not None:
        what = "of the reward between the law at the first entropy and at H = 0"
        progress.append(Fact("used", run.used, what, "%"))
    if run.drop_per_100_steps is not None:
        what = "nats of entropy lost, over the last third of the run"
        progress.append(Fact("drop per 100 steps", run.drop_per_100_steps, what))
    segments = groups.segment_blocks(run.seams, run.segments, sentences(run.findings, "note"))
    return [*law.numbers(run.law, progress), *law.forms(run.law), *segments]


def trust(run: RunFit) -> list[Block]:
    """How far to trust the numbers of a fitted run."""
    return law.trust(run.law, run) if run.law is not None else []


def read(run: RunFit) -> list[Block]:
    """What was read, and what was dropped."""
    notes = [Note("file", run.path, "")]
    brief = []
    for role, choice in (("entropy", run.entropy_column), ("reward", run.reward_column)):
        if choice is not None:
            known = words.meaning(choice.meaning)
            known = f" ({known})" if known else ""
            text = f"column '{choice.column}'{known}, {count(choice.usable, 'usable value')}: {choice.why}"
            notes.append(Note(role, text, ""))
            brief.append(f"{role} {_brief(choice)}")
    if run.pair is not None:
        notes.append(Note("pairing", run.pair, ""))
        brief.append(f"pair {run.pair}")
    drops = "; ".join(f"{reason} ({number})" for reason, number in words.drops(run)) or "nothing"
    notes += [Note("read", "", "; ".join(brief)), Note("dropped", drops, words.drop_words(run))]
    notes += [Note("note", note, "") for note in run.read_notes]
    return [Heading("Read and dropped", name="read"), Notes(notes)]


def _brief(choice: Choice) -> str:
    """A column and the most telling facts; ``entropylaw columns`` has them all."""
    known = [choice.meaning.kind, choice.meaning.unit, choice.meaning.aggregation]
    facts = ", ".join(fact for fact in known if fact)
    return f"'{choice.column}'" + (f" ({facts})" if facts else "")
