"""The phases of one run at column width: both curves, the smooth decays, and where the boundaries may be."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.phases import RunPhases
from entropylaw.report import phasewords
from entropylaw.report import plotting as p
from entropylaw.report.numbers import format_number, format_percent
from entropylaw.report.printable import wrapped
from entropylaw.results.columns import SEMANTIC
from entropylaw.results.phases import CurvePhases

COLOURS = {"planning": "vermilion", "execution": "blue", "aggregate": "purple"}
"""Vermilion and blue, which differ in lightness too; purple for all tokens."""

_DASHED: Any = (0, (3, 2))


def phase_figure(run: RunPhases) -> Figure:
    """The curves with their bands, one smooth decay dashed, and the distribution of every boundary.

    A curve without a boundary has its smooth decay as a solid line, and no band. The panel in the middle has
    the same less the smooth decay, which is what the test looks at. A strip per curve holds the probability
    per step of the boundary's place, all to one scale; a curve without a boundary says so there, and which
    rise would have been seen. Places that were not tried are grey. The verdict is the title.

    Raises ValueError: the run has no phases.
    """
    curves = phasewords.curves_of(run)
    if run.phases is None or not curves:
        raise ValueError("a run without phases has no figure")
    title = wrapped(p.shown(phasewords.verdict_words(run) + phasewords.cautions_counted(run)), 50)
    # One line per curve in its colour, and what the dashes are, where there are any.
    solid, dashed = {"linewidth": 1.3}, {"linewidth": 0.8, "linestyle": _DASHED}
    keys = [(COLOURS[c.name], t if c.found else f"{t} (smooth decay)", [solid]) for c, t in curves]
    if any(curve.found for curve, _ in curves):
        keys.append(("ink", f"one smooth decay (bands: {format_percent(run.phases.level)})", [dashed]))
    room: dict[str, Any] = {"title_colour": "ink", "left": 0.56, "right": 0.1, "gap": 0.07}
    heights = [1.3, 0.62, *(0.2 for _ in curves)]
    with p.panels(heights, title=title, keys=keys, **room) as (figure, (axes, rest, *strips)):
        _curves(axes, curves)
        # What the smooth decays leave over; bands that run far out of the points are cut.
        left = []
        for curve, _ in curves:
            _shape(rest, curve, curve.decay)
            left += [line - curve.decay for line in (curve.entropy, *([curve.fitted] if curve.found else []))]
        rest.set_ylim(*p.limits(np.concatenate(left), (), 0.0, 0.1, 0.1))
        rest.axhline(0.0, color=p.colour("ink"), linewidth=0.8, linestyle=_DASHED, zorder=6)
        axes.set_ylabel(_unit(run))
        rest.set_ylabel("less decay")
        # The probability per step that fills a strip: the highest there is, or an even one over a tenth of
        # the run. A boundary that may be anywhere in more of it does not fill its strip.
        span = max(curve.last_step for curve, _ in curves) - min(curve.first_step for curve, _ in curves)
        places = [curve.boundary.places for curve, _ in curves]
        likely = [c.boundary.density / (at[1] - at[0]) for (c, _), at in zip(curves, places, strict=True)]
        found = [density.max() for density, (c, _) in zip(likely, curves, strict=True) if c.found]
        for below, (curve, name), density in zip(strips, curves, likely, strict=True):
            label = "plans" if name.startswith(SEMANTIC) else curve.name.replace("aggregate", "all")
            _strip(below, curve, label, density / max([10.0 / span, *found]))
        below.tick_params(bottom=True)
        below.set_xlabel("step (strips: boundary's place; grey: not tried)", labelpad=2)
    return figure


def draw_on(axes: Axes, run: RunPhases) -> None:
    """The curves on axes of anybody's; a bar in a curve's colour below lies along its boundary's interval."""
    curves = phasewords.curves_of(run)
    _curves(axes, curves)
    bottom: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "zorder": 7}
    for i, (curve, name) in enumerate(curves):
        colour, y = p.colour(COLOURS[curve.name]), 0.02 + 0.025 * i
        for interval in curve.boundary.intervals if curve.found else ():
            axes.plot(interval, [y, y], color=colour, linewidth=2.5, solid_capstyle="butt", **bottom)
        found = phasewords.does(curve) if curve.found else "no boundary found"
        axes.plot([], [], color=colour, label=p.shown(f"{name}: {found}"))
    axes.legend(frameon=False, fontsize=7)
    axes.set_xlabel("step")
    axes.set_ylabel(_unit(run))


def _unit(run: RunPhases) -> str:
    """What the axis shows; two different entropies are never called by the name of one."""
    whats = [column.what for column in (run.planning_column, run.execution_column) if column is not None]
    return "entropy (nats)" if SEMANTIC in whats else "token entropy (nats)"


def _curves(axes: Axes, curves: phasewords.Curves) -> None:
    """Points, and the decay without a boundary; where one was found also the curve that has it.

    The limits hold all points and lines; bands that run out of them are cut, and the axis starts at 0.
    """
    shown = []
    for curve, _ in curves:
        _shape(axes, curve, np.zeros(curve.n))
        look: dict[str, Any] = {"color": p.colour(COLOURS[curve.name]), "linewidth": 1.1, "zorder": 5}
        if curve.found:
            look = {"color": p.colour("ink"), "linewidth": 0.8, "linestyle": _DASHED, "zorder": 6}
        axes.plot(curve.step, curve.decay, **look)
        shown += [curve.entropy, curve.decay, *([curve.fitted] if curve.found else [])]
    axes.set_xlim(*p.limits(np.concatenate([curve.step for curve, _ in curves]), (), 0.0, 0.025, 0.025))
    axes.set_ylim(*p.limits(np.concatenate([[0.0], *shown]), (), 0.0, 0.02, 0.06))


def _shape(axes: Axes, curve: CurvePhases, less: p.FloatArray) -> None:
    """The points, and the curve with its boundary and band where it has one, less something."""
    colour = p.colour(COLOURS[curve.name])
    p.dots(axes, curve.step, curve.entropy - less, size=1.6, color=colour, alpha=0.35, zorder=2)
    if curve.found:
        band: dict[str, Any] = {"color": colour, "alpha": 0.22, "linewidth": 0, "zorder": 3}
        axes.fill_between(curve.step, curve.low - less, curve.high - less, **band)
        axes.plot(curve.step, curve.fitted - less, color=colour, linewidth=1.1, zorder=5)


def _strip(axes: Axes, curve: CurvePhases, label: str, density: p.FloatArray) -> None:
    """The boundary's distribution in the curve's colour, over a bar along its most probable steps."""
    name, boundary, (left, right) = COLOURS[curve.name], curve.boundary, axes.get_xlim()
    words: dict[str, Any] = {"color": p.colour(name, words=True), "va": "center", "transform": axes.transAxes}
    colour = p.colour(name)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(bottom=False)
    axes.set_yticks([])
    axes.set_ylim(0.0, 1.08)
    axes.text(-0.01, 0.5, label, ha="right", **words)
    first, last = boundary.searched or (float(boundary.places[0]), float(boundary.places[-1]))
    for one, other in ((left, first), (last, right)):
        axes.axvspan(one, other, color=p.colour("grid"), linewidth=0, zorder=0)
    if not curve.found:
        rise = format_number(curve.detectable, 2)
        seen = "blind here" if phasewords.sees_nothing(curve) else f"+{rise} would show"
        axes.text(0.5, 0.5, f"no boundary found ({seen})", ha="center", **words)
        return
    axes.fill_between(boundary.places, 0.0, density, color=colour, alpha=0.3, linewidth=0)
    axes.plot(boundary.places, density, color=colour, linewidth=0.7)
    for interval in boundary.intervals:
        axes.plot(interval, [0.04, 0.04], color=colour, linewidth=2.0, solid_capstyle="butt")
    # How many steps the interval has, on the side where there is less of the distribution.
    steps = format_number(sum(high - low for low, high in boundary.intervals), 2)
    late = float(boundary.density @ boundary.places) > 0.5 * (first + last)
    x, side = (0.02, "left") if late else (0.98, "right")
    axes.text(x, 0.5, f"{format_percent(boundary.step.level)} in {steps} steps", ha=side, **words)
