"""Results in a notebook: the description as HTML, pictures on axes of the user's, and frames.

Nothing is imported before a result is shown. The HTML has no script, no address and no style sheet: text
takes the notebook's colours, and figures are on white. Names from logs are always text.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from entropylaw.errors import FitError
from entropylaw.escaping import one_line
from entropylaw.report.blocks import Figure, Heading, by_run
from entropylaw.report.describe import describe, table
from entropylaw.report.render import flat

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_WHITE = 'style="background:#fff;max-width:26em;margin:.6em 0"'


def html(result: Any) -> str:
    """The blocks of a result with their figures."""
    from entropylaw.report.figures.drawings import drawn
    from entropylaw.report.render.html import environment, fragment

    about_all, *runs = by_run(describe(result))
    bodies = []
    # A document with more than four runs shows only the blocks about all of them.
    for blocks in (about_all, *runs) if len(runs) <= 4 else (about_all,):
        svgs = drawn(blocks, "notebook")
        prefix = f"entropylaw-{sha256(''.join(svgs.values()).encode()).hexdigest()[:10]}-"
        heads = [block for block in blocks if isinstance(block, Heading) and block.level < 3]
        title = " · ".join(one_line(text) for head in heads[:1] for text in (head.text, head.about) if text)
        bodies.append((title, fragment(blocks, svgs, prefix=prefix, follow=False, frame=_WHITE)))
    return environment().get_template("notebook.html.j2").render(bodies=bodies).removesuffix("\n")


def plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw a result on axes, or on new ones by pyplot; returns them.

    Of the figures of its description it is the first of those that fit on one pair of axes: of a fit its law,
    or without one the reward over the steps. Raises FitError ``nothing-to-draw``: there is none; UsageError
    ``bad-argument``: ``ax`` are no axes.
    """
    from matplotlib.axes import Axes

    from entropylaw.arguments import of_kind
    from entropylaw.report.figures.drawings import ONTO

    if ax is not None:
        of_kind(ax, Axes, "ax")
    blocks = describe(result)
    parts = {block.name: block.part for block in blocks if isinstance(block, Figure)}
    for name, draw_on in ONTO.items():
        part = parts.get(name)
        if part is not None:
            if ax is None:
                from matplotlib import pyplot

                ax = pyplot.subplots(figsize=(5.0, 3.4), layout="constrained")[1]
            draw_on(ax, part)
            return ax
    message = f"a {type(result).__name__} has no figure for one pair of axes"
    raise FitError("nothing-to-draw", message, "plot the columns of to_frame()")


def frame(result: Any) -> DataFrame:
    """The table of a result, as in its CSV; an unknown cell is None or nan."""
    import pandas

    names, rows = flat(table(result))
    return pandas.DataFrame(rows, columns=names)
