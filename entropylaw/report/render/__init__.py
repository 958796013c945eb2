"""Renderers, one per medium: each takes every block, and so every result. CSV takes tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from entropylaw.escaping import spreadsheet_cell
from entropylaw.report.blocks import Cell, Table
from entropylaw.report.describe import describe, table

MEDIA = ("text", "markdown", "csv", "latex", "junit")
"""In addition to JSON, which is the result itself, and HTML, which has pages of its own."""


def rendered(result: Any, medium: str) -> str:
    """A result or document in one of :data:`MEDIA`."""
    if medium == "csv":
        return csv_text(table(result))
    text: str = import_module(f"entropylaw.report.render.{medium}").render(describe(result))
    return text


def csv_text(table: Table) -> str:
    """A table as CSV: numbers as in the document, an empty cell for an unknown one.

    Texts are made safe for spreadsheets.
    """

    def written(cell: Cell) -> str:
        if cell is None or isinstance(cell, bool):
            return "" if cell is None else str(cell).lower()
        if isinstance(cell, tuple):
            return " ".join(map(repr, cell))
        return spreadsheet_cell(cell) if isinstance(cell, str) else repr(cell)

    buffer = io.StringIO()
    names, rows = flat(table)
    csv.writer(buffer, lineterminator="\n").writerows([names, *(map(written, row) for row in rows)])
    return buffer.getvalue()


def flat(table: Table) -> tuple[list[str], list[list[Cell]]]:
    """Names and rows of plain cells: an estimate is a value and the two ends of its interval."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    names: list[str] = []
    cells: list[Sequence[Cell]] = []
    for column, values in zip(table.columns, columns, strict=True):
        names.append(column.key)
        if not column.estimate:
            cells.append(values)
            continue
        names += [f"{column.key}_low", f"{column.key}_high"]
        cells += [[getattr(value, end, None) for value in values] for end in ("value", "low", "high")]
    return names, [list(row) for row in zip(*cells, strict=True)]
