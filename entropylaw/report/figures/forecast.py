"""The series of a run over the steps, the step to keep, and the band ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.arrays import FloatArray
from entropylaw.documents.document import Entry
from entropylaw.report.figures import answer_of, reward_label
from entropylaw.report.figures import plotting as p
from entropylaw.report.numbers import format_estimate, format_number, format_step
from entropylaw.results import Estimate
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast
from entropylaw.results.law import LawFit
from entropylaw.results.state import Kept

_DASHED: Any = (0, (4, 2))

_ROOM_FOR_NUMBERS = 0.15
"""Share of the steps, at the right of the axes, for the numbers at the end of a forecast."""

_COLOURS = {"broken": "warn", "falling": "care", "rising": "fine"}
"""State → the colour of its title; others are grey."""


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
        title=p.wrapped(run_title(fit), 54),
        title_colour=_title_colour(fit),
        right=0.08,
        gap=0.14,
    ) as (figure, panels):
        panels[0].set_xlim(*steps_of(fit))
        draw_reward(panels[0], fit)
        panels[0].set_ylabel(reward_label(part))
        if fit.law is not None:
            draw_entropy(panels[1], fit, fit.law)
            panels[1].set_ylabel("entropy (nats)")
        panels[-1].set_xlabel(fit.axis)
    return figure


def draw_on(axes: Axes, part: Entry[Fit] | Fit | Forecast) -> None:
    """The band ahead on given axes, which may have the rewards of the run already; of a fit with these."""
    if isinstance(part, Forecast):
        axes.set(xlabel=part.axis, ylabel="reward")
        start = (part.last_step, part.now)
        _fan(axes, part, start, part.rewards, p.colour("blue"))
        # What is there already stays in sight.
        axes.set_xlim(*p.padded(*axes.get_xlim(), 0.0, _ROOM_FOR_NUMBERS))
        _number_ends(axes, part, part.rewards, "blue")
        return
    fit = answer_of(part)
    axes.set_xlim(*steps_of(fit))
    draw_reward(axes, fit)
    axes.set(xlabel=fit.axis, ylabel=reward_label(part))
    colour = p.colour(_title_colour(fit))
    axes.set_title(run_title(fit), loc="left", color=colour, fontweight="bold", fontsize=8)


def run_title(fit: Fit) -> str:
    """What is found about the run: ``rising: 0.833 at step 400``."""
    state = fit.state
    if state is None:
        return f"state not known: {fit.no_state}"
    if state.lost is not None:
        return f"broken: the reward is lost since {fit.axis} {format_step(state.since)}"
    if state.has_ended:
        return f"broken: no usable reward after {fit.axis} {format_step(state.since)}"
    return f"{state.word}: {format_number(state.now.value)} at {fit.axis} {format_step(state.last_step)}"


def _title_colour(fit: Fit) -> str:
    """The colour of the title, which is trouble."""
    return "muted" if fit.state is None else _COLOURS.get(fit.state.word, "muted")


def draw_reward(axes: Axes, fit: Fit, *, named: bool = True) -> None:
    """The reward so far with the step to keep, which may be ``named``, and its forecast or what was lost.

    The axes have their limits of steps.
    """
    steps, _, rewards = fit.evaluations
    _log(axes, steps, rewards, p.colour("blue"))
    ahead = _forecast_of(fit)
    later = ahead.rewards if ahead is not None else ()
    ends = [end for reward in later for end in (reward.low, reward.value, reward.high)]
    # Above there is room for the label of the step to keep.
    axes.set_ylim(*p.limits(rewards, ends, 1.5, 0.06, 0.2 if named and fit.keep is not None else 0.08))
    if ahead is not None:
        _fan(axes, ahead, (ahead.last_step, ahead.now), ahead.rewards, p.colour("blue"))
        _number_ends(axes, ahead, ahead.rewards, "blue")
    if fit.keep is not None:
        axes.plot([fit.keep.step], [fit.keep.level], "D", color=p.colour("ink"), markersize=3.5, zorder=6)
        if named:
            _name_kept(axes, fit, fit.keep, steps, rewards)
    _shade_broken(axes, fit)
    # Where there is no reward at all, the title says it.
    if fit.state is not None and fit.state.lost is not None:
        axes.annotate(
            "lost",
            (fit.state.since, 0.5),
            (4.0, 0.0),
            axes.get_xaxis_transform(),
            textcoords="offset points",
            va="center",
            color=p.colour("warn"),
            size=7,
            zorder=8,
        )


def draw_entropy(axes: Axes, fit: Fit, law: LawFit) -> None:
    """The entropy so far, and ahead as far as there is a forecast."""
    _log(axes, law.step, law.entropy, p.colour("purple"))
    lowest = min(0.0, float(law.entropy.min()))
    axes.set_ylim(*p.padded(lowest, 1.2 * float(law.entropy.max()), 0.0, 0.08))
    ahead = _forecast_of(fit)
    if ahead is not None and ahead.entropies:
        last = float(law.step[-1]), float(law.smoothed_entropy[-1])
        _fan(axes, ahead, last, ahead.entropies, p.colour("purple"))
        _number_ends(axes, ahead, ahead.entropies, "purple", with_interval=False)
    _shade_broken(axes, fit)


def _shade_broken(axes: Axes, fit: Fit) -> None:
    """Shade the steps from which on a run is broken."""
    if fit.state is not None and fit.is_broken:
        end = axes.get_xlim()[1]
        axes.axvspan(fit.state.since, end, color=p.colour("warn"), alpha=0.1, linewidth=0, zorder=1)


def _forecast_of(fit: Fit) -> Forecast | None:
    """The forecast that is drawn: none of a broken run."""
    return None if fit.is_broken else fit.forecast


def steps_of(fit: Fit) -> tuple[float, float]:
    """The ends of an axis over the steps of the log and of what is ahead, with room for the numbers there."""
    steps = fit.evaluations[0]
    first, last = float(steps[0]), float(steps[-1])
    ahead = _forecast_of(fit)
    if ahead is not None:
        return p.padded(first, max(ahead.step), 0.025, _ROOM_FOR_NUMBERS)
    if fit.law is not None:
        last = max(last, float(fit.law.step[-1]))
    is_end_missing = fit.state is not None and fit.state.has_ended
    return p.padded(first, last, 0.025, 0.12 if is_end_missing else 0.025)


def _name_kept(axes: Axes, fit: Fit, keep: Kept, steps: FloatArray, rewards: FloatArray) -> None:
    """The step to keep and its level, above the evaluations around it."""
    step = keep.step
    level = keep.level
    text = f"keep {fit.axis} {format_step(step)}: {format_number(level)}"
    low, high = axes.get_xlim()
    is_left = 2 * step < low + high
    # A letter takes 4.6 points, with some room.
    reach = 4.6 * len(text) / p.points(axes)[0] * (high - low)
    first, last = (step, step + reach) if is_left else (step - reach, step)
    highest = max([level, *rewards[(steps >= first) & (steps <= last)]])
    axes.annotate(
        text,
        (step, highest),
        (0.0, 5.0),
        textcoords="offset points",
        ha="left" if is_left else "right",
        color=p.colour("ink"),
        size=7,
        zorder=8,
    )
    if highest > level:
        axes.plot([step, step], [level, highest], color=p.colour("muted"), linewidth=0.5, zorder=3)


def _log(axes: Axes, steps: FloatArray, values: FloatArray, colour: str) -> None:
    """The logged values as dots."""
    is_long = len(steps) > 120
    p.dots(
        axes,
        steps,
        values,
        size=1.6 if is_long else 2.2,
        color=colour,
        alpha=0.45 if is_long else 0.8,
        zorder=4,
    )


def _fan(
    axes: Axes, ahead: Forecast, last: tuple[float, float], later: Sequence[Estimate], colour: str
) -> None:
    """Values and intervals from the last step on; an entropy that was given has no interval."""
    order = np.argsort(ahead.step)
    values = np.array([float(estimate) for estimate in later])
    bounds = np.array([p.ends(estimate, float(estimate)) for estimate in later])
    steps = np.append(last[0], np.array(ahead.step)[order])
    middle = np.append(last[1], values[order])
    low = np.append(last[1], bounds[order, 0])
    high = np.append(last[1], bounds[order, 1])
    axes.plot(steps, middle, color=colour, linewidth=1.2, linestyle=_DASHED, zorder=5)
    axes.fill_between(steps, low, high, color=colour, linewidth=0, alpha=0.2, zorder=2)


def _number_ends(
    axes: Axes, ahead: Forecast, later: Sequence[Estimate], colour: str, *, with_interval: bool = True
) -> None:
    """The last value ahead and the ends of its interval, beside them."""
    last = int(np.argmax(ahead.step))
    estimate = later[last]
    text = format_estimate(estimate)
    ends = [(text.value, float(estimate), colour)]
    if with_interval and estimate.low is not None and estimate.high is not None:
        low, high = text.interval.strip("[]").split(", ")
        ends += [(low, estimate.low, "muted"), (high, estimate.high, "muted")]
    p.name_ends(axes, float(ahead.step[last]), ends)
