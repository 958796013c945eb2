"""Numbers as text: a value and its interval are rounded together, and nothing is shown that is not known.

Every number is plain ASCII but for the dash of a missing one, so that ``float`` reads back what was shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from entropylaw.report.blocks import Cell, Fact
from entropylaw.results import Estimate
from entropylaw.results.fields import replace

MISSING = "—"
"""Stands for a number that is not there; the reason stands beside it."""

_BLOCKS = "▁▂▃▄▅▆▇█"

LARGEST_PLAIN = 1e6
"""Numbers of this size and above are written with an exponent."""

SMALLEST_PLAIN = 1e-4
"""A quantity whose largest number is smaller than this is written with an exponent."""

ZERO_WIDTH = 1e-7
"""Intervals narrower than this, relative to the number, are rounding errors of logs in single precision."""


class EstimateText(NamedTuple):
    """The three texts of an estimate; :data:`MISSING` where there is no number."""

    value: str
    low: str
    high: str

    @property
    def interval(self) -> str:
        """``[low, high]``, or the dash where neither end is known."""
        if self.low == self.high == MISSING:
            return MISSING
        return f"[{self.low}, {self.high}]"


def format_estimate(estimate: Estimate) -> EstimateText:
    """Value and interval with one number of decimals for all three.

    The interval's half-width gets two significant digits; a half-width of 0.0995 rounds to 0.10 and so
    costs a decimal. An interval with one end is judged by the distance of that end to the value. Without
    an interval the value gets three significant digits. The exponent of very large or very small numbers
    is common to all three, so that they can be compared at a glance.
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    ends = [x for x in (low, high) if x is not None]
    size, width = max((abs(x) for x in (value, *ends) if x is not None), default=0.0), 0.0
    if len(ends) == 2:
        width = ends[1] / 2 - ends[0] / 2
    elif ends and value is not None:
        width = abs(value - ends[0])
    decimals = _decimals(size, 3) if width <= ZERO_WIDTH * size else _decimals(width, 2)
    return EstimateText(*(_fixed(x, decimals, size) for x in (value, low, high)))


def value_and_interval(estimate: Estimate, unit: str = "") -> str:
    """``0.538 [0.474, 0.581]``, with a dash for what is missing."""
    text = format_estimate(estimate)
    return f"{text.value}{unit} {text.interval}"


def format_interval(estimate: Estimate, unit: str = "") -> str:
    """``0.538 [0.474, 0.581]``; what is missing is said with its reason, where one is given."""
    text = format_estimate(estimate)
    reason = f" ({estimate.note})" if estimate.note else ""
    if text.value == MISSING and (unit or text.interval == MISSING):
        return MISSING + reason
    if text.interval == MISSING:
        return f"{text.value}{unit}, without interval{reason}"
    return f"{text.value}{unit} {text.interval}" + (reason if MISSING in text else "")


def format_share(estimate: Estimate) -> str:
    """A share in per cent: ``87 % [81, 93]``; what is missing is said with its reason, where one is given."""
    return format_interval(in_percent(estimate), " %")


def format_interval_of_steps(step: Estimate, unknown: str) -> tuple[str, str, str]:
    """Low end, value and high end of a step that is known with its interval, whole."""
    low, value, high = (
        unknown if x is None else format_step(round(x)) for x in (step.low, step.value, step.high)
    )
    return low, value, high


def in_percent(estimate: Estimate) -> Estimate:
    """A share's value and interval times 100."""
    value, low, high = (None if x is None else 100 * x for x in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high)


def format_number(x: float | None, digits: int = 3) -> str:
    """A number without an interval to ``digits`` significant digits."""
    if x is None:
        return MISSING
    return _fixed(x, _decimals(abs(x), digits), abs(x))


def format_percent(x: float | None) -> str:
    """A share as per cent, to at most one decimal; never 0 % or 100 % unless exactly."""
    if x is None:
        return MISSING
    text = f"{100 * x:.1f}".removesuffix(".0")
    if text == "100" and x < 1:
        return ">99.9 %"
    if text in ("0", "-0") and x > 0:
        return "<0.1 %"
    return f"{text} %"


def format_weight(x: float | None) -> str:
    """A probability to two decimals; never 0 or 1 unless exactly."""
    if x is None:
        return MISSING
    if x in (0, 1):
        return str(int(x))
    text = f"{x:.2f}"
    return {"0.00": "<0.01", "1.00": ">0.99"}.get(text, text)


def count(n: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{n} {noun}" + ("" if n == 1 else "s")


def format_step(x: float | None) -> str:
    """A step: whole where it is whole."""
    if x is None:
        return MISSING
    return str(int(x)) if float(x).is_integer() else f"{x:g}"


def _decimals(size: float, digits: int) -> int:
    """Decimals (negative: left of the point) that give ``size`` so many significant digits, once rounded."""
    if size == 0 or not math.isfinite(size):
        return digits
    exponent = int(f"{size:.{digits - 1}e}".partition("e")[2])
    return digits - 1 - exponent


def _fixed(x: float | None, decimals: int, size: float) -> str:
    """``x`` to so many decimals, with the exponent of ``size`` where that is very large or small."""
    if x is None or not math.isfinite(x):
        return MISSING
    if size == 0 or SMALLEST_PLAIN <= size < LARGEST_PLAIN:
        return _unsigned_zero(f"{round(x, decimals):.{max(decimals, 0)}f}")
    exponent = math.floor(math.log10(size))
    mantissa = x / 10.0**exponent if abs(exponent) < 300 else float(f"{x:e}".partition("e")[0])
    return _unsigned_zero(f"{mantissa:.{max(decimals + exponent, 0)}f}") + f"e{exponent}"


def _unsigned_zero(text: str) -> str:
    """No ``-0.00``: a rounded zero has no sign."""
    return text.removeprefix("-") if not text.strip("-0.") else text


def cell_text(cell: Cell, unit: str = "") -> str:
    """A cell of a table in words: an estimate with its interval, a series as a small line of blocks."""
    if isinstance(cell, Estimate):
        if unit == "step":
            low, value, high = format_interval_of_steps(cell, "not known")
            return f"{value} [{low}, {high}]"
        return format_share(cell) if unit == "%" else format_interval(cell)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, tuple):
        return sparkline(cell)
    if isinstance(cell, str | int):
        return str(cell)
    if unit == "ratio" and cell is not None:
        return f"{cell:.2f}"
    formats = {"%": format_percent, "probability": format_weight, "step": format_step}
    return formats.get(unit, format_number)(cell)


def fact_text(fact: Fact) -> tuple[str, str, str]:
    """The value of a fact, its interval, and what it is with what is to be minded of the number."""
    if not isinstance(fact.value, Estimate):
        return cell_text(fact.value, fact.unit), "", fact.note
    text = format_estimate(in_percent(fact.value) if fact.unit == "%" else fact.value)
    unit = " %" if fact.unit == "%" and text.value != MISSING else ""
    note = "; ".join(part for part in (fact.note, fact.value.note) if part)
    return text.value + unit, text.interval, note


def sparkline(values: Sequence[float], width: int = 12) -> str:
    """A series as blocks between its own least and largest value; each is the mean of a stretch."""
    parts = min(width, len(values))
    edges = [round(i * len(values) / parts) for i in range(parts + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round(top * (mean - low) / ((high - low) or 1.0))] for mean in means)
