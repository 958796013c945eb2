"""The sentences of a report's pages: over one run, and over all; made only from what their documents hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from entropylaw.analysis.forms import form_label
from entropylaw.documents.report import RunReport
from entropylaw.report import words
from entropylaw.report.describe import forecast
from entropylaw.report.index_rows import IndexRow
from entropylaw.report.numbers import (
    cell_text,
    count,
    format_interval,
    format_step,
    format_weight,
)
from entropylaw.report.words import capital, listed, sentence
from entropylaw.results import Estimate
from entropylaw.results.law import LawFit


def opening(report: RunReport) -> tuple[str, ...]:
    """Three sentences: what the run has used, what is left and where it goes, how far to trust that.

    Where the law fails, or cannot be told, that is the first of them. For a refused run two: why, and what to
    do.
    """
    law, used = report.fit.law, report.fit.used
    if law is None or not law.validity.ok:
        return words.proviso(report.fit)
    better = law.better_rival
    by = "" if better is None else f"By the law, though {form_label(better.form)} fits better, "
    if used is None or used.value is None:
        note = used.note if used is not None and used.note else "its document does not say"
        spent = f"what share of the reward that its entropy can buy this run has used is not known: {note};"
    else:
        spent = f"this run has used {format_interval(used, '%')} of the reward that its entropy can buy:"
    first = (
        f"{by}{spent} the reward stands at {format_interval(law.reward_now)}, and the ceiling at "
        f"{format_interval(law.ceiling)} ({words.interval_words(law)})."
    )
    if all(rival.ruled_out for rival in law.rivals):
        trust = "every rival is ruled out."
    else:
        reach = words.ceiling_range(law)
        trust = f"over all forms that are not ruled out, the ceiling lies anywhere from {reach}."
    return capital(first), _left(law, report), f"{_beside_rivals(law)}; {trust}"


def _beside_rivals(law: LawFit) -> str:
    """How the law does beside its rivals."""
    where = f"{law.n} evaluations, steps {format_step(law.step[0])} to {format_step(law.step[-1])}"
    best, same, own = law.better_rival, law.rivals_as_good, format_weight(law.law_weight)
    if not law.rivals:
        return f"The law fits the run ({where})"
    if best is not None:
        against = f"{format_weight(best.weight)} against {own}"
        return f"The law fits the run ({where}), but {form_label(best.form)} has more weight: {against}"
    where += f"; weight {own} among the forms"
    if same:
        rivals = listed(f"{form_label(r.form)} ({format_weight(r.weight)})" for r in same)
        return f"The law fits the run ({where}), and the data cannot tell it from {rivals}"
    return f"The law describes the run ({where})"


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
    ahead, spending = report.forecast, report.spending
    parts = [first]
    if ahead is not None:
        at = f"at step {format_step(ahead.step[-1])}"
        parts.append(f"the forecast of the reward {at} is {format_interval(ahead.reward[-1])}")
    if spending is not None:
        parts.append(forecast.spent_words(spending.step))
    if ahead is None and spending is None and report.no_forecast:
        parts.append(f"there is no forecast ({report.no_forecast})")
    return f"{'; '.join(parts)}."


def overall(rows: Sequence[IndexRow]) -> tuple[str, ...]:
    """Three sentences over all runs: where the law holds, what is left, how much is used."""
    if not rows:
        return ("There are no runs.",)
    ahead = sum(row.no_forecast is None for row in rows)
    have = f"{count(ahead, 'run')} {'has' if ahead == 1 else 'have'} a forecast"
    forecasts = f"{have}, which does not rest on the law alone." if ahead else "No run has a forecast."
    if len(rows) == 1:
        return (*_alone(rows[0]), forecasts)
    holding = [row for row in rows if row.readable]
    if not holding:
        return (
            _counted(rows),
            "So nothing is said here of ceilings, headroom or what is used: every run says below why its "
            "numbers are not to be read.",
            forecasts,
        )
    return _counted(rows), _headroom(holding), _through(holding)


def _alone(row: IndexRow) -> Iterator[str]:
    """The same of a single run."""
    if not row.readable:
        yield f"One run. {row.headline.removesuffix('.')}: {sentence(row.reason or 'no reason is given')}"
        return
    used, share = row.cells.get("used"), "an unknown share"
    if isinstance(used, Estimate):
        unknown = f"a share that is not known ({used.note or 'no reason is given'})"
        share = unknown if used.value is None else format_interval(used, "%")
    left = cell_text(row.cells.get("headroom"))
    yield f"One run. {row.headline}"
    yield f"By the law it has used {share} of the reward that its entropy can buy; its headroom is {left}."


def _counted(rows: Sequence[IndexRow]) -> str:
    """How many runs there are, and what the law does in them."""
    seen = Counter(row.verdict for row in rows)
    cautious, holding = seen["with cautions"], seen["valid"] + seen["with cautions"]
    care = f" ({_of(cautious, holding)} with cautions)" if cautious else ""
    others = (
        ("fails in {}", seen["law fails"]),
        ("cannot be told in {}", seen["undecided"]),
        ("{} could not be fitted", seen["refused"]),
    )
    parts = [f"the law holds in {holding}{care}", *(text.format(n) for text, n in others if n)]
    better = sum(row.readable and row.rival is not None for row in rows)
    rival = f"; where it holds, another form fits clearly better in {better}" if better else ""
    return f"Of {len(rows)} runs {listed(parts)}{rival}."


def _headroom(rows: Sequence[IndexRow]) -> str:
    """In how many runs headroom can be told from zero, and where it is largest."""
    found = [(row, row.estimate("headroom")) for row in rows]
    known = [(row, headroom) for row, headroom in found if headroom is not None and headroom.low is not None]
    left = [(row, headroom) for row, headroom in known if (headroom.low or 0.0) > 0]
    where = "Where the law holds, headroom"
    if not left:
        return f"{where} can be told from zero in none of {count(len(rows), 'run')}."
    row, most = max(left, key=lambda found: found[1].value or 0.0)
    unknown = len(rows) - len(known)
    beside = f", and is not known in {unknown}" if unknown else ""
    above = f"{where} can be told from zero in {_of(len(left), len(rows))}{beside}"
    return f"{above}; the most is left in {row.shown}: {format_interval(most)}."


def _through(rows: Sequence[IndexRow]) -> str:
    """How many runs are nearly through, with nine tenths, by the whole interval."""
    found = [row.cells.get("used") for row in rows]
    ends = [(used.low, used.high) for used in found if isinstance(used, Estimate)]
    known = [(low, high) for low, high in ends if low is not None and high is not None]
    if not known:
        return "What share of the reward that entropy can buy has been used is not known, or has no interval."
    above, below = sum(low > 0.9 for low, _ in known), sum(high < 0.9 for _, high in known)
    more, less, between = (n or "none" for n in (above, below, len(known) - above - below))
    unknown = len(rows) - len(known)
    beside = f" In {unknown} that share has no interval." if unknown else ""
    return (
        f"More than 90 % of the reward that entropy can buy is used in {more}, less in {less}, and in "
        f"{between} the interval holds 90 %.{beside}"
    )


def _of(part: int, whole: int) -> str:
    return f"all {whole}" if part == whole and whole > 1 else f"{part} of {whole}" if whole > 1 else f"{part}"
