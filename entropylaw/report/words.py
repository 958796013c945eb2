"""Sentences about a run, made only from what its document holds."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from entropylaw.analysis.forms import form_label
from entropylaw.documents.fit import RunFit
from entropylaw.documents.report import RunReport
from entropylaw.report.numbers import (
    cell_text,
    count,
    format_estimate,
    format_interval,
    format_percent,
    format_step,
    format_weight,
)
from entropylaw.results import Estimate, Validity
from entropylaw.results.columns import Meaning, Refusal
from entropylaw.results.law import LawFit


def headline(law: LawFit) -> str:
    """The verdict in one line."""
    if not law.validity.ok:
        return invalid_headline(law.validity)
    if law.better_rival is not None:
        return f"The law fits this run, but {form_label(law.better_rival.form)} fits it better."
    if same := law.rivals_as_good:
        return f"The law fits this run, and so does {listed(form_label(rival.form) for rival in same)}."
    return "The law describes this run."


def invalid_headline(validity: Validity) -> str:
    """The verdict where the numbers are not to be used."""
    if validity.contradicted:
        return "The law does not describe this run."
    return "This run cannot tell whether the law holds."


def badge(run: RunFit) -> str:
    """The verdict in a word or two, for tables and badges: never told by colour alone."""
    return "refused" if run.law is None else run.law.verdict


def why(refusal: Refusal | None) -> str:
    """Why a run was refused, as far as its document says."""
    return refusal.message if refusal is not None else "its document gives no reason"


def run_headline(run: RunFit) -> str:
    """The verdict on a run in one line, fitted or refused."""
    return "This run could not be fitted." if run.law is None else headline(run.law)


def interval_words(law: LawFit) -> str:
    """Level and method of the intervals: ``95 % intervals; drift + noise, integrated out``."""
    return f"{format_percent(law.level)} intervals; {law.ceiling.method}"


def opening(report: RunReport) -> tuple[str, ...]:
    """Three sentences: what the run has used, what is left and where it goes, how far to trust that.

    Where the law fails, or is open, that is the first of them. For a refused run two: why, and what to do.
    """
    law, used = report.fit.law, report.fit.used
    if law is None or not law.validity.ok:
        return proviso(report.fit)
    better = law.better_rival
    by = "" if better is None else f"By the law, though {form_label(better.form)} fits better, "
    note = used.note if used is not None and used.note else "its document does not say"
    spent = f"what share of the reward that its entropy can buy this run has used is not known: {note};"
    if used is not None and used.value is not None:
        spent = f"this run has used {format_interval(used, '%')} of the reward that its entropy can buy:"
    ceiling = f"the ceiling at {format_interval(law.ceiling)} ({interval_words(law)})"
    first = f"{by}{spent} the reward stands at {format_interval(law.reward_now)}, and {ceiling}."
    trust = f"over all forms that are not ruled out, the ceiling lies anywhere from {ceiling_range(law)}."
    if all(rival.ruled_out for rival in law.rivals):
        trust = "every rival is ruled out."
    return capital(first), _left(law, report), f"{_beside_rivals(law)}; {trust}"


def _beside_rivals(law: LawFit) -> str:
    """How the law does beside its rivals."""
    where = f"{law.n} evaluations, steps {format_step(law.step[0])} to {format_step(law.step[-1])}"
    best, same, own = law.better_rival, law.rivals_as_good, format_weight(law.law_weight)
    fits = f"The law fits the run ({where}"
    if best is not None:
        against = f"{format_weight(best.weight)} against {own}"
        return f"{fits}), but {form_label(best.form)} has more weight: {against}"
    if same:
        rivals = listed(f"{form_label(r.form)} ({format_weight(r.weight)})" for r in same)
        return f"{fits}; weight {own} among the forms), and the data cannot tell it from {rivals}"
    return f"The law describes the run ({where}; weight {own} among the forms)" if law.rivals else f"{fits})"


def _left(law: LawFit, report: RunReport) -> str:
    """The headroom, and what the forecast says."""
    left = format_interval(law.headroom)
    low, high, first = law.headroom.low, law.headroom.high, f"No headroom can be told from zero: {left}"
    if low is None or high is None:
        first = f"The headroom is {left}"
    elif high < 0:
        first = f"It stands above what the law gives at H = 0: headroom {left}"
    elif low > 0:
        first = f"Spending the last of its entropy would bring {left} more"
    if (ahead := report.forecast) is not None:
        at = f"at step {format_step(ahead.step[-1])}"
        first += f"; the forecast of the reward {at} is {format_interval(ahead.reward[-1])}"
    if report.spending is not None:
        first += f"; {spent_words(report.spending.step)}"
    elif ahead is None and report.no_forecast:
        first += f"; there is no forecast ({report.no_forecast})"
    return f"{first}."


def proviso(run: RunFit) -> tuple[str, ...]:
    """What stands in place of a summary: why a run has no law, or why its numbers are not to be read.

    Of a law that was fitted also what does better, and the numbers with that proviso.
    """
    if (law := run.law) is None:
        if run.refusal is None:
            return ("The run has no fit, and its document gives no reason.",)
        refused = f"The run could not be fitted: {sentence(run.refusal.message)}"
        return refused, sentence(capital(run.refusal.hint))
    reasons = law.validity.reasons
    more = f" ({count(len(reasons) - 1, 'more reason')} below)" if len(reasons) > 1 else ""
    now, headroom, ceiling = map(format_interval, (law.reward_now, law.headroom, law.ceiling))
    better = "No other form was fitted."
    if law.rivals:
        best = law.rivals[0]
        weights, own = format_weight(best.weight), format_weight(law.law_weight)
        better = f"No rival does better: the law has weight {own}, {form_label(best.form)} {weights}."
        if best.weight > law.law_weight:
            better = f"Of the forms, {form_label(best.form)} does best (weight {weights} against {own})"
            better += f"; it puts the ceiling at {format_interval(best.ceiling)}."
    anyway = (
        f"Whoever reads the numbers of the law anyway finds a reward of {now} now, a headroom of {headroom}"
    )
    anyway += f" and a ceiling of {ceiling} ({interval_words(law)})."
    return f"{headline(law).removesuffix('.')}: {reasons[0]}{more}.", better, anyway


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


def drop_words(run: RunFit) -> str:
    """What was left out, each reason with its count; empty where nothing could be read to begin with.

    The fit has a sentence for each outlier: here they are counted, and one stands for all.
    """
    if run.law is None and run.entropy_column is None and not run.dropped:
        return ""
    counts = [f"{reason} ({number})" for reason, number in sorted(run.dropped.items())]
    dropped = run.law.dropped.items() if run.law is not None else ()
    parted = sorted(dropped, key=lambda item: item[0].partition(": "))
    for kind, group in groupby(parted, lambda item: item[0].partition(": ")[0]):
        reasons = list(group)
        number, example = sum(number for _, number in reasons), reasons[0][0].partition(": ")[2]
        such = f"{', such as:' if len(reasons) > 1 else ':'} {example}" if example else ""
        counts.append(f"{kind} ({number}){such}")
    return "; ".join(counts) or "nothing"


def ceiling_range(law: LawFit) -> str:
    """``0.474 (a constant) to 0.607 (the law)``: over the forms not ruled out, with whose each end is."""
    over = law.ceiling_over_forms
    text = format_estimate(over)
    if over.low is None or over.high is None:
        return f"{text.low} to {text.high} ({over.note})"
    kept = [] if law.law_ruled_out else [("law", law.ceiling)]
    kept += [(rival.form, rival.ceiling) for rival in law.rivals if not rival.ruled_out]
    lowest = [form_label(form) for form, ceiling in kept if ceiling.low == over.low]
    highest = [form_label(form) for form, ceiling in kept if ceiling.high == over.high]
    if len(kept) == 1 or not lowest or not highest:
        return f"{text.low} to {text.high}"
    below = "" if lowest[0] in highest else f" ({lowest[0]})"
    return f"{text.low}{below} to {text.high} ({highest[0] if below else lowest[0]})"


def meaning(known: Meaning) -> str:
    """What the catalog knows of a column, in a few words; empty where it knows nothing."""
    facts = [known.kind, known.unit, known.aggregation, known.timing]
    facts += [f"{known.estimator} estimator" if known.estimator else None]
    facts += [f"temperature {known.temperature}" if known.temperature else None]
    facts += ["logged with its sign reversed" if known.sign < 0 else None, known.note]
    return ", ".join(fact for fact in facts if fact)


def spent_words(step: Estimate) -> str:
    """``its entropy is forecast to be spent by step 520 [480, 610]``."""
    if step.value is None:
        return f"no step is forecast by which its entropy is spent{earliest(step)}"
    return f"its entropy is forecast to be spent by step {step_words(step)}"


def step_words(step: Estimate) -> str:
    """A step that is known with its interval, whole; an end that is not known is said not to be."""
    return cell_text(step, "step") + (f" ({step.note})" if step.note else "")


def earliest(step: Estimate) -> str:
    """Why no step is known, and where its interval begins all the same."""
    low = "" if step.low is None else f"the interval begins at step {format_step(round(step.low))}; "
    return f" ({low}{step.note or 'no reason is given'})"
