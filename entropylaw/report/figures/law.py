"""The figures of a law: reward against entropy, both by step, and the residuals by step."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from entropylaw.analysis.forms import FORMS
from entropylaw.arrays import FloatArray
from entropylaw.documents.document import Entry
from entropylaw.report import numbers
from entropylaw.report.figures import answer_of, reward_label
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.palette import LINE, PALETTE
from entropylaw.report.words import drop_words, headline, p_words
from entropylaw.results import FormAnswer, Verdict
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit
from entropylaw.results.result import JUMP, has

SHOWN = 0.01
"""Least probability of a form that is drawn; the law is drawn in any case."""

MOST_DRAWN = 5
"""Most forms that are drawn, the most probable first: with more, lines look alike."""

_BANDS = 0.3, 0.13
"""Opacity of the band of the mean and of the prediction band."""

_DASHES = {"law": (5, 2), "line": (3, 1.5), "rate": (1, 1.2), "power": (5, 1.5, 1, 1.5), "constant": (2, 3)}
"""Dashes and gaps of the line of each form, those of a form that is not here are in _OTHER."""

_OTHER = (7, 1.5, 1, 1.5, 1, 1.5)

_LEGEND: dict[str, Any] = {"fontsize": 7, "handlelength": 2.4, "frameon": False, "labelspacing": 0.35}
_LEGEND |= {"borderpad": 0.2, "borderaxespad": 0.2}

_COLUMN = 1.7
"""Inches of a column of the legend."""

_FARTHEST = 20.0
"""In lengths of the axes without it, how far off an end of the ceiling's interval may be to be drawn."""


def law_figure(part: Entry[Fit] | Fit) -> Figure:
    """Reward against entropy: the averaged curve with both bands, the forms, the ceiling and the reward now.

    A title says so where the law does not hold.
    """
    fit = answer_of(part)
    law = fit.law
    columns = int(p.width() / _COLUMN)
    named = 1 + len(_drawn(fit)) + bool(_changed(fit))
    room: dict[str, Any] = {"head": 0.17, "right": 0.1, "foot": LINE * -(-named // columns)}
    with p.panels([1.95], **verdict_title(fit), **room) as (figure, (axes,)):
        keys = _draw(axes, fit, reward_label(part))
        figure.legend(handles=keys, loc="lower center", ncols=columns, **_LEGEND)
        # One row above the axes: the bands, and dots in the colours of the first step to the last.
        width, height = figure.get_size_inches()
        y = height * (1 - axes.get_position().y1) - 0.17
        band = f"{numbers.format_percent(law.level)}, mean"
        for x, alpha, text in ((0.48, _BANDS[0] + _BANDS[1], band), (1.3, _BANDS[1], "prediction")):
            p.mark(figure, [x, x + 0.13], y + 0.05, color=p.colour("blue"), linewidth=6, alpha=alpha)
            p.write(figure, x + 0.17, y, text)
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
    keys = _draw(axes, fit, reward_label(part))
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


def _draw(axes: Axes, fit: Fit, label: str) -> list[Line2D]:
    """The answer on axes that hold every evaluation, the ceiling with its interval, and their names.

    The lines that a legend names are returned.

    Bands and curves much wider than the evaluations are cut; so is an interval of the ceiling beyond
    :data:`_FARTHEST`.
    """
    curve, law, blue = fit.curve, fit.law, p.colour("blue")
    axes.set_xlim(*p.padded(min(law.entropy.min(), 0.0), max(law.entropy.max(), 0.0), 0.035, 0.02))
    look: dict[str, Any] = {"color": blue, "linewidth": 0}
    prediction = curve.observation_low, curve.observation_high
    axes.fill_between(curve.entropy, *prediction, alpha=_BANDS[1], zorder=1, **look)
    axes.fill_between(curve.entropy, curve.low, curve.high, alpha=_BANDS[0], zorder=2, **look)
    keys = _curves(axes, fit, blue)
    # The evaluations, coloured by step; few with a rim, so that each can be counted.
    look = {"s": 4.0, "linewidths": 0, "alpha": 0.5, "zorder": 3, "rasterized": law.n > p.MOST_VECTOR_POINTS}
    if law.n <= 120:
        look = {"s": 10.0, "linewidths": 0.3, "edgecolors": p.colour("ring"), "zorder": 6}
    axes.scatter(law.entropy, law.reward, c=law.step, cmap=_steps(), **look)
    axes.set_xlabel("entropy H (nats per token)", labelpad=2)
    axes.set_ylabel(label, labelpad=3)
    # The evaluations, the curves near them, and the ceiling and the reward now with their intervals.
    near = chain(curve.mean, *prediction, *curve.forms.values())
    ends = np.array(p.limits(law.reward, near, 0.6, 0.0, 0.0))
    marked = chain(*((e.low, e.value, e.high) for e in (fit.ceiling, fit.reward_now)))
    axes.set_ylim(*p.limits(ends, marked, _FARTHEST, 0.13, 0.15))
    _mark(axes, fit, blue)
    return keys


def _curves(axes: Axes, fit: Fit, blue: str) -> list[Line2D]:
    """The averaged curve, the forms with their probabilities, and what the answer rests on."""
    curve = fit.curve
    look: dict[str, Any] = {"color": blue, "linewidth": 2.2, "zorder": 5}
    look["label"] = "averaged, present stage" if fit.present_stage else "averaged"
    made = axes.plot(curve.entropy, curve.mean, solid_capstyle="round", **look)
    for form in _drawn(fit):
        # A stored document may have a form that this version does not know.
        kind = FORMS[form.form].colour if form.form in FORMS else None
        width, name = 0.9, kind or "muted"
        if form.form == "law":
            # A law that is rejected is one of the lines, and not the answer.
            width, name = (0.9, "muted") if fit.verdict is Verdict.fails else (1.3, "ink")
        look = {"color": p.colour(name), "linewidth": width, "zorder": 4}
        look |= {"linestyle": (0, _DASHES.get(form.form, _OTHER))}
        look["label"] = f"{form.form}, {p_words(form.probability)}"
        made += axes.plot(curve.entropy, curve.forms.get(form.form, (np.nan,) * len(curve.entropy)), **look)
    if changed := _changed(fit):
        first = fit.law.step < min(changed)
        look = {"color": p.colour("warn"), "markerfacecolor": "none", "markeredgewidth": 0.9, "zorder": 7}
        look |= {"markersize": 5.5, "label": "off the curve of the others"}
        made += axes.plot(fit.law.entropy[first], fit.law.reward[first], "o", **look)
    return made


def _drawn(fit: Fit) -> list[FormAnswer]:
    """The forms that are drawn: at the present stage the law beside a term is not the law that was tested."""
    return [
        form
        for place, form in enumerate(fit.forms)
        if (place < MOST_DRAWN and form.probability >= SHOWN)
        or (form.form == "law" and not fit.present_stage and not has(fit.findings, JUMP))
    ]


def _changed(fit: Fit) -> list[float]:
    """The step after the first evaluations, where these are off the curve of the others."""
    found = (finding.values["step"] for finding in fit.findings if finding.code == "rests-on-first")
    return [float(step) for step in found]  # type: ignore[arg-type]


def _steps() -> LinearSegmentedColormap:
    """Early steps near the colour of the paper, late steps far from it; also for colour-blind readers."""
    shades = [p.colour(name) for name in PALETTE if name.startswith("step-")]
    return LinearSegmentedColormap.from_list("steps", shades, N=len(shades))


def _mark(axes: Axes, fit: Fit, blue: str) -> None:
    """The ceiling at H = 0 and the reward now, each with its interval, its name and its numbers.

    The ceiling is named at the upper edge, or at the lower one where it is low; now on the side without
    evaluations, and in a row of its own where both are on one side: the ceiling's name may fill the axes. An
    arrow stands where an interval leaves the axes.
    """
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    rows = {True: 0, False: 0}
    for name, x, estimate, marker, colour in (
        ("ceiling", 0.0, fit.ceiling, "s", blue),
        ("now", fit.law.entropy_now, fit.reward_now, "D", p.colour("ink")),
    ):
        value = estimate.value
        if value is None:
            continue
        ends = p.ends(estimate, value)
        look: dict[str, Any] = {"color": colour, "linewidth": 1.2, "zorder": 7}
        axes.plot([x, x], ends, marker="_", markersize=4, **look)
        for end, edge, arrow in ((ends[0], low, "v"), (ends[1], high, "^")):
            if not low <= end <= high:
                axes.plot([x], [edge], marker=arrow, markersize=4, clip_on=False, **look)
        rim: dict[str, Any] = {"markersize": 4.2, "markeredgecolor": p.colour("ring"), "markeredgewidth": 0.6}
        axes.plot([x], [value], marker, color=colour, zorder=8, **rim)
        upward = (value >= (low + high) / 2) == (name == "ceiling")
        rows[upward] += 1
        edge, sign, end = (high, -1, ends[1]) if upward else (low, 1, ends[0])
        at = edge + sign * (0.09 * rows[upward] - 0.04) * (high - low)
        # A thin line from the end of the interval to the name.
        axes.plot([x, x], [min(max(end, low), high), at], color=p.colour("muted"), lw=0.5, zorder=3)
        text = numbers.format_estimate(estimate)
        interval = f" {text.interval}" if name == "ceiling" and len(text.interval) <= 18 else ""
        side, offset = ("left", 3.0) if x < (left + right) / 2 else ("right", -3.0)
        look = {"ha": side, "va": "center", "size": 7, "zorder": 9, "color": p.colour("ink")}
        box = {"facecolor": p.colour("ring"), "alpha": 0.75, "linewidth": 0, "pad": 0.6}
        words = f"{name} {text.value}{interval}".replace("-", "−")
        axes.annotate(words, (x, at), (offset, 0), textcoords="offset points", bbox=box, **look)


def series_figure(run: Entry[Fit] | Fit) -> Figure:
    """Entropy and reward over the steps, the most influential evaluation and the drops.

    The law's reward is drawn where the law does not fail.
    """
    fit = answer_of(run)
    law = fit.law
    dropped = drop_words(run) if isinstance(run, Entry) else ""
    notes = p.wrapped(f"dropped: {dropped or 'nothing'}", 62, 2)
    room: dict[str, Any] = {"right": 0.52, "notes": notes}
    with p.panels([0.95, 0.95], **verdict_title(fit), **room) as (figure, (upper, lower)):
        ink, warn = p.colour("ink"), p.colour("warn")
        _trace(upper, law, law.entropy, p.colour("purple"))
        _trace(lower, law, law.reward, p.colour("blue"))
        look: dict[str, Any] = {"color": ink, "linewidth": 0.9, "alpha": 0.85, "zorder": 5}
        if law.entropy_noise is not None:
            upper.plot(law.step, law.smoothed_entropy, **look)
            p.label_right(upper, float(law.smoothed_entropy[-1]), "smoothed", color=ink)
        if fit.verdict is not Verdict.fails:
            lower.plot(law.step, law.fitted, **look)
            p.label_right(lower, float(law.fitted[-1]), "law", color=ink)
        upper.set(ylim=p.limits(np.append(law.entropy, 0.0), (), 0.0, 0.0, 0.2), ylabel="entropy (nats)")
        lower.set(ylim=p.limits(law.reward, (), 0.0, 0.1, 0.1), ylabel=reward_label(run))
        # A ring around the most influential evaluation, named where the entropy is low.
        here = law.step == law.influence.step
        ring: dict[str, Any] = {"s": 34, "facecolors": "none", "edgecolors": warn, "linewidths": 1.0}
        step = numbers.format_step(law.influence.step)
        named = upper.scatter(law.step[here], law.entropy[here], zorder=6, **ring)
        lower.scatter(law.step[here], law.reward[here], zorder=6, **ring)
        if here.any():
            look = {"labelcolor": warn, "fontsize": 7, "handletextpad": 0.1, "frameon": False}
            # 1 is the upper right corner, 2 the upper left one.
            corner = 1 if law.entropy[-1] <= law.entropy[0] else 2
            upper.legend([named], [f"step {step} changes the fit most"], loc=corner, borderpad=0.0, **look)
    return figure


def residual_figure(run: Entry[Fit] | Fit) -> Figure:
    """The residuals of the law by step, between plus and minus one standard deviation."""
    fit = answer_of(run)
    law = fit.law
    residuals, values = law.residuals, law.reward - law.fitted
    sd, lag1 = residuals.sd, "unknown" if residuals.lag1 is None else f"{residuals.lag1:.2f}"
    note = f"sd {numbers.format_number(sd, 2)} · lag-1 {lag1}"
    effective = f"effective n {numbers.format_number(residuals.effective_n, 2)} of {law.n}"
    note = f"{note} · drift share {residuals.drift_share:.2f} · {effective}"
    room: dict[str, Any] = {"head": 0.08, "notes": [note.replace(" -0", " −0")]}
    with p.panels([1.35], **verdict_title(fit), **room) as (figure, (axes,)):
        blue, muted = p.colour("blue"), p.colour("muted")
        axes.axhspan(-sd, sd, color=blue, alpha=0.12, linewidth=0)
        axes.axhline(0.0, color=p.colour("ink"), linewidth=0.8, alpha=0.7, zorder=6)
        _trace(axes, law, values, blue)
        for y, words in ((sd, "+1 sd"), (-sd, "−1 sd")):
            axes.axhline(y, color=muted, linewidth=0.5, linestyle=(0, (4, 2)), zorder=6)
            p.label_right(axes, y, words, color=muted)
        reach = max(float(abs(values).max()), sd) or 1.0
        axes.set(ylim=(-1.15 * reach, 1.15 * reach), ylabel="reward − law")
    return figure


def _trace(axes: Axes, law: LawFit, values: FloatArray, colour: str) -> None:
    """The evaluations as points, joined by a thin line where they are few enough to distinguish."""
    if law.n <= 500:
        axes.plot(law.step, values, color=colour, linewidth=0.5, alpha=0.45, zorder=3)
    size, alpha = (1.7, 0.45) if law.n > 120 else (2.8, 1.0)
    p.dots(axes, law.step, values, size=size, color=colour, alpha=alpha, zorder=4)
    axes.set_xlim(*p.padded(float(law.step[0]), float(law.step[-1]), 0.025, 0.025))
