"""Charts downloaded from trackers' web pages: metrics of some runs over an axis, one or few per file.

W&B and SwanLab give a table with a column for each metric of each run, TensorBoard a file for each curve.
"""

from __future__ import annotations

import codecs
import csv
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import PurePath

import numpy as np

from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, quoted_path, shown
from entropylaw.logs.catalog import GREATEST, LEAST, is_metric
from entropylaw.logs.readers import delimited
from entropylaw.logs.readers.jsonl import UNPARSEABLE
from entropylaw.logs.readers.trackers import CUT_OFF, run_label
from entropylaw.logs.readers.trackers.wandb import COMPLETE_HISTORY
from entropylaw.logs.runs import Table, unique_names
from entropylaw.logs.runs.number_parsing import (
    Column,
    MixedColumn,
    classify,
    is_missing,
    parse_number,
    parse_step,
)
from entropylaw.logs.runs.step_column import COUNTERS, STEP_NAMES, folded
from entropylaw.logs.sources.content import COMPRESSION_SUFFIXES, Content
from entropylaw.logs.sources.gather import Records
from entropylaw.logs.sources.registry import FormatFunctions

_BOUNDS = LEAST, GREATEST
_COUNTER, _STEP_AXIS = "_step", "Step"
_RUN, _NAMELESS = "run", "run="

OTHER_LENGTH = "row with more or fewer cells than the header"


@dataclass(slots=True)
class _Series:
    """Where a metric of a run is in a row, and by ``__MIN`` and ``__MAX`` its bounds, if they are there."""

    metric: str
    at: int
    bounds: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Layout:
    """The header: ``first`` is the axis' place in a row, ``counters`` has that of ``_step`` by run.

    ``series`` are by run. ``ignored`` names columns that belong to no run, and ``repeated`` runs of the same
    name. ``quoted`` says that all cells of a row are quoted if its first one is.
    """

    delimiter: str
    width: int
    first: int
    axis: str
    runs: list[str] = field(default_factory=list)
    series: dict[int, list[_Series]] = field(default_factory=dict)
    counters: dict[int, int] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    quoted: bool = False


class _Points:
    """Reads the points, run by run in each row: a record for each run that has a point there."""

    def __init__(self, layout: _Layout, content: Content) -> None:
        self.records = Records(content.column_filter)
        self.layout = layout
        self.axis, self.runs = array("d"), array("i")
        #: By metric: how many points there are, and how many of them summarise several values.
        self.numbers, self.summarised = Counter[str](), Counter[str]()
        self.dropped = Counter[str]()
        cut = False
        for line in islice(filter(str.strip, content.lines()), 1, None):
            fits = line.count(layout.delimiter) <= 2 * layout.width + 16
            cells = _split(line, layout.delimiter) if fits else []
            # W&B's page quotes empty cells, too: a last one without quotes was cut off.
            open_end = layout.quoted and line.startswith('"') and not _quoted(line)
            cut = len(cells) < layout.width or open_end
            if cut or not all(map(is_missing, cells[layout.width :])):
                self.dropped[OTHER_LENGTH] += 1
            else:
                self._take(cells)
        # There is no line end behind the last row: only the row itself shows whether it is complete.
        if cut:
            self.dropped.subtract([OTHER_LENGTH])
            self.dropped[CUT_OFF] += 1

    def _take(self, cells: Sequence[str]) -> None:
        layout = self.layout
        for run, series in layout.series.items():
            if not any(cells[column.at] for column in series):
                continue
            self.axis.append(parse_step(cells[layout.first]))
            self.runs.append(run)
            record: dict[str, object] = {}
            if run in layout.counters:
                record[_COUNTER] = cells[layout.counters[run]]
            for column in series:
                name = column.metric
                if name in (_RUN, _COUNTER, layout.axis):
                    name = f"{name}#2"
                value, is_text = classify(cells[column.at])
                record[name] = cells[column.at] if is_text else value
                self.numbers[column.metric] += value == value
                bounds = {mark: parse_number(cells[at]) for mark, at in column.bounds.items()}
                record |= {name + mark: bound for mark, bound in bounds.items()}
                self.summarised[column.metric] += bounds.get(LEAST, math.nan) < bounds.get(GREATEST, math.nan)
            self.records.add(record)

    def table(self, content: Content, notes: Sequence[str]) -> Table:
        """Return the long table."""
        layout = self.layout
        columns: dict[str, Column] = {
            _COUNTER if layout.axis == _STEP_AXIS else layout.axis: np.array(self.axis)
        }
        if layout.runs != [_NAMELESS]:
            codes = np.array(self.runs, dtype=np.int32)
            columns[_RUN] = MixedColumn(np.full(len(codes), np.nan), codes, layout.runs)
        return self.records.table(content, self.dropped, notes, columns=columns, partial=True)


def _split(line: str, delimiter: str) -> list[str]:
    """Split one line; empty where its quotes do not match."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _quoted(line: str) -> bool:
    return line.lstrip().startswith('"') and line.rstrip().endswith('"')


# --- W&B --------------------------------------------------------------------------------------------------

_BETWEEN = " - "
_CLOCK_AXIS = re.compile(r"relative time|wall time|(?:_absolute)?_runtime$|_timestamp$", re.IGNORECASE)
# Axes that distinguish a chart from a table that happens to have " - " in its names; "step" does not.
_STEP_AXES = frozenset(map(folded, (*STEP_NAMES, *COUNTERS))) - {"step", "iter", "iteration"}


def read_wandb_chart(content: Content) -> Table:
    """Read a chart exported as CSV from W&B's page: one metric, mostly, of several runs.

    All cells are quoted. The first column is the x axis: ``Step``, which is W&B's ``_step``, a metric such as
    ``train/global_step``, or a clock (names as in ``wandb/apis/public/reports.py``, wandb 0.31). For each run
    follow ``<run> - <metric>``, the same with ``__MIN`` and ``__MAX``, and with another axis than ``Step``
    also ``<run> - _step``. A group of runs is called ``Group: <name>``. A run without a point at an x value
    has empty cells there.

    By W&B's documentation of line plots ("Point aggregation"), the page takes the last value of each bucket,
    formerly the average, and the bucket's ``__MIN`` and ``__MAX``; or, by choice and formerly by default,
    1500 points at random, which cannot be distinguished from others.

    Raises ``no-records``, or ``no-step-column`` where its x axis is a clock alone.
    """
    layout = _wandb_layout(content)
    if layout is None:
        message = "is not a chart exported from W&B: its columns are not called 'RUN - METRIC'"
        raise content.error("no-records", message, "leave the format out and let the content decide")
    if _CLOCK_AXIS.match(layout.axis) and not layout.counters:
        axis = shown(layout.axis)
        message = f"the x axis of the W&B chart {quoted_path(content.path)} is {axis}, a clock, and "
        message += "no column holds a step"
        hint = "choose the training step (train/global_step, training/global_step) or Step as the chart's x "
        hint += f"axis and export it again, or export the run's history: {COMPLETE_HISTORY}"
        raise InputError("no-step-column", message, hint)
    points = _Points(layout, content)
    if not points.records.rows:
        message = f"is a chart from W&B, of {counted(len(layout.runs), 'run')}, without a single point"
        hint = "check that the chart shows something, and export it again"
        raise content.error("no-records", message, hint)
    return points.table(content, tuple(chart_notes(points)))


def _wandb_layout(content: Content) -> _Layout | None:
    """Parse the header; None where it is not a chart's."""
    first, *second = [*islice(filter(str.strip, content.lines()), 2)] or [""]
    if _BETWEEN not in first and GREATEST not in first:
        return None
    quoted = bool(second) and all(map(_quoted, (first, *second)))
    marks = [mark for mark in ",;\t" if 0 < first.count(mark) < 1 << 16]
    layouts = (header_layout(_split(first, mark), mark, quoted=quoted) for mark in marks)
    return next(filter(None, layouts), None)


def header_layout(names: list[str], delimiter: str, *, quoted: bool) -> _Layout | None:
    """Parse the columns' names; None where there is not enough evidence for a chart.

    Of two runs of one name, the second has the second occurrence of a column.
    """
    width = max((end for end, name in enumerate(names, start=1) if name.strip()), default=0)
    names = names[:width]
    first = int(names[:1] in ([""], ["Unnamed: 0"]))  # pandas' index, where a chart was rewritten
    if width < first + 2 or not names[first].strip() or _BETWEEN in names[first]:
        return None
    layout = _Layout(delimiter, width, first, names[first].strip(), quoted=True)
    runs, columns = columns_of_runs(names, first, layout)
    for (number, metric), places in columns.items():
        if "" not in places:
            layout.ignored += map(names.__getitem__, places.values())
        elif metric != _COUNTER:
            layout.series.setdefault(number, []).append(_Series(metric, places.pop(""), places))
        elif layout.axis != _STEP_AXIS:  # there, both are the same
            layout.counters[number] = places[""]
    # No reader of columns takes such a label for a number or for nothing.
    layout.runs, _ = unique_names(run if classify(run)[1] else f"{_NAMELESS}{run}" for run, _ in runs)
    layout.repeated = list(dict.fromkeys(run for run, occurrence in runs if occurrence > 1))
    return layout if is_chart(layout, quoted=quoted) else None


def columns_of_runs(
    names: Sequence[str], first: int, layout: _Layout
) -> tuple[list[tuple[str, int]], dict[tuple[int, str], dict[str, int]]]:
    """The runs, and by run and metric the places of the values (``""``) and of their bounds.

    Columns of no run are added to those that the layout ignores.
    """
    present = frozenset(names)
    seen, runs = Counter[str](), dict[tuple[str, int], int]()
    columns: dict[tuple[int, str], dict[str, int]] = {}
    for at, name in enumerate(names[first + 1 :], start=first + 1):
        seen[name] += 1
        bound = name[-len(LEAST) :] if name.endswith(_BOUNDS) and name[: -len(LEAST)] in present else ""
        base = name.removesuffix(bound)
        run, between, metric = map(str.strip, base.rpartition(_BETWEEN))
        # Where a chart has one run, its columns may lack its name.
        if not metric or not (between or {base + LEAST, base + GREATEST} <= present):
            layout.ignored.append(name)
            continue
        places = columns.setdefault((runs.setdefault((run, seen[name]), len(runs)), metric), {})
        if places.setdefault(bound, at) != at:
            layout.ignored.append(name)
    return list(runs), columns


def is_chart(layout: _Layout, *, quoted: bool) -> bool:
    """Whether columns that are named as a chart's are enough evidence for one."""
    every = list(chain.from_iterable(layout.series.values()))
    ignored, count = len(layout.ignored), len(every)
    if not count or ignored > count:
        return False
    axis = layout.axis  # a step or a clock by its name
    step_like = _CLOCK_AXIS.match(axis) is not None or axis == _STEP_AXIS or folded(axis) in _STEP_AXES
    bounded = sum(len(series.bounds) == 2 for series in every)
    if bounded:
        return bounded * 2 >= count and (layout.runs != [_NAMELESS] or (step_like and not ignored))
    metrics = {series.metric for series in every}
    few = len(layout.runs) == 1 or len(metrics) <= 3
    return not ignored and few and (quoted or step_like or bool(layout.counters))


def chart_notes(points: _Points) -> Iterator[str]:
    """Yield notes on the axis, on columns of no run, and on points that stand for several values."""
    layout, axis, codes = points.layout, np.array(points.axis), np.array(points.runs)
    if layout.axis == _STEP_AXIS:
        yield "the x axis 'Step' is W&B's '_step', and is called so here"
    if layout.ignored:
        yield f"columns that are not 'RUN - METRIC' left out: {listing(layout.ignored, 4)}"
    if layout.repeated:
        order = "the order of their columns, which may be another one in another chart"
        yield f"several runs are called {listing(layout.repeated, 4)}: they are numbered in {order}"
    if groups := [run for run in layout.runs if run.startswith(("Group: ", "Name: "))]:
        yield f"{listing(groups, 4)}: by the name, each value is an average over several runs"
    if summaries := list((+points.summarised).items())[:4]:
        sizes = points.numbers
        shares = [f"{n} of {counted(sizes[name], 'point')} of {shown(name)}" for name, n in summaries]
        several = f"several logged values ({LEAST} is below {GREATEST}), of which the page took the "
        advice = "average or the last; they are kept, but better export the complete history"
        yield f"at least {', '.join(shares)} summarise {several}{advice}: {COMPLETE_HISTORY}"
    # So many points has a line that was drawn at random: 1500, by an older documentation 1000.
    full = np.flatnonzero(np.isin(np.bincount(codes), (1000, 1500)))
    if drawn := [layout.runs[run] for run in full if np.unique(np.diff(axis[codes == run])).size > 1]:
        sample = f"as where the page draws a random sample; the complete history: {COMPLETE_HISTORY}"
        yield f"{listing(drawn, 4)}: exactly 1000 or 1500 points at uneven distances, {sample}"


# --- SwanLab ----------------------------------------------------------------------------------------------


def is_swanlab_chart(content: Content) -> bool:
    """Whether the header is a step and pairs of columns as SwanLab names them."""
    text = content.opening if content.is_text else ""
    if text[:5].lstrip('"')[:4].lower() != "step":
        return False
    return bool(_swanlab_labels(_split(text.partition("\n")[0], ",")))


def read_swanlab_chart(content: Content) -> Table:
    """Read a CSV file that SwanLab exports: a step, and a pair of columns per metric of each experiment.

    ``step,<experiment>-<metric>_step,<experiment>-<metric>_timestamp,…``: in spite of its name, the first
    column of a pair holds the metric's values. The layout is as the ``swanlab`` package parses it:
    swanlab/api/experiment.py in 0.6.8, swanlab/api/experiment/__init__.py in 0.7.8,
    swanlab/api/helper/extractor.py in 0.10.3. Its ``export_csv()`` gives the address of such a file, with one
    metric of one experiment. Not verified: files downloaded from the web page, whose layout is not
    documented; those with another header are read as any CSV file.

    Raises ``no-records`` where there is no row, ``file-corrupt`` where the header is another one.
    """
    series = experiments_and_metrics(_swanlab_labels(_split(next(filter(None, content.lines()), ""), ",")))
    if not series:
        message = "has no header as SwanLab writes it (step, EXPERIMENT-METRIC_step, …)"
        raise content.error("file-corrupt", message, "download the file again")
    runs = {run: number for number, run in enumerate(dict.fromkeys(run for run, _ in series))}
    layout = _Layout(",", 1 + 2 * len(series), 0, "step", list(runs))
    for at, (run, metric) in enumerate(series):
        layout.series.setdefault(runs[run], []).append(_Series(metric, 1 + 2 * at))
    points = _Points(layout, content)
    if not points.records.rows:
        hint = "check that the run has logged something, and download the file again"
        raise content.error("no-records", "is a CSV file from SwanLab without a complete row of values", hint)
    metrics = list(dict.fromkeys(metric for _, metric in series))
    note = f"{counted(len(metrics), 'metric')} ({listing(metrics, 4)}) of {counted(len(runs), 'experiment')} "
    note += f"({listing(list(runs), 4)}), separated at a dash in the names of the columns"
    return points.table(content, (note,))


def _swanlab_labels(header: Sequence[str]) -> list[str]:
    """Return ``<experiment>-<metric>`` of each pair of columns; nothing where the header is another one."""
    step, *names = [name.strip() for name in header] or [""]
    labels = [name.removesuffix("_step") for name in names[::2]]
    paired = [label + end for label in labels for end in ("_step", "_timestamp")]
    if step.lower() != "step" or names != paired or not all("-" in label for label in labels):
        return []
    return labels


def experiments_and_metrics(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Split each label into experiment and metric, both of which may have dashes in their names.

    A metric that is in the catalog decides; then, that other columns have the same experiment or metric. The
    last 12 dashes of a label are tried.
    """
    splits: list[list[tuple[str, str]]] = []
    for label in labels:
        dashes = [at for at, mark in enumerate(label) if mark == "-"]
        splits.append([(label[:at], label[at + 1 :]) for at in dashes[:-13:-1]])
    shared: Counter[tuple[bool, str]] = Counter()
    for run, metric in chain.from_iterable(splits[:1000]):
        shared.update(((True, run), (False, metric)))

    def likelihood(split: tuple[str, str]) -> tuple[bool, int, int]:
        run, metric = split
        return is_metric(metric), shared[True, run] + shared[False, metric], len(run)

    return [max(candidates, key=likelihood) for candidates in splits]


# --- TensorBoard ------------------------------------------------------------------------------------------

_NUMBER = r"-?[0-9]{1,20}(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,4})?"
_POINT = re.compile(
    rf'\[\s*({_NUMBER})\s*,\s*(-?[0-9]{{1,18}})\s*,\s*({_NUMBER}|"?-?(?:NaN|Infinity)"?)\s*\]'
)
_LIST = re.compile(r"\s*\[\s*(?=\[)")
_NAMED = re.compile(r"run[-_](?P<run>.*)(?:-tag-|,tag_)(?P<tag>.+)", re.DOTALL)
# What browsers and Windows add to the name of a further copy.
_COPY = re.compile(r"(?: - Copy)?(?: ?\([0-9]{1,4}\))?\Z")


def is_tensorboard_curve(content: Content) -> bool:
    """Whether it has TensorBoard's header, or opens with a wall time, a step and a value."""
    head = _head(content) if content.is_text else ""
    opening = _LIST.match(head)
    point = _POINT.match(head, opening.end()) if opening else None
    # Wall times are seconds since 1970. Without one, a list of triples may be anything.
    return _has_header(head) or (point is not None and 1e8 < float(point[1]) < 1e11)


def read_tensorboard_curve(content: Content) -> Table:
    """Read a curve downloaded from TensorBoard's page: one metric of one run, as CSV or as JSON.

    It holds, by plugins/scalar/scalars_plugin.py in tensorboard 2.21, the header ``Wall time,Step,Value``, or
    a list of such triples, whose nan and infinities backend/json_util.py makes text. Its name is, by the
    page's tf_dashboard_common/tf-downloader.ts, ``run-RUN-tag-TAG``, in which browsers make ``/`` a ``_``;
    older pages wrote ``run_RUN-tag-TAG`` and ``run_RUN,tag_TAG``. The time series dashboard calls it ``RUN``
    alone.

    Raises ``metric-unnamed`` where the name does not contain the metric, ``no-records`` where there is no
    point.
    """
    (run, tag), head = run_and_tag(content), _head(content)
    table = Table(columns={}, rows=0)
    if _has_header(head):
        everything = copy(content)
        everything.useful = None  # in a large file, neither of these columns would be known
        table = delimited.read(everything)
    elif _LIST.match(head):
        text = content.text  # of a list that was cut off as well
        points = [(int(point[2]), parse_number(point[3])) for point in _POINT.finditer(text)]
        bad = text.count("[") - 1 - len(points)
        values = np.array(points, dtype=np.float64).reshape(-1, 2)
        columns_read: dict[str, Column] = {"step": values[:, 0], "value": values[:, 1]} if points else {}
        dropped = {UNPARSEABLE: bad} if bad > 0 else {}
        table = Table(columns=columns_read, rows=len(points) + bad, dropped=dropped, notes=content.text_notes)
    if not table.columns:
        message = "holds no point of a curve as TensorBoard's page gives it ('Wall time,Step,Value')"
        hint = "download it again once the run has logged something, or leave the format out"
        raise content.error("no-records", message, hint)
    cells = {name.strip().casefold(): column for name, column in table.columns.items()}
    (step, label, metric), notes = unique_names(("step", _RUN, tag))
    columns: dict[str, Column] = {step: cells["step"], metric: cells["value"]}
    if run:
        columns[label] = [run] * len(cells["step"])
    if table.rows == 1000:  # by default, drawn from all that were logged
        notes += ("1000 points, as many as TensorBoard's page gives: steps between may be missing",)
    return replace(table, columns=columns, notes=(*table.notes, *notes), partial=True, unreadable=None)


def _head(content: Content) -> str:
    start = content.head[: 1 << 12]
    wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return start.decode("utf-16" if wide else "utf-8-sig", "replace").lstrip()


def _has_header(head: str) -> bool:
    cells = [next(csv.reader(head.splitlines()[:1], delimiter=mark), []) for mark in ",;\t"]
    return any([cell.strip().casefold() for cell in row] == ["wall time", "step", "value"] for row in cells)


def run_and_tag(content: Content) -> tuple[str, str]:
    """Return the run, empty where the name has none or TensorBoard's ``.``, and the tag."""
    stem = PurePath(content.path).name
    for suffixes in (COMPRESSION_SUFFIXES if content.packed else (), (".csv", ".json")):
        if stem.casefold().endswith(suffixes):
            stem = stem.rpartition(".")[0]
    named = _NAMED.fullmatch(_COPY.sub("", stem, count=1).strip())
    if named is None:
        message = "is a curve downloaded from TensorBoard, which holds steps and values of one metric and "
        message += "does not say which; its name should, as in 'run-NAME-tag-actor_entropy.csv'"
        hint = "rename it to run-NAME-tag-TAG.csv, with the metric's name as TAG, next to the run's other"
        raise content.error("metric-unnamed", message, f"{hint} curves")
    run = named["run"].strip()
    return run_label(run) if run not in ("", ".") else "", named["tag"].strip()


wandb = FormatFunctions(lambda content: content.is_text and bool(_wandb_layout(content)), read_wandb_chart)
swanlab = FormatFunctions(is_swanlab_chart, read_swanlab_chart)
tensorboard = FormatFunctions(is_tensorboard_curve, read_tensorboard_curve)
