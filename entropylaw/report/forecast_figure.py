"""Where a run goes from here: the forecast's fan over later steps, the ceiling, when the entropy is spent."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.report import RunReport
from entropylaw.report import plotting as p
from entropylaw.report.law_figure import reward_label, verdict_title
from entropylaw.report.numbers import format_interval, format_interval_of_steps, format_percent, format_step
from entropylaw.report.palette import as_text, light
from entropylaw.results import Estimate
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.law import LawFit

CEILING = light("vermilion")
"""The ceiling stands out from the reward's blue in lightness and in hue."""

FURTHEST = 1.0
"""How far a step of saturation may widen the picture, in spans of the run; one further off is named only."""

_LEFT, _RIGHT, _BOTTOM = 0.56, 0.12, 0.4
_REWARD, _GAP, _ENTROPY = 1.42, 0.14, 0.78
_DASHED: Any = (0, (4, 2))
_DOTTED: Any = (0, (1, 1.5))


def forecast_figure(run: RunReport | Forecast | SaturationForecast) -> Figure:
    """Reward, and entropy below it: what was logged, and the forecast's interval over the later steps.

    The fan is of a new evaluation; between the last step and the first one forecast it is drawn from the
    level now, fainter. The band across is the ceiling's interval, where the law holds; the upright band is
    the interval of the step at which the entropy is spent. Of a bare forecast the fan is drawn alone, or
    that step.

    Raises
    ------
    ValueError
        There is no forecast; the message says why.
    """
    if isinstance(run, Forecast | SaturationForecast):
        with p.style():
            figure = p.new_figure(1.7)
            draw_on(p.add_axes(figure, left=0.56, right=0.1, bottom=0.4, top=0.08), run)
            p.make_room(figure)
            return figure
    law = run.fit.law
    if law is None or (run.forecast is None and run.spending is None):
        raise ValueError(run.no_forecast or "no forecast was asked for")
    with p.style():
        title, keys, notes = verdict_title(law), _keys(run, law), _notes(run, law)
        top = 0.08 + p.LINE * (len(title) + len(keys)) + 0.06
        bottom = _BOTTOM + p.LINE * len(notes)
        figure = p.new_figure(top + _REWARD + _GAP + _ENTROPY + bottom)
        p.write_lines(figure, 0.05, title, **p.TITLE)
        marks = {"fan": (p.REWARD, _DASHED), "ceiling": (CEILING, "-"), "spent": (p.MUTED, _DOTTED)}
        for i, (kind, text) in enumerate(keys, len(title)):
            # A small mark as in the panels, and its words.
            y = 0.06 + p.LINE * i
            colour, dashes = marks[kind]
            p.patch(figure, 0.08, y, 0.2, facecolor=colour, alpha=0.24)
            upright = kind == "spent"
            start, end = (
                ((0.18, y + 0.015), (0.18, y + 0.1)) if upright else ((0.08, y + 0.0575), (0.28, y + 0.0575))
            )
            p.stroke(figure, start, end, color=colour, linewidth=1.0, linestyle=dashes)
            p.write(figure, 0.34, y, text, size=7.0, color=as_text(colour))
        sides = {"left": _LEFT, "right": _RIGHT}
        upper = p.add_axes(figure, **sides, bottom=bottom + _ENTROPY + _GAP, top=top)
        lower = p.add_axes(figure, **sides, bottom=bottom, top=top + _REWARD + _GAP)
        _reward(upper, run, law)
        _entropy(lower, run, law)
        lower.set_xlim(*upper.get_xlim())
        upper.tick_params(labelbottom=False)
        p.write_notes(figure, notes)
        p.make_room(figure)
        return figure


def draw_on(axes: Axes, part: RunReport | Forecast | SaturationForecast) -> None:
    """The fan on axes of anybody's, where the rewards of the run may be already; or when entropy is spent."""
    if isinstance(part, SaturationForecast):
        _mark_spent(axes, part)
        return
    told = part if isinstance(part, Forecast) else part.forecast
    assert told is not None
    _fan(axes, told.last_step, told.reward_now, told.step, told.reward, p.REWARD)
    if told.reward_now.value is not None:
        axes.plot([told.last_step], [told.reward_now.value], "D", color=p.INK, markersize=3.5, zorder=6)
    axes.set_xlabel("step")
    axes.set_ylabel("reward")


def _mark_spent(axes: Axes, told: SaturationForecast) -> None:
    """The step at which the entropy is spent, on axes of anybody's, which are widened to show it."""
    ends = [end for end in (told.step.low, told.step.value, told.step.high) if end is not None]
    left, right = axes.get_xlim() if axes.has_data() else (told.last_step, told.last_step)
    if not axes.has_data():
        axes.set_yticks([])
    axes.set_xlim(*p.padded(left, max([right, *ends]), 0.0, 0.025))
    _spent(axes, told)
    axes.set_title(p.shown(_spending(told)), loc="left", color=p.MUTED, fontsize=8)
    axes.set_xlabel("step")


def _reward(axes: Axes, run: RunReport, law: LawFit) -> None:
    """The reward as logged, its fan, the ceiling and the step at which the entropy is spent."""
    _logged(axes, law.step, law.reward, p.REWARD)
    ahead, ceiling = run.forecast, law.ceiling
    if ahead is not None:
        _fan(axes, ahead.last_step, ahead.reward_now, ahead.step, ahead.reward, p.REWARD)
    if law.validity.ok and ceiling.value is not None:
        if ceiling.low is not None and ceiling.high is not None:
            axes.axhspan(ceiling.low, ceiling.high, color=CEILING, alpha=0.13, linewidth=0, zorder=1)
        axes.axhline(ceiling.value, color=CEILING, linewidth=1.0, zorder=3)
    axes.set_xlim(*_steps(law, ahead, run.spending))
    axes.set_ylim(*_rewards(law, ahead))
    _spent(axes, run.spending)
    axes.set_ylabel(reward_label(run.fit))


def _entropy(axes: Axes, run: RunReport, law: LawFit) -> None:
    """The entropy as logged, its fan, and the entropy at which the law's promise is spent."""
    _logged(axes, law.step, law.entropy, p.ENTROPY)
    ahead = () if run.forecast is None else run.forecast.entropy
    if run.forecast is not None and ahead:
        # The interval of the level now is not in the document: the fan starts in a point.
        level = float(law.course[-1])
        now = Estimate(value=level, low=level, high=level, level=0.0, method="a place to start from")
        _fan(axes, run.forecast.last_step, now, run.forecast.step, ahead, p.ENTROPY)
    if run.spending is not None:
        axes.axhline(run.spending.entropy, color=p.MUTED, linewidth=0.8, linestyle=_DOTTED, zorder=3)
    least, most = float(law.entropy.min()), float(law.entropy.max())
    seen = [end for e in ahead for end in (e.value, e.high) if end is not None]
    axes.set_ylim(*p.padded(min(0.0, least), min(max([most, *seen]), 1.5 * most), 0.0, 0.08))
    _spent(axes, run.spending)
    axes.set_ylabel("entropy (nats)")
    axes.set_xlabel("step", labelpad=2)


def _logged(axes: Axes, step: p.FloatArray, values: p.FloatArray, colour: str) -> None:
    size, alpha = (1.6, 0.45) if step.size > 120 else (2.2, 0.8)
    p.dots(axes, step, values, size=size, color=colour, alpha=alpha, zorder=4)


def _fan(
    axes: Axes, last: float, now: Estimate, step: tuple[float, ...], told: tuple[Estimate, ...], colour: str
) -> None:
    """Medians and intervals over the later steps; steps whose interval is not known have a median only."""
    later = [(step[i], told[i]) for i in np.argsort(step) if told[i].value is not None]
    if not later:
        return
    first = later[0][1] if now.value is None else now
    steps, levels = [last, *(x for x, _ in later)], [first.value, *(e.value for _, e in later)]
    axes.plot(steps, levels, color=colour, linewidth=1.2, linestyle=_DASHED, zorder=5)
    banded = [(x, e.low, e.high) for x, e in later if e.low is not None and e.high is not None]
    if not banded:
        return
    x, low, high = (list(part) for part in zip(*banded, strict=True))
    look: dict[str, Any] = {"color": colour, "linewidth": 0, "zorder": 2}
    if now.low is not None and now.high is not None:
        axes.fill_between([last, x[0]], [now.low, low[0]], [now.high, high[0]], alpha=0.12, **look)
    axes.fill_between(x, low, high, alpha=0.24, **look)
    ends = (len(x) - 1,) if len(x) > 4 else range(len(x))
    for i in ends:
        axes.plot([x[i], x[i]], [low[i], high[i]], color=colour, linewidth=0.8, alpha=0.8, zorder=3)


def _spent(axes: Axes, spending: SaturationForecast | None) -> None:
    """An upright line with its interval, as far as it is in the picture; an open end reaches the edge."""
    if spending is None:
        return
    (left, right), step = axes.get_xlim(), spending.step
    high = right if step.high is None else min(step.high, right)
    if step.low is not None and step.low < right:
        axes.axvspan(max(step.low, left), high, color=p.MUTED, alpha=0.13, linewidth=0, zorder=0)
    if step.value is not None and left <= step.value <= right:
        axes.axvline(step.value, color=p.MUTED, linewidth=0.9, linestyle=_DOTTED, zorder=3)


def _steps(law: LawFit, told: Forecast | None, spending: SaturationForecast | None) -> tuple[float, float]:
    """All steps logged and forecast, and those of saturation that are not too far off."""
    first, last = float(law.step[0]), float(law.step[-1])
    furthest = last + FURTHEST * ((last - first) or 1.0)
    right = max([last, *(told.step if told else ())])
    if spending is not None:
        ends = (spending.step.value, spending.step.high)
        right = max([right, *(min(end, furthest) for end in ends if end is not None and end > last)])
    return p.padded(first, right, 0.025, 0.025)


def _rewards(law: LawFit, told: Forecast | None) -> tuple[float, float]:
    """All rewards logged; of bands much wider than these the part that is near them."""
    low, high = float(law.reward.min()), float(law.reward.max())
    room = 1.5 * ((high - low) or abs(high) or 1.0)
    wanted = [end for e in (told.reward if told else ()) for end in (e.low, e.value, e.high)]
    if law.validity.ok:
        wanted += [law.ceiling.low, law.ceiling.value, law.ceiling.high]
    inside = [min(max(end, low - room), high + room) for end in wanted if end is not None]
    return p.padded(min([low, *inside]), max([high, *inside]), 0.06, 0.08)


def _keys(run: RunReport, law: LawFit) -> list[tuple[str, str]]:
    """What is to be seen, line by line: (kind of mark, words)."""
    keys = []
    if run.forecast is not None:
        level = format_percent(run.forecast.level)
        of = "a new evaluation" if run.forecast.block == 1 else f"a mean of {run.forecast.block} new ones"
        keys.append(("fan", f"forecast and {level} interval of {of}"))
    if law.validity.ok and law.ceiling.value is not None:
        keys.append(("ceiling", f"ceiling {format_interval(law.ceiling)}"))
    if run.spending is not None:
        keys.append(("spent", _spending(run.spending)))
    return [(kind, p.shown(text.replace(" -", " −").replace("[-", "[−"))) for kind, text in keys]


def _spending(told: SaturationForecast) -> str:
    what, step = f"{format_percent(told.share)} of the law’s promise spent", told.step
    low, value, high = format_interval_of_steps(step, "?")
    if step.value is not None:
        return f"{what}: step {value} [{low}, {high}]"
    return f"{what}: no step" if step.low is None else f"{what}: step {low} at the earliest"


def _notes(run: RunReport, law: LawFit) -> list[str]:
    """What is not drawn, and why."""
    told = []
    if not law.validity.ok:
        told.append("no ceiling is drawn: it is the law’s, and the law is not to be read here")
    if run.no_forecast is not None:
        told.append(f"no forecast: {run.no_forecast}")
    if run.forecast is not None:
        told += run.forecast.notes
        last, (bottom, top) = run.forecast.reward[-1], _rewards(law, run.forecast)
        if (last.low is not None and last.low < bottom) or (last.high is not None and last.high > top):
            at = format_step(run.forecast.step[-1])
            told.append(f"the band is cut: at step {at} the reward is {format_interval(last)}")
    if run.spending is not None and run.spending.step.note:
        told.append(run.spending.step.note)
    return [line for text in told for line in p.wrapped(text, 66, 3)]
