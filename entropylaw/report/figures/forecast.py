"""The series of a run over the steps, the best step so far, and the band ahead."""

from __future__ import annotations

from collections.abc import Sequence
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
from entropylaw.results.forecast import BestSoFar, Forecast

_DASHED: Any = (0, (4, 2))


def forecast_figure(part: Entry[Fit] | Fit | Forecast) -> Figure:
    """Reward, and entropy below it: the log, the best step, and the band ahead; a bare forecast is alone."""
    if isinstance(part, Forecast):
        with p.panels([1.22], right=0.1) as (figure, (axes,)):
            draw_on(axes, part)
        return figure
    fit = answer_of(part)
    title = verdict_title(fit)
    with p.panels(
        [1.42, 0.78],
        title=title.lines,
        title_colour=title.colour,
        right=0.12,
        gap=0.14,
        keys=_keys(fit),
    ) as (figure, (upper, lower)):
        draw_reward(upper, fit)
        draw_entropy(lower, fit)
        upper.set_ylabel(reward_label(part))
        lower.set(xlabel="step", ylabel="entropy (nats)")
    return figure


def _keys(fit: Fit) -> list[p.Key]:
    """The lines of the key: the forecast, and the best step."""
    keys: list[p.Key] = []
    ahead = fit.forecast
    if ahead is not None and not fit.lost:
        band = {"linewidth": 6.0, "alpha": 0.24}
        line = {"linewidth": 1.0, "linestyle": _DASHED}
        keys.append(("blue", f"forecast, {format_percent(ahead.level)} interval", [band, line]))
    best = fit.best_so_far
    if best is not None:
        text = f"best so far, step {format_step(best.step)}"
        if best.stands_out:
            text += f", better than now with {p_words(best.p_better)}"
        elif best.step != fit.evaluations[0][-1]:
            text += ", not distinguishable from now"
        diamond = {"linewidth": 0, "marker": "D", "markersize": 3.5, "markevery": [1]}
        keys.append(("vermilion", text, [diamond]))
    return keys


def draw_reward(axes: Axes, fit: Fit) -> None:
    """The reward so far with its best step, and its forecast if there is one, on axes that hold both."""
    steps, _, rewards = fit.evaluations
    ends: list[float | None] = []
    last = float(steps[-1])
    _log(axes, steps, rewards, p.colour("blue"))
    if fit.best_so_far is not None:
        _best(axes, fit.best_so_far)
    if fit.forecast is not None and not fit.lost:
        _ahead(axes, fit.forecast)
        last = max(fit.forecast.step)
        for reward in fit.forecast.rewards:
            ends += [reward.low, reward.value, reward.high]
    across = p.padded(float(steps[0]), last, 0.025, 0.025)
    axes.set(xlim=across, ylim=p.limits(rewards, ends, 1.5, 0.06, 0.08))


def draw_entropy(axes: Axes, fit: Fit) -> None:
    """The entropy so far, and ahead as far as there is a forecast."""
    law = fit.law
    ahead = fit.forecast
    _log(axes, law.step, law.entropy, p.colour("purple"))
    if ahead is not None and not fit.lost:
        last = float(law.step[-1]), float(law.smoothed_entropy[-1])
        _fan(axes, ahead, last, ahead.entropies, p.colour("purple"))
    highest = float(law.entropy.max())
    axes.set_ylim(*p.padded(min(0.0, float(law.entropy.min())), 1.2 * highest, 0.0, 0.08))


def draw_on(axes: Axes, ahead: Forecast) -> None:
    """The band ahead and the best step on given axes, which may have the rewards of the run already."""
    axes.set(xlabel="step", ylabel="reward")
    _ahead(axes, ahead)
    if ahead.best_so_far is not None:
        _best(axes, ahead.best_so_far)


def _ahead(axes: Axes, ahead: Forecast) -> None:
    _fan(axes, ahead, (ahead.last_step, ahead.now), ahead.rewards, p.colour("blue"))


def _best(axes: Axes, best: BestSoFar) -> None:
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
