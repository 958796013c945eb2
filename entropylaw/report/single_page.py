"""A page with one result: its description and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropylaw import __version__
from entropylaw.report.blocks import Figure, Heading
from entropylaw.report.describe import describe
from entropylaw.report.figures import NAMED
from entropylaw.report.pages import Neighbour
from entropylaw.report.render.html import environment, fragment


def single_page(
    result: Any, title: str = "", heading: str = "", links: Sequence[Neighbour] = (), *, index: str = ""
) -> str:
    """The page of a result, with links to the pages of its runs and to an index of them.

    Without a ``heading`` it is the first one of the description. A figure that has nothing to draw is left
    out.
    """
    from entropylaw.report.figures import plotting

    blocks, figures = describe(result), {}
    first = next((block.text for block in blocks if isinstance(block, Heading)), "")
    with plotting.style():
        for block in blocks:
            if isinstance(block, Figure):
                try:
                    drawn = NAMED[block.name].draw(block.part)
                except ValueError:
                    continue
                figures[block.name] = plotting.figure_bytes(drawn, "svg", block.name).decode()
    return (
        environment()
        .get_template("single_page.html.j2")
        .render(
            title=title or f"{first} — Entropy law report",
            heading=heading or first,
            body=fragment(blocks, figures),
            links=links,
            index=index,
            version=__version__,
        )
    )
