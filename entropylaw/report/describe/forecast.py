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
    now = format_number(result.now)
    head = b.Heading(result.run, 2, f"forecast from step {format_step(result.last_step)}, level {now}")
    return [head, *sections(result, result)]


def table(result: Forecast) -> b.Table:
    """A row per step; None for what is unknown."""
    unknown = (None,) * len(result.step)
    entropies = result.entropies or unknown
    law = unknown if result.law is None else result.law.rewards
    rows = zip(result.step, result.rewards, result.p_gains, entropies, law, strict=True)
    return b.Table(STEPS, list(rows))


def of_fit(fit: Fit, part: object) -> list[b.Block]:
    """The forecast of a fit, or why there is none."""
    if fit.forecast is not None and not fit.is_broken:
        return sections(fit.forecast, part, detail=True)
    reason = "the run is broken" if fit.is_broken else fit.no_forecast or words.NO_FORECAST
    return [b.paragraphs(f"There is no forecast: {reason}.", detail=True)]


def sections(ahead: Forecast, part: object, *, detail: bool = False) -> list[b.Block]:
    """The forecast with its figure from ``part``; the ``detail`` of a fit has none."""
    count = f"{ahead.n} evaluations" if ahead.block == 1 else f"{ahead.n} means of {ahead.block} evaluations"
    if ahead.without_entropy:
        count += f" ({ahead.without_entropy} without an entropy)"
    basis = f"From {count} up to step {format_step(ahead.last_step)}."
    gain = replace(STEPS[2], label=f"P(+{ahead.gain:.3g} or more)")
    reward = replace(STEPS[1], label=f"reward, {format_percent(ahead.level)} interval")
    rows = replace(table(ahead), columns=(STEPS[0], reward, gain, *STEPS[3:]), detail=detail)
    if not ahead.entropies:
        rows = replace(rows, columns=rows.columns[:3], rows=[row[:3] for row in rows.rows])
    notes: list[b.Note] = []
    ever = f"{words.in_such_runs(ahead.p_ever)}, the level is that high at some step until then"
    notes.append(b.Note("ever", ever))
    if ahead.spent is not None:
        spent = f"95 % of exp(H) − 1 is spent by step {words.step_words(ahead.spent)}"
        if ahead.spent.value is None:
            spent = f"{ahead.spent.note}; not spent before step {format_step(ahead.spent.low)}"
        elif ahead.spent.high is None:
            ends = [round(step) for step in (ahead.spent.value, ahead.spent.low or 0.0)]
            spent = "95 % of exp(H) − 1 is spent by step {}, not before step {}, perhaps never".format(*ends)
        notes.append(b.Note("entropy", spent))
    if ahead.law is not None:
        errors = f"{format_number(ahead.law.error, 2)} over the last third of the run"
        last = format_number(ahead.law.last_value_error, 2)
        notes.append(b.Note("law", f"error {errors}; of the last value before it {last}"))
    notes += b.labelled("note", ahead.notes)
    return [
        *([] if detail else [b.Figure("forecast", part)]),
        b.paragraphs(basis, detail=detail),
        rows,
        b.Notes(notes, detail=detail),
    ]
