"""What the figures share: size, colours, type, axes, and text that any font can show."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

WIDTH = 3.4
"""Inches: one column of a two-column paper."""

INK, MUTED, FAINT, GRID = "#1b1f24", "#59636e", "#aab2bb", "#e9ecef"
LAW, LAW_INVALID, WARNING = "#0072b2", "#7d858d", "#a3380c"
"""Okabe and Ito's blue; grey where the law does not describe the run; dark vermilion for what says so."""

RIVALS = {"line": "#d55e00", "rate": "#009e73", "constant": "#8a6d3b"}
"""Colours of the rivals: vermilion and bluish green of Okabe and Ito, and a brown."""

ENTROPY, REWARD = "#7b4b94", "#0072b2"

MOST_VECTOR_POINTS = 300
"""Above this the points of an SVG become one image, so that a page stays below 300 kB."""

STEPS = LinearSegmentedColormap.from_list(
    "steps", mpl.colormaps["viridis"](np.linspace(0.9, 0.0, 64)).tolist()
)
"""Early steps light, late steps dark; readable for colour-blind eyes and in print."""

_STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 7.0,
    "text.color": INK,
    "text.parse_math": False,
    "axes.labelsize": 7.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.6,
    "axes.unicode_minus": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.fonttype": "path",
    "path.simplify": True,
}

_GLYPHS = frozenset("·–—−…×≤≥±°′″→←“”‘’")


@contextmanager
def style() -> Iterator[None]:
    """Our settings on top of matplotlib's own defaults, whatever the user's are; undone afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        for name, value in _STYLE.items():
            mpl.rcParams[name] = value
        yield


def new_figure(height: float) -> Figure:
    """An empty figure of column width, ``height`` inches high."""
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def add_axes(figure: Figure, *, left: float, right: float, bottom: float, top: float) -> Axes:
    """Axes at so many inches from the figure's left, right, bottom and top."""
    width, height = figure.get_size_inches()
    box = (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    axes = figure.add_axes(box)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    return axes


def make_room(figure: Figure) -> None:
    """Move the axes' left edges in until the widest tick labels and the axis labels are on the paper."""
    renderer: Any = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    boxes = [axes.yaxis.get_tightbbox(renderer) for axes in figure.axes]
    missing = 0.02 * figure.dpi - min((box.x0 for box in boxes if box is not None), default=0.0)
    if missing <= 0:
        return
    share = missing / figure.bbox.width
    for axes in figure.axes:
        place = axes.get_position()
        axes.set_position((place.x0 + share, place.y0, place.width - share, place.height))


def inches(figure: Figure, x: float, y: float) -> tuple[float, float]:
    """A place in inches from the left and the top as figure coordinates."""
    width, height = figure.get_size_inches()
    return x / width, 1.0 - y / height


def write(figure: Figure, x: float, y: float, text: str, **kwargs: Any) -> None:
    """Text with its top left corner so many inches from the figure's left and top."""
    figure.text(*inches(figure, x, y), text, **{"va": "top", "ha": "left", **kwargs})


def shown(text: str) -> str:
    """``text`` on one line, with a question mark for what our font may not have."""
    return "".join(c if (" " <= c < "\u0250" and c.isprintable()) or c in _GLYPHS else "?" for c in text)


def wrapped(text: str, width: int, most: int) -> list[str]:
    """``text`` on at most ``most`` lines of ``width`` characters."""
    return textwrap.wrap(shown(text), width, max_lines=most, placeholder=" …")


def padded(low: float, high: float, below: float, above: float) -> tuple[float, float]:
    """A range widened by shares of its length; a range without length gets one."""
    span = (high - low) or abs(high) or 1.0
    return low - below * span, high + above * span


def spread(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """``places`` moved as little as it takes to be ``gap`` apart and between ``low`` and ``high``."""
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    moved = [min(max(place, low), high) for place in places]
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + gap)
    ceiling = high
    for i in reversed(order):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - gap
    return moved
