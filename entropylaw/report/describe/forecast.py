"""Forecasts of later steps, and the step of saturation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    format_interval,
    format_number,
    format_percent,
    format_probability,
    format_step,
)
from entropylaw.report.words import earliest, step_words
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.result import replace

STEPS = (
    b.Column("step", "step", unit="step"),
    *b.columns("reward", "entropy", estimate=True),
    b.Column("extrapolated", "extrapolated"),
)
SATURATION = (
    *b.columns("run", "share", "entropy_now", "entropy"),
    b.Column("step", "step", unit="step", estimate=True),
    b.Column("reward", "reward", estimate=True),
    *b.columns("gain", "at_step", "probability"),
)
"""The step of saturation, and below it a row per gain."""


def describe(result: Forecast | SaturationForecast) -> list[b.Block]:
    """A forecast or a saturation without the fit that it is of."""
    head = b.Heading(result.run, 2, f"forecast from step {format_step(result.last_step)}")
    if isinstance(result, Forecast):
        return [head, *sections(result, None, result)]
    return [head, *sections(None, result, result)]


def table(result: Forecast | SaturationForecast) -> b.Table:
    """A row per step, or of a saturation per gain."""
    if isinstance(result, Forecast):
        return b.Table(STEPS, list(_steps(result)))
    rows = [{column.key: getattr(result, column.key) for column in SATURATION[:6]}]
    for gain in result.gains:
        probability = {"gain": gain.points, "at_step": gain.step, "probability": gain.by_step}
        rows.append({"run": result.run, **probability})
    return b.table_of(SATURATION, rows)


def sections(
    ahead: Forecast | None, spending: SaturationForecast | None, part: object, against: str = ""
) -> list[b.Block]:
    """The forecast of rewards and of the saturation; the figure is drawn from ``part``, where there is one.

    ``against`` is the verdict on a law that does not hold, which is one of several curves in the forecast.
    """
    if ahead is None and spending is None:
        return []
    blocks: list[b.Block] = figures_of("forecast", part) if part is not None else []
    notes: list[b.Note] = []
    if ahead is not None:
        now, until = format_interval(ahead.reward_now), format_step(ahead.last_step)
        first = f"Forecast from {ahead.n} evaluations up to step {until}; reward now {now}."
        blocks += [b.paragraphs(first), _step_table(ahead)]
        notes.append(b.Note("weights", _weights({member.name: member.weight for member in ahead.members})))
        if ahead.path_members:
            notes.append(b.Note("weights", f"of the entropy: {_weights(ahead.path_members)}"))
        origins = counted(len(ahead.origins), "earlier step")
        moved = f"this run's own forecasts from {origins} moved {format_percent(ahead.own)} of the weights"
        notes.append(b.Note("rests on", f"what other runs did next; {moved}"))
        notes += b.labelled("note", ahead.notes)
        methods = f"prediction interval, {ahead.reward[0].method}; reward now by {ahead.reward_now.method}"
        notes.append(b.Note("intervals", methods, ""))
    if spending is not None:
        notes += saturation_notes(spending)
    if against:
        mixed = "The forecast averages several curves, weighted by their errors"
        notes.append(b.Note("caution", f"{against} {mixed}."))
    return [*blocks, b.Notes(notes)]


def _step_table(ahead: Forecast) -> b.Table:
    """A row per step of a forecast; an entropy that was given has no interval."""
    step, reward, entropy, extrapolated = STEPS
    reward = replace(reward, label=f"reward, {format_percent(ahead.level)} prediction interval")
    entropy = replace(entropy, label=f"entropy, {'forecast' if ahead.blind else 'given'}")
    rows = list(_steps(ahead))
    if not ahead.blind:
        rows = [(*row[:2], getattr(row[2], "value", None), row[3]) for row in rows]
    return b.Table((step, reward, entropy, extrapolated), rows)


def _steps(ahead: Forecast) -> Iterator[tuple[b.Cell, ...]]:
    """Step, reward, entropy and whether that is extrapolated; a forecast without entropies has neither."""
    unknown = (None,) * len(ahead.step)
    entropies = (ahead.entropy or unknown, ahead.extrapolated or unknown)
    return zip(ahead.step, ahead.reward, *entropies, strict=True)


def _weights(weights: Mapping[str, float]) -> str:
    """``law 0.52, line 0.31, 3 others 0.17``: members with less than 0.05 are counted, not named."""
    named = sorted(weights.items(), key=lambda item: -item[1])
    shown = [f"{name} {format_probability(weight)}" for name, weight in named if weight >= 0.05]
    others = named[len(shown) :]
    if others:
        total = format_probability(sum(weight for _, weight in others))
        shown.append(f"{counted(len(others), 'other')} {total}")
    return ", ".join(shown)


def saturation_notes(spending: SaturationForecast) -> list[b.Note]:
    """When the forecast entropy is spent, and the probability of the gain."""
    now = f"{format_number(spending.entropy_now)} at step {format_step(spending.last_step)}"
    entropy = f"{format_number(spending.entropy)} nats (now {now})"
    if spending.step.value is None:
        text = f"stays above {entropy} for ten times the length of the run so far{earliest(spending.step)}"
    else:
        step, level = step_words(spending.step), format_percent(spending.step.level)
        reward = format_interval(spending.reward)
        text = f"falls to {entropy} by step {step}, {level} interval, with a reward of {reward}"
    gains = (
        f"at least {format_number(gain.points)} above the reward now at step {format_step(gain.step)}: "
        f"probability {format_probability(gain.by_step)}"
        for gain in spending.gains
    )
    return [b.Note("entropy", f"The forecast entropy {text}."), *b.labelled("gain", gains)]
