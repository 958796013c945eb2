"""Descriptions of results, one module per module of results or documents, of the same name.

``describe(result)`` there makes blocks of it, and ``table(result)`` the table of its CSV and of its frame.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from entropylaw.report.blocks import Block, Table


def describe(result: Any) -> list[Block]:
    """The blocks of a result or document."""
    blocks: list[Block] = _module(result).describe(result)
    return blocks


def table(result: Any) -> Table:
    """The table of a result or document: what its CSV and its frame hold."""
    found: Table = _module(result).table(result)
    return found


def _module(result: Any) -> Any:
    return import_module(f"entropylaw.report.describe.{type(result).__module__.rpartition('.')[2]}")
