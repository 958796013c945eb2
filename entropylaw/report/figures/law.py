"""The figure of a law: reward against entropy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

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
from entropylaw.report.figures import answer_of, draws_zero, reward_label
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.palette import LINE, PALETTE
from entropylaw.report.words import law_words
from entropylaw.results import Estimate
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit
from entropylaw.results.result import has

AT_ZERO = "at H = 0"
"""The name of the reward there in a figure."""

_DASHED = (5.0, 2.0)

_COLUMN = 1.7
"""Inches of a column of the legend."""

_FEW = 120
"""Evaluations up to which each has a rim, so that it can be counted."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line, or ``rings`` that wide, of rewards against entropies; the colour is one of :data:`PALETTE`.

    A legend does not have one without a ``label``.
    """

    entropy: FloatArray
    reward: FloatArray
    colour: str
    label: str
    width: float = 0.9
    dashes: tuple[float, ...] | None = None
    rings: float | None = None
    order: int = 4


def law_figure(part: Entry[Fit] | Fit) -> Figure:
    """Reward against entropy: the run, the law, the averaged curve from now to H = 0, and the reward there.

    Its title is what is found about the law.
    """
    fit = answer_of(part)
    law = fit.lawful()
    lines = lines_of(fit, law)
    columns = int(p.width() / _COLUMN)
    title = law_title(law)
    with p.panels(
        [1.95],
        title=title.lines,
        title_colour=title.colour,
        head=0.17,
        right=0.1,
        foot=LINE * -(-sum(line.label != "" for line in lines) // columns),
    ) as (figure, (axes,)):
        keys = draw_answer(axes, fit, law, lines)
        _label(axes, part)
        _legend(figure, keys, loc="lower center", ncols=columns)
        _step_key(figure, axes, law)
    return figure


def _label(axes: Axes, part: Entry[Fit] | Fit) -> None:
    """Name both axes."""
    axes.set_xlabel("entropy H (nats per token)", labelpad=2)
    axes.set_ylabel(reward_label(part), labelpad=3)


def _legend(owner: Figure | Axes, keys: Sequence[Line2D], **where: Any) -> None:
    """A legend of the lines."""
    owner.legend(
        handles=keys,
        fontsize=7,
        handlelength=2.4,
        frameon=False,
        labelspacing=0.35,
        borderpad=0.2,
        borderaxespad=0.2,
        **where,
    )


def _step_key(figure: Figure, axes: Axes, law: LawFit) -> None:
    """One row above the axes: dots in the colours of the first step to the last."""
    width, height = figure.get_size_inches()
    y = height * (1 - axes.get_position().y1) - 0.17
    last = numbers.format_step(law.step[-1])
    p.write(figure, width - 0.06, y, last, ha="right")
    shades = _steps()
    for i, share in enumerate((1.0, 0.75, 0.5, 0.25, 0.0)):
        x = width - 0.14 - 0.062 * len(last) - 0.085 * i
        p.mark(
            figure,
            [x],
            y + 0.05,
            color=shades(share),
            marker="o",
            markersize=3.6,
            rasterized=law.n > p.MOST_VECTOR_POINTS,
        )
    p.write(figure, x - 0.08, y, f"step {numbers.format_step(law.step[0])}", ha="right")


class Title(NamedTuple):
    """The lines of the title of a figure, and their colour."""

    lines: list[str]
    colour: str


def law_title(law: LawFit, width: int = 54) -> Title:
    """The title of a figure of the law: the word about it, and R².

    Its lines have at most ``width`` letters on the width of a column.
    """
    text = f"{law_words(law)} (R² {numbers.format_r_squared(law.r_squared)})"
    return Title(p.wrapped(text, width), "muted")


def draw_on(axes: Axes, part: Entry[Fit] | Fit) -> None:
    """The same on given axes, which get its limits, its labels and its title; the legend is below them."""
    fit = answer_of(part)
    law = fit.lawful()
    keys = draw_answer(axes, fit, law, lines_of(fit, law))
    _label(axes, part)
    root = axes.get_figure(root=True)
    assert root is not None
    inches = axes.get_window_extent().width / root.dpi
    below = axes.transAxes + ScaledTranslation(0.0, -0.5, root.dpi_scale_trans)  # of the ticks and the label
    _legend(axes, keys, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=below)
    # A bold letter takes some 5.6 points.
    title = law_title(law, max(int(72 * inches / 5.6), 20))
    colour = p.colour(title.colour)
    axes.set_title("\n".join(title.lines), loc="left", color=colour, fontweight="bold", fontsize=8)


def lines_of(fit: Fit, law: LawFit) -> list[Line]:
    """The level of the reward along the run, and the law; from now to H = 0 also others."""
    curve = fit.curve
    ahead = _is_ahead(fit, law)
    path = Line(
        entropy=np.array(curve.path_entropy),
        reward=np.array(curve.path_reward),
        colour="grey",
        # Rings have its place in a legend, which has four entries at most.
        label="" if has(fit.findings, "rests-on-first") else "reward, smoothed",
        width=1.2,
    )
    lines = [path]
    if ahead.any():
        averaged = Line(
            entropy=np.array(curve.entropy)[ahead],
            reward=np.array(curve.mean)[ahead],
            colour="blue",
            label="averaged",
            width=2.2,
            order=5,
        )
        lines.append(averaged)
    lines += _forms(fit, law, ahead)
    for finding in fit.findings:
        if finding.code == "rests-on-first":
            is_first = law.step < float(str(finding.values["step"]))
            off_the_curve = Line(
                entropy=law.entropy[is_first],
                reward=law.reward[is_first],
                colour="warn",
                label="off the curve of the others",
                rings=5.5 if law.n <= _FEW else 3.0,
                order=7,
            )
            lines.append(off_the_curve)
    return lines


def _forms(fit: Fit, law: LawFit, ahead: BoolArray) -> Iterator[Line]:
    """The law along the whole run, and a more probable form, if there is one, at entropies ``ahead``."""
    curve = fit.curve
    entropy = np.array(curve.entropy)
    for form in law.forms:
        is_law = form.form == "law"
        drawn = ahead | (entropy >= law.lowest_entropy) if is_law else ahead
        if form.form not in curve.forms or not drawn.any() or not (is_law or form is law.best):
            continue
        yield Line(
            entropy=entropy[drawn],
            reward=np.array(curve.forms[form.form])[drawn],
            colour="ink" if is_law else FORMS[form.form].colour or "muted",
            label=f"{form.form}, {numbers.p_words(form.probability)}",
            width=1.1,
            dashes=None if is_law else _DASHED,
            order=5 if is_law else 4,
        )


def _is_ahead(fit: Fit, law: LawFit) -> BoolArray:
    """Which points of the curve are between the entropy now and H = 0; none where that is not drawn."""
    entropy = np.array(fit.curve.entropy)
    now = law.entropy_now
    between = (entropy >= min(now, 0.0)) & (entropy <= max(now, 0.0))
    return np.asarray(between & draws_zero(fit))


def draw_answer(
    axes: Axes, fit: Fit, law: LawFit, lines: Sequence[Line], *, named: bool = True
) -> list[Line2D]:
    """The evaluations, the lines, the reward now and that at H = 0, on axes that hold them.

    The lines that a legend names are returned. Both rewards may be ``named`` in the axes, each in a row of
    its own: that at H = 0 at the upper edge, or at the lower one where it is low; now on the side without
    evaluations.
    """
    axes.set_xlim(*p.padded(min(law.entropy.min(), 0.0), max(law.entropy.max(), 0.0), 0.035, 0.02))
    drawn = [_draw(axes, line) for line in lines]
    near = [line.reward for line in lines]
    marks = [] if fit.state is None else [("now", law.entropy_now, fit.state.now)]
    if draws_zero(fit):
        curve = fit.curve
        ahead = _is_ahead(fit, law)
        low = np.array(curve.low)[ahead]
        high = np.array(curve.high)[ahead]
        entropy = np.array(curve.entropy)[ahead]
        axes.fill_between(entropy, low, high, color=p.colour("blue"), alpha=0.3, linewidth=0, zorder=2)
        near += [low, high]
        marks.insert(0, (AT_ZERO, 0.0, law.ceiling))
    _draw_evaluations(axes, law)
    # Of lines that leave the evaluations far behind only a part is shown.
    rewards = np.array(p.limits(law.reward, chain.from_iterable(near), 0.6, 0.0, 0.0))
    ends = chain.from_iterable((estimate.low, estimate.value, estimate.high) for _, _, estimate in marks)
    axes.set_ylim(*p.limits(rewards, ends, np.inf, 0.13, 0.15))
    _mark(axes, marks, named=named)
    return [key for key, line in zip(drawn, lines, strict=True) if line.label]


def _draw(axes: Axes, line: Line) -> Line2D:
    """Draw a line, or rings."""
    (drawn,) = axes.plot(line.entropy, line.reward, color=p.colour(line.colour), zorder=line.order)
    drawn.set_label(line.label)
    if line.rings is not None:
        drawn.set(
            linewidth=0,
            marker="o",
            markersize=line.rings,
            markerfacecolor="none",
            markeredgewidth=line.rings / 6,
        )
        return drawn
    drawn.set_linewidth(line.width)
    if line.dashes is not None:
        drawn.set_linestyle((0, line.dashes))
    elif line.colour == "blue":
        drawn.set_solid_capstyle("round")
    return drawn


def _draw_evaluations(axes: Axes, law: LawFit) -> None:
    """The evaluations, coloured by step; few with a rim."""
    if law.n <= _FEW:
        axes.scatter(
            law.entropy,
            law.reward,
            c=law.step,
            cmap=_steps(),
            s=10.0,
            linewidths=0.3,
            edgecolors=p.colour("ring"),
            zorder=6,
        )
        return
    axes.scatter(
        law.entropy,
        law.reward,
        c=law.step,
        cmap=_steps(),
        s=4.0,
        linewidths=0,
        alpha=0.5,
        zorder=3,
        rasterized=law.n > p.MOST_VECTOR_POINTS,
    )


def _mark(axes: Axes, marks: Sequence[tuple[str, float, Estimate]], *, named: bool) -> None:
    """The reward at H = 0 and that now with their intervals, and names."""
    low, high = axes.get_ylim()
    rows_above = 0
    rows_below = 0
    for name, x, estimate in marks:
        value = float(estimate)
        is_at_zero = name == AT_ZERO
        colour = p.colour("blue" if is_at_zero else "ink")
        bounds = p.ends(estimate, value)
        axes.plot([x, x], bounds, marker="_", markersize=4, linewidth=1.2, color=colour, zorder=8)
        axes.plot(
            [x],
            [value],
            "s" if is_at_zero else "D",
            color=colour,
            zorder=8,
            markersize=4.2,
            markeredgecolor=p.colour("ring"),
            markeredgewidth=0.6,
        )
        if not named:
            continue
        # As on the screen and in the tiles of a page.
        number = numbers.format_interval(estimate) if is_at_zero else numbers.format_number(value)
        words = f"{name}: {number}" if is_at_zero else f"{number} {name}"
        words = words.replace("-", "−")
        is_above = bool(2 * value >= low + high) == is_at_zero
        end = (bounds[is_above] - low) / (high - low)
        if is_above:
            rows_above += 1
            _name(axes, words, x, end, 1.0 - (0.09 * rows_above - 0.04))
        else:
            rows_below += 1
            _name(axes, words, x, end, 0.09 * rows_below - 0.04)


def _name(axes: Axes, words: str, x: float, end: float, at: float) -> None:
    """Words beside an entropy, and a thin line to them from the ``end`` of an interval; heights as shares."""
    across = axes.get_xaxis_transform()
    axes.plot([x, x], [end, at], color=p.colour("muted"), lw=0.5, zorder=3, transform=across)
    is_left = x < sum(axes.get_xlim()) / 2
    axes.annotate(
        words,
        (x, at),
        (3.0 if is_left else -3.0, 0),
        across,
        textcoords="offset points",
        bbox={"facecolor": p.colour("ring"), "alpha": 0.75, "linewidth": 0, "pad": 0.6},
        ha="left" if is_left else "right",
        va="center",
        size=7,
        zorder=9,
        color=p.colour("ink"),
    )


def _steps() -> LinearSegmentedColormap:
    """Early steps near the colour of the paper, late steps far from it; also for colour-blind readers."""
    shades = [p.colour(name) for name in PALETTE if name.startswith("step-")]
    return LinearSegmentedColormap.from_list("steps", shades, N=len(shades))
