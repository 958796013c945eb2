"""The forecast of a run: prediction intervals over later steps, the ceiling, the step of saturation."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.arrays import FloatArray
from entropylaw.documents.document import RunReport
from entropylaw.report.describe.runs import NOT_REQUESTED
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures import reward_label
from entropylaw.report.figures.law import verdict_title
from entropylaw.report.numbers import format_interval, format_interval_of_steps, format_percent, format_step
from entropylaw.results import Estimate, Why
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.law import LawFit

_DASHED: Any = (0, (4, 2))
_DOTTED: Any = (0, (1, 1.5))
_BAND: dict[str, Any] = {"linewidth": 6.0, "alpha": 0.24}


def forecast_figure(run: RunReport | Forecast | SaturationForecast) -> Figure:
    """Reward, and entropy below it: the log, and the prediction intervals over the later steps.

    The fan is fainter from the level now to the first step forecast. The horizontal band is the ceiling's
    interval, where the law holds; the vertical one that of the step of saturation. A bare forecast or
    saturation is drawn alone.

    Raises ValueError: there is no forecast; the message says why.
    """
    if not isinstance(run, RunReport):
        with p.panels([1.22], right=0.1) as (figure, (axes,)):
            draw_on(axes, run)
        return figure
    fit, ahead, spending = run.fit.result, run.forecast, run.spending
    if fit is None or (ahead is None and spending is None):
        raise ValueError(run.no_forecast or NOT_REQUESTED)
    # All rewards logged; of bands much wider than these the part that is near them.
    bands = [*ahead.reward] if ahead is not None else []
    if fit.why is not Why.no_relation:
        bands.append(fit.ceiling)
    ends = chain.from_iterable((band.low, band.value, band.high) for band in bands)
    rewards = p.limits(fit.law.reward, ends, 1.5, 0.06, 0.08)
    room: dict[str, Any] = {"right": 0.12, "gap": 0.14, **verdict_title(fit)}
    room |= {"notes": _notes(run, fit, rewards), "keys": _keys(run, fit)}
    with p.panels([1.42, 0.78], **room) as (figure, (upper, lower)):
        _rewards(upper, fit, ahead)
        _entropies(lower, fit, ahead)
        upper.set_xlim(*_steps_shown(fit.law, ahead, spending))
        upper.set_ylim(*rewards)
        if spending is not None:
            lower.axhline(spending.entropy, color=p.colour("muted"), lw=0.8, linestyle=_DOTTED, zorder=3)
            _saturation(upper, spending)
            _saturation(lower, spending)
        upper.set_ylabel(reward_label(run.fit))
        lower.set_ylabel("entropy (nats)")
    return figure


def _rewards(axes: Axes, fit: Fit, ahead: Forecast | None) -> None:
    """The rewards so far, the fan of those ahead, and the ceiling where there is one."""
    _log(axes, fit.law, fit.law.reward, p.colour("blue"))
    if ahead is not None:
        _fan(axes, ahead, ahead.reward_now, ahead.reward, p.colour("blue"))
    if fit.why is not Why.no_relation and fit.ceiling.value is not None:
        colour = p.colour("vermilion")
        if fit.ceiling.low is not None and fit.ceiling.high is not None:
            band: dict[str, Any] = {"color": colour, "alpha": 0.13, "linewidth": 0, "zorder": 1}
            axes.axhspan(fit.ceiling.low, fit.ceiling.high, **band)
        axes.axhline(fit.ceiling.value, color=colour, linewidth=1.0, zorder=3)


def _entropies(axes: Axes, fit: Fit, ahead: Forecast | None) -> None:
    """The entropies so far and the fan of those ahead; bands much above the log are cut."""
    law = fit.law
    _log(axes, law, law.entropy, p.colour("purple"))
    highest = largest = float(law.entropy.max())
    if ahead is not None:
        # The document has no interval of the entropy now: the fan starts in a point.
        level = float(law.smoothed_entropy[-1])
        now = Estimate(value=level, low=level, high=level, level=0.0, method="")
        _fan(axes, ahead, now, ahead.entropy, p.colour("purple"))
        ends = [end for entropy in ahead.entropy for end in (entropy.value, entropy.high)]
        highest = max([largest, *(end for end in ends if end is not None)])
    axes.set_ylim(*p.padded(min(0.0, float(law.entropy.min())), min(highest, 1.5 * largest), 0.0, 0.08))


def _log(axes: Axes, law: LawFit, values: FloatArray, colour: str) -> None:
    size, alpha = (1.6, 0.45) if law.n > 120 else (2.2, 0.8)
    p.dots(axes, law.step, values, size=size, color=colour, alpha=alpha, zorder=4)


def _steps_shown(
    law: LawFit, ahead: Forecast | None, spending: SaturationForecast | None
) -> tuple[float, float]:
    """The logged and the forecast steps; a later saturation adds at most the length of the run."""
    first, last = float(law.step[0]), float(law.step[-1])
    spent = (spending.step.value, spending.step.high) if spending else ()
    ends = [min(end, last + (last - first or 1.0)) for end in spent if end is not None and end > last]
    return p.padded(first, max([last, *(ahead.step if ahead else ()), *ends]), 0.025, 0.025)


def draw_on(axes: Axes, part: RunReport | Forecast | SaturationForecast) -> None:
    """The fan on given axes, which may have the rewards of the run already; or the step of saturation."""
    axes.set_xlabel("step")
    if isinstance(part, SaturationForecast):
        # The axes are widened to show the step.
        ends = [end for end in (part.step.low, part.step.value, part.step.high) if end is not None]
        left, right = axes.get_xlim() if axes.has_data() else (part.last_step, part.last_step)
        if not axes.has_data():
            axes.set_yticks([])
        axes.set_xlim(*p.padded(left, max([right, *ends]), 0.0, 0.025))
        _saturation(axes, part)
        axes.set_title(p.shown(_saturation_words(part)), loc="left", color=p.colour("muted"), fontsize=8)
        return
    ahead = part if isinstance(part, Forecast) else part.forecast
    assert ahead is not None
    _fan(axes, ahead, ahead.reward_now, ahead.reward, p.colour("blue"))
    if ahead.reward_now.value is not None:
        now = ([ahead.last_step], [ahead.reward_now.value])
        axes.plot(*now, "D", color=p.colour("ink"), markersize=3.5, zorder=6)
    axes.set_ylabel("reward")


def _fan(axes: Axes, ahead: Forecast, now: Estimate, later_on: tuple[Estimate, ...], colour: str) -> None:
    """Medians and intervals over the later steps; steps without an interval have a median only."""
    rows = []
    for step, estimate in zip(ahead.step, later_on, strict=False):
        if estimate.value is not None:
            rows.append((step, estimate.value, estimate.low, estimate.high))
    if not rows:
        return
    last = ahead.last_step
    rows.sort()
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


def _saturation(axes: Axes, spending: SaturationForecast) -> None:
    """A vertical line with its interval, as far as it is in the picture; an open end reaches the edge."""
    (left, right), step, muted = axes.get_xlim(), spending.step, p.colour("muted")
    high = right if step.high is None else min(step.high, right)
    if step.low is not None and step.low < right:
        axes.axvspan(max(step.low, left), high, color=muted, alpha=0.13, linewidth=0, zorder=0)
    if step.value is not None and left <= step.value <= right:
        axes.axvline(step.value, color=muted, linewidth=0.9, linestyle=_DOTTED, zorder=3)


def _keys(run: RunReport, fit: Fit) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """The key, line by line: colour, words, the band and the line on it."""
    keys: list[tuple[str, str, Any]] = []
    if (ahead := run.forecast) is not None:
        of = "" if ahead.block == 1 else f" (mean of {ahead.block} evaluations)"
        keys.append(("blue", f"forecast, {format_percent(ahead.level)} prediction interval{of}", _DASHED))
    if fit.why is not Why.no_relation and fit.ceiling.value is not None:
        ceiling = format_interval(fit.ceiling).replace(" -", " −").replace("[-", "[−")
        keys.append(("vermilion", f"ceiling {ceiling}", "-"))
    if run.spending is not None:
        keys.append(("muted", _saturation_words(run.spending), _DOTTED))
    return [(name, text, [_BAND, {"linewidth": 1.0, "linestyle": dashes}]) for name, text, dashes in keys]


def _saturation_words(spending: SaturationForecast) -> str:
    low, value, high = format_interval_of_steps(spending.step, "?")
    when = "no step" if spending.step.low is None else f"step {low} at the earliest"
    when = when if spending.step.value is None else f"step {value} [{low}, {high}]"
    return f"{format_percent(spending.share)} of exp(H) − 1 spent: {when}"


def _notes(run: RunReport, fit: Fit, rewards: tuple[float, float]) -> list[str]:
    """The parts that are not drawn, and why."""
    ahead, notes = run.forecast, []
    if fit.why is Why.no_relation:
        notes.append("no ceiling is drawn: reward does not follow entropy")
    if run.no_forecast is not None:
        notes.append(f"no forecast: {run.no_forecast}")
    if ahead is not None:
        notes += ahead.notes
        last, (low, high) = ahead.reward[-1], rewards
        if any(end is not None and not low <= end <= high for end in (last.low, last.high)):
            where = f"at step {format_step(ahead.step[-1])} the reward is {format_interval(last)}"
            notes.append(f"the band is cut: {where}")
    if run.spending is not None and run.spending.step.note:
        notes.append(run.spending.step.note)
    return list(chain.from_iterable(p.wrapped(text, 66, 3) for text in notes))
