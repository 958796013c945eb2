"""Numbers beside a limit, with as many digits as it takes to see on which side they are."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

MOST_DECIMALS = 12
"""Beyond these a number is written out in full."""


def beside(numbers: Sequence[float | None], limit: float, *, percent: bool = False) -> list[str]:
    """Texts of some numbers, with common decimals, each on the same side of ``limit`` as its number.

    The interval's half-width gets two significant digits, a number alone four; where that hides a
    difference from the limit, all get the decimals that show it. None is ``open``. With ``percent`` they
    are percentages.
    """
    exact = [None if x is None else _exact(x, percent) for x in numbers]
    bound = _exact(limit, percent)
    known = [x for x in exact if x is not None]
    decimals = 0
    if any(x != x.to_integral_value() for x in known):
        half, largest = (max(known) - min(known)) / 2, max(map(abs, known))
        wide = half > largest * Decimal("1e-12")
        decimals = max(1 - half.adjusted() if wide else 3 - largest.adjusted(), 0)
    while decimals <= MOST_DECIMALS and any(
        Decimal(_text(x, decimals)).compare(bound) != x.compare(bound) for x in known
    ):
        decimals += 1
    return ["open" if x is None else _text(x, decimals) + "%" * percent for x in exact]


def _exact(x: float, percent: bool) -> Decimal:
    """The shortest decimal that reads back as ``x``: it keeps the order of floats."""
    shortest = Decimal(repr(float(x)))
    return shortest.scaleb(2) if percent else shortest


def _text(x: Decimal, decimals: int) -> str:
    """Fixed decimals; in full, with an exponent, where that would be long or the number is huge."""
    if decimals > MOST_DECIMALS or x.adjusted() > MOST_DECIMALS:
        return str(x)
    text = f"{x:.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text
