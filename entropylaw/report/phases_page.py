"""The page of a report over the phases of several runs."""

from __future__ import annotations

from collections.abc import Mapping

from entropylaw import __version__
from entropylaw.report.blocks import Figure
from entropylaw.report.describe import describe
from entropylaw.report.figures import NAMED
from entropylaw.report.pages import Neighbour
from entropylaw.report.render.html import environment, fragment
from entropylaw.results.phases import PhasesAcross


def phases_page(across: PhasesAcross, slugs: Mapping[str, str]) -> str:
    """The page; ``slugs`` maps the name of a run to that of its own page."""
    from entropylaw.report.figures.plotting import figure_bytes

    blocks = describe(across)
    figures = {
        block.name: figure_bytes(NAMED[block.name].draw(block.part), "svg", block.name).decode()
        for block in blocks
        if isinstance(block, Figure)
    }
    links = [Neighbour(each.run, f"runs/{slugs[each.run]}.html") for each in across.each if each.run in slugs]
    template = environment().get_template("phases_page.html.j2")
    return template.render(runs=across.runs, body=fragment(blocks, figures), links=links, version=__version__)
