"""One small row per run, which is all that an index of a thousand runs needs of it; sentences over all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from entropylaw.analysis.forms import form_label
from entropylaw.documents.report import RunReport
from entropylaw.report import words
from entropylaw.report.describe import groups, runs
from entropylaw.report.numbers import cell_text, count, format_interval
from entropylaw.report.phasewords import headline as phases_headline
from entropylaw.report.printable import one_line
from entropylaw.results import Estimate

NO_CURVES = "the log has no entropy of planning or of execution tokens"

StoredCell = Estimate | tuple[float, ...] | float | int | str | bool | None
Cells = Mapping[str, StoredCell]
"""Key of a column (:data:`entropylaw.report.describe.runs.COLUMNS`) → cell; what is not known is left out."""


class Series(Struct, frozen=True, kw_only=True):
    """What a row draws of a run: the mean steps of the stretches whose means are its cells.

    ``entropy`` and ``reward`` are the first and the last evaluation as logged.
    """

    step: tuple[float, ...]
    entropy: tuple[float, float]
    reward: tuple[float, float]


class IndexRow(Struct, frozen=True, kw_only=True):
    """One run of an index.

    Attributes
    ----------
    run, path, slug
        Its name, its file, and the name of its page.
    cells, parts
        The run in the table of runs, and its level shifts and segments there.
    series
        For the lines of entropy and reward; None where there is no law.
    verdict, headline
        The verdict in a word or two, and in a sentence.
    reason
        Why there is no law, or why its numbers are not to be read; None where they are.
    refusal
        The slug of the error that left it without a law.
    cautions
        How many there are beside the law.
    rival
        A form that clearly does better than the law, in words.
    no_forecast, no_phases
        Why there is none.
    phases_words, segments_words
        The verdict on the phases, and the level shifts and segments, in a sentence; or empty.
    """

    run: str
    path: str
    slug: str
    cells: Cells
    parts: tuple[Cells, ...]
    series: Series | None
    verdict: str
    headline: str
    reason: str | None
    refusal: str | None
    cautions: int
    rival: str | None
    no_forecast: str | None
    no_phases: str | None
    phases_words: str
    segments_words: str

    @property
    def readable(self) -> bool:
        """Whether the law's numbers may be read as they stand."""
        return self.fitted and self.reason is None

    @property
    def fitted(self) -> bool:
        """Whether the run has a law."""
        return self.series is not None

    @property
    def shown(self) -> str:
        """The name on one line, and at most 120 letters of it, as a row has room for; its page has all."""
        name = one_line(self.run)
        return name if len(name) <= 120 else f"{name[:119]}…"

    def estimate(self, key: str) -> Estimate | None:
        """The estimate in a column; None where there is none, or no value."""
        found = self.cells.get(key)
        return found if isinstance(found, Estimate) and found.value is not None else None


def index_row(report: RunReport, slug: str) -> IndexRow:
    """The row of a run whose page is called ``slug``."""
    run, law, no_phases = report.fit, report.fit.law, None
    reason, series, better = words.why(run.refusal), None, None
    if law is not None:
        reason = "" if law.validity.ok else (law.validity.reasons or (words.headline(law),))[0]
        entropy, reward = ((float(one[0]), float(one[-1])) for one in (law.entropy, law.reward))
        series = Series(step=runs.stretches(law.step), entropy=entropy, reward=reward)
        better = law.better_rival
    if report.phases is None or report.phases.phases is None:
        no_phases = NO_CURVES if report.phases is None else words.why(report.phases.refusal)
    ahead = report.forecast is not None and report.spending is not None
    return IndexRow(
        run=run.run,
        path=run.path,
        slug=slug,
        cells=runs.cells(report),
        parts=tuple(runs.parts(report)),
        series=series,
        verdict=words.badge(run),
        headline=words.run_headline(run),
        reason=reason or None,
        refusal=run.refusal.slug if run.refusal is not None else None,
        cautions=len(law.validity.cautions) if law is not None else 0,
        rival=form_label(better.form) if better else None,
        no_forecast=None if ahead else report.no_forecast or "no forecast was asked for",
        no_phases=no_phases,
        phases_words="" if report.phases is None or no_phases else phases_headline(report.phases),
        segments_words=groups.segments_sentence(run.seams, run.segments),
    )


def by_name(rows: Iterable[IndexRow]) -> list[IndexRow]:
    """The rows as a person orders names: ``run-2`` before ``run-10``."""
    return sorted(rows, key=lambda row: (natural(row.run), row.run, row.slug))


def natural(name: str) -> list[tuple[int, int, str]]:
    """Numbers by their size, and everything else by its letters."""
    parts = re.split(r"([0-9]+)", name.casefold())
    return [(0, int(part[:300]), "") if i % 2 else (1, 0, part) for i, part in enumerate(parts)]


def overall(rows: Sequence[IndexRow]) -> tuple[str, ...]:
    """Three sentences over all runs: where the law holds, what is left, how much is used."""
    if not rows:
        return ("There are no runs.",)
    ahead = sum(row.no_forecast is None for row in rows)
    have = f"{count(ahead, 'run')} {'has' if ahead == 1 else 'have'} a forecast"
    forecasts = f"{have}, which does not rest on the law alone." if ahead else "No run has a forecast."
    if len(rows) == 1:
        return (*_alone(rows[0]), forecasts)
    if holding := [row for row in rows if row.readable]:
        return _counted(rows), _headroom(holding), _through(holding)
    nothing = "So nothing is said here of ceilings, headroom or what is used"
    why = "every run says below why its numbers are not to be read."
    return _counted(rows), f"{nothing}: {why}", forecasts


def _alone(row: IndexRow) -> Iterator[str]:
    """The same of a single run."""
    if not row.readable:
        reason = words.sentence(row.reason or "no reason is given")
        yield f"One run. {row.headline.removesuffix('.')}: {reason}"
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
    others = {"law fails": "fails in {}", "undecided": "cannot be told in {}"}
    others["refused"] = "{} could not be fitted"
    said = (text.format(seen[verdict]) for verdict, text in others.items() if seen[verdict])
    parts = [f"the law holds in {holding}{care}", *said]
    better = sum(row.readable and row.rival is not None for row in rows)
    rival = f"; where it holds, another form fits clearly better in {better}" if better else ""
    return f"Of {len(rows)} runs {words.listed(parts)}{rival}."


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
    used = f"More than 90 % of the reward that entropy can buy is used in {more}, less in {less}"
    return f"{used}, and in {between} the interval holds 90 %.{beside}"


def _of(part: int, whole: int) -> str:
    return f"all {whole}" if part == whole and whole > 1 else f"{part} of {whole}" if whole > 1 else f"{part}"
