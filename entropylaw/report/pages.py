"""The pages of a report: one per run, the index over one run or a thousand, and that of a single result.

A page is blocks in one shell, ``page.html.j2``. The index is made from rows alone, so that no more than
those are held; so is the Markdown with it. Its rows are complete without the script that orders them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from entropylaw.documents.document import InputFile, ReportDocument, RunReport
from entropylaw.escaping import counted, one_line
from entropylaw.report import words
from entropylaw.report.blocks import (
    HOLDS,
    PEOPLE,
    Block,
    Column,
    Figure,
    Heading,
    RunsTable,
    Table,
    Trace,
    Verdict,
    columns,
    paragraphs,
)
from entropylaw.report.describe import describe, runs
from entropylaw.report.describe.runs import IndexRow, by_name, index_row
from entropylaw.report.figures import drawn, figures_of
from entropylaw.report.numbers import MISSING, format_estimate, format_number, format_percent, format_step
from entropylaw.report.render.html import environment, fragment
from entropylaw.report.render.markdown import whole
from entropylaw.results import Estimate
from entropylaw.results import Verdict as LawVerdict
from entropylaw.results.phases import PhasesAcross
from entropylaw.run_names import arm_by_pattern, without_seed
from entropylaw.version import __version__

FEW = 20
"""Runs up to which every group of an index is open."""

ORDERS = {"name": "name", "ceiling": "ceiling", "headroom": "what is left", "used": "share reached"}
"""Column by which the rows of an index can be ordered → how it is named."""

_NOT_IN_ROWS = ("run", "verdict", "why", "entropy", "reward", "forecast_step", "drop_per_100_steps", "phases")
"""Columns for people that are with the name or the lines of a row, or on the page of the run."""


class Neighbour(NamedTuple):
    """The page before this one, or after it: the run's name and its address."""

    run: str
    href: str


class Tile(NamedTuple):
    """A number at the top of a page, and what is to be known of it."""

    label: str
    value: str
    notes: Sequence[str]
    verdict: str = ""


def _page(title: str, heading: str, body: str, **parts: Any) -> str:
    """A page in the shell; ``parts`` are those beside its body, as the template names them."""
    empty = dict.fromkeys(("home", "about", "kicker", "phases", "following", "previous"), "")
    lists = dict.fromkeys(("summary", "warnings", "tiles", "orders", "skipped", "links"), ())
    values = {
        "title": title,
        "heading": heading,
        "body": body,
        "reading": "",
        "files": {},
        "written": True,
        "version": __version__,
    }
    return environment().get_template("page.html.j2").render(empty | lists | values | parts)


def run_page(
    document: ReportDocument,
    run: RunReport,
    figures: Mapping[str, str],
    links: Mapping[str, Sequence[str]] | None = None,
    *,
    previous: Neighbour | None = None,
    following: Neighbour | None = None,
) -> str:
    """The page of a run.

    Parameters
    ----------
    document
        The report of the run, for its files and settings; it may have this run alone.
    run
        The run.
    figures
        Name (of :data:`~entropylaw.report.figures.FIGURES`) → SVG as text; others are left out.
    links
        Name of a figure → addresses of its files, relative to the page.
    previous, following
        The neighbours in the index; None at an end, or where they are unknown.
    """
    heading, *blocks = describe(run)
    assert isinstance(heading, Heading)
    tiles = _tiles(run)
    if tiles:
        # The verdict on the law is the first of them.
        del blocks[0]
    blocks += [*figures_of("tokens", None), Heading("Files and settings", name="inputs")]
    blocks += _inputs(document, run)
    return _page(
        f"{one_line(run.run)}: {words.verdict_cell(run.fit)} — Entropy law report",
        run.run,
        fragment([heading, *blocks], figures, links),
        home="../index.html",
        previous=previous,
        following=following,
        about=heading.about,
        warnings=document.warnings,
        tiles=tiles,
        written=False,
    )


def _inputs(document: ReportDocument, run: RunReport) -> list[Block]:
    """The files that were read, and the options that were given."""
    settings, default = document.settings, type(document.settings)()
    options = f"Level {format_percent(settings.level)}, interval '{settings.interval}'"
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name in ("level", "interval") or value == getattr(default, field.name):
            continue
        text = " ".join(map(str, value)) if isinstance(value, tuple) else value
        options += f", {field.name.replace('_', ' ')} '{text}'"
    written = f"Written by entropylaw {document.version}; document {document.schema}."
    files: list[tuple[str, str, int | None, str]] = [
        (file.path, file.format, file.rows, file.sha256) for file in files_of(document, run)
    ]
    if document.config is not None:
        files.append((document.config.path, "settings", None, document.config.sha256))
    inputs = Table(columns("file", "format", "records", "sha256"), files)
    return [inputs if files else paragraphs("No file could be read."), paragraphs(f"{options}. {written}")]


def files_of(document: ReportDocument, run: RunReport) -> tuple[InputFile, ...]:
    """The files of a document that a run was read from; a run may be joined from several in a folder."""
    if len(document.runs) == 1:
        return document.inputs
    path = run.fit.path
    exact = tuple(file for file in document.inputs if file.path == path)
    return exact or tuple(file for file in document.inputs if file.path.startswith(f"{path}/"))


def _tiles(run: RunReport) -> list[Tile]:
    """The answer at a glance: the verdict, the reward now, the ceiling, what is left, and the forecast."""
    fit, row = run.fit.answer, index_row(run, "")
    if fit is None:
        return []
    now, ceiling, left = map(format_estimate, (fit.reward_now, fit.ceiling, fit.headroom))
    ceiling_notes, left_notes = [ceiling.interval], [left.interval, words.p_left(fit)]
    if fit.lost:
        ceiling_notes, left_notes = ["the run lost its reward"], ["the run lost its reward"]
    elif not row.readable:
        ceiling_notes.append("for reference only")
        left_notes.append("for reference only")
    reason = row.chip if row.readable and row.chip else row.headline
    tiles = [
        Tile("Verdict on the law", fit.verdict, [reason], fit.verdict),
        Tile("Reward now", now.value, [now.interval, f"at H = {format_number(fit.law.entropy_now)} nats"]),
        Tile("Ceiling, H = 0", ceiling.value, ceiling_notes),
        Tile("Left", left.value, left_notes),
    ]
    if run.forecast is not None:
        ahead = format_estimate(run.forecast.reward[-1])
        step = f"at step {format_step(run.forecast.step[-1])}"
        tiles.append(Tile("Forecast", ahead.value, [ahead.interval, step]))
    return tiles


def single_page(
    result: Any, title: str = "", heading: str = "", links: Sequence[Neighbour] = (), *, index: str = ""
) -> str:
    """The page of a result, with links to the pages of its runs and to an index of them.

    Without a ``heading`` it is the first one of the description. A figure that has nothing to draw is left
    out.
    """
    blocks = describe(result)
    first = next((block.text for block in blocks if isinstance(block, Heading)), "")
    title = one_line(title or f"{first} — Entropy law report")
    return _page(title, heading or first, fragment(blocks, drawn(blocks)), home=index, links=links)


def phases_page(across: PhasesAcross, slugs: Mapping[str, str]) -> str:
    """The page of the phases of several runs; ``slugs`` maps the name of a run to that of its own page."""
    links = [Neighbour(run.run, f"runs/{slugs[run.run]}.html") for run in across.each if run.run in slugs]
    title = f"Phases of {across.runs} runs — Entropy law report"
    return single_page(across, title, "Phases of planning and execution", links, index="index.html")


def index_page(
    rows: Iterable[IndexRow],
    *,
    warnings: Sequence[str] = (),
    skipped: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    version: str = __version__,
    phases: str | None = None,
    arms: str | None = None,
) -> str:
    """The index of a report.

    Parameters
    ----------
    rows
        One per run, in any order.
    warnings, skipped
        About the report, shown at its top; about files, shown at its end.
    files
        Label → address of the other files of the report, relative to the page.
    version
        The one that wrote the report.
    phases
        The address of :func:`phases_page`, if there is one.
    arms
        A regular expression: runs in whose names it matches the same text (its first group, if it has one)
        are one arm. By default they are the runs whose names differ by a seed.
    """
    named = by_name(rows)
    blocks = _ceilings(named, arms)
    count = counted(len(named), "run")
    return _page(
        f"Entropy law report: {count}",
        count,
        fragment(blocks, drawn(blocks)),
        kicker="Entropy law report",
        summary=runs.overall(named),
        phases=phases or "",
        warnings=warnings,
        orders=ORDERS if named else {},
        groups=fragment(_groups(named), {}),
        reading=_reading(named) if named else "",
        skipped=skipped,
        files=files or {},
        version=version,
    )


def arm_of(name: str, arms: str | None) -> str | None:
    """The arm of a run by its name, see :func:`index_page`; None for a run of its own."""
    return without_seed(name) or None if arms is None else arm_by_pattern(name, arms)


def _ceilings(rows: Sequence[IndexRow], arms: str | None) -> list[Block]:
    """The figure of all ceilings, and a table of the arms of two runs or more."""
    members: dict[str, list[IndexRow]] = {}
    readable: dict[str, list[IndexRow]] = {}
    for row in rows:
        arm = arm_of(row.run, arms) or row.run
        members.setdefault(arm, []).append(row)
        if row.readable:
            readable.setdefault(one_line(arm), []).append(row)
    figure = figures_of("rows", readable)
    several = {arm: of_arm for arm, of_arm in members.items() if len(of_arm) > 1}
    if several:
        return [Heading("Arms", name="arms"), *figure, _arms(several)]
    if sum(map(len, readable.values())) > 1:
        return [Heading("Ceilings", name="ceilings"), *figure]
    return []


def _arms(arms: Mapping[str, Sequence[IndexRow]]) -> RunsTable:
    """A row per arm: how many of its runs have which verdict, and the ranges of their numbers."""
    cells: list[list[Any]] = []
    for name, rows in arms.items():
        verdicts = Counter(row.verdict for row in rows).items()
        badges = [Verdict(f"{number} {verdict}", "", HOLDS.get(verdict)) for verdict, number in verdicts]
        ranges = [value_range(rows, key) for key in ("reward_now", "ceiling", "headroom")]
        cells.append([one_line(name), badges, *ranges])
    title = f"{counted(len(arms), 'arm')} of several runs"
    heads = columns("arm", "verdicts", "reward now", "ceiling", "left")
    return RunsTable(heads, cells, title=title, open=len(arms) <= FEW)


def _groups(rows: Sequence[IndexRow]) -> list[Block]:
    """The runs by verdict; those that fail are folded away where others do not, in an index of many."""
    groups: dict[str, list[IndexRow]] = {verdict: [] for verdict in (*LawVerdict, "refused")}
    for row in rows:
        groups[row.verdict].append(row)
    all_open = len(rows) <= FEW or not (groups["holds"] or groups["undecided"])
    tables: list[Block] = []
    for verdict, members in groups.items():
        if members:
            is_open = all_open or verdict in (LawVerdict.holds, LawVerdict.undecided)
            tables.append(_group(verdict, members, is_open=is_open))
    return tables


def _group(verdict: str, rows: Sequence[IndexRow], *, is_open: bool) -> RunsTable:
    """The runs of one verdict, with the number of runs by reason."""
    reasons = Counter(row.chip for row in rows if row.why or not row.fitted)
    counts = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return RunsTable(
        *_cells(rows),
        badge=Verdict(verdict, "", HOLDS.get(verdict)),
        title=counted(len(rows), "run"),
        note=", ".join(f"{number} {reason}" for reason, number in counts),
        open=is_open,
        links=[f"runs/{row.slug}.html" for row in rows],
    )


def _cells(rows: Sequence[IndexRow]) -> tuple[list[Column], list[list[Any]]]:
    """The columns and the rows of the runs of one verdict; a refused run has its reason alone."""
    if not rows[0].fitted:
        return [*columns("run", "why", "reason")], [[row.shown, _reason(row), row.headline] for row in rows]
    shown = [
        column for column in runs.COLUMNS if PEOPLE in column.shown_in and column.key not in _NOT_IN_ROWS
    ]
    heads = [*columns("run", "why", "entropy", "reward"), *shown]
    cells = []
    for row in rows:
        assert row.series is not None
        entropy = _trace(row, "entropy", row.series.entropy, " nats", 2)
        reward = _trace(row, "reward", row.series.reward, "", 3)
        cells.append([row.shown, _reason(row), entropy, reward, *(_cell(row, column) for column in shown)])
    return heads, cells


def _reason(row: IndexRow) -> list[Verdict]:
    """Why the verdict is what it is, and the level shifts and segments."""
    badges = [Verdict(row.chip or row.verdict, row.headline, HOLDS.get(row.verdict))]
    return badges + ([Verdict("", row.segments_words)] if row.segments_words else [])


def _trace(row: IndexRow, key: str, ends: tuple[float, float], unit: str, digits: int) -> Trace:
    """The line of a series; ``ends`` are its first and its last value as logged."""
    assert row.series is not None
    steps, values = row.series.step, row.cells[key]
    assert isinstance(values, tuple)
    first, last = (format_number(end, digits) for end in ends)
    title = f"{key} from {first} to {last}{unit}, steps {format_step(steps[0])} to {format_step(steps[-1])}"
    return Trace(key, title, f"{first} → {last}{unit}", steps, values)


def _cell(row: IndexRow, column: Column) -> Any:
    """A cell of a fitted run, or in words why there is none."""
    cell, key = row.cells.get(column.key), column.key
    if not row.readable and key in ("ceiling", "headroom", "p_headroom", "used"):
        reason = "lost reward" if row.lost else row.why
        return f"{MISSING} {reason}" if key == "ceiling" else MISSING
    if row.estimate(key) is not None or (cell is not None and not isinstance(cell, Estimate)):
        return cell
    return f"none: {row.no_forecast}" if key == "forecast" else "unknown"


def _reading(rows: Sequence[IndexRow]) -> str:
    """How the rows are read."""
    levels = sorted({float(str(row.cells["level"])) for row in rows if row.fitted})
    intervals = (
        f"Intervals in brackets are of {' and '.join(map(format_percent, levels))}. " if levels else ""
    )
    return (
        f"{intervals}Ceiling, what is left and the share reached are averaged over the functional forms by "
        "their probabilities, whatever the verdict on the law; where reward does not follow entropy, or was "
        "lost, there are none. A line of entropy or reward runs between its own least and largest value; "
        f"with more than {runs.MOST_POINTS} evaluations, each point is the mean of neighbours. Share reached "
        "is that of the gain between the curve at the first entropy and at H = 0. In an order by a number "
        "the largest is first. The forecast is of the reward after half as many steps again. Phases, the "
        "recent fall of entropy and when it will be spent are on the pages of the runs and in the CSV."
    )


def value_range(rows: Sequence[IndexRow], key: str) -> str:
    """The least and the largest value of a column in the runs that are to be read, ``0.41 to 0.53``."""
    estimates = [row.estimate(key) for row in rows if row.readable]
    values = [float(estimate) for estimate in estimates if estimate is not None]
    ends = dict.fromkeys(map(format_number, (min(values), max(values)))) if values else ()
    return " to ".join(ends) or MISSING


def markdown(
    rows: Iterable[IndexRow],
    sections: Iterable[tuple[RunReport, str]] = (),
    *,
    warnings: Sequence[str] = (),
    figures: Mapping[str, Mapping[str, str]] | None = None,
    across: PhasesAcross | None = None,
) -> str:
    """The Markdown of a report whose documents need not be held.

    ``rows`` and ``warnings`` (twenty are shown) are as in :func:`index_page`; ``across`` has the
    phases of several runs; ``sections`` are
    runs with the names of their pages, taken one by one while there is room; ``figures`` maps the name of a
    page to the names of its figures and their addresses.
    """
    named, shown = by_name(rows), list(warnings[:20])
    if len(warnings) > len(shown):
        left_out = len(warnings) - len(shown)
        shown.append(f"Left out of this text: {left_out} more warnings; index.html shows them.")
    head = runs.document_head(shown, [{**row.cells, "run": row.shown} for row in named], runs.overall(named))
    if across is not None:
        head += [block for block in describe(across) if not isinstance(block, Figure)]
    parts = ((describe(report), (figures or {}).get(slug, {})) for report, slug in sections)
    return whole(head, parts, len(named), "see their pages")
