"""A page with one result: its description and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropylaw.report.blocks import Heading
from entropylaw.report.describe import describe
from entropylaw.report.figures import drawn
from entropylaw.report.pages import Neighbour
from entropylaw.report.render.html import environment, fragment
from entropylaw.version import __version__


def single_page(
    result: Any, title: str = "", heading: str = "", links: Sequence[Neighbour] = (), *, index: str = ""
) -> str:
    """The page of a result, with links to the pages of its runs and to an index of them.

    Without a ``heading`` it is the first one of the description. A figure that has nothing to draw is left
    out.
    """
    blocks = describe(result)
    first = next((block.text for block in blocks if isinstance(block, Heading)), "")
    return (
        environment()
        .get_template("single_page.html.j2")
        .render(
            title=title or f"{first} — Entropy law report",
            heading=heading or first,
            body=fragment(blocks, drawn(blocks)),
            links=links,
            index=index,
            version=__version__,
        )
    )
