"""The index of a report: one page over one run or a thousand, one row a run, ordered without any script.

It is made from rows alone, so that no more than those have to be held; so is the Markdown beside it. Radio
buttons and the ``order`` of grid rows do the ordering; a browser that knows no ``:has`` shows the rows by
name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from entropylaw._version import __version__
from entropylaw.documents.report import RunReport
from entropylaw.report.blocks import PEOPLE, Column, Fact
from entropylaw.report.describe import describe
from entropylaw.report.describe.fit import document_head
from entropylaw.report.describe.groups import shared_blocks
from entropylaw.report.describe.runs import COLUMNS, MOST_POINTS
from entropylaw.report.index_rows import NO_CURVES, IndexRow, by_name, overall
from entropylaw.report.numbers import (
    MISSING,
    cell_text,
    fact_text,
    format_interval,
    format_interval_of_steps,
    format_number,
    format_step,
)
from entropylaw.report.render.html import environment, fragment
from entropylaw.report.render.markdown import whole
from entropylaw.results import Estimate
from entropylaw.results.forecast import SPENT
from entropylaw.results.groups import SharedFit

WIDTH = 240.0
"""Of the picture of a ceiling, in its own units."""

_EDGE = 12.0


class Tick(NamedTuple):
    """A number on the axis, at ``x``."""

    x: str
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis that the ceilings of all rows share."""

    low: float
    high: float
    width: str = f"{WIDTH:g}"

    def place(self, x: float) -> float:
        """Where ``x`` lies; outside of the axis it lies outside of the picture."""
        return _EDGE + (x - self.low) / (self.high - self.low) * (WIDTH - 2 * _EDGE)

    @property
    def title(self) -> str:
        """What it shows, for those who do not see it."""
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
            room = 9.0 * (max(map(len, labels), default=0) + 1)
            if len(at) < 2 or self.place(at[1]) - self.place(at[0]) > room:
                break
        return ticks


class _Picture(NamedTuple):
    """A small picture of a row, what it shows for those who do not see it, and the numbers below it."""

    title: str
    marks: Markup
    ends: str = ""


def render(
    rows: Iterable[IndexRow],
    *,
    warnings: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    version: str = __version__,
    shared: Sequence[SharedFit] = (),
) -> str:
    """The page.

    Parameters
    ----------
    rows
        One a run, in any order.
    warnings
        About files, not runs.
    files
        Label → address of what else the report has, relative to the page.
    version
        The one that wrote the report.
    shared
        What runs have in common.
    """
    named = by_name(rows)
    axis = ceiling_axis(named)
    # For each row its place in every order, as custom properties; a tie is broken by name.
    verdicts = ("valid", "with cautions", "law fails", "undecided", "refused")
    places = {"v": [verdicts.index(row.verdict) for row in named]}
    for name in ("ceiling", "headroom", "used"):
        # Largest first; what is not to be read after what is, and what is not known last.
        found = ((row, one and one.value) for row, one in ((row, row.estimate(name)) for row in named))
        keys = [(x is None, not row.readable, -(x or 0.0)) for row, x in found]
        ranked = sorted(range(len(named)), key=keys.__getitem__)
        places[name[0]] = sorted(range(len(named)), key=ranked.__getitem__)
    orders = (";".join(f"--{key}:{ranks[i]}" for key, ranks in places.items()) for i in range(len(named)))
    # The others stand with the name, as lines, or beside the forecast.
    elsewhere = ("run", "verdict", "entropy", "reward", "forecast_step")
    columns = [column for column in COLUMNS if PEOPLE in column.shown_in and column.key not in elsewhere]
    template = environment().get_template("index_page.html.j2")
    return template.render(
        views=[_view(row, order, axis, columns) for row, order in zip(named, orders, strict=True)],
        columns=columns,
        axis=axis,
        sentences=overall(named),
        levels=sorted({row.cells["level"] for row in named if row.fitted}),
        most_points=MOST_POINTS,
        spent=SPENT,
        warnings=warnings,
        files=files or {},
        version=version,
        shared=[fragment(shared_blocks(fit, 3), {}) for fit in shared],
    )


def markdown(
    rows: Iterable[IndexRow],
    sections: Iterable[tuple[RunReport, str]] = (),
    *,
    warnings: Sequence[str] = (),
    figures: Mapping[str, Mapping[str, str]] | None = None,
    shared: Sequence[SharedFit] = (),
) -> str:
    """The Markdown of a report whose documents need not be held.

    ``rows``, ``warnings`` (twenty are shown) and ``shared`` are as in :func:`render`; ``sections`` are runs
    with the names of their pages, taken one by one until there is no more room; ``figures`` maps the name of
    a page to the names of its figures and their addresses.
    """
    named, shown = by_name(rows), list(warnings[:20])
    if more := len(warnings) - len(shown):
        shown.append(f"Left out of this text: {more} more warnings; index.html shows them.")
    head = document_head(shown, [{**row.cells, "run": row.shown} for row in named], shared, overall(named))
    found = ((describe(report), (figures or {}).get(slug, {})) for report, slug in sections)
    return whole(head, found, len(named), "their pages hold them")


def ceiling_axis(rows: Sequence[IndexRow]) -> Axis:
    """An axis for the ceilings and the rewards now of some runs.

    It holds the ceiling of every law that holds, and the rewards now but for the outermost twentieths; other
    ceilings and the ends of intervals if they lie not far off. What lies beyond has an arrow in its row.
    """
    ceilings = [(row, row.estimate("ceiling")) for row in rows]
    holding = [ceiling for row, ceiling in ceilings if ceiling is not None and row.readable]
    rewards = (row.estimate("reward_now") for row in rows)
    now = sorted(reward.value for reward in rewards if reward is not None and reward.value is not None)
    cut = len(now) // 20
    core = [*now[cut : len(now) - cut], *(e.value for e in holding if e.value is not None)] or [0.0, 1.0]
    low, high = min(core), max(core)
    widths = sorted(e.high - e.low for e in holding if e.low is not None and e.high is not None) or [0.0]
    reach = max(0.6 * (high - low), widths[len(widths) // 2]) or abs(high) or 1.0
    ends = [x for _, one in ceilings if one is not None for x in (one.low, one.value, one.high)]
    near = [x for x in ends if x is not None and low - reach <= x <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    return Axis(low, high) if low < high else Axis(low - reach, high + reach)


def _view(row: IndexRow, order: str, axis: Axis, columns: Sequence[Column]) -> dict[str, Any]:
    """What the template needs of a row besides the row itself."""
    # What is to be known before the numbers are read; empty where there is nothing.
    why = row.headline if row.rival is not None else ""
    if not row.readable:
        why = f"{row.headline.removesuffix('.')}: {row.reason}"
    if row.segments_words:
        why = "; ".join(filter(None, (why.removesuffix("."), row.segments_words)))
    cells = [_cell(row, column) for column in columns]
    view: dict[str, Any] = {"row": row, "order": order, "why": why, "cells": cells}
    if row.series is not None:
        view["entropy"] = _line(row, row.series.entropy, "entropy", " nats", 2)
        view["reward"] = _line(row, row.series.reward, "reward", "", 3)
        view["forest"] = _forest(row, axis)
    return view


def _cell(row: IndexRow, column: Column) -> tuple[str, str, str]:
    """A cell: its value, its interval below it, and what else is to be known; or why there is none."""
    cell, key = row.cells.get(column.key), column.key
    if isinstance(cell, Estimate) and cell.value is not None:
        value, interval, _ = fact_text(Fact(key, cell, unit=column.unit))
        beside = f"at step {cell_text(row.cells.get('forecast_step'), 'step')}" if key == "forecast" else ""
        spent = row.cells.get("spent_by_step")
        if beside and isinstance(spent, Estimate):
            # The step by which the entropy is spent, or the earliest not excluded.
            low, by, high = format_interval_of_steps(spent, "?")
            earliest = "not foreseen" if spent.low is None else f"{low} or later"
            beside += f"; spent: {earliest}" if spent.value is None else f"; spent by {by} [{low}, {high}]"
        return value, "no interval" if interval == MISSING else interval, beside
    if cell is not None and not isinstance(cell, Estimate):
        return cell_text(cell, column.unit), "", ""
    no_phases = "no curves" if row.no_phases == NO_CURVES else "not told, see its page"
    missing = {"forecast": f"none: {row.no_forecast}", "phases": no_phases}
    return "", "", missing.get(key, "unknown")


def _line(row: IndexRow, ends: tuple[float, float], key: str, unit: str, digits: int) -> _Picture:
    """A series as a line between its own least and largest value, with a dot where it stands now."""
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
    """The ceiling's interval and value, and a bar where the run stands; arrows where they leave the axis."""
    ceiling, reward = row.cells["ceiling"], row.cells["reward_now"]
    assert isinstance(ceiling, Estimate)
    assert isinstance(reward, Estimate)
    numbers = (ceiling.low, ceiling.high, reward.value, ceiling.value)
    low, high, now, value = (None if x is None else axis.place(x) for x in numbers)
    left, right = (min(max(x or 0.0, 0.5), WIDTH - 0.5) for x in (low, high))
    interval = low is not None and high is not None and left < right
    marks = [f'<path class="i" d="M{_short(left)} 11H{_short(right)}"/>'] * interval
    drawn = ((now, '<path class="now" d="M{} 4V18"/>'), (value, '<circle cx="{}" cy="11" r="4"/>'))
    marks += [mark.format(_short(x)) for x, mark in drawn if x is not None and 0 <= x <= WIDTH]
    places = [x for x in (low, high, now, value) if x is not None] or [0.0]
    before, beyond = min(places) < 0, max(places) > WIDTH
    marks += ['<path class="out" d="M0 11l7 -4.5v9z"/>'] * before
    marks += [f'<path class="out" d="M{WIDTH:g} 11l-7 -4.5v9z"/>'] * beyond
    title = f"ceiling {format_interval(ceiling)}; reward now {format_interval(reward)}"
    return _Picture(title + ("; runs out of the axis" if before or beyond else ""), Markup("".join(marks)))


def _short(x: float) -> str:
    """A coordinate to a tenth."""
    return f"{x:.1f}".removesuffix(".0")
