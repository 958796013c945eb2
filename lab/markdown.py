"""Parts of Markdown: tables, and numbers with their errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lab.findings import Difference, FloatArray

MISSING = "—"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; every column but the first is right-aligned if its cells are short."""
    wide = [max((len(row[i]) for row in rows), default=0) > 28 for i in range(len(head))]
    rule = ["---" if i == 0 or wide[i] else "---:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [list(head), rule, *map(list, rows)])


def number(x: float, decimals: int = 3) -> str:
    """A number, or a dash for nan."""
    return MISSING if np.isnan(x) else f"{x:.{decimals}f}"


def mean(values: FloatArray, decimals: int = 3) -> str:
    """A mean over seeds."""
    return number(float(values.mean()), decimals) if len(values) else MISSING


def against(found: Difference | None) -> str:
    """A difference and its half-width to two digits, in bold if the interval excludes 0."""
    if found is None:
        return MISSING
    if found.half is None:
        return f"{found.value:+.3f} (no interval)"
    decimals = min(max(1 - math.floor(math.log10(found.half)), 2), 5) if found.half > 0 else 5
    text = f"{found.value:+.{decimals}f} ± {found.half:.{decimals}f}"
    return f"**{text}**" if found.decided else text


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
