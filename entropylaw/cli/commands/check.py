"""The options and the help of ``entropylaw check``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.kinds import GATE, JUNIT, PATH, SUFFIXES
from entropylaw.option import option, switch
from entropylaw.options import WRITE, Coverage, Gained, Joined, LawOptions, Parallel, Quiet, formats, outputs

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file of a step's summary."""

GATES = "Gates"
FORMATS = (*SUFFIXES, *JUNIT)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckCommand(Joined, Parallel, LawOptions, Gained, Coverage, Quiet):
    """Exit with code 5 if a gate trips or is unknown.

    Every run is compared with every condition. The interval decides, not the point: a condition holds
    where the whole interval satisfies EXPR; where a part of it does, "not excluded" is printed, and only
    --strict fails. An unknown value fails, and the reason is printed: a run that was refused, an interval
    that is missing, the law's own numbers where the law fails, and the averaged ones where reward does not
    follow entropy or was lost. Whatever the reason, an unknown value exits with code 5, for one file as for
    several.
    """

    example: ClassVar[str] = "entropylaw check demo/clip_cov_s0.csv --fail-if 'ceiling<0.4'"

    sources: tuple[str, ...] = option(
        "FITS|LOGS",
        "Documents that `fit`, `report`, `phases`, `predict` or `compare` wrote; a report, by its folder or "
        "its report.json; or logs, which are fitted.",
        PATH,
        many=True,
        required=True,
    )
    fail_if: tuple[str, ...] = option(
        "--fail-if",
        "The condition: QUANTITY OP NUMBER, as ceiling<0.62 or p_headroom<0.5; \"verdict!='holds'\"; "
        "regression(BASELINE.fit.json)>1% (fall of the ceiling); fails (the law fails); undecided; lost "
        "(the reward); refused (not fitted). Repeatable.",
        GATE,
        GATES,
        key="gates",
        many=True,
    )
    strict: bool = switch(
        "--strict",
        "Fail also where the interval, or an undecided verdict, does not exclude the expression.",
        GATES,
    )
    point: bool = switch("--point", "Compare the estimate, not its interval.", GATES)
    even_if_fails: bool = switch(
        "--even-if-fails", "Also compare the numbers that are unknown because the law fails.", GATES
    )
    format: str = formats(*FORMATS)
    output: tuple[str, ...] = outputs(WRITE.replace(".tex", ".tex .xml"))
    github_summary: bool = switch("--github-summary", f"Append Markdown to the file that {SUMMARY} names.")
