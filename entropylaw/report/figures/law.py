"""The figure of a law: reward against entropy, and what the law leaves of it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from entropylaw.analysis.forms import FORMS
from entropylaw.arrays import FloatArray
from entropylaw.documents.document import Entry
from entropylaw.report import numbers
from entropylaw.report.figures import answer_of, better_form, draws_zero, reward_label
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.palette import PALETTE
from entropylaw.results import Verdict, Why
from entropylaw.results.axis import on_axis
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit

_FEW = 120
"""Evaluations up to which each has a rim, so that it can be counted."""

_FINDINGS = {
    Why.curve: "bends away from the law",
    Why.step: "the step says more than the entropy",
    Why.few: "too few evaluations for the law",
    Why.slope: "no clear slope in H",
}
"""Why the law does not hold → as the title of a figure, where that is not the word itself."""


def law_figure(part: Entry[Fit] | Fit) -> Figure:
    """Reward against entropy: the evaluations, the law through all of them, and the better curve if any.

    A strip below has the residuals of the law. The title is what is found about it.
    """
    fit = answer_of(part)
    law = fit.lawful()
    with p.panels(
        [1.75, 0.42],
        title=p.wrapped(law_title(fit, law), 54),
        title_colour="ink",
        head=0.17,
        right=0.08,
        gap=0.12,
    ) as (figure, (axes, strip)):
        draw_law(axes, fit, law)
        # As it is drawn, the law is a straight line over exp(H) up to the largest possible reward.
        expected = np.interp(np.exp(law.entropy), np.exp(fit.curve.entropy), fit.curve.forms["law"])
        residuals = law.reward - expected
        strip.axhline(0.0, color=p.colour("ink"), linewidth=0.8, zorder=2)
        _scatter(strip, law, residuals, size=5.0 if law.n <= _FEW else 3.0)
        reach = float(np.abs(residuals).max()) or 1.0
        strip.set_ylim(-1.2 * reach, 1.2 * reach)
        strip.yaxis.set_major_locator(p.few(2))
        axes.set_ylabel(reward_label(part))
        strip.set_ylabel("residual")
        strip.set_xlabel("entropy H (nats per token)", labelpad=2)
        _step_key(figure, axes, law, fit.axis)
    return figure


def draw_on(axes: Axes, part: Entry[Fit] | Fit) -> None:
    """The same on given axes, which get its limits, its labels and its title, without the residuals."""
    fit = answer_of(part)
    law = fit.lawful()
    draw_law(axes, fit, law)
    axes.set_xlabel("entropy H (nats per token)")
    axes.set_ylabel(reward_label(part))
    # A bold letter takes some 5.6 points.
    letters = max(int(p.points(axes)[0] / 5.6), 20)
    title = "\n".join(p.wrapped(law_title(fit, law), letters))
    axes.set_title(title, loc="left", color=p.colour("ink"), fontweight="bold", fontsize=8)


def law_title(fit: Fit, law: LawFit) -> str:
    """What is found about the law, and R²: ``bends away from the law, R² 0.96``."""
    if fit.is_broken:
        return "broken: nothing is said of the law"
    finding = law.verdict.value
    if law.verdict is Verdict.holds:
        finding = "follows the law"
    elif law.why is not None:
        finding = _FINDINGS.get(law.why, law.why.value)
    return f"{on_axis(finding, fit.axis)}, R² {numbers.format_r_squared(law.r_squared)}"


def draw_law(axes: Axes, fit: Fit, law: LawFit) -> None:
    """The evaluations, the law, the better curve, the band of the average, and the reward at H = 0."""
    is_zero_drawn = draws_zero(fit)
    lowest = float(law.entropy.min())
    if is_zero_drawn:
        lowest = min(lowest, 0.0)
    shown = np.array(fit.curve.entropy) >= lowest
    entropy = np.array(fit.curve.entropy)[shown]
    colours = _colours_of_forms(fit, law)
    lines = {form: np.array(fit.curve.forms[form])[shown] for form in colours}
    if not fit.is_broken:
        axes.fill_between(
            entropy,
            np.array(fit.curve.low)[shown],
            np.array(fit.curve.high)[shown],
            color=p.colour("grey"),
            alpha=0.2,
            linewidth=0,
            zorder=2,
        )
    for form, rewards in lines.items():
        colour = p.colour(colours[form])
        (line,) = axes.plot(entropy, rewards, color=colour, linewidth=1.2, label=form, zorder=5)
        if form != "law":
            line.set_dashes((5.0, 2.0))
    _scatter(axes, law, law.reward, size=10.0 if law.n <= _FEW else 4.0)
    # On the right there is room for the names of the curves.
    axes.set_xlim(*p.padded(lowest, float(law.entropy.max()), 0.035, 0.19))
    axes.set_ylim(*_reward_limits(law, lines, with_zero=is_zero_drawn))
    if is_zero_drawn:
        _mark_zero(axes, law)
    named = [(form, float(rewards[-1]), colours[form]) for form, rewards in lines.items()]
    p.name_ends(axes, float(entropy[-1]), named)


def _colours_of_forms(fit: Fit, law: LawFit) -> dict[str, str]:
    """The forms that are drawn, the law first, each with the name of its colour; of a broken run the law."""
    colours = {"law": "ink"}
    better = None if fit.is_broken else better_form(law)
    if better is not None and better.form in fit.curve.forms:
        colours[better.form] = FORMS[better.form].colour or "muted"
    return colours


def _reward_limits(law: LawFit, lines: Mapping[str, FloatArray], *, with_zero: bool) -> tuple[float, float]:
    """The ends of the axis of rewards: all evaluations are inside, and the reward at H = 0 where it is drawn.

    Of lines that leave the evaluations far behind only a part is shown.
    """
    near = np.array(p.limits(law.reward, chain.from_iterable(lines.values()), 0.6, 0.0, 0.0))
    ceiling = [law.ceiling.low, law.ceiling.value, law.ceiling.high] if with_zero else []
    return p.limits(near, ceiling, np.inf, 0.06, 0.16)


def _scatter(axes: Axes, law: LawFit, values: FloatArray, *, size: float) -> None:
    """Values over the logged entropies, coloured by step; few have a rim."""
    is_few = law.n <= _FEW
    axes.scatter(
        law.entropy,
        values,
        c=law.step,
        cmap=_steps(),
        s=size,
        linewidths=0.3 if is_few else 0.0,
        edgecolors=p.colour("ring"),
        alpha=1.0 if is_few else 0.5,
        zorder=6 if is_few else 3,
        rasterized=law.n > p.MOST_VECTOR_POINTS,
    )


def _mark_zero(axes: Axes, law: LawFit) -> None:
    """The law's reward at H = 0 with its interval, and its numbers at the upper edge, or the lower one."""
    value = float(law.ceiling)
    colour = p.colour("blue")
    low_end, high_end = p.ends(law.ceiling, value)
    axes.plot(
        [0.0, 0.0], [low_end, high_end], marker="_", markersize=4, linewidth=1.2, color=colour, zorder=8
    )
    axes.plot(
        [0.0],
        [value],
        "s",
        color=colour,
        zorder=8,
        markersize=4.2,
        markeredgecolor=p.colour("ring"),
        markeredgewidth=0.6,
    )
    low, high = axes.get_ylim()
    is_above = 2 * value >= low + high
    at = 0.95 if is_above else 0.05
    end = ((high_end if is_above else low_end) - low) / (high - low)
    across = axes.get_xaxis_transform()
    axes.plot([0.0, 0.0], [end, at], color=p.colour("muted"), lw=0.5, zorder=3, transform=across)
    axes.annotate(
        f"at H = 0: {numbers.format_interval(law.ceiling)}".replace("-", "−"),
        (0.0, at),
        (3.0, 0.0),
        across,
        textcoords="offset points",
        bbox={"facecolor": p.colour("ring"), "alpha": 0.75, "linewidth": 0, "pad": 0.6},
        va="center",
        size=7,
        zorder=9,
        color=p.colour("ink"),
    )


def _step_key(figure: Figure, axes: Axes, law: LawFit, axis: str) -> None:
    """One row above the axes: dots in the colours of the first step to the last."""
    width, height = figure.get_size_inches()
    y = height * (1 - axes.get_position().y1) - 0.17
    last = numbers.format_step(law.step[-1])
    p.write(figure, width - 0.06, y, last, ha="right")
    shades = _steps()
    x = width - 0.14 - 0.062 * len(last) - 0.085 * np.arange(5)
    for i, share in enumerate((1.0, 0.75, 0.5, 0.25, 0.0)):
        p.mark(
            figure,
            [x[i]],
            y + 0.05,
            color=shades(share),
            marker="o",
            markersize=3.6,
            rasterized=law.n > p.MOST_VECTOR_POINTS,
        )
    p.write(figure, float(x[-1]) - 0.08, y, f"{axis} {numbers.format_step(law.step[0])}", ha="right")


def _steps() -> LinearSegmentedColormap:
    """Early steps near the colour of the paper, late steps far from it; also for colour-blind readers."""
    shades = [p.colour(name) for name in PALETTE if name.startswith("step-")]
    return LinearSegmentedColormap.from_list("steps", shades, N=len(shades))
