"""The answer of a run that is averaged over the functional forms."""

from __future__ import annotations

from entropylaw.analysis.forms import form_label
from entropylaw.report import blocks as b
from entropylaw.report.numbers import format_estimate, format_number, format_percent, format_probability
from entropylaw.results.law import Averaged

FORM_COLUMNS = (
    b.Column("form", "form", lambda one: form_label(one.form)),
    *b.columns("formula"),
    b.Column("probability", "probability", unit="probability"),
    b.Column("ceiling", "ceiling", estimate=True),
    b.Column("headroom", "headroom", estimate=True),
)


def describe(result: Averaged) -> list[b.Block]:
    """What is left, the ceiling and the reward now, and below them a row per form."""
    now = f"at H = {format_number(result.entropy_now)} nats, evaluation noise removed"
    facts = (
        b.Fact("headroom", result.headroom, "ceiling − reward now"),
        b.Fact("ceiling", result.ceiling, "reward at H = 0"),
        b.Fact("reward now", result.reward_now, now),
    )
    interval = f"{format_percent(result.level)} interval ({result.ceiling.method})"
    left = f"{left_words(result)}; the probability that at least {result.gain:g} is left is "
    left += f"{format_probability(result.p_headroom)}"
    reach = f"from the lowest entropy of the run, {format_number(result.lowest_entropy)} nats, to 0"
    notes = [
        b.Note("left", left),
        b.Note("extrapolation", reach),
        *b.labelled("skipped", (f"{form_label(form)}: {why}" for form, why in result.skipped.items())),
    ]
    return [
        b.Heading(result.run, 2),
        b.Facts("over all forms", facts, interval),
        b.Notes(notes),
        table(result),
    ]


def table(result: Averaged) -> b.Table:
    """A row per form, most probable first."""
    return b.table_of(FORM_COLUMNS, result.forms, words=2)


def left_words(result: Averaged) -> str:
    """Whether a gain of reward is left, and how much."""
    text = format_estimate(result.headroom)
    if result.headroom.low is not None and result.headroom.low > 0:
        return f"{text.value} {text.interval} of reward is left"
    return f"no measurable gain is left: {text.value} {text.interval}"
