"""Sentences about a run, made only from its document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from entropylaw.documents.document import Entry, RunPrediction
from entropylaw.escaping import counted
from entropylaw.logs.source import Meaning
from entropylaw.report.numbers import (
    cell_text,
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_probability,
    format_r_squared,
    format_step,
)
from entropylaw.results import Estimate, FormEstimate, Verdict, Why
from entropylaw.results.arms import QUANTITIES
from entropylaw.results.columns import Refusal
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast
from entropylaw.results.result import has, sentences


def why(refusal: Refusal | None) -> str:
    """Why a run was refused, if its document has the reason."""
    return refusal.message if refusal is not None else "its document gives no reason"


def headline(fit: Fit | RunPrediction) -> str:
    """The verdict in a sentence without its first word: why it is what it is."""
    if fit.verdict is Verdict.holds:
        return "reward follows R = b − a·exp(H)"
    if fit.why is Why.no_relation:
        return "reward rises with entropy" if rises(fit) else "reward does not follow entropy"
    first = sentences(fit.findings, "reason")[:1]
    if fit.why is Why.more_than_entropy:
        return ": ".join(["reward needs more than entropy", *first])
    if first:
        return first[0]
    return "the data do not decide" if fit.why is None else "another curve fits"


def rises(fit: Fit | RunPrediction) -> bool:
    """Whether the law fails because reward rises with entropy."""
    return has(fit.findings, "reward-falls")


SHORT = {
    "entropy-controlled": "entropy is controlled",
    "too-few-evaluations": "too few evaluations",
    "entropy-range-narrow": "narrow range of entropy",
    "slope-unclear": "slope unclear",
    "weak-relation": "weak relation",
}
"""Code of a reason → two or three words."""


def short_why(run: Entry[Fit]) -> str:
    """Why the verdict is what it is, in a few words for a chip; empty where the law holds."""
    fit = run.result
    if fit is None:
        return run.refusal.slug if run.refusal is not None else ""
    if fit.why is not None:
        return fit.why.value
    first = next((finding for finding in fit.findings if finding.severity == "reason"), None)
    if first is None:
        return ""
    # A stored document may have a reason that this version does not know.
    curve = first.values.get("curve")
    return SHORT.get(first.code) or (f"{curve} also fits".replace("_", " ") if curve else first.code)


def verdict_cell(run: Entry[Fit]) -> str:
    """The verdict for a table: ``holds``, ``undecided``, ``fails: another curve``, ``refused``."""
    reason = getattr(run.result, "why", None)
    return f"{run.verdict}: {reason.value}" if reason is not None else run.verdict


NO_FORECAST = "none was made"


def answers(fit: Fit) -> tuple[tuple[str, str], ...]:
    """What comes next, and what is left on the curve, each with its label."""
    at = f" at H = {format_number(fit.law.entropy_now)} nats"
    ahead = fit.forecast
    if ahead is None:
        now = f"{format_estimate(fit.reward_now).value}{at}"
        return (
            ("now", now),
            ("forecast", f"none: {fit.no_forecast or NO_FORECAST}"),
            ("left on the curve", left_words(fit)),
        )
    return (
        ("now", f"{format_number(ahead.now)}{at}"),
        *forecast_lines(ahead),
        ("left on the curve", left_words(fit)),
        (
            "rests on",
            f"effective sample size {fit.law.residuals.effective_n:.0f} of {fit.n}; {came_true(ahead)}",
        ),
    )


def forecast_lines(ahead: Forecast) -> list[tuple[str, str]]:
    """A line per later step, and one for the best step so far."""
    lines = []
    for step, reward, chance in zip(ahead.step, ahead.rewards, ahead.p_gains, strict=True):
        gain = f"P(+{ahead.gain:.3g} or more) {format_probability(chance)}"
        lines.append((f"by step {format_step(step)}", f"{format_interval(reward)}, {gain}"))
    best = ahead.best_so_far
    text = f"step {format_step(best.step)}: {format_number(best.level)}; "
    better = f"better than now with {p_words(best.p_better)}"
    return [*lines, ("best so far", text + ("the last step" if best.step == ahead.last_step else better))]


def came_true(ahead: Forecast) -> str:
    """``forecasts that said 0.6–0.7 came true in 66 %``."""
    rests_on = ahead.rests_on
    said = f"forecasts that said {rests_on.low:g}–{rests_on.high:g}"
    return f"{said} came true in {100 * rests_on.came_true:.0f} %"


def left_words(fit: Fit) -> str:
    """What is left on the curve, and the ceiling."""
    if fit.lost:
        return f"unknown: {fit.headroom.note}"
    if rises(fit):
        return "nothing: reward rises with entropy"
    if (fit.ceiling.width or 0.0) > max(fit.law.reward) - min(fit.law.reward):
        low, high = format_number(fit.ceiling.low), format_number(fit.ceiling.high)
        return f"this log cannot tell: a ceiling of {low} to {high} at H = 0"
    stage = " at the present stage" if fit.present_stage else ""
    text = f"{format_interval(fit.headroom)}{stage}, ceiling {format_interval(fit.ceiling)} at H = 0"
    for finding in fit.findings:
        if finding.code == "curves-pass-largest":
            text += f", at most {fit.max_reward:g}, which they reach at H = {finding.values['entropy']:.2f}"
    return f"for reference only: {text}" if fit.why is Why.no_relation else text


def summary(run: Entry[Fit]) -> tuple[str, ...]:
    """The same in lines; for a refused run why it was refused, and what to do."""
    if run.result is not None:
        return tuple(f"{capital(label)}: {text}" for label, text in answers(run.result))
    if run.refusal is None:
        return ("The run has no fit, and its document gives no reason.",)
    return sentence(capital(run.refusal.message)), sentence(capital(run.refusal.hint))


def p_words(probability: float) -> str:
    """``P = 0.98``, ``P > 0.99``; below a hundredth with its exponent, ``P = 1.5e-07``."""
    if 0 < probability < 0.01:
        return f"P = {probability:.2g}"
    text = format_probability(probability)
    return f"P > {text[1:]}" if text.startswith(">") else f"P = {text}"


def p_left(fit: Fit) -> str:
    """``P(≥ 0.01) = 0.98``: the probability of the gain that counts; empty where it is unknown."""
    return "" if fit.p_headroom is None else p_words(fit.p_headroom).replace("P", f"P(≥ {fit.gain:.3g})", 1)


def shapes_words(form: FormEstimate) -> str:
    """``k = −1.2``: the parameters in which a form is not linear; empty without any."""
    return ", ".join(f"{name} = {format_number(shape.value, 2)}" for name, shape in form.shapes.items())


def law_line(fit: Fit) -> str:
    """The law's coefficients, R², probability and effective sample size on one line."""
    a, b, level = format_interval(fit.a), format_interval(fit.b), format_percent(fit.level)
    trust = f"R² {format_r_squared(fit.law.r_squared)}, {p_words(fit.law.probability)} among "
    trust += f"{counted(len(fit.forms), 'curve')}, effective sample size "
    return f"a {a}, b {b} ({level} intervals); {trust}{fit.law.residuals.effective_n:.0f} of {fit.n}"


def listed(items: Iterable[str]) -> str:
    """``one, two and three``."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def sentence(text: str) -> str:
    """With exactly one full stop."""
    return text.rstrip().rstrip(".") + "."


def capital(text: str) -> str:
    """With its first letter as a capital."""
    return text[:1].upper() + text[1:]


def drop_words(run: Entry[Fit]) -> str:
    """The evaluations left out, as reasons with counts; empty where nothing could be read at all.

    The fit has a sentence for each outlier: here they are counted, and one is the example.
    """
    law_drops: Mapping[str, int] = {} if run.result is None else run.result.law.dropped
    if run.result is None and not run.columns and not run.dropped:
        return ""
    counts = [f"{reason} ({number})" for reason, number in sorted(run.dropped.items())]
    kinds: dict[str, dict[str, int]] = {}
    for reason, number in law_drops.items():
        kind, _, example = reason.partition(": ")
        kinds.setdefault(kind, {})[example] = number
    for kind, examples in sorted(kinds.items()):
        text, first = f"{kind} ({sum(examples.values())})", min(examples)
        if first:
            text += f"{', such as:' if len(examples) > 1 else ':'} {first}"
        counts.append(text)
    return "; ".join(counts) or "nothing"


def meaning(column: Meaning) -> str:
    """The catalog's description of a column in a few words; empty where there is none."""
    facts = [column.kind, column.unit, column.aggregation, column.timing]
    facts += [f"{column.estimator} estimator" if column.estimator else None]
    facts += [f"temperature {column.temperature}" if column.temperature else None]
    facts += ["logged with its sign reversed" if column.sign < 0 else None, column.note]
    return ", ".join(fact for fact in facts if fact)


def in_brackets(text: str) -> str:
    """`` (text)``; nothing for an empty text."""
    return f" ({text})" if text else ""


def step_words(step: Estimate) -> str:
    """A step with its interval as whole numbers; an unknown end is named as such."""
    return cell_text(step, "step") + in_brackets(step.note or "")


def quantity_label(quantity: str, unit: str) -> str:
    """What is compared between arms in words, with a unit other than that of the reward."""
    words = QUANTITIES.get(quantity, (quantity,))[0]
    return words if unit in ("reward", "") or quantity == unit else f"{words}, {unit}"
