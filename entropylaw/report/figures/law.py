"""The figure of a law: reward against entropy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from entropylaw.analysis.forms import FORMS
from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.documents.document import Entry
from entropylaw.report import numbers
from entropylaw.report.figures import answer_of, reward_label
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.palette import LINE, PALETTE
from entropylaw.report.words import headline, p_words
from entropylaw.results import Estimate, Verdict
from entropylaw.results.fit import Fit
from entropylaw.results.result import JUMP, has

SHOWN = 0.01
"""Least probability of a form that is drawn."""

MOST_DRAWN = 5
"""Most forms that are drawn, the most probable first: with more, lines look alike."""

_DASHES = {"law": (5, 2), "line": (3, 1.5), "rate": (1, 1.2), "power": (5, 1.5, 1, 1.5), "constant": (2, 3)}
"""Dashes and gaps of the line of each form, those of a form that is not here are in _OTHER."""

_OTHER = (7, 1.5, 1, 1.5, 1, 1.5)

_LEGEND: dict[str, Any] = {"fontsize": 7, "handlelength": 2.4, "frameon": False, "labelspacing": 0.35}
_LEGEND |= {"borderpad": 0.2, "borderaxespad": 0.2}

_COLUMN = 1.7
"""Inches of a column of the legend."""

Line = tuple[FloatArray, FloatArray, dict[str, Any]]
"""Entropies, rewards, and the look of the line; its colour is a name of :data:`PALETTE`."""


def law_figure(part: Entry[Fit] | Fit) -> Figure:
    """Reward against entropy: the run, the averaged curve from now to H = 0, the ceiling and the reward now.

    A title says so where the law does not hold.
    """
    fit = answer_of(part)
    law, lines, columns = fit.law, lines_of(fit), int(p.width() / _COLUMN)
    room: dict[str, Any] = {"head": 0.17, "right": 0.1, "foot": LINE * -(-len(lines) // columns)}
    with p.panels([1.95], **verdict_title(fit), **room) as (figure, (axes,)):
        keys = draw_answer(axes, fit, lines)
        axes.set_xlabel("entropy H (nats per token)", labelpad=2)
        axes.set_ylabel(reward_label(part), labelpad=3)
        figure.legend(handles=keys, loc="lower center", ncols=columns, **_LEGEND)
        # One row above the axes: dots in the colours of the first step to the last.
        width, height = figure.get_size_inches()
        y = height * (1 - axes.get_position().y1) - 0.17
        last = numbers.format_step(law.step[-1])
        p.write(figure, width - 0.06, y, last, ha="right")
        shades, places = _steps(), width - 0.14 - 0.062 * len(last) - 0.085 * np.arange(5.0)
        look: dict[str, Any] = {"marker": "o", "markersize": 3.6, "rasterized": law.n > p.MOST_VECTOR_POINTS}
        for share, x in zip((1.0, 0.75, 0.5, 0.25, 0.0), places, strict=True):
            p.mark(figure, [x], y + 0.05, color=shades(share), **look)
        p.write(figure, places[-1] - 0.08, y, f"step {numbers.format_step(law.step[0])}", ha="right")
    return figure


def verdict_title(fit: Fit, width: int = 54) -> dict[str, Any]:
    """The title of a figure of a run in which the law does not hold, and its colour; none where it holds.

    Its lines have at most ``width`` letters on the width of a column.
    """
    text = "" if fit.verdict is Verdict.holds else f"{fit.verdict}: {headline(fit)}"
    return {
        "title": p.wrapped(text, width),
        "title_colour": "warn" if fit.verdict is Verdict.fails else "muted",
    }


def draw_on(axes: Axes, part: Entry[Fit] | Fit) -> None:
    """The same on given axes, which get its limits, its labels and, where the law does not hold, a title.

    The legend is below the axes.
    """
    fit = answer_of(part)
    keys = draw_answer(axes, fit, lines_of(fit))
    axes.set_xlabel("entropy H (nats per token)", labelpad=2)
    axes.set_ylabel(reward_label(part), labelpad=3)
    # A bold letter takes some 5.6 points.
    root = axes.get_figure(root=True)
    assert root is not None
    inches = axes.get_window_extent().width / root.dpi
    below = axes.transAxes + ScaledTranslation(0.0, -0.5, root.dpi_scale_trans)  # of the ticks and the label
    look: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": below}
    axes.legend(handles=keys, ncols=2, **look, **_LEGEND)
    head = verdict_title(fit, max(int(72 * inches / 5.6), 20))
    look = {"color": p.colour(head["title_colour"]), "fontweight": "bold", "fontsize": 8}
    axes.set_title("\n".join(head["title"]), loc="left", **look)


def lines_of(fit: Fit) -> list[Line]:
    """The level of the reward along the run, and the curves from the entropy now to H = 0.

    A curve with a term in the step is that of the present stage: it does not go through earlier evaluations,
    and no curve is drawn there but a law that may hold. Without a ceiling there is nothing at H = 0 to draw.
    """
    curve, law, entropy = fit.curve, fit.law, np.array(fit.curve.entropy)
    look: dict[str, Any] = {"color": "grey", "linewidth": 1.2, "zorder": 4, "label": "reward, smoothed"}
    lines: list[Line] = [(np.array(curve.path_entropy), np.array(curve.path_reward), look)]
    left = _is_left(fit)
    if left.any():
        label = "averaged, present stage" if fit.present_stage else "averaged"
        look = {"color": "blue", "linewidth": 2.2, "zorder": 5, "label": label, "solid_capstyle": "round"}
        lines.append((entropy[left], np.array(curve.mean)[left], look))
    lines += _forms(fit, left)
    for start in (finding.values["step"] for finding in fit.findings if finding.code == "rests-on-first"):
        first, width = law.step < float(str(start)), 5.5 if law.n <= 120 else 3.0
        look = {"color": "warn", "markerfacecolor": "none", "markeredgewidth": width / 6, "zorder": 7}
        look |= {"marker": "o", "markersize": width, "linewidth": 0, "label": "off the curve of the others"}
        lines.append((law.entropy[first], law.reward[first], look))
    return lines


def _forms(fit: Fit, left: BoolArray) -> Iterator[Line]:
    """The most probable forms at the entropies that are left, and a law that may hold along the run, too."""
    entropy, rejected = np.array(fit.curve.entropy), fit.verdict is Verdict.fails or fit.lost
    for rank, form in enumerate(fit.forms):
        there, look = left, {"color": FORMS[form.form].colour or "muted", "linewidth": 0.9, "zorder": 4}
        if form.form == "law" and not (rejected or fit.present_stage or has(fit.findings, JUMP)):
            there = left | (entropy >= fit.lowest_entropy)
            look = {"color": "ink", "linewidth": 1.1, "zorder": 5}
        elif rank >= MOST_DRAWN or form.probability < SHOWN or form.form not in fit.curve.forms:
            continue
        if there.any():
            look |= {"linestyle": (0, _DASHES.get(form.form, _OTHER))}
            look["label"] = f"{form.form}, {p_words(form.probability)}"
            yield entropy[there], np.array(fit.curve.forms[form.form])[there], look


def _is_left(fit: Fit) -> BoolArray:
    """Which points of the curve are between the entropy now and H = 0; none without a ceiling."""
    entropy, now = np.array(fit.curve.entropy), fit.law.entropy_now
    between = (entropy >= min(now, 0.0)) & (entropy <= max(now, 0.0))
    return np.asarray(between & (not fit.no_ceiling))


def draw_answer(axes: Axes, fit: Fit, lines: Sequence[Line], *, named: bool = True) -> list[Line2D]:
    """The evaluations, the lines, the ceiling and the reward now, on axes that hold them.

    The lines that a legend names are returned. Ceiling and now may be ``named`` in the axes, each in a row
    of its own: the ceiling, or why there is none, at the upper edge, or at the lower one where it is low; now
    on the side without evaluations.
    """
    law, keys = fit.law, list[Line2D]()
    axes.set_xlim(*p.padded(min(law.entropy.min(), 0.0), max(law.entropy.max(), 0.0), 0.035, 0.02))
    for entropy, reward, look in lines:
        keys += axes.plot(entropy, reward, **{**look, "color": p.colour(look["color"])})
    near, marks = [reward for _, reward, _ in lines], [("now", law.entropy_now, fit.reward_now)]
    if not fit.no_ceiling:
        curve, left = fit.curve, _is_left(fit)
        at, low, high = (np.array(band)[left] for band in (curve.entropy, curve.low, curve.high))
        axes.fill_between(at, low, high, color=p.colour("blue"), alpha=0.3, linewidth=0, zorder=2)
        near, marks = [*near, low, high], [("ceiling", 0.0, fit.ceiling), *marks]
    # The evaluations, coloured by step; few with a rim, so that each can be counted.
    dots: dict[str, Any] = {"s": 4.0, "linewidths": 0, "alpha": 0.5, "zorder": 3}
    dots["rasterized"] = law.n > p.MOST_VECTOR_POINTS
    if law.n <= 120:
        dots = {"s": 10.0, "linewidths": 0.3, "edgecolors": p.colour("ring"), "zorder": 6}
    axes.scatter(law.entropy, law.reward, c=law.step, cmap=_steps(), **dots)
    # Of lines that leave the evaluations far behind only a part is shown.
    shown = np.array(p.limits(law.reward, chain.from_iterable(near), 0.6, 0.0, 0.0))
    ends = chain.from_iterable((estimate.low, estimate.value, estimate.high) for _, _, estimate in marks)
    axes.set_ylim(*p.limits(shown, ends, np.inf, 0.13, 0.15))
    _mark(axes, marks, f"no ceiling: {fit.no_ceiling}" if fit.no_ceiling else "", named=named)
    return keys


def _mark(axes: Axes, marks: Sequence[tuple[str, float, Estimate]], reason: str, *, named: bool) -> None:
    """The ceiling and the reward now with their intervals, and names; or the ``reason`` for no ceiling."""
    (low, high), rows = axes.get_ylim(), {True: 0, False: 0}
    if named and reason:
        rows[True] = 1
        _name(axes, reason, 0.0, 1.0, 0.95)
    for name, x, estimate in marks:
        value, is_ceiling = float(estimate), name == "ceiling"
        colour: dict[str, Any] = {"color": p.colour("blue" if is_ceiling else "ink"), "zorder": 8}
        bounds = p.ends(estimate, value)
        axes.plot([x, x], bounds, marker="_", markersize=4, linewidth=1.2, **colour)
        rim: dict[str, Any] = {"markersize": 4.2, "markeredgecolor": p.colour("ring"), "markeredgewidth": 0.6}
        axes.plot([x], [value], "s" if is_ceiling else "D", **colour, **rim)
        if named:
            text, upward = numbers.format_estimate(estimate), bool(2 * value >= low + high) == is_ceiling
            words = f"{name} {text.value}"
            if is_ceiling and len(text.interval) <= 18:
                words += f" {text.interval}"
            rows[upward] += 1
            row, end = 0.09 * rows[upward] - 0.04, (bounds[upward] - low) / (high - low)
            _name(axes, words.replace("-", "−"), x, end, 1.0 - row if upward else row)


def _name(axes: Axes, words: str, x: float, end: float, at: float) -> None:
    """Words beside an entropy, and a thin line to them from the ``end`` of an interval; heights as shares."""
    across = axes.get_xaxis_transform()
    axes.plot([x, x], [end, at], color=p.colour("muted"), lw=0.5, zorder=3, transform=across)
    side, offset = ("left", 3.0) if x < sum(axes.get_xlim()) / 2 else ("right", -3.0)
    look: dict[str, Any] = {"ha": side, "va": "center", "size": 7, "zorder": 9, "color": p.colour("ink")}
    box = {"facecolor": p.colour("ring"), "alpha": 0.75, "linewidth": 0, "pad": 0.6}
    axes.annotate(words, (x, at), (offset, 0), across, textcoords="offset points", bbox=box, **look)


def _steps() -> LinearSegmentedColormap:
    """Early steps near the colour of the paper, late steps far from it; also for colour-blind readers."""
    shades = [p.colour(name) for name in PALETTE if name.startswith("step-")]
    return LinearSegmentedColormap.from_list("steps", shades, N=len(shades))
