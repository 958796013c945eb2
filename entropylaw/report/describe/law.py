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
    format_number,
    format_percent,
    format_probability,
    format_r_squared,
    format_step,
    odds_words,
    p_words,
)
from entropylaw.results import FEWEST_FOR_MEMORY, Verdict
from entropylaw.results.columns import Choice
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit
from entropylaw.results.result import replace, sentences

FORM_COLUMNS = (
    b.Column("form", "functional form", lambda form: form_label(form.form)),
    b.Column("probability", "probability", unit="probability"),
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
    """A row per form; none for a run without a law."""
    return b.table_of(FORM_COLUMNS, () if result.law is None else result.law.forms)


def about(fit: Fit, columns: Mapping[str, Choice] | None = None) -> str:
    """``val_acc, 51 evaluations of steps 0–400 · entropy 0.51 → 0.03 nats``."""
    step = fit.evaluations[0]
    steps = f"{format_step(float(step[0]))}–{format_step(float(step[-1]))}"
    text = f"{counted(fit.n_rewards, 'evaluation')} of steps {steps}"
    if columns and "reward" in columns:
        reward = columns["reward"]
        kind = words.in_brackets(reward.meaning.kind or "")
        text = f"{reward.label or reward.column}{kind}, {text}"
    law = fit.law
    if law is None:
        return text
    first, last = (format_number(float(law.entropy[i]), 2) for i in (0, -1))
    return f"{text} · entropy {first} → {last} nats"


def sections(fit: Fit, part: object, heading: b.Heading, *, further: Sequence[b.Block] = ()) -> list[b.Block]:
    """The answers, the forecast, and the law.

    Figures are drawn from ``part``: the fit, or a run with its columns. ``further`` blocks come before the
    diagnostics.
    """
    answers = words.answers(fit)
    text = " ".join(f"{words.capital(row.label)}: {words.sentence(row.text)}" for row in answers)
    notes = sentences(fit.findings, "note")
    # A reason is one of the word about the law, and there is none of a broken run.
    reasons = () if fit.is_broken else fit.reasons
    findings = b.labelled("reason", reasons) + b.labelled("caution", fit.cautions)
    figures = figures_of("fit", part, text)
    if fit.law is not None:
        figures += figures_of("law", part)
    return [
        heading,
        b.Answers(answers),
        b.Notes(findings + b.labelled("note", notes), detail=True),
        *figures,
        b.Heading("Forecast", name="forecast"),
        *forecast.of_fit(fit, part),
        b.Heading("The law", name="law"),
        *_of_law(fit),
        *further,
        *([] if fit.law is None else _diagnostics(fit.law)),
    ]


def _of_law(fit: Fit) -> list[b.Block]:
    """The numbers of the law, and the functional forms; or why there are none."""
    law = fit.law
    if law is None:
        lacking = fit.no_law
        reason = "" if lacking is None else f"{words.capital(lacking.message)}."
        hint = "" if lacking is None else lacking.hint
        text = f"There is no law. {reason}".rstrip()
        return [b.paragraphs(text, detail=True), b.Notes([b.Note("hint", hint)])]
    probabilities = "Probabilities are posterior; all functional forms have the same prior probability."
    skipped = b.labelled("skipped", (f"{form_label(form)}: {why}" for form, why in law.skipped.items()))
    return [
        *_coefficients(fit, law),
        replace(b.table_of(FORM_COLUMNS, law.forms), detail=True, counted="form"),
        b.Notes([*skipped, b.Note("", probabilities)], detail=True),
    ]


def _coefficients(fit: Fit, law: LawFit) -> list[b.Block]:
    """The law's numbers, which are for reference only where it fails or the run is broken."""
    unsafe = ""
    if fit.is_broken:
        unsafe = "The run is broken. The law's numbers are for reference only."
    elif law.verdict is Verdict.fails:
        unsafe = f"The law fails for this run: {law.why}. Its numbers are for reference only."
    of_ceiling = "b − a"
    if law.lowest_entropy > 0:
        of_ceiling += f", extrapolated over {format_number(law.lowest_entropy, 2)} nats"
    if law.max_reward is not None:
        of_ceiling += f", at most {law.max_reward:g}"
    facts = [
        b.Fact("a", law.a, "reward lost per unit of exp(H)"),
        b.Fact("b", law.b, f"correlation with a {law.correlation:.3f}"),
    ]
    if not fit.is_broken:
        facts.append(b.Fact("reward at H = 0", law.ceiling, of_ceiling))
    if fit.drop_per_100_steps is not None:
        about_drop = "nats of entropy, over the last third"
        facts.append(b.Fact("drop per 100 steps", fit.drop_per_100_steps, about_drop))
    interval = f"{format_percent(law.level)} interval ({law.ceiling.method})"
    trust = f"R² {format_r_squared(law.r_squared)} by least squares, {law.n} evaluations, "
    trust += f"effective sample size {law.residuals.effective_n:.0f}."
    numbers = b.Facts("R = b − a·exp(H)", facts, interval, unsafe, detail=True)
    return [numbers, b.paragraphs(trust, detail=True)]


def _diagnostics(law: LawFit) -> list[b.Block]:
    """The residuals, and the evidence from which the words follow."""
    tests = law.tests
    evidence = [
        f"curves in H to curves in the step {odds_words(tests.odds_entropy)}, {tests.more}",
        f"the law to curves in the step {odds_words(tests.odds_law)}",
        f"the law to a straight line in H {odds_words(tests.odds_line)}",
        f"reward falls as entropy rises, {p_words(tests.p_direction)}",
    ]
    notes = [b.Note("residual", _residuals(law)), b.Note("odds", "; ".join(evidence))]
    missed = b.OnRequest("last third", lambda: _kept_word(law))
    return [b.Heading("Diagnostics", name="trust"), b.Notes(notes, detail=True), missed]


def _kept_word(law: LawFit) -> str:
    """How far the law and the averaged curve of the first two thirds missed the last third."""
    kept = law.kept_word
    if kept is None:
        return "The run is too short to say what its first two thirds say of the last one."
    first = counted(kept.fitted, "evaluation")
    of_law = format_number(kept.law, 2)
    of_curve = format_number(kept.curve, 2)
    of_level = format_number(kept.level, 2)
    return (
        f"Fitted to the first {first}, the law would have missed by {of_law}, the averaged curve by "
        f"{of_curve}; the level by {of_level}."
    )


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
        noise = f"{format_number(law.entropy_noise, 2)} nats"
        text += f" The law is fitted to the smoothed entropy; the log's values scatter around it by {noise}."
    return text
