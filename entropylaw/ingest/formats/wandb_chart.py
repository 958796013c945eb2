"""A chart exported as CSV from W&B's web page: one metric, mostly, of several runs.

All cells are quoted. The first column is the x axis: ``Step``, which is W&B's ``_step``, a metric such as
``train/global_step``, or a clock (names as in ``wandb/apis/public/reports.py``, wandb 0.31). For each run
follow ``<run> - <metric>``, the same with ``__MIN`` and ``__MAX``, and with another axis than ``Step`` also
``<run> - _step``. A group of runs is called ``Group: <name>``. A run without a point at an x value has empty
cells there.

By W&B's documentation of line plots ("Point aggregation"), the page takes the last value of each bucket,
formerly the average, and the bucket's ``__MIN`` and ``__MAX``; or, by choice and formerly by default, 1500
points at random, which nothing tells from others.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.delimited import CUT_OFF, TOO_LONG
from entropylaw.ingest.formats.wandb_export import COMPLETE_HISTORY
from entropylaw.ingest.gather import Records
from entropylaw.ingest.steps import COUNTERS, STEP_NAMES, folded
from entropylaw.ingest.table import Table, unique_names
from entropylaw.ingest.values import Column, MixedColumn, classify, is_missing, parse_number, parse_step
from entropylaw.ingest.wording import counted, listing, shown, shown_path

_BETWEEN = " - "
_LOW, _HIGH = _BOUNDS = "__MIN", "__MAX"
_COUNTER, _STEP_AXIS = "_step", "Step"
_RUN, _NAMELESS = "run", "run="
_CLOCK_AXIS = re.compile(r"relative time|wall time|(?:_absolute)?_runtime$|_timestamp$", re.IGNORECASE)
# Axes that tell a chart from a table that happens to have " - " in its names; "step" alone does not.
_TELLING_AXES = frozenset(map(folded, (*STEP_NAMES, *COUNTERS))) - {"step", "iter", "iteration"}

SHORT = "row with fewer cells than the header"
UNREADABLE_ROW = "unreadable row"


def recognises(content: Content) -> bool:
    """Whether the header is an x axis followed by metrics of runs."""
    return content.is_text and _layout(content) is not None


def read(content: Content) -> Table:
    """Read it; raises ``no-records``, or ``no-step-column`` where its x axis is a clock alone."""
    layout, path = _layout(content), shown_path(content.path)
    if layout is None:
        what = f"{path} is no chart exported from W&B: its columns are not called 'RUN - METRIC'"
        raise InputError("no-records", what, "leave the format out and let the content decide")
    if _CLOCK_AXIS.match(layout.axis) and not layout.counters:
        axis = f"{shown(layout.axis)}, a clock, and no column holds a step"
        hint = "choose the training step (train/global_step, training/global_step) or Step as the chart's x "
        hint += f"axis and export it again, or export the run's history: {COMPLETE_HISTORY}"
        raise InputError("no-step-column", f"the x axis of the W&B chart {path} is {axis}", hint)
    points = _Points(layout, content)
    for cells in _rows(content, layout, points.dropped):
        points.take(cells)
    if not points.records.rows:
        what = f"{path} is a chart from W&B, of {counted(len(layout.runs), 'run')}, without a single point"
        raise InputError("no-records", what, "check that the chart shows something, and export it again")
    return points.table(content)


@dataclass(slots=True)
class _Series:
    """Where a metric of a run is in a row, and by ``__MIN`` and ``__MAX`` its bounds, if they are there."""

    run: int
    metric: str
    at: int
    bounds: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Layout:
    """The header: ``first`` is the axis' place in a row, ``counters`` has that of ``_step`` by run.

    ``ignored`` names columns that belong to no run, and ``repeated`` runs of the same name.
    """

    delimiter: str
    width: int
    first: int
    axis: str
    runs: list[str] = field(default_factory=list)
    series: list[_Series] = field(default_factory=list)
    counters: dict[int, int] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)


def _layout(content: Content) -> _Layout | None:
    """Understand the header; None where it is not a chart's."""
    first, *more = [*islice(filter(str.strip, content.lines()), 2)] or [""]
    if _BETWEEN not in first and _HIGH not in first:
        return None
    quoted = bool(more) and all(map(_quoted, (first, *more)))
    marks = [mark for mark in ",;\t" if 0 < first.count(mark) < 1 << 16]
    layouts = (_columns(_split(first, mark), mark) for mark in marks)
    return next((one for one in layouts if one is not None and _is_chart(one, quoted=quoted)), None)


def _split(line: str, delimiter: str) -> list[str]:
    """Split one line; empty where its quotes do not match."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _quoted(line: str) -> bool:
    return line.lstrip().startswith('"') and line.rstrip().endswith('"')


def _columns(names: list[str], delimiter: str) -> _Layout | None:
    """Take the names apart; of two runs of one name, the second has the second occurrence of a column."""
    width = max((place for place, name in enumerate(names, start=1) if name.strip()), default=0)
    names = names[:width]
    first = int(names[:1] in ([""], ["Unnamed: 0"]))  # pandas' index, where a chart was rewritten
    if width < first + 2 or not names[first].strip() or _BETWEEN in names[first]:
        return None
    layout = _Layout(delimiter, width, first, names[first].strip())
    known = frozenset(names)
    seen, runs = Counter[str](), dict[tuple[str, int], int]()
    series: dict[tuple[int, str], _Series] = {}
    bounds: list[tuple[tuple[int, str], int, str]] = []
    for index, name in enumerate(names[first + 1 :], start=first + 1):
        seen[name] += 1
        base = name[: -len(_LOW)] if name.endswith(_BOUNDS) else name
        base = base if base in known else name
        run, between, metric = (part.strip() for part in base.rpartition(_BETWEEN))
        # Where a chart has one run, its columns may lack its name.
        if not metric or not (between or {base + _LOW, base + _HIGH} <= known):
            layout.ignored.append(name)
            continue
        key = runs.setdefault((run, seen[name]), len(runs)), metric
        if base != name:
            bounds.append((key, index, name))
        elif series.setdefault(key, _Series(*key, index)).at != index:
            layout.ignored.append(name)
    for key, index, name in bounds:
        if key in series:
            series[key].bounds[name[-len(_LOW) :]] = index
        else:
            layout.ignored.append(name)
    # No reader of columns takes such a label for a number or for nothing.
    layout.runs, _ = unique_names(run if classify(run)[1] else f"{_NAMELESS}{run}" for run, _ in runs)
    layout.series = [one for one in series.values() if one.metric != _COUNTER]
    counters = {one.run: one.at for one in series.values() if one.metric == _COUNTER}
    layout.counters = {} if layout.axis == _STEP_AXIS else counters  # there, both are the same
    layout.repeated = list(dict.fromkeys(run for run, occurrence in runs if occurrence > 1))
    return layout


def _is_chart(layout: _Layout, *, quoted: bool) -> bool:
    """Whether enough speaks for a chart: names alone do not."""
    if not layout.series or len(layout.ignored) > len(layout.series):
        return False
    axis = layout.axis
    telling = axis == _STEP_AXIS or _CLOCK_AXIS.match(axis) is not None or folded(axis) in _TELLING_AXES
    if bounded := sum(len(one.bounds) == 2 for one in layout.series):
        named = layout.runs != [_NAMELESS] or (telling and not layout.ignored)
        return named and bounded * 2 >= len(layout.series)
    few = len(layout.runs) == 1 or len({one.metric for one in layout.series}) <= 3
    return not layout.ignored and few and (quoted or telling or bool(layout.counters))


def _rows(content: Content, layout: _Layout, dropped: Counter[str]) -> Iterator[list[str]]:
    """Yield the rows that have the header's length; of the others, count why they were left out."""
    why = ""
    for line in islice(filter(str.strip, content.lines()), 1, None):
        if line.count(layout.delimiter) > 2 * layout.width + 16:
            why = TOO_LONG
        elif not (cells := _split(line, layout.delimiter)):
            why = UNREADABLE_ROW
        # The page quotes empty cells, too: a last one without quotes was cut off.
        elif len(cells) < layout.width or (line.startswith('"') and not _quoted(line)):
            why = SHORT
        else:
            why = "" if all(map(is_missing, cells[layout.width :])) else TOO_LONG
        if why:
            dropped[why] += 1
        else:
            yield cells
    # The page writes no line end behind the last row: only the row itself shows whether it is whole.
    if why not in ("", TOO_LONG):
        dropped.subtract([why])
        dropped[CUT_OFF] += 1


class _Points:
    """Collects the points, run by run in each row: a record for each run that has a point there."""

    def __init__(self, layout: _Layout, content: Content) -> None:
        self.records = Records(content.wanted)
        self._layout = layout
        self._axis, self._runs = array("d"), array("i")
        self._summarised, self._numbers = Counter[str](), Counter[str]()
        self.dropped = Counter[str]()
        self._by_run: dict[int, list[_Series]] = {}
        for one in layout.series:
            self._by_run.setdefault(one.run, []).append(one)

    def take(self, cells: Sequence[str]) -> None:
        """Take a row."""
        layout, put = self._layout, self.records.put
        for run, series in self._by_run.items():
            if not any(cells[one.at] for one in series):
                continue
            self._axis.append(parse_step(cells[layout.first]))
            self._runs.append(run)
            if run in layout.counters:
                put(_COUNTER, cells[layout.counters[run]])
            for one in series:
                name = one.metric if one.metric not in (_RUN, _COUNTER, layout.axis) else f"{one.metric}#2"
                value, is_text = classify(cells[one.at])
                put(name, cells[one.at] if is_text else value)
                self._numbers[one.metric] += value == value
                at = one.bounds
                bounds = {mark: parse_number(cells[at[mark]]) for mark in _BOUNDS if mark in at}
                for mark, bound in bounds.items():
                    put(name + mark, bound)
                self._summarised[one.metric] += bounds.get(_LOW, math.nan) < bounds.get(_HIGH, math.nan)
            self.records.close()

    def table(self, content: Content) -> Table:
        """Return the long table."""
        layout = self._layout
        axis = np.frombuffer(self._axis, dtype=np.float64)
        codes = np.frombuffer(self._runs, dtype=np.int32)
        columns: dict[str, Column] = {_COUNTER if layout.axis == _STEP_AXIS else layout.axis: axis}
        if layout.runs != [_NAMELESS]:
            columns[_RUN] = MixedColumn(np.full(len(codes), np.nan), codes, layout.runs)
        notes = tuple(self._notes())
        return self.records.table(content, self.dropped, notes, columns=columns, partial=True)

    def _notes(self) -> Iterator[str]:
        layout, axis, codes = self._layout, np.array(self._axis), np.array(self._runs)
        if layout.axis == _STEP_AXIS:
            yield "the x axis 'Step' is W&B's '_step', and is called so here"
        if layout.ignored:
            yield f"columns that are no 'RUN - METRIC' left out: {listing(layout.ignored, 4)}"
        if layout.repeated:
            order = "the order of their columns, which may be another one in another chart"
            yield f"several runs are called {listing(layout.repeated, 4)}: they are numbered in {order}"
        if groups := [run for run in layout.runs if run.startswith(("Group: ", "Name: "))]:
            yield f"{listing(groups, 4)}: by the name, each value is an average over several runs"
        if some := list((+self._summarised).items())[:4]:
            points = (f"{n} of {counted(self._numbers[name], 'point')} of {shown(name)}" for name, n in some)
            several = (
                f"several logged values ({_LOW} is below {_HIGH}), of which the page took the average or "
            )
            kept = f"the last; they are kept, but better export the complete history: {COMPLETE_HISTORY}"
            yield f"at least {', '.join(points)} stand for {several}{kept}"
        # So many points has a line that was drawn at random: 1500, by an older documentation 1000.
        full = np.flatnonzero(np.isin(np.bincount(codes), (1000, 1500)))
        if drawn := [layout.runs[run] for run in full if np.unique(np.diff(axis[codes == run])).size > 1]:
            sample = f"as where the page draws a random sample; the complete history: {COMPLETE_HISTORY}"
            yield f"{listing(drawn, 4)}: exactly 1000 or 1500 points at uneven distances, {sample}"
