"""The options and the help of ``entropylaw compare``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.kinds import PATH
from entropylaw.option import OUTPUT, option, switch
from entropylaw.options import WRITE, CompareOptions, Joined, Parallel, Written, outputs


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareCommand(Joined, Parallel, CompareOptions, Written):
    """Compare arms of an experiment over their seeds.

    Which arm ends higher, and which gives more reward at the same entropy, or only moves along the same
    curve? The seed is the unit; runs that failed are counted apart. How runs are grouped into arms is
    printed first, then a sentence per arm. An arm is higher or lower where the test, adjusted for both
    questions and all arms, says so, and the same only where the difference is shown to be below --margin;
    the others have the smallest difference that these seeds show. Exit code 4 means that no run could be
    fitted.
    """

    example: ClassVar[str] = "entropylaw compare 'grpo=demo/grpo_s*' 'clip_cov=demo/clip_cov_s*'"

    logs: tuple[str, ...] = option(
        "ARM=LOGS|LOGS",
        "Logs of an arm: a file, a folder, a pattern such as 'grpo=logs/grpo_*', or what `fit` and `report` "
        "wrote; or logs alone, whose arms are recognised. An ARM may be repeated.",
        PATH,
        many=True,
        required=True,
    )
    output: tuple[str, ...] = outputs(WRITE.replace(".tex", ".tex .html"))
    details: bool = switch("--details", "Every number, run and caution of each comparison, as text.", OUTPUT)
    figure: str | None = option(
        "--figure",
        "Draw the arms, reward against entropy, into FILE (.svg .png .pdf), or every figure into a folder, "
        "as SVG and PNG.",
        PATH,
    )
