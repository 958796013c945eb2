"""Arms compared: their curves, reward against entropy or another column, and the differences of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.escaping import counted, one_line
from entropylaw.report.figures import is_overlay
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.palette import ARM_COLOURS, LINE
from entropylaw.results.arms import Arm, ArmComparison, Decision, Pair

_LOOKS: tuple[dict[str, Any], ...] = (
    {"linewidth": 2.6},
    {"linewidth": 1.3},
    {"linewidth": 1.3, "linestyle": (0, (4, 1.5))},
    {"linewidth": 1.3, "linestyle": (0, (1, 1))},
)
"""Lines of the arms: curves that cover one another are all seen, also in grey."""

PANEL = 0.62
"""Inches: height of a small panel."""

NAME = 0.17
"""Inches: height of the name above a small panel."""


def arms_figure(result: ArmComparison) -> Figure:
    """Runs thin and means of the arms thick, and the difference of the curves below with its band.

    Arms for which there are too few colours have a small panel each. Raises ValueError: no run has a curve.
    """
    if not any(run.along for arm in result.arms for run in arm.runs):
        raise ValueError("no run of these arms has a curve")
    return _overlay(result) if is_overlay(result) else _panels(result)


def draw_on(axes: Axes, result: ArmComparison) -> None:
    """The curves of all arms on given axes; of many arms the baseline's and, in blue, the others'."""
    for i, arm in enumerate(ordered(result)):
        which = i if is_overlay(result) else min(i, 1)
        look = _LOOKS[which] | {"label": p.shown(one_line(arm.arm))}
        _arm(axes, arm, p.colour(ARM_COLOURS[which]), **look)
    if is_overlay(result):
        axes.legend(frameon=False, fontsize=7)
    axes.set(xlabel=_column_label(result), ylabel="reward")


def _column_label(result: ArmComparison) -> str:
    """What is on the axis below the curves."""
    column = result.along.column
    return "entropy H (nats per token)" if column == "entropy" else p.shown(short(one_line(column), 40))


def ordered(result: ArmComparison) -> list[Arm]:
    """The baseline first."""
    return sorted(result.arms, key=lambda arm: arm.arm != result.baseline)


def _arm(axes: Axes, arm: Arm, colour: str, *, seeds: bool = True, **look: Any) -> None:
    """Its runs thin, their mean thick."""
    for run in arm.runs if seeds else ():
        axes.plot(run.along, run.reward, color=colour, zorder=3, linewidth=0.5, alpha=0.6)
    if arm.along:
        look.setdefault("linewidth", 1.5)
        axes.plot(arm.along, arm.mean, color=colour, zorder=5, **look)


def _fit_axes(axes: Axes, arms: Sequence[Arm], room: float = 0.05) -> None:
    """Limits by the quantiles of the runs, with ``room``, and an arrow for each run that goes beyond them."""
    runs = [run for arm in arms for run in arm.runs if run.along]
    x, y = (limits([getattr(run, name) for run in runs]) for name in ("along", "reward"))
    axes.set(xlim=p.padded(*x, 0.02, 0.02), ylim=p.padded(*y, room, room))
    for run in runs:
        for marker, beyond in (
            (">", max(run.along) > x[1]),
            ("^", max(run.reward) > y[1]),
            ("v", min(run.reward) < y[0]),
        ):
            if beyond:
                at = int(np.argmax(run.along if marker == ">" else np.abs(run.reward)))
                edge = (np.clip(run.along[at], *x), np.clip(run.reward[at], *y))
                axes.plot(*edge, marker, color=p.colour("muted"), markersize=3.2, zorder=6)


def limits(curves: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The ends of an axis: those of all curves that are not far off the others.

    It ends one and a half spans of the middle half of the curves beyond it; what is farther is an arrow.
    """
    lows = [min(curve) for curve in curves]
    highs = [max(curve) for curve in curves]
    low = float(np.quantile(lows, 0.25))
    high = float(np.quantile(highs, 0.75))
    span = 1.5 * (high - low)
    return max(min(lows), low - span), min(max(highs), high + span)


def _overlay(result: ArmComparison) -> Figure:
    """All arms in one panel, with a key; a panel per comparison with its band."""
    arms = ordered(result)
    colours = {arm.arm: name for arm, name in zip(arms, ARM_COLOURS, strict=False)}
    bands = [(pair, pair.band) for pair in result.pairs if pair.band is not None]
    keys = []
    for arm, look in zip(arms, _LOOKS, strict=False):
        label = f"{short(one_line(arm.arm), 34)}, {counted(len(arm.runs), 'seed')}"
        keys.append((colours[arm.arm], f"{label}, {arm.failed} failed" if arm.failed else label, look))
    heights = [1.8] + [0.7] * len(bands)
    with p.panels(heights, keys=keys, left=0.56, right=0.1) as (figure, (axes, *below)):
        for arm, look in zip(arms, _LOOKS, strict=False):
            _arm(axes, arm, p.colour(colours[arm.arm]), **look)
        axes.set_ylabel("reward")
        _fit_axes(axes, arms)
        for lower, (pair, band) in zip(below, bands, strict=True):
            name = colours[pair.arm] if result.baseline is not None else "ink"
            lower.axhline(0.0, color=p.colour("muted"), linewidth=0.8, zorder=2)
            colour = p.colour(name)
            lower.fill_between(
                band.along, band.low, band.high, alpha=0.2, linewidth=0, color=colour, zorder=3
            )
            lower.plot(band.along, band.mean, linewidth=1.3, color=colour, zorder=5)
            lower.set_ylabel("difference")
            if len(bands) > 1:
                low, high = lower.get_ylim()
                lower.set_ylim(low, high + 0.3 * (high - low))
                lower.text(
                    0.985,
                    0.97,
                    short(p.shown(one_line(result.name_of(pair))), 40),
                    color=p.colour(name, words=True),
                    va="top",
                    ha="right",
                    transform=lower.transAxes,
                )
        figure.axes[-1].set_xlabel(_column_label(result), labelpad=2)
    return figure


def short(text: str, most: int) -> str:
    """At most so many letters: the end of a name often distinguishes it, and is kept."""
    return text if len(text) <= most else f"{text[: most - 1 - most // 3]}…{text[-(most // 3) :]}"


def _panels(result: ArmComparison) -> Figure:
    """A small panel per arm: in grey what it is compared with, in colour the arm."""
    arms = ordered(result)
    in_panels = arms[1:] if result.baseline is not None else arms
    width = p.width()
    columns = max(2, min(len(in_panels), int((width - 0.4) / 0.95)))
    rows = -(-len(in_panels) // columns)
    top = 0.1 + LINE
    bottom = 0.36
    left = 0.5
    height = top + rows * (PANEL + NAME) + (rows - 1) * 0.05 + bottom
    with p.style():
        figure = Figure(figsize=(width, height))
        grid: Any = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        gaps = {"hspace": (NAME + 0.05) / PANEL, "wspace": 0.1}
        p.margins(figure, left, 0.08, top + NAME, bottom, **gaps)
        _key(figure, result, arms[0])
        for i, axes in enumerate(grid.flat):
            if i >= len(in_panels):
                axes.set_visible(False)
                continue
            arm = in_panels[i]
            for compared in arms[:1] if result.baseline is not None else arms:
                if compared is not arm:
                    _arm(axes, compared, p.colour("grey"), seeds=False)
            _arm(axes, arm, p.colour("blue"))
            if result.baseline is not None:
                _excluded(axes, result.pair(arm.arm, result.baseline))
            text = p.shown(short(one_line(arm.arm), int(16 * (width - 0.5) / columns / 0.95)))
            axes.set_title(text, loc="left", fontsize=7, pad=2, color=p.colour("ink"))
            # The lowest of every column has the numbers.
            axes.tick_params(labelbottom=i + columns >= len(in_panels))
        # Bars are above and below the curves.
        _fit_axes(grid[0, 0], arms, room=0.15)
        grid[0, 0].xaxis.set_major_locator(p.few(3))
        grid[0, 0].yaxis.set_major_locator(p.few(3))
        middle = 0.5 * (bottom + height - top) / height
        figure.text(0.05 / width, middle, "reward", rotation=90, va="center", ha="left", fontsize=7.5)
        x = 0.5 * (left + width - 0.08) / width
        figure.text(x, 0.05 / height, _column_label(result), ha="center", va="bottom", fontsize=7.5)
    return figure


def _key(figure: Figure, result: ArmComparison, first: Arm) -> None:
    """One line above the panels: what is grey, and what the bars at the bottom are."""
    p.mark(figure, (0.08, 0.26), 0.1, color=p.colour("grey"), linewidth=1.6)
    name = short(one_line(first.arm), 16) if result.baseline is not None else "the other arms"
    p.write(figure, 0.31, 0.05, p.shown(name), color=p.colour("grey", words=True))
    if result.baseline is not None:
        right = p.width() - 0.06
        for colour, text, x in (("green", "above 0", 1.08), ("vermilion", "below 0", 0.44)):
            p.mark(figure, (right - x - 0.14, right - x), 0.1, color=p.colour(colour), linewidth=3)
            p.write(figure, right - x + 0.04, 0.05, text, color=p.colour(colour, words=True))
        p.write(figure, right - 1.27, 0.05, "band", ha="right")


def _excluded(axes: Axes, pair: Pair | None) -> None:
    """Where the simultaneous band of the difference excludes 0: a bar, at the top where it is above."""
    if pair is None or pair.band is None:
        return
    places = {Decision.above: ("green", 0.94), Decision.below: ("vermilion", 0.06)}
    for decision, low, high, _ in pair.band.outside:
        name, y = places[decision]
        axes.plot(
            [low, high],
            [y, y],
            transform=axes.get_xaxis_transform(),
            color=p.colour(name),
            linewidth=3,
            solid_capstyle="butt" if high > low else "projecting",
            zorder=7,
        )
