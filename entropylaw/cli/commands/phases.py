"""The options and the help of ``entropylaw phases``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.kinds import PATH
from entropylaw.option import option
from entropylaw.options import Logs, Parallel, PhaseOptions, Written


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PhasesCommand(Parallel, PhaseOptions, Logs, Written):
    """Say whether entropies rise, and in which order.

    The entropies of planning and execution tokens, of plans and of all tokens, each where there are values:
    whether the end is above the lowest level, by how much and since when; from which step on it rises, or has
    settled; and eruptions, steps at which it jumps. Where it does not rise, the smallest rise that would have
    been found is reported; where that is large, the answer is that the curve cannot tell. LOGS are step-level
    logs or what `entropylaw tokens` wrote. Exit code 4 means that no run could be fitted.
    """

    example: ClassVar[str] = "entropylaw phases demo/grpo_s0.csv --figure phases.svg"

    figure: str | None = option(
        "--figure",
        "Draw one run into FILE (.svg .png .pdf), or every run into a folder, as SVG and PNG; the "
        "folder also receives the histograms that `entropylaw tokens` wrote with a summary.",
        PATH,
    )
