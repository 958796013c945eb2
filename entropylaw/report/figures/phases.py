"""The phases of a run: both curves and their turning points; and the entropies of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from entropylaw.documents.document import Entry
from entropylaw.escaping import one_line
from entropylaw.report.describe import phases as words
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.palette import PALETTE
from entropylaw.report.numbers import format_number, format_percent
from entropylaw.results.columns import SEMANTIC
from entropylaw.results.phases import CurvePhases, PhaseFit, PhasesAcross, gaps
from entropylaw.results.tokens import TokenHistogram
from entropylaw.units import FORK, LOW

COLOURS = {"planning": "vermilion", "execution": "blue", "aggregate": "purple"}
"""Vermilion and blue, which differ in lightness too; purple for all tokens."""

HEAT = LinearSegmentedColormap.from_list("tokens", ["#ffffff", "#c7b3d6", PALETTE["purple"].light, "#24102f"])
"""White to nearly black through the colour of entropy, readable by lightness alone."""

_DASHED: Any = (0, (3, 2))

MOST_RUNS = 60
"""Runs in the figure of several."""


def phase_figure(run: Entry[PhaseFit]) -> Figure:
    """The curves with their bands; where one turns to rise, the basin of its turning point and its rise.

    A strip per curve has the turning point with its interval, and the stretch in which a second fall begins,
    or the rise that would have been detected. The verdict is the title.

    Raises ValueError: the run has no phases.
    """
    curves = words.curves_of(run)
    if run.result is None or not curves:
        raise ValueError("a run without phases has no figure")
    title = p.wrapped(words.verdict_words(run) + words.cautions_counted(run), 50)
    solid = {"linewidth": 1.3}
    keys = [(COLOURS[c.name], t, [solid]) for c, t in curves]
    room: dict[str, Any] = {"title_colour": "ink", "left": 0.56, "right": 0.1, "gap": 0.07}
    heights = [1.9, *(0.2 for _ in curves)]
    with p.panels(heights, title=title, keys=keys, **room) as (figure, (axes, *strips)):
        _curves(axes, curves)
        axes.set_ylabel(_unit(run))
        for below, (curve, name) in zip(strips, curves, strict=True):
            label = "plans" if name.startswith(SEMANTIC) else curve.name.replace("aggregate", "all")
            _strip(below, curve, label)
        below.tick_params(bottom=True)
        bands = f"{format_percent(run.result.level)} intervals"
        below.set_xlabel(f"step (strips: turning point; {bands})", labelpad=2)
    return figure


def draw_on(axes: Axes, run: Entry[PhaseFit]) -> None:
    """The curves on given axes; a bar below in a curve's colour is the interval of its turning point."""
    curves = words.curves_of(run)
    _curves(axes, curves)
    bottom: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "zorder": 7}
    for i, (curve, name) in enumerate(curves):
        colour, y = p.colour(COLOURS[curve.name]), 0.02 + 0.025 * i
        if (turn := curve.turning_point) is not None:
            ends = np.array([turn.low, turn.high], dtype=float)
            axes.plot(ends, [y, y], color=colour, linewidth=2.5, solid_capstyle="butt", **bottom)
        axes.plot([], [], color=colour, label=p.shown(f"{name}: {words.does(curve)}"))
    axes.legend(frameon=False, fontsize=7)
    axes.set_xlabel("step")
    axes.set_ylabel(_unit(run))


def _unit(run: Entry[PhaseFit]) -> str:
    """The label of the axis; two different entropies are never called by the name of one."""
    whats = [run.columns[name].meaning.kind for name in ("planning", "execution") if name in run.columns]
    return "entropy (nats)" if SEMANTIC in whats else "token entropy (nats)"


def _curves(axes: Axes, curves: words.Curves) -> None:
    """Points, fitted curves and their bands.

    The limits include all points and lines; bands beyond them are cut, and the axis starts at 0.
    """
    shown = []
    for curve, _ in curves:
        colour = p.colour(COLOURS[curve.name])
        p.dots(axes, curve.step, curve.entropy, size=1.6, color=colour, alpha=0.35, zorder=2)
        # Neither is drawn inside a gap.
        ends = np.flatnonzero(gaps(curve.step)) + 1
        step, low, high, fitted = (
            np.insert(values, ends, np.nan) for values in (curve.step, curve.low, curve.high, curve.fitted)
        )
        axes.fill_between(step, low, high, color=colour, alpha=0.22, linewidth=0, zorder=3)
        axes.plot(step, fitted, color=colour, linewidth=1.1, zorder=5)
        shown += [curve.entropy, curve.fitted]
    axes.set_xlim(*p.limits(np.concatenate([curve.step for curve, _ in curves]), (), 0.0, 0.025, 0.025))
    axes.set_ylim(*p.limits(np.concatenate([[0.0], *shown]), (), 0.0, 0.02, 0.06))


def _strip(axes: Axes, curve: CurvePhases, label: str) -> None:
    """The turning point with its interval, and the stretch of the second fall, in the curve's colour."""
    name = COLOURS[curve.name]
    look: dict[str, Any] = {"color": p.colour(name, words=True), "va": "center", "transform": axes.transAxes}
    colour = p.colour(name)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(bottom=False)
    axes.set_yticks([])
    axes.set_ylim(0.0, 1.0)
    axes.text(-0.01, 0.5, label, ha="right", **look)
    if curve.second_fall is not None:
        axes.axvspan(*curve.second_fall, color=colour, alpha=0.25, linewidth=0)
    if (turn := curve.turning_point) is not None and curve.rise is not None:
        ends = np.array([turn.low, turn.high], dtype=float)
        axes.plot(ends, [0.5, 0.5], color=colour, linewidth=2.0, solid_capstyle="butt")
        axes.plot(float(turn), 0.5, color=colour, marker="o", markersize=3.5)
        text = f"+{format_number(curve.rise.value, 2)} nats"
        middle = 0.5 * float(curve.step[0] + curve.step[-1])
        x, side = (0.02, "left") if float(turn) > middle else (0.98, "right")
    elif curve.second_fall is not None:
        text, x, side = "a second fall", 0.02, "left"
    else:
        seen = "nothing detectable"
        if curve.detectable is not None:
            seen = f"detectable: +{format_number(curve.detectable, 2)} nats"
        text, x, side = f"no turn to rise ({seen})", 0.5, "center"
    axes.text(x, 0.5, text, ha=side, **look)


def turns_figure(across: PhasesAcross) -> Figure:
    """A row per run in which a curve turns to rise: the turning points with their intervals.

    At most :data:`MOST_RUNS` runs. Raises ValueError: there is none.
    """
    turned = [run for run in across.each if run.planning is not None or run.execution is not None]
    if not turned:
        raise ValueError("no curve turns to rise")
    shown, offsets = turned[:MOST_RUNS], {"planning": -0.15, "execution": 0.15}
    text = f"{len(turned)} of {across.runs} runs with a turn to rise"
    if len(shown) < len(turned):
        text += f", the first {MOST_RUNS}"
    title = p.wrapped(text, 50)
    keys = [(COLOURS[name], name, [{"linewidth": 1.3}]) for name in offsets]
    room: dict[str, Any] = {"title_colour": "ink", "left": 1.3, "right": 0.1, "keys": keys}
    with p.panels([0.25 + 0.2 * len(shown)], title=title, **room) as (figure, (axes,)):
        for name, offset in offsets.items():
            points = []
            for y, run in enumerate(shown):
                turn = getattr(run, name)
                if turn is not None:
                    points.append((y + offset, 100.0 * turn.low, 100.0 * turn.value, 100.0 * turn.high))
            height, low, value, high = np.reshape(np.array(points), (-1, 4)).T
            axes.hlines(height, low, high, color=p.colour(COLOURS[name]), linewidth=1.6)
            axes.plot(value, height, color=p.colour(COLOURS[name]), marker="o", markersize=3.5, linestyle="")
        axes.set_yticks(range(len(shown)), [p.shown(one_line(run.run)[:30]) for run in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlim(0.0, 100.0)
        axes.set_xlabel("turning point (% of the run)")
    return figure


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
