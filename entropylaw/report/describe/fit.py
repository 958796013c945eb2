"""Fitted runs: a table of them, what they have in common, and each with its verdict and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.documents.report import RunReport
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.describe import groups, law, runs
from entropylaw.report.numbers import count, format_step
from entropylaw.results.findings import sentences
from entropylaw.results.groups import SharedFit


def describe(result: FitDocument | RunFit) -> list[b.Block]:
    """A run, or the runs of a document."""
    if isinstance(result, RunFit):
        return of_run(RunReport(fit=result))
    rows = [runs.cells(RunReport(fit=run)) for run in result.runs]
    blocks = document_head(result.warnings, rows, [result.shared])
    return blocks + [block for run in result.runs for block in describe(run)]


def table(result: FitDocument | RunFit) -> b.Table:
    """A row per run, and rows for its parts and for what runs have in common."""
    if isinstance(result, RunFit):
        return data_table(runs.rows(RunReport(fit=result)), [], b.DATA)
    rows = (row for run in result.runs for row in runs.rows(RunReport(fit=run)))
    return data_table(rows, [result.shared], b.DATA)


def data_table(rows: Iterable[runs.Row], shared: Iterable[SharedFit | None], *places: str) -> b.Table:
    """The table of CSV and frames: rows of runs and of their parts, then what runs have in common."""
    common = (row for fit in shared if fit is not None for row in groups.shared_rows(fit))
    return b.table_of(runs.COLUMNS, [*rows, *common], *places)


def document_head(
    warnings: Sequence[str],
    rows: Sequence[runs.Row],
    shared: Iterable[SharedFit | None],
    sentences: Sequence[str] = (),
) -> list[b.Block]:
    """What is about all runs; their table is without columns that no run has a value for."""
    blocks: list[b.Block] = [b.Heading("Entropy law report", 1), b.Notes(b.labelled("warning", warnings, ""))]
    blocks.append(b.paragraphs(*sentences, detail=True))
    if len(rows) > 1:
        known = [column for column in runs.COLUMNS if any(column.key in row for row in rows)]
        every = "the page index.html and the CSV hold them all"
        blocks.append(replace(b.table_of(known, rows, b.PEOPLE, words=2), detail=True, where=every))
    return blocks + [block for fit in shared if fit is not None for block in groups.shared_blocks(fit, 3)]


def of_run(report: RunReport, more: Sequence[b.Block] = ()) -> list[b.Block]:
    """What run it is, the verdict, figures, numbers, forms and segments, ``more``, and what was read."""
    run, found = report.fit, report.fit.law
    if found is None:
        slug, hint = (run.refusal.slug, run.refusal.hint) if run.refusal is not None else ("", "")
        said = f"{words.why(run.refusal)} [{slug}]"
        refusal = b.Notes([b.Note("why", said), b.Note("hint", hint, "")])
        heading = b.Heading(run.run, 2, "" if run.run == run.path else run.path)
        return [heading, b.Verdict("refused", words.run_headline(run)), refusal, *more, *_read(run)]
    progress = []
    if run.used is not None:
        what = "of the reward that entropy can buy"
        progress.append(b.Fact("used", run.used, what, "%"))
    if run.drop_per_100_steps is not None:
        what = "nats of entropy, over the last third"
        progress.append(b.Fact("drop per 100 steps", run.drop_per_100_steps, what))
    about = f"{found.n} evaluations, steps {format_step(found.step[0])}–{format_step(found.step[-1])}"
    blocks = law.sections(
        found,
        run,
        b.Heading(run.run, 2, f"{about} · {run.path}"),
        sentences=words.opening(report),
        progress=progress,
        more=[*groups.segment_blocks(run.seams, run.segments, sentences(run.findings, "note")), *more],
    )
    return blocks + _read(run)


def _read(run: RunFit) -> list[b.Block]:
    """What was read, and what was dropped; a terminal shows the most telling facts of a column."""
    notes, brief = [b.Note("file", run.path, "")], []
    for role, choice in (("entropy", run.entropy_column), ("reward", run.reward_column)):
        if choice is not None:
            known = words.meaning(choice.meaning)
            known = f" ({known})" if known else ""
            text = f"column '{choice.column}'{known}, {count(choice.usable, 'usable value')}: {choice.why}"
            notes.append(b.Note(role, text, ""))
            facts = (choice.meaning.kind, choice.meaning.unit, choice.meaning.aggregation)
            telling = ", ".join(fact for fact in facts if fact)
            brief.append(f"{role} '{choice.column}'" + (f" ({telling})" if telling else ""))
    if run.pair is not None:
        notes.append(b.Note("pairing", run.pair, ""))
        brief.append(f"pair {run.pair}")
    # First what was left out while reading and pairing, then by the fit.
    drops = [*sorted(run.dropped.items()), *sorted(run.law.dropped.items() if run.law is not None else ())]
    dropped = "; ".join(f"{reason} ({number})" for reason, number in drops) or "nothing"
    notes += [b.Note("read", "", "; ".join(brief)), b.Note("dropped", dropped, words.drop_words(run))]
    return [
        b.Heading("Read and dropped", name="read"),
        b.Notes(notes + b.labelled("note", run.read_notes, "")),
    ]
