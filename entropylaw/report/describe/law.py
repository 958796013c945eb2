"""The law of a run: its verdict, its numbers, the forms beside it, and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence

from entropylaw.analysis.forms import FORMS, form_label
from entropylaw.analysis.residual_models import residual_model
from entropylaw.report import words
from entropylaw.report.blocks import (
    Block,
    Column,
    Fact,
    Facts,
    Figure,
    Heading,
    Note,
    Notes,
    Table,
    Verdict,
    labelled,
    paragraphs,
)
from entropylaw.report.numbers import format_estimate, format_number, format_percent, format_step
from entropylaw.results.law import Influences, LawFit

FORM_COLUMNS = (
    Column("form", "form"),
    Column("formula", "formula"),
    Column("weight", "weight", unit="probability"),
    Column("ceiling", "ceiling", estimate=True),
    Column("rate", "rate k", estimate=True),
    Column("residual_sd", "residual sd"),
)

INFLUENCE_COLUMNS = tuple(
    Column(name, label, unit="step" if name == "step" else "")
    for name, label in (
        ("step", "step"),
        ("leverage", "leverage"),
        ("ceiling_shift", "ceiling without it, change"),
        ("a_ratio", "a without it / a"),
    )
)


def describe(result: LawFit | Influences) -> list[Block]:
    """A law without its log, or what each evaluation does to it."""
    if isinstance(result, Influences):
        covariance = f"range {format_number(result.length)} steps, drift share {result.drift_share:.2f}"
        return [
            Heading("Influence of single evaluations", 2),
            paragraphs(f"Under the most probable covariance of the residual: {covariance}."),
            table(result),
        ]
    steps = f"{result.n} evaluations, steps {format_step(result.step[0])} to {format_step(result.step[-1])}"
    head: list[Block] = [Heading(result.run, 2, steps), verdict(result), checks(result)]
    return [*head, *drawn(result), *numbers(result), *forms(result), *trust(result, result)]


def table(result: LawFit | Influences) -> Table:
    """The forms of a law, or the influences."""
    if isinstance(result, Influences):
        arrays = (getattr(result, column.key).tolist() for column in INFLUENCE_COLUMNS)
        return Table(INFLUENCE_COLUMNS, list(zip(*arrays, strict=True)))
    rows = [(form_label("law"), FORMS["law"].formula, result.law_weight, result.ceiling, None)]
    cells = [(*row, result.residuals.sd) for row in rows]
    for r in result.rivals:
        cells.append((form_label(r.form), r.formula, r.weight, r.ceiling, r.rate, r.residual_sd))
    return Table(FORM_COLUMNS, sorted(cells, key=lambda row: -row[2]), words=2)


def verdict(law: LawFit) -> Verdict:
    """The verdict on a law that was fitted."""
    return Verdict(words.law_badge(law), words.headline(law), _ok(law))


def _ok(law: LawFit) -> bool | None:
    return True if law.validity.ok else False if law.validity.contradicted else None


def checks(law: LawFit) -> Notes:
    """What speaks against the numbers: every reason, then every caution."""
    found = labelled("reason", law.validity.reasons) + labelled("caution", law.validity.cautions)
    return Notes(
        found or [Note("checks", "nothing speaks against reading these numbers as they stand", "")],
        may_wait=True,
    )


def drawn(part: object, described: str = "") -> list[Block]:
    """The law and the series, drawn of ``part``: a law, or a run with its columns."""
    return [Figure("law", part, described), Figure("series", part)]


def numbers(law: LawFit, progress: Sequence[Fact] = ()) -> list[Block]:
    """The coefficients, where the run stands, what is left, and what is known of its ``progress``."""
    now = f"at H = {format_number(law.entropy_now)} nats, evaluation noise taken out"
    facts = [
        Fact("a", law.a, "reward that one unit of exp(H) costs"),
        Fact("b", law.b, f"ceiling + a; correlation with a {law.correlation:.3f}"),
        Fact("ceiling", law.ceiling, words.ceiling_words(law)),
        Fact("reward now", law.reward_now, now),
        Fact("headroom", law.headroom, "ceiling − reward now"),
        *progress,
    ]
    unsafe = (
        ""
        if law.validity.ok
        else f"{words.headline(law)} These numbers are shown for completeness, not for use."
    )
    spent = f"95 % of what entropy can still buy is gone at H = {format_number(law.entropy_spent)} nats"
    explained = format_percent(law.r_squared)
    worse = ": less than nothing, the mean does better" if law.r_squared < 0 else ""
    samples = f", {law.eval_size} samples each" if law.eval_size is not None else ""
    steps = f"{law.n} evaluations{samples}, steps {format_step(law.step[0])} to {format_step(law.step[-1])}."
    return [
        Heading("Numbers", name="numbers"),
        Facts(
            "R = −a·exp(H) + b", facts, f"{format_percent(law.level)} interval ({law.ceiling.method})", unsafe
        ),
        Notes(
            [
                Note("spent", spent, ""),
                Note("", f"{steps} The law explains {explained} of the reward's variance{worse}.", ""),
            ]
        ),
    ]


def forms(law: LawFit) -> list[Block]:
    """The law and its rivals, the most probable first, and what the choice does to the ceiling."""
    mean = format_estimate(law.ceiling_over_forms).value
    gone = [form_label("law")] if law.law_ruled_out else []
    gone += [form_label(rival.form) for rival in law.rivals if rival.ruled_out]
    ruled_out = f"; ruled out: {', '.join(gone)}" if gone else ""
    over = f"{mean} by weight, and lies anywhere from {words.ceiling_range(law)}{ruled_out}"
    weights = "Weights are posterior probabilities among these forms, equal before the data."
    return [
        Heading("Forms", name="rivals"),
        table(law),
        Notes([Note("ceiling", f"over the forms that are not ruled out: {over}"), Note("", weights, "")]),
    ]


def trust(law: LawFit, part: object) -> list[Block]:
    """What the residuals say, which evaluation carries the fit, and the residuals drawn of ``part``."""
    return [
        Heading("How far to trust them", name="trust"),
        Notes([Note("residual", words.residual_words(law), _residual_brief(law))]),
        paragraphs(words.influence(law), detail=True),
        Figure("residuals", part),
    ]


def _residual_brief(law: LawFit) -> str:
    left = law.residuals
    parts = [f"sd {format_number(left.sd)}, lag-1 {'unknown' if left.lag1 is None else f'{left.lag1:.2f}'}"]
    if residual_model(law.interval).assumed is None:
        parts.append(f"drift share {left.drift_share:.2f}, effective sample size {left.effective_n:.0f}")
    if law.entropy_noise is not None:
        parts.append(f"entropy noise {format_number(law.entropy_noise, 2)}")
    if law.entropy_sd is not None:
        low, high = format_number(law.entropy_sd.min(), 2), format_number(law.entropy_sd.max(), 2)
        parts.append(f"given as {low}" if low == high else f"given as {low} to {high}")
    return "; ".join(parts)
