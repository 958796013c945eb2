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
from entropylaw.report.html import environment
from entropylaw.report.index_rows import MOST_POINTS, NO_CURVES, IndexRow, LawRow, Spark, by_name
from entropylaw.report.numbers import format_interval, format_interval_of_steps, format_number, format_step
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
    views = [_view(row, order, axis) for row, order in zip(named, orders, strict=True)]
    template = environment().get_template("index_page.html.j2")
    return template.render(
        views=views,
        axis=axis,
        sentences=reportwords.overall(named),
        levels=sorted({row.law.level for row in named if row.law is not None}),
        most_points=MOST_POINTS,
        spent=SPENT,
        warnings=warnings,
        files=files or {},
        version=version,
        shared=shared,
    )


def ceiling_axis(rows: Sequence[IndexRow]) -> Axis:
    """An axis for the ceilings and the rewards now of some runs.

    It holds the ceiling of every law that holds, and the rewards now but for the outermost twentieths;
    ceilings that are not to be read, and the ends of intervals, as far as they lie not far off from these.
    Whatever lies beyond is marked by an arrow in its row.
    """
    laws = [row.law for row in rows if row.law is not None]
    holding = [row.law.ceiling for row in rows if row.law is not None and row.readable]
    now = sorted(law.reward_now.value for law in laws if law.reward_now.value is not None)
    cut = len(now) // 20
    core = [*now[cut : len(now) - cut], *(e.value for e in holding if e.value is not None)] or [0.0, 1.0]
    low, high = min(core), max(core)
    widths = sorted(e.high - e.low for e in holding if e.low is not None and e.high is not None) or [0.0]
    reach = max(_REACH * (high - low), widths[len(widths) // 2]) or abs(high) or 1.0
    ends = [x for law in laws for x in (law.ceiling.low, law.ceiling.value, law.ceiling.high)]
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


def _ranks(rows: Sequence[IndexRow], name: str) -> list[int]:
    """Largest first; what is not to be read after what is, and what is not known last."""
    estimates: list[Estimate | None] = [getattr(row.law, name, None) for row in rows]
    values = [None if estimate is None else estimate.value for estimate in estimates]
    keys = [
        (value is None, not row.readable, -(value or 0.0), place)
        for place, (row, value) in enumerate(zip(rows, values, strict=True))
    ]
    places = {key: rank for rank, key in enumerate(sorted(keys))}
    return [places[key] for key in keys]


def _view(row: IndexRow, order: str, axis: Axis) -> dict[str, Any]:
    """What the template needs of a row besides the row itself."""
    law, ahead = row.law, row.ahead
    view = {"row": row, "order": order, "why": _why(row)}
    view["no_phases"] = "no curves" if row.no_phases == NO_CURVES else "not told, see its page"
    if ahead is not None:
        # The step by which the entropy is spent, or the earliest that cannot be excluded.
        low, value, high = format_interval_of_steps(ahead.spent, "?")
        view["spent"] = f"spent by {value} [{low}, {high}]"
        if ahead.spent.value is None:
            view["spent"] = "spent: not foreseen" if ahead.spent.low is None else f"spent: {low} or later"
    if law is not None:
        view["entropy"] = _line(law.entropy, "entropy", " nats", 2)
        view["reward"] = _line(law.reward, "reward", "", 3)
        view["forest"] = _forest(law, axis)
    return view


def _why(row: IndexRow) -> str:
    """What is to be known before the numbers are read; empty where there is nothing."""
    if row.law is None or row.reason is not None:
        verdict = f"{row.headline.removesuffix('.')}: {row.reason}"
    else:
        verdict = row.headline if row.law.rival is not None else ""
    if not row.segments_words:
        return verdict
    return "; ".join(part for part in (verdict.removesuffix("."), row.segments_words) if part)


def _line(spark: Spark, name: str, unit: str, digits: int) -> _Picture:
    """A series as a line between its own least and largest value, with a dot where it stands now."""
    low, high = min(spark.value), max(spark.value)
    first, last = spark.step[0], spark.step[-1]
    across = 96.0 / ((last - first) or 1.0)
    up = 18.0 / ((high - low) or 1.0)
    pairs = zip(spark.step, spark.value, strict=True)
    points = [(2 + (step - first) * across, 20 - (value - low) * up) for step, value in pairs]
    shown = " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
    x, y = points[-1]
    begins, ends = format_number(spark.first, digits), format_number(spark.last, digits)
    return _Picture(
        title=f"{name} from {begins} to {ends}{unit}, steps {format_step(first)} to {format_step(last)}",
        ends=f"{begins} → {ends}",
        marks=Markup(f'<polyline points="{shown}"/><circle cx="{_short(x)}" cy="{_short(y)}" r="2.4"/>'),
    )


def _forest(law: LawRow, axis: Axis) -> _Picture:
    """The ceiling's interval and value, and a bar where the run stands; arrows where they leave the axis."""
    numbers = (law.ceiling.low, law.ceiling.high, law.reward_now.value, law.ceiling.value)
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
    title = f"ceiling {format_interval(law.ceiling)}; reward now {format_interval(law.reward_now)}"
    return _Picture(title + ("; runs out of the axis" if before or beyond else ""), Markup("".join(marks)))


def _short(x: float) -> str:
    """A coordinate to a tenth."""
    return f"{x:.1f}".removesuffix(".0")
