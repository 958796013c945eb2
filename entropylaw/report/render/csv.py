"""A table as CSV: numbers as in the document, an empty cell for what is not known."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from entropylaw.report.blocks import Cell, Table
from entropylaw.report.printable import spreadsheet_cell


def render(table: Table) -> str:
    """The table with its head. Texts are made harmless for spreadsheets."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    names, rows = flat(table)
    writer.writerow(names)
    writer.writerows([_written(cell) for cell in row] for row in rows)
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


def _written(cell: Cell) -> str:
    if cell is None or isinstance(cell, bool):
        return "" if cell is None else str(cell).lower()
    if isinstance(cell, tuple):
        return " ".join(map(repr, cell))
    return spreadsheet_cell(cell) if isinstance(cell, str) else repr(cell)
