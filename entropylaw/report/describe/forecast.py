"""Forecasts: the reward at later steps, and when the entropy is spent; for commands, pages and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from entropylaw.report import blocks as b
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    count,
    format_interval,
    format_number,
    format_percent,
    format_step,
    format_weight,
)
from entropylaw.report.words import earliest, step_words
from entropylaw.results import Estimate
from entropylaw.results.forecast import Forecast, SaturationForecast

STEPS = (
    b.Column("step", "step", unit="step"),
    *b.columns("reward entropy", estimate=True),
    b.Column("extrapolated", "extrapolated"),
)
SPENDING = (
    *b.columns("run share entropy_now entropy"),
    b.Column("step", "step", unit="step", estimate=True),
    b.Column("reward", "reward", estimate=True),
    *b.columns("gain at_step probability"),
)
"""When the entropy is spent, and below it a row per gain."""


def describe(result: Forecast | SaturationForecast) -> list[b.Block]:
    """The reward at later steps, or when the entropy is spent."""
    head = b.Heading(result.run, 2, f"forecast from step {format_step(result.last_step)}")
    if isinstance(result, Forecast):
        return [head, *sections(result, None, result)]
    return [head, *sections(None, result, result)]


def table(result: Forecast | SaturationForecast) -> b.Table:
    """A row per step; or one of the end of the entropy, and a row per gain."""
    if isinstance(result, Forecast):
        return b.Table(STEPS, list(_steps(result)))
    spent = {column.key: getattr(result, column.key) for column in SPENDING[:6]}
    gains = (
        {"run": result.run, "gain": gain.points, "at_step": gain.step, "probability": gain.by_step}
        for gain in result.gains
    )
    return b.table_of(SPENDING, [spent, *gains])


def sections(
    ahead: Forecast | None, spending: SaturationForecast | None, part: object = None, against: str = ""
) -> list[b.Block]:
    """What is known of a run's future; the figure is drawn of ``part``, where there is one.

    ``against`` is the verdict on a law that does not hold, and on which the forecast does not rest alone.
    """
    blocks: list[b.Block] = figures_of("forecast", part) if part is not None else []
    notes: list[b.Note] = []
    if ahead is not None:
        step, reward, entropy, extrapolated = STEPS
        reward = replace(reward, label=f"reward, {format_percent(ahead.level)} interval")
        entropy = replace(entropy, label=f"entropy, {'forecast too' if ahead.blind else 'as given'}")
        # An entropy that was given has no interval.
        rows = [
            (at, value, given.value if isinstance(given, Estimate) and not ahead.blind else given, outside)
            for at, value, given, outside in _steps(ahead)
        ]
        now, until = format_interval(ahead.reward_now), format_step(ahead.last_step)
        first = f"Forecast from {ahead.n} evaluations up to step {until}; reward now {now}."
        blocks += [b.paragraphs(first), b.Table((step, reward, entropy, extrapolated), rows)]
        # Who was mixed, what to mind, and how the intervals were made.
        named = _weights({member.name: member.weight for member in ahead.members})
        origins = count(len(ahead.origins), "origin")
        how = f"{named}; from how each would have forecast from {origins} inside the run"
        paths = [f"of the entropy: {_weights(ahead.path_members)}"] if ahead.path_members else []
        notes += b.labelled("weights", [how, *paths]) + b.labelled("note", ahead.notes)
        methods = f"a new evaluation, {ahead.reward[0].method}; reward now by {ahead.reward_now.method}"
        notes.append(b.Note("intervals", methods, ""))
    if spending is not None:
        notes += _spending(spending)
    if against and notes:
        mixed = "one of the forms that are mixed, each with the weight that its own earlier forecasts give it"
        notes.append(b.Note("caution", f"{against} The forecast does not rest on it alone: it is {mixed}."))
    return [*blocks, b.Notes(notes)] if notes else []


def _steps(ahead: Forecast) -> Iterator[tuple[b.Cell, ...]]:
    """Step, reward, entropy and whether that is extrapolated; a forecast without entropies has neither."""
    unknown = (None,) * len(ahead.step)
    entropies = (ahead.entropy or unknown, ahead.extrapolated or unknown)
    return zip(ahead.step, ahead.reward, *entropies, strict=True)


def _weights(weights: Mapping[str, float]) -> str:
    """``law 0.52, line 0.31, 3 others 0.17``: members with less than 0.05 are counted, not named."""
    named = sorted(weights.items(), key=lambda item: -item[1])
    words = [f"{name} {format_weight(weight)}" for name, weight in named if weight >= 0.05]
    if others := named[len(words) :]:
        words.append(f"{count(len(others), 'other')} {format_weight(sum(weight for _, weight in others))}")
    return ", ".join(words)


def _spending(spending: SaturationForecast) -> list[b.Note]:
    """When the entropy is spent, and the probability of each gain."""
    when = f"No step is forecast for that{earliest(spending.step)}"
    if spending.step.value is not None:
        step, level = step_words(spending.step), format_percent(spending.step.level)
        reward = format_interval(spending.reward)
        when = f"That is forecast for step {step}, {level} interval, with a reward of {reward}"
    spent = f"{format_percent(spending.share)} of what the law still promises is spent at an entropy of "
    now = f"now it is {format_number(spending.entropy_now)}, at step {format_step(spending.last_step)}"
    spent += f"{format_number(spending.entropy)} nats; {now}. {when}."
    gains = (
        f"an evaluation {format_number(gain.points)} above the reward now: probability "
        f"{format_weight(gain.by_step)} at step {format_step(gain.step)}"
        for gain in spending.gains
    )
    return [b.Note("spent", spent), *b.labelled("gain", gains)]
