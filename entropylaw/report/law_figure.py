"""The law figure: reward against entropy, the law with both bands, its rivals, the ceiling and now."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from entropylaw.analysis.forms import FORMS
from entropylaw.documents.fit import RunFit
from entropylaw.report import plotting as p
from entropylaw.report.numbers import format_estimate, format_percent, format_step, format_weight
from entropylaw.report.palette import as_text, light
from entropylaw.report.words import headline
from entropylaw.results import Estimate
from entropylaw.results.law import LawFit

_TITLE_LINE, _HEADER, _BOTTOM, _LEFT, _RIGHT = 0.14, 0.31, 0.38, 0.48, 0.86
_BODY = 1.92


def law_figure(part: RunFit | LawFit) -> Figure:
    """Reward against entropy with the law, both bands, the rivals, the ceiling and where the run stands."""
    with p.style():
        return draw(law_of(part), reward_label(part))


def law_of(part: RunFit | LawFit) -> LawFit:
    """The law of a run, which has figures only with one."""
    law = part if isinstance(part, LawFit) else part.law
    if law is None:
        raise ValueError("a run without a law has no figures")
    return law


def reward_label(part: RunFit | LawFit) -> str:
    """Which reward the axis shows, as far as it is known."""
    column = None if isinstance(part, LawFit) else part.reward_column
    kind = column.meaning.kind if column is not None else None
    return f"{kind} reward" if kind in ("validation", "training") else "reward"


def verdict_title(law: LawFit) -> list[str]:
    """What stands above a figure whose law is not to be read; nothing where it is."""
    return [] if law.validity.ok else p.wrapped(headline(law).removesuffix("."), 58, 2)


def draw(law: LawFit, reward_label: str) -> Figure:
    """The figure of a fitted law; one that does not hold is grey, dashed, and says so in its title."""
    title = verdict_title(law)
    lift = _TITLE_LINE * len(title) + (0.03 if title else 0.0)
    figure = p.new_figure(_BODY + _BOTTOM + _HEADER + lift)
    axes = p.add_axes(figure, left=_LEFT, right=_RIGHT, bottom=_BOTTOM, top=_HEADER + lift)
    p.write_lines(figure, 0.06, title, _TITLE_LINE, **p.TITLE)
    # One row above the axes: what the bands are, and dots in the colours of the first step to the last.
    small: dict[str, Any] = {"size": 7.0, "color": p.MUTED}
    y = 0.07 + lift
    p.patch(figure, 0.08, y, 0.13, facecolor=_colour(law), alpha=0.38)
    p.write(figure, 0.25, y, f"{format_percent(law.level)}, mean", **small)
    p.patch(figure, 0.95, y, 0.13, facecolor=_colour(law), alpha=0.15)
    p.write(figure, 1.12, y, "new evaluation", **small)
    width, last = figure.get_size_inches()[0], format_step(law.step[-1])
    p.write(figure, width - 0.06, y, last, ha="right", **small)
    places = width - 0.06 - 0.062 * len(last) - 0.08 - 0.085 * np.arange(4, -1, -1)
    for share, x in zip(np.linspace(0, 1, 5), places, strict=True):
        at = p.inches(figure, float(x), y + 0.055)
        dot = Line2D([at[0]], [at[1]], marker="o", markersize=3.6, linewidth=0, transform=figure.transFigure)
        dot.set_color(p.STEPS(float(share)))
        dot.set_rasterized(law.n > p.MOST_VECTOR_POINTS)
        figure.add_artist(dot)
    p.write(figure, float(places[0]) - 0.08, y, f"step {format_step(law.step[0])}", ha="right", **small)
    _draw(axes, law, reward_label)
    p.make_room(figure)
    return figure


def draw_on(axes: Axes, part: RunFit | LawFit) -> None:
    """The law on axes of anybody's, which get its limits, its labels and, where it does not hold, a title."""
    law = law_of(part)
    _draw(axes, law, reward_label(part), inside=True)
    if not law.validity.ok:
        title = headline(law).removesuffix(".")
        axes.set_title(title, loc="left", color=p.WARNING, fontweight="bold", fontsize=8)


def _draw(axes: Axes, law: LawFit, reward_label: str, *, inside: bool = False) -> None:
    """The law on axes; the names of the forms stand beside them, or ``inside``."""
    low, high = _limits(axes, law)
    curve, colour = law.curve, _colour(law)
    outer = (curve.observation_low, curve.observation_high)
    axes.fill_between(curve.entropy, *outer, color=colour, alpha=0.15, linewidth=0, zorder=1)
    axes.fill_between(curve.entropy, curve.low, curve.high, color=colour, alpha=0.27, linewidth=0, zorder=2)
    _forms(axes, law, low, high, inside=inside)
    _points(axes, law)
    _marks(axes, law, (low, high))
    axes.set_xlabel("entropy H (nats per token)", labelpad=2)
    axes.set_ylabel(reward_label, labelpad=3)


def _colour(law: LawFit) -> str:
    return p.LAW if law.validity.ok else p.LAW_INVALID


def _limits(axes: Axes, law: LawFit) -> tuple[float, float]:
    """Axes that hold every evaluation; bands and intervals much wider than these run out of the picture."""
    reach = max(float(law.entropy.max()), 0.0)
    left = min(float(law.entropy.min()), 0.0)
    span = (reach - left) or 1.0
    axes.set_xlim(left - 0.035 * span, reach + 0.02 * span)
    lowest, highest = float(law.reward.min()), float(law.reward.max())
    room = 0.6 * ((highest - lowest) or 1.0)
    wanted = [*law.curve.observation_low, *law.curve.observation_high, *law.curve.mean]
    wanted += [y for mean in law.curve.rivals.values() for y in mean]
    ends = [end for e in (law.ceiling, law.reward_now) for end in (e.low, e.value, e.high)]
    wanted += [end for end in ends if end is not None]
    inside = [min(max(y, lowest - room), highest + room) for y in wanted if np.isfinite(y)]
    low, high = p.padded(min(lowest, *inside), max(highest, *inside), 0.13, 0.15)
    axes.set_ylim(low, high)
    return low, high


def _forms(axes: Axes, law: LawFit, low: float, high: float, *, inside: bool) -> None:
    """The means of the law and the rivals, each labelled with its probability at its right end."""
    curve = law.curve
    weights = {rival.form: rival.weight for rival in law.rivals}
    ruled_out = {rival.form for rival in law.rivals if rival.ruled_out}
    drawn = [("law", curve.mean, law.law_weight, _colour(law))]
    for form in filter(curve.rivals.__contains__, weights):
        # A stored document may hold a form that this version does not know.
        name = FORMS[form].colour if form in FORMS else None
        drawn.append((form, curve.rivals[form], weights[form], light(name) if name else p.MUTED))
    lines: list[Line2D] = []
    for form, mean, _, colour in drawn:
        style: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (3.5, 2)), "zorder": 4}
        if form == "law":
            dashed: Any = "-" if law.validity.ok else (0, (5, 1.5))
            style = {"linewidth": 1.6, "linestyle": dashed, "zorder": 5}
        faint = 0.55 if form in ruled_out else 1.0
        lines += axes.plot(curve.entropy, mean, color=colour, alpha=faint, solid_capstyle="round", **style)
    if inside:
        for line, (form, _, weight, _) in zip(lines, drawn, strict=True):
            line.set_label(f"{form} {format_weight(weight)}")
        axes.legend(frameon=False, fontsize=7, labelcolor="linecolor", title="probability", title_fontsize=7)
        return
    gap = 0.115 / _BODY * (high - low)
    ends = p.spread([float(mean[-1]) for _, mean, _, _ in drawn], gap, low + gap / 2, high - 1.8 * gap)
    edge = axes.get_xlim()[1]
    offset: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False, "size": 7.0}
    for (form, _, weight, colour), y in zip(drawn, ends, strict=True):
        bold = "bold" if form == "law" else "normal"
        words = {"color": as_text(colour), "va": "center", **offset}
        axes.annotate(form, (edge, y), (2.5, 0), weight=bold, **words)
        axes.annotate(format_weight(weight), (edge, y), (58, 0), ha="right", **words)
    axes.annotate("weight", (edge, high), (58, 0), color=p.MUTED, va="center", ha="right", **offset)


def _points(axes: Axes, law: LawFit) -> None:
    """The evaluations, coloured by step; few with a rim, so that each can be counted."""
    few = law.n <= 120
    if few or law.n > p.MOST_VECTOR_POINTS:
        look: dict[str, Any] = {"s": 4.0, "linewidths": 0.0, "alpha": 0.5, "zorder": 3, "rasterized": True}
        if few:
            look = {"s": 10.0, "linewidths": 0.3, "edgecolors": "white", "zorder": 6}
        axes.scatter(law.entropy, law.reward, c=law.step, cmap=p.STEPS, **look)
        return
    span = float(law.step[-1] - law.step[0]) or 1.0
    shade = np.minimum((law.step - law.step[0]) / span * p.STEPS.N, p.STEPS.N - 1).astype(int)
    for i in range(p.STEPS.N):
        here = shade == i
        if here.any():
            look = {"size": 2.0, "color": p.STEPS(i), "alpha": 0.5, "zorder": 3}
            p.dots(axes, law.entropy[here], law.reward[here], **look)


def _marks(axes: Axes, law: LawFit, limits: tuple[float, float]) -> None:
    """The ceiling at H = 0 and where the run stands, each with its interval and its numbers.

    The ceiling is labelled above, or below where it lies low; now on the side where no evaluations are.
    """
    ceiling, now, middle = law.ceiling, law.reward_now, sum(limits) / 2
    high = ceiling.value is not None and ceiling.value >= middle
    if ceiling.value is not None:
        _interval(axes, 0.0, ceiling, "s", _colour(law))
        _label(axes, 0.0, "ceiling", ceiling, high, limits, 1)
    if now.value is not None:
        _interval(axes, law.entropy_now, now, "D", p.INK)
        upward = now.value < middle
        # The ceiling's label has the row at the edge, and may be as long as the axes are wide.
        taken = ceiling.value is not None and upward == high
        _label(axes, law.entropy_now, "now", now, upward, limits, 1 + taken)


def _interval(axes: Axes, x: float, estimate: Estimate, marker: str, colour: str) -> None:
    if estimate.low is not None and estimate.high is not None:
        axes.plot([x, x], [estimate.low, estimate.high], color=colour, linewidth=1.2, zorder=7, clip_on=True)
        axes.plot([x, x], [estimate.low, estimate.high], "_", color=colour, markersize=4, zorder=7)
    rim: dict[str, Any] = {"markersize": 4.2, "markeredgecolor": "white", "markeredgewidth": 0.6}
    axes.plot([x], [estimate.value or 0.0], marker, color=colour, zorder=8, clip_on=False, **rim)


def _label(
    axes: Axes, x: float, name: str, estimate: Estimate, upward: bool, limits: tuple[float, float], row: int
) -> None:
    """A name and its numbers in a row at an edge, with a thin line to the end of the interval."""
    low, high = limits
    text = format_estimate(estimate)
    room = name == "ceiling" and len(text.interval) <= 18
    words = f"{name} {text.value}" + (f" {text.interval}" if room else "")
    inward = (0.09 * row - 0.04) * (high - low)
    at = high - inward if upward else low + inward
    end = estimate.high if upward else estimate.low
    reach = min(max((estimate.value or 0.0) if end is None else end, low), high)
    axes.plot([x, x], [reach, at], color=p.MUTED, linewidth=0.5, zorder=3)
    left, right = axes.get_xlim()
    side, offset = ("left", 3.0) if x < (left + right) / 2 else ("right", -3.0)
    look: dict[str, Any] = {"ha": side, "va": "center", "size": 7.0, "zorder": 9, "color": p.INK}
    box = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.6}
    axes.annotate(words.replace("-", "−"), (x, at), (offset, 0), textcoords="offset points", bbox=box, **look)
