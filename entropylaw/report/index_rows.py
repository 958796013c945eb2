"""One small row a run, which is all that an index of a thousand runs needs of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from entropylaw.analysis.forms import form_label
from entropylaw.documents.fit import RunFit
from entropylaw.documents.phases import RunPhases
from entropylaw.documents.report import RunReport
from entropylaw.engine.grid import FloatArray
from entropylaw.report import words
from entropylaw.report.phasewords import headline as phases_headline
from entropylaw.report.printable import one_line
from entropylaw.report.shared import segments_sentence
from entropylaw.results import Estimate
from entropylaw.results.groups import Seam

MOST_POINTS = 40
"""Points of a sparkline; of a longer run each is the mean of a stretch of evaluations."""

LONGEST_NAME = 120
"""Letters of a run's name that a row shows."""

NO_CURVES = "the log has no entropy of planning or of execution tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """A series small enough for a row: at most :data:`MOST_POINTS` points, in the order of the steps.

    ``first`` and ``last`` are the first and the last evaluation as logged.
    """

    step: tuple[float, ...]
    value: tuple[float, ...]
    first: float
    last: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LawRow:
    """What a row, and a line of a table, has of a law.

    ``rival`` is a form that clearly does better, in words, None where there is none; ``best_rival`` the one
    with the most weight, better than the law or not.
    """

    n: int
    level: float
    entropy: Spark
    reward: Spark
    a: Estimate
    b: Estimate
    ceiling: Estimate
    reward_now: Estimate
    headroom: Estimate
    used: Estimate | None
    drop_per_100_steps: Estimate | None
    rival: str | None
    law_weight: float
    best_rival: str | None
    best_rival_weight: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadRow:
    """What a row shows of a forecast: the last step that was asked for, and when the entropy is spent."""

    last_step: float
    step: float
    reward: Estimate
    spent: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """The law in a part of a run between two seams; ``refusal`` says why there is none.

    ``p_value`` is that of the test that all segments have the same a and b; it stands beside the first.
    """

    first_step: float
    last_step: float
    n: int
    valid: bool | None
    a: Estimate | None
    b: Estimate | None
    ceiling: Estimate | None
    p_value: float | None
    refusal: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """One run of an index.

    Attributes
    ----------
    run, path, slug
        Its name, its file, and the name of its page.
    verdict
        As :func:`entropylaw.report.words.badge` says it.
    headline
        The verdict in a sentence.
    reason
        Why there is no law, or why its numbers are not to be read; None where they are.
    refusal
        The slug of the error that left it without a law.
    cautions
        How many there are beside the law.
    law, ahead, phases
        What was found; each None with the reason in ``reason``, ``no_forecast`` or ``no_phases``.
    phases_words
        The verdict on the phases in a sentence; empty where there are none.
    seams, segments, segments_words
        The jumps that were found, the law between them, and both in a sentence; empty where nobody asked.
    """

    run: str
    path: str
    slug: str
    verdict: str
    headline: str
    reason: str | None
    refusal: str | None
    cautions: int
    law: LawRow | None
    ahead: AheadRow | None
    no_forecast: str | None
    phases: str | None
    phases_words: str
    no_phases: str | None
    seams: tuple[Seam, ...] = ()
    segments: tuple[SegmentRow, ...] = ()
    segments_words: str = ""

    @property
    def readable(self) -> bool:
        """Whether the law's numbers may be read as they stand."""
        return self.law is not None and self.reason is None

    @property
    def shown(self) -> str:
        """The name on one line, and no longer than a row has room for; its page has all of it."""
        name = one_line(self.run)
        return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def index_row(report: RunReport, slug: str) -> IndexRow:
    """The row of a run whose page is called ``slug``."""
    run, law = report.fit, report.fit.law
    reason = run.refusal.message if run.refusal is not None else "its document gives no reason"
    if law is not None:
        reasons = law.validity.reasons or (words.headline(law),)
        reason = "" if law.validity.ok else reasons[0]
    phases, told, no_phases = _phases(report.phases)
    ahead = _ahead(report)
    return IndexRow(
        run=run.run,
        path=run.path,
        slug=slug,
        verdict=words.badge(run),
        headline=words.run_headline(run),
        reason=reason or None,
        refusal=run.refusal.slug if run.refusal is not None else None,
        cautions=len(law.validity.cautions) if law is not None else 0,
        law=_law(report),
        ahead=ahead,
        no_forecast=None if ahead is not None else report.no_forecast or "no forecast was asked for",
        phases=phases,
        phases_words=told,
        no_phases=no_phases,
        seams=run.seams,
        segments=segment_rows(run),
        segments_words=segments_sentence(run),
    )


def segment_rows(run: RunFit) -> tuple[SegmentRow, ...]:
    """The segments of a run; empty where there are none."""
    fit = run.segments
    if fit is None:
        return ()
    p_value = fit.same.p_value if fit.same is not None else None
    return tuple(
        SegmentRow(
            first_step=part.first_step,
            last_step=part.last_step,
            n=part.n,
            valid=part.law.validity.ok if part.law else None,
            **{name: getattr(part.law, name, None) for name in ("a", "b", "ceiling")},
            p_value=None if i else p_value,
            refusal=part.refusal,
        )
        for i, part in enumerate(fit.segments)
    )


def by_name(rows: Iterable[IndexRow]) -> list[IndexRow]:
    """The rows as a person orders names: ``run-2`` before ``run-10``."""
    return sorted(rows, key=lambda row: (natural(row.run), row.run, row.slug))


def spark(step: FloatArray, values: FloatArray) -> Spark:
    """A series in at most :data:`MOST_POINTS` points: the means of stretches of nearly equal length."""
    parts = min(MOST_POINTS, values.size)
    edges = np.linspace(0, values.size, parts + 1).round().astype(int)
    counts = np.diff(edges)
    steps, means = (np.add.reduceat(x, edges[:-1]) / counts for x in (step, values))
    return Spark(
        step=tuple(steps.tolist()),
        value=tuple(means.tolist()),
        first=float(values[0]),
        last=float(values[-1]),
    )


def _law(report: RunReport) -> LawRow | None:
    run, law = report.fit, report.fit.law
    if law is None:
        return None
    better, best = law.better_rival, law.rivals[0] if law.rivals else None
    same = ("n", "level", "a", "b", "ceiling", "reward_now", "headroom", "law_weight")
    return LawRow(
        entropy=spark(law.step, law.entropy),
        reward=spark(law.step, law.reward),
        used=run.used,
        drop_per_100_steps=run.drop_per_100_steps,
        rival=form_label(better.form) if better else None,
        best_rival=best.form if best else None,
        best_rival_weight=best.weight if best else None,
        **{name: getattr(law, name) for name in same},
    )


def _ahead(report: RunReport) -> AheadRow | None:
    told, spending = report.forecast, report.spending
    if told is None or spending is None:
        return None
    return AheadRow(last_step=told.last_step, step=told.step[-1], reward=told.reward[-1], spent=spending.step)


def _phases(run: RunPhases | None) -> tuple[str | None, str, str | None]:
    """The verdict in two words, in a sentence, and why there is none."""
    if run is None:
        return None, "", NO_CURVES
    if run.phases is None:
        return None, "", run.refusal.message if run.refusal is not None else "its document gives no reason"
    # Without a verdict there is one curve only.
    phases = run.phases
    found = any(curve.found for curve in (phases.planning, phases.execution, phases.aggregate) if curve)
    alone = "one curve, a boundary" if found else "one curve, no boundary"
    return phases.verdict or alone, phases_headline(run), None


def natural(name: str) -> list[tuple[int, int, str]]:
    """Numbers by their size, and everything else by its letters."""
    parts = re.split(r"([0-9]+)", name.casefold())
    return [(0, int(part[:300]), "") if i % 2 else (1, 0, part) for i, part in enumerate(parts)]
