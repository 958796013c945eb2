"""The differences of arms with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.escaping import one_line
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.arms import short
from entropylaw.report.numbers import format_number
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmComparison, Decision, Difference


def differences_figure(result: ArmComparison) -> Figure:
    """A row per comparison: the final reward, and the reward at equal entropy.

    Raises ValueError: nothing is comparable.
    """
    panels_of = (
        ("final reward", ("last_reward", "living_reward")),
        (f"at equal {short(result.along.column, 16)}", (result.along.quantity,)),
    )
    if not any(_marks(result, quantities) for _, quantities in panels_of):
        raise ValueError("nothing is comparable")
    names = [p.shown(short(one_line(result.name_of(pair)), 22)) for pair in result.pairs]
    edge, left = 0.24, 0.12 + 0.058 * max(map(len, names))
    with p.style():
        figure = Figure(figsize=(p.width(), edge + 0.3 * len(names) + edge))
        panels: Any = figure.subplots(1, len(panels_of), sharey=True)
        p.margins(figure, left, 0.1, edge, edge, wspace=0.2)
        for axes, (heading, quantities) in zip(panels, panels_of, strict=True):
            forest_panel(axes, result, quantities)
            axes.set_title(p.shown(heading), fontsize=7, pad=3, color=p.colour("ink"))
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def forest_panel(axes: Axes, result: ArmComparison, quantities: Sequence[str]) -> None:
    """The differences in the headline quantity with their intervals, and the margin."""
    marks = _marks(result, quantities)
    axes.axvspan(-result.margin, result.margin, color=p.colour("shade"), alpha=0.4, linewidth=0, zorder=1)
    axes.axvline(0.0, color=p.colour("muted"), linewidth=0.7, zorder=2)
    axes.grid(visible=False, axis="y")
    axes.tick_params(left=False)
    reach = _reach([difference.estimate for _, difference in marks], result.margin)
    axes.set_xlim(*p.padded(*reach, 0.08, 0.08))
    longest = max(-reach[0], reach[1])
    power = 10.0 ** np.floor(np.log10(longest))
    far = max(step * power for step in (0.5, 1.0, 2.0, 5.0) if step * power <= longest)
    ticks = [x for x in (-far, 0.0, far) if reach[0] <= x <= reach[1]]
    axes.set_xticks(ticks, [f"{x:g}".replace("-", "−") for x in ticks])
    for y, difference in marks:
        _draw(axes, y, difference, reach)


def _marks(result: ArmComparison, quantities: Sequence[str]) -> list[tuple[float, Difference]]:
    """The height and the difference of every comparison in the one of some quantities that is decided."""
    return [
        (float(row), difference)
        for row, pair in enumerate(result.pairs)
        for difference in pair.differences
        if difference.quantity in quantities and difference.headline
        if difference.estimate.value is not None
    ]


def _draw(axes: Axes, y: float, difference: Difference, reach: tuple[float, float]) -> None:
    """A difference at a height, filled where it is decided; an arrow where it goes beyond the axes."""
    value, colour, (least, most) = float(difference.estimate), p.colour("ink"), reach
    arrow: dict[str, Any] = {"color": colour, "markersize": 3.2, "zorder": 5}
    ends = p.ends(difference.estimate, value)
    axes.plot(np.clip(ends, *reach), [y] * 2, color=colour, lw=1.1, solid_capstyle="butt", zorder=4)
    for beyond, edge, marker in ((ends[0] < least, least, "<"), (ends[1] > most, most, ">")):
        if beyond:
            axes.plot([edge], [y], marker, **arrow)
    if least <= value <= most:
        look: dict[str, Any] = {"markersize": 3.2, "markeredgecolor": colour, "markeredgewidth": 0.8}
        face = p.colour("ring") if difference.decision is Decision.undecided else colour
        axes.plot([value], [y], "s", markerfacecolor=face, zorder=6, **look)
    else:
        # Inside of the part of the interval that is on the axes.
        edge, side, away = (max(least, ends[1]), "left", 4)
        if value > most:
            edge, side, away = (min(most, ends[0]), "right", -4)
        text = format_number(value, 2).replace("-", "−")
        at: dict[str, Any] = {"textcoords": "offset points", "va": "center", "ha": side, "zorder": 3.5}
        at["bbox"] = {"facecolor": p.colour("ring"), "linewidth": 0, "pad": 0.4}
        axes.annotate(text, (edge, y), (away, 0), color=colour, **at)


FARTHEST = 6.0
"""An axis ends at this many times the median distance from 0; what is farther is an arrow."""


def _reach(estimates: Sequence[Estimate], margin: float) -> tuple[float, float]:
    """Limits of an axis of differences: the margin, and all ends that are not far off the others."""
    if not estimates:
        return -margin, margin
    values = list(map(float, estimates))
    widths = [estimate.width for estimate in estimates if estimate.width is not None] or [0.0]
    most = max(FARTHEST * float(np.median(np.abs(values))), 2.0 * margin, float(np.median(widths)))
    ends = [end for estimate in estimates for end in p.ends(estimate, float(estimate))] + values
    return max(-most, min(-margin, *ends)), min(most, max(margin, *ends))
