"""A phases document as text, Markdown and CSV: every run, its verdict first, and what they say together."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from entropylaw.documents.phases import PhasesDocument, RunPhases
from entropylaw.report import phasewords as words
from entropylaw.report.csvtable import cells, number
from entropylaw.report.markdown import paragraphs, table, title, whole
from entropylaw.report.numbers import format_percent, format_step
from entropylaw.report.printable import (
    WIDTH,
    csv_text,
    labelled_lines,
    markdown_cell,
    one_line,
    refusal_lines,
)

_LINES, _REASONS = 20, 3
_LABEL, _CELL = 23, 38

ESTIMATES = ("boundary", "width", "slope_before", "slope_after", "rise", "settled", "last")
OF_THE_RUN = ("delta", "after_fall", "share_planning")

COLUMNS = (
    *("run", "path", "verdict", "curve", "entropy_of", "column", "n", "first_step", "last_step"),
    *("p_value", "found", "kind", "boundary_stretches", "boundary_whole"),
    *(f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high")),
    *("detectable", "lag1", "noise"),
    *(f"{name}{end}" for name in OF_THE_RUN for end in ("", "_low", "_high")),
    *("later", "level", "method", "refusal"),
)


def render_text(document: PhasesDocument) -> str:
    """For a terminal: every run in at most 20 lines, then what the runs say together."""
    blocks = ["\n".join(_run_lines(run)) + "\n" for run in document.runs]
    if document.across is not None:
        lines = [f"{document.across.runs} runs together"]
        for label, text in words.across_rows(document.across):
            first, *more = textwrap.wrap(one_line(text), WIDTH - 2 - _LABEL)
            lines.append(f"  {label:<{_LABEL}}{first}".rstrip())
            lines += (" " * (2 + _LABEL) + line for line in more)
        for note in document.across.notes:
            lines += labelled_lines("note", note)
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _run_lines(run: RunPhases) -> list[str]:
    """One block: what it is, the verdict, the numbers, what was read."""
    if run.phases is None:
        return refusal_lines(run)
    curves, share = words.curves_of(run), words.share_words(run)
    verdict = words.headline(run) + words.cautions_counted(run)
    # A row per number, a column per curve: the two curves are there to be compared.
    head = (f"{format_percent(run.phases.level)}, nats", [name for _, name in curves])
    top = [
        f"{one_line(run.run)} · {_extent(curves)} · {one_line(run.path)}",
        *(f"  {line}" for line in words.wrapped(verdict, WIDTH - 2)),
    ]
    for label, row in (head, *words.table_rows(curves)):
        top.append(f"  {label:<{_LABEL}}{' '.join(f'{cell:<{_CELL - 1}}' for cell in row)}".rstrip())
    bottom = [
        *(labelled_lines("share", share) if share else ()),
        *labelled_lines("read", f"{words.read_words(run)}; dropped: {words.dropped_words(run, _REASONS)}"),
    ]
    labelled = [("caution", text) for text in words.all_cautions(run)]
    labelled += [("note", text) for text in words.told_notes(run)]
    return [*top, *_fitting(labelled, _LINES - len(top) - len(bottom)), *bottom]


def _extent(curves: words.Curves) -> str:
    """``101 points, steps 0–200``: of the curves themselves, not of the middles of blocks."""
    points = " and ".join(dict.fromkeys(str(curve.n) for curve, _ in curves))
    blocks = any(curve.first_step < curve.step[0] or curve.step[-1] < curve.last_step for curve, _ in curves)
    first, last = min(curve.first_step for curve, _ in curves), words.last_step(curves)
    steps = f"steps {format_step(first)}–{format_step(last)}"
    return f"{points} {'means of neighbours' if blocks else 'points'}, {steps}"


def _fitting(labelled: Sequence[tuple[str, str]], lines: int) -> list[str]:
    """Whole sentences while they fit into ``lines``, the others counted; of the first caution what fits."""
    shown: list[str] = []
    for i, (label, text) in enumerate(labelled):
        sentence = labelled_lines(label, text)
        more = i + 1 < len(labelled)
        if i == 0 and label == "caution" and len(sentence) + more > lines:
            sentence = sentence[: max(lines - more, 1)]
            sentence[-1] = f"{sentence[-1][: WIDTH - 2]} …"
        elif len(shown) + len(sentence) + more > lines:
            return [*shown, f"  {'':<10} … and {len(labelled) - i} more in the JSON"]
        shown += sentence
    return shown


def render_markdown(document: PhasesDocument) -> str:
    """What the runs say together, then every run, as far as a comment on a forge has room for them."""
    return whole(_head(document), document.runs, _section, where="the JSON document holds them all")


def _head(document: PhasesDocument) -> Iterator[str]:
    yield from title("Phases of entropy", [markdown_cell(warning) for warning in document.warnings])
    if document.across is not None:
        yield from paragraphs(f"**{document.across.runs} runs together**")
        for label, text in words.across_rows(document.across):
            yield f"- {label + ': ' if label else ''}{markdown_cell(text)}"
        yield from (f"- {markdown_cell(note)}" for note in document.across.notes)
        yield ""


def _section(run: RunPhases) -> Iterator[str]:
    yield from paragraphs(f"## {markdown_cell(run.run)}")
    if run.phases is None:
        known = run.refusal
        reason = f"{known.message} ({known.slug})" if known is not None else "no reason is given"
        yield from paragraphs(f"**Not fitted:** {markdown_cell(reason)}")
        return
    yield from paragraphs(f"**{markdown_cell(words.headline(run))}.**")
    curves = words.curves_of(run)
    yield from table(
        (f"{format_percent(run.phases.level)} intervals, nats", *(name for _, name in curves)),
        ((label, *map(markdown_cell, row)) for label, row in words.table_rows(curves)),
        words=1,
    )
    share = words.share_words(run)
    facts = [share] if share else []
    facts += [f"caution: {text}" for text in words.all_cautions(run)]
    facts += words.told_notes(run)
    facts += [f"file: {run.path}", f"read: {words.read_words(run)}", f"dropped: {words.dropped_words(run)}"]
    facts += [f"method: {curves[0][0].boundary.step.method}"]
    yield from (f"- {markdown_cell(fact)}" for fact in facts)
    yield ""


def render_csv(document: PhasesDocument) -> str:
    """One row per curve, full precision. Empty cells are numbers that are not known.

    ``refusal`` holds the error's slug; ``entropy_of`` says whether the curve is token entropy or semantic
    entropy; ``boundary_stretches`` holds the most probable steps, as ``30:55 120:160``, and ``boundary_low``
    and ``boundary_high`` the ends of them all.
    """
    return csv_text(COLUMNS, (row for run in document.runs for row in _csv_rows(run)))


def _csv_rows(run: RunPhases) -> Iterator[dict[str, str]]:
    base = {"run": run.run, "path": run.path}
    phases = run.phases
    if phases is None:
        yield base | {"refusal": run.refusal.slug if run.refusal is not None else ""}
        return
    base |= {"verdict": phases.verdict or "", "later": number(phases.later), "level": repr(phases.level)}
    for name in OF_THE_RUN:
        base |= cells(name, getattr(phases, name))
    for curve, column in words.fitted_curves(run):
        read = {"entropy_of": column.what, "column": column.column} if column else {}
        boundary = curve.boundary
        row = {
            "curve": curve.name,
            "n": str(curve.n),
            "found": str(curve.found).lower(),
            "kind": curve.kind or "",
            "boundary_stretches": " ".join(f"{low:g}:{high:g}" for low, high in boundary.intervals),
            "boundary_whole": str(boundary.whole).lower(),
            "method": boundary.step.method,
        }
        for name in ("p_value", "first_step", "last_step", "detectable", "lag1", "noise"):
            row[name] = number(getattr(curve, name))
        place = {"boundary": boundary.step, "width": boundary.width}
        for name in ESTIMATES:
            row |= cells(name, place.get(name) or getattr(curve, name))
        yield base | read | row
