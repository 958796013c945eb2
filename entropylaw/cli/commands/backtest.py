"""The options and the help of ``entropylaw backtest``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.options import (
    ColumnOptions,
    Coverage,
    Logs,
    Parallel,
    Written,
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BacktestCommand(Parallel, ColumnOptions, Coverage, Logs, Written):
    """Test forecasts on finished runs.

    The first 15 % and the first third are fitted, and the rest is predicted, with observed and with
    forecast entropies; a last test, with observed entropies, fits the later two thirds and predicts the
    first third. The errors are compared with those of the last value, the law and a line by least
    squares, the averaged prediction of a fit, and the ScaleRL sigmoid; the intervals with a normal band
    about the last value. Exit code 4 means that no run could be tested.
    """

    example: ClassVar[str] = "entropylaw backtest data/lab/grpo_s0/metrics.parquet"
