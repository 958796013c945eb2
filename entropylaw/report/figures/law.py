"""The figures of a law: reward against entropy, both by step, and the residuals by step."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from entropylaw.analysis.forms import FORMS
from entropylaw.analysis.law.residual_models import residual_model
from entropylaw.documents.document import RunFit
from entropylaw.report import numbers
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.palette import PALETTE
from entropylaw.report.words import drop_words, headline
from entropylaw.results.arrays import FloatArray
from entropylaw.results.law import LawFit


def law_figure(part: RunFit | LawFit) -> Figure:
    """Reward against entropy with the law, both bands, the other forms, the ceiling and the reward now.

    A law that does not hold is grey, dashed, and the title says so. The functional forms are listed to the
    right with their probabilities; one that is no curve over the entropy has no line.
    """
    law = law_of(part)
    with p.panels([1.92], title=verdict_title(law), head=0.23, right=0.86) as (figure, (axes,)):
        drawn = _draw(axes, law, reward_label(part))
        # One row above the axes: the bands, and dots in the colours of the first step to the last.
        y = 0.07 + p.LINE * len(verdict_title(law))
        band = f"{numbers.format_percent(law.level)}, mean"
        for x, alpha, text in ((0.08, 0.38, band), (0.95, 0.15, "prediction")):
            p.mark(figure, [x, x + 0.13], y + 0.05, color=p.colour(drawn["law"][2]), linewidth=6, alpha=alpha)
            p.write(figure, x + 0.17, y, text)
        last = numbers.format_step(law.step[-1])
        p.write(figure, p.WIDTH - 0.06, y, last, ha="right")
        shades, places = _steps(), p.WIDTH - 0.14 - 0.062 * len(last) - 0.085 * np.arange(5.0)
        look: dict[str, Any] = {"marker": "o", "markersize": 3.6, "rasterized": law.n > p.MOST_VECTOR_POINTS}
        for share, x in zip((1.0, 0.75, 0.5, 0.25, 0.0), places, strict=True):
            p.mark(figure, [x], y + 0.05, color=shades(share), **look)
        p.write(figure, places[-1] - 0.08, y, f"step {numbers.format_step(law.step[0])}", ha="right")
        low, high = axes.get_ylim()
        gap = 0.06 * (high - low)
        ends = [low if mean is None else float(mean[-1]) for mean, _, _ in drawn.values()]
        ends = p.spread(ends, gap, low + gap / 2, high - 1.8 * gap)
        for (form, (_, probability, name)), y in zip(drawn.items(), ends, strict=True):
            bold, colour = "bold" if form == "law" else "normal", p.colour(name, words=True)
            p.label_right(axes, y, form, color=colour, weight=bold)
            p.label_right(axes, y, numbers.format_probability(probability), 58, color=colour, ha="right")
        p.label_right(axes, high, "probability", 58, color=p.colour("muted"), ha="right")
    return figure


def law_of(part: RunFit | LawFit) -> LawFit:
    """The law of a run; a run without one has no figures."""
    law = part if isinstance(part, LawFit) else part.law
    if law is None:
        raise ValueError("a run without a law has no figures")
    return law


def reward_label(part: RunFit | LawFit) -> str:
    """The kind of reward on the axis, as far as it is known."""
    column = None if isinstance(part, LawFit) else part.reward_column
    kind = column.meaning.kind if column is not None else None
    return f"{kind} reward" if kind in ("validation", "training") else "reward"


def verdict_title(law: LawFit) -> list[str]:
    """The title of a figure whose law does not hold; nothing where it holds."""
    return [] if law.validity.ok else p.wrapped(headline(law).removesuffix("."), 58, 2)


def draw_on(axes: Axes, part: RunFit | LawFit) -> None:
    """The law on given axes, which get its limits, its labels and, where it does not hold, a title."""
    law = law_of(part)
    for form, (mean, probability, name) in _draw(axes, law, reward_label(part)).items():
        look: dict[str, Any] = {"color": p.colour(name), "linestyle": "none" if mean is None else "-"}
        axes.plot([], [], label=f"{form} {numbers.format_probability(probability)}", **look)
    axes.legend(frameon=False, fontsize=7, labelcolor="linecolor", title="probability", title_fontsize=7)
    title = "\n".join(verdict_title(law))
    axes.set_title(title, loc="left", color=p.colour("warn"), fontweight="bold", fontsize=8)


def _draw(axes: Axes, law: LawFit, label: str) -> dict[str, tuple[Any, float, str]]:
    """The law on axes; every form with its mean (None where it is no curve), its probability and its colour.

    The axes include every evaluation; bands and intervals much wider than these are cut.
    """
    curve, ok = law.curve, law.validity.ok
    own = p.colour(name := "blue" if ok else "grey")
    near: list[Any] = [curve.mean, curve.observation_low, curve.observation_high, *curve.rivals.values()]
    near += [(e.low, e.value, e.high) for e in (law.ceiling, law.reward_now)]
    axes.set_xlim(*p.padded(min(law.entropy.min(), 0.0), max(law.entropy.max(), 0.0), 0.035, 0.02))
    axes.set_ylim(*p.limits(law.reward, chain(*near), 0.6, 0.13, 0.15))
    look: dict[str, Any] = {"color": own, "linewidth": 0}
    prediction = curve.observation_low, curve.observation_high
    axes.fill_between(curve.entropy, *prediction, alpha=0.15, zorder=1, **look)
    axes.fill_between(curve.entropy, curve.low, curve.high, alpha=0.27, zorder=2, **look)
    look = {"linewidth": 1.6, "linestyle": "-" if ok else (0, (5, 1.5)), "zorder": 5}
    axes.plot(curve.entropy, curve.mean, color=own, solid_capstyle="round", **look)
    drawn: dict[str, tuple[Any, float, str]] = {"law": (curve.mean, law.law_probability, name)}
    look = {"linewidth": 0.9, "linestyle": (0, (3.5, 2)), "zorder": 4}
    for rival in law.rivals:
        mean = curve.rivals.get(rival.form)
        # A stored document may have a form that this version does not know.
        name = (FORMS[rival.form].colour if rival.form in FORMS else None) or "muted"
        drawn[rival.form] = (mean, rival.probability, name)
        if mean is not None:
            faint = 0.55 if rival.ruled_out else 1.0
            axes.plot(curve.entropy, mean, color=p.colour(name), alpha=faint, **look)
    # The evaluations, coloured by step; few with a rim, so that each can be counted.
    look = {"s": 4.0, "linewidths": 0, "alpha": 0.5, "zorder": 3, "rasterized": law.n > p.MOST_VECTOR_POINTS}
    if law.n <= 120:
        look = {"s": 10.0, "linewidths": 0.3, "edgecolors": p.colour("ring"), "zorder": 6}
    axes.scatter(law.entropy, law.reward, c=law.step, cmap=_steps(), **look)
    _mark(axes, law, own)
    axes.set_xlabel("entropy H (nats per token)", labelpad=2)
    axes.set_ylabel(label, labelpad=3)
    return drawn


def _steps() -> LinearSegmentedColormap:
    """Early steps near the colour of the paper, late steps far from it; also for colour-blind readers."""
    shades = [p.colour(name) for name in PALETTE if name.startswith("step-")]
    return LinearSegmentedColormap.from_list("steps", shades, N=len(shades))


def _mark(axes: Axes, law: LawFit, own: str) -> None:
    """The ceiling at H = 0 and the reward now, each with its interval, its name and its numbers.

    The ceiling is named at the upper edge, or at the lower one where it is low; now on the side without
    evaluations, and in a row of its own where both are on one side: the ceiling's name may fill the axes.
    """
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    rows = {True: 0, False: 0}
    for name, x, estimate, marker, colour in (
        ("ceiling", 0.0, law.ceiling, "s", own),
        ("now", law.entropy_now, law.reward_now, "D", p.colour("ink")),
    ):
        value = estimate.value
        if value is None:
            continue
        if estimate.low is not None and estimate.high is not None:
            ends = [estimate.low, estimate.high]
            axes.plot([x, x], ends, color=colour, linewidth=1.2, marker="_", markersize=4, zorder=7)
        rim: dict[str, Any] = {"markersize": 4.2, "markeredgecolor": p.colour("ring"), "markeredgewidth": 0.6}
        axes.plot([x], [value], marker, color=colour, zorder=8, **rim)
        upward = (value >= (low + high) / 2) == (name == "ceiling")
        rows[upward] += 1
        edge, sign, end = (high, -1, estimate.high) if upward else (low, 1, estimate.low)
        at = edge + sign * (0.09 * rows[upward] - 0.04) * (high - low)
        # A thin line from the end of the interval to the name.
        reach = min(max(value if end is None else end, low), high)
        axes.plot([x, x], [reach, at], color=p.colour("muted"), linewidth=0.5, zorder=3)
        text = numbers.format_estimate(estimate)
        interval = f" {text.interval}" if name == "ceiling" and len(text.interval) <= 18 else ""
        side, offset = ("left", 3.0) if x < (left + right) / 2 else ("right", -3.0)
        look: dict[str, Any] = {"ha": side, "va": "center", "size": 7, "zorder": 9, "color": p.colour("ink")}
        box = {"facecolor": p.colour("ring"), "alpha": 0.75, "linewidth": 0, "pad": 0.6}
        words = f"{name} {text.value}{interval}".replace("-", "−")
        axes.annotate(words, (x, at), (offset, 0), textcoords="offset points", bbox=box, **look)


def series_figure(run: RunFit | LawFit) -> Figure:
    """Entropy and reward over the steps, the law's reward, the most influential evaluation and the drops."""
    law = law_of(run)
    dropped = drop_words(run) if isinstance(run, RunFit) else ""
    notes = p.wrapped(f"dropped: {dropped or 'nothing'}", 62, 2)
    room: dict[str, Any] = {"right": 0.52, "notes": notes}
    with p.panels([1.16, 1.16], title=verdict_title(law), **room) as (figure, (upper, lower)):
        ink, warn = p.colour("ink"), p.colour("warn")
        _trace(upper, law, law.entropy, p.colour("purple"))
        _trace(lower, law, law.reward, p.colour("blue"))
        look: dict[str, Any] = {"color": ink, "linewidth": 0.9, "alpha": 0.85, "zorder": 5}
        if law.entropy_noise is not None:
            upper.plot(law.step, law.smoothed_entropy, **look)
            p.label_right(upper, float(law.smoothed_entropy[-1]), "smoothed", color=ink)
        lower.plot(law.step, law.fitted, linestyle="-" if law.validity.ok else (0, (4, 2)), **look)
        p.label_right(lower, float(law.fitted[-1]), "law", color=ink)
        upper.set_ylim(*p.limits(np.append(law.entropy, 0.0), (), 0.0, 0.0, 0.08))
        lower.set_ylim(*p.limits(law.reward, (), 0.0, 0.1, 0.1))
        # A ring around the most influential evaluation.
        here = law.step == (step := law.influence.step)
        ring: dict[str, Any] = {"s": 34, "facecolors": "none", "edgecolors": warn, "linewidths": 1.0}
        upper.scatter(law.step[here], law.entropy[here], zorder=6, **ring)
        lower.scatter(law.step[here], law.reward[here], zorder=6, **ring)
        if here.any():
            side, offset = ("right", -6) if step > (law.step[0] + law.step[-1]) / 2 else ("left", 6)
            look = {"textcoords": "offset points", "ha": side, "va": "center", "color": warn, "zorder": 7}
            words = f"step {numbers.format_step(step)} changes the fit most"
            upper.annotate(words, (step, float(law.entropy[here][0])), (offset, 0), **look)
        upper.set_ylabel("entropy (nats)")
        lower.set_ylabel(reward_label(run))
    return figure


def residual_figure(run: RunFit | LawFit) -> Figure:
    """The residuals of the law by step, between plus and minus one standard deviation."""
    law = law_of(run)
    residuals, values = law.residuals, law.reward - law.fitted
    sd, lag1 = residuals.sd, "unknown" if residuals.lag1 is None else f"{residuals.lag1:.2f}"
    note = f"sd {numbers.format_number(sd, 2)} · lag-1 {lag1}"
    if residual_model(law.interval).assumed is None:
        effective = f"effective n {numbers.format_number(residuals.effective_n, 2)} of {law.n}"
        note = f"{note} · drift share {residuals.drift_share:.2f} · {effective}"
    room: dict[str, Any] = {"head": 0.08, "notes": [note.replace(" -0", " −0")]}
    with p.panels([1.35], title=verdict_title(law), **room) as (figure, (axes,)):
        blue, muted = p.colour("blue"), p.colour("muted")
        axes.axhspan(-sd, sd, color=blue, alpha=0.12, linewidth=0)
        axes.axhline(0.0, color=p.colour("ink"), linewidth=0.8, alpha=0.7, zorder=6)
        _trace(axes, law, values, blue)
        for y, words in ((sd, "+1 sd"), (-sd, "−1 sd")):
            axes.axhline(y, color=muted, linewidth=0.5, linestyle=(0, (4, 2)), zorder=6)
            p.label_right(axes, y, words, color=muted)
        reach = max(float(abs(values).max()), sd) or 1.0
        axes.set_ylim(-1.15 * reach, 1.15 * reach)
        axes.set_ylabel("reward − law")
    return figure


def _trace(axes: Axes, law: LawFit, values: FloatArray, colour: str) -> None:
    """The evaluations as points, joined by a thin line where they are few enough to distinguish."""
    if law.n <= 500:
        axes.plot(law.step, values, color=colour, linewidth=0.5, alpha=0.45, zorder=3)
    size, alpha = (1.7, 0.45) if law.n > 120 else (2.8, 1.0)
    p.dots(axes, law.step, values, size=size, color=colour, alpha=alpha, zorder=4)
    axes.set_xlim(*p.padded(float(law.step[0]), float(law.step[-1]), 0.025, 0.025))
