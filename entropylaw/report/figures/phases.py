"""The phases of a run and of several: the curves, when they rise and settle."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.document import Entry
from entropylaw.escaping import counted
from entropylaw.report.describe import phases as words
from entropylaw.report.figures import plotting as p
from entropylaw.report.numbers import format_number
from entropylaw.results.phases import CURVES, CurvePhases, PhaseFit, PhasesAcross, gaps

COLOURS = {"planning": "vermilion", "execution": "blue", "semantic": "green", "aggregate": "purple"}
"""Vermilion and blue, which differ in lightness too; purple for all tokens."""

_SHORT = {"semantic": "plans", "aggregate": "all"}

MOST_LINES = 60
"""Runs that are drawn as lines: an index of a thousand stays small."""


def phase_figure(run: Entry[PhaseFit]) -> Figure:
    """The curves with their bands; a strip per curve, in its colour, says what it does, and when.

    Raises ValueError: the run has no phases.
    """
    if run.result is None:
        raise ValueError("a run without phases has no figure")
    curves = run.result.curves
    title = words.headline(run)
    cautions = len(run.result.cautions)
    if cautions:
        title += f" ({counted(cautions, 'caution')})"
    with p.panels(
        [1.9, 0.27 * len(curves)],
        title=p.wrapped(title, 50),
        title_colour="ink",
        left=0.56,
        right=0.1,
        gap=0.07,
    ) as (figure, (axes, strips)):
        _curves(axes, curves)
        axes.set_ylabel("entropy (nats)")
        strips.grid(visible=False)
        strips.spines["left"].set_visible(False)
        strips.set(yticks=[], ylim=(len(curves) - 0.5, -0.5))
        for row, curve in enumerate(curves):
            _strip(strips, row, curve)
        strips.set_xlabel("step", labelpad=2)
    return figure


def draw_on(axes: Axes, run: Entry[PhaseFit]) -> None:
    """The curves on given axes; a bar below in a curve's colour is the interval of its onset."""
    assert run.result is not None
    _curves(axes, run.result.curves)
    for i, curve in enumerate(run.result.curves):
        colour = p.colour(COLOURS[curve.name])
        y = 0.02 + 0.025 * i
        if curve.onset is not None:
            axes.plot(
                np.array([curve.onset.low, curve.onset.high], dtype=float),
                [y, y],
                color=colour,
                linewidth=2.5,
                solid_capstyle="butt",
                transform=axes.get_xaxis_transform(),
                zorder=7,
            )
        label = p.shown(f"{words.NAMES[curve.name]}: {words.word(curve)}")
        axes.plot([], [], color=colour, label=label)
    axes.legend(frameon=False, fontsize=7)
    axes.set(xlabel="step", ylabel="entropy (nats)")


def _curves(axes: Axes, curves: tuple[CurvePhases, ...]) -> None:
    """Points, fitted curves and their bands, from an entropy of 0 on."""
    for curve in curves:
        colour = p.colour(COLOURS[curve.name])
        p.dots(axes, curve.step, curve.entropy, size=1.6, color=colour, alpha=0.35, zorder=2)
        # Neither is drawn inside a gap.
        ends = np.flatnonzero(gaps(curve.step)) + 1
        step, low, high, fitted = (
            np.insert(values, ends, np.nan) for values in (curve.step, curve.low, curve.high, curve.fitted)
        )
        axes.fill_between(step, low, high, color=colour, alpha=0.22, linewidth=0, zorder=3)
        axes.plot(step, fitted, color=colour, linewidth=1.1, zorder=5)
    axes.set_xlim(*p.limits(np.concatenate([curve.step for curve in curves]), (), 0.0, 0.025, 0.025))
    entropies = [np.zeros(1), *(curve.entropy for curve in curves)]
    axes.set_ylim(*p.limits(np.concatenate(entropies), (), 0.0, 0.02, 0.06))


def _strip(axes: Axes, row: int, curve: CurvePhases) -> None:
    """In a row: the onset or the step of settling with its interval, sharp rises, and what the curve does."""
    name = COLOURS[curve.name]
    colour = p.colour(name)
    words_colour = p.colour(name, words=True)
    across = axes.get_yaxis_transform()
    short_name = _SHORT.get(curve.name, curve.name)
    axes.text(-0.01, row, short_name, ha="right", va="center", color=words_colour, transform=across)
    marks = list(curve.eruption_steps)
    for step in marks:
        axes.plot(step, row, color=colour, marker="^", markersize=4.5)
    text = words.word(curve)
    for estimate, marker in ((curve.onset, "o"), (curve.settled, "|")):
        if estimate is not None:
            ends = np.array([estimate.low, estimate.high], dtype=float)
            marks += ends.tolist()
            axes.plot(ends, [row, row], color=colour, linewidth=2.0, solid_capstyle="butt")
            axes.plot(float(estimate), row, color=colour, marker=marker, markersize=3.5)
    if curve.rises:
        text += f", +{format_number(curve.rise.value, 2)}"
    # On the side that the marks leave free.
    first, last = axes.get_xlim()
    is_right_free = not marks or last - max(marks) > min(marks) - first
    axes.text(
        0.98 if is_right_free else 0.02,
        row,
        text,
        ha="right" if is_right_free else "left",
        va="center",
        color=words_colour,
        transform=across,
    )


def across_figure(across: PhasesAcross) -> Figure:
    """The curves of runs as thin lines, and their means with intervals, at shares of the run."""
    curves = across.curves
    keys = [(COLOURS[curve.name], CURVES[curve.name], {"linewidth": 1.3}) for curve in curves]
    title = p.wrapped(f"entropies of {across.runs} runs, and their means", 50)
    if across.runs > MOST_LINES:
        title += [f"lines are the first {MOST_LINES} runs"]
    with p.panels([1.9], title=title, title_colour="ink", keys=keys) as (figure, (axes,)):
        for summary in across.each[:MOST_LINES]:
            for curve in summary.curves:
                axes.plot(100.0 * curve.at, curve.mean, color=p.colour(COLOURS[curve.name]), linewidth=0.4)
        for pooled in curves:
            colour = p.colour(COLOURS[pooled.name])
            share = 100.0 * pooled.at
            axes.fill_between(share, pooled.low, pooled.high, color=colour, alpha=0.22, linewidth=0)
            axes.plot(share, pooled.mean, color=colour, linewidth=1.3)
        axes.set_ylim(bottom=0.0)
        axes.set(xlim=(0.0, 100.0), xlabel="share of the run (%)", ylabel="entropy (nats)")
    return figure
