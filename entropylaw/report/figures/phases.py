"""The phases of a run: both curves, the smooth decays, the change points; and the entropies of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from entropylaw.documents.document import RunPhases
from entropylaw.escaping import wrapped
from entropylaw.report.describe import phases as words
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.palette import PALETTE
from entropylaw.report.numbers import format_number, format_percent
from entropylaw.results.arrays import FloatArray
from entropylaw.results.columns import FORK, LOW, SEMANTIC, TokenHistogram
from entropylaw.results.phases import CurvePhases

COLOURS = {"planning": "vermilion", "execution": "blue", "aggregate": "purple"}
"""Vermilion and blue, which differ in lightness too; purple for all tokens."""

HEAT = LinearSegmentedColormap.from_list("tokens", ["#ffffff", "#c7b3d6", PALETTE["purple"].light, "#24102f"])
"""White to nearly black through the colour of entropy, readable by lightness alone."""

_DASHED: Any = (0, (3, 2))


def phase_figure(run: RunPhases) -> Figure:
    """The curves with their bands, one smooth decay dashed, and the distribution of every change point.

    A curve without a change point has its smooth decay as a solid line, and no band. The panel in the middle
    has the residuals of the smooth decay, which the test uses. A strip per curve has the probability per step
    of the change point, all to one scale; a curve without one has the detectable rise there. Steps that were
    not searched are grey. The verdict is the title.

    Raises ValueError: the run has no phases.
    """
    curves = words.curves_of(run)
    if run.phases is None or not curves:
        raise ValueError("a run without phases has no figure")
    title = wrapped(p.shown(words.verdict_words(run) + words.cautions_counted(run)), 50)
    # One line per curve in its colour, and the meaning of the dashes, where there are any.
    solid, dashed = {"linewidth": 1.3}, {"linewidth": 0.8, "linestyle": _DASHED}
    keys = [(COLOURS[c.name], t if c.found else f"{t} (smooth decay)", [solid]) for c, t in curves]
    with_change = [curve for curve, _ in curves if curve.found]
    if with_change:
        keys.append(("ink", f"one smooth decay (bands: {format_percent(run.phases.level)})", [dashed]))
    room: dict[str, Any] = {"title_colour": "ink", "left": 0.56, "right": 0.1, "gap": 0.07}
    heights = [1.3, 0.62, *(0.2 for _ in curves)]
    with p.panels(heights, title=title, keys=keys, **room) as (figure, (axes, rest, *strips)):
        _curves(axes, curves)
        # Residuals of the smooth decays; bands far from the points are cut.
        for curve, _ in curves:
            _shape(rest, curve, curve.decay)
        residuals = [curve.entropy - curve.decay for curve, _ in curves]
        residuals += [curve.fitted - curve.decay for curve in with_change]
        rest.set_ylim(*p.limits(np.concatenate(residuals), (), 0.0, 0.1, 0.1))
        rest.axhline(0.0, color=p.colour("ink"), linewidth=0.8, linestyle=_DASHED, zorder=6)
        axes.set_ylabel(_unit(run))
        rest.set_ylabel("less decay")
        # The probability per step that fills a strip: the highest there is, or an even one over a tenth of
        # the run. A change point that may be anywhere in more of it does not fill its strip.
        first, last = words.range_of(curves)
        per_step = [
            curve.change_point.density / (curve.change_point.places[1] - curve.change_point.places[0])
            for curve, _ in curves
        ]
        found = [density.max() for density, (c, _) in zip(per_step, curves, strict=True) if c.found]
        for below, (curve, name), density in zip(strips, curves, per_step, strict=True):
            label = "plans" if name.startswith(SEMANTIC) else curve.name.replace("aggregate", "all")
            _strip(below, curve, label, density / max([10.0 / (last - first), *found]))
        below.tick_params(bottom=True)
        below.set_xlabel("step (strips: change point; grey: not searched)", labelpad=2)
    return figure


def draw_on(axes: Axes, run: RunPhases) -> None:
    """The curves on given axes; a bar below in a curve's colour is the interval of its change point."""
    curves = words.curves_of(run)
    _curves(axes, curves)
    bottom: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "zorder": 7}
    for i, (curve, name) in enumerate(curves):
        colour, y = p.colour(COLOURS[curve.name]), 0.02 + 0.025 * i
        for interval in curve.change_point.intervals if curve.found else ():
            axes.plot(interval, [y, y], color=colour, linewidth=2.5, solid_capstyle="butt", **bottom)
        found = words.does(curve) if curve.found else "no change point"
        axes.plot([], [], color=colour, label=p.shown(f"{name}: {found}"))
    axes.legend(frameon=False, fontsize=7)
    axes.set_xlabel("step")
    axes.set_ylabel(_unit(run))


def _unit(run: RunPhases) -> str:
    """The label of the axis; two different entropies are never called by the name of one."""
    whats = [column.what for column in (run.planning_column, run.execution_column) if column is not None]
    return "entropy (nats)" if SEMANTIC in whats else "token entropy (nats)"


def _curves(axes: Axes, curves: words.Curves) -> None:
    """Points, the decay without a change point, and the curve with one where it was found.

    The limits include all points and lines; bands beyond them are cut, and the axis starts at 0.
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


def _shape(axes: Axes, curve: CurvePhases, less: FloatArray) -> None:
    """The points, and the curve with its change point and band where it has one, less a baseline."""
    colour = p.colour(COLOURS[curve.name])
    p.dots(axes, curve.step, curve.entropy - less, size=1.6, color=colour, alpha=0.35, zorder=2)
    if curve.found:
        band: dict[str, Any] = {"color": colour, "alpha": 0.22, "linewidth": 0, "zorder": 3}
        axes.fill_between(curve.step, curve.low - less, curve.high - less, **band)
        axes.plot(curve.step, curve.fitted - less, color=colour, linewidth=1.1, zorder=5)


def _strip(axes: Axes, curve: CurvePhases, label: str, density: FloatArray) -> None:
    """The distribution of the change point in the curve's colour, over a bar along its probable steps."""
    name, change, (left, right) = COLOURS[curve.name], curve.change_point, axes.get_xlim()
    look: dict[str, Any] = {"color": p.colour(name, words=True), "va": "center", "transform": axes.transAxes}
    colour = p.colour(name)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(bottom=False)
    axes.set_yticks([])
    axes.set_ylim(0.0, 1.08)
    axes.text(-0.01, 0.5, label, ha="right", **look)
    first, last = change.searched or (float(change.places[0]), float(change.places[-1]))
    for one, other in ((left, first), (last, right)):
        axes.axvspan(one, other, color=p.colour("grid"), linewidth=0, zorder=0)
    if not curve.found:
        rise = format_number(curve.detectable, 2)
        power = "no power here" if words.has_no_power(curve) else f"detectable: +{rise}"
        axes.text(0.5, 0.5, f"no change point ({power})", ha="center", **look)
        return
    axes.fill_between(change.places, 0.0, density, color=colour, alpha=0.3, linewidth=0)
    axes.plot(change.places, density, color=colour, linewidth=0.7)
    for interval in change.intervals:
        axes.plot(interval, [0.04, 0.04], color=colour, linewidth=2.0, solid_capstyle="butt")
    # The number of steps in the interval, on the side with less of the distribution.
    steps = format_number(sum(high - low for low, high in change.intervals), 2)
    late = float(change.density @ change.places) > 0.5 * (first + last)
    x, side = (0.02, "left") if late else (0.98, "right")
    axes.text(x, 0.5, f"{format_percent(change.step.level)} in {steps} steps", ha=side, **look)


def token_figure(tokens: TokenHistogram) -> Figure:
    """A column per step, a row per band of entropy; below, shares of the fork and of tokens below 0.01 nats.

    The axis of entropies is that of their fourth root, in which the bands are equally high, so that a
    colour is the same density everywhere. Dashed are the two thresholds of arXiv:2506.01939.
    """
    step, most = tokens.step, float(tokens.share.max())
    highest = int(np.flatnonzero(tokens.share.max(axis=0))[-1]) + 1
    top = float(tokens.edges[highest])
    # Steps are as wide as they are apart; the first and the last end where they are.
    sides = np.concatenate([step[:1], 0.5 * (step[1:] + step[:-1]), step[-1:]])
    if step.size == 1:
        sides = np.array([step[0] - 0.5, step[0] + 0.5])
    # 0 and as many as have room for their labels, from above.
    ticks, above = [0.0], top**0.25 * 1.1
    for tick in (8.0, 4.0, 2.0, 1.0, 0.5, 0.1, 0.01, 0.001, 0.0001):
        low = tick**0.25
        if tick < top and min(low, above - low) > 0.07 * top**0.25:
            ticks.append(tick)
            above = low
    with p.panels([1.82, 0.78], head=0.44, right=0.1, gap=0.4) as (figure, (heat, shares)):
        look: dict[str, Any] = {"cmap": HEAT, "norm": PowerNorm(0.5, 0.0, most), "rasterized": True}
        bands = tokens.edges[: highest + 1] ** 0.25
        drawn = heat.pcolormesh(sides, bands, tokens.share[:, :highest].T, linewidth=0, **look)
        for edge in (edge for edge in (LOW, FORK) if edge < top):
            heat.axhline(edge**0.25, color=p.colour("ink"), linewidth=0.6, linestyle=_DASHED)
        heat.set_yticks([tick**0.25 for tick in ticks], list(map("{:g}".format, ticks)))
        heat.grid(visible=False)
        heat.set_xlim(*p.padded(sides[0], sides[-1], 0.025, 0.025))
        heat.set_ylim(0.0, top**0.25)
        heat.set_ylabel("entropy of a token (nats)")
        # The meaning of the colours and the dashes.
        p.write(figure, 0.06, 0.06, "share of a step's tokens in a band")
        p.write(figure, 0.06, 0.34, f"dashed: {LOW:g} and {FORK:g} nats, the thresholds of arXiv:2506.01939")
        width, height = figure.get_size_inches()
        box = figure.add_axes((1.95 / width, 1 - 0.17 / height, 1.2 / width, 0.09 / height))
        bar: Any = figure.colorbar(drawn, cax=box, orientation="horizontal")
        bar.set_ticks([0.0, most / 4, most], labels=["0", f"{25 * most:.2g} %", f"{100 * most:.2g} %"])
        bar.outline.set_linewidth(0.5)
        box.tick_params(size=2, pad=1.5)
        # Two shares, each named in its colour above the panel.
        look = {"linewidth": 1.1, "marker": "o" if step.size <= 60 else "", "markersize": 2.5}
        for y, values, name, text in (
            (1.33, tokens.top20, "vermilion", "of all entropy, in the fifth of tokens with most of it"),
            (1.17, tokens.low, "blue", "of tokens, below 0.01 nats"),
        ):
            shares.plot(step, 100 * values, color=p.colour(name), **look)
            colour = p.colour(name, words=True)
            shares.text(0.02, y, text, transform=shares.transAxes, va="center", color=colour)
        shares.set_ylim(0, 103)
        shares.set_yticks([0, 25, 50, 75, 100])
        shares.set_ylabel("share (%)")
    return figure
