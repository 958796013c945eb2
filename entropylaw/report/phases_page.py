"""The page of a report over the phases of several runs."""

from __future__ import annotations

from collections.abc import Mapping

from entropylaw.report.pages import Neighbour
from entropylaw.report.single_page import single_page
from entropylaw.results.phases import PhasesAcross


def phases_page(across: PhasesAcross, slugs: Mapping[str, str]) -> str:
    """The page; ``slugs`` maps the name of a run to that of its own page."""
    links = [Neighbour(each.run, f"runs/{slugs[each.run]}.html") for each in across.each if each.run in slugs]
    title = f"Phases of {across.runs} runs — Entropy law report"
    return single_page(across, title, "Phases of planning and execution", links, index="index.html")
