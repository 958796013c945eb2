"""The options and the help of ``entropylaw plot``, which the registry of figures is imported for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from entropylaw.kinds import PATH, Kind, one_of
from entropylaw.option import option, options_of, switch
from entropylaw.options import ClassColumns, Coverage, LawOptions, Quiet
from entropylaw.report.figures import FIGURES

# Of one run, of arms, and of samples.
NEEDS = ("fit", "law", "phases", "arms", "samples", "samples_pair")
DRAWN = {entry.name: entry for entry in FIGURES if entry.needs in NEEDS}

WIDTHS = {"single": 3.4, "double": 6.9}
"""Inches of the columns of a paper."""


def width_text(text: str) -> str:
    """A width, if it is one."""
    if text not in WIDTHS and not 2.5 <= float(text) <= 20.0:
        raise ValueError(text)
    return text


class PlotCommand(LawOptions, ClassColumns, Coverage, Quiet):
    """Draw one figure of a run, of arms or of samples."""

    example: ClassVar[str] = "entropylaw plot law demo/grpo_s0.csv -o law.pdf"
    by_file: ClassVar[Sequence[str]] = tuple(
        name
        for family in (LawOptions, ClassColumns, Coverage)
        for name in options_of(family)
        if name != "run"
    )

    figure: str = option(
        "FIGURE", f"{', '.join([*DRAWN][:-1])} or {[*DRAWN][-1]}.", one_of(*DRAWN), required=True
    )
    source: str = option(
        "SOURCE", "A log, or a fit, report, phases, comparison or samples document.", required=True
    )
    width: str = option(
        "--width WIDTH",
        "Width: single (3.4 inches) or double column (6.9), or inches, such as 5.5.",
        Kind(expected="single, double, or inches from 2.5 to 20", example="double", read=width_text),
        default="single",
    )
    title: bool = switch(
        "--title/--no-title", "What was found as the title, on figures that have one.", default=True
    )
    run: str | None = option("--run NAME", "Name of the run or comparison to draw, if SOURCE has several.")
    output: str = option(
        "-o --output", "Write here; the suffix (.pdf .svg .png) decides the format.", PATH, required=True
    )


PlotCommand.__doc__ = (
    f"{PlotCommand.__doc__}\n\n"
    + " ".join(f"{name}: {entry.about}." for name, entry in DRAWN.items())
    + " A log is fitted as entropylaw.toml says; `entropylaw fit` has the options."
)
