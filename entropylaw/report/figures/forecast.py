"""The series of a run over the steps, the step to keep, and the band ahead."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.document import Entry
from entropylaw.report.figures import answer_of, reward_label
from entropylaw.report.figures import plotting as p
from entropylaw.report.numbers import format_percent, format_step, p_words
from entropylaw.report.words import headline
from entropylaw.results import Estimate
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast
from entropylaw.results.law import LawFit

_DASHED: Any = (0, (4, 2))


def forecast_figure(part: Entry[Fit] | Fit | Forecast) -> Figure:
    """Reward, and entropy below it: the log, the step to keep, and the band ahead; a forecast is alone."""
    if isinstance(part, Forecast):
        with p.panels([1.22], right=0.1) as (figure, (axes,)):
            draw_on(axes, part)
        return figure
    fit = answer_of(part)
    heights = [1.42] if fit.law is None else [1.42, 0.78]
    with p.panels(
        heights,
        title=p.wrapped(headline(fit), 54),
        title_colour=_title_colour(fit),
        right=0.12,
        gap=0.14,
        keys=_keys(fit),
    ) as (figure, panels):
        draw_reward(panels[0], fit)
        panels[0].set_ylabel(reward_label(part))
        if fit.law is not None:
            draw_entropy(panels[1], fit, fit.law)
            panels[1].set_ylabel("entropy (nats)")
        panels[-1].set_xlabel("step")
    return figure


def _title_colour(fit: Fit) -> str:
    """The colour of the title, which is trouble."""
    return "warn" if fit.is_broken else "muted"


def _keys(fit: Fit) -> list[p.Key]:
    """The lines of the key: the forecast, and the step to keep."""
    keys: list[p.Key] = []
    ahead = fit.forecast
    if ahead is not None and not fit.is_broken:
        band = {"linewidth": 6.0, "alpha": 0.24}
        line = {"linewidth": 1.0, "linestyle": _DASHED}
        keys.append(("blue", f"forecast, {format_percent(ahead.level)} interval", [band, line]))
    keep = fit.keep
    if keep is not None:
        text = f"keep step {format_step(keep.step)}, "
        text += "the last" if keep.is_last else f"better than the last with {p_words(keep.p_better)}"
        diamond = {"linewidth": 0, "marker": "D", "markersize": 3.5, "markevery": [0]}
        keys.append(("vermilion", text, [diamond]))
    return keys


def draw_reward(axes: Axes, fit: Fit) -> None:
    """The reward so far with the step to keep, and its forecast if there is one, on axes that hold both."""
    steps, _, rewards = fit.evaluations
    ends: list[float | None] = []
    last = float(steps[-1])
    _log(axes, steps, rewards, p.colour("blue"))
    if fit.keep is not None:
        kept = [fit.keep.step], [fit.keep.level]
        axes.plot(*kept, "D", color=p.colour("vermilion"), markersize=3.5, zorder=6)
    if fit.forecast is not None and not fit.is_broken:
        _ahead(axes, fit.forecast)
        last = max(fit.forecast.step)
        for reward in fit.forecast.rewards:
            ends += [reward.low, reward.value, reward.high]
    across = p.padded(float(steps[0]), last, 0.025, 0.025)
    axes.set(xlim=across, ylim=p.limits(rewards, ends, 1.5, 0.06, 0.08))


def draw_entropy(axes: Axes, fit: Fit, law: LawFit) -> None:
    """The entropy so far, and ahead as far as there is a forecast."""
    ahead = fit.forecast
    _log(axes, law.step, law.entropy, p.colour("purple"))
    if ahead is not None and not fit.is_broken:
        last = float(law.step[-1]), float(law.smoothed_entropy[-1])
        _fan(axes, ahead, last, ahead.entropies, p.colour("purple"))
    highest = float(law.entropy.max())
    axes.set_ylim(*p.padded(min(0.0, float(law.entropy.min())), 1.2 * highest, 0.0, 0.08))


def draw_on(axes: Axes, part: Entry[Fit] | Fit | Forecast) -> None:
    """The band ahead on given axes, which may have the rewards of the run already; of a fit with these."""
    if isinstance(part, Forecast):
        axes.set(xlabel="step", ylabel="reward")
        _ahead(axes, part)
        return
    fit = answer_of(part)
    draw_reward(axes, fit)
    axes.set(xlabel="step", ylabel=reward_label(part))
    colour = p.colour(_title_colour(fit))
    axes.set_title(headline(fit), loc="left", color=colour, fontweight="bold", fontsize=8)


def _ahead(axes: Axes, ahead: Forecast) -> None:
    _fan(axes, ahead, (ahead.last_step, ahead.now), ahead.rewards, p.colour("blue"))


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
