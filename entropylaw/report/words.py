"""Sentences about a run, made only from its document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from entropylaw.analysis.forms import form_label
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
)
from entropylaw.results import Estimate, FormEstimate, Verdict, Why
from entropylaw.results.arms import QUANTITIES
from entropylaw.results.columns import Refusal
from entropylaw.results.fit import Fit
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


def answers(fit: Fit) -> tuple[tuple[str, str], ...]:
    """The two questions of a user with their answers: what is left, and the ceiling."""
    return ("Still improving?", improving_words(fit)), ("Ceiling", ceiling_words(fit))


def summary(run: Entry[Fit]) -> tuple[str, ...]:
    """The same in two lines; for a refused run why it was refused, and what to do."""
    if run.result is not None:
        return tuple(f"{question.rstrip('?')}: {text}" for question, text in answers(run.result))
    if run.refusal is None:
        return ("The run has no fit, and its document gives no reason.",)
    return sentence(capital(run.refusal.message)), sentence(capital(run.refusal.hint))


LIKELY, UNLIKELY = 0.95, 0.05
"""Probabilities from which a gain is called certain, and up to which there is none."""

_LEFT = ((LIKELY, "Yes"), (0.5, "Probably"), (0.0, "Probably not"))
"""Least probability of a gain → whether it is left."""


def improving_words(fit: Fit) -> str:
    """Whether at least the gain that counts is left, and how much."""
    p = fit.p_headroom
    if p is None:
        return f"No: {fit.headroom.note}"
    if rises(fit):
        return "Not on the curve: reward rises with entropy, and falls as entropy falls"
    if fit.why is Why.no_relation:
        return f"Unknown: {headline(fit)}"
    chance = f"{p_words(p)} that at least {fit.gain:.3g} is left"
    stage = " at the present stage" if fit.present_stage else ""
    if fit.headroom.high == 0:
        return f"No measurable gain left{stage}: the reward at H = 0 is below the reward now ({chance})"
    left = format_interval(fit.headroom)
    if p > UNLIKELY:
        word = next(word for least, word in _LEFT if p >= least)
        return f"{word}: {left} of reward left{stage} ({chance})"
    certain = fit.headroom.low is not None and fit.headroom.low > 0
    amount = f"Less than {fit.gain:.3g} of reward" if certain else "No measurable gain"
    return f"{amount} left{stage}: {left} ({chance})"


def ceiling_words(fit: Fit) -> str:
    """The ceiling and over what it is averaged, the reward now, and how far that extrapolates."""
    law, best = fit.law, fit.best
    now = f"now {format_estimate(fit.reward_now).value} at H = {format_number(law.entropy_now)}"
    if fit.lost:
        return f"Unknown; {now}"
    over = "over all plausible curves"
    if best.probability >= LIKELY:
        over = f"by {form_label(best.form)}{in_brackets(shapes_words(best))}"
    if fit.present_stage:
        over += " at the present stage"
    if fit.max_reward is not None:
        over += f", at most {fit.max_reward:g}"
    for finding in fit.findings:
        if finding.code == "curves-pass-largest":
            over += f", which they reach at H = {finding.values['entropy']:.2f}: no lower ceiling follows"
    text = f"{format_interval(fit.ceiling)} {over}; {now}"
    if fit.lowest_entropy > 0:
        text += f"; extrapolated over {format_number(fit.lowest_entropy, 2)} nats"
    return f"For reference only: {text}" if fit.why is Why.no_relation else text


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


def earliest(step: Estimate) -> str:
    """The lower end of the interval of an unknown step, if there is one."""
    return f" (it may fall below that from step {round(step.low)} on)" if step.low is not None else ""


def quantity_label(quantity: str, unit: str) -> str:
    """What is compared between arms in words, with a unit other than that of the reward."""
    words = QUANTITIES.get(quantity, (quantity,))[0]
    return words if unit in ("reward", "") or quantity == unit else f"{words}, {unit}"
