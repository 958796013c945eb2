"""The sentences of a report's pages: over one run, and over all; made only from what their documents hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from entropylaw.analysis.forms import form_label
from entropylaw.documents.phases import RunPhases
from entropylaw.documents.report import RunReport
from entropylaw.report import words
from entropylaw.report.forecasttext import SHOWN_WEIGHT
from entropylaw.report.index_rows import NO_CURVES, IndexRow
from entropylaw.report.numbers import (
    format_interval,
    format_number,
    format_percent,
    format_share,
    format_step,
    format_weight,
)
from entropylaw.report.phasetext import headline as phases_headline
from entropylaw.report.words import count, listed, sentence
from entropylaw.results import Estimate
from entropylaw.results.forecast import Forecast, SaturationForecast
from entropylaw.results.law import LawFit

MOSTLY = 0.9
"""Share of the reward that entropy can buy from which a run counts as nearly through."""

HOLDS = ("valid", "with cautions")


def opening(report: RunReport) -> tuple[str, ...]:
    """Three sentences: what the run has used, what is left and where it goes, how far to trust that.

    Where the law fails, or cannot be told, that is the first of them. For a refused run two: why, and what to
    do.
    """
    law = report.fit.law
    if law is None:
        return words.summary(report.fit)
    if not law.validity.ok:
        return words.summary(report.fit)
    return _used(law, report.fit.used), _left(law, report), _trust(law)


def _used(law: LawFit, used: Estimate | None) -> str:
    """What the run has bought with its entropy so far."""
    better = words.better_rival(law)
    by = "" if better is None else f"By the law, though {form_label(better.form)} fits better, "
    now, ceiling = format_interval(law.reward_now), format_interval(law.ceiling)
    if used is None or used.value is None:
        note = used.note if used is not None and used.note else "its document does not say"
        known = f"what share of the reward that its entropy can buy this run has used is not known: {note}"
        return _capital(
            f"{by}{known}; the reward stands at {now}, and the ceiling at {ceiling} "
            f"({words.interval_words(law)})."
        )
    return _capital(
        f"{by}this run has used {format_share(used)} of the reward that its entropy can buy: the reward "
        f"stands at {now}, and the ceiling at {ceiling} ({words.interval_words(law)})."
    )


def _trust(law: LawFit) -> str:
    """How the law does beside its rivals, and what the choice of form adds to the ceiling."""
    verdict = words.verdict(law).removesuffix(".")
    if all(rival.ruled_out for rival in law.rivals):
        return f"{verdict}; every rival is ruled out."
    reach = words.ceiling_range(law)
    return f"{verdict}; over all forms that are not ruled out, the ceiling lies anywhere from {reach}."


def _left(law: LawFit, report: RunReport) -> str:
    """The headroom, and what the forecast says."""
    left = format_interval(law.headroom)
    low, high = law.headroom.low, law.headroom.high
    if low is None or high is None:
        first = f"The headroom is {left}"
    elif high < 0:
        first = f"It stands above what the law gives at H = 0: headroom {left}"
    elif low > 0:
        first = f"Spending the last of its entropy would bring {left} more"
    else:
        first = f"No headroom can be told from zero: {left}"
    ahead = "; ".join(_ahead(report))
    return f"{first}; {ahead}."


def _ahead(report: RunReport) -> Iterator[str]:
    told, spending = report.forecast, report.spending
    if told is not None:
        at = f"at step {format_step(told.step[-1])}"
        yield f"the forecast of the reward {at} is {format_interval(told.reward[-1])}"
    if spending is not None:
        yield spent_words(spending.step)
    if told is None and spending is None:
        yield f"there is no forecast ({report.no_forecast or 'none was asked for'})"


def spent_words(step: Estimate) -> str:
    """``its entropy is forecast to be spent by step 520 [480, 610]``."""
    if step.value is None:
        return f"no step is forecast by which its entropy is spent{_earliest(step)}"
    return f"its entropy is forecast to be spent by step {step_interval(step)}"


def step_interval(step: Estimate) -> str:
    """A step that is known with its interval, whole; an end that is not known is said not to be."""
    low, value, high = (
        "not known" if x is None else format_step(round(x)) for x in (step.low, step.value, step.high)
    )
    return f"{value} [{low}, {high}]" + (f" ({step.note})" if step.note else "")


def _earliest(step: Estimate) -> str:
    """Why no step is known, and where its interval begins all the same."""
    low = "" if step.low is None else f"the interval begins at step {format_step(round(step.low))}; "
    return f" ({low}{step.note or 'no reason is given'})"


def forecast_notes(report: RunReport) -> Iterator[str]:
    """What stands beside the table of a forecast: who was asked, when the entropy is spent, what to mind."""
    told, spending = report.forecast, report.spending
    if spending is not None:
        yield _spending(spending)
    if told is not None:
        yield _members(told)
        yield from (sentence(_capital(note)) for note in told.notes)
    law = report.fit.law
    if law is not None and not law.validity.ok:
        yield (
            f"{words.headline(law)} The forecast does not rest on it alone: it is one of the forms that are "
            "mixed, each with the weight that its own earlier forecasts give it."
        )


def _spending(told: SaturationForecast) -> str:
    """When the entropy is spent, and the reward then."""
    target = (
        f"{_capital(format_percent(told.share))} of what the law still promises is spent at an entropy of "
        f"{format_number(told.entropy)} nats; now it is {format_number(told.entropy_now)}"
    )
    if told.step.value is None:
        return f"{target}. No step is forecast for that{_earliest(told.step)}."
    return (
        f"{target}. That is forecast for step {step_interval(told.step)}, with a reward of "
        f"{format_interval(told.reward)}."
    )


def _members(told: Forecast) -> str:
    """What was mixed, heaviest first."""
    shown = [m for m in told.members if m.weight >= SHOWN_WEIGHT]
    named = ", ".join(f"{m.name} {format_weight(m.weight)}" for m in shown)
    others = len(told.members) - len(shown)
    rest = f", {count(others, 'other')} less" if others else ""
    return (
        f"Mixed, with weights from how each would have forecast from {count(len(told.origins), 'origin')} "
        f"inside the run: {named}{rest}."
    )


def no_phases(run: RunPhases | None) -> str | None:
    """Why there are no phases; None where there are."""
    if run is None:
        return sentence(_capital(NO_CURVES))
    if run.phases is None:
        why = run.refusal.message if run.refusal is not None else "its document gives no reason"
        return f"The phases could not be told: {sentence(why)}"
    return None


def phases_sentence(run: RunPhases) -> str:
    """The verdict on the phases."""
    return sentence(_capital(phases_headline(run)))


def overall(rows: Sequence[IndexRow]) -> tuple[str, ...]:
    """Three sentences over all runs: where the law holds, what is left, how much is used."""
    if not rows:
        return ("There are no runs.",)
    if len(rows) == 1:
        return tuple(_alone(rows[0]))
    holding = [row for row in rows if row.readable]
    if not holding:
        return (
            _counted(rows),
            "So nothing is said here of ceilings, headroom or what is used: every run says below why its "
            "numbers are not to be read.",
            _forecasts(rows),
        )
    return _counted(rows), _headroom(holding), _through(holding)


def _alone(row: IndexRow) -> Iterator[str]:
    """The same of a single run."""
    if row.law is None or row.reason is not None:
        yield f"One run. {row.headline.removesuffix('.')}: {sentence(row.reason or 'no reason is given')}"
        yield _forecasts([row])
        return
    used, left = row.law.used, format_interval(row.law.headroom)
    share = "an unknown share" if used is None else format_share(used)
    if used is not None and used.value is None:
        share = f"a share that is not known ({used.note or 'no reason is given'})"
    yield f"One run. {row.headline}"
    yield f"By the law it has used {share} of the reward that its entropy can buy; its headroom is {left}."
    yield _forecasts([row])


def _counted(rows: Sequence[IndexRow]) -> str:
    """How many runs there are, and what the law does in them."""
    seen = Counter(row.verdict for row in rows)
    cautious = seen["with cautions"]
    care = f" ({_of(cautious, seen['valid'] + cautious)} with cautions)" if cautious else ""
    parts = [f"the law holds in {seen['valid'] + cautious}{care}"]
    parts += [f"fails in {seen['law fails']}"] if seen["law fails"] else []
    parts += [f"cannot be told in {seen['undecided']}"] if seen["undecided"] else []
    parts += [f"{seen['refused']} could not be fitted"] if seen["refused"] else []
    better = sum(row.readable and row.law is not None and row.law.rival is not None for row in rows)
    rival = f"; where it holds, another form fits clearly better in {better}" if better else ""
    return f"Of {len(rows)} runs {listed_commas(parts)}{rival}."


def _headroom(rows: Sequence[IndexRow]) -> str:
    """In how many runs headroom can be told from zero, and where it is largest."""
    known = [row for row in rows if row.law is not None and row.law.headroom.low is not None]
    left = [row for row in known if row.law is not None and (row.law.headroom.low or 0.0) > 0]
    where = "Where the law holds, headroom"
    if not left:
        return f"{where} can be told from zero in none of {_runs(len(rows))}."
    most = max(left, key=lambda row: (row.law.headroom.value or 0.0) if row.law else 0.0)
    assert most.law is not None
    unknown = len(rows) - len(known)
    beside = f", and is not known in {unknown}" if unknown else ""
    told = f"{where} can be told from zero in {_of(len(left), len(rows))}{beside}"
    return f"{told}; the most is left in {most.shown}: {format_interval(most.law.headroom)}."


def _through(rows: Sequence[IndexRow]) -> str:
    """How many runs are nearly through, by the whole interval."""
    told = [row.law.used for row in rows if row.law is not None and row.law.used is not None]
    known = [used for used in told if used.low is not None and used.high is not None]
    above = sum(used.low is not None and used.low > MOSTLY for used in known)
    below = sum(used.high is not None and used.high < MOSTLY for used in known)
    share = format_percent(MOSTLY)
    unknown = len(rows) - len(known)
    beside = f" In {unknown} that share has no interval." if unknown else ""
    if not known:
        return "What share of the reward that entropy can buy has been used is not known, or has no interval."
    return (
        f"More than {share} of the reward that entropy can buy is used in {_none(above)}, less in "
        f"{_none(below)}, and in {_none(len(known) - above - below)} the interval holds {share}.{beside}"
    )


def _forecasts(rows: Sequence[IndexRow]) -> str:
    """What is forecast all the same."""
    told = sum(row.ahead is not None for row in rows)
    if not told:
        return "No run has a forecast."
    have = "has" if told == 1 else "have"
    return f"{count(told, 'run')} {have} a forecast, which does not rest on the law alone."


def listed_commas(parts: Sequence[str]) -> str:
    """``one, two and three``."""
    return listed([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def _of(part: int, whole: int) -> str:
    return f"all {whole}" if part == whole and whole > 1 else f"{part} of {whole}" if whole > 1 else f"{part}"


def _none(n: int) -> str:
    return str(n) if n else "none"


def _runs(n: int) -> str:
    return count(n, "run")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
