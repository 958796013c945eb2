"""A run: its answers, and the numbers of its state, of the forecast and of the law."""

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
from entropylaw.results.result import INCOMPLETE, NO_SCORE

FORM_COLUMNS = (
    b.Column("form", "functional form", lambda form: form_label(form.form)),
    b.Column("probability", "probability", unit="probability"),
    b.Column("formula", "formula", lambda form: form.formula + words.in_brackets(words.shapes_words(form))),
    b.Column("residual_sd", "residual sd"),
)


TOPIC_OF = {
    NO_SCORE: b.STATE,
    "dead-groups": b.STATE,
    "reward-smoothed": b.STATE,
    "gross-outlier": b.READING,
    INCOMPLETE: b.READING,
    "reward-ends": b.READING,
    "dynamic-batches": b.READING,
}
"""Code of a finding → the part of a run that it is about; of others the law."""

BY_ODDS = (
    "reward-rises-with-entropy",
    "step-says-more",
    "line-as-good",
    "another-curve",
    "neither-says-more",
)
"""Codes of reasons whose numbers the table of the law has."""


def describe(result: Fit) -> list[b.Block]:
    """A fit without its log; of a run with several rewards the first one, with the names of the others."""
    series = about(result)
    rewards = list(getattr(result, "rewards", ()))
    if len(rewards) > 1:
        series = f"{rewards[0]} · {series}; also in .rewards: {listing(rewards[1:], 3)}"
    read: list[b.Block] = []
    if notes := findings(result, b.READING):
        read = [b.Heading("Read and dropped", name="read", topic=b.READING), b.Notes(notes)]
    return b.on_axis(result.axis, sections(result, result, b.Heading(result.run, 2, series), further=read))


def table(result: Fit) -> b.Table:
    """A row per form; none for a run without a law."""
    return b.table_of(FORM_COLUMNS, () if result.law is None else result.law.forms)


def about(fit: Fit, columns: Mapping[str, Choice] | None = None, dropped: int = 0) -> str:
    """``val_acc, 51 evaluations of steps 0–400 · entropy 0.51 → 0.03 nats``; and how many were dropped."""
    step = fit.evaluations[0]
    steps = f"{format_step(float(step[0]))}–{format_step(float(step[-1]))}"
    text = f"{counted(fit.n_rewards, 'evaluation')} of steps {steps}"
    if dropped:
        text += f", {dropped} dropped"
    if columns and "reward" in columns:
        reward = columns["reward"]
        # A score is of a validation, where nothing else is said.
        kind = "" if reward.meaning.kind == "validation" else words.in_brackets(reward.meaning.kind or "")
        text = f"{reward.label or reward.column}{kind}, {text}"
    law = fit.law
    if law is not None:
        first, last = (format_number(float(law.entropy[i]), 2) for i in (0, -1))
        return f"{text} · entropy {first} → {last} nats"
    if fit.no_law is not None and fit.no_law.slug == words.NO_ENTROPY:
        return f"{text} · no entropy in this log"
    return text


def findings(fit: Fit, topic: str) -> list[b.Note]:
    """The findings about a part of a run, a line each.

    A reason is one of the word about the law, and there is none of a broken run.
    """
    severities = ("caution", "note") if fit.is_broken else ("reason", "caution", "note")
    return [
        b.Note(severity, finding.sentence)
        for severity in severities
        for finding in fit.findings
        if finding.severity == severity
        and TOPIC_OF.get(finding.code, b.LAW) == topic
        and finding.code not in BY_ODDS
    ]


def sections(fit: Fit, part: object, heading: b.Heading, *, further: Sequence[b.Block] = ()) -> list[b.Block]:
    """The answers, and the numbers of each of them.

    Figures are drawn from ``part``: the fit, or a run with its columns. ``further`` blocks come last.
    """
    figures = figures_of("fit", part, words.in_sentences(fit))
    if fit.law is not None:
        figures += figures_of("law", part)
    return [
        heading,
        b.Answers(words.answers(fit)),
        *figures,
        b.Heading("State", name="state", topic=b.STATE),
        *_of_state(fit),
        b.Notes(findings(fit, b.STATE)),
        b.Heading("Forecast", name="forecast", topic=b.FORECAST),
        *forecast.of_fit(fit),
        b.Heading("The law", name="law", topic=b.LAW),
        *_of_law(fit),
        b.Notes(findings(fit, b.LAW)),
        *further,
    ]


def _of_state(fit: Fit) -> list[b.Block]:
    """The numbers from which the word about the run follows; or why there is none."""
    state = fit.state
    if state is None:
        return [b.paragraphs(words.sentence(f"The state is not known: {fit.no_state}"))]
    over = "change in the last third"
    if state.word == "flat":
        over = f"change since step {words.since_words(state)}"
    lost = words.about_state(state)[0] if fit.is_broken else ""
    unseen = f"changes below {format_number(state.would_show, 2)} would not show"
    facts: list[tuple[str, b.Cell, str]] = [
        ("now", state.now, lost),
        ("change in all", state.gained, ""),
        (over, state.change, unseen),
        ("gain that counts", f"{state.gain:.3g}", ""),
        ("noise of an evaluation", state.noise, "standard deviation"),
    ]
    keep = fit.keep
    if keep is not None and not keep.is_last:
        better = f"at step {format_step(keep.step)}; better than the last, {p_words(keep.p_better)}"
        facts.append(("level to keep", keep.level, better))
    return [_numbers(state.word, f"{format_percent(fit.level)} interval", facts)]


def _of_law(fit: Fit) -> list[b.Block]:
    """The word about the law, its numbers, and the functional forms; or why there are none."""
    law = fit.law
    if law is None:
        lacking = fit.no_law
        reason = "" if lacking is None else f"{words.capital(lacking.message)}."
        hint = "" if lacking is None else lacking.hint
        return [b.paragraphs(f"There is no law. {reason}".rstrip()), b.Notes([b.Note("hint", hint)])]
    probabilities = "Probabilities are posterior; all functional forms have the same prior probability."
    skipped = b.labelled("skipped", (f"{form_label(form)}: {why}" for form, why in law.skipped.items()))
    title = "R = b − a·exp(H)"
    if fit.is_broken:
        word = "The run is broken"
    elif law.verdict is Verdict.undecided:
        word = f"The law is {words.law_words(law)}"
    else:
        word = f"The law {words.law_words(law)}"
    if fit.is_broken or law.verdict is Verdict.fails:
        title += ", for reference only"
    return [
        b.paragraphs(words.sentence(word)),
        _numbers(title, f"{format_percent(law.level)} interval, {law.ceiling.method}", _of_fit(fit, law)),
        b.table_of(FORM_COLUMNS, law.forms),
        b.Notes([*skipped, b.Note("", probabilities)]),
        b.OnRequest("last third", lambda: _kept_word(law)),
    ]


def _numbers(title: str, interval: str, rows: Sequence[tuple[str, b.Cell, str]]) -> b.Table:
    """A table of numbers, each with its name and its description."""
    heads = (b.Column("name", title), b.Column("value", f"value, {interval}"), b.Column("note"))
    return b.Table(heads, rows)


def _of_fit(fit: Fit, law: LawFit) -> list[tuple[str, b.Cell, str]]:
    """The coefficients of the law, and the evidence about it."""
    facts: list[tuple[str, b.Cell, str]] = [
        ("a", law.a, "reward lost per unit of exp(H)"),
        ("b", law.b, f"correlation with a {law.correlation:.3f}"),
    ]
    if not fit.is_broken:
        of_ceiling = "b − a"
        if law.lowest_entropy > 0:
            of_ceiling += f", extrapolated over {format_number(law.lowest_entropy, 2)} nats"
        if law.max_reward is not None:
            of_ceiling += f", at most {law.max_reward:g}"
        facts.append(("reward at H = 0", law.ceiling, of_ceiling))
    if fit.drop_per_100_steps is not None:
        facts.append(("drop per 100 steps", fit.drop_per_100_steps, "nats of entropy, over the last third"))
    facts.append(("R²", format_r_squared(law.r_squared), "least squares, entropy as logged"))
    residuals = law.residuals
    facts += [
        ("effective sample size", f"{residuals.effective_n:.1f}", f"of {counted(law.n, 'evaluation')}"),
        ("residual sd", residuals.sd, ""),
        ("residual lag-1 correlation", residuals.lag1, ""),
        ("slow drift", format_percent(residuals.drift_share), "of the residual variance"),
    ]
    if law.n >= FEWEST_FOR_MEMORY:
        facts.append(("long memory", format_probability(residuals.long_memory), "probability"))
    if law.entropy_noise is not None:
        facts.append(("noise of the entropy", law.entropy_noise, "nats, removed by smoothing"))
    tests = law.tests
    return [
        *facts,
        ("curves in H to the step", odds_words(tests.odds_entropy), f"odds; {tests.more}"),
        ("the law to the step", odds_words(tests.odds_law), "odds"),
        ("the law to a line in H", odds_words(tests.odds_line), "odds"),
        ("direction", format_probability(tests.p_direction), "P that reward falls as entropy rises"),
    ]


def _kept_word(law: LawFit) -> str:
    """How far the law and the averaged curve of the first two thirds missed the last third."""
    kept = law.kept_word
    if kept is None:
        return "The run is too short to say what its first two thirds say of the last one."
    return (
        f"Fitted to the first {counted(kept.fitted, 'evaluation')}, the law would have missed by "
        f"{format_number(kept.law, 2)}, the averaged curve by {format_number(kept.curve, 2)}; the level by "
        f"{format_number(kept.level, 2)}."
    )
