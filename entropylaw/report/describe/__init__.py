"""Descriptions of results, one module per module of results or documents, of the same name.

``describe(result)`` there makes blocks of it, and ``table(result)`` the table of its CSV and of its frame. Of
several results these are the blocks and the rows of one after another.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from entropylaw.report.blocks import Block, Table


def describe(result: Any) -> list[Block]:
    """The blocks of a result or document, or of a list of results."""
    if isinstance(result, list):
        return [block for one in result for block in describe(one)]
    blocks: list[Block] = _module(result).describe(result)
    return blocks


def table(result: Any) -> Table:
    """The table of a result or document: what its CSV and its frame hold. A list has results of one kind."""
    if isinstance(result, list):
        tables = [table(one) for one in result]
        return Table(tables[0].columns, [row for one in tables for row in one.rows])
    found: Table = _module(result).table(result)
    return found


def _module(result: Any) -> Any:
    kind = type(result)
    name = "columns" if kind.__name__ == "ColumnReport" else kind.__module__.rpartition(".")[2]
    return import_module(f"entropylaw.report.describe.{name}")
