"""The forecast of a run: its series over the steps, the band ahead, and the best step so far."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.document import Entry
from entropylaw.report.figures import answer_of, reward_label
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.law import verdict_title
from entropylaw.report.numbers import format_percent, format_step
from entropylaw.report.words import p_words
from entropylaw.results import Estimate
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast

_BAND: dict[str, Any] = {"linewidth": 6.0, "alpha": 0.24}
_DASHED: Any = (0, (4, 2))


def forecast_figure(part: Entry[Fit] | Fit | Forecast) -> Figure:
    """Reward, and entropy below it: the log, the band ahead, and the best step; a bare forecast is alone.

    Raises ValueError: there is no forecast; the message says why.
    """
    if isinstance(part, Forecast):
        with p.panels([1.22], right=0.1) as (figure, (axes,)):
            draw_on(axes, part)
        return figure
    fit = answer_of(part)
    ahead = fit.forecast
    if ahead is None:
        raise ValueError(fit.no_forecast or "no forecast was made")
    best = ahead.best_so_far
    marked = f"best so far, step {format_step(best.step)}"
    if best.stands_out:
        marked += f", better than now with {p_words(best.p_better)}"
    elif best.step != ahead.last_step:
        marked += ", not distinguishable from now"
    diamond: dict[str, Any] = {"linewidth": 0, "marker": "D", "markersize": 3.5, "markevery": [1]}
    line: dict[str, Any] = {"linewidth": 1.0, "linestyle": _DASHED}
    keys: list[Any] = [("vermilion", marked, [diamond])]
    if not fit.lost:
        keys.insert(0, ("blue", f"forecast, {format_percent(ahead.level)} interval", [_BAND, line]))
    room: dict[str, Any] = {"right": 0.12, "gap": 0.14, **verdict_title(fit)}
    notes = chain.from_iterable(p.wrapped(text, 66, 3) for text in ahead.notes)
    with p.panels([1.42, 0.78], **room, notes=list(notes), keys=keys) as (figure, (upper, lower)):
        draw_reward(upper, fit)
        draw_entropy(lower, fit)
        upper.set_ylabel(reward_label(part))
        lower.set(xlabel="step", ylabel="entropy (nats)")
    return figure


def draw_reward(axes: Axes, fit: Fit) -> None:
    """The reward so far with its best step, and its forecast if there is one, on axes that hold both."""
    steps, _, rewards = fit.evaluations
    ends, last = list[float | None](), float(steps[-1])
    _log(axes, steps, rewards, p.colour("blue"))
    if fit.forecast is not None and fit.lost:
        _best(axes, fit.forecast)
    elif fit.forecast is not None:
        draw_on(axes, fit.forecast)
        axes.set(xlabel="", ylabel="")
        last = max(fit.forecast.step)
        for reward in fit.forecast.rewards:
            ends += [reward.low, reward.value, reward.high]
    across = p.padded(float(steps[0]), last, 0.025, 0.025)
    axes.set(xlim=across, ylim=p.limits(rewards, ends, 1.5, 0.06, 0.08))


def draw_entropy(axes: Axes, fit: Fit) -> None:
    """The entropy so far, and ahead as far as there is a forecast."""
    law, ahead = fit.law, fit.forecast
    _log(axes, law.step, law.entropy, p.colour("purple"))
    if ahead is not None and not fit.lost:
        last = float(law.step[-1]), float(law.smoothed_entropy[-1])
        _fan(axes, ahead, last, ahead.entropies, p.colour("purple"))
    highest = float(law.entropy.max())
    axes.set_ylim(*p.padded(min(0.0, float(law.entropy.min())), 1.2 * highest, 0.0, 0.08))


def draw_on(axes: Axes, ahead: Forecast | Entry[Fit] | Fit) -> None:
    """The band ahead and the best step on given axes, which may have the rewards of the run already."""
    if not isinstance(ahead, Forecast):
        made = answer_of(ahead).forecast
        assert made is not None
        ahead = made
    axes.set(xlabel="step", ylabel="reward")
    _fan(axes, ahead, (ahead.last_step, ahead.now), ahead.rewards, p.colour("blue"))
    _best(axes, ahead)


def _best(axes: Axes, ahead: Forecast) -> None:
    best = ahead.best_so_far
    axes.plot([best.step], [best.level], "D", color=p.colour("vermilion"), markersize=3.5, zorder=6)


def _log(axes: Axes, steps: Any, values: Any, colour: str) -> None:
    size, alpha = (1.6, 0.45) if len(steps) > 120 else (2.2, 0.8)
    p.dots(axes, steps, values, size=size, color=colour, alpha=alpha, zorder=4)


def _fan(
    axes: Axes, ahead: Forecast, last: tuple[float, float], later: Sequence[Estimate], colour: str
) -> None:
    """Values and intervals from the last step on; an entropy that was given has no interval."""
    if not later:
        return
    points = [(*last, last[1], last[1])]
    for step, estimate in sorted(zip(ahead.step, later, strict=True), key=itemgetter(0)):
        points.append((step, float(estimate), *p.ends(estimate, float(estimate))))
    steps, values, low, high = zip(*points, strict=True)
    axes.plot(steps, values, color=colour, linewidth=1.2, linestyle=_DASHED, zorder=5)
    axes.fill_between(steps, low, high, color=colour, linewidth=0, alpha=0.2, zorder=2)
    axes.plot([steps[-1]] * 2, [low[-1], high[-1]], color=colour, linewidth=0.8, alpha=0.8, zorder=3)
