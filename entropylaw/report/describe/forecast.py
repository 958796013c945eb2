"""Forecasts of later steps."""

from __future__ import annotations

from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.numbers import format_number, format_percent, format_step
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast
from entropylaw.results.result import replace

STEPS = (
    b.Column("step", "step", unit="step"),
    b.Column("reward", "reward", estimate=True),
    b.Column("p_gain", "P(gain)", unit="probability"),
    b.Column("entropy", "entropy", estimate=True),
    b.Column("law", "by the law"),
)
"""A row per later step."""


def describe(result: Forecast) -> list[b.Block]:
    """A forecast without the fit that it is of."""
    about = f"forecast from step {format_step(result.last_step)}, level {format_number(result.now)}"
    return b.on_axis(result.axis, [b.Heading(result.run, 2, about), *with_law(result)])


def with_law(ahead: Forecast) -> list[b.Block]:
    """The forecast with its figure, and what the law alone says of the same steps."""
    notes: list[b.Note] = []
    if ahead.law is not None:
        errors = (
            f"fitted to the first two thirds it is {format_number(ahead.law.error, 2)} off in the last; the "
            f"last value before that is {format_number(ahead.law.last_value_error, 2)} off"
        )
        notes.append(b.Note("law", errors))
    return [b.Figure("forecast", ahead), *sections(ahead, by_the_law=True), b.Notes(notes)]


def table(result: Forecast) -> b.Table:
    """A row per step; None for what is unknown."""
    unknown = (None,) * len(result.step)
    entropies = result.entropies or unknown
    law = unknown if result.law is None else result.law.rewards
    rows = zip(result.step, result.rewards, result.p_gains, entropies, law, strict=True)
    return b.Table(STEPS, list(rows))


def of_fit(fit: Fit) -> list[b.Block]:
    """The forecast of a fit, or why there is none."""
    stop = b.Notes(words.stop_details(fit))
    if fit.forecast is not None and not fit.is_broken:
        return [*sections(fit.forecast), stop]
    reason = "the run is broken" if fit.is_broken else fit.no_forecast or words.NO_FORECAST
    return [b.paragraphs(f"There is no forecast: {reason}."), stop]


def sections(ahead: Forecast, *, by_the_law: bool = False) -> list[b.Block]:
    """The forecast, and what the law alone says where that is requested."""
    count = f"{ahead.n} evaluations" if ahead.block == 1 else f"{ahead.n} means of {ahead.block} evaluations"
    if ahead.without_entropy:
        count += f" ({ahead.without_entropy} without an entropy)"
    basis = f"From {count} up to step {format_step(ahead.last_step)}."
    gain = replace(STEPS[2], label=f"P(+{ahead.gain:.3g} or more)")
    reward = replace(STEPS[1], label=f"reward, {format_percent(ahead.level)} interval")
    columns = [STEPS[0], reward, gain]
    if ahead.entropies:
        columns += STEPS[3:] if by_the_law else STEPS[3:4]
    rows = [row[: len(columns)] for row in table(ahead).rows]
    ever = f"{words.in_such_runs(ahead.p_ever)}, the level is that high at some step until then"
    notes = [b.Note("ever", ever)]
    if ahead.spent is not None:
        spent = f"95 % of exp(H) − 1 is spent by step {words.step_words(ahead.spent)}"
        notes.append(b.Note("entropy", spent))
    notes += b.labelled("note", ahead.notes)
    return [b.Table(columns, rows), b.paragraphs(basis), b.Notes(notes)]
