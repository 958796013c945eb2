"""The index of a report: one page over one run or a thousand, one row a run, ordered without any script.

It is made from rows alone, so that no more than those have to be held. Radio buttons and the ``order`` of
grid rows do the ordering; a browser that knows no ``:has`` shows the rows by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from entropylaw._version import __version__
from entropylaw.report import reportwords
from entropylaw.report.blocks import PEOPLE, Column, Fact
from entropylaw.report.describe.groups import shared_blocks
from entropylaw.report.describe.runs import COLUMNS, MOST_POINTS
from entropylaw.report.index_rows import NO_CURVES, IndexRow, by_name
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
from entropylaw.results import Estimate
from entropylaw.results.fields import replace
from entropylaw.results.forecast import SPENT
from entropylaw.results.groups import SharedFit

WIDTH = 240.0
"""Of the picture of a ceiling, in its own units."""

_EDGE = 12.0
_MIDDLE = 11.0
_TICKS = (6, 4, 3, 2, 1)
_LETTER = 9.0
_LONGEST_LABEL = 8
_REACH = 0.6
_ELSEWHERE = ("run", "verdict", "entropy", "reward", "forecast_step")
"""Columns that stand with the name, as lines, or beside the forecast."""

_VERDICTS = ("valid", "with cautions", "law fails", "undecided", "refused")


class Tick(NamedTuple):
    """A number on the axis, at ``x``."""

    x: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The axis that the ceilings of all rows share."""

    low: float
    high: float
    ticks: tuple[Tick, ...]
    title: str
    width: str = f"{WIDTH:g}"

    def place(self, x: float) -> float:
        """Where ``x`` lies; outside of the axis it lies outside of the picture."""
        return _EDGE + (x - self.low) / (self.high - self.low) * (WIDTH - 2 * _EDGE)


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
    places = {"v": [_VERDICTS.index(row.verdict) for row in named]}
    places |= {name[0]: _ranks(named, name) for name in ("ceiling", "headroom", "used")}
    orders = (";".join(f"--{key}:{ranks[i]}" for key, ranks in places.items()) for i in range(len(named)))
    columns = [column for column in COLUMNS if PEOPLE in column.shown_in and column.key not in _ELSEWHERE]
    views = [_view(row, order, axis, columns) for row, order in zip(named, orders, strict=True)]
    levels = {row.cells["level"] for row in named if row.fitted}
    return (
        environment()
        .get_template("index_page.html.j2")
        .render(
            views=views,
            columns=columns,
            axis=axis,
            sentences=reportwords.overall(named),
            levels=sorted(levels),
            most_points=MOST_POINTS,
            spent=SPENT,
            warnings=warnings,
            files=files or {},
            version=version,
            shared=[fragment(shared_blocks(fit, 3), {}) for fit in shared],
        )
    )


def ceiling_axis(rows: Sequence[IndexRow]) -> Axis:
    """An axis for the ceilings and the rewards now of some runs.

    It holds the ceiling of every law that holds, and the rewards now but for the outermost twentieths;
    ceilings that are not to be read, and the ends of intervals, as far as they lie not far off from these.
    Whatever lies beyond is marked by an arrow in its row.
    """
    ceilings = [(row, row.estimate("ceiling")) for row in rows]
    holding = [ceiling for row, ceiling in ceilings if ceiling is not None and row.readable]
    rewards = (row.estimate("reward_now") for row in rows)
    now = sorted(reward.value for reward in rewards if reward is not None and reward.value is not None)
    cut = len(now) // 20
    core = [*now[cut : len(now) - cut], *(e.value for e in holding if e.value is not None)] or [0.0, 1.0]
    low, high = min(core), max(core)
    widths = sorted(e.high - e.low for e in holding if e.low is not None and e.high is not None) or [0.0]
    reach = max(_REACH * (high - low), widths[len(widths) // 2]) or abs(high) or 1.0
    ends = [x for _, one in ceilings if one is not None for x in (one.low, one.value, one.high)]
    near = [x for x in ends if x is not None and low - reach <= x <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    return _axis(low, high) if low < high else _axis(low - reach, high + reach)


def _axis(low: float, high: float) -> Axis:
    """Ticks at round numbers, as many as have room for their labels; the axis ends where its values do."""
    bare = Axis(low=low, high=high, ticks=(), title="")
    ticks: list[Tick] = []
    for most in _TICKS:
        least = (high - low) / most
        power = 10.0 ** math.floor(math.log10(least))
        # The smallest of 1, 2 and 5 times a power of ten that is at least so large.
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= least * (1 - 1e-9))
        at = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        decimals, ticks = max(0, -math.floor(math.log10(step))), []
        for x in at:
            plain = f"{x + 0.0:.{decimals}f}"
            label = plain if len(plain) <= _LONGEST_LABEL else f"{x:.2g}"
            ticks.append(Tick(_short(bare.place(x)), label))
        widest = max((len(tick.label) for tick in ticks), default=0)
        if len(at) < 2 or bare.place(at[1]) - bare.place(at[0]) > _LETTER * (widest + 1):
            break
    return replace(
        bare, ticks=tuple(ticks), title=f"reward from {format_number(low)} to {format_number(high)}"
    )


def _ranks(rows: Sequence[IndexRow], key: str) -> list[int]:
    """Largest first; what is not to be read after what is, and what is not known last."""
    found = [row.estimate(key) for row in rows]
    values = [None if estimate is None else estimate.value for estimate in found]
    keys = [
        (value is None, not row.readable, -(value or 0.0), place)
        for place, (row, value) in enumerate(zip(rows, values, strict=True))
    ]
    places = {key: rank for rank, key in enumerate(sorted(keys))}
    return [places[key] for key in keys]


def _view(row: IndexRow, order: str, axis: Axis, columns: Sequence[Column]) -> dict[str, Any]:
    """What the template needs of a row besides the row itself."""
    view: dict[str, Any] = {"row": row, "order": order, "why": _why(row)}
    if row.series is not None:
        view["entropy"] = _line(row, row.series.entropy, "entropy", " nats", 2)
        view["reward"] = _line(row, row.series.reward, "reward", "", 3)
        view["forest"] = _forest(row, axis)
    view["cells"] = [_cell(row, column) for column in columns]
    return view


def _cell(row: IndexRow, column: Column) -> tuple[str, str, str]:
    """A cell: its value, its interval below it, and what else is to be known; or why there is none."""
    cell, key = row.cells.get(column.key), column.key
    if isinstance(cell, Estimate) and cell.value is not None:
        value, interval, _ = fact_text(Fact(key, cell, unit=column.unit))
        return (
            value,
            "no interval" if interval == MISSING else interval,
            _beside(row) if key == "forecast" else "",
        )
    if cell is not None and not isinstance(cell, Estimate):
        return cell_text(cell, column.unit), "", ""
    if key == "forecast":
        return "", "", f"none: {row.no_forecast}"
    if key == "phases":
        return "", "", "no curves" if row.no_phases == NO_CURVES else "not told, see its page"
    return "", "", "unknown"


def _beside(row: IndexRow) -> str:
    """The step of a forecast, and that by which the entropy is spent or the earliest not excluded."""
    at = f"at step {cell_text(row.cells.get('forecast_step'), 'step')}"
    spent = row.cells.get("spent_by_step")
    if not isinstance(spent, Estimate):
        return at
    low, value, high = format_interval_of_steps(spent, "?")
    if spent.value is None:
        return f"{at}; " + ("spent: not foreseen" if spent.low is None else f"spent: {low} or later")
    return f"{at}; spent by {value} [{low}, {high}]"


def _why(row: IndexRow) -> str:
    """What is to be known before the numbers are read; empty where there is nothing."""
    if not row.readable:
        verdict = f"{row.headline.removesuffix('.')}: {row.reason}"
    else:
        verdict = row.headline if row.rival is not None else ""
    if not row.segments_words:
        return verdict
    return "; ".join(part for part in (verdict.removesuffix("."), row.segments_words) if part)


def _line(row: IndexRow, ends: tuple[float, float], key: str, unit: str, digits: int) -> _Picture:
    """A series as a line between its own least and largest value, with a dot where it stands now."""
    values, steps = row.cells[key], row.series.step if row.series is not None else ()
    assert isinstance(values, tuple)
    low, high = min(values), max(values)
    first, last = steps[0], steps[-1]
    across = 96.0 / ((last - first) or 1.0)
    up = 18.0 / ((high - low) or 1.0)
    pairs = zip(steps, values, strict=True)
    points = [(2 + (step - first) * across, 20 - (value - low) * up) for step, value in pairs]
    shown = " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
    x, y = points[-1]
    begins, now = (format_number(end, digits) for end in ends)
    return _Picture(
        title=f"{key} from {begins} to {now}{unit}, steps {format_step(first)} to {format_step(last)}",
        ends=f"{begins} → {now}",
        marks=Markup(f'<polyline points="{shown}"/><circle cx="{_short(x)}" cy="{_short(y)}" r="2.4"/>'),
    )


def _forest(row: IndexRow, axis: Axis) -> _Picture:
    """The ceiling's interval and value, and a bar where the run stands; arrows where they leave the axis."""
    ceiling, reward = row.cells["ceiling"], row.cells["reward_now"]
    assert isinstance(ceiling, Estimate)
    assert isinstance(reward, Estimate)
    numbers = (ceiling.low, ceiling.high, reward.value, ceiling.value)
    low, high, now, value = (None if x is None else axis.place(x) for x in numbers)
    marks = []
    if low is not None and high is not None:
        left, right = (min(max(x, 0.5), WIDTH - 0.5) for x in (low, high))
        if left < right:
            marks.append(f'<path class="i" d="M{_short(left)} {_MIDDLE:g}H{_short(right)}"/>')
    for place, mark in (
        (now, '<path class="now" d="M{} 4V18"/>'),
        (value, f'<circle cx="{{}}" cy="{_MIDDLE:g}" r="4"/>'),
    ):
        if place is not None and 0 <= place <= WIDTH:
            marks.append(mark.format(_short(place)))
    places = [x for x in (low, high, now, value) if x is not None] or [0.0]
    before, beyond = min(places) < 0, max(places) > WIDTH
    marks += ['<path class="out" d="M0 11l7 -4.5v9z"/>'] * before
    marks += [f'<path class="out" d="M{WIDTH:g} 11l-7 -4.5v9z"/>'] * beyond
    title = f"ceiling {format_interval(ceiling)}; reward now {format_interval(reward)}"
    return _Picture(title + ("; runs out of the axis" if before or beyond else ""), Markup("".join(marks)))


def _short(x: float) -> str:
    """A coordinate to a tenth."""
    return f"{x:.1f}".removesuffix(".0")
