"""The differences of arms with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.escaping import one_line
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.arms import short
from entropylaw.report.numbers import format_number
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmComparison, Decision

COLUMNS = (("reward_at_entropy", "at equal H"), ("last_reward", "final reward"), ("ceiling", "ceiling"))
"""Panels of the differences, side by side."""

_PARTS = (
    ("movement", "by movement", "green", "o", 0.3),
    ("shift", "by a shift of the curve", "vermilion", "D", 0.5),
)
"""Parts of the final reward: name, words, colour, mark, and how far below the whole."""


def differences_figure(result: ArmComparison) -> Figure:
    """A row per comparison: reward at equal entropy, final reward with its parts, and ceiling.

    Raises ValueError: nothing is comparable.
    """
    differences = [difference for pair in result.pairs for difference in pair.differences]
    if all(difference.estimate.value is None for difference in differences):
        raise ValueError("nothing is comparable")
    width, row = p.width(), 0.3
    names = [p.shown(short(one_line(result.name_of(pair)), 22)) for pair in result.pairs]
    top, bottom = 0.42, 0.24
    left = 0.12 + 0.058 * max(map(len, names))
    height = top + row * len(names) + bottom
    with p.style():
        figure = Figure(figsize=(width, height))
        panels: Any = figure.subplots(1, len(COLUMNS), sharey=True)
        sides = {"left": left / width, "right": 1 - 0.1 / width}
        figure.subplots_adjust(top=1 - top / height, bottom=bottom / height, wspace=0.2, **sides)
        x = 0.08
        for _, text, colour, marker, _ in (("", "final reward", "ink", "s", 0.0), *_PARTS):
            p.mark(figure, (x + 0.05,), 0.1, color=p.colour(colour), marker=marker, markersize=3.2)
            p.write(figure, x + 0.14, 0.05, text, color=p.colour(colour, words=True))
            x += 0.3 + 0.056 * len(text)
        for axes, (quantity, title) in zip(panels, COLUMNS, strict=True):
            forest_panel(axes, result, quantity)
            axes.set_title(title, fontsize=7, pad=3, color=p.colour("ink"))
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def forest_panel(axes: Axes, result: ArmComparison, quantity: str) -> None:
    """The differences in a quantity with their intervals, and the margin."""
    marks = _marks(result, quantity)
    axes.axvspan(-result.margin, result.margin, color=p.colour("shade"), alpha=0.4, linewidth=0, zorder=1)
    axes.axvline(0.0, color=p.colour("muted"), linewidth=0.7, zorder=2)
    axes.grid(visible=False, axis="y")
    axes.tick_params(left=False)
    reach = _reach([mark.estimate for mark in marks], result.margin)
    axes.set_xlim(*p.padded(*reach, 0.08, 0.08))
    longest = max(-reach[0], reach[1])
    power = 10.0 ** np.floor(np.log10(longest))
    far = max(step * power for step in (0.5, 1.0, 2.0, 5.0) if step * power <= longest)
    ticks = [x for x in (-far, 0.0, far) if reach[0] <= x <= reach[1]]
    axes.set_xticks(ticks, [f"{x:g}".replace("-", "−") for x in ticks])
    for mark in marks:
        _draw(axes, mark, reach)


def _marks(result: ArmComparison, quantity: str) -> list[_Mark]:
    """The difference of every comparison; the final reward has its parts below it."""
    marks: list[_Mark] = []
    split = quantity == "last_reward"
    for row, pair in enumerate(result.pairs):
        top = row - 0.27 if split else float(row)
        difference = pair.find(quantity)
        if difference is not None and difference.estimate.value is not None:
            filled = difference.decision is not Decision.undecided
            marks.append(_Mark(top, difference.estimate, "ink", "s", filled, named=True))
        if split and pair.split is not None:
            for name, _, colour, marker, down in _PARTS:
                estimate: Estimate = getattr(pair.split, name)
                if estimate.value is not None:
                    marks.append(_Mark(top + down, estimate, colour, marker))
    return marks


@dataclass(frozen=True, slots=True)
class _Mark:
    """An estimate at a height; ``filled`` where it is decided, ``named`` where its number may be written."""

    y: float
    estimate: Estimate
    colour: str
    marker: str
    filled: bool = True
    named: bool = False


def _draw(axes: Axes, mark: _Mark, reach: tuple[float, float]) -> None:
    """A mark with its interval; an arrow where an end, or the value itself, is beyond the axes."""
    value, colour, (least, most) = float(mark.estimate), p.colour(mark.colour), reach
    arrow: dict[str, Any] = {"color": colour, "markersize": 3.2, "zorder": 5}
    ends = p.ends(mark.estimate, value)
    axes.plot(np.clip(ends, *reach), [mark.y] * 2, color=colour, lw=1.1, solid_capstyle="butt", zorder=4)
    if ends[0] < least:
        axes.plot([least], [mark.y], "<", **arrow)
    if ends[1] > most:
        axes.plot([most], [mark.y], ">", **arrow)
    if least <= value <= most:
        look: dict[str, Any] = {"markersize": 3.2, "markeredgecolor": colour, "markeredgewidth": 0.8}
        face = colour if mark.filled else p.colour("ring")
        axes.plot([value], [mark.y], mark.marker, markerfacecolor=face, zorder=6, **look)
    elif mark.named:
        # Inside of the part of the interval that is on the axes.
        edge, side, away = (max(least, ends[1]), "left", 4)
        if value > most:
            edge, side, away = (min(most, ends[0]), "right", -4)
        text = format_number(value, 2).replace("-", "−")
        at: dict[str, Any] = {"textcoords": "offset points", "va": "center", "ha": side, "zorder": 3.5}
        at["bbox"] = {"facecolor": p.colour("ring"), "linewidth": 0, "pad": 0.4}
        axes.annotate(text, (edge, mark.y), (away, 0), color=p.colour(mark.colour), **at)


FARTHEST = 6.0
"""An axis ends at this many times the median distance from 0; what is farther is an arrow."""


def _reach(estimates: Sequence[Estimate], margin: float) -> tuple[float, float]:
    """Limits of an axis of differences: the margin, and all ends that are not far off the others."""
    if not estimates:
        return -margin, margin
    values = list(map(float, estimates))
    most = max(FARTHEST * float(np.median(np.abs(values))), 2.0 * margin)
    widths = [estimate.width for estimate in estimates if estimate.width is not None]
    most = max(most, float(np.median(widths)) if widths else 0.0)
    ends = [end for estimate, value in zip(estimates, values, strict=True) for end in p.ends(estimate, value)]
    ends += values
    return max(-most, min(-margin, *ends)), min(most, max(margin, *ends))
