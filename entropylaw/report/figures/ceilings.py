"""The ceilings of the runs of a report, those of an arm below one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.summary import RunSummary
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.arms import short
from entropylaw.results import Estimate

MOST_RUNS = 60
"""Runs in the figure."""

LONGEST = 28
"""Letters of a name."""

_RUN = 0.062
"""Inches from a run to the next."""

_GAP = 0.062
"""Inches from an arm to the next, in addition."""

_BETWEEN = 0.42
"""Inches from a panel to the next, for the numbers and the name of its axis."""


Arms = Mapping[str, Sequence[RunSummary]]
"""Name of an arm → its runs; all of them have rewards that may be compared, in one unit."""


def ceilings_figure(rewards: Sequence[Arms]) -> Figure:
    """A line per run: the ceiling with its interval, and the reward now; at most :data:`MOST_RUNS` runs.

    The arms of every reward have a panel with an axis of its own.

    Raises ValueError: there are fewer than two runs.
    """
    number = sum(len(rows) for arms in rewards for rows in arms.values())
    if number < 2:
        raise ValueError("a single run needs no comparison of ceilings")
    panels = []
    room = MOST_RUNS
    for arms in rewards:
        runs = [(name, row) for name, rows in arms.items() for row in rows][:room]
        room -= len(runs)
        if runs:
            panels.append((runs, _heights(runs)))
    title = [f"the first {MOST_RUNS} of {number} runs"] if number > MOST_RUNS else []
    bottoms = [heights[-1] + _RUN + _GAP for _, heights in panels]
    with p.panels(
        bottoms, title=title, title_colour="muted", left=1.6, right=0.1, gap=_BETWEEN, one_axis=False
    ) as (figure, drawn):
        for axes, (runs, heights), bottom in zip(drawn, panels, bottoms, strict=True):
            _draw_runs(axes, runs, heights)
            axes.set_ylim(bottom, 0.0)
    return figure


def _heights(runs: Sequence[tuple[str, RunSummary]]) -> list[float]:
    """Where the line of every run is, inches from the top of the panel."""
    heights: list[float] = []
    height = 0.0
    before = None
    for name, _ in runs:
        height += _RUN if name == before else _RUN + _GAP
        heights.append(height)
        before = name
    return heights


def _draw_runs(axes: Axes, runs: Sequence[tuple[str, RunSummary]], heights: Sequence[float]) -> None:
    """The ceilings of runs of one reward at some heights."""
    ceilings = [_known(row.ceiling) for _, row in runs]
    rewards = [_known(row.reward_now) for _, row in runs]
    core = np.array([*_inner(ceilings), *_inner(rewards)])
    ends = [end for ceiling in ceilings if ceiling for end in (ceiling.low, ceiling.high)]
    axes.set_xlim(*p.limits(core, ends, 2.0, 0.03, 0.03))
    for y, ceiling, reward in zip(heights, ceilings, rewards, strict=True):
        _draw(axes, y, ceiling, reward)
    axes.grid(visible=False, axis="y")
    of_arm: dict[str, list[float]] = {}
    for (name, _), height in zip(runs, heights, strict=True):
        of_arm.setdefault(name, []).append(height)
    axes.set_yticks(list(map(fmean, of_arm.values())), [p.shown(short(name, LONGEST)) for name in of_arm])
    axes.tick_params(axis="y", left=False)
    axes.set_xlabel(_axis(runs[0][1]), labelpad=2)


def _known(estimate: Estimate | None) -> Estimate | None:
    """An estimate that has a value."""
    return None if estimate is None or estimate.value is None else estimate


def _axis(row: RunSummary) -> str:
    """The column of the rewards with its unit; all rows have the same."""
    if row.rewarded is None:
        return "reward"
    return f"{p.shown(short(row.rewarded.column, LONGEST))}{', %' if row.rewarded.unit == 'percent' else ''}"


def _inner(estimates: Sequence[Estimate | None]) -> list[float]:
    """The values without the outermost twentieths."""
    values = sorted(float(estimate) for estimate in estimates if estimate is not None)
    cut = len(values) // 20
    return values[cut : len(values) - cut]


def _draw(axes: Axes, y: float, ceiling: Estimate | None, reward: Estimate | None) -> None:
    """The ceiling with its interval, and a bar at the reward now; arrows where they leave the axis."""
    lowest, highest = axes.get_xlim()
    marked: list[float] = []
    if reward is not None:
        marked.append(float(reward))
        axes.plot(marked, [y], "|", color=p.colour("ink"), markersize=4, markeredgewidth=1.2, zorder=5)
    if ceiling is not None:
        blue = p.colour("blue")
        ends = p.ends(ceiling, float(ceiling))
        axes.plot(ends, [y, y], color=blue, linewidth=1.1, solid_capstyle="butt", zorder=3)
        axes.plot([float(ceiling)], [y], "o", color=blue, markersize=2.6, zorder=4)
        marked += [*ends, float(ceiling)]
    for beyond, edge, arrow in ((min(marked) < lowest, lowest, "<"), (max(marked) > highest, highest, ">")):
        if beyond:
            axes.plot([edge], [y], arrow, color=p.colour("ink"), markersize=3.5, clip_on=False, zorder=6)
