"""The options and the help of ``entropylaw report``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.errors import UsageError
from entropylaw.kinds import PATH, Kind
from entropylaw.option import ADVANCED, OUTPUT, option, switch
from entropylaw.options import FOLDER, PICTURES, FitOptions, Logs, Parallel, Quiet


def figure_kinds(text: str) -> tuple[str, ...]:
    """The formats in a text."""
    named, choices = [name.strip().lower() for name in text.split(",")], ", ".join(PICTURES)
    unknown = [name for name in named if name not in PICTURES]
    if unknown and named != ["none"]:
        message = f"--figures {text!r} names {unknown[0]!r}, expected some of {choices}, or none"
        raise UsageError("bad-figures", message, "give svg, or svg,png,pdf")
    return tuple(kind for kind in PICTURES if kind in named)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportCommand(Parallel, FitOptions, Logs, Quiet):
    """Write a report: pages, tables and figures.

    An index, a page per run, Markdown, JSON, CSV and figures, of one run or a thousand. LOGS may also be
    what `entropylaw fit` or `entropylaw report` wrote: it is rendered unchanged, and options of the fit
    are then refused. Runs are fitted in parallel; what has not changed since the last report in that
    folder is kept. A run that cannot be fitted does not stop the others.
    """

    example: ClassVar[str] = "entropylaw report demo/grpo_s0.csv -o reports/demo"

    output: str = option(
        "-o --output FOLDER|FILE.html",
        "Folder to write into, or the one HTML file to write, with everything in it.",
        *(PATH, OUTPUT),
        default=FOLDER,
    )
    figures: tuple[str, ...] | None = option(
        "--figures",
        "Formats of the figures' files: svg,png,pdf or none.",
        Kind(expected="some of svg, png and pdf, or none", metavar="KINDS", read=figure_kinds),
        unset="all, beyond 50 runs svg",
    )
    phases: bool = switch(
        "--phases/--no-phases",
        "Add the phases where the log has the entropy of planning or execution tokens.",
        ADVANCED,
        default=True,
    )
    strict: bool = switch(
        "--strict", "Exit with 4 if any run could not be fitted, not only if none could.", ADVANCED
    )
