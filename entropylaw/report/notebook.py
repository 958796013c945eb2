"""Results in a notebook: the description as HTML, pictures on axes of the user's, and frames.

Nothing is imported before a result is shown. The HTML has no script, no address and no style sheet: text
takes the notebook's colours, and figures are on white. Names from logs are always text.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from entropylaw.escaping import one_line
from entropylaw.report.blocks import Facts, Figure, Heading, Table, by_run
from entropylaw.report.describe import describe, table
from entropylaw.report.render import flat
from entropylaw.results import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

MOST_RUNS = 4
"""A document with more runs shows only the blocks about all of them."""

_WHITE = 'style="background:#fff;max-width:26em;margin:.6em 0"'


def html(result: Any) -> str:
    """The blocks of a result with their figures."""
    from entropylaw.report.figures.drawings import drawn
    from entropylaw.report.render.html import environment, fragment

    first, *runs = by_run(describe(result))
    bodies = []
    for blocks in (first, *runs) if len(runs) <= MOST_RUNS else (first,):
        svgs = drawn(blocks, "notebook")
        prefix = f"entropylaw-{sha256(''.join(svgs.values()).encode()).hexdigest()[:10]}-"
        heads = [block for block in blocks if isinstance(block, Heading) and block.level < 3]
        title = " · ".join(one_line(text) for head in heads[:1] for text in (head.text, head.about) if text)
        bodies.append((title, fragment(blocks, svgs, prefix=prefix, follow=False, frame=_WHITE)))
    return environment().get_template("notebook.html.j2").render(bodies=bodies).removesuffix("\n")


def plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw a result on axes, or on new ones by pyplot; returns them.

    The first figure of its description that fits on one pair of axes; without one, the numbers with their
    intervals below one another, or a table of numbers over its first column.
    """
    from entropylaw.report.figures.drawings import DRAWINGS

    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(5.0, 3.4), layout="constrained")[1]
    blocks = describe(result)
    for block in blocks:
        if isinstance(block, Figure) and block.part is not None and (draw := DRAWINGS[block.name].onto):
            draw(ax, block.part)
            return ax
    for block in blocks:
        if isinstance(block, Facts):
            _intervals(ax, [(fact.name, fact.value) for fact in block.facts], block.title)
            break
        if isinstance(block, Table) and block.rows and draw_table(ax, block):
            break
    return ax


def draw_table(axes: Axes, table: Table) -> bool:
    """The first column of estimates, or numbers over those of the first column; False if it has neither."""
    labels = [column.label for column in table.columns]
    columns = list(zip(labels, zip(*table.rows, strict=True), strict=True))
    for label, cells in columns:
        if any(isinstance(cell, Estimate) for cell in cells):
            names = [" ".join(map(str, row[: table.words])) for row in table.rows]
            _intervals(axes, zip(names, cells, strict=True), label)
            return True
    numbers = [column for column in columns if all(isinstance(cell, float | int) for cell in column[1])]
    if len(numbers) < 2:
        return False
    (across, x), *lines = numbers
    for label, y in lines:
        axes.plot(x, y, ".-", label=label)
    axes.set_xlabel(across)
    axes.legend(frameon=False, fontsize=7)
    return True


def _intervals(axes: Axes, numbers: Iterable[tuple[str, Any]], label: str) -> None:
    """Estimates below one another, each with its interval and its name inside the axes."""
    estimates = ((name, cell) for name, cell in numbers if isinstance(cell, Estimate))
    values = [(name, cell, cell.value) for name, cell in estimates if cell.value is not None]
    for row, (name, estimate, value) in enumerate(values):
        if estimate.low is not None and estimate.high is not None:
            axes.plot([estimate.low, estimate.high], [-row, -row], linewidth=2, color="0.6")
        axes.plot([value], [-row], "o", color="0.2")
        axes.text(0.02, -row + 0.18, name, fontsize=8, transform=axes.get_yaxis_transform())
    axes.set_ylim(0.7 - max(len(values), 1), 0.7)
    axes.set_yticks([])
    axes.set_xlabel(label)


def frame(result: Any) -> DataFrame:
    """The table of a result, as in its CSV; an unknown cell is None or nan."""
    import pandas

    names, rows = flat(table(result))
    return pandas.DataFrame(rows, columns=names)
