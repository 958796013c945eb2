"""The pages of a report: one per run, and an index over one run or a thousand, ordered without any script.

The index is made from rows alone, so that no more than those are held; so is the Markdown with it. Radio
buttons and the ``order`` of grid rows do the ordering; a browser without ``:has`` shows the rows by name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from markupsafe import Markup

from entropylaw import __version__
from entropylaw.documents.document import InputFile, ReportDocument, RunReport
from entropylaw.escaping import one_line
from entropylaw.report import words
from entropylaw.report.blocks import PEOPLE, Column, Fact, Figure, Heading, Table, columns, paragraphs
from entropylaw.report.describe import describe, runs
from entropylaw.report.describe.runs import IndexRow, by_name, index_row
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    MISSING,
    cell_text,
    fact_text,
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_step,
)
from entropylaw.report.render.html import environment, fragment
from entropylaw.report.render.markdown import whole
from entropylaw.results import Estimate, Verdict
from entropylaw.results.phases import PhasesAcross
from entropylaw.run_names import arm_by_pattern, without_seed

WIDTH = 240.0
"""Of the picture of a ceiling, in its own units."""

_EDGE = 12.0


class Neighbour(NamedTuple):
    """The page before this one, or after it: the run's name and its address."""

    run: str
    href: str


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
    blocks, tiles = describe(run), _tiles(run)
    assert isinstance(blocks[0], Heading)
    if tiles:
        # The verdict on the law is the first of them.
        del blocks[1]
    # The files that were read, and the options that were given.
    settings, default = document.settings, type(document.settings)()
    options = f"Level {format_percent(settings.level)}"
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name != "level" and value != getattr(default, field.name):
            given = " ".join(map(str, value)) if isinstance(value, tuple) else value
            options += f", {field.name.replace('_', ' ')} '{given}'"
    written = f"Written by entropylaw {document.version}; document {document.schema}."
    files: list[tuple[str, str, int | None, str]] = [
        (file.path, file.format, file.rows, file.sha256) for file in files_of(document, run)
    ]
    if document.config is not None:
        files.append((document.config.path, "settings", None, document.config.sha256))
    inputs = Table(columns("file format records sha256"), files)
    blocks += [
        *figures_of("tokens", None),
        Heading("Files and settings", name="inputs"),
        inputs if files else paragraphs("No file could be read."),
        paragraphs(f"{options}. {written}"),
    ]
    template = environment().get_template("run_page.html.j2")
    return template.render(
        document=document,
        name=one_line(run.run),
        about=blocks[0].about,
        badge=words.verdict_cell(run.fit),
        tiles=tiles,
        width=f"{WIDTH:g}",
        body=fragment(blocks, figures, links),
        previous=previous,
        following=following,
    )


class Tile(NamedTuple):
    """A number at the top of a page, with a small picture and what is to be known of it."""

    label: str
    value: str
    notes: Sequence[str]
    kind: str = ""
    picture: _Picture | None = None


def _tiles(run: RunReport) -> list[Tile]:
    """The answer at a glance: the verdict, the reward now, the ceiling, what is left, and the forecast."""
    fit, row = run.fit.answer, index_row(run, "")
    if fit is None:
        return []
    reference = [] if row.readable else ["the run lost its reward" if fit.lost else "for reference only"]
    now, ceiling, left = (format_estimate(one) for one in (fit.reward_now, fit.ceiling, fit.headroom))
    ceiling_notes, left_notes = [ceiling.interval], [left.interval, words.p_left(fit)]
    if fit.lost:
        ceiling_notes, left_notes = [], []
    bar = _forest(row, ceiling_axis([row])) if row.readable else None
    tiles = [
        Tile(
            "Verdict on the law",
            fit.verdict,
            [row.chip if row.readable and row.chip else row.headline],
            fit.verdict,
        ),
        Tile("Reward now", now.value, [now.interval, f"at H = {format_number(fit.law.entropy_now)} nats"]),
        Tile("Ceiling, H = 0", ceiling.value, ceiling_notes + reference, picture=bar),
        Tile("Left", left.value, left_notes + reference),
    ]
    if run.forecast is not None:
        ahead = format_estimate(run.forecast.reward[-1])
        at = f"at step {format_step(run.forecast.step[-1])}"
        tiles.append(Tile("Forecast", ahead.value, [ahead.interval, at]))
    return tiles


def files_of(document: ReportDocument, run: RunReport) -> tuple[InputFile, ...]:
    """The files of a document that a run was read from; a run may be joined from several in a folder."""
    if len(document.runs) == 1:
        return document.inputs
    path = run.fit.path
    exact = tuple(file for file in document.inputs if file.path == path)
    return exact or tuple(file for file in document.inputs if file.path.startswith(f"{path}/"))


class Tick(NamedTuple):
    """A number on the axis, at ``x``."""

    x: str
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """The common axis of the ceilings of all rows."""

    low: float
    high: float
    width: str = f"{WIDTH:g}"

    def place(self, x: float) -> float:
        """The coordinate of ``x``; outside of the axis it is outside of the picture."""
        return _EDGE + (x - self.low) / (self.high - self.low) * (WIDTH - 2 * _EDGE)

    @property
    def title(self) -> str:
        """Its text for screen readers."""
        return f"reward from {format_number(self.low)} to {format_number(self.high)}"

    @property
    def ticks(self) -> Sequence[Tick]:
        """Ticks at round numbers, as many as have room; the axis ends where its values do."""
        ticks: list[Tick] = []
        for most in (6, 4, 3, 2, 1):
            least = (self.high - self.low) / most
            power = 10.0 ** math.floor(math.log10(least))
            # The smallest of 1, 2 and 5 times a power of ten that is at least so large.
            step = next(power * m for m in (1, 2, 5, 10) if power * m >= least * (1 - 1e-9))
            at = [i * step for i in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
            plain = [f"{x + 0.0:.{max(0, -math.floor(math.log10(step)))}f}" for x in at]
            labels = [text if len(text) <= 8 else f"{x:.2g}" for x, text in zip(at, plain, strict=True)]
            ticks = [Tick(_short(self.place(x)), label) for x, label in zip(at, labels, strict=True)]
            room = 13.0 * (max(map(len, labels), default=0) + 1)
            if len(at) < 2 or self.place(at[1]) - self.place(at[0]) > room:
                break
        return ticks


class _Picture(NamedTuple):
    """A small picture of a row, its text for screen readers, and the numbers below it."""

    title: str
    marks: Markup
    ends: str = ""


class Group(NamedTuple):
    """The runs of one verdict; ``reasons`` counts why, and one that is ``open`` shows its runs at once."""

    verdict: str
    views: Sequence[Mapping[str, Any]]
    reasons: str
    open: bool


FEW = 20
"""Runs up to which every group of an index is open."""


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
        The address of :func:`entropylaw.report.phases_page.phases_page`, if there is one.
    arms
        A regular expression: runs in whose names it matches the same text (its first group, if it has one)
        are one arm. By default they are the runs whose names differ by a seed.
    """
    named = by_name(rows)
    axis = ceiling_axis(named)
    # The others are with the name, as lines, or with the forecast; or on the page of the run.
    elsewhere = (
        "run",
        "verdict",
        "why",
        "entropy",
        "reward",
        "forecast_step",
        "drop_per_100_steps",
        "phases",
    )
    shown = [column for column in runs.COLUMNS if PEOPLE in column.shown_in and column.key not in elsewhere]
    views = [_view(row, order, axis, shown) for row, order in zip(named, _orders(named), strict=True)]
    template = environment().get_template("index_page.html.j2")
    return template.render(
        runs=len(named),
        groups=_groups(views),
        arms=_arms(named, axis, arms),
        columns=shown,
        axis=axis,
        sentences=runs.overall(named),
        levels=sorted({row.cells["level"] for row in named if row.fitted}),
        most_points=runs.MOST_POINTS,
        few=FEW,
        warnings=warnings,
        skipped=skipped,
        files=files or {},
        phases=phases,
        version=version,
    )


def _groups(views: Sequence[Mapping[str, Any]]) -> list[Group]:
    """The runs by verdict; those that fail are folded away where others do not, in an index of many."""
    groups, first = [], (Verdict.holds, Verdict.undecided)
    no_first = all(view["row"].verdict not in first for view in views)
    for verdict in (*Verdict, "refused"):
        part = [view for view in views if view["row"].verdict == verdict]
        if not part:
            continue
        chips = Counter(view["row"].chip for view in part if view["row"].why or not view["row"].fitted)
        counts = sorted(chips.items(), key=lambda item: (-item[1], item[0]))
        reasons = ", ".join(f"{number} {why}" for why, number in counts)
        groups.append(Group(verdict, part, reasons, verdict in first or no_first or len(views) <= FEW))
    return groups


def _orders(rows: Sequence[IndexRow]) -> list[str]:
    """For each row its place in every order, as custom properties; a tie is broken by name."""
    places = {}
    for name in ("ceiling", "headroom", "used"):
        # Largest first; runs without a relation after the others, and unknown numbers last.
        values = [one.value if one else None for one in (row.estimate(name) for row in rows)]
        keys = [(x is None, not row.readable, -(x or 0.0)) for row, x in zip(rows, values, strict=True)]
        ranked = sorted(range(len(rows)), key=keys.__getitem__)
        places[name[0]] = sorted(range(len(rows)), key=ranked.__getitem__)
    return [";".join(f"--{key}:{ranks[i]}" for key, ranks in places.items()) for i in range(len(rows))]


def arm_of(name: str, arms: str | None) -> str | None:
    """The arm of a run by its name, see :func:`index_page`; None for a run of its own."""
    return without_seed(name) or None if arms is None else arm_by_pattern(name, arms)


class Arm(NamedTuple):
    """Several runs of one arm: how many there are by verdict, their ceilings, and the range of these."""

    name: str
    verdicts: Mapping[str, int]
    picture: _Picture
    ranges: Sequence[str]


def _arms(rows: Sequence[IndexRow], axis: Axis, arms: str | None) -> list[Arm]:
    """The arms of two runs or more."""
    named: dict[str, list[IndexRow]] = {}
    for row in rows:
        if (arm := arm_of(row.run, arms)) is not None:
            named.setdefault(arm, []).append(row)
    made = []
    for arm, part in named.items():
        if len(part) < 2:
            continue
        known = [row for row in part if row.readable]
        title = f"ceilings of {len(known)} runs"
        marks = Markup("").join(_forest(row, axis).marks for row in known)
        ranges = [value_range(part, key) for key in ("reward_now", "ceiling", "headroom")]
        made.append(Arm(one_line(arm), Counter(row.verdict for row in part), _Picture(title, marks), ranges))
    return made


def known_estimates(rows: Sequence[IndexRow], key: str) -> list[Estimate]:
    """The estimates in a column that have a value, of the runs whose numbers are to be used."""
    found = (row.estimate(key) for row in rows if row.readable)
    return [estimate for estimate in found if estimate is not None]


def value_range(rows: Sequence[IndexRow], key: str) -> str:
    """The least and the largest value of a column, ``0.41 to 0.53``."""
    values = [float(estimate) for estimate in known_estimates(rows, key)]
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
    if more := len(warnings) - len(shown):
        shown.append(f"Left out of this text: {more} more warnings; index.html shows them.")
    head = runs.document_head(shown, [{**row.cells, "run": row.shown} for row in named], runs.overall(named))
    head += [] if across is None else [one for one in describe(across) if not isinstance(one, Figure)]
    found = ((describe(report), (figures or {}).get(slug, {})) for report, slug in sections)
    return whole(head, found, len(named), "see their pages")


def ceiling_axis(rows: Sequence[IndexRow]) -> Axis:
    """An axis for the ceilings and the current rewards of some runs.

    It includes the ceilings and the current rewards but for the outermost twentieths of each; others and the
    ends of intervals if they are near. A value beyond has an arrow in its row.
    """

    def inner(key: str) -> list[float]:
        values = sorted(map(float, known_estimates(rows, key)))
        cut = len(values) // 20
        return values[cut : len(values) - cut]

    ceilings = known_estimates(rows, "ceiling")
    core = [*inner("reward_now"), *inner("ceiling")] or [0.0, 1.0]
    low, high = min(core), max(core)
    widths = sorted(one.width for one in ceilings if one.width is not None)
    reach = max(0.6 * (high - low), *widths[len(widths) // 2 :][:1], 0.0) or abs(high) or 1.0
    ends = [end for one in ceilings for end in (one.low, one.value, one.high) if end is not None]
    near = [end for end in ends if low - reach <= end <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    return Axis(low, high) if low < high else Axis(low - reach, high + reach)


def _view(row: IndexRow, order: str, axis: Axis, shown: Sequence[Column]) -> dict[str, Any]:
    """The values that the template needs of a row."""
    cells = [_cell(row, column) for column in shown]
    view: dict[str, Any] = {"row": row, "order": order, "reason": row.chip or row.verdict, "cells": cells}
    if row.series is not None:
        view["entropy"] = _line(row, row.series.entropy, "entropy", " nats", 2)
        view["reward"] = _line(row, row.series.reward, "reward", "", 3)
        view["forest"] = _forest(row, axis)
    return view


def _cell(row: IndexRow, column: Column) -> tuple[str, str]:
    """A cell: its value, and its interval, or why there is none."""
    cell, key = row.cells.get(column.key), column.key
    if not row.readable and key in ("ceiling", "headroom", "p_headroom", "used"):
        reason = "lost reward" if row.lost else row.why
        return "", f"{MISSING} {reason}" if key == "ceiling" else MISSING
    if row.estimate(key) is not None:
        value, interval, _ = fact_text(Fact(key, cell, unit=column.unit))
        return value, "" if interval == MISSING else interval
    if cell is not None and not isinstance(cell, Estimate):
        return cell_text(cell, column.unit), ""
    return "", f"none: {row.no_forecast}" if key == "forecast" else "unknown"


def _line(row: IndexRow, ends: tuple[float, float], key: str, unit: str, digits: int) -> _Picture:
    """A series as a line between its own least and largest value, with a dot at its end."""
    values, steps = row.cells[key], row.series.step if row.series is not None else ()
    assert isinstance(values, tuple)
    low, first, last = min(values), steps[0], steps[-1]
    across, up = 96.0 / ((last - first) or 1.0), 18.0 / ((max(values) - low) or 1.0)
    pairs = zip(steps, values, strict=True)
    points = [(_short(2 + (x - first) * across), _short(20 - (y - low) * up)) for x, y in pairs]
    line, (x, y) = " ".join(map(",".join, points)), points[-1]
    begins, now = (format_number(end, digits) for end in ends)
    return _Picture(
        title=f"{key} from {begins} to {now}{unit}, steps {format_step(first)} to {format_step(last)}",
        ends=f"{begins} → {now}",
        marks=Markup(f'<polyline points="{line}"/><circle cx="{x}" cy="{y}" r="2.4"/>'),
    )


def _forest(row: IndexRow, axis: Axis) -> _Picture:
    """The ceiling's interval and value, and a bar at the current reward; arrows where they leave the axis."""
    ceiling, reward = row.cells["ceiling"], row.cells["reward_now"]
    assert isinstance(ceiling, Estimate)
    assert isinstance(reward, Estimate)
    numbers = (ceiling.low, ceiling.high, reward.value, ceiling.value)
    # An unknown number is nan, which is in no range and beyond none.
    low, high, now, value = (math.nan if x is None else axis.place(x) for x in numbers)
    left, right = (min(max(x, 0.5), WIDTH - 0.5) for x in (low, high))
    marks = [f'<path class="i" d="M{_short(left)} 11H{_short(right)}"/>'] * (left < right)
    drawn = ((now, '<path class="now" d="M{} 4V18"/>'), (value, '<circle cx="{}" cy="11" r="4"/>'))
    marks += [mark.format(_short(x)) for x, mark in drawn if 0 <= x <= WIDTH]
    places = (low, high, now, value)
    before, beyond = any(x < 0 for x in places), any(x > WIDTH for x in places)
    marks += ['<path class="out" d="M0 11l7 -4.5v9z"/>'] * before
    marks += [f'<path class="out" d="M{WIDTH:g} 11l-7 -4.5v9z"/>'] * beyond
    title = f"ceiling {format_interval(ceiling)}; reward now {format_interval(reward)}"
    title += "; beyond the axis" if before or beyond else ""
    return _Picture(title, Markup("".join(marks)))


def _short(x: float) -> str:
    """A coordinate to a tenth."""
    return f"{x:.1f}".removesuffix(".0")
