"""Charts downloaded from trackers' web pages: metrics of some runs over an axis, one or few per file.

W&B gives a table with a column for each metric of each run, TensorBoard a file for each curve.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, quoted_path, shown
from entropylaw.logs.catalog import GREATEST, LEAST
from entropylaw.logs.readers import delimited
from entropylaw.logs.readers.jsonl import UNPARSEABLE
from entropylaw.logs.readers.trackers import CUT_OFF, run_label
from entropylaw.logs.readers.trackers.wandb import COMPLETE_HISTORY
from entropylaw.logs.runs import Table, unique_names
from entropylaw.logs.runs.number_parsing import Column, classify, is_missing, parse_column, parse_number
from entropylaw.logs.runs.step_column import COUNTERS, STEP_NAMES, folded
from entropylaw.logs.sources.content import COMPRESSION_SUFFIXES, Content
from entropylaw.logs.sources.gather import Records
from entropylaw.logs.sources.registry import FormatFunctions

_BOUNDS = LEAST, GREATEST
_COUNTER = "_step"
_STEP_AXIS = "Step"
_RUN = "run"
_NAMELESS = "run="

OTHER_LENGTH = "row with more or fewer cells than the header"


# --- W&B --------------------------------------------------------------------------------------------------

_BETWEEN = " - "
_CLOCK_AXIS = re.compile(r"relative time|wall time|(?:_absolute)?_runtime$|_timestamp$", re.IGNORECASE)
# Axes that distinguish a chart from a table that happens to have " - " in its names; "step" does not.
_STEP_AXES = frozenset(map(folded, (*STEP_NAMES, *COUNTERS))) - {"step", "iter", "iteration"}


class _Layout(NamedTuple):
    """The header: where the axis is in a row, and by run and metric the values (``""``) and their bounds.

    ``ignored`` names columns that belong to no run, and ``repeated`` runs of the same name.
    """

    delimiter: str
    width: int
    axis_at: int
    axis: str
    runs: list[str]
    columns: dict[tuple[int, str], dict[str, int]]
    ignored: list[str]
    repeated: list[str]

    @property
    def counted(self) -> bool:
        """Whether a run has W&B's count of log calls beside another axis."""
        return self.axis != _STEP_AXIS and any(metric == _COUNTER for _, metric in self.columns)

    def places(self) -> list[dict[str, int]]:
        """The names of each run's columns in the long table and their places, a count of calls first."""
        places: list[dict[str, int]] = [{} for _ in self.runs]
        for (run, metric), marks in self.columns.items():
            if metric != _COUNTER:
                name = f"{metric}#2" if metric in (_RUN, self.axis) else metric
                places[run] |= {name + mark: at for mark, at in marks.items()}
            elif self.counted:
                places[run] = {_COUNTER: marks[""], **places[run]}
        return places


def _read_wandb_chart(content: Content) -> Table:
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
        raise content.error(
            "no-records",
            "is not a chart exported from W&B: its columns are not called 'RUN - METRIC'",
            "leave the format out and let the content decide",
        )
    if _CLOCK_AXIS.match(layout.axis) and not layout.counted:
        raise InputError(
            "no-step-column",
            f"the x axis of the W&B chart {quoted_path(content.path)} is {shown(layout.axis)}, a clock, and "
            "no column holds a step",
            "export it again with the training step or Step as the x axis, or the run's history: "
            f"{COMPLETE_HISTORY}",
        )
    records = Records()
    dropped = Counter[str]()
    axis = _COUNTER if layout.axis == _STEP_AXIS else layout.axis
    for x, run, values in _points(content, layout, dropped):
        records.add({axis: x} | ({} if layout.runs == [_NAMELESS] else {_RUN: run}) | values)
    if not records.rows:
        raise content.error(
            "no-records",
            f"is a chart from W&B, of {counted(len(layout.runs), 'run')}, without a single point",
            "check that the chart shows something, and export it again",
        )
    table = records.table(content, dropped, partial=True)
    notes = _chart_notes(layout, table.columns, axis)
    return replace(table, notes=(*content.text_notes, *notes, *table.notes[len(content.text_notes) :]))


def _points(
    content: Content, layout: _Layout, dropped: Counter[str]
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the axis, the run and the values of each point; rows of another length are counted."""
    cut = False
    places = layout.places()
    for line in islice(filter(str.strip, content.lines()), 1, None):
        fits = line.count(layout.delimiter) <= 2 * layout.width + 16
        cells = _split(line, layout.delimiter) if fits else []
        # W&B's page quotes empty cells, too: a last one without quotes was cut off.
        cut = len(cells) < layout.width or (line[0] == '"' and not _quoted(line))
        if cut or not all(map(is_missing, cells[layout.width :])):
            dropped[OTHER_LENGTH] += 1
            continue
        for run, at in zip(layout.runs, places, strict=True):
            values = {name: cells[index] for name, index in at.items()}
            if any(cell for name, cell in values.items() if name != _COUNTER):
                yield cells[layout.axis_at], run, values
    # There is no line end behind the last row: only the row itself shows whether it is complete.
    dropped.update({OTHER_LENGTH: -int(cut), CUT_OFF: int(cut)})


def _split(line: str, delimiter: str) -> list[str]:
    """Split one line; empty where its quotes do not match."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _quoted(line: str) -> bool:
    return line.lstrip().startswith('"') and line.rstrip().endswith('"')


def _wandb_layout(content: Content) -> _Layout | None:
    """Parse the header; None where it is not a chart's."""
    lines = [*islice(filter(str.strip, content.lines()), 2)]
    header = lines[0] if lines else ""
    if _BETWEEN not in header and GREATEST not in header:
        return None
    quoted = len(lines) == 2 and all(map(_quoted, lines))
    marks = [mark for mark in ",;\t" if 0 < header.count(mark) < 1 << 16]
    layouts = (_header_layout(_split(header, mark), mark, quoted=quoted) for mark in marks)
    return next(filter(None, layouts), None)


def _header_layout(names: list[str], delimiter: str, *, quoted: bool) -> _Layout | None:
    """Parse the columns' names; None where there is not enough evidence for a chart.

    Of two runs of one name, the second has the second occurrence of a column.
    """
    width = max((end for end, name in enumerate(names, start=1) if name.strip()), default=0)
    names = names[:width]
    axis_at = int(names[:1] in ([""], ["Unnamed: 0"]))  # pandas' index, where a chart was rewritten
    if width < axis_at + 2 or not names[axis_at].strip() or _BETWEEN in names[axis_at]:
        return None
    runs, columns, ignored = _columns_of_runs(names, axis_at)
    # No reader of columns takes such a label for a number or for nothing.
    labels, _ = unique_names(run if classify(run)[1] else f"{_NAMELESS}{run}" for run, _ in runs)
    repeated = list(dict.fromkeys(run for run, occurrence in runs if occurrence > 1))
    layout = _Layout(delimiter, width, axis_at, names[axis_at].strip(), labels, columns, ignored, repeated)
    return layout if _is_chart(layout, quoted=quoted) else None


def _columns_of_runs(
    names: Sequence[str], axis_at: int
) -> tuple[list[tuple[str, int]], dict[tuple[int, str], dict[str, int]], list[str]]:
    """The runs, by run and metric the places of the values and of their bounds, and columns of no run."""
    present = frozenset(names)
    seen = Counter[str]()
    runs: dict[tuple[str, int], int] = {}
    columns: dict[tuple[int, str], dict[str, int]] = {}
    ignored: list[str] = []
    for at, name in enumerate(names[axis_at + 1 :], start=axis_at + 1):
        seen[name] += 1
        bound = name[-len(LEAST) :] if name.endswith(_BOUNDS) and name[: -len(LEAST)] in present else ""
        base = name.removesuffix(bound)
        run, between, metric = map(str.strip, base.rpartition(_BETWEEN))
        # Where a chart has one run, its columns may lack its name.
        if metric and (between or {base + LEAST, base + GREATEST} <= present):
            places = columns.setdefault((runs.setdefault((run, seen[name]), len(runs)), metric), {})
            if places.setdefault(bound, at) == at:
                continue
        ignored.append(name)
    for key in [key for key, marks in columns.items() if "" not in marks]:
        ignored += map(names.__getitem__, columns.pop(key).values())
    return list(runs), columns, ignored


def _is_chart(layout: _Layout, *, quoted: bool) -> bool:
    """Whether columns that are named as a chart's are enough evidence for one."""
    series = {key: marks for key, marks in layout.columns.items() if key[1] != _COUNTER}
    ignored = len(layout.ignored)
    count = len(series)
    if not count or ignored > count:
        return False
    axis = layout.axis  # a step or a clock by its name
    step_like = _CLOCK_AXIS.match(axis) is not None or axis == _STEP_AXIS or folded(axis) in _STEP_AXES
    bounded = sum(len(marks) == 3 for marks in series.values())
    if bounded:
        return bounded * 2 >= count and (layout.runs != [_NAMELESS] or (step_like and not ignored))
    few = len(layout.runs) == 1 or len({metric for _, metric in series}) <= 3
    return not ignored and few and (quoted or step_like or layout.counted)


def _chart_notes(layout: _Layout, columns: Mapping[str, Column], axis: str) -> Iterator[str]:
    """Yield notes on the axis, on columns of no run, and on points that stand for several values."""
    if layout.axis == _STEP_AXIS:
        yield "the x axis 'Step' is W&B's '_step', and is called so here"
    if layout.ignored:
        yield f"columns that are not 'RUN - METRIC' left out: {listing(layout.ignored, 4)}"
    if layout.repeated:
        yield (
            f"several runs are called {listing(layout.repeated, 4)}: they are numbered in the order of their "
            "columns, which may be another one in another chart"
        )
    if groups := [run for run in layout.runs if run.startswith(("Group: ", "Name: "))]:
        yield f"{listing(groups, 4)}: by the name, each value is an average over several runs"
    if shares := list(summaries(columns)):
        yield (
            f"at least {', '.join(shares[:4])} summarise several logged values ({LEAST} is below "
            f"{GREATEST}), averaged or the last by the page; the complete history: {COMPLETE_HISTORY}"
        )
    if uneven := _drawn_at_random(layout, columns, axis):
        yield (
            f"{listing(uneven, 4)}: 1000 or 1500 points at uneven distances, as of a random sample; "
            f"the complete history: {COMPLETE_HISTORY}"
        )


def _drawn_at_random(layout: _Layout, columns: Mapping[str, Column], axis: str) -> list[str]:
    """The runs with 1500 points, or 1000 by an older documentation, at uneven distances."""
    steps = parse_column(columns[axis]).values
    labels = np.array([*columns.get(_RUN, layout.runs * steps.size)])
    gaps = {run: np.diff(steps[labels == run]) for run in layout.runs}
    return [run for run, between in gaps.items() if between.size in (999, 1499) and np.ptp(between)]


def summaries(columns: Mapping[str, Column]) -> Iterator[str]:
    """Yield how many points of a metric stand for several values."""
    for name in columns:
        if name + LEAST in columns and name + GREATEST in columns:
            least, greatest = (parse_column(columns[name + mark]).values for mark in _BOUNDS)
            if number := int((least < greatest).sum()):
                points = int((~np.isnan(parse_column(columns[name]).values)).sum())
                yield f"{number} of {counted(points, 'point')} of {shown(name)}"


# --- TensorBoard ------------------------------------------------------------------------------------------

_NUMBER = r"-?[0-9]{1,20}(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,4})?"
_POINT = re.compile(
    rf'\[\s*({_NUMBER})\s*,\s*(-?[0-9]{{1,18}})\s*,\s*({_NUMBER}|"?-?(?:NaN|Infinity)"?)\s*\]'
)
_LIST = re.compile(r"\s*\[\s*(?=\[)")
_NAMED = re.compile(r"run[-_](?P<run>.*)(?:-tag-|,tag_)(?P<tag>.+)", re.DOTALL)
# What browsers and Windows add to the name of a further copy.
_COPY = re.compile(r"(?: - Copy)?(?: ?\([0-9]{1,4}\))?\Z")


def _is_tensorboard_curve(content: Content) -> bool:
    """Whether it has TensorBoard's header, or opens with a wall time, a step and a value."""
    head = _head(content) if content.is_text else ""
    opening = _LIST.match(head)
    point = _POINT.match(head, opening.end()) if opening else None
    # Wall times are seconds since 1970. Without one, a list of triples may be anything.
    return _has_header(head) or (point is not None and 1e8 < float(point[1]) < 1e11)


def _read_tensorboard_curve(content: Content) -> Table:
    """Read a curve downloaded from TensorBoard's page: one metric of one run, as CSV or as JSON.

    It holds, by plugins/scalar/scalars_plugin.py in tensorboard 2.21, the header ``Wall time,Step,Value``, or
    a list of such triples, whose nan and infinities backend/json_util.py makes text. Its name is, by the
    page's tf_dashboard_common/tf-downloader.ts, ``run-RUN-tag-TAG``, in which browsers make ``/`` a ``_``;
    older pages wrote ``run_RUN-tag-TAG`` and ``run_RUN,tag_TAG``. The time series dashboard calls it ``RUN``
    alone.

    Raises ``metric-unnamed`` where the name does not contain the metric, ``no-records`` where there is no
    point.
    """
    run, tag = _run_and_tag(content)
    head = _head(content)
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
        raise content.error(
            "no-records",
            "holds no point of a curve as TensorBoard's page gives it ('Wall time,Step,Value')",
            "download it again once the run has logged something, or leave the format out",
        )
    cells = {name.strip().casefold(): column for name, column in table.columns.items()}
    (step, label, metric), notes = unique_names(("step", _RUN, tag))
    columns: dict[str, Column] = {step: cells["step"], metric: cells["value"]}
    if run:
        columns[label] = [run] * len(cells["step"])
    if table.rows == 1000:  # by default, drawn from all that were logged
        notes += ("1000 points, as many as TensorBoard's page gives: steps between may be missing",)
    return replace(table, columns=columns, notes=(*table.notes, *notes), partial=True)


def _head(content: Content) -> str:
    return content.head_text[: 1 << 12].lstrip()


def _has_header(head: str) -> bool:
    cells = [next(csv.reader(head.splitlines()[:1], delimiter=mark), []) for mark in ",;\t"]
    return any([cell.strip().casefold() for cell in row] == ["wall time", "step", "value"] for row in cells)


def _run_and_tag(content: Content) -> tuple[str, str]:
    """Return the run, empty where the name has none or TensorBoard's ``.``, and the tag."""
    stem = PurePath(content.path).name
    for suffixes in (COMPRESSION_SUFFIXES if content.packed else (), (".csv", ".json")):
        if stem.casefold().endswith(suffixes):
            stem = stem.rpartition(".")[0]
    named = _NAMED.fullmatch(_COPY.sub("", stem, count=1).strip())
    if named is None:
        raise content.error(
            "metric-unnamed",
            "is TensorBoard's curve of one metric, which its name should say, as in "
            "'run-NAME-tag-actor_entropy.csv'",
            "rename it to run-NAME-tag-TAG.csv, with the metric's name as TAG, next to the run's other "
            "curves",
        )
    run = named["run"].strip()
    return run_label(run) if run not in ("", ".") else "", named["tag"].strip()


wandb = FormatFunctions(lambda content: content.is_text and bool(_wandb_layout(content)), _read_wandb_chart)
tensorboard = FormatFunctions(_is_tensorboard_curve, _read_tensorboard_curve)
