"""Results in a notebook: the description as HTML, pictures on axes of the user's, and frames.

Nothing here is imported before a result is looked at. The HTML has no script, no address and no style sheet:
text takes the notebook's colours, and figures stand on white. Names from logs are text, whatever they hold.
"""

from __future__ import annotations

from hashlib import sha256
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from entropylaw.report.blocks import Block, Facts, Figure, Heading, Table
from entropylaw.report.describe import describe, table
from entropylaw.report.figures import NAMED
from entropylaw.results import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

MOST_RUNS = 4
"""With more runs a document shows what is about all of them."""

_WHITE = 'style="background:#fff;max-width:26em;margin:.6em 0"'


def html(result: Any) -> str:
    """The blocks of a result with their figures."""
    from entropylaw.report import plotting
    from entropylaw.report.printable import one_line
    from entropylaw.report.render.html import environment, fragment

    blocks = describe(result)
    runs = [place for place, block in enumerate(blocks) if isinstance(block, Heading) and block.level == 2]
    if len(runs) > MOST_RUNS:
        blocks = blocks[: runs[0]]
    bounds = [0, *runs, len(blocks)] if len(runs) <= MOST_RUNS else [0, len(blocks)]
    bodies = []
    for first, last in pairwise(bounds):
        part = blocks[first:last]
        svgs = {}
        with plotting.style():
            for block in part:
                if isinstance(block, Figure) and (drawn := _drawn(block)) is not None:
                    svgs[block.name] = plotting.figure_bytes(drawn, "svg", "notebook").decode("utf-8")
        prefix = f"entropylaw-{sha256(''.join(svgs.values()).encode()).hexdigest()[:10]}-"
        body = fragment(part, svgs, prefix=prefix, follow=False, frame=_WHITE)
        head = next((block for block in part if isinstance(block, Heading) and block.level < 3), None)
        about = f" · {one_line(head.about)}" if head is not None and head.about else ""
        bodies.append((one_line(head.text) + about if head is not None else "", body))
    page = environment().get_template("notebook.html.j2").render(bodies=bodies)
    return page.removesuffix("\n")


def _drawn(block: Figure) -> Any:
    """The figure of a block; None where its part is not enough for it."""
    try:
        return NAMED[block.name].draw(block.part)
    except ValueError:
        return None


def plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw a result on axes, or on new ones of pyplot's; returns them.

    It is the first figure of its description that fits on one pair of axes; without one, the numbers with
    their intervals below one another, or a table of numbers over its first column.
    """
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(5.0, 3.4), layout="constrained")[1]
    blocks = describe(result)
    for block in blocks:
        if isinstance(block, Figure) and block.part is not None and NAMED[block.name].onto:
            module, _, function = NAMED[block.name].onto.partition(":")
            getattr(import_module(f"entropylaw.report.{module}"), function)(ax, block.part)
            return ax
    _numbers(ax, blocks)
    return ax


def _numbers(axes: Axes, blocks: list[Block]) -> None:
    """The first numbers of a description: estimates with their intervals, or columns over the first one."""
    for block in blocks:
        if isinstance(block, Facts):
            found = [(fact.name, fact.value) for fact in block.facts if isinstance(fact.value, Estimate)]
            return _intervals(axes, found, block.title)
        if isinstance(block, Table) and block.rows:
            for place, column in enumerate(block.columns):
                cells = [row[place] for row in block.rows]
                if any(isinstance(cell, Estimate) for cell in cells):
                    names = [" ".join(map(str, row[: block.words])) for row in block.rows]
                    known = [(n, c) for n, c in zip(names, cells, strict=True) if isinstance(c, Estimate)]
                    return _intervals(axes, known, column.label)
            numeric: list[tuple[str, list[Any]]] = [
                (column.label, [row[place] for row in block.rows])
                for place, column in enumerate(block.columns)
                if all(isinstance(row[place], float | int) for row in block.rows)
            ]
            if len(numeric) > 1:
                (across, x), *lines = numeric
                for label, y in lines:
                    axes.plot(x, y, ".-", label=label)
                axes.set_xlabel(across)
                axes.legend(frameon=False, fontsize=7)
                return None
    return None


def _intervals(axes: Axes, numbers: list[tuple[str, Any]], label: str) -> None:
    """Estimates below one another, each with its interval and its name inside the axes."""
    known = [(name, estimate) for name, estimate in numbers if estimate.value is not None]
    for place, (name, estimate) in enumerate(known):
        if estimate.low is not None and estimate.high is not None:
            axes.plot([estimate.low, estimate.high], [-place, -place], linewidth=2, color="0.6")
        axes.plot([estimate.value], [-place], "o", color="0.2")
        axes.text(0.02, -place + 0.18, name, fontsize=8, transform=axes.get_yaxis_transform())
    axes.set_ylim(0.7 - max(len(known), 1), 0.7)
    axes.set_yticks([])
    axes.set_xlabel(label)


def frame(result: Any) -> DataFrame:
    """The table of a result, as in its CSV; what is not known is None or nan."""
    import pandas

    from entropylaw.report.render.csv import flat

    names, rows = flat(table(result))
    return pandas.DataFrame(rows, columns=names)
