"""What the figures share: size, colours, type, axes, text that any font can show, and their files.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from logging.handlers import BufferingHandler
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import Collection
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgba, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.textpath import TextToPath
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from PIL import Image

from entropylaw.errors import InputError
from entropylaw.inputs import note_input
from entropylaw.report.palette import PALETTE, contrast, light
from entropylaw.report.svg import minify

FloatArray = NDArray[np.float64]

Kind = Literal["svg", "png", "pdf"]

WIDTH = 3.4
"""Inches: one column of a two-column paper."""

INK, MUTED, GRID = light("ink"), light("muted"), light("grid")
LAW, LAW_INVALID, WARNING = light("blue"), light("grey"), light("warn")
"""Grey where the law does not describe the run; a dark vermilion for what says so."""

ENTROPY, REWARD = light("purple"), light("blue")

MOST_VECTOR_POINTS = 300
"""Above this the points of an SVG become one image, so that a page stays below 300 kB."""

_SHADES = [colour.light for name, colour in PALETTE.items() if name.startswith("step-")]

_TWINS = {colour.light: colour.dark for name, colour in PALETTE.items() if name not in ("card", "ring")}

STEPS = LinearSegmentedColormap.from_list("steps", _SHADES, N=len(_SHADES))
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
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
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

TITLE: dict[str, Any] = {"color": WARNING, "weight": "bold", "size": 7.5}
"""How a figure says that its law is not to be read."""

_in_force: list[None] = []
"""One entry while a style is in force; empty where nothing is being drawn."""

_LETTERS = TextToPath()


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
    ours = _defaults() | _STYLE
    if is_dark(given.get("figure.facecolor", "white")):
        ours |= {name: _twin(value) for name, value in _STYLE.items() if name.endswith("color")}
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


def _twin(colour: Any) -> str:
    """A colour of ours as it is on dark paper; any other colour as it is."""
    shade = to_hex(colour)
    return _TWINS.get(shade, shade)


_PARTS = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")


def _onto_dark(figure: Figure) -> None:
    """Every colour of ours as it is on dark paper; the white that parts a mark from others is the paper."""
    paper = to_hex(figure.get_facecolor())
    shades = LinearSegmentedColormap.from_list("dark steps", [_TWINS[s] for s in _SHADES], N=len(_SHADES))
    boxes = [box for text in figure.findobj(Text) if (box := text.get_bbox_patch()) is not None]
    for artist in [*figure.findobj(), *boxes]:
        if isinstance(artist, ScalarMappable) and artist.get_cmap() is STEPS:
            artist.set_cmap(shades)
        parted = {"facecolor"} if artist in boxes else set()
        if isinstance(artist, Collection):
            parted = {"edgecolor"}
        elif isinstance(artist, Line2D) and artist.get_marker() in ("s", "D"):
            parted = {"markeredgecolor"}
        for part in _PARTS:
            if hasattr(artist, f"get_{part}") and hasattr(artist, f"set_{part}"):
                _turn(artist, part, paper if part in parted else "#ffffff")


def _turn(artist: Any, part: str, white: str) -> None:
    """A part of an artist in the colours of dark paper, where it is in ours; white as it is given."""
    found = to_rgba_array(getattr(artist, f"get_{part}")())
    turned = [white if to_hex(c) == "#ffffff" else _twin(c) for c in found]
    if turned != [to_hex(c) for c in found]:
        new = [to_rgba(c, alpha) for c, alpha in zip(turned, found[:, 3], strict=True)]
        getattr(artist, f"set_{part}")(new if isinstance(artist, Collection) else new[0])


def new_figure(height: float) -> Figure:
    """An empty figure of column width, ``height`` inches high."""
    figure = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(figure)
    return figure


def add_axes(figure: Figure, *, left: float, right: float, bottom: float, top: float) -> Axes:
    """Axes at so many inches from the figure's left, right, bottom and top."""
    width, height = figure.get_size_inches()
    box = (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    axes = figure.add_axes(box)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    return axes


def make_room(figure: Figure) -> None:
    """Place the axis labels beside the widest tick labels, and move the axes in until all is on the paper.

    Labels that stand upright are put in one line. Called last, when the axes have their limits: what is
    found here matplotlib need not look for at every drawing.
    """
    width, height = 72 * figure.get_size_inches()
    ticks = {axes: _beside(axes) for axes in figure.axes}
    upright = {axes: bool(axes.get_ylabel()) and axes.yaxis.label.get_rotation() == 90 for axes in ticks}
    in_line = max((beside for axes, beside in ticks.items() if upright[axes]), default=0.0)
    labels, missing = {}, 0.0
    for axes, beside in ticks.items():
        labels[axes] = (in_line if upright[axes] else beside) + axes.yaxis.labelpad
        size = _extent(axes.get_ylabel(), axes.yaxis.label.get_fontproperties())
        far = labels[axes] + size[1 if upright[axes] else 0] if axes.get_ylabel() else beside
        missing = max(missing, far + 1.5 - width * axes.get_position().x0)
    share = missing / width
    length = mpl.rcParams["xtick.major.size"] + mpl.rcParams["xtick.major.pad"]
    below = length + _extent("", _tick_font(mpl.rcParams["xtick.labelsize"]))[1]
    for axes, at in labels.items():
        place = axes.get_position()
        if share:
            axes.set_position((place.x0 + share, place.y0, place.width - share, place.height))
        axes.yaxis.set_label_coords(-at / (width * (place.width - share)), 0.5)
        tall = height * axes.get_position().height
        axes.xaxis.set_label_coords(0.5, -(below + axes.xaxis.labelpad) / tall)
    if is_dark(figure.get_facecolor()):
        _onto_dark(figure)


def _beside(axes: Axes) -> float:
    """Points that ticks and tick labels take to the left of the axes."""
    axis = axes.yaxis
    low, high = sorted(axis.get_view_interval())
    places = [place for place in axis.get_majorticklocs() if low <= place <= high]
    if not places or not axis.get_visible() or not axis.get_tick_params().get("labelleft", True):
        return 0.0
    font = _tick_font(mpl.rcParams["ytick.labelsize"])
    longest = max(_extent(text, font)[0] for text in axis.get_major_formatter().format_ticks(places))
    return float(longest + mpl.rcParams["ytick.major.size"] + mpl.rcParams["ytick.major.pad"])


def _tick_font(size: Any) -> FontProperties:
    return FontProperties(family=mpl.rcParams["font.family"], size=size)


def _extent(text: str, font: FontProperties) -> tuple[float, float]:
    """Width and height of one line; no line is lower than one with all kinds of letters."""
    width, height, _ = _LETTERS.get_text_width_height_descent(text or " ", font, False)
    return width, max(height, _LETTERS.get_text_width_height_descent("lp", font, False)[1])


def figure_bytes(figure: Figure, kind: Kind, salt: str) -> bytes:
    """The figure as a file; ``salt`` makes the ids in an SVG its own, and they stay so.

    The same figure and salt give the same bytes: no date, no software, no random ids.
    """
    buffer = io.BytesIO()
    with style():
        if kind == "png":
            return _png(figure)
        before, mpl.rcParams["svg.hashsalt"] = mpl.rcParams["svg.hashsalt"], salt
        try:
            figure.savefig(buffer, format=kind, dpi=_DPI[kind], metadata=_METADATA[kind])
        finally:
            mpl.rcParams["svg.hashsalt"] = before
    written = buffer.getvalue()
    return minify(written.decode("utf-8")).encode("utf-8") if kind == "svg" else written


def _png(figure: Figure) -> bytes:
    """Without an alpha channel where nothing shines through: a fifth less to compress and to store."""
    buffer, dpi = io.BytesIO(), figure.dpi
    figure.set_dpi(_DPI["png"])
    try:
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        image = Image.fromarray(np.asarray(canvas.buffer_rgba()))
    finally:
        figure.set_dpi(dpi)
    if image.getchannel("A").getextrema() == (255, 255):
        image = image.convert("RGB")
    image.save(buffer, "png", dpi=(_DPI["png"], _DPI["png"]))
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


def inches(figure: Figure, x: float, y: float) -> tuple[float, float]:
    """A place in inches from the left and the top as figure coordinates."""
    width, height = figure.get_size_inches()
    return x / width, 1.0 - y / height


def write(figure: Figure, x: float, y: float, text: str, **kwargs: Any) -> None:
    """Text with its top left corner so many inches from the figure's left and top."""
    figure.text(*inches(figure, x, y), text, **{"va": "top", "ha": "left", **kwargs})


def write_lines(figure: Figure, y: float, lines: Iterable[str], step: float = LINE, **look: Any) -> None:
    """Lines below one another, the first so many inches from the top."""
    for i, line in enumerate(lines):
        write(figure, 0.06, y + i * step, line, **look)


def write_notes(figure: Figure, notes: Sequence[str]) -> None:
    """Small lines at the foot of the figure."""
    height = figure.get_size_inches()[1]
    for i, note in enumerate(notes):
        write(figure, 0.06, height - 0.04 - LINE * (len(notes) - i), note, size=7.0, color=MUTED)


def patch(figure: Figure, x: float, y: float, wide: float, **look: Any) -> None:
    """A small area of a key, so many inches from the figure's left and top."""
    width, height = figure.get_size_inches()
    look |= {"transform": figure.transFigure, "linewidth": 0}
    figure.add_artist(Rectangle(inches(figure, x, y + 0.1), wide / width, 0.085 / height, **look))


def stroke(figure: Figure, start: tuple[float, float], end: tuple[float, float], **look: Any) -> None:
    """A line of a key between two places in inches from the figure's left and top."""
    (x0, y0), (x1, y1) = inches(figure, *start), inches(figure, *end)
    figure.add_artist(Line2D([x0, x1], [y0, y1], transform=figure.transFigure, **look))


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
