"""Sentences about a run, made only from its document."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from entropylaw.analysis.forms import form_label
from entropylaw.documents.document import RunFit, RunReport
from entropylaw.escaping import counted
from entropylaw.report.numbers import (
    cell_text,
    format_estimate,
    format_interval,
    format_percent,
    format_probability,
    format_step,
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
    return "This run carries too little information to test the law."


def badge(run: RunFit) -> str:
    """The verdict in a word or two, for tables and badges, which never rely on colour alone."""
    return "refused" if run.law is None else run.law.verdict


def why(refusal: Refusal | None) -> str:
    """Why a run was refused, if its document has the reason."""
    return refusal.message if refusal is not None else "its document gives no reason"


def run_headline(run: RunFit) -> str:
    """The verdict on a run in one line, fitted or refused."""
    return "This run could not be fitted." if run.law is None else headline(run.law)


def opening(report: RunReport) -> tuple[str, ...]:
    """Three sentences: the gain reached with the ceiling, the headroom with the forecast, how sure that is.

    Where the law fails or is undecided: why, which form is more probable, and the numbers for reference. For
    a refused run: why, and what to do.
    """
    law, run = report.fit.law, report.fit
    if law is None:
        if run.refusal is None:
            return ("The run has no fit, and its document gives no reason.",)
        refused = f"The run could not be fitted: {sentence(run.refusal.message)}"
        return refused, sentence(capital(run.refusal.hint))
    intervals = f"{format_percent(law.level)} intervals; {law.ceiling.method}"
    if not law.validity.ok:
        return _not_valid(law, intervals)
    better = law.better_rival
    by = "" if better is None else f"Under the law (but {form_label(better.form)} fits better), "
    note = getattr(run.used, "note", None) or "no reason is given"
    used = f"the share of the attainable gain reached is unknown ({note})"
    if run.used is not None and run.used.value is not None:
        used = f"this run has reached {format_interval(run.used, '%')} of the attainable gain"
    now, ceiling = format_interval(law.reward_now), format_interval(law.ceiling)
    first = capital(f"{by}{used}; the reward is {now} now, the ceiling {ceiling} ({intervals}).")
    trust = "all other functional forms are ruled out."
    if not all(rival.ruled_out for rival in law.rivals):
        trust = "over all functional forms that are not ruled out, the interval of the ceiling reaches from "
        trust += f"{ceiling_range(law)}."
    return first, _headroom(law, report), f"{_against_rivals(law)}; {trust}"


def _not_valid(law: LawFit, intervals: str) -> tuple[str, str, str]:
    """Why the law's numbers are not to be used, the most probable form, and the numbers for reference."""
    reasons = law.validity.reasons
    more = f" ({counted(len(reasons) - 1, 'more reason')} below)" if len(reasons) > 1 else ""
    now, headroom, ceiling = map(format_interval, (law.reward_now, law.headroom, law.ceiling))
    better, own = "No other form was fitted.", format_probability(law.law_probability)
    if law.rivals:
        best = law.rivals[0]
        label, probability = form_label(best.form), format_probability(best.probability)
        better = f"No other form is more probable: the law has probability {own}, {label} {probability}."
        if best.probability > law.law_probability:
            better = f"The most probable functional form is {label} (probability {probability}; "
            better += f"the law {own}), with the ceiling at {format_interval(best.ceiling)}."
    anyway = f"For reference only: by the law the reward is {now} now, the headroom {headroom} and the "
    anyway += f"ceiling {ceiling} ({intervals})."
    return f"{headline(law).removesuffix('.')}: {reasons[0]}{more}.", better, anyway


def _against_rivals(law: LawFit) -> str:
    """The law's probability against those of the other functional forms."""
    where = f"{law.n} evaluations, steps {format_step(law.step[0])} to {format_step(law.step[-1])}"
    best, same, own = law.better_rival, law.rivals_as_good, format_probability(law.law_probability)
    if best is not None:
        against = f"{format_probability(best.probability)} against {own}"
        return f"The law fits the run ({where}), but {form_label(best.form)} is more probable: {against}"
    if not law.rivals:
        return f"The law fits the run ({where})"
    known = f"{where}; probability {own} among the functional forms"
    if same:
        rivals = listed(f"{form_label(r.form)} ({format_probability(r.probability)})" for r in same)
        return f"The law fits the run ({known}), and the data do not distinguish it from {rivals}"
    return f"The law describes the run ({known})"


def _headroom(law: LawFit, report: RunReport) -> str:
    """The headroom, and the forecast."""
    left = format_interval(law.headroom)
    low, high, first = law.headroom.low, law.headroom.high, f"No measurable headroom: {left}"
    if low is None or high is None:
        first = f"The headroom is {left}"
    elif high < 0:
        first = f"The reward is above the law's ceiling: headroom {left}"
    elif low > 0:
        first = f"At zero entropy the reward would be {left} higher"
    if (ahead := report.forecast) is not None:
        at = f"at step {format_step(ahead.step[-1])}"
        first += f"; the forecast of the reward {at} is {format_interval(ahead.reward[-1])}"
    if report.spending is not None:
        step = report.spending.step
        known = f"saturation is forecast for step {step_words(step)}"
        first += (
            f"; {known if step.value is not None else f'no step of saturation is forecast{earliest(step)}'}"
        )
    elif ahead is None and report.no_forecast:
        first += f"; there is no forecast ({report.no_forecast})"
    return f"{first}."


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
    """The evaluations left out, as reasons with counts; empty where nothing could be read at all.

    The fit has a sentence for each outlier: here they are counted, and one is the example.
    """
    if run.law is None and run.entropy_column is None and not run.dropped:
        return ""
    counts = [f"{reason} ({number})" for reason, number in sorted(run.dropped.items())]
    dropped = getattr(run.law, "dropped", {}).items()
    parted = sorted(dropped, key=lambda item: item[0].partition(": "))
    for kind, group in groupby(parted, lambda item: item[0].partition(": ")[0]):
        reasons = list(group)
        number, example = sum(number for _, number in reasons), reasons[0][0].partition(": ")[2]
        such = f"{', such as:' if len(reasons) > 1 else ':'} {example}" if example else ""
        counts.append(f"{kind} ({number}){such}")
    return "; ".join(counts) or "nothing"


def ceilings(law: LawFit) -> list[tuple[str, Estimate, bool]]:
    """The functional forms, the law first: the ceiling by each, and whether the form is ruled out."""
    rivals = ((rival.form, rival.ceiling, rival.ruled_out) for rival in law.rivals)
    return [("law", law.ceiling, law.law_ruled_out), *rivals]


def ceiling_range(law: LawFit) -> str:
    """``0.474 (a constant) to 0.607 (the law)``: over the forms not ruled out, with the form of each end."""
    over = law.ceiling_over_forms
    text = format_estimate(over)
    if over.low is None or over.high is None:
        return f"{text.low} to {text.high} ({over.note})"
    kept = [(form_label(form), ceiling) for form, ceiling, ruled_out in ceilings(law) if not ruled_out]
    lowest = [label for label, ceiling in kept if ceiling.low == over.low]
    highest = [label for label, ceiling in kept if ceiling.high == over.high]
    if not all((len(kept) > 1, lowest, highest)):
        return f"{text.low} to {text.high}"
    below = "" if lowest[0] in highest else f" ({lowest[0]})"
    return f"{text.low}{below} to {text.high} ({highest[0] if below else lowest[0]})"


def meaning(known: Meaning) -> str:
    """The catalog's description of a column in a few words; empty where there is none."""
    facts = [known.kind, known.unit, known.aggregation, known.timing]
    facts += [f"{known.estimator} estimator" if known.estimator else None]
    facts += [f"temperature {known.temperature}" if known.temperature else None]
    facts += ["logged with its sign reversed" if known.sign < 0 else None, known.note]
    return ", ".join(fact for fact in facts if fact)


def step_words(step: Estimate) -> str:
    """A known step with its interval as whole numbers; an unknown end is named as such."""
    return cell_text(step, "step") + (f" ({step.note})" if step.note else "")


def earliest(step: Estimate) -> str:
    """Why no step is known, and the lower end of its interval if there is one."""
    low = f"the interval of that step begins at step {round(step.low)}; " if step.low is not None else ""
    return f" ({low}{step.note or 'no reason is given'})"
