"""The options and the help of ``entropylaw columns``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.options import ColumnOptions, Command, Logs, formats


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ColumnsCommand(ColumnOptions, Logs, Command):
    """Show which columns of a log would be used.

    Each choice is given with its reason, and every column is listed, also those that nothing is known of.
    Where a file has no step column, its rows are counted. Nothing is fitted.
    """

    example: ClassVar[str] = "entropylaw columns demo/grpo_s0.csv"

    format: str = formats()
