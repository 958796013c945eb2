"""Sentences about a fit, made only from what its document holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from entropylaw.analysis.forms import form_label
from entropylaw.analysis.residual_models import residual_model
from entropylaw.documents.fit import RunFit
from entropylaw.report.numbers import (
    count,
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_step,
    format_weight,
)
from entropylaw.results import Validity
from entropylaw.results.columns import Meaning
from entropylaw.results.law import LawFit


def headline(law: LawFit) -> str:
    """The verdict in one line."""
    if not law.validity.ok:
        return invalid_headline(law.validity)
    best = law.better_rival
    if best is not None:
        return f"The law fits this run, but {form_label(best.form)} fits it better."
    same = law.rivals_as_good
    if same:
        return f"The law fits this run, and so does {listed(form_label(rival.form) for rival in same)}."
    return "The law describes this run."


def invalid_headline(validity: Validity) -> str:
    """The verdict where the numbers are not to be used."""
    if validity.contradicted:
        return "The law does not describe this run."
    return "This run cannot tell whether the law holds."


def invalid_badge(validity: Validity) -> str:
    """The same in a word or two."""
    return "law fails" if validity.contradicted else "undecided"


def badge(run: RunFit) -> str:
    """The verdict in a word or two, for tables and badges: never told by colour alone."""
    return "refused" if run.law is None else run.law.verdict


def run_headline(run: RunFit) -> str:
    """The verdict on a run in one line, fitted or refused."""
    return "This run could not be fitted." if run.law is None else headline(run.law)


def proviso(run: RunFit) -> tuple[str, ...]:
    """What stands in place of a summary: why a run has no law, or why its numbers are not to be read."""
    if run.law is not None:
        return _invalid(run.law)
    if run.refusal is None:
        return ("The run has no fit, and its document gives no reason.",)
    message, hint = run.refusal.message, run.refusal.hint
    return f"The run could not be fitted: {sentence(message)}", sentence(hint[:1].upper() + hint[1:])


def interval_words(law: LawFit) -> str:
    """Level and method of the intervals: ``95 % intervals; drift + noise, integrated out``."""
    return f"{format_percent(law.level)} intervals; {law.ceiling.method}"


def verdict(law: LawFit) -> str:
    """How the law does beside its rivals."""
    where = f"{law.n} evaluations, steps {format_step(law.step[0])} to {format_step(law.step[-1])}"
    best, same, own = law.better_rival, law.rivals_as_good, format_weight(law.law_weight)
    if not law.rivals:
        return f"The law fits the run ({where})."
    if best is not None:
        against = f"{format_weight(best.weight)} against {own}"
        return f"The law fits the run ({where}), but {form_label(best.form)} has more weight: {against}."
    where += f"; weight {own} among the forms"
    if same:
        rivals = listed(f"{form_label(r.form)} ({format_weight(r.weight)})" for r in same)
        return f"The law fits the run ({where}), and the data cannot tell it from {rivals}."
    return f"The law describes the run ({where})."


def _invalid(law: LawFit) -> tuple[str, ...]:
    """Why the numbers are not to be read, what does better, and the numbers with that proviso."""
    reasons = law.validity.reasons
    more = f" ({count(len(reasons) - 1, 'more reason')} below)" if len(reasons) > 1 else ""
    now, headroom, ceiling = map(format_interval, (law.reward_now, law.headroom, law.ceiling))
    better = "No other form was fitted."
    if law.rivals:
        best = law.rivals[0]
        weights, own = format_weight(best.weight), format_weight(law.law_weight)
        better = f"No rival does better: the law has weight {own}, {form_label(best.form)} {weights}."
        if best.weight > law.law_weight:
            better = (
                f"Of the forms, {form_label(best.form)} does best (weight {weights} against {own}); it puts "
                f"the ceiling at {format_interval(best.ceiling)}."
            )
    return (
        f"{headline(law).removesuffix('.')}: {reasons[0]}{more}.",
        better,
        f"Whoever reads the numbers of the law anyway finds a reward of {now} now, a headroom of {headroom} "
        f"and a ceiling of {ceiling} ({interval_words(law)}).",
    )


def listed(items: Iterable[str]) -> str:
    """``one, two and three``."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def sentence(text: str) -> str:
    """With exactly one full stop."""
    return text.rstrip().rstrip(".") + "."


def drops(run: RunFit) -> list[tuple[str, int]]:
    """What was left out of a run, by reason: while reading and pairing, and by the fit itself."""
    fitted = dict(run.law.dropped) if run.law is not None else {}
    return [*sorted(run.dropped.items()), *sorted(fitted.items())]


def drop_words(run: RunFit) -> str:
    """What was left out, each reason with its count; empty where nothing could be read to begin with.

    The fit has a sentence for each outlier: here they are counted, and one stands for all.
    """
    if run.law is None and run.entropy_column is None and not run.dropped:
        return ""
    counts = [f"{reason} ({number})" for reason, number in sorted(run.dropped.items())]
    dropped = run.law.dropped if run.law is not None else {}
    kinds: dict[str, list[str]] = {}
    for reason in sorted(dropped):
        kinds.setdefault(reason.partition(": ")[0], []).append(reason)
    for kind, reasons in kinds.items():
        number = sum(dropped[reason] for reason in reasons)
        example = reasons[0].partition(": ")[2]
        such = f"{', such as:' if len(reasons) > 1 else ':'} {example}" if example else ""
        counts.append(f"{kind} ({number}){such}")
    return "; ".join(counts) or "nothing"


def ceiling_range(law: LawFit, called: Callable[[str], str] = form_label) -> str:
    """``0.474 (a constant) to 0.607 (the law)``: range over the forms not ruled out, with whose each end is.

    ``called`` turns the name of a form into words.
    """
    over = law.ceiling_over_forms
    text = format_estimate(over)
    kept = [] if law.law_ruled_out else [("law", law.ceiling)]
    kept += [(rival.form, rival.ceiling) for rival in law.rivals if not rival.ruled_out]
    if over.low is None or over.high is None:
        return f"{text.low} to {text.high} ({over.note})"
    lowest = [called(form) for form, ceiling in kept if ceiling.low == over.low]
    highest = [called(form) for form, ceiling in kept if ceiling.high == over.high]
    if len(kept) == 1 or not lowest or not highest:
        return f"{text.low} to {text.high}"
    if lowest[0] in highest:
        return f"{text.low} to {text.high} ({lowest[0]})"
    return f"{text.low} ({lowest[0]}) to {text.high} ({highest[0]})"


def meaning(known: Meaning) -> str:
    """What the catalog knows of a column, in a few words; empty where it knows nothing."""
    facts = [known.kind, known.unit, known.aggregation, known.timing]
    facts += [f"{known.estimator} estimator" if known.estimator else None]
    facts += [f"temperature {known.temperature}" if known.temperature else None]
    facts += ["logged with its sign reversed" if known.sign < 0 else None, known.note]
    return ", ".join(fact for fact in facts if fact)


def influence(law: LawFit) -> str:
    """Which evaluation carries the fit, in a sentence."""
    step, shift = format_step(law.influence.step), format_number(law.influence.ceiling_shift, 2)
    sign = "" if shift.startswith("-") else "+"
    return (
        f"Leaving out the evaluation at step {step} moves the least-squares fit most: the ceiling by "
        f"{sign}{shift}, a to {format_number(law.influence.a_ratio)} times its value."
    )


def ceiling_words(law: LawFit) -> str:
    """What the ceiling is."""
    fixed = residual_model(law.interval).fixed_level
    return "reward at H = 0" + ("" if fixed else ", from where the run stands")


def residual_words(law: LawFit) -> str:
    """The residuals in a sentence."""
    left = law.residuals
    sd, lag1 = format_number(left.sd, 2), "unknown" if left.lag1 is None else format_number(left.lag1, 2)
    first = f"The residuals have standard deviation {sd} and lag-1 autocorrelation {lag1}"
    model = residual_model(law.interval)
    if model.assumed is not None:
        noise = _entropy_noise(law) if model.smooths_entropy else ""
        return f"{first}; the intervals take them as {model.assumed}.{noise}"
    return (
        f"{first}; {format_percent(left.drift_share)} of their variance is slow drift, so that {law.n} "
        f"evaluations have an effective sample size of {format_number(left.effective_n, 2)}. "
        f"The drift remembers half of the run or more with probability {format_weight(left.long_memory)}."
        f"{_entropy_noise(law)}"
    )


def _entropy_noise(law: LawFit) -> str:
    """What was taken out of the entropy before the fit."""
    if law.entropy_noise is None:
        return ""
    noise = format_number(law.entropy_noise, 2)
    given = "" if law.entropy_sd is None else ", its noise as it was given"
    return (
        f" The law is fitted to the course of the entropy, about which the log scatters by {noise} "
        f"nats{given}; how well that course is known is in the intervals."
    )
