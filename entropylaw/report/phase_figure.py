"""The phases of one run at column width: both curves, the smooth decays, and where the boundaries may be."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.phases import RunPhases
from entropylaw.report import plotting as p
from entropylaw.report.numbers import format_number, format_percent
from entropylaw.report.palette import as_text, light
from entropylaw.report.phasewords import (
    Curves,
    cautions_counted,
    curves_of,
    does,
    sees_nothing,
    verdict_words,
)
from entropylaw.report.printable import wrapped
from entropylaw.results.columns import SEMANTIC
from entropylaw.results.phases import CurvePhases

COLOURS = {"planning": light("vermilion"), "execution": light("blue"), "aggregate": p.ENTROPY}
"""Vermilion and blue, which differ in lightness too; purple for all tokens."""

SHORT = {"planning": "planning", "execution": "execution", "aggregate": "all"}

_LINE, _KEY, _BODY, _REST, _STRIP, _GAP, _BOTTOM = 0.14, 0.13, 1.3, 0.62, 0.2, 0.07, 0.36
_LEFT, _RIGHT = 0.56, 0.1
_SHARP = 0.1
"""Share of the run: a boundary that may be anywhere in more of it does not fill its strip."""

_DASHED: Any = (0, (3, 2))


def phase_figure(run: RunPhases) -> Figure:
    """The curves with their bands, one smooth decay dashed, and the distribution of every boundary.

    A curve without a boundary has its smooth decay as a solid line, and no band. The panel in the middle has
    the same less the smooth decay, which is what the test looks at. A strip a curve holds the probability a
    step of the boundary's place, all to one scale; a curve without a boundary says so there, and which rise
    would have been seen. Places that were not tried are grey. The verdict is the title.

    Raises
    ------
    ValueError
        The run has no phases.
    """
    curves = curves_of(run)
    if run.phases is None or not curves:
        raise ValueError("a run without phases has no figure")
    with p.style():
        title = wrapped(p.shown(verdict_words(run) + cautions_counted(run)), 50)
        keys = [name if curve.found else f"{name} (smooth decay)" for curve, name in curves]
        if any(curve.found for curve, _ in curves):
            keys.append(f"one smooth decay (bands: {format_percent(run.phases.level)})")
        top = 0.08 + _LINE * len(title) + 0.05 + _KEY * len(keys) + 0.06
        strips = len(curves) * (_STRIP + _GAP)
        height = top + _BODY + _GAP + _REST + strips + _BOTTOM
        figure = p.new_figure(height)
        p.write_lines(figure, 0.06, title, _LINE, weight="bold", size=7.5)
        _keys(figure, curves, keys, 0.11 + _LINE * len(title))
        axes = p.add_axes(figure, left=_LEFT, right=_RIGHT, bottom=height - top - _BODY, top=top)
        rest = p.add_axes(figure, left=_LEFT, right=_RIGHT, bottom=_BOTTOM + strips, top=top + _BODY + _GAP)
        for curve, _ in curves:
            _curve(axes, curve)
        _limits(axes, curves)
        rest.sharex(axes)
        # What the smooth decays leave over; bands that run far out of the points are cut.
        left = []
        for curve, _ in curves:
            _shape(rest, curve, curve.decay)
            left += [line - curve.decay for line in (curve.entropy, *([curve.fitted] if curve.found else []))]
        whole = np.concatenate(left)
        rest.set_ylim(*p.padded(float(whole.min()), float(whole.max()), 0.1, 0.1))
        rest.axhline(0.0, color=p.INK, linewidth=0.8, linestyle=_DASHED, zorder=6)
        axes.set_ylabel(_unit(run))
        rest.set_ylabel("less decay")
        for above in (axes, rest):
            above.tick_params(labelbottom=False)
        # The probability a step that fills a strip: the highest there is, or an even one over _SHARP.
        span = max(curve.last_step for curve, _ in curves) - min(curve.first_step for curve, _ in curves)
        tallest = max([1.0 / (_SHARP * span), *(_a_step(curve).max() for curve, _ in curves if curve.found)])
        for i, (curve, name) in enumerate(curves):
            bottom = _BOTTOM + (len(curves) - 1 - i) * (_STRIP + _GAP)
            label = "plans" if name.startswith(SEMANTIC) else SHORT[curve.name]
            below = _strip(axes, curve, label, bottom, float(tallest))
            below.tick_params(labelbottom=i == len(curves) - 1, bottom=i == len(curves) - 1)
        below.set_xlabel("step (strips: boundary's place; grey: not tried)", labelpad=2)
        p.make_room(figure)
        return figure


def draw_on(axes: Axes, run: RunPhases) -> None:
    """The curves on axes of anybody's; a bar in a curve's colour below lies along its boundary's interval."""
    curves = curves_of(run)
    for curve, _ in curves:
        _curve(axes, curve)
    _limits(axes, curves)
    bottom: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "zorder": 7}
    for i, (curve, name) in enumerate(curves):
        colour = COLOURS[curve.name]
        if curve.found:
            for low, high in curve.boundary.intervals:
                y = 0.02 + 0.025 * i
                axes.plot([low, high], [y, y], color=colour, linewidth=2.5, solid_capstyle="butt", **bottom)
        found = does(curve) if curve.found else "no boundary found"
        axes.plot([], [], color=colour, label=p.shown(f"{name}: {found}"))
    axes.legend(frameon=False, fontsize=7)
    axes.set_xlabel("step")
    axes.set_ylabel(_unit(run))


def _unit(run: RunPhases) -> str:
    """What the axis shows; two different entropies are never called by the name of one."""
    whats = [column.what for column in (run.planning_column, run.execution_column) if column is not None]
    return "entropy (nats)" if SEMANTIC in whats else "token entropy (nats)"


def _keys(figure: Figure, curves: Curves, keys: list[str], y: float) -> None:
    """One line a curve in its colour, and what the dashes are, where there are any."""
    colours = [COLOURS[curve.name] for curve, _ in curves] + [p.INK]
    for i, (key, colour) in enumerate(zip(keys, colours, strict=False)):
        at, decay = y + i * _KEY, i == len(curves)
        look = {"linewidth": 0.8 if decay else 1.3, "linestyle": _DASHED if decay else "-"}
        p.stroke(figure, (0.08, at + 0.055), (0.28, at + 0.055), color=colour, **look)
        p.write(figure, 0.34, at, p.shown(key), size=7.0, color=p.MUTED if decay else as_text(colour))


def _curve(axes: Axes, curve: CurvePhases) -> None:
    """Points, and the decay without a boundary; where one was found also the curve that has it."""
    _shape(axes, curve, np.zeros(curve.n))
    dashed: dict[str, Any] = {"color": p.INK, "linewidth": 0.8, "linestyle": _DASHED, "zorder": 6}
    solid: dict[str, Any] = {"color": COLOURS[curve.name], "linewidth": 1.1, "zorder": 5}
    axes.plot(curve.step, curve.decay, **(dashed if curve.found else solid))


def _shape(axes: Axes, curve: CurvePhases, less: p.FloatArray) -> None:
    """The points, and the curve with its boundary and band where it has one, less something."""
    colour = COLOURS[curve.name]
    p.dots(axes, curve.step, curve.entropy - less, size=1.6, color=colour, alpha=0.35, zorder=2)
    if not curve.found:
        return
    band: dict[str, Any] = {"color": colour, "alpha": 0.22, "linewidth": 0, "zorder": 3}
    axes.fill_between(curve.step, curve.low - less, curve.high - less, **band)
    axes.plot(curve.step, curve.fitted - less, color=colour, linewidth=1.1, zorder=5)


def _limits(axes: Axes, curves: Curves) -> None:
    """All points and lines; bands that run out of them are cut, and the axis starts at 0."""
    steps = np.concatenate([curve.step for curve, _ in curves])
    axes.set_xlim(*p.padded(float(steps.min()), float(steps.max()), 0.025, 0.025))
    shown = [c.entropy for c, _ in curves] + [c.decay for c, _ in curves]
    whole = np.concatenate([*shown, *(c.fitted for c, _ in curves if c.found)])
    axes.set_ylim(*p.padded(min(0.0, float(whole.min())), float(whole.max()), 0.02, 0.06))


def _a_step(curve: CurvePhases) -> p.FloatArray:
    """Probability of a boundary a step, at its places."""
    places = curve.boundary.places
    return np.asarray(curve.boundary.density / (places[1] - places[0]))


def _strip(above: Axes, curve: CurvePhases, label: str, bottom: float, tallest: float) -> Axes:
    """The boundary's distribution in the curve's colour, over a bar along its most probable steps."""
    colour = COLOURS[curve.name]
    figure: Any = above.figure
    top = figure.get_size_inches()[1] - bottom - _STRIP
    axes = p.add_axes(figure, left=_LEFT, right=_RIGHT, bottom=bottom, top=top)
    axes.sharex(above)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.set_yticks([])
    axes.set_ylim(0.0, 1.08)
    axes.set_ylabel(label, rotation=0, ha="right", va="center", color=as_text(colour), labelpad=3, size=7.0)
    boundary = curve.boundary
    left, right = above.get_xlim()
    first, last = boundary.searched or (float(boundary.places[0]), float(boundary.places[-1]))
    for one, other in ((left, first), (last, right)):
        axes.axvspan(one, other, color=p.GRID, linewidth=0, zorder=0)
    if not curve.found:
        middle: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        seen = "blind here" if sees_nothing(curve) else f"+{format_number(curve.detectable, 2)} would show"
        axes.text(0.5, 0.5, f"no boundary found ({seen})", color=as_text(colour), **middle)
        return axes
    density = _a_step(curve) / tallest
    axes.fill_between(boundary.places, 0.0, density, color=colour, alpha=0.3, linewidth=0)
    axes.plot(boundary.places, density, color=colour, linewidth=0.7)
    for low, high in boundary.intervals:
        axes.plot([low, high], [0.04, 0.04], color=colour, linewidth=2.0, solid_capstyle="butt")
    # How many steps the interval has, on the side where there is less of the distribution.
    total = sum(high - low for low, high in boundary.intervals)
    late = float(boundary.density @ boundary.places) > 0.5 * (first + last)
    x, side = (0.02, "left") if late else (0.98, "right")
    words = f"{format_percent(boundary.step.level)} in {format_number(total, 2)} steps"
    look: dict[str, Any] = {"ha": side, "va": "center", "color": as_text(colour)}
    axes.annotate(words, (x, 0.5), xycoords="axes fraction", **look)
    return axes
