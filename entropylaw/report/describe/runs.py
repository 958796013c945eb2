"""The table of runs: one row per run, in a report's pages, Markdown, CSV and JSON, and of fits alone.

A column is one entry of :data:`COLUMNS`. Level shifts, segments and coefficients in common have rows of their
own in CSV and frames; ``part`` says what a row is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from entropylaw.documents.report import RunReport
from entropylaw.report import words
from entropylaw.report.blocks import DATA, PEOPLE, REPORT, Cell, Column
from entropylaw.report.describe import groups
from entropylaw.results.arrays import FloatArray
from entropylaw.results.law import LawFit

MOST_POINTS = 40
"""Points of a series in a row; of a longer run each is the mean of a stretch of evaluations."""

Row = dict[str, Cell]
"""Key of a column → cell; what is not known is left out."""


def stretches(values: FloatArray) -> tuple[float, ...]:
    """A series in at most :data:`MOST_POINTS` points: the means of stretches of nearly equal length."""
    edges = np.linspace(0, values.size, min(MOST_POINTS, values.size) + 1).round().astype(int)
    return tuple((np.add.reduceat(values, edges[:-1]) / np.diff(edges)).tolist())


def _law(accessor: Callable[[LawFit], Cell]) -> Callable[[RunReport], Cell]:
    return lambda report: None if report.fit.law is None else accessor(report.fit.law)


def _phases(report: RunReport) -> str | None:
    """The verdict on the phases; of one curve, whether it has a boundary."""
    found = report.phases.phases if report.phases is not None else None
    if found is None:
        return None
    curves = [curve for curve in (found.planning, found.execution, found.aggregate) if curve is not None]
    return found.verdict or f"one curve, {'a' if any(curve.found for curve in curves) else 'no'} boundary"


def _last(name: str) -> Callable[[RunReport], Cell]:
    return lambda report: getattr(report.forecast, name)[-1] if report.forecast is not None else None


def _data(key: str, accessor: Callable[[Any], Cell]) -> Column:
    return Column(key, key.replace("_", " "), accessor, shown_in=(DATA,))


def _estimate(
    key: str, accessor: Callable[[Any], Cell] | None = None, unit: str = "", *places: str
) -> Column:
    """An estimate; without an accessor the law's of that name."""
    found = accessor or (lambda report: getattr(report.fit.law, key, None))
    return Column(key, key.replace("_", " "), found, unit, places or (DATA,), estimate=True)


COLUMNS = (
    Column("run", "run", lambda report: report.fit.run),
    _data("path", lambda report: report.fit.path),
    _data("part", lambda _: "run"),
    Column("verdict", "verdict", lambda report: words.badge(report.fit), shown_in=(PEOPLE,)),
    _data("n", _law(lambda law: law.n)),
    _data("valid", _law(lambda law: law.validity.ok)),
    Column("entropy", "entropy", _law(lambda law: stretches(law.entropy)), shown_in=(PEOPLE,)),
    Column("reward", "reward", _law(lambda law: stretches(law.reward)), shown_in=(PEOPLE,)),
    _estimate("a"),
    _estimate("b"),
    _estimate("ceiling", None, "", PEOPLE, DATA),
    _estimate("reward_now"),
    _estimate("headroom", None, "", PEOPLE, DATA),
    _estimate("used", lambda report: report.fit.used, "%", PEOPLE, DATA),
    _estimate("drop_per_100_steps", lambda report: report.fit.drop_per_100_steps, "", PEOPLE, DATA),
    _data("law_weight", _law(lambda law: law.law_weight)),
    _data("best_rival", _law(lambda law: law.rivals[0].form if law.rivals else None)),
    _data("best_rival_weight", _law(lambda law: law.rivals[0].weight if law.rivals else None)),
    _data("level", _law(lambda law: law.level)),
    _data("method", _law(lambda law: law.ceiling.method)),
    _data("first_step", _law(lambda law: float(law.step[0]))),
    _data("last_step", _law(lambda law: float(law.step[-1]))),
    _estimate("jump", lambda _: None),
    _data("p_value", lambda _: None),
    Column("forecast_step", "forecast for step", _last("step"), "step", (PEOPLE, REPORT)),
    _estimate("forecast", _last("reward"), "", PEOPLE, REPORT),
    _estimate("spent_by_step", lambda report: getattr(report.spending, "step", None), "step", REPORT),
    Column("phases", "phases", _phases, shown_in=(PEOPLE, REPORT)),
    _data("refusal", lambda report: report.fit.refusal.slug if report.fit.refusal is not None else None),
)
"""In the order of a CSV."""


def cells(report: RunReport) -> Row:
    """What is known of a run, by column."""
    found = {column.key: column.accessor(report) for column in COLUMNS if column.accessor is not None}
    return {key: cell for key, cell in found.items() if cell is not None}


def parts(report: RunReport) -> Iterator[Row]:
    """The level shifts of a run and its segments, each a row."""
    run = report.fit
    segments = groups.segment_rows(run.segments) if run.segments else ()
    for row in (*groups.seam_rows(run.seams), *segments):
        known = {key: cell for key, cell in row.items() if cell is not None}
        yield {"run": run.run, "path": run.path} | known


def rows(report: RunReport) -> list[Row]:
    """A run and its parts."""
    return [cells(report), *parts(report)]
