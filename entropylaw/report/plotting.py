"""What the figures share: size, colours, type, panels, text that any font can show, and their files.

Matplotlib's object interface only: nothing here touches pyplot or leaves a setting behind. Text becomes
paths in SVG, so that a figure looks the same on a machine without our font.
"""

from __future__ import annotations

import io
import logging
import os
import pathlib
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from logging.handlers import BufferingHandler
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from PIL import Image

from entropylaw.errors import InputError
from entropylaw.inputs import note_input
from entropylaw.report.palette import PALETTE, contrast
from entropylaw.report.svg import minify

FloatArray = NDArray[np.float64]

Kind = Literal["svg", "png", "pdf"]

WIDTH = 3.4
"""Inches: one column of a two-column paper."""

MOST_VECTOR_POINTS = 300
"""Above this the points of an SVG become one image, so that a page stays below 300 kB."""

_COLOURS = {
    "text.color": "ink",
    "axes.labelcolor": "ink",
    "axes.edgecolor": "muted",
    "grid.color": "grid",
    **{f"{axis}tick.color": "muted" for axis in "xy"},
    **{f"{axis}tick.labelcolor": "ink" for axis in "xy"},
}

_STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 7.0,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.linewidth": 0.5,
    **{f"{axis}tick.labelsize": 7.0 for axis in "xy"},
    **{f"{axis}tick.major.size": 2.5 for axis in "xy"},
    **{f"{axis}tick.major.width": 0.6 for axis in "xy"},
}

_FIXED: dict[Any, Any] = {
    "text.usetex": False,
    "text.parse_math": False,
    "svg.hashsalt": None,
    "savefig.bbox": None,
    "savefig.facecolor": "auto",
    "savefig.transparent": False,
}
"""What no style file changes: our texts are no TeX, and every kind of file shows one picture."""

_NOT_STYLE = ("backend", "interactive", "toolbar", "timezone", "webagg.", "tk.", "docstring.", "date.epoch")
"""Settings of the process; where figures go is none of a style's."""

_GLYPHS = frozenset("·–—−…×≤≥±°′″→←“”‘’")

_GENERIC = ("serif", "sans-serif", "cursive", "fantasy", "monospace")

_DPI = {"svg": 160, "png": 300, "pdf": 300}

_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

LINE = 0.135
"""Inches from one small line of text to the next."""

_in_force: list[None] = []
"""One entry while a style is in force; empty where nothing is being drawn."""


@contextmanager
def style(extra: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Our settings on top of matplotlib's own defaults, whatever the user's are; undone afterwards.

    ``extra`` is a style of the user's (:func:`read_style`) on top of ours; on its dark paper ours has the
    colours for that. Inside another ``style`` the outer one stays in force, so that many figures drawn under
    one pay for the settings once.
    """
    if _in_force:
        yield
        return
    given = dict(extra or {})
    dark = is_dark(given.get("figure.facecolor", "white"))
    ours = _defaults() | _STYLE | {setting: PALETTE[name][dark] for setting, name in _COLOURS.items()}
    ours |= {f"{axis}.labelcolor": "inherit" for axis in ("xtick", "ytick") if f"{axis}.color" in given}
    if "grid.color" in given:
        # A style that colours the grid and does not ask for one was made for figures without.
        ours["axes.grid"] = False
    # It says of every text that a font is not there; missing_fonts says it once.
    finder = logging.getLogger("matplotlib.font_manager")
    level = finder.level
    with mpl.rc_context():
        mpl.rcParams.update(ours | given | _FIXED)
        _in_force.append(None)
        finder.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            finder.setLevel(level)
            _in_force.pop()


def missing_fonts(extra: Mapping[str, Any]) -> list[str]:
    """The font families that a style of the user's names, if none of them is installed."""
    families: list[str] = []
    for family in extra.get("font.family", []):
        families += extra.get(f"font.{family}", []) if family in _GENERIC else [family]
    return [] if set(families) & {*fontManager.get_font_names(), *_GENERIC} else families


@cache
def _defaults() -> dict[Any, Any]:
    """Every setting as matplotlib has it without any file of the user's."""
    with mpl.rc_context():
        mpl.rcdefaults()
        return {name: mpl.rcParams[name] for name in mpl.rcParams if not name.startswith(_NOT_STYLE)}


def read_style(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A matplotlib style file, for :func:`style`.

    Raises
    ------
    InputError
        ``unreadable-style``: no such file, a line that matplotlib does not understand.
    """
    handler, logger = BufferingHandler(1000), logging.getLogger("matplotlib")
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    why = ""
    try:
        file = pathlib.Path(path)
        file.read_text(encoding="utf-8")
        note_input(file)
        settings = mpl.rc_params_from_file(file, use_default_template=False)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate
    if not why and handler.buffer:
        said = " ".join(handler.buffer[0].getMessage().partition("\nYou probably")[0].split())
        why = re.sub(r" in file .*, line (?=\d)", " in line ", said)
    if why:
        raise InputError(
            "unreadable-style",
            f"{os.fspath(path)} cannot be used as a matplotlib style: {why}",
            "give a file with one `name: value` a line, as matplotlib's own *.mplstyle files have",
        )
    return {name: settings[name] for name in settings if not name.startswith(_NOT_STYLE)}


def is_dark(paper: Any) -> bool:
    """Whether the background is dark, so that words have to be light; transparent is taken as white."""
    clear, colour = to_rgba(paper)[3] == 0, to_hex(paper)
    return not clear and contrast(colour, "#ffffff") > contrast(colour, "#000000")


def colour(name: str) -> str:
    """A colour of :data:`PALETTE` as it is on the paper of the style in force.

    On dark paper ``ring``, which parts a mark from what is below it, is the paper itself.
    """
    paper = mpl.rcParams["figure.facecolor"]
    dark = is_dark(paper)
    return to_hex(paper) if dark and name == "ring" else PALETTE[name][dark]


def panels(
    heights: Sequence[float],
    *,
    title: Sequence[str] = (),
    title_colour: str = "warn",
    key: float = 0.0,
    notes: Sequence[str] = (),
    left: float = 0.56,
    right: float = 0.36,
    gap: float = 0.1,
) -> tuple[Figure, list[Axes]]:
    """A figure of column width: a bold title, room for a key, panels over one axis, small lines at its foot.

    Parameters
    ----------
    heights
        Of the panels from above, inches; the other lengths are inches too.
    title, notes
        Lines of text; the title's is the colour in which a figure says that its law is not to be read.
    key
        Room between the title and the first panel.
    left, right, gap
        Beside the panels and between them; :func:`make_room` widens the left where labels need more.
    """
    top, bottom = 0.08 + LINE * len(title) + key, 0.38 + LINE * len(notes)
    height = top + sum(heights) + gap * (len(heights) - 1) + bottom
    figure = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(figure)
    figure.subplots_adjust(
        left / WIDTH, bottom / height, 1 - right / WIDTH, 1 - top / height, hspace=gap / np.mean(heights)
    )
    made = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    made[0].xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    for axes in made:
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    write(figure, 0.06, 0.05, "\n".join(title), color=colour(title_colour), weight="bold", size=7.5)
    write(figure, 0.06, height - 0.04, "\n".join(notes), va="bottom")
    return figure, list(made)


def write(figure: Figure, x: float, y: float, text: str, **look: Any) -> None:
    """Text with its top left corner ``x`` and ``y`` inches from the left and the top of the figure."""
    height = figure.get_size_inches()[1]
    figure.text(x / WIDTH, 1 - y / height, text, **{"va": "top", "color": colour("muted"), **look})


def mark(figure: Figure, x: Sequence[float], y: float, **look: Any) -> None:
    """A line or marks of a key, at places so many inches from the left and the top of the figure."""
    places = np.asarray(x) / WIDTH, np.full(len(x), 1 - y / figure.get_size_inches()[1])
    figure.add_artist(Line2D(*places, transform=figure.transFigure, solid_capstyle="butt", **look))


def make_room(figure: Figure) -> None:
    """Place the labels of the panels in one line, and move the panels in until these are on the paper.

    Called last, when the axes have their limits: what is found here matplotlib need not look for at every
    drawing.
    """
    canvas: Any = figure.canvas
    renderer = canvas.get_renderer()
    lowest, *_ = panels = [axes for axes in reversed(figure.axes) if axes.get_subplotspec() is not None]
    named = [axes for axes in panels if axes.get_ylabel()]
    edge = min((axes.yaxis.get_tightbbox(renderer).x0 for axes in named), default=2.0)
    beside = min((axes.yaxis.label.get_position()[0] for axes in named), default=0.0) - lowest.bbox.x0
    lowest.xaxis.get_tightbbox(renderer)
    below = lowest.xaxis.label.get_position()[1] - lowest.bbox.y0
    figure.subplots_adjust(left=figure.subplotpars.left + max(2.0 - edge, 0.0) / figure.bbox.width)
    lowest.xaxis.set_label_coords(0.5, below / lowest.bbox.height)
    for axes in named:
        axes.yaxis.set_label_coords(beside / axes.bbox.width, 0.5)


def figure_bytes(figure: Figure, kind: Kind, salt: str) -> bytes:
    """The figure as a file; ``salt`` makes the ids in an SVG its own, and they stay so.

    The same figure and salt give the same bytes: no date, no software, no random ids.
    """
    buffer, dpi, canvas = io.BytesIO(), figure.dpi, FigureCanvasAgg(figure)
    with style(), mpl.rc_context({"svg.hashsalt": salt}):
        if kind != "png":
            figure.savefig(buffer, format=kind, dpi=_DPI[kind], metadata=_METADATA[kind])
            written = buffer.getvalue()
            return minify(written.decode("utf-8")).encode("utf-8") if kind == "svg" else written
        figure.set_dpi(_DPI[kind])
        canvas.draw()
    figure.set_dpi(dpi)
    image = Image.fromarray(np.asarray(canvas.buffer_rgba()))
    # Without an alpha channel where nothing shines through: a fifth less to compress and to store.
    if image.getchannel("A").getextrema() == (255, 255):
        image = image.convert("RGB")
    image.save(buffer, "png", dpi=(_DPI[kind], _DPI[kind]))
    return buffer.getvalue()


def dots(
    axes: Axes, x: FloatArray, y: FloatArray, *, size: float, color: Any, alpha: float, zorder: float
) -> None:
    """Points ``size`` wide, all alike; above :data:`MOST_VECTOR_POINTS` an image in vector formats.

    Few points are one path of round ends, which takes a third of the bytes and the time of as many marks.
    Where there are many, how densely they lie shows in how they cover each other, and each is its own.
    """
    look: dict[str, Any] = {"color": color, "alpha": alpha, "zorder": zorder}
    if x.size > MOST_VECTOR_POINTS:
        axes.scatter(x, y, s=size**2, linewidths=0, rasterized=True, **look)
        return
    ends = np.repeat(np.column_stack([x, y]), 2, axis=0)
    ends[1::2, 0] += 1e-5 * (float(np.ptp(x)) or 1.0)
    path = Path(ends, np.tile([Path.MOVETO, Path.LINETO], x.size))
    path.should_simplify = False
    drawn = PathPatch(path, fill=False, linewidth=size, capstyle="round", snap=False, **look)
    # As add_patch does, less its search of every segment for bends.
    axes.add_artist(drawn)
    axes.update_datalim(ends[::2])


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
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = [min(max(place, low), high) for place in places]
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + gap)
    for i in reversed(order):
        moved[i] = min(moved[i], high)
        high = moved[i] - gap
    return moved
