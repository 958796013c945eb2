"""Parts of Markdown: tables, numbers and lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.findings import FloatArray

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


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
