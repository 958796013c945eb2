"""The table of runs: its columns, the cells of a run, and the rows of an overview.

A column is one entry of :data:`COLUMNS`. Level shifts have rows of their own in CSV and frames; ``part``
says what a row is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.documents.document import RunReport
from entropylaw.escaping import one_line
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.blocks import REPORT, Cell, Column
from entropylaw.report.numbers import cell_text
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import STANDS_OUT
from entropylaw.results.result import replace
from entropylaw.units import UNIT_WORDS

MOST_POINTS = 40
"""Points of a series in a row; of a longer run each is the mean of neighbouring evaluations."""

Cells = Mapping[str, Cell]
"""Key of a column → cell; unknown ones are left out."""


def block_means(values: FloatArray) -> tuple[float, ...]:
    """A series in at most :data:`MOST_POINTS` points: means of blocks of nearly equal length."""
    edges = np.linspace(0, values.size, min(MOST_POINTS, values.size) + 1).round().astype(int)
    return tuple((np.add.reduceat(values, edges[:-1]) / np.diff(edges)).tolist())


COLUMNS = (
    *b.columns("run", "path", "part", "verdict", "why", "lost", "n", "now"),
    *b.columns("reward_now", "ceiling", "headroom", estimate=True),
    *b.columns("no_ceiling", "p_headroom", "gain"),
    *b.columns("r_squared", "effective_n", "long_memory"),
    *b.columns("drop_per_100_steps", estimate=True),
    *b.columns("best_form", "best_probability"),
    *b.columns("a", "b", estimate=True),
    *b.columns("p_law"),
    *b.columns("law_ceiling", "law_headroom", estimate=True),
    *b.columns("level", "method", "first_step", "last_step"),
    *b.columns("jump", estimate=True),
    *b.columns("p_value", "forecast_step"),
    *b.columns("forecast", estimate=True),
    *b.columns("p_gain", "best_step", "p_better"),
    *b.columns("spent_by_step", estimate=True),
    Column("phases", "phases", shown_in=(REPORT,)),
    *b.columns("label", "refusal", "reward_column", "unit"),
)
"""In the order of a CSV; ``jump`` and ``p_value`` are those of level shifts, and ``unit`` is the reward's."""

_SHORT_UNITS = {"rate": "rate", "percent": "%", "raw": "own unit"}
"""Unit of a reward → in a cell of a table."""

_OF_FIT = (
    *("n", "now", "reward_now", "ceiling", "headroom", "p_headroom", "gain", "a", "b", "p_law"),
    *("level", "drop_per_100_steps"),
)
"""Columns that are attributes of a fit."""


def cells(report: RunReport) -> b.Row:
    """The known cells of a run, by column; with those of an overview, and of an index."""
    entry, fit = report.fit, report.fit.result
    phases = None if report.phases is None else report.phases.result
    row: b.Row = {"run": entry.name, "path": entry.path, "part": "run", "verdict": entry.verdict}
    row |= {"phases": getattr(phases, "answer", None), "label": entry.reward or None}
    row |= {"refusal": getattr(entry.refusal, "slug", None)}
    if (rewarded := entry.columns.get("reward")) is not None:
        row |= {"reward_column": rewarded.column, "unit": rewarded.unit or None}
    if fit is not None:
        row |= _cells_of(fit)
    return {key: cell for key, cell in row.items() if cell is not None}


def _cells_of(fit: Fit) -> b.Row:
    """The cells of a fit; None where it has none."""
    law, best, line, ahead = fit.law, fit.best_so_far, fit.stop_line, fit.forecast
    row: b.Row = {key: getattr(fit, key) for key in _OF_FIT}
    row |= {"why": getattr(fit.why, "value", None), "lost": fit.lost or None}
    row |= {"entropy": block_means(law.entropy), "reward": block_means(law.reward)}
    row |= {"no_ceiling": fit.no_ceiling or None, "method": fit.ceiling.method}
    row |= {"r_squared": law.r_squared, "effective_n": law.residuals.effective_n}
    row |= {"long_memory": law.residuals.long_memory}
    row |= {"best_form": fit.best.form, "best_probability": fit.best.probability}
    row |= {"law_ceiling": law.ceiling, "law_headroom": law.headroom}
    row |= {"first_step": float(law.step[0]), "last_step": float(law.step[-1])}
    row |= {"no_forecast": words.no_forecast(fit), "stop_line": words.stop_cell(fit)}
    if best is not None:
        row |= {"best_step": best.step, "p_better": best.p_better}
    if line is not None:
        row |= {"steps_left": line.steps_left, "cost": line.cost}
    if ahead is not None:
        row |= {"forecast_step": ahead.step[-1], "forecast": ahead.rewards[-1]}
        row |= {"p_gain": ahead.p_gains[-1], "spent_by_step": ahead.spent}
    return row


def overview(rows: Sequence[Cells], head: Column) -> b.Table:
    """A row per run, the columns by their rank; a step and a gain that all share are in the heads.

    So is the unit of a reward in percent. Where rewards differ in column or unit, every row names its own.
    """
    steps = {row["forecast_step"] for row in rows if "forecast_step" in row}
    gains = {row["gain"] for row in rows if "gain" in row}
    forecast, gain, percent = "forecast", "P(gain)", ""
    shown = [head]
    rewards = _rewards_of(rows)
    if len(rewards) > 1 and (head.key != "label" or len({unit for _, unit in rewards}) > 1):
        shown.append(Column("measured", "reward" if head.key != "label" else "unit"))
    elif {unit for _, unit in rewards} == {"percent"}:
        percent = ", %"
    shown.append(Column("now", f"now{percent}"))
    if len(steps) == 1:
        forecast = f"by step {cell_text(steps.pop(), 'step')}"
    else:
        shown.append(Column("forecast_step", "by step", unit="step"))
    if len(gains) == 1:
        gain = "P(+{:.3g})".format(*gains)
    shown += [
        Column("forecast", f"{forecast}{percent}", estimate=True),
        Column("p_gain", gain, unit="probability"),
        Column("best", "best step, P(better)"),
        Column("ceiling", f"ceiling at H = 0{percent}", estimate=True),
        Column("law", "entropy law"),
        Column("headroom", f"left on the curve{percent}", estimate=True),
        Column("p_headroom", "P(left)", unit="probability"),
        Column("r_squared", "R²", unit="r_squared"),
    ]
    cells = []
    for row in rows:
        measured = _SHORT_UNITS.get(str(row.get("unit")), "unit not known")
        if head.key != "label":
            measured = f"{one_line(str(row.get('reward_column', 'not known')))}, {measured}"
        cells.append(overview_cells(row) | {"measured": measured})
    return replace(b.table_of(shown, cells), overview=True)


def _rewards_of(rows: Iterable[Cells]) -> set[tuple[Cell, Cell]]:
    """The columns and units of the rewards of all rows with a fit."""
    return {(row.get("reward_column"), row.get("unit")) for row in rows if "n" in row}


def reward_words(rows: Iterable[Cells]) -> str:
    """The column and the unit of the rewards of some runs, or that these are several; empty without a fit."""
    rewards = _rewards_of(rows)
    if not rewards:
        return ""
    if len({column for column, _ in rewards}) > 1:
        return "of several columns, which are not compared"
    (column, unit), *others = rewards
    unit_words = "in several units" if others else UNIT_WORDS[str(unit or "")]
    return f"{one_line(str(column or 'not known'))}, {unit_words}"


def overview_cells(row: Cells) -> b.Row:
    """The cells of a run with the best step, the ceiling or why there is none, and the verdict in words."""
    cells = dict(row)
    if "best_step" in row:
        p_better = float(str(row["p_better"]))
        # The last step of the law may be an earlier one, where the last evaluation has no entropy.
        is_last = p_better == 0.0
        better = "last" if is_last else words.p_words(p_better)
        cells["best"] = f"{cell_text(row['best_step'], 'step')} ({better})"
        if not is_last and p_better < STANDS_OUT:
            cells["best"] = "like now"
    if "no_ceiling" in row:
        cells |= {"ceiling": row["no_ceiling"], "headroom": None, "p_headroom": None}
    if "lost" in row or "no_forecast" in row:
        cells |= {"forecast": None if "lost" in row else row["no_forecast"], "p_gain": None}
    law = [str(row[key]) for key in ("verdict", "why", "refusal") if row.get(key)]
    return cells | {"law": ": ".join(law)}


def parts(report: RunReport) -> Iterator[b.Row]:
    """The level shifts of a run, each a row."""
    entry = report.fit
    for shift in entry.result.level_shifts if entry.result is not None else ():
        row: b.Row = {"run": entry.name, "path": entry.path, "part": f"jump of {shift.series}"}
        row |= {"first_step": shift.after, "last_step": shift.step}
        yield row | {"jump": shift.jump, "p_value": shift.p_value}
