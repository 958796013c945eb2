"""The options and the help of ``entropylaw backtest``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.options import ColumnOptions, Coverage, Logs, Looks, Parallel, Written


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BacktestCommand(Parallel, ColumnOptions, Coverage, Looks, Logs, Written):
    """Test forecasts on finished runs.

    Every run is cut after 20 %, a third, a half and two thirds of its steps, and the reward half as many
    steps later is forecast, with the probability of a gain. The errors are compared with those of the share
    of cuts that gained, the last value, three lines, the law by least squares at the entropies that
    followed, and the ScaleRL sigmoid. With --every the runs are played through the stop line: what it said
    at each look, and what came. Exit code 4 means that no run could be tested.
    """

    example: ClassVar[str] = "entropylaw backtest demo/grpo_s0.csv"
