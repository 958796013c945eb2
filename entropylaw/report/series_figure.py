"""What a law leaves in a run, by step: entropy and reward with the law's, and the residuals."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.analysis.residual_models import residual_model
from entropylaw.documents.fit import RunFit
from entropylaw.report import plotting as p
from entropylaw.report.law_figure import law_of, reward_label, verdict_title
from entropylaw.report.numbers import format_number, format_step
from entropylaw.report.words import drop_words
from entropylaw.results.law import LawFit

MOST_JOINED = 500
"""Points of a longer run are not joined: the line would hide them."""


def series_figure(run: RunFit | LawFit) -> Figure:
    """Entropy and reward over the steps, the law's reward, the leading evaluation and what was dropped."""
    law = law_of(run)
    dropped = drop_words(run) if isinstance(run, RunFit) else ""
    notes = p.wrapped(f"dropped: {dropped or 'nothing'}", 62, 2)
    with p.style():
        figure, (upper, lower) = p.panels([1.16, 1.16], title=verdict_title(law), notes=notes)
        ink, warn = p.colour("ink"), p.colour("warn")
        _trace(upper, law, law.entropy, p.colour("purple"))
        _trace(lower, law, law.reward, p.colour("blue"))
        look: dict[str, Any] = {"color": ink, "linewidth": 0.9, "alpha": 0.85, "zorder": 5}
        if law.entropy_noise is not None:
            upper.plot(law.step, law.course, **look)
            _at_right(upper, float(law.course[-1]), "course", ink)
        lower.plot(law.step, law.fitted, linestyle="-" if law.validity.ok else (0, (4, 2)), **look)
        _at_right(lower, float(law.fitted[-1]), "law", ink)
        upper.set_ylim(*p.padded(min(0.0, float(law.entropy.min())), float(law.entropy.max()), 0.0, 0.08))
        lower.set_ylim(*p.padded(float(law.reward.min()), float(law.reward.max()), 0.1, 0.1))
        # A ring around the evaluation that moves the fit most.
        step = law.influence.step
        here = law.step == step
        for axes, values in ((upper, law.entropy), (lower, law.reward)):
            axes.scatter(law.step[here], values[here], s=34, facecolors="none", edgecolors=warn, zorder=6)
        if here.any():
            side, offset = ("right", -6) if step > (law.step[0] + law.step[-1]) / 2 else ("left", 6)
            look = {"textcoords": "offset points", "ha": side, "va": "center", "color": warn, "zorder": 7}
            words, place = f"step {format_step(step)} moves the fit most", (step, float(law.entropy[here][0]))
            upper.annotate(words, place, (offset, 0), **look)
        upper.set_ylabel("entropy (nats)")
        lower.set_ylabel(reward_label(run))
        lower.set_xlabel("step", labelpad=2)
        p.make_room(figure)
        return figure


def residual_figure(run: RunFit | LawFit) -> Figure:
    """What the law leaves over, by step, between plus and minus one standard deviation."""
    law = law_of(run)
    residuals, left = law.residuals, law.reward - law.fitted
    sd, lag1 = residuals.sd, "unknown" if residuals.lag1 is None else f"{residuals.lag1:.2f}"
    note = f"sd {format_number(sd, 2)} · lag-1 {lag1}"
    if residual_model(law.interval).assumed is None:
        effective = f"effective n {format_number(residuals.effective_n, 2)} of {law.n}"
        note = f"{note} · drift share {residuals.drift_share:.2f} · {effective}"
    with p.style():
        notes = [note.replace(" -0", " −0")]
        figure, (axes,) = p.panels([1.35], title=verdict_title(law), key=0.08, notes=notes, left=0.62)
        blue, muted = p.colour("blue"), p.colour("muted")
        axes.axhspan(-sd, sd, color=blue, alpha=0.12, linewidth=0)
        axes.axhline(0.0, color=p.colour("ink"), linewidth=0.8, alpha=0.7, zorder=6)
        _trace(axes, law, left, blue)
        for y, words in ((sd, "+1 sd"), (-sd, "−1 sd")):
            axes.axhline(y, color=muted, linewidth=0.5, linestyle=(0, (4, 2)), zorder=6)
            _at_right(axes, y, words, muted)
        reach = max(float(abs(left).max()), sd) or 1.0
        axes.set_ylim(-1.15 * reach, 1.15 * reach)
        axes.set_ylabel("reward − law")
        axes.set_xlabel("step", labelpad=2)
        p.make_room(figure)
        return figure


def _trace(axes: Axes, law: LawFit, values: p.FloatArray, colour: str) -> None:
    """The evaluations as points, joined by a thin line where they are few enough to be told apart."""
    if law.n <= MOST_JOINED:
        axes.plot(law.step, values, color=colour, linewidth=0.5, alpha=0.45, zorder=3)
    size, alpha = (1.7, 0.45) if law.n > 120 else (2.8, 1.0)
    p.dots(axes, law.step, values, size=size, color=colour, alpha=alpha, zorder=4)
    axes.set_xlim(*p.padded(float(law.step[0]), float(law.step[-1]), 0.025, 0.025))


def _at_right(axes: Axes, y: float, text: str, colour: str) -> None:
    """A label beside the axes at height ``y``."""
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
    axes.annotate(text, (axes.get_xlim()[1], y), (2, 0), color=colour, **look)
