"""The law of a run, and the other functional forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from entropylaw.analysis.forms import form_label
from entropylaw.escaping import counted, listing
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.describe import forecast
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    format_interval,
    format_number,
    format_percent,
    format_probability,
    format_r_squared,
    format_step,
)
from entropylaw.results import FEWEST_FOR_MEMORY, Verdict
from entropylaw.results.columns import Choice
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit
from entropylaw.results.result import field_names, replace, sentences

FORM_COLUMNS = (
    b.Column("form", "functional form", lambda form: form_label(form.form)),
    b.Column("probability", "probability", unit="probability"),
    b.Column("ceiling", "ceiling", estimate=True),
    b.Column("headroom", "left", estimate=True),
    b.Column("formula", "formula", lambda form: form.formula + words.in_brackets(words.shapes_words(form))),
    b.Column("residual_sd", "residual sd"),
)


def describe(result: Fit) -> list[b.Block]:
    """A fit without its log; of a run with several rewards the first one, with the names of the others."""
    series = about(result)
    rewards = list(getattr(result, "rewards", ()))
    if len(rewards) > 1:
        series = f"{rewards[0]} · {series}; also in .rewards: {listing(rewards[1:], 3)}"
    return sections(result, result, b.Heading(result.run, 2, series))


def table(result: Fit) -> b.Table:
    """A row per form."""
    return b.table_of(FORM_COLUMNS, result.forms)


def about(fit: Fit, columns: Mapping[str, Choice] | None = None) -> str:
    """``entropy × val_acc (validation) · 51 evaluations, steps 0–500``."""
    steps = f"steps {format_step(fit.law.step[0])}–{format_step(fit.law.step[-1])}"
    series = f"{counted(fit.n, 'evaluation')}, {steps}, {format_percent(fit.level)} intervals"
    if not columns or not {"entropy", "reward"} <= columns.keys():
        return series
    reward = columns["reward"]
    kind = words.in_brackets(reward.meaning.kind or "")
    return f"{columns['entropy'].column} × {reward.label or reward.column}{kind} · {series}"


def sections(fit: Fit, part: object, heading: b.Heading, *, further: Sequence[b.Block] = ()) -> list[b.Block]:
    """The answers, the law, the functional forms, the estimates, and the diagnostics.

    Figures are drawn from ``part``: the fit, or a run with its columns. ``further`` blocks come before the
    diagnostics.
    """
    answers = words.answers(fit)
    text = " ".join(f"{words.capital(row.label)}: {words.sentence(row.text)}" for row in answers)
    stage = "Forms are averaged with and without a term in the step, which is needed with probability "
    stage += f"{format_probability(fit.p_term)}: the numbers are those of the present stage."
    probabilities = "Probabilities are posterior; all functional forms have the same prior probability."
    forms = [column for column in FORM_COLUMNS if not (fit.lost and column.estimate)]
    skipped = b.labelled("skipped", (f"{form_label(form)}: {why}" for form, why in fit.skipped.items()))
    notes = sentences(fit.findings, "note")
    findings = b.labelled("reason", fit.reasons) + b.labelled("caution", fit.cautions)
    return [
        heading,
        b.Answers(answers),
        b.Notes(findings + b.labelled("note", notes), detail=True),
        *figures_of("law", part, text),
        b.Heading("Forecast", name="forecast"),
        *forecast.of_fit(fit, part),
        b.Heading("Estimates, averaged over functional forms", name="numbers"),
        _averaged(fit),
        b.Heading("Functional forms", name="rivals"),
        b.paragraphs(stage, detail=True),
        replace(b.table_of(forms, fit.forms), detail=True, counted="form"),
        b.Notes([*skipped, b.Note("", probabilities)], detail=True),
        b.Heading("The law itself", name="law"),
        *_coefficients(fit),
        *further,
        b.Heading("Diagnostics", name="trust"),
        b.Notes(_diagnostics(fit), detail=True),
    ]


def _averaged(fit: Fit) -> b.Facts:
    """The numbers that are averaged over the forms; the ceiling with what it extrapolates over."""
    of_ceiling = "reward at H = 0"
    if fit.lowest_entropy > 0:
        of_ceiling += f", extrapolated over {format_number(fit.lowest_entropy, 2)} nats"
    if fit.max_reward is not None:
        of_ceiling += f", at most {fit.max_reward:g}"
    of_headroom = "ceiling − fitted now"
    if fit.p_headroom is not None:
        of_headroom += f"; {words.p_words(fit.p_headroom).replace('P', f'P(≥ {fit.gain:.3g})', 1)}"
    now = f"at H = {format_number(fit.law.entropy_now)} nats, evaluation noise removed"
    facts = [
        b.Fact("ceiling", fit.ceiling, of_ceiling),
        b.Fact("fitted now", fit.reward_now, now),
        b.Fact("headroom", fit.headroom, of_headroom),
    ]
    if fit.drop_per_100_steps is not None:
        about_drop = "nats of entropy, over the last third"
        facts.append(b.Fact("drop per 100 steps", fit.drop_per_100_steps, about_drop))
    interval = f"{format_percent(fit.level)} interval ({fit.ceiling.method})"
    return b.Facts("averaged", facts, interval, detail=True)


def _coefficients(fit: Fit) -> list[b.Block]:
    """The law's own numbers, which are not to be used where it fails."""
    law = fit.law
    unsafe = ""
    if fit.verdict is Verdict.fails:
        unsafe = f"The law fails for this run: {words.headline(fit)}. Its own numbers are for reference only."
    facts = (
        b.Fact("a", law.a, "reward lost per unit of exp(H)"),
        b.Fact("b", law.b, f"ceiling + a; correlation with a {law.correlation:.3f}"),
        b.Fact("ceiling by the law", law.ceiling, "b − a, the reward at H = 0, over short and long memory"),
        b.Fact("headroom by the law", law.headroom, "its ceiling − fitted now"),
    )
    interval = f"{format_percent(law.level)} interval ({law.ceiling.method})"
    trust = f"R² {format_r_squared(law.r_squared)} by least squares, {law.n} evaluations, "
    trust += f"effective sample size {law.residuals.effective_n:.0f}."
    numbers = b.Facts("R = b − a·exp(H)", facts, interval, unsafe, detail=True)
    return [numbers, b.paragraphs(trust, detail=True)]


def _diagnostics(fit: Fit) -> list[b.Note]:
    """The residuals, and the evidence from which the verdict follows."""
    tests = fit.tests
    p_values = {"no term in the step": tests.p_step, "no term in its logarithm": tests.p_log_step}
    evidence = [f"the law among its rivals: P = {format_probability(fit.p_law)}"]
    evidence += [f"{hypothesis}: {_p_value(p)}" for hypothesis, p in p_values.items() if p is not None]
    odds = []
    for name in field_names(tests):
        value = getattr(tests, name)
        if name.startswith("odds_") and value is not None:
            odds.append(f"{name.removeprefix('odds_').replace('_', ' ')} {value:.3g}")
    evidence.append(f"odds over the law: {', '.join(odds)}")
    if tests.spearman is not None:
        evidence.append(f"rank correlation {tests.spearman:.2f}")
    residuals = b.Note("residual", _residuals(fit.law))
    return [residuals, b.Note("tests", "; ".join(evidence))]


def _residuals(law: LawFit) -> str:
    """The residuals, their memory, and the noise that smoothing removed from the entropy."""
    residuals = law.residuals
    lag1 = "unknown" if residuals.lag1 is None else format_number(residuals.lag1, 2)
    text = (
        f"The residuals have standard deviation {format_number(residuals.sd, 2)} and lag-1 autocorrelation "
        f"{lag1}; {format_percent(residuals.drift_share)} of their variance is slow drift (effective sample "
        f"size {format_number(residuals.effective_n, 2)} of {law.n}). They have long memory with probability "
        f"{format_probability(residuals.long_memory)}"
    )
    if law.n < FEWEST_FOR_MEMORY:
        text += f": with fewer than {FEWEST_FOR_MEMORY} evaluations nothing distinguishes it from a short one"
    text += "."
    if law.entropy_noise is not None:
        noise = f"{format_number(law.entropy_noise, 2)} nats{'' if law.entropy_sd is None else ' (given)'}"
        text += f" The law is fitted to the smoothed entropy; the log's values scatter around it by {noise}."
    if law.entropy_sd is not None:
        ends = dict.fromkeys(format_number(x, 2) for x in (law.entropy_sd.min(), law.entropy_sd.max()))
        text += f" The entropy's noise was given as {' to '.join(ends)} nats."
    return text


def _p_value(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
