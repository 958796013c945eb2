"""A phases document as Markdown: the runs in one table, then each with its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.phases import PhasesDocument, RunPhases
from entropylaw.report.markdownparts import table, title, whole
from entropylaw.report.numbers import format_percent
from entropylaw.report.phasetext import (
    across_rows,
    all_cautions,
    curves_of,
    dropped_words,
    headline,
    read_words,
    share_words,
    table_rows,
    told_notes,
)
from entropylaw.report.printable import markdown_cell


def render(document: PhasesDocument) -> str:
    """What the runs say together, then every run, as far as a comment on a forge has room for them."""
    return whole(_head(document), document.runs, _run, where="the JSON document holds them all")


def _head(document: PhasesDocument) -> Iterator[str]:
    yield from title("Phases of entropy", [markdown_cell(warning) for warning in document.warnings])
    if document.across is not None:
        yield f"**{document.across.runs} runs together**"
        yield ""
        for label, text in across_rows(document.across):
            yield f"- {label + ': ' if label else ''}{markdown_cell(text)}"
        yield from (f"- {markdown_cell(note)}" for note in document.across.notes)
        yield ""


def _run(run: RunPhases) -> Iterator[str]:
    yield f"## {markdown_cell(run.run)}"
    yield ""
    if run.phases is None:
        reason = (
            f"{run.refusal.message} ({run.refusal.slug})" if run.refusal is not None else "no reason is given"
        )
        yield f"**Not fitted:** {markdown_cell(reason)}"
        yield ""
        return
    yield f"**{markdown_cell(headline(run))}.**"
    yield ""
    curves = curves_of(run)
    yield from table(
        (f"{format_percent(run.phases.level)} intervals, nats", *(name for _, name in curves)),
        ((label, *map(markdown_cell, cells)) for label, cells in table_rows(curves)),
        words=1,
    )
    share = share_words(run.phases, curves)
    yield from (f"- {markdown_cell(sentence)}" for sentence in (share,) if sentence)
    yield from (f"- caution: {markdown_cell(text)}" for text in all_cautions(run))
    yield from (f"- {markdown_cell(text)}" for text in told_notes(run))
    yield f"- file: {markdown_cell(run.path)}"
    yield f"- read: {markdown_cell(read_words(run))}"
    yield f"- dropped: {markdown_cell(dropped_words(run))}"
    yield f"- method: {markdown_cell(curves[0][0].boundary.step.method)}"
    yield ""
