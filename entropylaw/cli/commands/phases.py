"""The options and the help of ``entropylaw phases``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.kinds import PATH
from entropylaw.option import option
from entropylaw.options import (
    Logs,
    Parallel,
    PhaseOptions,
    Written,
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PhasesCommand(Parallel, PhaseOptions, Logs, Written):
    """Test whether planning or execution turns to rise.

    For each curve that rises after its fall, its turning point and its rise are estimated, and which of the
    two comes first; and whether a curve falls a second time. The null hypothesis is any curve that never
    rises after a fall; drift and noise are integrated out. No turn is a result, and the smallest rise that
    would have been detected is reported with it. LOGS are step-level logs or what
    `entropylaw tokens` wrote. With the entropy of all tokens only, that curve is fitted alone. Exit code
    4 means that no run could be fitted.
    """

    example: ClassVar[str] = "entropylaw phases data/lab/grpo_s0/metrics.parquet --figure phases.svg"

    figure: str | None = option(
        "--figure",
        "Draw one run into FILE (.svg .png .pdf), or every run into a folder, as SVG and PNG; the "
        "folder also receives the histograms that `entropylaw tokens` wrote with a summary.",
        PATH,
    )
