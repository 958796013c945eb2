"""Common parts of the figures: size, colours, type, panels, text for any font, and their files.

Matplotlib's object interface only: nothing here touches pyplot or leaves a setting behind. Text becomes
paths in SVG, so that a figure looks the same on a machine without our font.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from PIL import Image

from entropylaw.arrays import FloatArray
from entropylaw.report.figures.palette import LINE, PALETTE, minify
from entropylaw.results import Estimate

Kind = Literal["svg", "png", "pdf"]

Key = tuple[str, str, Mapping[str, Any]]
"""A line of a key: the name of its colour, its words, and the look of the line before these."""

WIDTH = 3.4
"""Inches: one column of a two-column paper."""

_LAYOUT: ContextVar[tuple[float, bool]] = ContextVar("LAYOUT", default=(WIDTH, True))

MOST_VECTOR_POINTS = 300
"""Above this the points of an SVG become one image, so that a page stays below 300 kB."""

_INK = PALETTE["ink"].light
_MUTED = PALETTE["muted"].light

_STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 7.0,
    # Our texts are not TeX.
    "text.parse_math": False,
    "text.color": _INK,
    "axes.labelsize": 7.5,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _MUTED,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": PALETTE["grid"].light,
    "grid.linewidth": 0.5,
}
for _axis in ("xtick", "ytick"):
    _STYLE |= {f"{_axis}.color": _MUTED, f"{_axis}.labelcolor": _INK, f"{_axis}.labelsize": 7.0}
    _STYLE |= {f"{_axis}.major.size": 2.5, f"{_axis}.major.width": 0.6}

_in_force: list[None] = []
"""One entry while a style is in force; otherwise empty."""


@contextmanager
def style() -> Iterator[None]:
    """Our settings on top of matplotlib's defaults, independent of the user's; undone afterwards.

    Inside another ``style`` the outer one stays in force, so that the settings are made once.
    """
    if _in_force:
        yield
        return
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        _in_force.append(None)
        try:
            yield
        finally:
            _in_force.pop()


@contextmanager
def layout(width: float = WIDTH, *, titles: bool = True) -> Iterator[None]:
    """Draw as a paper requires: the width in inches, and whether titles are on the figures."""
    before = _LAYOUT.set((width, titles))
    try:
        yield
    finally:
        _LAYOUT.reset(before)


def width() -> float:
    """Inches of the layout in use."""
    return _LAYOUT.get()[0]


def margins(figure: Figure, left: float, right: float, top: float, bottom: float, **gaps: float) -> None:
    """Place the panels of a figure, with inches from its sides."""
    width, height = figure.get_size_inches()
    figure.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height, **gaps)


def points(axes: Axes) -> tuple[float, float]:
    """Width and height of axes in points, the unit of letters."""
    root = axes.get_figure(root=True)
    assert root is not None
    box = axes.get_window_extent()
    return 72 * box.width / root.dpi, 72 * box.height / root.dpi


def few(ticks: int) -> MaxNLocator:
    """At most so many intervals between round ticks."""
    return MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10])


def colour(name: str, *, words: bool = False) -> str:
    """A colour of :data:`PALETTE` on the paper in force, or its shade for ``words``.

    On dark paper, which a user's axes may have, ``ring``, the rim around a mark, is the paper itself.
    """
    *rgb, opaque = to_rgba(paper := mpl.rcParams["figure.facecolor"])
    dark = opaque > 0 and sum(rgb) < 1.5
    if dark and name == "ring":
        return to_hex(paper)
    return PALETTE[f"{name}-text" if words and f"{name}-text" in PALETTE else name][dark]


@contextmanager
def panels(
    heights: Sequence[float],
    *,
    title: Sequence[str] = (),
    title_colour: str = "warn",
    keys: Sequence[Key] = (),
    head: float = 0.0,
    left: float = 0.48,
    right: float = 0.36,
    gap: float = 0.1,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure as wide as the layout, with a title, a key, and panels over one axis; numbers are inches.

    It is filled inside the ``with``. At its end the labels of the panels are placed in one line, and the
    panels are moved in until the labels are on the paper.

    Parameters
    ----------
    heights
        Of the panels, from the top.
    keys
        The lines of the key.
    head
        More room above the panels.
    """
    width, titles = _LAYOUT.get()
    title = title if titles else ()
    top = 0.08 + head + LINE * (len(title) + len(keys)) + (0.06 if keys else 0.0)
    bottom = 0.38
    height = top + sum(heights) + gap * (len(heights) - 1) + bottom
    with style():
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        margins(figure, left, right, top, bottom, hspace=gap * len(heights) / sum(heights))
        made = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        made[0].xaxis.set_major_locator(few(6))
        for axes in made:
            axes.yaxis.set_major_locator(few(5))
        made[-1].set_xlabel("step", labelpad=2)
        write(
            figure,
            0.06,
            0.05,
            "\n".join(title),
            color=colour(title_colour),
            weight="bold",
            size=7.5,
        )
        for i, (name, text, look) in enumerate(keys):
            y = 0.06 + LINE * (len(title) + i)
            mark(figure, (0.08, 0.28), y + 0.055, color=colour(name), **look)
            write(figure, 0.34, y, shown(text), color=colour(name, words=True))
        yield figure, list(made)
        _place_labels(figure, list(made))


def _place_labels(figure: Figure, panels: Sequence[Axes]) -> None:
    """Put the labels of the panels in one line left of all numbers, and the panels where all have room.

    The widths are computed from the letters: to lay out texts takes longer than to draw the data.
    """
    widest = 0.0
    for axes in panels:
        low, high = sorted(axes.get_ylim())
        ticks = [tick for tick in axes.yaxis.get_majorticklocs() if low <= tick <= high]
        for text in axes.yaxis.get_major_formatter().format_ticks(ticks):
            widest = max(widest, sum(_WIDTHS.get(letter, 0.636) for letter in text))
    # The size of the numbers is 7 points, and they are 10 from the axis; a line of a label takes 11.
    beside = 7.0 * widest + 6.0 + 4.0
    room = beside + 9.0 + 2.0 if any(axes.get_ylabel() for axes in panels) else beside
    width, height = figure.get_size_inches()
    figure.subplots_adjust(left=max(figure.subplotpars.left, room / (72 * width)))
    box = panels[-1].get_position()
    panels[-1].xaxis.set_label_coords(0.5, -15.0 / (72 * height * box.height))
    for axes in panels:
        axes.yaxis.set_label_coords(-beside / (72 * width * box.width), 0.5)


_WIDTHS = {".": 0.318, "−": 0.838, "+": 0.838}
"""Widths of letters of numbers in our font, in units of its size; a digit has 0.636."""


def write(figure: Figure, x: float, y: float, text: str, **look: Any) -> None:
    """Text with its top left corner ``x`` and ``y`` inches from the left and the top of the figure."""
    width, height = figure.get_size_inches()
    look.setdefault("color", colour("muted"))
    figure.text(x / width, 1 - y / height, text, va="top", **look)


def mark(figure: Figure, x: Sequence[float], y: float, **look: Any) -> None:
    """A line or marks of a key, at positions in inches from the left and the top of the figure."""
    width, height = figure.get_size_inches()
    places = np.asarray(x) / width, np.full(len(x), 1 - y / height)
    figure.add_artist(Line2D(*places, transform=figure.transFigure, solid_capstyle="butt", **look))


def figure_bytes(figure: Figure, kind: Kind, salt: str) -> bytes:
    """The figure as a file; ``salt`` makes the ids in an SVG unique and reproducible.

    The same figure and salt give the same bytes: no date, no software, no random ids.
    """
    buffer = io.BytesIO()
    before = figure.dpi
    dpi = 150 if kind == "svg" else 300
    canvas: Any = FigureCanvasAgg(figure)
    with style(), mpl.rc_context({"svg.hashsalt": salt}):
        if kind != "png":
            unnamed = ("Date", "Format", "Type") if kind == "svg" else ("CreationDate", "Producer")
            figure.savefig(buffer, format=kind, dpi=dpi, metadata=dict.fromkeys(("Creator", *unnamed)))
            written = buffer.getvalue()
            return minify(written.decode("utf-8")).encode("utf-8") if kind == "svg" else written
        figure.set_dpi(dpi)
        canvas.draw()
    figure.set_dpi(before)
    # Opaque images need no alpha channel, and are a fifth smaller without.
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    image.save(buffer, "png", dpi=(dpi, dpi))
    return buffer.getvalue()


def dots(axes: Axes, x: FloatArray, y: FloatArray, *, size: float, **look: Any) -> None:
    """Points ``size`` wide, all alike; above :data:`MOST_VECTOR_POINTS` an image in vector formats.

    Few points are one path with round ends, which takes a third of the bytes and time of separate marks.
    Many points are separate, so that their density shows in how they cover each other.
    """
    if x.size > MOST_VECTOR_POINTS:
        axes.scatter(x, y, s=size**2, linewidths=0, rasterized=True, **look)
        return
    ends = np.repeat(np.column_stack([x, y]), 2, axis=0)
    ends[1::2, 0] += 1e-5 * (float(np.ptp(x)) or 1.0)
    path = Path(ends, np.tile([Path.MOVETO, Path.LINETO], x.size))
    path.should_simplify = False
    # As add_patch does, without its search of every segment for curves.
    axes.add_artist(PathPatch(path, fill=False, linewidth=size, capstyle="round", snap=False, **look))
    axes.update_datalim(ends[::2])


def shown(text: str) -> str:
    """``text`` on one line, with a question mark for a character that our font may not have."""
    marks = "·–—−…×≤≥±°′″→←“”‘’"
    return "".join(c if (" " <= c < "\u0250" and c.isprintable()) or c in marks else "?" for c in text)


def wrapped(text: str, letters: int) -> list[str]:
    """``text`` in lines of so many ``letters`` on the width of a column."""
    return textwrap.wrap(shown(text), int(letters * width() / WIDTH))


def name_ends(axes: Axes, x: float, named: Sequence[tuple[str, float, str]]) -> None:
    """Words right of the ends of curves at ``x``: each with the end's height and the name of its colour.

    Those that would lie on one another are moved apart.
    """
    low, high = axes.get_ylim()
    line = 8.5 / points(axes)[1] * (high - low)
    heights = [min(max(height, low + line / 2), high - line / 2) for _, height, _ in named]
    order = sorted(range(len(named)), key=lambda i: heights[i])
    for below, above in pairwise(order):
        heights[above] = max(heights[above], heights[below] + line)
    highest = high - line / 2
    for i in reversed(order):
        heights[i] = min(heights[i], highest)
        highest = heights[i] - line
    for (text, _, name), height in zip(named, heights, strict=True):
        axes.annotate(
            shown(text),
            (x, height),
            (3.0, 0.0),
            textcoords="offset points",
            va="center",
            size=7,
            color=colour(name, words=True),
            zorder=8,
        )


def ends(estimate: Estimate, value: float) -> tuple[float, float]:
    """The ends of an interval; the value for an end that is not known."""
    low, high = estimate.low, estimate.high
    return value if low is None else low, value if high is None else high


def padded(low: float, high: float, below: float, above: float) -> tuple[float, float]:
    """A range widened by shares of its length; a range without length gets one."""
    span = (high - low) or abs(high) or 1.0
    return low - below * span, high + above * span


def limits(
    logged: FloatArray, others: Iterable[float | None], share: float, below: float, above: float
) -> tuple[float, float]:
    """A padded range of all logged values, and of others as far as they are within a ``share`` of it."""
    low, high = float(logged.min()), float(logged.max())
    room = share * ((high - low) or abs(high) or 1.0)
    inside = [min(max(y, low - room), high + room) for y in others if y is not None and np.isfinite(y)]
    return padded(min([low, *inside]), max([high, *inside]), below, above)
