"""The ceilings of the runs of a report, those of an arm below one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.report.describe.runs import IndexRow
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.arms import short
from entropylaw.results import Estimate

MOST_RUNS = 60
"""Runs in the figure."""

LONGEST = 28
"""Letters of a name."""

_RUN, _GAP = 0.062, 0.062
"""Inches from a run to the next, and from an arm to the next in addition."""


def ceilings_figure(arms: Mapping[str, Sequence[IndexRow]]) -> Figure:
    """A line per run: the ceiling with its interval, and the reward now; at most :data:`MOST_RUNS` runs.

    Raises ValueError: there are fewer than two runs.
    """
    runs = [(name, row) for name, rows in arms.items() for row in rows]
    if len(runs) < 2:
        raise ValueError("a single run needs no comparison of ceilings")
    title = [f"the first {MOST_RUNS} of {len(runs)} runs"] if len(runs) > MOST_RUNS else []
    height, heights, marks = 0.0, dict[str, list[float]](), []
    for name, row in runs[:MOST_RUNS]:
        height += _RUN if name in heights else _RUN + _GAP
        heights.setdefault(name, []).append(height)
        marks.append((height, row.estimate("ceiling"), row.estimate("reward_now")))
    bottom = height + _RUN + _GAP
    with p.panels([bottom], title=title, title_colour="muted", left=1.6, right=0.1) as (figure, (axes,)):
        _, ceilings, rewards = zip(*marks, strict=True)
        core = np.array([*_inner(ceilings), *_inner(rewards)])
        ends = [end for ceiling in ceilings if ceiling for end in (ceiling.low, ceiling.high)]
        axes.set_xlim(*p.limits(core, ends, 2.0, 0.03, 0.03))
        for y, ceiling, reward in marks:
            _draw(axes, y, ceiling, reward)
        axes.grid(visible=False, axis="y")
        axes.set_yticks(
            list(map(fmean, heights.values())), [p.shown(short(name, LONGEST)) for name in heights]
        )
        axes.set_ylim(bottom, 0.0)
        axes.tick_params(axis="y", left=False)
        axes.set_xlabel("reward", labelpad=2)
    return figure


def _inner(estimates: Sequence[Estimate | None]) -> list[float]:
    """The values without the outermost twentieths."""
    values = sorted(float(estimate) for estimate in estimates if estimate is not None)
    cut = len(values) // 20
    return values[cut : len(values) - cut]


def _draw(axes: Axes, y: float, ceiling: Estimate | None, reward: Estimate | None) -> None:
    """The ceiling with its interval, and a bar at the reward now; arrows where they leave the axis."""
    (left, right), marked = axes.get_xlim(), list[float]()
    if reward is not None:
        marked.append(float(reward))
        axes.plot(marked, [y], "|", color=p.colour("ink"), markersize=4, markeredgewidth=1.2, zorder=5)
    if ceiling is not None:
        blue = p.colour("blue")
        ends = p.ends(ceiling, float(ceiling))
        axes.plot(ends, [y, y], color=blue, linewidth=1.1, solid_capstyle="butt", zorder=3)
        axes.plot([float(ceiling)], [y], "o", color=blue, markersize=2.6, zorder=4)
        marked += [*ends, float(ceiling)]
    for beyond, edge, arrow in ((min(marked) < left, left, "<"), (max(marked) > right, right, ">")):
        if beyond:
            axes.plot([edge], [y], arrow, color=p.colour("ink"), markersize=3.5, clip_on=False, zorder=6)
