"""A report as Markdown, fit for a step summary or a comment: all runs in a table, then each as there is room.

It is made from the rows of the index; whole documents are taken one at a time, and only as many as fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain

from entropylaw.documents.report import RunReport
from entropylaw.report import fit, reportwords
from entropylaw.report.index_rows import IndexRow, by_name
from entropylaw.report.markdown import MOST_BYTES, escaped_text, fitting, paragraphs, sparkline, table, title
from entropylaw.report.numbers import (
    MISSING,
    count,
    format_interval,
    format_share,
    format_step,
    value_and_interval,
)
from entropylaw.report.printable import markdown_cell
from entropylaw.report.shared import segments_markdown, shared_markdown
from entropylaw.results.groups import SharedFit

_ROOM = 600
"""Bytes kept for the lines that say what is left out."""

_WARNINGS = 20
"""Warnings that are shown; the page shows them all."""

_HEAD = (
    *("run", "verdict", "entropy", "reward", "ceiling", "headroom", "used", "drop per 100 steps"),
    *("forecast", "phases"),
)


def render_rows(
    rows: Iterable[IndexRow],
    sections: Iterable[tuple[RunReport, str]] = (),
    *,
    warnings: Sequence[str] = (),
    figures: Mapping[str, Mapping[str, str]] | None = None,
    shared: Sequence[SharedFit] = (),
) -> str:
    """The Markdown of a report whose documents need not be held.

    Parameters
    ----------
    rows
        One a run, in any order.
    sections
        Runs with the names of their pages; taken one by one until there is no more room.
    warnings
        About files, not runs.
    figures
        Name of a page → caption → address of a figure.
    shared
        What runs have in common.
    """
    named = by_name(rows)
    common = chain.from_iterable(map(shared_markdown, shared))
    told = [escaped_text(warning) for warning in warnings[:_WARNINGS]]
    if len(warnings) > _WARNINGS:
        told.append(f"Left out of this text: {count(len(warnings) - _WARNINGS, 'more warning')}.")
    sentences = paragraphs(*map(escaped_text, reportwords.overall(named)))
    head = "\n".join([*title("Entropy law report", told), *sentences, *common])
    left, lines = MOST_BYTES - _ROOM - len(head.encode()), [*table(_HEAD, map(_cells, named))]
    shown = sum(size <= left for size in accumulate(len(line.encode()) + 1 for line in lines))
    if any(lines[shown:]):
        what = f"{count(sum(map(bool, lines[shown:])), 'more run')} and the sections of all runs"
        where = "the page index.html and the table report.csv hold them all"
        return "\n".join([head, *lines[:shown], "", f"*Left out of this text: {what}; {where}.*", ""])
    left -= len("\n".join(lines[:shown]).encode())
    blocks = ("\n".join(_section(report, (figures or {}).get(slug, {}))) for report, slug in sections)

    def left_out(before: int) -> str:
        return f"the sections of {count(len(named) - before, 'run')}; their pages hold them"

    return "\n".join([head, *lines[:shown], *fitting(blocks, left, left_out)])


def _cells(row: IndexRow) -> tuple[str, ...]:
    law, ahead = row.law, row.ahead
    name, phases = markdown_cell(row.shown), row.phases or MISSING
    if law is None:
        return (name, row.verdict, *[MISSING] * 7, phases)
    # Without the reasons for what is missing: a cell has no room for them.
    used, drop = law.used, law.drop_per_100_steps
    return (
        name,
        row.verdict,
        sparkline(law.entropy.value),
        sparkline(law.reward.value),
        format_interval(law.ceiling),
        format_interval(law.headroom),
        MISSING if used is None or used.value is None else format_share(used),
        MISSING if drop is None or drop.value is None else value_and_interval(drop),
        MISSING if ahead is None else f"{format_interval(ahead.reward)} at step {format_step(ahead.step)}",
        phases,
    )


def _section(report: RunReport, figures: Mapping[str, str]) -> Iterator[str]:
    """What a fit's Markdown has of a run, with the forecast and the phases before what was read."""
    run = report.fit
    yield from fit.run_head(run, reportwords.opening(report), figures)
    if run.law is not None:
        yield from fit.numbers(run)
        yield from fit.rivals(run.law)
        yield from segments_markdown(run)
        yield from paragraphs("### Forecast")
        told = report.forecast
        if told is None:
            why = escaped_text(report.no_forecast or "none was asked for")
            yield from paragraphs(f"There is no forecast: {why}.")
        else:
            steps = zip(told.step, told.reward, told.entropy, told.extrapolated, strict=True)
            yield from table(
                ("step", "reward", "entropy", ""),
                (
                    (
                        format_step(s),
                        format_interval(r),
                        format_interval(h),
                        "extrapolated" if outside else "",
                    )
                    for s, r, h, outside in steps
                ),
            )
        yield from paragraphs(*map(escaped_text, reportwords.forecast_notes(report)))
    yield from paragraphs("### Phases", escaped_text(reportwords.phases_sentence(report.phases)))
    if run.law is not None:
        yield from fit.checks(run.law)
    yield from fit.read(run)
