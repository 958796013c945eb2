"""The law of a run: its verdict, its numbers, the forms beside it, and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence

from entropylaw.analysis.forms import FORMS, form_label
from entropylaw.analysis.residual_models import residual_model
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    format_estimate,
    format_number,
    format_percent,
    format_step,
    format_weight,
)
from entropylaw.results.law import Influences, LawFit

FORM_COLUMNS = (
    b.Column("form", "form"),
    b.Column("formula", "formula"),
    b.Column("weight", "weight", unit="probability"),
    b.Column("ceiling", "ceiling", estimate=True),
    b.Column("rate", "rate k", estimate=True),
    b.Column("residual_sd", "residual sd"),
)

INFLUENCE_COLUMNS = (
    b.Column("step", "step", unit="step"),
    b.Column("leverage", "leverage"),
    b.Column("ceiling_shift", "ceiling without it, change"),
    b.Column("a_ratio", "a without it / a"),
)


def describe(result: LawFit | Influences) -> list[b.Block]:
    """A law without its log, or what each evaluation does to it."""
    if isinstance(result, LawFit):
        steps = f"steps {format_step(result.step[0])} to {format_step(result.step[-1])}"
        return sections(result, result, b.Heading(result.run, 2, f"{result.n} evaluations, {steps}"))
    covariance = f"range {format_number(result.length)} steps, drift share {result.drift_share:.2f}"
    return [
        b.Heading("Influence of single evaluations", 2),
        b.paragraphs(f"Under the most probable covariance of the residual: {covariance}."),
        table(result),
    ]


def table(result: LawFit | Influences) -> b.Table:
    """The forms of a law, or the influences."""
    if isinstance(result, Influences):
        arrays = (getattr(result, column.key).tolist() for column in INFLUENCE_COLUMNS)
        return b.Table(INFLUENCE_COLUMNS, list(zip(*arrays, strict=True)))
    rivals = b.table_of(FORM_COLUMNS, result.rivals, words=2)
    known = (result.law_weight, result.ceiling, None, result.residuals.sd)
    own = ("law", FORMS["law"].formula, *known)
    place = sum(rival.weight > result.law_weight for rival in result.rivals)
    return b.Table(FORM_COLUMNS, [*rivals.rows[:place], own, *rivals.rows[place:]], words=2)


def sections(
    law: LawFit,
    part: object,
    heading: b.Heading,
    *,
    sentences: Sequence[str] = (),
    progress: Sequence[b.Fact] = (),
    more: Sequence[b.Block] = (),
) -> list[b.Block]:
    """The verdict with what speaks against it, the numbers, the forms, and how far to trust them.

    Figures are drawn of ``part``: the law, or a run with its columns. ``sentences`` stand below the verdict,
    what is known of the ``progress`` among the numbers, and ``more`` before how far to trust them.
    """
    found = b.labelled("reason", law.validity.reasons) + b.labelled("caution", law.validity.cautions)
    nothing = b.Note("checks", "nothing speaks against reading these numbers as they stand", "")
    ok = True if law.validity.ok else False if law.validity.contradicted else None
    gone = [form_label("law")] if law.law_ruled_out else []
    gone += [form_label(rival.form) for rival in law.rivals if rival.ruled_out]
    mean, ruled_out = format_estimate(law.ceiling_over_forms).value, f"; ruled out: {', '.join(gone)}"
    over = f"{mean} by weight, and lies anywhere from {words.ceiling_range(law)}{ruled_out if gone else ''}"
    weights = "Weights are posterior probabilities among these forms, equal before the data."
    step, shift = format_step(law.influence.step), format_number(law.influence.ceiling_shift, 2)
    signed = shift if shift.startswith("-") else f"+{shift}"
    influence = (
        f"Leaving out the evaluation at step {step} moves the least-squares fit most: the ceiling by "
        f"{signed}, a to {format_number(law.influence.a_ratio)} times its value."
    )
    return [
        heading,
        b.Verdict(law.verdict, words.headline(law), ok),
        b.paragraphs(*sentences, detail=True),
        b.Notes(found or [nothing], may_wait=True),
        *figures_of("law", part, " ".join(sentences)),
        *_numbers(law, progress),
        b.Heading("Forms", name="rivals"),
        table(law),
        b.Notes(
            [b.Note("ceiling", f"over the forms that are not ruled out: {over}"), b.Note("", weights, "")]
        ),
        *more,
        b.Heading("How far to trust them", name="trust"),
        b.Notes([b.Note("residual", *_residual(law))]),
        b.paragraphs(influence, detail=True),
        *figures_of("trust", part),
    ]


def _numbers(law: LawFit, progress: Sequence[b.Fact]) -> list[b.Block]:
    """The coefficients, where the run stands, and what is left."""
    now = f"at H = {format_number(law.entropy_now)} nats, evaluation noise taken out"
    fixed = residual_model(law.interval).fixed_level
    facts = [
        b.Fact("a", law.a, "reward that one unit of exp(H) costs"),
        b.Fact("b", law.b, f"ceiling + a; correlation with a {law.correlation:.3f}"),
        b.Fact("ceiling", law.ceiling, f"reward at H = 0{'' if fixed else ', from where the run stands'}"),
        b.Fact("reward now", law.reward_now, now),
        b.Fact("headroom", law.headroom, "ceiling − reward now"),
        *progress,
    ]
    interval = f"{format_percent(law.level)} interval ({law.ceiling.method})"
    unsafe = f"{words.headline(law)} These numbers are shown for completeness, not for use."
    spent = f"95 % of what entropy can still buy is gone at H = {format_number(law.entropy_spent)} nats"
    worse = ": less than nothing, the mean does better" if law.r_squared < 0 else ""
    samples = f", {law.eval_size} samples each" if law.eval_size is not None else ""
    fit = (
        f"{law.n} evaluations{samples}, steps {format_step(law.step[0])} to {format_step(law.step[-1])}. The "
        f"law explains {format_percent(law.r_squared)} of the reward's variance{worse}."
    )
    return [
        b.Heading("Numbers", name="numbers"),
        b.Facts("R = −a·exp(H) + b", facts, interval, "" if law.validity.ok else unsafe),
        b.Notes([b.Note("spent", spent, ""), b.Note("", fit, "")]),
    ]


def _residual(law: LawFit) -> tuple[str, str]:
    """The residuals, and what was taken out of the entropy before the fit; in full, and for a terminal."""
    left, model = law.residuals, residual_model(law.interval)
    lag1 = "unknown" if left.lag1 is None else format_number(left.lag1, 2)
    sd = format_number(left.sd, 2)
    text = f"The residuals have standard deviation {sd} and lag-1 autocorrelation {lag1}"
    brief = f"sd {format_number(left.sd)}, lag-1 {'unknown' if left.lag1 is None else f'{left.lag1:.2f}'}"
    if model.assumed is not None:
        text += f"; the intervals take them as {model.assumed}."
    else:
        text += (
            f"; {format_percent(left.drift_share)} of their variance is slow drift, so that {law.n} "
            f"evaluations have an effective sample size of {format_number(left.effective_n, 2)}. "
            f"The drift remembers half of the run or more with probability {format_weight(left.long_memory)}."
        )
        brief += f"; drift share {left.drift_share:.2f}, effective sample size {left.effective_n:.0f}"
    if law.entropy_noise is not None:
        noise = format_number(law.entropy_noise, 2)
        brief += f"; entropy noise {noise}"
        if model.assumed is None or model.smooths_entropy:
            given = "" if law.entropy_sd is None else ", its noise as it was given"
            text += (
                f" The law is fitted to the course of the entropy, about which the log scatters by {noise} "
                f"nats{given}; how well that course is known is in the intervals."
            )
    if law.entropy_sd is not None:
        low, high = format_number(law.entropy_sd.min(), 2), format_number(law.entropy_sd.max(), 2)
        brief += f"; given as {low}" if low == high else f"; given as {low} to {high}"
    return text, brief
