"""Numbers as text: a value and its interval are rounded together, and an unknown number has no digits.

Every number is plain ASCII but for the dash of a missing one, so that ``float`` reads it back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from entropylaw.report.blocks import Cell, Table
from entropylaw.results import Estimate

MISSING = "—"
"""In place of an unknown number; the reason follows it."""


class EstimateText(NamedTuple):
    """The three texts of an estimate; :data:`MISSING` where there is no number."""

    value: str
    low: str
    high: str

    @property
    def interval(self) -> str:
        """``[low, high]``, or the dash where neither end is known."""
        return MISSING if self.low == self.high == MISSING else f"[{self.low}, {self.high}]"


def format_estimate(estimate: Estimate, unit: str = "", *, finest: float = 0.0) -> EstimateText:
    """Value and interval with one number of decimals for all three; the ``unit`` follows the value.

    With ``"%"`` the estimate is a share, and its numbers are multiplied by 100.

    The interval's half-width gets two significant digits (0.0995 rounds to 0.10 and so costs a decimal); of
    one with one end, the distance of that end to the value. The second digit is left out where it is below
    ``finest``. Without an interval the value gets three. Very large or very small numbers have one exponent
    for all three, so that they can be compared at a glance.
    """
    scale = {"%": 100}.get(unit, 1)
    ends = (estimate.value, estimate.low, estimate.high)
    value, low, high = (None if end is None else scale * end for end in ends)
    numbers = [x for x in (low, value, high) if x is not None]
    size = max(map(abs, numbers), default=0.0)
    width = max(numbers, default=0.0) - min(numbers, default=0.0)
    if low is not None and high is not None:
        width = high / 2 - low / 2
    decimals = _decimals(width, 2)
    if width <= 1e-7 * size:
        # A narrower interval is a rounding error of logs in single precision. No digit before the point is
        # rounded where they are written out.
        decimals = max(_decimals(size, 3), 0) if size < 1e6 else _decimals(size, 3)
    if finest:
        decimals = max(min(decimals, _decimals(finest, 1)), _decimals(width, 1))
    text = EstimateText(*(_fixed(x, decimals, size) for x in (value, low, high)))
    return text if text.value == MISSING else text._replace(value=f"{text.value} {unit}".rstrip())


def value_and_interval(estimate: Estimate, unit: str = "") -> str:
    """``0.538 [0.474, 0.581]``, with a dash for a missing number."""
    text = format_estimate(estimate, unit)
    return f"{text.value} {text.interval}"


def format_interval(estimate: Estimate, unit: str = "") -> str:
    """``0.538 [0.474, 0.581]``; a missing number has its reason, where one is given."""
    text = format_estimate(estimate, unit)
    reason = f" ({estimate.note})" if estimate.note else ""
    if text.value == MISSING and (unit or text.interval == MISSING):
        return MISSING + reason
    if text.interval == MISSING:
        return f"{text.value}, without interval{reason}"
    return f"{text.value} {text.interval}" + (reason if MISSING in text else "")


def format_number(x: float | None, digits: int = 3) -> str:
    """A number without an interval to ``digits`` significant digits."""
    return MISSING if x is None else _fixed(x, _decimals(abs(x), digits), abs(x))


def format_percent(x: float | None) -> str:
    """A share as per cent, to at most one decimal; never 0 % or 100 % unless exactly."""
    if x is None:
        return MISSING
    text = f"{100 * x:.1f}".removesuffix(".0")
    if text == "100" and x < 1:
        return ">99.9 %"
    return "<0.1 %" if text == "0" and x > 0 else f"{text} %"


def format_probability(x: float | None) -> str:
    """A probability to two decimals; never 0 or 1, as an estimate is neither."""
    if x is None:
        return MISSING
    text = f"{x:.2f}"
    return {"0.00": "<0.01", "1.00": ">0.99"}.get(text, text)


def p_words(probability: float) -> str:
    """``P = 0.98``, ``P > 0.99``; below a hundredth with its exponent, ``P = 1.5e-07``."""
    if 0 < probability < 0.01:
        return f"P = {probability:.2g}"
    text = format_probability(min(probability, 0.999))
    return f"P > {text[1:]}" if text.startswith(">") else f"P = {text}"


def odds_words(odds: float) -> str:
    """Odds of one thing to another, to two digits: ``12 to 1``, ``1 to 3.5``."""
    ratio = max(odds, 1.0 / max(odds, 1e-300))
    text = "over a million" if ratio >= 1e6 else f"{float(f'{ratio:.2g}'):,.10g}"
    return f"{text} to 1" if odds >= 1.0 else f"1 to {text}"


def format_step(x: float | None) -> str:
    """A step: whole where it is whole."""
    if x is None:
        return MISSING
    return str(int(x)) if float(x).is_integer() else f"{x:g}"


def format_r_squared(value: float) -> str:
    """R² to two decimals, from 0.995 to three; a fit that is not exact is never 1.00."""
    if value > 0.999:
        return "> 0.999"
    return f"{value:.3f}" if value >= 0.995 else f"{value:.2f}"


def _decimals(size: float, digits: int) -> int:
    """Decimals (negative: left of the point) that give ``size`` so many significant digits, once rounded."""
    if size == 0 or not math.isfinite(size):
        return digits
    return digits - 1 - int(f"{size:.{digits - 1}e}".partition("e")[2])


def _fixed(x: float | None, decimals: int, size: float) -> str:
    """``x`` to so many decimals, with the exponent of ``size`` where that is very large or small.

    A rounded zero has no sign.
    """
    if x is None or not math.isfinite(x):
        return MISSING
    if size == 0 or 1e-4 <= size < 1e6:
        return f"{round(x, decimals):z.{max(decimals, 0)}f}"
    exponent = math.floor(math.log10(size))
    mantissa = x / 10.0**exponent if abs(exponent) < 300 else float(f"{x:e}".partition("e")[0])
    return f"{mantissa:z.{max(decimals + exponent, 0)}f}e{exponent}"


def with_minus(text: str) -> str:
    """A text with minus signs before numbers; exponents such as 1e-7 stay."""
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", text)


def cell_text(cell: Cell, unit: str = "") -> str:
    """A cell of a table in words: an estimate with its interval."""
    if isinstance(cell, Estimate):
        if unit == "step":
            ends = ("not known" if x is None else round(x) for x in (cell.value, cell.low, cell.high))
            return "{} [{}, {}]".format(*ends)
        return format_interval(cell, "%" if unit == "%" else "")
    if isinstance(cell, tuple) and unit == "trace":
        return sparkline(cell)
    if isinstance(cell, str | int):
        return ("no", "yes")[cell] if isinstance(cell, bool) else str(cell)
    return MISSING if cell is None or isinstance(cell, tuple) else _FORMATS.get(unit, format_number)(cell)


_FORMATS: Mapping[str, Callable[[float], str]] = {
    "%": format_percent,
    "probability": format_probability,
    "step": format_step,
}
"""Unit of a column → how its numbers are written."""


BARS = "▁▂▃▅▇"
"""A line of text as a picture of a series, from its least to its largest value."""


def sparkline(values: Sequence[float]) -> str:
    """A series as a line of at most twelve :data:`BARS`, each the mean of neighbouring values."""
    width = min(12, len(values))
    edges = [i * len(values) // width for i in range(width + 1)]
    means = [math.fsum(values[start:stop]) / (stop - start) for start, stop in pairwise(edges)]
    lowest = min(means)
    span = max(means) - lowest
    # A constant series is in the middle.
    heights = [(mean - lowest) / span if span > 0 else 0.5 for mean in means]
    return "".join(BARS[min(int(height * len(BARS)), len(BARS) - 1)] for height in heights)


def row_text(table: Table, row: Sequence[Cell]) -> list[str]:
    """The cells of a row of a table in words."""
    return [cell_text(cell, column.unit) for cell, column in zip(row, table.columns, strict=True)]
