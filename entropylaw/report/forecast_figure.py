"""Where a run goes from here: the forecast's fan over later steps, the ceiling, when the entropy is spent."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.report import RunReport
from entropylaw.report import plotting as p
from entropylaw.report.law_figure import reward_label, verdict_title
from entropylaw.report.numbers import format_interval, format_interval_of_steps, format_percent, format_step
from entropylaw.results import Estimate
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.law import LawFit

_DASHED: Any = (0, (4, 2))
_DOTTED: Any = (0, (1, 1.5))
_BAND: dict[str, Any] = {"linewidth": 6.0, "alpha": 0.24}


def forecast_figure(run: RunReport | Forecast | SaturationForecast) -> Figure:
    """Reward, and entropy below it: what was logged, and the forecast's interval over the later steps.

    The fan is of a new evaluation; from the level now to the first step forecast it is fainter. The band
    across is the ceiling's interval, where the law holds; the upright one that of the step at which the
    entropy is spent. Of a bare forecast the fan is drawn alone, or that step.

    Raises ValueError: there is no forecast; the message says why.
    """
    if not isinstance(run, RunReport):
        with p.panels([1.22], right=0.1) as (figure, (axes,)):
            draw_on(axes, run)
        return figure
    law, ahead, spending = run.fit.law, run.forecast, run.spending
    if law is None or (ahead is None and spending is None):
        raise ValueError(run.no_forecast or "no forecast was asked for")
    # All rewards logged; of bands much wider than these the part that is near them.
    bands = [*(ahead.reward if ahead else ()), *([law.ceiling] if law.validity.ok else [])]
    wanted = [end for band in bands for end in (band.low, band.value, band.high)]
    rewards = p.limits(law.reward, wanted, 1.5, 0.06, 0.08)
    title, keys, notes = verdict_title(law), _keys(run, law), _notes(run, rewards)
    room: dict[str, Any] = {"right": 0.12, "gap": 0.14, "title": title, "notes": notes}
    with p.panels([1.42, 0.78], keys=keys, **room) as (figure, (upper, lower)):
        reward, entropy, ceiling = (p.colour(name) for name in ("blue", "purple", "vermilion"))
        for axes, values, colour in ((upper, law.reward, reward), (lower, law.entropy, entropy)):
            size, alpha = (1.6, 0.45) if law.n > 120 else (2.2, 0.8)
            p.dots(axes, law.step, values, size=size, color=colour, alpha=alpha, zorder=4)
        if ahead is not None:
            _fan(upper, ahead, ahead.reward_now, ahead.reward, reward)
            # The interval of the level now is not in the document: the fan starts in a point.
            level = float(law.course[-1])
            now = Estimate(value=level, low=level, high=level, level=0.0, method="a place to start from")
            _fan(lower, ahead, now, ahead.entropy, entropy)
        if law.validity.ok and law.ceiling.value is not None:
            if law.ceiling.low is not None and law.ceiling.high is not None:
                band: dict[str, Any] = {"color": ceiling, "alpha": 0.13, "linewidth": 0, "zorder": 1}
                upper.axhspan(law.ceiling.low, law.ceiling.high, **band)
            upper.axhline(law.ceiling.value, color=ceiling, linewidth=1.0, zorder=3)
        first, last = float(law.step[0]), float(law.step[-1])
        # A step of saturation widens the picture by a span of the run at most, or is only named.
        spent = (spending.step.value, spending.step.high) if spending else ()
        ends = [min(end, last + (last - first or 1.0)) for end in spent if end is not None and end > last]
        upper.set_xlim(*p.padded(first, max([last, *(ahead.step if ahead else ()), *ends]), 0.025, 0.025))
        upper.set_ylim(*rewards)
        least, most = float(law.entropy.min()), float(law.entropy.max())
        seen = [end for e in (ahead.entropy if ahead else ()) for end in (e.value, e.high) if end is not None]
        lower.set_ylim(*p.padded(min(0.0, least), min(max([most, *seen]), 1.5 * most), 0.0, 0.08))
        if spending is not None:
            lower.axhline(spending.entropy, color=p.colour("muted"), lw=0.8, linestyle=_DOTTED, zorder=3)
            _spent(upper, spending)
            _spent(lower, spending)
        upper.set_ylabel(reward_label(run.fit))
        lower.set_ylabel("entropy (nats)")
    return figure


def draw_on(axes: Axes, part: RunReport | Forecast | SaturationForecast) -> None:
    """The fan on axes of anybody's, where the rewards of the run may be already; or when entropy is spent."""
    axes.set_xlabel("step")
    if isinstance(part, SaturationForecast):
        # The axes are widened to show the step.
        ends = [end for end in (part.step.low, part.step.value, part.step.high) if end is not None]
        left, right = axes.get_xlim() if axes.has_data() else (part.last_step, part.last_step)
        if not axes.has_data():
            axes.set_yticks([])
        axes.set_xlim(*p.padded(left, max([right, *ends]), 0.0, 0.025))
        _spent(axes, part)
        axes.set_title(p.shown(_spending(part)), loc="left", color=p.colour("muted"), fontsize=8)
        return
    ahead = part if isinstance(part, Forecast) else part.forecast
    assert ahead is not None
    _fan(axes, ahead, ahead.reward_now, ahead.reward, p.colour("blue"))
    if ahead.reward_now.value is not None:
        now = ([ahead.last_step], [ahead.reward_now.value])
        axes.plot(*now, "D", color=p.colour("ink"), markersize=3.5, zorder=6)
    axes.set_ylabel("reward")


def _fan(axes: Axes, ahead: Forecast, now: Estimate, found: tuple[Estimate, ...], colour: str) -> None:
    """Medians and intervals over the later steps; steps whose interval is not known have a median only."""
    known = [(x, e) for x, e in zip(ahead.step, found, strict=False) if e.value is not None]
    if not known:
        return
    last, rows = ahead.last_step, sorted((x, e.value, e.low, e.high) for x, e in known)
    later = np.array(rows, dtype=np.float64)
    level = later[0, 1] if now.value is None else now.value
    medians = np.append(last, later[:, 0]), np.append(level, later[:, 1])
    axes.plot(*medians, color=colour, linewidth=1.2, linestyle=_DASHED, zorder=5)
    x, _, low, high = banded = later[~np.isnan(later).any(axis=1)].T
    if x.size:
        look: dict[str, Any] = {"color": colour, "linewidth": 0, "zorder": 2}
        if now.low is not None and now.high is not None:
            axes.fill_between([last, x[0]], [now.low, low[0]], [now.high, high[0]], alpha=0.12, **look)
        axes.fill_between(x, low, high, alpha=0.24, **look)
    for at, _, *ends in banded.T[-1 if x.size > 4 else 0 :]:
        axes.plot([at, at], ends, color=colour, linewidth=0.8, alpha=0.8, zorder=3)


def _spent(axes: Axes, spending: SaturationForecast) -> None:
    """An upright line with its interval, as far as it is in the picture; an open end reaches the edge."""
    (left, right), step, muted = axes.get_xlim(), spending.step, p.colour("muted")
    high = right if step.high is None else min(step.high, right)
    if step.low is not None and step.low < right:
        axes.axvspan(max(step.low, left), high, color=muted, alpha=0.13, linewidth=0, zorder=0)
    if step.value is not None and left <= step.value <= right:
        axes.axvline(step.value, color=muted, linewidth=0.9, linestyle=_DOTTED, zorder=3)


def _keys(run: RunReport, law: LawFit) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """What is to be seen, line by line: colour, words, the band and the line on it."""
    keys: list[tuple[str, str, Any]] = []
    if (ahead := run.forecast) is not None:
        of = "a new evaluation" if ahead.block == 1 else f"a mean of {ahead.block} new ones"
        keys.append(("blue", f"forecast and {format_percent(ahead.level)} interval of {of}", _DASHED))
    if law.validity.ok and law.ceiling.value is not None:
        keys.append(("vermilion", f"ceiling {format_interval(law.ceiling)}", "-"))
    if run.spending is not None:
        keys.append(("muted", _spending(run.spending), _DOTTED))
    looks = ((name, text, {"linewidth": 1.0, "linestyle": dashes}) for name, text, dashes in keys)
    return [(name, re.sub(r"(?<=[ [])-", "−", text), [_BAND, look]) for name, text, look in looks]


def _spending(spending: SaturationForecast) -> str:
    what, (low, value, high) = "of the law’s promise spent", format_interval_of_steps(spending.step, "?")
    when = "no step" if spending.step.low is None else f"step {low} at the earliest"
    when = when if spending.step.value is None else f"step {value} [{low}, {high}]"
    return f"{format_percent(spending.share)} {what}: {when}"


def _notes(run: RunReport, rewards: tuple[float, float]) -> list[str]:
    """What is not drawn, and why."""
    law, ahead, notes = run.fit.law, run.forecast, []
    if law is not None and not law.validity.ok:
        notes.append("no ceiling is drawn: it is the law’s, and the law is not to be read here")
    if run.no_forecast is not None:
        notes.append(f"no forecast: {run.no_forecast}")
    if ahead is not None:
        notes += ahead.notes
        last, (low, high) = ahead.reward[-1], rewards
        if any(end is not None and not low <= end <= high for end in (last.low, last.high)):
            where = f"at step {format_step(ahead.step[-1])} the reward is {format_interval(last)}"
            notes.append(f"the band is cut: {where}")
    notes.append((run.spending and run.spending.step.note) or "")
    return [line for text in notes for line in p.wrapped(text, 66, 3)]
