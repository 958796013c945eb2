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

_LEFT, _RIGHT = 0.56, 0.36


def series_figure(run: RunFit | LawFit) -> Figure:
    """Entropy and reward over the steps, the law's reward, the leading evaluation and what was dropped."""
    law = law_of(run)
    with p.style():
        dropped = drop_words(run) if isinstance(run, RunFit) else ""
        title, notes = verdict_title(law), p.wrapped(f"dropped: {dropped or 'nothing'}", 62, 2)
        bottom, top = 0.4 + p.LINE * len(notes), 0.08 + p.LINE * len(title)
        figure = p.new_figure(2.42 + bottom + top)
        upper = p.add_axes(figure, left=_LEFT, right=_RIGHT, bottom=bottom + 1.26, top=top)
        lower = p.add_axes(figure, left=_LEFT, right=_RIGHT, bottom=bottom, top=top + 1.26)
        p.write_lines(figure, 0.05, title, **p.TITLE)
        _trace(upper, law, law.entropy, p.ENTROPY)
        _trace(lower, law, law.reward, p.REWARD)
        if law.entropy_noise is not None:
            upper.plot(law.step, law.course, color=p.INK, linewidth=0.9, alpha=0.85, zorder=5)
            _at_right(upper, float(law.course[-1]), "course", p.INK)
        dashed: Any = "-" if law.validity.ok else (0, (4, 2))
        lower.plot(law.step, law.fitted, color=p.INK, linewidth=0.9, linestyle=dashed, alpha=0.85, zorder=5)
        upper.set_ylim(*p.padded(min(0.0, float(law.entropy.min())), float(law.entropy.max()), 0.0, 0.08))
        lower.set_ylim(*p.padded(float(law.reward.min()), float(law.reward.max()), 0.1, 0.1))
        _at_right(lower, float(law.fitted[-1]), "law", p.INK)
        # A ring around the evaluation that moves the fit most.
        step = law.influence.step
        here = law.step == step
        ring: dict[str, Any] = {"s": 34, "facecolors": "none", "edgecolors": p.WARNING, "linewidths": 1.0}
        for axes, values in ((upper, law.entropy), (lower, law.reward)):
            axes.scatter(law.step[here], values[here], zorder=6, **ring)
        if here.any():
            text, place = f"step {format_step(step)} moves the fit most", (step, float(law.entropy[here][0]))
            side, offset = ("right", -6) if step > (law.step[0] + law.step[-1]) / 2 else ("left", 6)
            look: dict[str, Any] = {"ha": side, "va": "center", "color": p.WARNING, "zorder": 7}
            upper.annotate(text, place, (offset, 0), textcoords="offset points", **look)
        upper.tick_params(labelbottom=False)
        upper.set_ylabel("entropy (nats)")
        lower.set_ylabel(reward_label(run))
        lower.set_xlabel("step", labelpad=2)
        p.write_notes(figure, notes)
        p.make_room(figure)
        return figure


def residual_figure(run: RunFit | LawFit) -> Figure:
    """What the law leaves over, by step, between plus and minus one standard deviation."""
    law = law_of(run)
    with p.style():
        title = verdict_title(law)
        bottom, top = 0.4 + p.LINE, 0.16 + p.LINE * len(title)
        figure = p.new_figure(1.35 + bottom + top)
        axes = p.add_axes(figure, left=_LEFT + 0.06, right=_RIGHT, bottom=bottom, top=top)
        p.write_lines(figure, 0.05, title, **p.TITLE)
        left, sd = law.reward - law.fitted, law.residuals.sd
        axes.axhspan(-sd, sd, color=p.REWARD, alpha=0.12, linewidth=0)
        axes.axhline(0.0, color=p.INK, linewidth=0.8, alpha=0.7, zorder=6)
        for y in (-sd, sd):
            axes.axhline(y, color=p.MUTED, linewidth=0.5, linestyle=(0, (4, 2)), zorder=6)
        _trace(axes, law, left, p.REWARD)
        reach = max(float(abs(left).max()), sd) or 1.0
        axes.set_ylim(-1.15 * reach, 1.15 * reach)
        _at_right(axes, sd, "+1 sd", p.MUTED)
        _at_right(axes, -sd, "−1 sd", p.MUTED)
        axes.set_ylabel("reward − law")
        axes.set_xlabel("step", labelpad=2)
        residuals = law.residuals
        lag1 = "unknown" if residuals.lag1 is None else f"{residuals.lag1:.2f}"
        note = f"sd {format_number(sd, 2)} · lag-1 {lag1}"
        if residual_model(law.interval).assumed is None:
            effective = f"effective n {format_number(residuals.effective_n, 2)} of {law.n}"
            note = f"{note} · drift share {residuals.drift_share:.2f} · {effective}"
        p.write_notes(figure, [note.replace(" -0", " −0")])
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
