"""A chart exported as CSV from W&B's web page: one metric, mostly, of several runs.

All cells are quoted. The first column is the chart's x axis: ``Step``, which is W&B's ``_step``, a metric
such as ``train/global_step``, or a clock (names as in ``wandb/apis/public/reports.py``, wandb 0.31). For
each run follow ``<run> - <metric>``, ``<run> - <metric>__MIN`` and ``<run> - <metric>__MAX``, with another
axis than ``Step`` also ``<run> - _step``. A group of runs is called ``Group: <name>``. The rows are the x
values of all runs together: a run without a point there has empty cells.

The page draws no more points than it has room for. As W&B's documentation of line plots has it ("Point
aggregation"), it takes the last value of each bucket, formerly the average, and the bucket's ``__MIN`` and
``__MAX``; or, by choice and formerly by default, 1500 points at random, which nothing tells from others.
"""

from __future__ import annotations

import csv
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
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import Column, MixedColumn, classify, is_missing, parse_number, parse_step
from entropylaw.ingest.wording import counted, listing, shown, shown_path

_BETWEEN = " - "
_LOW, _HIGH = "__MIN", "__MAX"
_COUNTER = "_step"
_RUN = "run"
_NAMELESS = "run="
_STEP_AXIS = "Step"
_CLOCK_AXIS = re.compile(r"relative time|wall time|(?:_absolute)?_runtime$|_timestamp$", re.IGNORECASE)
# Axes that tell a chart from a table that happens to have " - " in its names; "step" alone does not.
_TELLING_AXES = frozenset(map(folded, (*STEP_NAMES, *COUNTERS))) - {"step", "iter", "iteration"}
_GROUP = re.compile(r"(?:Group|Name): ")

_MOST_COLUMNS = 1 << 16
_FEW_METRICS = 3
# So many points has a line that was drawn at random: 1500, by an older page of W&B's documentation 1000.
_DRAWN = (1000, 1500)

SHORT = "row with fewer cells than the header"
UNREADABLE_ROW = "unreadable row"


def recognises(content: Content) -> bool:
    """Whether the header is an x axis followed by metrics of runs."""
    return content.is_text and _layout(content) is not None


def read(content: Content) -> Table:
    """Read it.

    Raises
    ------
    InputError
        ``no-records`` where it is no such chart, or one without points; ``no-step-column`` where its x
        axis is a clock and no step stands beside it.

    """
    layout = _layout(content)
    if layout is None:
        raise InputError(
            "no-records",
            f"{shown_path(content.path)} is no chart exported from W&B: its columns are not called "
            "'RUN - METRIC'",
            "leave the format out and let the content decide",
        )
    if _CLOCK_AXIS.match(layout.axis) and not layout.counters:
        raise InputError(
            "no-step-column",
            f"the x axis of the W&B chart {shown_path(content.path)} is {shown(layout.axis)}, a clock, "
            "and no column holds a step",
            "choose the training step (train/global_step, training/global_step) or Step as the chart's x "
            f"axis and export it again, or export the run's history: {COMPLETE_HISTORY}",
        )
    points = _Points(layout, Records(content.wanted))
    for cells in _rows(content, layout, points.dropped):
        points.take(cells)
    if not points.records.rows:
        raise InputError(
            "no-records",
            f"{shown_path(content.path)} is a chart from W&B, of {counted(len(layout.runs), 'run')}, "
            "without a single point",
            "check that the chart shows something, and export it again",
        )
    return points.table(content)


@dataclass(slots=True)
class _Series:
    """Where a metric of a run stands in a row, and its least and greatest value, if they are there."""

    run: int
    metric: str
    at: int
    low: int | None = None
    high: int | None = None


@dataclass(slots=True)
class _Layout:
    """What the header says.

    ``first`` is the axis' place in a row, ``counters`` has that of ``_step`` by run, ``ignored`` names
    columns that belong to no run, and ``repeated`` runs of the same name.
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

    @property
    def step_axis(self) -> bool:
        """Whether the axis is W&B's own step."""
        return self.axis == _STEP_AXIS

    @property
    def metrics(self) -> list[str]:
        """The metrics' names, each once."""
        return list(dict.fromkeys(one.metric for one in self.series))


def _layout(content: Content) -> _Layout | None:
    """Understand the header; None where it is not a chart's."""
    lines = list(islice((line for line in content.lines() if line.strip()), 2))
    if not lines or (_BETWEEN not in lines[0] and _HIGH not in lines[0]):
        return None
    quoted = len(lines) > 1 and all(map(_quoted, lines))
    for delimiter in ",;\t":
        if 0 < lines[0].count(delimiter) < _MOST_COLUMNS:
            layout = _columns(_split(lines[0], delimiter) or [], delimiter)
            if layout is not None and _is_chart(layout, quoted=quoted):
                return layout
    return None


def _split(line: str, delimiter: str) -> list[str] | None:
    """Split one line; None where its quotes do not match."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return None


def _quoted(line: str) -> bool:
    return line.lstrip().startswith('"') and line.rstrip().endswith('"')


def _columns(names: list[str], delimiter: str) -> _Layout | None:
    """Take the names apart.

    Two runs may have the same name: the second occurrence of a column is that of the second such run.
    """
    while names and not names[-1].strip():
        names.pop()
    first = int(bool(names) and names[0] in ("", "Unnamed: 0"))  # pandas' index, where a chart was rewritten
    if len(names) < first + 2 or not names[first].strip() or _BETWEEN in names[first]:
        return None
    layout = _Layout(delimiter, len(names), first, names[first].strip())
    known = frozenset(names)
    seen: Counter[str] = Counter()
    runs: dict[tuple[str, int], int] = {}
    series: dict[tuple[int, str], _Series] = {}
    bounds: list[tuple[tuple[int, str], int, str]] = []
    for index, name in enumerate(names[first + 1 :], start=first + 1):
        base = name[: -len(_LOW)] if name.endswith((_LOW, _HIGH)) else name
        base = base if base in known else name
        run, between, metric = base.rpartition(_BETWEEN)
        seen[name] += 1
        if not metric.strip() or not (between or {base + _LOW, base + _HIGH} <= known):
            layout.ignored.append(name)
            continue
        key = runs.setdefault((run.strip(), seen[name]), len(runs)), metric.strip()
        if base != name:
            bounds.append((key, index, name))
        elif series.setdefault(key, _Series(*key, index)).at != index:
            layout.ignored.append(name)
    for key, index, name in bounds:
        _bound(layout, series.get(key), index, name)
    layout.runs = _labels(list(runs))
    layout.series = [one for one in series.values() if one.metric != _COUNTER]
    layout.counters = {one.run: one.at for one in series.values() if one.metric == _COUNTER}
    layout.repeated = list(dict.fromkeys(run for run, occurrence in runs if occurrence > 1))
    return layout


def _bound(layout: _Layout, one: _Series | None, index: int, name: str) -> None:
    """Note where a metric's least or greatest value stands."""
    if one is None:
        layout.ignored.append(name)
    elif name.endswith(_LOW):
        one.low = index
    else:
        one.high = index


def _labels(runs: Sequence[tuple[str, int]]) -> list[str]:
    """Give each run a label of its own that no reader of columns takes for a number or for nothing."""
    taken: set[str] = set()
    labels: list[str] = []
    for run, occurrence in runs:
        plain = run if classify(run)[1] else f"{_NAMELESS}{run}"
        label, number = plain if occurrence == 1 else f"{plain}#{occurrence}", occurrence
        while label in taken:
            number += 1
            label = f"{plain}#{number}"
        taken.add(label)
        labels.append(label)
    return labels


def _is_chart(layout: _Layout, *, quoted: bool) -> bool:
    """Whether enough speaks for a chart: names alone do not."""
    if not layout.series or len(layout.ignored) > len(layout.series):
        return False
    axis = layout.axis
    telling = layout.step_axis or _CLOCK_AXIS.match(axis) is not None or folded(axis) in _TELLING_AXES
    bounded = sum(one.low is not None and one.high is not None for one in layout.series)
    if bounded:
        named = layout.runs != [_NAMELESS] or (telling and not layout.ignored)
        return named and bounded * 2 >= len(layout.series)
    few = len(layout.runs) == 1 or len(layout.metrics) <= _FEW_METRICS
    return not layout.ignored and few and (quoted or telling or bool(layout.counters))


def _rows(content: Content, layout: _Layout, dropped: Counter[str]) -> Iterator[list[str]]:
    """Yield the rows that have the header's length; of the others, count why they were left out.

    The page writes no line end behind the last row, so that only the row itself tells whether it is whole.
    """
    lines = (line for line in content.lines() if line.strip())
    next(lines)
    problem: str | None = None
    for line in lines:
        if problem:
            dropped[problem] += 1
        cells, problem = _row(line, layout)
        if cells is not None:
            yield cells
    if problem:
        dropped[problem if problem == TOO_LONG else CUT_OFF] += 1


def _row(line: str, layout: _Layout) -> tuple[list[str] | None, str | None]:
    """Return the cells of a line, or why they cannot be used."""
    if line.count(layout.delimiter) > 2 * layout.width + 16:
        return None, TOO_LONG
    cells = _split(line, layout.delimiter)
    if cells is None:
        return None, UNREADABLE_ROW
    # The page quotes empty cells, too: a last one without quotes was cut off.
    if len(cells) < layout.width or (line.startswith('"') and not _quoted(line)):
        return None, SHORT
    if not all(map(is_missing, cells[layout.width :])):
        return None, TOO_LONG
    return cells, None


class _Points:
    """Collects the points, run by run in each row."""

    def __init__(self, layout: _Layout, records: Records) -> None:
        self.records = records
        self.dropped: Counter[str] = Counter()
        self._layout = layout
        self._axis = array("d")
        self._runs = array("i")
        self._by_run: dict[int, list[_Series]] = {}
        for one in layout.series:
            self._by_run.setdefault(one.run, []).append(one)
        taken = {_RUN, _COUNTER, layout.axis}
        self._names = {name: f"{name}#2" if name in taken else name for name in layout.metrics}
        self._summarised: Counter[str] = Counter()
        self._number: Counter[str] = Counter()

    def take(self, cells: Sequence[str]) -> None:
        """Take a row: a record for each run that has a point there."""
        step = parse_step(cells[self._layout.first])
        for run, series in self._by_run.items():
            if any(cells[one.at] for one in series):
                self._axis.append(step)
                self._runs.append(run)
                counter = self._layout.counters.get(run)
                if counter is not None and not self._layout.step_axis:
                    self.records.put(_COUNTER, cells[counter])
                for one in series:
                    self._put(one, cells)
                self.records.close()

    def _put(self, one: _Series, cells: Sequence[str]) -> None:
        name, cell = self._names[one.metric], cells[one.at]
        value, is_text = classify(cell)
        self.records.put(name, cell if is_text else value)
        self._number[one.metric] += value == value
        low, high = (np.nan if at is None else parse_number(cells[at]) for at in (one.low, one.high))
        if one.low is not None:
            self.records.put(name + _LOW, low)
        if one.high is not None:
            self.records.put(name + _HIGH, high)
        self._summarised[one.metric] += low < high

    def table(self, content: Content) -> Table:
        """Return the long table."""
        layout = self._layout
        metrics, notes = self.records.columns(content.extent)
        axis = np.frombuffer(self._axis, dtype=np.float64)
        codes = np.frombuffer(self._runs, dtype=np.int32)
        columns: dict[str, Column] = {_COUNTER if layout.step_axis else layout.axis: axis}
        if layout.runs != [_NAMELESS]:
            columns[_RUN] = MixedColumn(np.full(len(codes), np.nan), codes, layout.runs)
        return Table(
            columns=columns | metrics,
            rows=self.records.rows + sum(self.dropped.values()),
            dropped=dict(self.dropped),
            notes=(*content.text_notes, *_header_notes(layout), *self._notes(), *notes),
            partial=True,
            unread=tuple(self.records.unread),
        )

    def _notes(self) -> Iterator[str]:
        found = [name for name in self._summarised if self._summarised[name]]
        shares = ", ".join(
            f"{self._summarised[name]} of {counted(self._number[name], 'point')} of {shown(name)}"
            for name in found[:4]
        )
        if found:
            yield (
                f"at least {shares} stand for several logged values ({_LOW} is below {_HIGH}), of which the "
                "page took the average or the last; they are kept, but better export the complete history: "
                f"{COMPLETE_HISTORY}"
            )
        drawn = list(self._drawn())
        if drawn:
            yield (
                f"{listing(drawn, 4)}: exactly 1000 or 1500 points at uneven distances, as where the page "
                f"draws a random sample; the complete history: {COMPLETE_HISTORY}"
            )

    def _drawn(self) -> Iterator[str]:
        codes = np.frombuffer(self._runs, dtype=np.int32)
        axis = np.frombuffer(self._axis, dtype=np.float64)[np.argsort(codes, kind="stable")]
        numbers = np.bincount(codes)
        ends = np.cumsum(numbers)
        for run in np.flatnonzero(np.isin(numbers, _DRAWN)):
            if np.unique(np.diff(axis[ends[run] - numbers[run] : ends[run]])).size > 1:
                yield self._layout.runs[run]


def _header_notes(layout: _Layout) -> Iterator[str]:
    if layout.step_axis:
        yield "the x axis 'Step' is W&B's '_step', and is called so here"
    if layout.ignored:
        yield f"columns that are no 'RUN - METRIC' left out: {listing(layout.ignored, 4)}"
    if layout.repeated:
        yield (
            f"several runs are called {listing(layout.repeated, 4)}: they are numbered in the order of their "
            "columns, which may be another one in another chart"
        )
    if groups := [run for run in layout.runs if _GROUP.match(run)]:
        yield f"{listing(groups, 4)}: by the name, each value is an average over several runs"
