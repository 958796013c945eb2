"""Descriptions of results: ``describe`` makes blocks, and ``table`` the table of CSV and frames."""

from __future__ import annotations

from typing import Any

from entropylaw.documents.document import CheckDocument, Entry, GateCase
from entropylaw.report.blocks import Block, Table
from entropylaw.report.describe import check


def describe(result: Any) -> list[Block]:
    """The blocks of a result or document."""
    blocks: list[Block] = _module_of(result).describe(result)
    return blocks


def table(result: Any) -> Table:
    """The table of a result or document, for CSV and frames."""
    rows: Table = _module_of(result).table(result)
    return rows


def _module_of(result: Any) -> Any:
    if isinstance(result, CheckDocument | GateCase):
        return check
    # These import numpy, which a check of stored fits does without.
    from entropylaw.report.describe.modules import ENTRIES, MODULES

    return ENTRIES[type(result.result)] if isinstance(result, Entry) else MODULES[type(result)]
