"""Arms compared: their curves and the differences of these; of many arms the differences of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.escaping import counted, one_line
from entropylaw.report.figures import drawn_pairs, is_overlay
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.palette import ARM_COLOURS, LINE
from entropylaw.results.arms import AT_END, Arm, ArmComparison, Decision, Difference

_LOOKS: tuple[dict[str, Any], ...] = (
    {"linewidth": 2.6},
    {"linewidth": 1.3},
    {"linewidth": 1.3, "linestyle": (0, (4, 1.5))},
    {"linewidth": 1.3, "linestyle": (0, (1, 1))},
)
"""Lines of the arms: curves that cover one another are all seen, also in grey."""

ROW = 0.17
"""Inches: height of a comparison of many."""


def arms_figure(result: ArmComparison) -> Figure:
    """Runs thin and means of the arms thick, and the difference of the curves below with its band.

    Of arms for which there are too few colours the differences are drawn. Raises ValueError: no run of these
    few arms has a curve.
    """
    if not is_overlay(result):
        return _rows(result)
    if not any(run.along for arm in result.arms for run in arm.runs):
        raise ValueError("no run of these arms has a curve")
    return _overlay(result)


def by_step_figure(result: ArmComparison) -> Figure:
    """Reward over the steps: runs thin, and means of the arms thick; of many arms the baseline dark.

    Raises ValueError: no run has evaluations, or rewards are compared at equal steps, which is this figure.
    """
    if result.along.is_step:
        raise ValueError("the figure of the arms is over steps already")
    if not any(run.steps for arm in result.arms for run in arm.runs):
        raise ValueError("no run of these arms has evaluations")
    arms = ordered(result)
    with p.panels([2.0], keys=_keys(result), left=0.56, right=0.1) as (figure, (axes,)):
        for i, arm in enumerate(arms):
            which = i if is_overlay(result) else min(i, 1)
            colour = p.colour(ARM_COLOURS[which])
            for run in arm.runs:
                axes.plot(run.steps, run.by_step, color=colour, zorder=3, linewidth=0.5, alpha=0.6)
            if arm.steps:
                axes.plot(arm.steps, arm.by_step, color=colour, zorder=5, **_LOOKS[which])
        axes.set_ylabel("reward")
        curves = [run.by_step for arm in arms for run in arm.runs if run.by_step]
        axes.set_ylim(*p.padded(*limits(curves), 0.05, 0.05))
    return figure


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


def _arm(axes: Axes, arm: Arm, colour: str, **look: Any) -> None:
    """Its runs thin, their mean thick."""
    for run in arm.runs:
        axes.plot(run.along, run.reward, color=colour, zorder=3, linewidth=0.5, alpha=0.6)
    if arm.along:
        axes.plot(arm.along, arm.mean, color=colour, zorder=5, **look)


def _fit_axes(axes: Axes, arms: Sequence[Arm]) -> None:
    """Limits by the quantiles of the runs, and an arrow for each run that goes beyond them."""
    runs = [run for arm in arms for run in arm.runs if run.along]
    x, y = (limits([getattr(run, name) for run in runs]) for name in ("along", "reward"))
    axes.set(xlim=p.padded(*x, 0.02, 0.02), ylim=p.padded(*y, 0.05, 0.05))
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
    heights = [1.8] + [0.7] * len(bands)
    with p.panels(heights, keys=_keys(result), left=0.56, right=0.1) as (figure, (axes, *below)):
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


def _keys(result: ArmComparison) -> list[p.Key]:
    """Lines of the key: the arms with their seeds; of many arms the baseline, and the others together."""
    arms = ordered(result)
    if not is_overlay(result):
        others = f"{len(arms) - 1} other arms"
        return [
            (ARM_COLOURS[0], short(one_line(arms[0].arm), 34), _LOOKS[0]),
            (ARM_COLOURS[1], others, _LOOKS[1]),
        ]
    keys: list[p.Key] = []
    for i, arm in enumerate(arms):
        label = f"{short(one_line(arm.arm), 34)}, {counted(len(arm.runs), 'seed')}"
        if arm.failed:
            label += f", {arm.failed} failed"
        keys.append((ARM_COLOURS[i], label, _LOOKS[i]))
    return keys


def short(text: str, most: int) -> str:
    """At most so many letters: the end of a name often distinguishes it, and is kept."""
    return text if len(text) <= most else f"{text[: most - 1 - most // 3]}…{text[-(most // 3) :]}"


def _rows(result: ArmComparison) -> Figure:
    """A row per comparison: the differences of the final reward and at equal values of the column."""
    pairs = drawn_pairs(result)
    failed = {arm.arm: arm.failed for arm in result.arms}
    top = 0.1 + LINE
    bottom = 0.36
    height = top + ROW * len(pairs) + bottom
    with p.style():
        figure = Figure(figsize=(p.width(), height))
        made: Any = figure.subplots(1, 2, sharey=True)
        p.margins(figure, 0.36 * p.width(), 0.1, top, bottom, wspace=0.1)
        columns = ("final reward", f"at equal {short(one_line(result.along.column), 10)}")
        families = (AT_END, (result.along.quantity,))
        for axes, title, quantities in zip(made, columns, families, strict=True):
            axes.set_title(p.shown(title), fontsize=7, pad=2, color=p.colour("ink"))
            axes.axvline(0.0, color=p.colour("muted"), linewidth=0.8, zorder=2)
            axes.xaxis.set_major_locator(p.few(3))
            for row, pair in enumerate(pairs):
                difference = pair.first_of(*quantities)
                if difference is not None:
                    _difference(axes, row, difference)
        names = []
        for pair in pairs:
            name = p.shown(short(one_line(result.name_of(pair)), int(18 * p.width() / p.WIDTH)))
            names.append(f"{name} †" if failed[pair.arm] or failed[pair.baseline] else name)
        made[0].set_yticks(range(len(pairs)), names, color=p.colour("ink"))
        made[0].set_ylim(len(pairs) - 0.4, -0.6)
        against = "the other arm" if result.baseline is None else short(one_line(result.baseline), 24)
        middle = 0.5 * (made[0].get_position().x0 + made[1].get_position().x1)
        label = p.shown(f"difference from {against}")
        figure.text(middle, 0.05 / height, label, ha="center", va="bottom", fontsize=7.5)
    return figure


def _difference(axes: Axes, row: int, difference: Difference) -> None:
    """A difference with its interval, in the colour of what is decided; open where nothing is."""
    estimate = difference.estimate
    if estimate.value is None:
        return
    colours = {Decision.above: "green", Decision.below: "vermilion", Decision.same: "blue"}
    name = colours.get(difference.decision, "muted")
    face = p.colour("ring" if difference.decision is Decision.undecided else name)
    axes.plot(p.ends(estimate, estimate.value), [row, row], color=p.colour(name), linewidth=1.3, zorder=3)
    axes.plot(
        [estimate.value],
        [row],
        "o",
        zorder=4,
        markeredgecolor=p.colour(name),
        markerfacecolor=face,
        markersize=3.6,
    )
